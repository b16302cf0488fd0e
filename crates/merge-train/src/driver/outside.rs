//! The world outside, as the driver needs it: effects in, inputs out.

use std::sync::Arc;

use async_trait::async_trait;
use github::{Class, Priority, Reaction};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{BranchName, PrNumber, RepoId};
use merge_train_core::plan::Member;
use merge_train_core::repo::{self, Effect, Failure, FailureKind, Input, Say, Tried};
use merge_train_core::train::texts::answer;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::clones::Clones;
use crate::telemetry::metrics::EFFECTS;

#[async_trait]
pub trait Outside: Send + Sync + 'static {
    /// Does it, and says what came of it. Ends soon after a cancellation, with a failure.
    async fn perform(&self, repo: &RepoId, effect: Effect, requested_at: Timestamp, cancel: CancellationToken)
    -> Input;
}

/// How far back a full look goes for pull requests that are closed: longer than the daemon is ever down unnoticed.
const CLOSED_OF_LATE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// GitHub, through the one client.
pub struct Github {
    client: github::Client,
    clones: Arc<Clones>,
}

impl Github {
    pub fn new(client: github::Client, clones: Arc<Clones>) -> Self {
        Self { client, clones }
    }

    async fn carry_out(
        &self,
        name: &RepoId,
        effect: Effect,
        requested_at: Timestamp,
        cancel: &CancellationToken,
    ) -> Input {
        let repo = self.client.repo(name);
        match effect {
            Effect::Survey => {
                let since = requested_at.checked_sub(CLOSED_OF_LATE).unwrap_or(Timestamp::MIN);
                let result = repo.with_priority(Priority::Poll).survey(since).await.map_err(failure);
                Input::Surveyed { requested_at, result }
            }
            Effect::FetchPull { pr } => {
                let result = match repo.pull(pr).await {
                    Ok(pull) => Ok(Some(pull.facts)),
                    Err(error) if error.class() == Class::NotFound => Ok(None),
                    Err(error) => Err(failure(error)),
                };
                Input::Fetched { pr, requested_at, result }
            }
            Effect::ReadMergeStates { prs } => {
                let result = repo.merge_states(&prs).await.map(|states| states.found).map_err(failure);
                Input::MergeStates { prs, requested_at, result }
            }
            Effect::Say { note, pr, say, since, tried } => {
                let said = Saying { repo: &repo, name, pr, mark: repo::mark(note, since), tried };
                Input::Said { note, result: self.say(&said, say, cancel).await }
            }
        }
    }
}

#[async_trait]
impl Outside for Github {
    async fn perform(
        &self,
        repo: &RepoId,
        effect: Effect,
        requested_at: Timestamp,
        cancel: CancellationToken,
    ) -> Input {
        let name = effect.name();
        let (input, result) = tokio::select! {
            () = cancel.cancelled() => {
                let reason = format!("{name} was cancelled");
                (effect.failed(requested_at, Failure { reason, kind: FailureKind::Transient, retry_at: None }), "cancelled")
            }
            input = self.carry_out(repo, effect.clone(), requested_at, &cancel) => {
                let result = match failure_of(&input) {
                    None => "ok",
                    Some(failure) => {
                        tracing::warn!(%repo, effect = name, reason = failure.reason, "GitHub did not do or tell it");
                        "failed"
                    }
                };
                (input, result)
            }
        };
        metrics::counter!(EFFECTS, "effect" => name, "result" => result).increment(1);
        input
    }
}

/// What is said where.
struct Saying<'a> {
    repo: &'a github::Repo,
    name: &'a RepoId,
    pr: PrNumber,
    mark: String,
    tried: Tried,
}

impl Github {
    /// Says it, unless a comment with its mark is there already.
    async fn say(&self, saying: &Saying<'_>, say: Say, cancel: &CancellationToken) -> Result<(), Failure> {
        let Saying { repo, name, pr, mark, tried } = saying;
        if let Say::Acknowledge { comment } = say {
            return repo.react(comment, Reaction::ThumbsUp).await.map_err(failure);
        }
        if *tried == Tried::Perhaps {
            let comments = repo.comments(*pr).await.map_err(failure)?;
            if comments.iter().any(|found| found.body.contains(mark)) {
                return Ok(());
            }
        }
        let body = match say {
            Say::Comment { body } => body,
            Say::Plan { members, default } => self.plan(name, &members, &default, cancel).await?,
            Say::Acknowledge { .. } => unreachable!("a reaction is no comment"),
        };
        repo.create_comment(*pr, &format!("{body}\n\n{mark}")).await.map(drop).map_err(failure)
    }

    /// What landing a stack would do, as a comment tells it. That it cannot be told is an answer too, unless it may pass.
    async fn plan(
        &self,
        repo: &RepoId,
        members: &[Member],
        default: &BranchName,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let computed = async {
            let view = self.clones.open(repo).await?.glance(cancel.clone()).await?;
            let plan = view.plan(members, default).await;
            if let Err(error) = view.close().await {
                tracing::warn!(%repo, %error, "something of a plan is left behind; housekeeping removes it");
            }
            plan
        };
        match computed.await {
            Ok(plan) => Ok(answer::plan(&plan)),
            Err(error) if error.is_transient() || matches!(error, git::Error::Cancelled) => {
                Err(Failure { reason: error.to_string(), kind: FailureKind::Transient, retry_at: None })
            }
            Err(error) => Ok(format!("The plan could not be computed: {error}")),
        }
    }
}

fn failure_of(input: &Input) -> Option<&Failure> {
    match input {
        Input::Surveyed { result: Err(failure), .. }
        | Input::Fetched { result: Err(failure), .. }
        | Input::MergeStates { result: Err(failure), .. }
        | Input::Said { result: Err(failure), .. } => Some(failure),
        _ => None,
    }
}

fn failure(error: github::Error) -> Failure {
    let kind = match error.class() {
        Class::Transient | Class::Conflict => FailureKind::Transient,
        Class::NotFound | Class::Forbidden | Class::Permanent => FailureKind::Permanent,
    };
    let retry_at = error.retry_after().and_then(|wait| clock::now().checked_add(wait).ok());
    Failure { reason: error.to_string(), kind, retry_at }
}
