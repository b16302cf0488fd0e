//! One look at a workspace: at most one thing is done about it.

use std::collections::BTreeSet;

use super::rounds::DAY;
use super::{
    CiSummary, Effect, Eligibility, Event, Fix, FixIssue, FixPhase, Markers, ObservedPullRequest, RatchetAction,
    RatchetDelta, TransitionLogAction, UPDATING, Workspace, WorkspaceFacts, WorkspaceReason, WorkspaceStatus, bar,
    determine_fixup_action, texts,
};
use super::{comments, fixes};
use crate::ids::PrNumber;
use crate::repo::mirror::reads;
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::transaction::Transaction;
use crate::repo::{self, CiDiagnosis, Input};

/// What was decided on, and where.
struct WorkspaceView {
    pr: PrNumber,
    markers: Markers,
    changes: BTreeSet<RatchetDelta>,
    forced: bool,
}

pub(super) fn at(transaction: &mut Transaction<'_>, pr: PrNumber, input: &Input) {
    let Some(workspace) = transaction.state.workspaces.get(&pr) else { return };
    if workspace.fix.is_some() {
        fixes::advance(transaction, pr);
        // What came meanwhile is dealt with in one more pass.
        if transaction.state.workspaces.get(&pr).is_none_or(|workspace| workspace.fix.is_some()) {
            return;
        }
    }
    let Some(workspace) = transaction.state.workspaces.get(&pr) else { return };
    let known = transaction.state.pr(pr);
    if workspace.archived_at.is_some() {
        return;
    }
    let is_fresh = known.is_some_and(|known| {
        known.merge_state_wanted_since.is_none()
            && workspace.talk_wanted_since.is_none()
            && !transaction.state.wanted.contains_key(&pr)
    });
    let asked = Eligibility {
        user_is_working: workspace.user_is_working(transaction.settings.ratchet.session_timeout, transaction.now),
        has_pr: known.is_some(),
        is_open: known.is_some_and(CachedPr::is_ours),
        is_enabled: transaction.state.ratchet_is_on(pr, &transaction.settings),
        ci: known.filter(|_| is_fresh).map_or(CiSummary::None, |known| CiSummary::of(&known.ci)),
    };
    if let Some(bar) = bar(asked) {
        let deed = if bar.status == WorkspaceStatus::WaitingForCi {
            TransitionLogAction::Wait
        } else {
            TransitionLogAction::Pause
        };
        let seen = known.and_then(|known| seen(workspace, known));
        settle(
            transaction,
            pr,
            RatchetTransition { deed, status: bar.status, reason: bar.reason, seen: seen.as_ref(), consumed: None },
        );
        if matches!(bar.status, WorkspaceStatus::PausedNoPr | WorkspaceStatus::PausedPrNotOpen) {
            transaction.record(Event::WorkspaceArchived { pr });
        }
        return;
    }
    if !is_fresh {
        return;
    }
    let Some(seen) = known.and_then(|known| seen(workspace, known)) else {
        // Nobody has read yet what was said about it.
        return comments::want(transaction, [pr]);
    };
    let markers = Markers { seen, enabled: asked.is_enabled };
    let changes = Markers::changes(workspace.consumed.as_ref(), &markers);
    if changes.is_empty() && !workspace.forced {
        return;
    }
    let forced = workspace.forced;
    let action =
        determine_fixup_action(&markers.seen, &workspace.standing(&transaction.settings.ratchet), transaction.now);
    let view = WorkspaceView { pr, markers, changes, forced };
    match action {
        RatchetAction::Wait(reason) => view.wait(transaction, WorkspaceStatus::WaitingForCi, reason),
        RatchetAction::Pause(status, reason) => view.pause(transaction, status, reason),
        RatchetAction::Noop(reason) => view.noop(transaction, reason),
        RatchetAction::Fix(issue, reason) => view.fix(transaction, issue, reason, input),
    }
}

fn seen(workspace: &Workspace, known: &CachedPr) -> Option<ObservedPullRequest> {
    let facts =
        WorkspaceFacts { head: &known.head_sha, ci: &known.ci, merge_state: known.merge_state, review: known.review };
    workspace.seen(facts)
}

impl WorkspaceView {
    fn wait(&self, transaction: &mut Transaction<'_>, status: WorkspaceStatus, reason: WorkspaceReason) {
        let seen = Some(&self.markers.seen);
        settle(
            transaction,
            self.pr,
            RatchetTransition { deed: TransitionLogAction::Wait, status, reason, seen, consumed: None },
        );
    }

