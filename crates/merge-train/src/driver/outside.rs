//! The world outside, as the driver needs it: effects in, inputs out.

use async_trait::async_trait;
use github::{Class, Priority, Reaction};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{self, Effect, Failure, FailureKind, Input, Say, Tried};
use tokio_util::sync::CancellationToken;

use crate::clock;
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
}

impl Github {
    pub fn new(client: github::Client) -> Self {
        Self { client }
    }

    async fn carry_out(&self, repo: &RepoId, effect: Effect, requested_at: Timestamp) -> Input {
        let repo = self.client.repo(repo);
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
                let mark = repo::mark(note, since);
                let result = self::say(&repo, pr, say, &mark, tried).await.map_err(failure);
                Input::Said { note, result }
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
            input = self.carry_out(repo, effect.clone(), requested_at) => {
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

/// Says it, unless a comment with its mark is there already.
async fn say(repo: &github::Repo, pr: PrNumber, say: Say, mark: &str, tried: Tried) -> Result<(), github::Error> {
    match say {
        Say::Acknowledge { comment } => repo.react(comment, Reaction::ThumbsUp).await,
        Say::Comment { body } => {
            if tried == Tried::Perhaps && repo.comments(pr).await?.iter().any(|found| found.body.contains(mark)) {
                return Ok(());
            }
            repo.create_comment(pr, &format!("{body}\n\n{mark}")).await.map(drop)
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
