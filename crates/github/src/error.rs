//! What can come of a call, told by what the caller can do about it.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// A call that brought no answer to work with. Each variant names the call, without its query and without secrets.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// It does not exist, or the token may not see it: GitHub does not tell which.
    #[error("GitHub knows nothing under {call}, or does not show it to this app")]
    NotFound { call: CallName },
    #[error("GitHub does not allow {call}: {message}")]
    Forbidden { call: CallName, message: String },
    /// The token or the key is not accepted, and getting a new token did not help.
    #[error("GitHub does not accept the credentials for {call}: {message}; check the app's key or the token")]
    Unauthorized { call: CallName, message: String },
    #[error("{call} conflicts with the state at GitHub: {message}")]
    Conflict { call: CallName, message: String },
    #[error("GitHub refuses what {call} asked for: {message}{}", listed(errors))]
    Unprocessable { call: CallName, message: String, errors: Vec<String> },
    #[error("the target of {call} was removed permanently")]
    Gone { call: CallName },
    /// Nothing was done, and nothing should be asked before `until`.
    #[error("{call} must wait: GitHub's rate limit is used up until {until:.0}")]
    RateLimited { call: CallName, until: Timestamp, wait: Duration },
    /// It may work later by itself.
    #[error("{call} failed for now: {reason}")]
    Transient { call: CallName, reason: String, executed: Executed, retry_after: Option<Duration> },
    /// It will not work however often it is tried.
    #[error("{call} cannot work: {reason}")]
    Permanent { call: CallName, reason: String },
}

/// Whether a call that failed may have had its effect all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// GitHub never saw it.
    No,
    /// The answer was lost: look before doing it again.
    Perhaps,
}

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    NotFound,
    Forbidden,
    Conflict,
    Transient,
    Permanent,
}

/// A call by method and path: `GET /repos/acme/widgets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallName(String);

impl CallName {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self(format!("{method} {path}"))
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error {
    pub fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } | Self::Gone { .. } => Class::NotFound,
            Self::Forbidden { .. } | Self::Unauthorized { .. } => Class::Forbidden,
            Self::Conflict { .. } => Class::Conflict,
            Self::RateLimited { .. } | Self::Transient { .. } => Class::Transient,
            Self::Unprocessable { .. } | Self::Permanent { .. } => Class::Permanent,
        }
    }

    /// How long to wait before trying again, where GitHub or the governor said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => Some(*wait),
            Self::Transient { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the call may have had its effect. Only a lost answer leaves that open.
    pub fn executed(&self) -> Executed {
        match self {
            Self::Transient { executed, .. } => *executed,
            _ => Executed::No,
        }
    }

    pub(crate) fn transient(call: &CallName, reason: impl Into<String>, executed: Executed) -> Self {
        Self::Transient { call: call.clone(), reason: reason.into(), executed, retry_after: None }
    }

    pub(crate) fn permanent(call: &CallName, reason: impl Into<String>) -> Self {
        Self::Permanent { call: call.clone(), reason: reason.into() }
    }

    pub(crate) fn rate_limited(call: &CallName, wait: Duration) -> Self {
        let until = Timestamp::now().checked_add(wait).unwrap_or(Timestamp::MAX);
        Self::RateLimited { call: call.clone(), until, wait }
    }
}

fn listed(errors: &[String]) -> String {
    if errors.is_empty() { String::new() } else { format!(" ({})", errors.join("; ")) }
}
