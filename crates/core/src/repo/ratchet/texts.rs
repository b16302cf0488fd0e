//! What the bot says about fixers. Markdown.

use super::fix::FixPush;
use super::status::{FixOutcome, OutcomeKind, WorkspaceReason, WorkspaceStatus};
use super::workspace::Workspace;
use crate::ids::RunId;
use crate::markdown::{code_span, introduced};

/// So many files are named in a comment.
const FILES: usize = 10;

/// What is said on a pull request when a person is needed; none where nobody is.
pub fn attention(
    workspace: &Workspace,
    status: WorkspaceStatus,
    reason: WorkspaceReason,
    told: Option<&str>,
) -> Option<String> {
    let is_told = status.outcome_kind() == Some(OutcomeKind::Attention)
        && status != WorkspaceStatus::PausedAttentionPushApproval
        && reason != WorkspaceReason::DailyBudget;
    if !is_told {
        return None;
    }
    let tried = match workspace.attempts {
        1 => "A fixer has tried once".to_owned(),
        attempts => format!("Fixers have tried {attempts} times"),
    };
    let what = match reason {
        WorkspaceReason::TooManyAttempts => format!(
            "{tried}, and problems remain. Someone needs to take over: push a fix, and I continue by myself; or \
             comment `@merge-train ratchet on` to let fixers try again."
        ),
        WorkspaceReason::SameFailure => {
            "CI fails with the same error as before the last fixer's push. Someone needs to take \
             over: push a fix, and I continue by myself; or comment `@merge-train ratchet on` to let fixers try again."
                .to_owned()
        }
        WorkspaceReason::StaleCiTimeout => {
            "A fixer pushed, and CI has not started since. Please check why: start CI by hand, \
             or push something. I continue once CI reports."
                .to_owned()
        }
        WorkspaceReason::FixerGaveUp => {
            "The fixer looked at this and pushed nothing. Someone needs to take over. I check again \
             when somebody pushes, CI runs again, or a reviewer comments."
                .to_owned()
        }
        WorkspaceReason::FixerFailed => {
            "The fixer reported failure and pushed nothing. Someone needs to take over; the fixer's \
             log may say why. I check again when somebody pushes, CI runs again, or a reviewer comments."
                .to_owned()
        }
        WorkspaceReason::NoFixer => {
            "This needs a fixer, and none is configured. Ask an operator to set `agent` or `command` in \
             `[ratchet.fixer]`."
                .to_owned()
        }
        reason => format!(
            "{}. Someone needs to take over. I check again when somebody pushes, CI runs again, or a reviewer \
             comments.",
            reason.sentence().trim_end_matches('.')
        ),
    };
    let what = format!("**Ratchet**: {what}");
    Some(match told {
        Some(told) => format!(
            "{what}

{}",
            introduced("Details:", told)
        ),
        None => what,
    })
}

/// A push of a fixer waits for somebody.
pub fn approval(run: &RunId, push: &FixPush, path: &str) -> String {
    let mut files: Vec<String> = push.files.iter().take(FILES).map(|file| format!("- {}", code_span(file))).collect();
    let more = push.count() - files.len();
    if more > 0 {
        files.push(format!("- and {more} more"));
    }
    let because = if path.is_empty() { String::new() } else { format!(" because it changes {}", code_span(path)) };
    format!(
        "**Ratchet**: a fixer's push of {} to this pull request needs approval{because}.\n\n{}\n\nMaintainers: comment \
         `@merge-train approve {run}` or `@merge-train reject {run} REASON`; `merge-train runs show {run}` shows the \
         diff.",
        code_span(&push.to.as_str()[..10.min(push.to.as_str().len())]),
        files.join("\n"),
    )
}

/// What the ratchet does about a pull request, for whoever asks.
pub fn status(workspace: Option<&Workspace>, is_on: bool) -> String {
    let switch = if is_on { "on" } else { "off" };
    if !is_on {
        return format!("**Ratchet**: {switch} for this pull request. `@merge-train ratchet on` turns it on.");
    }
    let Some(workspace) = workspace else {
        let why = WorkspaceReason::New.sentence();
        return format!("**Ratchet**: {switch} for this pull request. `{}`: {why}.", WorkspaceStatus::New.as_str());
    };
    let activity = workspace.activity.as_deref().map(|activity| format!(" {activity}.")).unwrap_or_default();
    let attempts = match workspace.attempts {
        0 => String::new(),
        1 => " A fixer has tried once.".to_owned(),
        attempts => format!(" Fixers have tried {attempts} times."),
    };
    let why = workspace.reason.sentence().trim_end_matches('.');
    format!("**Ratchet**: {switch} for this pull request. `{}`: {why}.{activity}{attempts}", workspace.status.as_str())
}

/// What is waited for after a fix.
pub fn after_fix(reason: WorkspaceReason) -> Option<&'static str> {
    match reason.fix_outcome() {
        FixOutcome::Pushed => Some("Waiting for CI to restart"),
        FixOutcome::TimedOut | FixOutcome::Outpaced => Some("Checking again"),
        FixOutcome::GaveUp | FixOutcome::Cancelled | FixOutcome::PrClosed | FixOutcome::Failed => None,
    }
}
