//! What happened to a fixer, in words.

use merge_train_core::repo::Event as RepoEvent;
use merge_train_core::repo::ratchet::{Event, FixIssue};

use crate::terminal::{line, moment};

/// None for what is told by what comes before or after it.
pub fn words(event: &RepoEvent) -> Option<String> {
    let RepoEvent::Ratchet(event) = event else { return None };
    Some(match event {
        Event::FixDispatched { pr, fix } => {
            let issue = match fix.issue {
                FixIssue::FixCi => "fix CI failures",
                FixIssue::FixReview => "address the review",
            };
            format!("a fixer starts for #{pr}, to {issue}")
        }
        Event::FixStarted { .. } => "it starts".to_owned(),
        Event::FixInterrupted { .. } => "it was interrupted and starts again".to_owned(),
        Event::FixDelayed { reason, retry_at, .. } => {
            format!("it failed: {}; the next attempt is at {}", line(reason), moment(*retry_at))
        }
        Event::FixHeld { push, path, .. } => {
            let why = if path.is_empty() { String::new() } else { format!(": it changes {}", line(path)) };
            let count = push.count();
            format!("its push of {count} changed files needs approval{why}")
        }
        Event::FixPushIntended { behest, .. } => {
            let by = behest.by.as_deref().map(|who| format!(" at the request of {}", line(who))).unwrap_or_default();
            format!("the daemon pushes its commits{by}")
        }
        Event::FixPushDoubted { .. } => "the push may have reached GitHub; checking".to_owned(),
        Event::FixPushMissed { .. } => "the push did not reach GitHub".to_owned(),
        Event::FixSettled { settled, .. } => line(&settled.sentence()),
        _ => return None,
    })
}
