//! Fixers that were sent: what each needs next, and what the answers mean.

use jiff::Timestamp;

use super::observation::{RatchetTransition, settle};
use super::status::FixOutcome;
use super::{
    DidPush, Effect, Event, Fix, FixEnd, FixExit, FixPhase, FixPush, FixResult, TransitionLogAction, WorkspaceReason,
    WorkspaceStatus, texts,
};
use crate::ids::PrNumber;
use crate::repo::event::Attribution;
use crate::repo::mirror::reads;
use crate::repo::state::RepoState;
use crate::repo::trains::work::{PushOutcome, PushProbeResult};
use crate::repo::transaction::Transaction;
use crate::repo::{EffectFailure, EffectFailureKind, EffectOwner, ForwardedPush};
use crate::workflow::Decision;

/// How often a fixer's process is begun for one fix: it ends with the daemon, and that may end of it.
const MOST_STARTS: u32 = 5;
/// How often making a checkout, or starting a process in it, is tried.
const MOST_FAILURES: u32 = 6;

/// The fix that is under way and that an answer is about; answers about others are late.
fn fix_of<'d>(transaction: &'d Transaction<'_>, pr: PrNumber, at: Timestamp) -> Option<&'d Fix> {
    transaction.state.workspaces.get(&pr)?.fix.as_ref().filter(|fix| fix.at == at)
}

/// Goes on with a fix.
pub(super) fn advance(transaction: &mut Transaction<'_>, pr: PrNumber) {
    let Some(workspace) = transaction.state.workspaces.get(&pr) else { return };
    let Some(fix) = workspace.fix.clone() else { return };
    if let Some(reason) = overtaken(&transaction.state, pr, &fix) {
        transaction.plan.cancels.push(EffectOwner::Fixer(pr));
        return finish(transaction, pr, FixResult::by_itself(reason, None));
    }
    match fix.phase {
        FixPhase::Held { .. } => {}
        _ if !fix.is_due(transaction.now) => {}
        FixPhase::Queued | FixPhase::Running => {
            let Fix { at, issue, branch, base, head, conflicts, .. } = fix;
            let handled = workspace.handled.clone();
            transaction.effect(Effect::Fix { pr, at, issue, branch, base, head, conflicts, handled });
        }
        FixPhase::Pushing { push, doubted, .. } => {
            transaction.effect(Effect::Forward { pr, at: fix.at, branch: fix.branch, push, doubted });
        }
    }
}

/// Why nobody needs what a fixer does any more. What is on its way to GitHub is waited for in any case.
fn overtaken(state: &RepoState, pr: PrNumber, fix: &Fix) -> Option<WorkspaceReason> {
    let from = match &fix.phase {
        FixPhase::Queued | FixPhase::Running => &fix.head,
        FixPhase::Held { push, .. } => &push.from,
        FixPhase::Pushing { .. } => return None,
    };
    match state.pr(pr).filter(|known| known.is_ours()) {
        None => Some(WorkspaceReason::PrNotOpen),
        Some(known) => (known.head_sha != *from).then_some(WorkspaceReason::Outpaced),
    }
}

/// Ends those that were overtaken.
pub(super) fn end_overtaken(transaction: &mut Transaction<'_>) {
    let fixes = transaction.state.workspaces.iter().filter_map(|(pr, workspace)| Some((*pr, workspace.fix.as_ref()?)));
    let over = fixes.filter(|(pr, fix)| overtaken(&transaction.state, *pr, fix).is_some());
    for pr in over.map(|(pr, _)| pr).collect::<Vec<_>>() {
        advance(transaction, pr);
    }
}

/// Removes what fixers that have ended left behind.
pub(super) fn clear(transaction: &mut Transaction<'_>) {
    let workspaces = transaction.state.workspaces.iter();
    let left = workspaces.flat_map(|(pr, it)| it.left.iter().map(|(at, head)| (*pr, *at, head.clone())));
    for (pr, at, head) in left.collect::<Vec<_>>() {
        transaction.effect(Effect::ClearFixer { pr, at, head });
    }
}

