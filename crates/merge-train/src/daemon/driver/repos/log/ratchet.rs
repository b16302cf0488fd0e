//! What an operator reads and counts of the ratchet, in the specification's words.

use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::ratchet::{
    Event, Fix, FixIssue, FixResult, OutcomeKind, WorkspaceReason, WorkspaceStatus, texts,
};
use merge_train_core::repo::{RepoState, Settings};

use super::super::workspaces::name;
use crate::telemetry::metrics::{RATCHET_FIXER_DURATION, RATCHET_FIXERS, RATCHET_TRANSITIONS};

/// Logs an event that was just applied, if it is worth a line.
pub(super) fn tell(repo: &RepoId, state: &RepoState, settings: &Settings, event: &Event, now: Timestamp) {
    let Some(pr) = event.pr() else {
        if let Event::RatchetToggled { pr: None, on, behest } = event {
            tracing::info!(event = "ratchet_toggled", %repo, on, by = behest.by.as_deref(), "the ratchet was turned");
        }
        return;
    };
    let workspace_id = name(repo, pr);
    match event {
        Event::RatchetMoved { .. } => decided(&workspace_id, state, settings, pr, event),
        Event::RatchetToggled { on, behest, .. } => {
            let by = behest.by.as_deref();
            tracing::info!(event = "ratchet_toggled", workspaceId = workspace_id, on, by, "the ratchet was turned");
        }
        Event::FixStarted { .. } => {
            let Some(fix) = state.workspaces().get(&pr).and_then(|workspace| workspace.fix.as_ref()) else { return };
            let (session, issue) = (fix.run_id(pr).to_string(), issue(fix));
            tracing::info!(
                event = "fixup_launched",
                sessionId = session,
                workspaceId = workspace_id,
                issue,
                uiMessage = ui_message(fix),
                "a fixer begins"
            );
        }
        Event::FixSettled { fix, settled, .. } => completed(&workspace_id, pr, fix, settled, now),
        Event::FixHeld { push, path, .. } => {
            let (files, held) = (push.count(), WorkspaceStatus::PausedAttentionPushApproval);
            let fix = state.workspaces().get(&pr).and_then(|workspace| workspace.fix.as_ref());
            tracing::info!(
                event = "fixup_held",
                sessionId = fix.map(|fix| fix.run_id(pr).to_string()),
                workspaceId = workspace_id,
                files,
                path,
                outcomeKind = outcome(held),
                uiMessage = WorkspaceReason::PushApproval.activity(held),
                "a fixer's push waits for approval"
            );
        }
        Event::FixDelayed { reason, retry_at, .. } | Event::DiagnosisDelayed { reason, retry_at, .. } => {
            tracing::warn!(event = "ratchet_delayed", workspaceId = workspace_id, reason, %retry_at, "it is tried again");
        }
        Event::SessionEnded { session, vanished: true, .. } => {
            tracing::info!(
                event = "session_vanished",
                workspaceId = workspace_id,
                session,
                "nobody heard of a session any more"
            );
        }
        _ => {}
    }
}

fn decided(workspace_id: &str, state: &RepoState, settings: &Settings, pr: PrNumber, event: &Event) {
    let Event::RatchetMoved { action, reason, status, activity, snapshot, .. } = event else { return };
    let Some(workspace) = state.workspaces().get(&pr) else { return };
    let attempts = workspace.attempts;
    let action =
        serde_json::to_value(action).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
    metrics::counter!(RATCHET_TRANSITIONS, "action" => action.clone(), "reason" => reason.code()).increment(1);
    let ui_message = activity.as_deref().unwrap_or_else(|| reason.sentence());
    let outcome_kind = outcome(*status);
    let run_id = snapshot.as_ref().and_then(|it| it["ci"]["runId"].as_str());
    let (reason_code, status) = (reason.code(), status.as_str());
    tracing::info!(
        event = "ratchet_action",
        workspaceId = workspace_id,
        action,
        reason = reason_code,
        state = status,
        consecutiveAttempts = attempts,
        outcomeKind = outcome_kind,
        uiMessage = ui_message,
        "the ratchet decided"
    );
    match reason {
        WorkspaceReason::StaleCi => {
            let recorded = workspace.last_ci_run.as_deref();
            tracing::info!(
                event = "stale_ci",
                workspaceId = workspace_id,
                currentRunId = run_id,
                recordedRunId = recorded,
                uiMessage = ui_message,
                "CI has not started again yet"
            );
        }
        WorkspaceReason::StaleCiTimeout => {
            let (since, timeout) = (workspace.stale_since, settings.ratchet.stale_ci_timeout.as_millis());
            tracing::warn!(
                event = "stale_ci_timeout",
                workspaceId = workspace_id,
                staleSince = since.map(tracing::field::display),
                timeoutMs = i64::try_from(timeout).unwrap_or(i64::MAX),
                outcomeKind = outcome_kind,
                uiMessage = ui_message,
                "CI did not start again"
            );
        }
        WorkspaceReason::TooManyAttempts => {
            tracing::warn!(
                event = "terminal_attempts",
                workspaceId = workspace_id,
                consecutiveAttempts = attempts,
                outcomeKind = outcome_kind,
                uiMessage = ui_message,
                "fixers have tried as often as they may"
            );
        }
        _ => {}
    }
}

fn completed(workspace_id: &str, pr: PrNumber, fix: &Fix, settled: &FixResult, now: Timestamp) {
    // Its own time: what it did may have waited for a person, and for GitHub.
    let took = fix.exited_at.unwrap_or(now).duration_since(fix.started_at.unwrap_or(fix.at));
    let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    let (issue, outcome) = (issue(fix), settled.reason.code());
    metrics::counter!(RATCHET_FIXERS, "issue" => issue, "outcome" => outcome).increment(1);
    metrics::histogram!(RATCHET_FIXER_DURATION, "issue" => issue, "outcome" => outcome).record(took.as_secs_f64());
    let exit_reason = settled.pushed.is_none().then(|| settled.sentence());
    tracing::info!(
        event = "fixup_completed",
        sessionId = fix.run_id(pr).to_string(),
        workspaceId = workspace_id,
        issue,
        duration = duration_ms,
        pushed = if settled.pushed.is_some() { "yes" } else { "no" },
        exitReason = exit_reason,
        reason = outcome,
        uiMessage = texts::after_fix(settled.reason).unwrap_or_else(|| settled.reason.sentence()),
        "a fixer ended"
    );
}

/// Whether it is good, or needs a person.
fn outcome(status: WorkspaceStatus) -> Option<&'static str> {
    status.outcome_kind().map(|kind| match kind {
        OutcomeKind::Success => "SUCCESS",
        OutcomeKind::Attention => "ATTENTION",
    })
}

fn issue(fix: &Fix) -> &'static str {
    match fix.issue {
        FixIssue::FixCi => "FIX_CI",
        FixIssue::FixReview => "FIX_REVIEW",
    }
}

fn ui_message(fix: &Fix) -> &'static str {
    match fix.issue {
        FixIssue::FixCi => "Fixing build failures",
        FixIssue::FixReview => "Addressing PR review comments",
    }
}
