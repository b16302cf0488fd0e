//! The world outside, as the driver needs it: effects in, inputs out.

mod audit;
mod brief;
mod cascade;
mod failure;
mod fixing;
mod landing;
mod message;
mod own;
mod policy;
mod proof;
mod say;
mod status;
#[cfg(test)]
mod tests;
mod worktrees;

use std::sync::Arc;

use async_trait::async_trait;
use github::{BranchDeletion, Class, Priority};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use merge_train_core::repo::trains::work::{Outcome, Work};
use merge_train_core::repo::{Effect, Failure, FailureKind, Input};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::daemon::clones::Clones;
use crate::daemon::fixers::Fixers;
use crate::daemon::orders::Orders;
use crate::telemetry::metrics::EFFECTS;

use failure::of_github;

#[async_trait]
pub trait Outside: Send + Sync + 'static {
    /// Does it, and says what came of it. Ends soon after a cancellation, with a failure.
    async fn perform(
        &self,
        repo: &RepoId,
        effect: Effect,
        requested_at: Timestamp,
        cancel: CancellationToken,
        reports: &Reports,
    ) -> Input;
}

/// Where an effect that takes long tells how far it is.
pub type Reports = UnboundedSender<Input>;

/// How far back a full look goes for pull requests that are closed: longer than the daemon is ever down unnoticed.
const CLOSED_OF_LATE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// GitHub through the one client, and git through the clones.
pub struct Github {
    client: github::Client,
    clones: Arc<Clones>,
    /// The door to runs; none where there are none.
    orders: Option<Orders>,
    /// None where none is configured.
    fixers: Option<Arc<Fixers>>,
}

/// One thing to be done, where, and what calls it off.
struct Errand<'a> {
    github: &'a Github,
    name: &'a RepoId,
    repo: github::Repo,
    requested_at: Timestamp,
    cancel: &'a CancellationToken,
}

impl Github {
    pub fn new(client: github::Client, clones: Arc<Clones>, orders: Option<Orders>) -> Self {
        Self { client, clones, orders, fixers: None }
    }