/// The process that began these may have ended in the middle of them.
pub(super) fn doubt(transaction: &mut Transaction<'_>) {
    let workspaces = transaction.state.workspaces.iter();
    let fixes: Vec<(PrNumber, Fix)> = workspaces.filter_map(|(pr, it)| Some((*pr, it.fix.clone()?))).collect();
    for (pr, fix) in fixes {
        match fix.phase {
            FixPhase::Pushing { doubted: false, .. } => {
                transaction.record(Event::FixPushDoubted { pr, hopeless: None });
            }
            FixPhase::Running if fix.starts >= MOST_STARTS => {
                let told = format!("it was started {MOST_STARTS} times, and the daemon stopped each time");
                finish(transaction, pr, FixResult::by_itself(WorkspaceReason::FixerDied, Some(told)));
            }
            FixPhase::Running => transaction.record(Event::FixInterrupted { pr }),
            FixPhase::Queued | FixPhase::Held { .. } | FixPhase::Pushing { .. } => {}
        }
    }
}

pub(super) fn started(transaction: &mut Transaction<'_>, pr: PrNumber, at: Timestamp) {
    let Some(fix) = fix_of(transaction, pr, at) else { return };
    if !matches!(fix.phase, FixPhase::Queued | FixPhase::Running) {
        return;
    }
    let (deed, status, conflicts) =
        (TransitionLogAction::from(fix.issue), WorkspaceStatus::of(fix.issue), fix.conflicts);
    transaction.record(Event::FixStarted { pr });
    // Until now it was being brought up to date, so to say: from here on it fixes.
    let Some(workspace) = transaction.state.workspaces.get(&pr).filter(|_| conflicts) else { return };
    let moved = Event::RatchetMoved {
        pr,
        action: deed,
        status,
        reason: workspace.reason,
        told: None,
        activity: workspace.reason.activity(status).map(str::to_owned),
        snapshot: None,
        consumed: None,
    };
    transaction.record(moved);
}

pub(super) fn ended(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    at: Timestamp,
    result: Result<&FixEnd, &EffectFailure>,
) {
    let Some(fix) = fix_of(transaction, pr, at).cloned() else { return };
    if !matches!(fix.phase, FixPhase::Queued | FixPhase::Running) {
        return;
    }
    match result {
        Err(failure) => failed(transaction, pr, &fix, failure),
        // Whoever wants a fixer to end has it settled at once: this is the end of the daemon.
        Ok(FixEnd { exit: FixExit::Stopped, push: None, .. }) => {
            transaction.record(Event::FixInterrupted { pr });
        }
        Ok(end) => taken(transaction, pr, end, &fix),
    }
}

/// It could not be begun: the checkout could not be made, or GitHub could not be asked.
fn failed(transaction: &mut Transaction<'_>, pr: PrNumber, fix: &Fix, failure: &EffectFailure) {
    if failure.kind == EffectFailureKind::Permanent || fix.failures >= MOST_FAILURES {
        let told = Some(failure.reason.clone());
        return finish(transaction, pr, FixResult::by_itself(WorkspaceReason::FixerDied, told));
    }
    let retry_at = reads::retry_at(failure, fix.failures, transaction.now);
    transaction.record(Event::FixDelayed { pr, reason: failure.reason.clone(), retry_at });
}

