//! What happened to a fixer, in words.

use merge_train_core::repo::Event as RepoEvent;
use merge_train_core::repo::ratchet::{Event, Issue};

use crate::terminal::{line, moment};

/// None for what is told by what comes before or after it.
pub fn words(event: &RepoEvent) -> Option<String> {
    let RepoEvent::Ratchet(event) = event else { return None };
    Some(match event {
        Event::FixDispatched { pr, fix } => {
            let issue = match fix.issue {
                Issue::FixCi => "mend what CI found",
                Issue::FixReview => "do what reviewers asked for",
            };
            format!("a fixer is sent to #{pr}, to {issue}")
        }
        Event::FixStarted { .. } => "it begins".to_owned(),
        Event::FixInterrupted { .. } => "it was cut off, and begins again".to_owned(),
        Event::FixDelayed { reason, retry_at, .. } => {
            format!("it did not succeed: {}; the next attempt is at {}", line(reason), moment(*retry_at))
        }
        Event::FixHeld { push, path, .. } => {
            let why = if path.is_empty() { String::new() } else { format!(": it changes {}", line(path)) };
            let count = push.count();
            format!("it wants to push changes of {count} files, which waits for approval{why}")
        }
        Event::FixPushIntended { behest, .. } => {
            let by = behest.by.as_deref().map(|who| format!(", because {} said so", line(who))).unwrap_or_default();
            format!("what it did is pushed{by}")
        }
        Event::FixPushDoubted { .. } => "the push may have arrived; it is looked for".to_owned(),
        Event::FixPushMissed { .. } => "the push has not arrived".to_owned(),
        Event::FixSettled { settled, .. } => line(&settled.sentence()),
        _ => return None,
    })
}
