//! Saying what is owed, once.

use github::{Class, Reaction};
use merge_train_core::facts::PullState;
use merge_train_core::ids::{CommentId, DeliveryId, PrNumber, RunId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::commands::{Command, StoredCommand};
use merge_train_core::repo::trains::texts::answer;
use merge_train_core::repo::{EffectFailure, EffectFailureKind, NoteContent, PostAttempt, TRAIN};
use merge_train_core::workflow::{Decision, Request, Run, Trigger, TriggerSource};

use super::EffectRun;
use super::failure::of_github;
use crate::daemon::run_orders::{NewRun, OrderError, OrderOrigin, RequestProgress, RunOrders};
use crate::daemon::workflow;

/// Where something is said, and how it is known again.
pub(super) struct NotePosting {
    pub pr: PrNumber,
    pub mark: String,
    pub tried: PostAttempt,
}

/// A command about runs, and where it comes from.
struct RunCommand<'a> {
    pr: PrNumber,
    comment: CommentId,
    command: &'a StoredCommand,
    login: &'a str,
    delivery: Option<DeliveryId>,
}

impl RunCommand<'_> {
    /// As gates and runs name whoever gives it.
    fn by(&self) -> String {
        format!("github:{}", self.login)
    }
}

impl EffectRun<'_> {
    pub(super) async fn say(&self, saying: &NotePosting, say: NoteContent) -> Result<(), EffectFailure> {
        match say {
            NoteContent::Acknowledge { comment } => {
                self.repo.react(comment, Reaction::ThumbsUp).await.map_err(of_github)
            }
            NoteContent::Close {} => self.close(saying.pr).await,
            NoteContent::Comment { body } => self.comment(saying, async || Ok(body)).await,
            NoteContent::Plan { members, default } => {
                let told = async || match self.plan(&members, &default).await {
                    Ok(plan) => Ok(answer::plan(&plan)),
                    Err(failure) if failure.kind == EffectFailureKind::Transient => Err(failure),
                    // That it cannot be told is an answer too.
                    Err(failure) => Ok(format!("Could not compute the plan: {}", failure.reason)),
                };
                self.comment(saying, told).await
            }
            NoteContent::Order { comment, command, login, delivery } => {
                let given = RunCommand { pr: saying.pr, comment, command: &command, login: &login, delivery };
                self.comment(saying, async || self.order(&given).await).await
            }
        }
    }

    /// Does what a comment says about runs. However often: the comment is the key.
    async fn order(&self, given: &RunCommand<'_>) -> Result<String, EffectFailure> {
        let words = given.command.to_string();
        let Some(orders) = &self.github.orders else {
            return Ok(answer::run_refused(&words, "this daemon runs no workflows"));
        };
        let done = match given.command {
            StoredCommand::Known(Command::Run { workflow, inputs }) => {
                self.start_run(orders, given, workflow, inputs).await
            }
            StoredCommand::Known(Command::Decide { run, decision, reason }) => {
                self.decide(orders, given, run, *decision, reason.clone()).await
            }
            StoredCommand::Known(
                Command::Predecessor(_)
                | Command::Start
                | Command::Stop
                | Command::StopForce { .. }
                | Command::Plan
                | Command::Status
                | Command::Help
                | Command::Retry
                | Command::Ratchet(_),
            )
            | StoredCommand::Unknown(_) => {
                return Ok(answer::run_refused(&words, "this version does not know it"));
            }
        };
        done.or_else(|failed| match failed {
            OrderError::Store(_) | OrderError::TooSlow => {
                Err(EffectFailure { reason: failed.to_string(), kind: EffectFailureKind::Transient, retry_at: None })
            }
            failed => Ok(answer::run_refused(&words, &failed.to_string())),
        })
    }

    /// One delivery can bring several commands, and one command can come with several deliveries.
    fn origin(&self, given: &RunCommand<'_>) -> OrderOrigin {
        let RunCommand { pr, comment, command, .. } = given;
        let hash = RequestHash::of(format!("{}#{pr}\n{comment}\n{command}", self.name).as_bytes());
        let id = DeliveryId::parse(format!("comment-{comment}-{}", &hash.as_str()[..12])).expect("letters and digits");
        OrderOrigin { source: Source::GithubWebhook, key: Key::github(&id), hash }
    }

    async fn start_run(
        &self,
        orders: &RunOrders,
        given: &RunCommand<'_>,
        workflow: &str,
        inputs: &[(String, String)],
    ) -> Result<String, OrderError> {
        let inputs = inputs.iter().map(|(name, value)| (name.clone(), workflow::value(value.clone()))).collect();
        let trigger = Trigger {
            source: TriggerSource::Webhook,
            user_id: Some(given.by()),
            webhook_event_id: given.delivery.as_ref().map(ToString::to_string),
        };
        let (tenant, repo, pr) = (self.name.tenant(), Some(self.name.clone()), Some(given.pr));
        let wanted = NewRun { workflow: workflow.to_owned(), inputs, tenant, repo, pr, trigger };
        let placed = orders.create(wanted, self.origin(given)).await?;
        Ok(match orders.outcome(&placed).await? {
            RequestProgress::Done => answer::run_started(workflow, &placed.run),
            RequestProgress::UnderWay => answer::run_starts_later(workflow, &placed.run),
        })
    }

    async fn decide(
        &self,
        orders: &RunOrders,
        given: &RunCommand<'_>,
        id: &RunId,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<String, OrderError> {
        let (tenant, by) = (self.name.tenant(), given.by());
        // Who maintains one repository decides nothing about another.
        let is_here = |run: &Run| run.repo_id.eq_ignore_ascii_case(&self.name.to_string());
        let known = orders.store.run(Some(&tenant), id).await?;
        let run = known.filter(is_here).ok_or(OrderError::NoSuchRun)?;
        let request = Request::Decide { by: by.clone(), decision, reason, step: None };
        let placed = orders.ask(&tenant, id, request, self.origin(given)).await?;
        if orders.outcome(&placed).await? == RequestProgress::UnderWay {
            return Ok(answer::run_decides_later(id, decision));
        }
        let train = run.pr_id.parse().map(PrNumber::new).ok().filter(|_| run.kind == TRAIN);
        match (train, decision) {
            (Some(root), Decision::Approved) => Ok(answer::train_approved(id, root)),
            (Some(root), Decision::Rejected) => Ok(answer::train_rejected(id, root)),
            (None, _) => {
                let missing = orders.missing(id, &by).await?;
                Ok(if missing.is_empty() {
                    answer::run_decided(id, decision)
                } else {
                    answer::run_needs_more(id, &missing)
                })
            }
        }
    }

    /// Writes a comment, unless one with its mark is there already.
    async fn comment(
        &self,
        saying: &NotePosting,
        body: impl AsyncFnOnce() -> Result<String, EffectFailure>,
    ) -> Result<(), EffectFailure> {
        let NotePosting { pr, mark, tried } = saying;
        if *tried == PostAttempt::Perhaps {
            let comments = self.repo.comments(*pr).await.map_err(of_github)?;
            if comments.iter().any(|found| found.body.contains(mark)) {
                return Ok(());
            }
        }
        let body = body().await?;
        self.repo.create_comment(*pr, &format!("{body}\n\n{mark}")).await.map(drop).map_err(of_github)
    }

    async fn close(&self, pr: PrNumber) -> Result<(), EffectFailure> {
        let Err(refusal) = self.repo.close(pr).await else { return Ok(()) };
        if refusal.class() == Class::Permanent
            && let Ok(pull) = self.repo.pull(pr).await
            && pull.facts.state != PullState::Open
        {
            return Ok(());
        }
        Err(of_github(refusal))
    }
}
