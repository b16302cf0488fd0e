//! What git says about pull requests: asked once for each pair of base and head commit, then remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::Semaphore;

use super::is_open;
use crate::Sim;
use crate::git::{GitRepo, MergeOutcome, Signature};
use crate::http::ApiError;
use crate::world::{Id, Mergeability, Pull, PullFacts, PullSize, Sha, World};

/// Git processes work on this many pull requests at once, whoever asks: more only makes all of them slower.
static AT_ONCE: Semaphore = Semaphore::const_new(4);
/// Facts of pull requests long gone are forgotten when there are this many.
const MOST_FACTS: usize = 20_000;

/// The commit a pull request is measured against: the tip of its base while it is open.
pub fn base_commit<'w>(world: &'w World, pull: &'w Pull) -> &'w Sha {
    let tip = is_open(world, pull).then(|| world.branch(pull.repo, &pull.base_ref)).flatten();
    tip.unwrap_or(&pull.base_sha)
}

/// What is known; none until [`settle`] has asked.
pub fn facts<'w>(world: &'w World, pull: &Pull) -> Option<&'w Arc<PullFacts>> {
    let base = base_commit(world, pull).clone();
    world.facts.get(&(pull.repo, base, pull.head_sha.clone()))
}

/// Asks git what has to be known about these pull requests, so that `World::facts` holds it.
pub async fn settle(sim: &Sim, repo: Id, numbers: &[u64]) -> Result<(), ApiError> {
    let unknown: BTreeMap<u64, Question> = sim.read(|world| {
        let pulls = numbers.iter().filter_map(|number| world.pulls.get(repo, *number));
        pulls.filter(|pull| facts(world, pull).is_none()).map(|pull| (pull.number, Question::of(world, pull))).collect()
    });
    stream::iter(unknown.into_values().map(|question| answer(sim, question)))
        .buffer_unordered(AT_ONCE_PER_CALL)
        .try_collect::<()>()
        .await
}

/// So that one long list does not keep all places from everyone else.
const AT_ONCE_PER_CALL: usize = 3;

struct Question {
    repo: Id,
    number: u64,
    base: Sha,
    head: Sha,
    open: bool,
}

impl Question {
    fn of(world: &World, pull: &Pull) -> Self {
        Self {
            repo: pull.repo,
            number: pull.number,
            base: base_commit(world, pull).clone(),
            head: pull.head_sha.clone(),
            open: is_open(world, pull),
        }
    }
}

async fn answer(sim: &Sim, question: Question) -> Result<(), ApiError> {
    let _place = AT_ONCE.acquire().await.expect("never closed");
    let key = (question.repo, question.base.clone(), question.head.clone());
    // Someone else may have asked while this waited.
    if sim.read(|world| world.facts.contains_key(&key)) {
        return Ok(());
    }
    let facts = ask(&sim.git(question.repo), &question).await?;
    sim.write(|world| {
        if world.facts.len() >= MOST_FACTS {
            world.facts.clear();
        }
        world.facts.insert(key, Arc::new(facts));
        Ok(())
    })
}

async fn ask(git: &GitRepo, question: &Question) -> Result<PullFacts, ApiError> {
    let Question { base, head, .. } = question;
    let measured = async {
        let merge_base = git.merge_base(base, head).await?;
        let (size, behind_by) = measure(git, base, merge_base.as_ref().unwrap_or(base), head).await?;
        Ok::<_, crate::git::Error>((merge_base, size, behind_by))
    };
    let merge = async {
        let outcome = git.merge_trees(base, head).await?;
        let test_merge = match &outcome {
            MergeOutcome::Clean { tree } if question.open => Some(write_test_merge(git, question, tree).await?),
            _ => None,
        };
        Ok((outcome, test_merge))
    };
    let ((merge_base, size, behind_by), (outcome, test_merge)) = tokio::try_join!(measured, merge)?;
    let mergeability = match outcome {
        MergeOutcome::Clean { tree } => Mergeability::Clean { tree },
        MergeOutcome::Conflict { files } => Mergeability::Conflicting { files },
    };
    Ok(PullFacts { merge_base, mergeability, test_merge, behind_by, size })
}

/// How much a head proposes to a base.
pub async fn size(git: &GitRepo, base: &Sha, head: &Sha) -> Result<PullSize, crate::git::Error> {
    let merge_base = git.merge_base(base, head).await?;
    Ok(measure(git, base, merge_base.as_ref().unwrap_or(base), head).await?.0)
}

/// The size, and how many commits of the base the head lacks.
async fn measure(
    git: &GitRepo,
    base: &Sha,
    merge_base: &Sha,
    head: &Sha,
) -> Result<(PullSize, u64), crate::git::Error> {
    let (totals, (commits, behind_by)) =
        tokio::try_join!(git.diff_totals(merge_base, head), git.ahead_behind(head, base))?;
    let (changed_files, additions, deletions) = totals;
    Ok((PullSize { commits, additions, deletions, changed_files }, behind_by))
}

/// The commit at `refs/pull/N/merge`. Its time is the head's, so that asking again gives the same commit.
async fn write_test_merge(git: &GitRepo, question: &Question, tree: &str) -> Result<Sha, crate::git::Error> {
    let Question { number, base, head, .. } = question;
    let seconds = git.commit(head).await?.map_or(0, |commit| commit.committer.seconds);
    let github = Signature::utc("GitHub", "noreply@github.com", seconds);
    let sha = git.write_commit(tree, &[base, head], &github, &github, &format!("Merge {head} into {base}")).await?;
    git.set_ref(&format!("refs/pull/{number}/merge"), &sha).await?;
    Ok(sha)
}
