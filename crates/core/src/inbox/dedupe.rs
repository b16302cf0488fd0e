//! When two deliveries tell of the same event although their ids differ.

use std::fmt::Write;

use jiff::SignedDuration;

use super::RequestHash;
use crate::facts::{CommentChange, Delivery, WebhookEvent};

/// What two deliveries of one event have in common, and for how long that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DedupeKey {
    pub text: String,
    pub window: DedupeWindow,
}

/// For how long a second delivery with the same key is taken for a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DedupeWindow {
    /// The key names the event itself: as long as keys are kept.
    Kept,
    /// The key is that of an equal payload, which later could be news again.
    Brief,
}

impl DedupeWindow {
    /// Same pull request, same event, same content: GitHub's own repetition, if it comes this soon.
    pub const BRIEF: SignedDuration = SignedDuration::from_secs(5);

    /// How such keys begin.
    pub const BRIEF_PREFIX: &str = "recent:";
}

impl DedupeKey {
    /// Every delivery has one: a logical key where the event has an identity of its own, else that of its payload.
    pub fn of(delivery: &Delivery, payload: &RequestHash) -> Self {
        match logical(delivery, payload) {
            Some(text) => Self { text, window: DedupeWindow::Kept },
            None => Self { text: brief(delivery, payload), window: DedupeWindow::Brief },
        }
    }
}

fn logical(delivery: &Delivery, payload: &RequestHash) -> Option<String> {
    let action = delivery.action.as_deref().unwrap_or_default();
    match &delivery.happening {
        WebhookEvent::Comment(change, comment) => {
            let (pr, id, at) = (comment.pr, comment.id, comment.updated_at);
            Some(match change {
                CommentChange::Created => format!("issue_comment:{pr}:{id}"),
                CommentChange::Edited => format!("issue_comment:{pr}:{id}:edited:{at}:{}", short(payload)),
                CommentChange::Deleted => format!("issue_comment:{pr}:{id}:deleted"),
            })
        }
        WebhookEvent::Pull(pull) => Some(match action {
            "opened" => format!("pull_request:{}:opened:{}", pull.number, pull.head_sha),
            // GitHub's time has whole seconds, and within one of them a base can be changed and changed back.
            "edited" => format!("pull_request:{}:edited:{}:{}", pull.number, pull.updated_at, short(payload)),
            // A pull request is closed, reopened and closed again with one head, and a branch can be pushed back
            // to where it was: without the time the second would be lost.
            _ => format!("pull_request:{}:{action}:{}:{}", pull.number, pull.head_sha, pull.updated_at),
        }),
        WebhookEvent::CheckSuite(suite) => Some(format!("check_suite:{}:{action}:{}", suite.id, suite.updated_at)),
        WebhookEvent::CheckRun { .. }
        | WebhookEvent::Status { .. }
        | WebhookEvent::Review { .. }
        | WebhookEvent::ReviewTalk { .. }
        | WebhookEvent::Push { .. }
        | WebhookEvent::Installation
        | WebhookEvent::Ping
        | WebhookEvent::Other => None,
    }
}

fn brief(delivery: &Delivery, payload: &RequestHash) -> String {
    let mut text = format!("{}{}", DedupeWindow::BRIEF_PREFIX, delivery.event);
    if let Some(pr) = delivery.pr() {
        let _ = write!(text, ":{pr}");
    }
    let _ = write!(text, ":{}", short(payload));
    text
}

/// Sixteen hexadecimal digits tell payloads about one thing apart.
fn short(payload: &RequestHash) -> &str {
    &payload.as_str()[..16.min(payload.as_str().len())]
}