    /// With fixers to send.
    pub fn with_fixers(self, fixers: Option<Arc<Fixers>>) -> Self {
        Self { fixers, ..self }
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
        reports: &Reports,
    ) -> Input {
        let name = effect.name();
        // A fixer that is called off is asked to end, and given the time to.
        let is_asked = matches!(effect, Effect::Fix { .. });
        let errand = Errand { github: self, name: repo, repo: self.client.repo(repo), requested_at, cancel: &cancel };
        let (input, result) = tokio::select! {
            () = cancel.cancelled(), if !is_asked => {
                let reason = format!("{name} was cancelled");
                (effect.failed(requested_at, Failure { reason, kind: FailureKind::Transient, retry_at: None }), "cancelled")
            }
            input = errand.run(effect.clone(), reports) => {
                let result = match failure_of(&input) {
                    None => "ok",
                    Some(failure) => {
                        tracing::warn!(%repo, effect = name, reason = failure.reason, "it could not be done");
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

impl Errand<'_> {
    async fn run(&self, effect: Effect, reports: &Reports) -> Input {
        let requested_at = self.requested_at;
        match effect {
            Effect::Survey => {
                let since = requested_at.checked_sub(CLOSED_OF_LATE).unwrap_or(Timestamp::MIN);
                let result = self.repo.with_priority(Priority::Poll).listing(since).await.map_err(of_github);
                Input::Surveyed { requested_at, result }
            }
            Effect::ReadConversations { prs } => {
                let result = self.repo.with_priority(Priority::Poll).conversations(&prs).await.map_err(of_github);
                Input::ConversationsRead { prs, requested_at, result }
            }
            Effect::FetchPull { pr } => {
                let result = match self.repo.pull(pr).await {
                    Ok(pull) => Ok(Some(pull.facts)),
                    Err(error) if error.class() == Class::NotFound => Ok(None),
                    Err(error) => Err(of_github(error)),
                };
                Input::Fetched { pr, requested_at, result }
            }
            Effect::ReadMergeStates { prs } => {
                let result = self.repo.merge_states(&prs).await.map(|states| states.found).map_err(of_github);
                Input::MergeStates { prs, requested_at, result }
            }
            Effect::Say { note, pr, say, since, tried } => {
                let saying = say::Saying { pr, mark: merge_train_core::repo::mark(note, since), tried };
                Input::Said { note, result: self.say(&saying, say).await }
            }
            Effect::Train { root, work } => {
                let result = self.train(root, &work).await;
                if let Ok(outcome) = &result {
                    audit::log(self.name, root, &work, outcome);
                }
                Input::Worked { root, work, result }
            }
            Effect::WriteStatus { root, comment, body, seq } => {
                Input::StatusWritten { root, seq, result: self.write_status(root, comment, &body).await }
            }
            Effect::ReadStatus { root, comment } => {
                Input::StatusRead { root, comment, result: self.read_status(root, comment).await }
            }
            Effect::ReadPolicy { default } => Input::PolicyRead { result: self.read_policy(&default).await },
            Effect::ReadPermission { comment, login } => {
                let result = self.repo.with_priority(Priority::Stop).permission(&login).await.map_err(of_github);
                Input::PermissionRead { comment, result }
            }
            Effect::DeleteBranch { pr, branch, head } => {
                Input::BranchDeleted { pr, result: self.delete_branch(pr, &branch, &head).await }
            }
            Effect::ReadTalk { prs } => {
                let result = self.repo.talk(&prs).await.map_err(of_github);
                Input::TalkRead { prs, requested_at, result }
            }
            Effect::Diagnose { pr, issue, branch, base, head, conflicts, handled } => {
                let case = fixing::Case { pr, issue, branch, base, head, conflicts, handled };
                let result = self.diagnose(&case).await;
                Input::Diagnosed { pr, head: case.head, issue, result }
            }
            Effect::Fix { pr, at, issue, branch, base, head, conflicts, handled } => {
                let case = fixing::Case { pr, issue, branch, base, head, conflicts, handled };
                Input::Fixed { pr, at, result: self.fix(&case, at, reports).await }
            }
            Effect::Forward { pr, at, branch, push, doubted } => {
                Input::Forwarded { pr, at, result: self.forward(pr, at, &branch, &push, doubted).await }
            }
            Effect::ClearFixer { pr, at, head } => {
                Input::FixerCleared { pr, at, result: self.clear_fixer(pr, at, &head).await }
            }
            Effect::ReadSettings { default } => {
                Input::SettingsRead { requested_at, result: self.read_settings(&default).await }
            }
            Effect::ReadProposal { pr, head } => {
                let result = self.read_proposal(pr, &head).await;
                Input::ProposalRead { pr, head, result }
            }
            Effect::ShowCheck { head, verdict } => {
                let result = self.show_check(&head, &verdict).await;
                Input::CheckShown { head, result }
            }
        }
    }

    async fn train(&self, root: PrNumber, work: &Work) -> Result<Outcome, Failure> {
        match work {
            Work::Plan { members, default } => self.plan(members, default).await.map(Outcome::Planned),
            Work::Merge { step, pull, branch, default } => {
                let target = cascade::Target { root, pull: *pull, branch, default };
                self.merge(&target, step).await.map(Outcome::Merged)
            }
            Work::Push(push) => self.push(root, push).await.map(Outcome::Pushed),
            Work::Probe(push) => self.probe(root, push).await.map(Outcome::Probed),
            Work::Expect { change, head, default } => {
                self.expect(root, change, head, default).await.map(Outcome::Expected)
            }
            Work::Squash { pull, head, base, via, wording } => {
                let order = landing::Order { pull: *pull, head, base, via: *via, wording };
                self.squash(&order).await.map(Outcome::Squashed)
            }
            Work::Look { pull } => self.look(*pull).await.map(Outcome::Seen),
            Work::Prove { landed, earlier, default } => {
                self.prove(root, landed, earlier, default).await.map(Outcome::Proved)
            }
            Work::Retarget { pull, base } => self.retarget(*pull, base).await.map(Outcome::Retargeted),
            Work::Worktrees(tidying) => self.tidy(root, tidying).await.map(|()| Outcome::Tidied),
        }
    }

    async fn delete_branch(&self, pr: PrNumber, branch: &BranchName, head: &Sha) -> Result<(), Failure> {
        let deletion = self.repo.delete_branch(branch, head).await.map_err(of_github)?;
        let repo = self.name;
        match deletion {
            BranchDeletion::Deleted => tracing::info!(%repo, pull = %pr, %branch, %head, "deleted the branch"),
            BranchDeletion::Gone => {}
            BranchDeletion::Moved { head } => {
                tracing::info!(%repo, pull = %pr, %branch, %head, "the branch stays: somebody pushed to it");
            }
        }
        Ok(())
    }

    /// What concerns the progress of trains goes before what does not.
    fn urgent(&self) -> github::Repo {
        self.repo.with_priority(Priority::Merge)
    }
}

fn failure_of(input: &Input) -> Option<&Failure> {
    match input {
        Input::Surveyed { result: Err(failure), .. }
        | Input::Fetched { result: Err(failure), .. }
        | Input::MergeStates { result: Err(failure), .. }
        | Input::Said { result: Err(failure), .. }
        | Input::Worked { result: Err(failure), .. }
        | Input::StatusWritten { result: Err(failure), .. }
        | Input::StatusRead { result: Err(failure), .. }
        | Input::ConversationsRead { result: Err(failure), .. }
        | Input::PolicyRead { result: Err(failure), .. }
        | Input::PermissionRead { result: Err(failure), .. }
        | Input::TalkRead { result: Err(failure), .. }
        | Input::Diagnosed { result: Err(failure), .. }
        | Input::Fixed { result: Err(failure), .. }
        | Input::Forwarded { result: Err(failure), .. }
        | Input::FixerCleared { result: Err(failure), .. }
        | Input::SettingsRead { result: Err(failure), .. }
        | Input::ProposalRead { result: Err(failure), .. }
        | Input::CheckShown { result: Err(failure), .. }
        | Input::BranchDeleted { result: Err(failure), .. } => Some(failure),
        _ => None,
    }
}