    /// There is something to fix, and it is left for later: it stays news.
    fn keep_out(&self, transaction: &mut Transaction<'_>, status: WorkspaceStatus, reason: WorkspaceReason) {
        let seen = Some(&self.markers.seen);
        settle(
            transaction,
            self.pr,
            RatchetTransition { deed: TransitionLogAction::Pause, status, reason, seen, consumed: None },
        );
    }

    fn pause(&self, transaction: &mut Transaction<'_>, status: WorkspaceStatus, reason: WorkspaceReason) {
        self.consume(transaction, TransitionLogAction::Pause, status, reason);
    }

    /// Everything stays as it was, and what is shown of it, too; but what kept the ratchet out until now does so no longer.
    fn noop(&self, transaction: &mut Transaction<'_>, reason: WorkspaceReason) {
        let status = transaction.state.workspaces.get(&self.pr).map(|workspace| workspace.status).unwrap_or_default();
        let status = match status {
            WorkspaceStatus::PausedUserWorking
            | WorkspaceStatus::PausedNoPr
            | WorkspaceStatus::PausedPrNotOpen
            | WorkspaceStatus::PausedDisabled
            | WorkspaceStatus::PausedAttentionDailyBudget
            | WorkspaceStatus::PausedAttentionNoFixer
            | WorkspaceStatus::WaitingForTrain => WorkspaceStatus::WaitingForCi,
            WorkspaceStatus::New
            | WorkspaceStatus::FixingCi
            | WorkspaceStatus::FixingReview
            | WorkspaceStatus::WaitingForCi
            | WorkspaceStatus::PausedWaitConflictOnly
            | WorkspaceStatus::PausedWaitHumanReview
            | WorkspaceStatus::PausedDone
            | WorkspaceStatus::PausedAttentionTerminalFailed
            | WorkspaceStatus::PausedAttentionStaleCiTimeout
            | WorkspaceStatus::PausedAttentionNoPush
            | WorkspaceStatus::PausedAttentionPushApproval => {
                // What was said of another head does not hold for this one.
                let holds = !self.changes.contains(&RatchetDelta::Head);
                if holds { status } else { WorkspaceStatus::WaitingForCi }
            }
        };
        self.consume(transaction, TransitionLogAction::Noop, status, reason);
    }

    fn consume(
        &self,
        transaction: &mut Transaction<'_>,
        deed: TransitionLogAction,
        status: WorkspaceStatus,
        reason: WorkspaceReason,
    ) {
        let (seen, consumed) = (Some(&self.markers.seen), Some(&self.markers));
        settle(transaction, self.pr, RatchetTransition { deed, status, reason, seen, consumed });
    }

    /// A fixer is wanted. Whether one may be sent, and whether it is known what to tell it.
    fn fix(&self, transaction: &mut Transaction<'_>, issue: FixIssue, reason: WorkspaceReason, input: &Input) {
        let settings = &transaction.settings.ratchet;
        let Some(workspace) = transaction.state.workspaces.get(&self.pr) else { return };
        if workspace.attempts >= settings.max_attempts {
            return self.pause(
                transaction,
                WorkspaceStatus::PausedAttentionTerminalFailed,
                WorkspaceReason::TooManyAttempts,
            );
        }
        if workspace.tried.as_ref().is_some_and(|tried| tried.covers(issue, &self.markers.seen)) {
            return self.consume(
                transaction,
                TransitionLogAction::Noop,
                WorkspaceStatus::PausedAttentionNoPush,
                WorkspaceReason::AlreadyTried,
            );
        }
        if !self.forced && self.changes.iter().all(|change| *change == RatchetDelta::Mergeability) {
            return self.noop(transaction, WorkspaceReason::ExternalChange);
        }
        if !settings.has_fixer {
            return self.keep_out(transaction, WorkspaceStatus::PausedAttentionNoFixer, WorkspaceReason::NoFixer);
        }
        if is_spent(&transaction.state, settings.daily_budget, transaction.now) {
            return self.keep_out(
                transaction,
                WorkspaceStatus::PausedAttentionDailyBudget,
                WorkspaceReason::DailyBudget,
            );
        }
        if transaction.state.owned_by_train(self.pr) {
            return self.wait(transaction, WorkspaceStatus::WaitingForTrain, WorkspaceReason::TrainAtWork);
        }
        let is_diagnosis = |effect: &repo::Effect| {
            matches!(effect, repo::Effect::Ratchet(Effect::Diagnose { pr, head, issue: about, .. })
                if *pr == self.pr && *head == self.markers.seen.head && *about == issue)
        };
        match input.completed().filter(|(effect, _)| is_diagnosis(effect)) {
            Some((_, outcome)) => match outcome.answer() {
                Ok(diagnosis) => self.dispatch(transaction, issue, reason, diagnosis),
                Err(failure) => {
                    let retry_at = reads::retry_at(failure, workspace.failures, transaction.now);
                    let reason = failure.reason.clone();
                    transaction.record(Event::DiagnosisDelayed { pr: self.pr, reason, retry_at });
                    self.wait(transaction, WorkspaceStatus::WaitingForCi, WorkspaceReason::GithubUnavailable);
                }
            },
            None if workspace.retry_at.is_some_and(|at| at > transaction.now) => {}
            None => self.diagnose(transaction, issue),
        }
    }

