//! A session: a person at work in a workspace, for as long as there are signs of life.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The name of a session, which whoever began it chose or was given.
pub type SessionId = String;

/// A person's session, as its client last told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSession {
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// It runs, but waits for its person.
    #[serde(default)]
    pub idle: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Whether somebody is at work in it: not if it waits for its person, and not if nobody has heard of it for too long.
///
/// **Invariant:** this is the only place where that is decided.
pub fn is_working(session: &UserSession, timeout: SignedDuration, now: Timestamp) -> bool {
    !session.idle && !has_vanished(session, timeout, now)
}

/// Whether its client is taken for gone.
pub fn has_vanished(session: &UserSession, timeout: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(session.seen_at) >= timeout
}