fn taken(transaction: &mut Transaction<'_>, pr: PrNumber, end: &FixEnd, fix: &Fix) {
    if let Some(refused) = &end.refused {
        return finish(transaction, pr, FixResult::by_itself(WorkspaceReason::PushRefused, Some(refused.clone())));
    }
    let Some(push) = end.push.clone() else {
        let told = end.exit.told().map(str::to_owned);
        return finish(transaction, pr, FixResult::by_itself(end.exit.reason(), told));
    };
    // Of all that it changes: what is listed for people ends somewhere.
    let held = transaction.settings.ratchet.approve.reason(&push.files).map(str::to_owned);
    let push = push.listed();
    match held {
        Some(path) => {
            let (exit, diff) = (end.exit.clone(), end.diff.clone());
            transaction.record(Event::FixHeld { pr, exit, push: push.clone(), path: path.clone(), diff });
            let (status, reason) = (WorkspaceStatus::PausedAttentionPushApproval, WorkspaceReason::PushApproval);
            settle(
                transaction,
                pr,
                RatchetTransition { deed: TransitionLogAction::Pause, status, reason, seen: None, consumed: None },
            );
            transaction.comment(pr, texts::approval(&fix.run_id(pr), &push, &path));
        }
        None => intend(transaction, pr, push, end.exit.clone(), Attribution::default()),
    }
}

fn intend(transaction: &mut Transaction<'_>, pr: PrNumber, push: FixPush, exit: FixExit, behest: Attribution) {
    transaction.record(Event::FixPushIntended { pr, exit, push, behest });
}

/// Whether the push arrived, and what follows.
pub(super) fn forwarded(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    at: Timestamp,
    result: Result<&ForwardedPush, &EffectFailure>,
) {
    let Some(fix) = fix_of(transaction, pr, at).cloned() else { return };
    let FixPhase::Pushing { push, doubted, hopeless } = &fix.phase else { return };
    let did_push = match result {
        Ok(ForwardedPush::Pushed(PushOutcome::Landed) | ForwardedPush::Probed(PushProbeResult::Landed { .. })) => {
            DidPush::Yes
        }
        Ok(ForwardedPush::Probed(PushProbeResult::NotYet)) => {
            return match hopeless {
                Some(why) => {
                    finish(transaction, pr, FixResult::by_itself(WorkspaceReason::PushRefused, Some(why.clone())));
                }
                None => transaction.record(Event::FixPushMissed { pr }),
            };
        }
        Ok(ForwardedPush::Pushed(PushOutcome::Rejected { reason })) => {
            return finish(transaction, pr, FixResult::by_itself(WorkspaceReason::PushRefused, Some(reason.clone())));
        }
        Ok(ForwardedPush::Pushed(PushOutcome::BranchGone) | ForwardedPush::Probed(PushProbeResult::BranchGone)) => {
            let told = Some("the branch is gone".to_owned());
            return finish(transaction, pr, FixResult::by_itself(WorkspaceReason::PushRefused, told));
        }
        Ok(
            ForwardedPush::Pushed(PushOutcome::Foreign { .. })
            | ForwardedPush::Probed(PushProbeResult::Foreign { .. } | PushProbeResult::Rewound),
        ) => DidPush::No,
        Err(_) => DidPush::Unknown,
    };
    match (did_push, result) {
        (DidPush::Yes, _) => {
            let pushed = Some(push.to.clone());
            finish(transaction, pr, FixResult { pushed, ..FixResult::by_itself(WorkspaceReason::FixerPushed, None) });
        }
        (DidPush::No, _) => finish(transaction, pr, FixResult::by_itself(WorkspaceReason::Outpaced, None)),
        (DidPush::Unknown, Err(failure)) => {
            // However bad it is: only that it is not there can say so. What keeps it from being looked for says nothing.
            if !doubted {
                let hopeless = (failure.kind == EffectFailureKind::Permanent).then(|| failure.reason.clone());
                transaction.record(Event::FixPushDoubted { pr, hopeless });
            }
            let failure = EffectFailure { kind: EffectFailureKind::Transient, ..failure.clone() };
            let retry_at = reads::retry_at(&failure, fix.failures, transaction.now);
            transaction.record(Event::FixDelayed { pr, reason: failure.reason, retry_at });
            let (status, reason) = (WorkspaceStatus::WaitingForCi, WorkspaceReason::PushStatusUnknown);
            settle(
                transaction,
                pr,
                RatchetTransition { deed: TransitionLogAction::Wait, status, reason, seen: None, consumed: None },
            );
        }
        (DidPush::Unknown, Ok(_)) => unreachable!("what is known is not unknown"),
    }
}