    fn diagnose(&self, transaction: &mut Transaction<'_>, issue: FixIssue) {
        let (Some(workspace), Some(known)) =
            (transaction.state.workspaces.get(&self.pr), transaction.state.pr(self.pr))
        else {
            return;
        };
        let Some(branch) = known.head_ref.clone() else { return };
        let effect = Effect::Diagnose {
            pr: self.pr,
            issue,
            branch,
            base: known.base_ref.clone(),
            head: known.head_sha.clone(),
            conflicts: self.markers.seen.conflicts(),
            handled: workspace.handled.clone(),
        };
        transaction.effect(effect);
    }

    fn dispatch(
        &self,
        transaction: &mut Transaction<'_>,
        issue: FixIssue,
        reason: WorkspaceReason,
        diagnosis: &CiDiagnosis,
    ) {
        let (Some(workspace), Some(known)) =
            (transaction.state.workspaces.get(&self.pr), transaction.state.pr(self.pr))
        else {
            return;
        };
        let Some(branch) = known.head_ref.clone() else { return };
        let signature = diagnosis.signature.clone().filter(|_| issue == FixIssue::FixCi);
        if signature.is_some() && signature == workspace.last_signature {
            return self.pause(
                transaction,
                WorkspaceStatus::PausedAttentionTerminalFailed,
                WorkspaceReason::SameFailure,
            );
        }
        let seen = &self.markers.seen;
        let fix = Fix {
            at: transaction.now,
            issue,
            branch,
            base: known.base_ref.clone(),
            head: seen.head.clone(),
            run: seen.run.clone(),
            conflicts: seen.conflicts(),
            points: seen.points.clone(),
            signature,
            phase: FixPhase::Queued,
            started_at: None,
            starts: 0,
            failures: 0,
            retry_at: None,
            exit: None,
            exited_at: None,
            approved: None,
        };
        let (deed, status) = (TransitionLogAction::from(issue), WorkspaceStatus::of(issue));
        self.consume(transaction, deed, status, reason);
        transaction.record(Event::FixDispatched { pr: self.pr, fix: Box::new(fix) });
        fixes::advance(transaction, self.pr);
    }
}

fn is_spent(state: &RepoState, budget: usize, now: jiff::Timestamp) -> bool {
    state.fixers_sent.iter().filter(|sent| now.duration_since(**sent) < DAY).count() >= budget
}

/// A decision, and what it was made on.
pub(super) struct RatchetTransition<'a> {
    pub deed: TransitionLogAction,
    pub status: WorkspaceStatus,
    pub reason: WorkspaceReason,
    pub seen: Option<&'a ObservedPullRequest>,
    pub consumed: Option<&'a Markers>,
}

/// Records a decision, unless it says what was said before. Who has to do something about it is told.
pub(super) fn settle(transaction: &mut Transaction<'_>, pr: PrNumber, decided: RatchetTransition<'_>) {
    let RatchetTransition { deed, status, reason, seen, consumed } = decided;
    let Some(workspace) = transaction.state.workspaces.get(&pr) else { return };
    let is_same = (workspace.status, workspace.reason) == (status, reason);
    if is_same && consumed.is_none_or(|markers| workspace.consumed.as_ref() == Some(markers)) && !deed_begins(deed) {
        return;
    }
    let conflicts = seen.is_some_and(ObservedPullRequest::conflicts) && deed_begins(deed);
    let activity = if conflicts { Some(UPDATING) } else { reason.activity(status) };
    let moved = Event::RatchetMoved {
        pr,
        action: deed,
        status,
        reason,
        told: None,
        activity: activity.map(str::to_owned),
        snapshot: seen.map(ObservedPullRequest::snapshot),
        consumed: consumed.map(|markers| Box::new(markers.clone())),
    };
    let text =
        texts::attention(workspace, status, reason, None).filter(|_| !is_same && deed != TransitionLogAction::Noop);
    transaction.record(moved);
    if let Some(text) = text {
        transaction.comment(pr, text);
    }
}

fn deed_begins(deed: TransitionLogAction) -> bool {
    matches!(deed, TransitionLogAction::FixCi | TransitionLogAction::FixReview)
}
