//! The heartbeat's look at many pull requests: fifty in one call, whichever repositories of one owner they are in.

mod call;

use futures_util::{StreamExt, TryStreamExt};
use merge_train_core::facts::HeartbeatFacts;
use merge_train_core::ids::{PrNumber, RepoId};
use serde::Deserialize;

use self::call::{Asking, Fate, calls};
use super::merge_states::{self, Manner};
use super::query::{Parts, Query};
use super::talk::{self, Depth};
use crate::client::Client;
use crate::error::Error;
use crate::governor::Priority;

/// Few enough to leave GitHub to those who wait for an answer.
const CALLS_AT_ONCE: usize = 4;

/// A pull request that is to be looked at.
#[derive(Clone)]
struct Wanted {
    /// Where it stands in the answer.
    place: usize,
    repo: RepoId,
    pr: PrNumber,
    manner: Manner,
}

/// What was seen of pull requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Glances {
    /// In the order they were asked for. What is not there, and what is in repositories that are gone or closed to us, is
    /// left out.
    pub seen: Vec<HeartbeatFacts>,
    /// Those of which this look says nothing at all: what GitHub told of them could not be read.
    pub unread: Vec<(RepoId, PrNumber)>,
}

/// What came of one call.
#[derive(Default)]
struct Round {
    seen: Vec<(usize, HeartbeatFacts)>,
    unread: Vec<(RepoId, PrNumber)>,
    /// To be asked about again, in another manner.
    refused: Vec<Wanted>,
}

#[derive(Deserialize)]
struct Seen {
    #[serde(flatten)]
    merge: merge_states::Raw,
    #[serde(flatten)]
    talk: talk::Raw,
}

impl Client {
    /// How it stands with pull requests of one owner.
    ///
    /// GitHub counts a point for each hundred lists that a call could have to read. Of each pull request a brief look
    /// reads five (comments, reviews, threads, the newest commit, its checks): fifty are 250 lists, 2 to 3 points a call,
    /// and 1,000 pull requests at most 60 of an hour's 5,000 points. A thorough look reads the comments of up to a
    /// hundred threads of each besides: 5,250 lists, 52 to 53 points a call, and 168,000 of the 500,000 nodes that a call
    /// may ask for.
    pub async fn glance(&self, owner_repos: &[(RepoId, Vec<PrNumber>)], depth: Depth) -> Result<Glances, Error> {
        let all = owner_repos.iter().flat_map(|(repo, prs)| prs.iter().map(move |pr| (repo, *pr)));
        let wanted = |(place, (repo, pr)): (usize, (&RepoId, PrNumber))| {
            let manner = self.manners().of(repo);
            Wanted { place, repo: repo.clone(), pr, manner }
        };
        let mut left: Vec<Wanted> = all.enumerate().map(wanted).collect();
        let (mut seen, mut unread) = (Vec::new(), Vec::new());
        // It ends: whoever was refused is asked for less in the next round, and there are three manners.
        while !left.is_empty() {
            let rounds: Vec<Round> = futures_util::stream::iter(calls(left))
                .map(|asking| async move { self.glance_once(asking, depth).await })
                .buffered(CALLS_AT_ONCE)
                .try_collect()
                .await?;
            left = Vec::new();
            for round in rounds {
                seen.extend(round.seen);
                unread.extend(round.unread);
                left.extend(round.refused);
            }
        }
        seen.sort_by_key(|(place, _)| *place);
        Ok(Glances { seen: seen.into_iter().map(|(_, glance)| glance).collect(), unread })
    }

    async fn glance_once(&self, asking: Asking, depth: Depth) -> Result<Round, Error> {
        let (query, variables) = asking.question(depth);
        let Some(mut parts) = self.ask(&asking.repos, &Query { query: &query, variables }).await? else {
            return Ok(Round::default());
        };
        let fates = asking.fates(&parts)?;
        let mut round = Round::default();
        for (index, ((repo, wanted), fate)) in asking.wanted.into_iter().zip(fates).enumerate() {
            match fate {
                Fate::Told => match self.seen(&mut parts, (repo, index), &wanted, depth).await {
                    Ok(seen) => round.seen.extend(seen.map(|glance| (wanted.place, glance))),
                    Err(error) => {
                        // One that cannot be read must not hide a thousand that can.
                        tracing::warn!(repo = %wanted.repo, pr = %wanted.pr, %error, "a pull request could not be looked at");
                        round.unread.push((wanted.repo, wanted.pr));
                    }
                },
                Fate::LeftOut => {}
                Fate::Again(manner) => {
                    if manner != wanted.manner {
                        self.manners().learn(&wanted.repo, manner);
                    }
                    round.refused.push(Wanted { manner, ..wanted });
                }
            }
        }
        Ok(round)
    }

    async fn seen(
        &self,
        parts: &mut Parts,
        (repo, index): (usize, usize),
        wanted: &Wanted,
        depth: Depth,
    ) -> Result<Option<HeartbeatFacts>, Error> {
        let Some(Seen { merge, talk }) = parts.take(&format!("r{repo}"), &format!("p{index}"))? else {
            return Ok(None);
        };
        let told = self.repo(&wanted.repo).with_priority(Priority::Poll).talk_of(wanted.pr, talk, depth).await?;
        Ok(told.map(|talk| HeartbeatFacts { repo: wanted.repo.clone(), merge: merge_states::facts(merge), talk }))
    }

    /// Asks in the name that may speak about these repositories, which are of one owner. None if all of them are gone.
    async fn ask(&self, repos: &[RepoId], query: &Query<'_>) -> Result<Option<Parts>, Error> {
        for repo in repos {
            let repo = self.repo(repo).with_priority(Priority::Poll);
            let call = repo.graphql(query);
            match repo.send(&call).await {
                Ok(answer) => return Parts::of(answer).map(Some),
                // Not the question's: the app is not installed there, or the repository is no more.
                Err(Error::NotFound { call: unknown }) if unknown != call.name() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
