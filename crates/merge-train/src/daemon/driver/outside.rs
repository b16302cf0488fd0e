//! The world outside, as the driver needs it: effects in, answers out.

mod audit;
mod brief;
mod cascade;
mod failure;
mod fixer_effects;
mod landing;
mod message;
mod notes;
mod policy;
mod proof;
mod settings_file;
mod status;
#[cfg(test)]
mod tests;
mod worktrees;

use std::sync::Arc;

use async_trait::async_trait;
use git::push::Deleted;
use github::{Class, Priority};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::facts::PullFacts;
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use merge_train_core::repo::trains::work::{TrainTask, TrainTaskOutcome};
use merge_train_core::repo::{Answer, Effect, EffectFailure, EffectFailureKind, Input};
use merge_train_core::repo::{commands, mirror, outbox, ratchet, settings, trains};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::daemon::clones::Clones;
use crate::daemon::fixers::Fixers;
use crate::daemon::run_orders::RunOrders;
use crate::telemetry::metrics::EFFECTS;

use failure::{of_git, of_github, oid};

#[async_trait]
pub trait OutsideWorld: Send + Sync + 'static {
    /// Does it, and says what came of it. Ends soon after a cancellation, with a failure.
    async fn perform(
        &self,
        repo: &RepoId,
        effect: Effect,
        requested_at: Timestamp,
        cancel: CancellationToken,
        reports: &ProgressReports,
    ) -> Result<Answer, EffectFailure>;
}

/// Where an effect that takes long tells how far it is.
pub type ProgressReports = UnboundedSender<Input>;

/// How far back a full look goes for pull requests that are closed: longer than the daemon is ever down unnoticed.
const CLOSED_OF_LATE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// GitHub through the one client, and git through the clones.
pub struct GithubOutside {
    client: github::Client,
    clones: Arc<Clones>,
    /// The door to runs; none where there are none.
    orders: Option<RunOrders>,
    /// None where none is configured.
    fixers: Option<Arc<Fixers>>,
}

/// One thing to be done, where, and what calls it off.
struct EffectRun<'a> {
    github: &'a GithubOutside,
    name: &'a RepoId,
    repo: github::Repo,
    requested_at: Timestamp,
    cancel: &'a CancellationToken,
}

impl GithubOutside {
    pub fn new(client: github::Client, clones: Arc<Clones>, orders: Option<RunOrders>) -> Self {
        Self { client, clones, orders, fixers: None }
    }

    /// With fixers to send.
    pub fn with_fixers(self, fixers: Option<Arc<Fixers>>) -> Self {
        Self { fixers, ..self }
    }
}

#[async_trait]
impl OutsideWorld for GithubOutside {
    async fn perform(
        &self,
        repo: &RepoId,
        effect: Effect,
        requested_at: Timestamp,
        cancel: CancellationToken,
        reports: &ProgressReports,
    ) -> Result<Answer, EffectFailure> {
        let name = effect.name();
        // A fixer that is called off is asked to end, and given the time to.
        let is_asked = matches!(effect, Effect::Ratchet(ratchet::Effect::Fix { .. }));
        let errand =
            EffectRun { github: self, name: repo, repo: self.client.repo(repo), requested_at, cancel: &cancel };
        let (result, told) = tokio::select! {
            () = cancel.cancelled(), if !is_asked => {
                let reason = format!("{name} was cancelled");
                (Err(EffectFailure { reason, kind: EffectFailureKind::Transient, retry_at: None }), "cancelled")
            }
            result = errand.run(effect, reports) => {
                let told = match &result {
                    Ok(_) => "ok",
                    Err(failure) => {
                        tracing::warn!(%repo, effect = name, reason = failure.reason, "it could not be done");
                        "failed"
                    }
                };
                (result, told)
            }
        };
        metrics::counter!(EFFECTS, "effect" => name, "result" => told).increment(1);
        result
    }
}

