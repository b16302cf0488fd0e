//! Saying what is owed, once.

use github::{Class, Reaction};
use merge_train_core::command::{self, Command};
use merge_train_core::facts::PullState;
use merge_train_core::ids::{CommentId, DeliveryId, PrNumber};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::{Failure, FailureKind, Say, Tried};
use merge_train_core::run::{Request, Run, Trigger, TriggerSource};
use merge_train_core::train::texts::answer;

use super::Errand;
use super::failure::of_github;
use crate::orders::{Failed, Origin, Wanted};
use crate::workflow;

/// Where something is said, and how it is known again.
pub(super) struct Saying {
    pub pr: PrNumber,
    pub mark: String,
    pub tried: Tried,
}

impl Errand<'_> {
    pub(super) async fn say(&self, saying: &Saying, say: Say) -> Result<(), Failure> {
        match say {
            Say::Acknowledge { comment } => self.repo.react(comment, Reaction::ThumbsUp).await.map_err(of_github),
            Say::Close {} => self.close(saying.pr).await,
            Say::Comment { body } => self.comment(saying, async || Ok(body)).await,
            Say::Plan { members, default } => {
                let told = async || match self.plan(&members, &default).await {
                    Ok(plan) => Ok(answer::plan(&plan)),
                    Err(failure) if failure.kind == FailureKind::Transient => Err(failure),
                    // That it cannot be told is an answer too.
                    Err(failure) => Ok(format!("The plan could not be computed: {}", failure.reason)),
                };
                self.comment(saying, told).await
            }
            Say::Order { comment, command, login, delivery: _ } => {
                let told = async || self.order(saying.pr, comment, &command, &login).await;
                self.comment(saying, told).await
            }
        }
    }

    /// Does what a comment says about runs. However often: the comment is the key.
    async fn order(&self, pr: PrNumber, comment: CommentId, command: &str, login: &str) -> Result<String, Failure> {
        let Some(orders) = &self.github.orders else {
            return Ok(answer::run_refused(command, "this daemon runs no workflows"));
        };
        let (tenant, by) = (self.name.tenant(), format!("github:{login}"));
        let hash = RequestHash::of(format!("{}#{pr}\n{comment}\n{command}", self.name).as_bytes());
        let id = DeliveryId::parse(format!("comment-{comment}-{}", &hash.as_str()[..12])).expect("letters and digits");
        let origin = Origin { source: Source::GithubWebhook, key: Key::github(&id), hash };
        let done = match command::parse(&format!("@merge-train {command}")) {
            Some(Command::Run { workflow, inputs }) => {
                let inputs = inputs.into_iter().map(|(name, value)| (name, workflow::value(value))).collect();
                let trigger = Trigger {
                    source: TriggerSource::Webhook,
                    user_id: Some(by),
                    webhook_event_id: Some(format!("comment-{comment}")),
                };
                let (repo, pr) = (Some(self.name.clone()), Some(pr));
                let wanted = Wanted { workflow: workflow.clone(), inputs, tenant, repo, pr, trigger };
                orders.create(wanted, origin).await.map(|placed| answer::run_started(&workflow, &placed.run))
            }
            Some(Command::Decide { run, decision, reason }) => {
                let request = Request::Decide { by, decision, reason, step: None };
                let known = orders.store.run(Some(&tenant), &run).await;
                // Who maintains one repository decides nothing about another.
                let is_here = |run: &Run| run.repo_id.eq_ignore_ascii_case(&self.name.to_string());
                match known {
                    Ok(known) if !known.as_ref().is_some_and(is_here) => Err(Failed::NoSuchRun),
                    Err(error) => Err(error.into()),
                    Ok(_) => match orders.ask(&tenant, &run, request, origin).await {
                        Ok(placed) => orders.outcome(&placed).await.map(|_| answer::run_decided(&run, decision)),
                        Err(failed) => Err(failed),
                    },
                }
            }
            _ => return Ok(answer::run_refused(command, "this version does not know it")),
        };
        done.or_else(|failed| match failed {
            Failed::Store(_) | Failed::TooSlow => {
                Err(Failure { reason: failed.to_string(), kind: FailureKind::Transient, retry_at: None })
            }
            failed => Ok(answer::run_refused(command, &failed.to_string())),
        })
    }

    /// Writes a comment, unless one with its mark is there already.
    async fn comment(
        &self,
        saying: &Saying,
        body: impl AsyncFnOnce() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let Saying { pr, mark, tried } = saying;
        if *tried == Tried::Perhaps {
            let comments = self.repo.comments(*pr).await.map_err(of_github)?;
            if comments.iter().any(|found| found.body.contains(mark)) {
                return Ok(());
            }
        }
        let body = body().await?;
        self.repo.create_comment(*pr, &format!("{body}\n\n{mark}")).await.map(drop).map_err(of_github)
    }

    async fn close(&self, pr: PrNumber) -> Result<(), Failure> {
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
