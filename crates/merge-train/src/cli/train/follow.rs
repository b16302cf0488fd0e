//! What comes of an order, as far as it can be seen within a while.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

use jiff::Timestamp;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::RequestOutcome;
use merge_train_core::repo::trains::TrainState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::cli::plan::target::PullRequestArgument;
use crate::cli::remote::{DaemonClient, Error};

/// How long a command waits to see what comes of it. It is taken in all the same.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);
/// From when on somebody at a terminal wonders.
const LONG: Duration = Duration::from_secs(1);

/// What came of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainCommandResult {
    /// The train is under way.
    Started,
    /// It is over already, and everything has landed.
    Landed,
    /// The train is not under way any more.
    Ended,
    /// It cannot be; the bot says why on the pull request.
    Refused,
    /// There is no train to stop.
    NoTrain,
    /// It was taken in, and takes longer than anybody waits here.
    Pending,
}

/// Somebody who gives an order and looks what comes of it.
pub struct TrainCommandFollower<'a> {
    daemon: &'a DaemonClient,
    target: &'a PullRequestArgument,
    /// When the train began that is there already.
    began_before: Option<Timestamp>,
    given_at: Instant,
    /// Whether somebody was told that it takes a while.
    has_told: bool,
}

/// What the daemon answers to an order.
#[derive(Deserialize)]
struct CommandResponse {
    /// `accepted` or `processing` as long as it waits, then `processed`.
    status: String,
    outcome: Option<RequestOutcome>,
}

/// What of a train is looked at.
#[derive(Deserialize)]
struct FollowedTrain {
    state: TrainState,
    started_at: Timestamp,
}

/// What of a repository's state is looked at.
#[derive(Deserialize)]
struct FollowedRepository {
    /// Starts that are not decided on yet.
    #[serde(default)]
    starts: BTreeMap<PrNumber, Value>,
    prs: BTreeMap<PrNumber, FollowedPullRequest>,
}

#[derive(Deserialize)]
struct FollowedPullRequest {
    state: String,
}

impl<'a> TrainCommandFollower<'a> {
    pub async fn new(daemon: &'a DaemonClient, target: &'a PullRequestArgument) -> anyhow::Result<Self> {
        let mut follower = Self { daemon, target, began_before: None, given_at: Instant::now(), has_told: false };
        let before = follower.train().await?;
        follower.began_before =
            before.map(|train| FollowedTrain::deserialize(&train)).transpose()?.map(|train| train.started_at);
        Ok(follower)
    }

    /// Has the train started.
    pub async fn start(mut self) -> anyhow::Result<(TrainCommandResult, Option<Value>)> {
        match self.post_without_body("start").await? {
            None => return Ok((TrainCommandResult::Pending, None)),
            Some(RequestOutcome::Nothing) => return Ok((TrainCommandResult::Refused, None)),
            Some(_) => {}
        }
        loop {
            // First what is still to come, then what is there: a train that starts in between is seen.
            let repository = self.repository().await?;
            let train = self.train().await?;
            let read = train.as_ref().map(FollowedTrain::deserialize).transpose()?;
            let is_new = read.as_ref().is_some_and(|read| Some(read.started_at) != self.began_before);
            let has_landed = repository.prs.get(&self.target.pull).is_some_and(|pull| pull.state == "merged");
            match read {
                Some(read) if is_under_way(read.state) => return Ok((TrainCommandResult::Started, train)),
                Some(_) if is_new => return Ok((TrainCommandResult::Ended, train)),
                None if has_landed => return Ok((TrainCommandResult::Landed, None)),
                _ if repository.starts.is_empty() => return Ok((TrainCommandResult::Refused, None)),
                _ if self.is_enough() => return Ok((TrainCommandResult::Pending, train)),
                _ => self.pause().await,
            }
        }
    }

    /// Has the train stopped.
    pub async fn stop(mut self) -> anyhow::Result<(TrainCommandResult, Option<Value>)> {
        match self.post_without_body("stop").await? {
            None => return Ok((TrainCommandResult::Pending, None)),
            Some(RequestOutcome::Nothing) => return Ok((TrainCommandResult::NoTrain, None)),
            Some(_) => {}
        }
        loop {
            let train = self.train().await?;
            match train.as_ref().map(FollowedTrain::deserialize).transpose()? {
                Some(read) if is_under_way(read.state) => {}
                Some(_) | None => return Ok((TrainCommandResult::Ended, train)),
            }
            if self.is_enough() {
                return Ok((TrainCommandResult::Pending, train));
            }
            self.pause().await;
        }
    }

    /// Gives the order, and waits until it was worked on; none if that takes too long.
    async fn post_without_body(
        &mut self,
        post_without_body: &str,
    ) -> std::result::Result<Option<RequestOutcome>, Error> {
        let path = format!("{}/{post_without_body}", self.address());
        // One id for all attempts: the order is given once, and each repetition says how far it is.
        let id = format!("cli-{:032x}", fastrand::u128(..));
        loop {
            let response: CommandResponse = self.daemon.post_without_body(&path, &id).await?;
            if response.status == "processed" || self.is_enough() {
                return Ok(response.outcome);
            }
            self.pause().await;
        }
    }

    async fn train(&self) -> std::result::Result<Option<Value>, Error> {
        match self.daemon.get(&self.address()).await {
            Ok(train) => Ok(Some(train)),
            Err(error) if error.is_no_such_train() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn repository(&self) -> std::result::Result<FollowedRepository, Error> {
        self.daemon.get(&format!("/api/v1/repos/{}/state?events=0", self.target.repo)).await
    }

    fn address(&self) -> String {
        let PullRequestArgument { repo, pull } = self.target;
        format!("/api/v1/repos/{repo}/trains/{pull}")
    }

    fn is_enough(&self) -> bool {
        self.given_at.elapsed() >= PATIENCE
    }

    async fn pause(&mut self) {
        if !self.has_told && self.given_at.elapsed() >= LONG && io::stderr().is_terminal() {
            eprintln!("The daemon is handling it …");
            self.has_told = true;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_under_way(state: TrainState) -> bool {
    matches!(state, TrainState::Running | TrainState::WaitingCi)
}