impl EffectRun<'_> {
    async fn run(&self, effect: Effect, reports: &ProgressReports) -> Result<Answer, EffectFailure> {
        match effect {
            Effect::Mirror(effect) => self.mirror(effect).await,
            Effect::Outbox(effect) => self.outbox(effect).await,
            Effect::Trains(effect) => self.trains(effect).await,
            Effect::Commands(effect) => self.commands(effect).await,
            Effect::Ratchet(effect) => self.ratchet(effect, reports).await,
            Effect::Settings(effect) => self.settings(effect).await,
        }
    }

    async fn mirror(&self, effect: mirror::Effect) -> Result<Answer, EffectFailure> {
        use mirror::Effect;
        match effect {
            Effect::Survey => {
                let since = self.requested_at.checked_sub(CLOSED_OF_LATE).unwrap_or(Timestamp::MIN);
                Ok(self.polled().listing(since).await.map_err(of_github)?.into())
            }
            Effect::ReadConversations { prs } => Ok(self.polled().conversations(&prs).await.map_err(of_github)?.into()),
            Effect::FetchPull { pr } => match self.repo.pull(pr).await {
                Ok(pull) => Ok(Some(pull.facts).into()),
                Err(error) if error.class() == Class::NotFound => Ok(None::<PullFacts>.into()),
                Err(error) => Err(of_github(error)),
            },
            Effect::ReadMergeStates { prs } => Ok(self.repo.merge_states(&prs).await.map_err(of_github)?.found.into()),
        }
    }

    async fn outbox(&self, effect: outbox::Effect) -> Result<Answer, EffectFailure> {
        match effect {
            outbox::Effect::Say { note, pr, say, since, tried } => {
                let saying = notes::NotePosting { pr, mark: merge_train_core::repo::mark(note, since), tried };
                Ok(self.say(&saying, say).await?.into())
            }
        }
    }

    async fn trains(&self, effect: trains::Effect) -> Result<Answer, EffectFailure> {
        use trains::Effect;
        Ok(match effect {
            Effect::Work { root, work } => {
                let outcome = self.train(root, &work).await?;
                audit::log(self.name, root, &work, &outcome);
                outcome.into()
            }
            Effect::WriteStatus { root, comment, body, seq: _ } => {
                self.write_status(root, comment, &body).await?.into()
            }
            Effect::ReadStatus { root, comment } => self.read_status(root, comment).await?.into(),
            Effect::ReadPolicy { default } => self.read_policy(&default).await?.into(),
            Effect::DeleteBranch { pr, branch, head } => self.delete_branch(pr, &branch, &head).await?.into(),
        })
    }

    async fn commands(&self, effect: commands::Effect) -> Result<Answer, EffectFailure> {
        match effect {
            commands::Effect::ReadPermission { comment: _, login } => {
                let repo = self.repo.with_priority(Priority::Stop);
                Ok(repo.permission(&login).await.map_err(of_github)?.into())
            }
        }
    }

    async fn ratchet(&self, effect: ratchet::Effect, reports: &ProgressReports) -> Result<Answer, EffectFailure> {
        use ratchet::Effect;
        Ok(match effect {
            Effect::ReadTalk { prs } => self.repo.talk(&prs).await.map_err(of_github)?.into(),
            Effect::Diagnose { pr, issue, branch, base, head, conflicts, handled } => {
                let case = fixer_effects::FixerAssignment { pr, issue, branch, base, head, conflicts, handled };
                self.diagnose(&case).await?.into()
            }
            Effect::Fix { pr, at, issue, branch, base, head, conflicts, handled } => {
                let case = fixer_effects::FixerAssignment { pr, issue, branch, base, head, conflicts, handled };
                self.fix(&case, at, reports).await?.into()
            }
            Effect::Forward { pr, at, branch, push, doubted } => {
                self.forward(pr, at, &branch, &push, doubted).await?.into()
            }
            Effect::ClearFixer { pr, at, head } => self.clear_fixer(pr, at, &head).await?.into(),
        })
    }

    async fn settings(&self, effect: settings::Effect) -> Result<Answer, EffectFailure> {
        use settings::Effect;
        Ok(match effect {
            Effect::ReadSettings { default } => self.read_settings(&default).await?.into(),
            Effect::ReadProposal { pr, head } => self.read_proposal(pr, &head).await?.into(),
            Effect::ShowCheck { head, verdict } => self.show_check(&head, &verdict).await?.into(),
        })
    }

    async fn train(&self, root: PrNumber, work: &TrainTask) -> Result<TrainTaskOutcome, EffectFailure> {
        match work {
            TrainTask::Plan { members, default } => self.plan(members, default).await.map(TrainTaskOutcome::Planned),
            TrainTask::Merge { step, pull, branch, default } => {
                let target = cascade::MergeTarget { root, pull: *pull, branch, default };
                self.merge(&target, step).await.map(TrainTaskOutcome::Merged)
            }
            TrainTask::Push(push) => self.push(root, push).await.map(TrainTaskOutcome::Pushed),
            TrainTask::Probe(push) => self.probe(root, push).await.map(TrainTaskOutcome::Probed),
            TrainTask::Expect { change, head, default } => {
                self.expect(root, change, head, default).await.map(TrainTaskOutcome::Expected)
            }
            TrainTask::Squash { pull, head, base, via, wording } => {
                let order = landing::SquashRequest { pull: *pull, head, base, via: *via, wording };
                self.squash(&order).await.map(TrainTaskOutcome::Squashed)
            }
            TrainTask::Look { pull } => self.look(*pull).await.map(TrainTaskOutcome::Seen),
            TrainTask::Prove { landed, earlier, default } => {
                self.prove(root, landed, earlier, default).await.map(TrainTaskOutcome::Proved)
            }
            TrainTask::Retarget { pull, base } => self.retarget(*pull, base).await.map(TrainTaskOutcome::Retargeted),
            TrainTask::Worktrees(tidying) => self.tidy(root, tidying).await.map(|()| TrainTaskOutcome::Tidied),
        }
    }

    async fn delete_branch(&self, pr: PrNumber, branch: &BranchName, head: &Sha) -> Result<(), EffectFailure> {
        let (repo, repository) = (self.name, self.github.clones.open(self.name).await.map_err(of_git)?);
        match repository.delete_branch(branch, &oid(head)?, self.cancel).await.map_err(of_git)? {
            Deleted::Yes => tracing::info!(%repo, pull = %pr, %branch, %head, "deleted the branch"),
            Deleted::Moved { head } => {
                tracing::info!(%repo, pull = %pr, %branch, %head, "the branch stays: somebody pushed to it");
            }
            Deleted::Refused { reason } => {
                tracing::info!(%repo, pull = %pr, %branch, reason, "the branch stays: it could not be deleted");
            }
        }
        Ok(())
    }

    /// What nobody waits for goes after all else.
    fn polled(&self) -> github::Repo {
        self.repo.with_priority(Priority::Poll)
    }

    /// What concerns the progress of trains goes before what does not.
    fn urgent(&self) -> github::Repo {
        self.repo.with_priority(Priority::Merge)
    }
}