/// Somebody approves or rejects what a fixer wants to push.
pub(super) fn decide(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    at: Timestamp,
    behest: &Attribution,
) -> Result<(), String> {
    let fix = fix_of(transaction, pr, at).cloned();
    let Some(Fix { phase: FixPhase::Held { push, .. }, exit, .. }) = fix else {
        return Err(format!("No fixer's push to #{pr} waits for a decision."));
    };
    match behest.decision {
        Some(Decision::Approved) => {
            intend(transaction, pr, push, exit.unwrap_or(FixExit::Done), behest.clone());
            let Some(issue) = fix_of(transaction, pr, at).map(|fix| fix.issue) else { return Ok(()) };
            let (status, reason) = (WorkspaceStatus::of(issue), WorkspaceReason::PushApproval);
            settle(
                transaction,
                pr,
                RatchetTransition {
                    deed: TransitionLogAction::from(issue),
                    status,
                    reason,
                    seen: None,
                    consumed: None,
                },
            );
        }
        Some(Decision::Rejected) => {
            let told = behest.reason.clone();
            finish(
                transaction,
                pr,
                FixResult { reason: WorkspaceReason::PushRejected, told, pushed: None, behest: behest.clone() },
            );
        }
        None => return Err("It was neither approved nor rejected.".to_owned()),
    }
    Ok(())
}

/// Somebody wants a fixer to end.
pub(super) fn stop(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    at: Timestamp,
    behest: &Attribution,
) -> Result<(), String> {
    let Some(fix) = fix_of(transaction, pr, at) else { return Err(format!("No such fixer is working on #{pr}.")) };
    let settled =
        FixResult { reason: WorkspaceReason::FixerCancelled, told: None, pushed: None, behest: behest.clone() };
    match fix.phase {
        FixPhase::Pushing { .. } => {
            return Err("Its push is already on its way to GitHub and can no longer be cancelled.".to_owned());
        }
        FixPhase::Held { .. } => finish(transaction, pr, settled),
        FixPhase::Queued | FixPhase::Running => {
            transaction.plan.cancels.push(EffectOwner::Fixer(pr));
            finish(transaction, pr, settled);
        }
    }
    Ok(())
}

/// The end of a fix, and where that leaves its workspace.
fn finish(transaction: &mut Transaction<'_>, pr: PrNumber, settled: FixResult) {
    let Some(fix) = transaction.state.workspaces.get(&pr).and_then(|workspace| workspace.fix.clone()) else { return };
    let (reason, told) = (settled.reason, settled.told.clone());
    transaction.effect(Effect::ClearFixer { pr, at: fix.at, head: fix.head.clone() });
    transaction.record(Event::FixSettled { pr, fix: Box::new(fix), settled });
    let status = match reason.fix_outcome() {
        FixOutcome::Pushed | FixOutcome::TimedOut | FixOutcome::Outpaced => WorkspaceStatus::WaitingForCi,
        FixOutcome::PrClosed => return,
        FixOutcome::GaveUp | FixOutcome::Cancelled | FixOutcome::Failed => WorkspaceStatus::PausedAttentionNoPush,
    };
    let deed = if status.is_paused() { TransitionLogAction::Pause } else { TransitionLogAction::Wait };
    let Some(workspace) = transaction.state.workspaces.get(&pr) else { return };
    let text = texts::attention(workspace, status, reason, told.as_deref());
    let moved = Event::RatchetMoved {
        pr,
        action: deed,
        status,
        reason,
        told,
        activity: texts::after_fix(reason).map(str::to_owned),
        snapshot: None,
        consumed: None,
    };
    transaction.record(moved);
    if let Some(text) = text {
        transaction.comment(pr, text);
    }
}
