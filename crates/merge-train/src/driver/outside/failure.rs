//! What went wrong, as the deciders need to know it: whether it may pass, and in words for people.

use std::error::Error as _;

use github::Class;
use merge_train_core::repo::{Failure, FailureKind};

use crate::clock;

pub(super) fn of_github(error: github::Error) -> Failure {
    let kind = match error.class() {
        Class::Transient | Class::Conflict => FailureKind::Transient,
        Class::NotFound | Class::Forbidden | Class::Permanent => FailureKind::Permanent,
    };
    let retry_at = error.retry_after().and_then(|wait| clock::now().checked_add(wait).ok());
    Failure { reason: error.to_string(), kind, retry_at }
}

pub(super) fn of_git(error: git::Error) -> Failure {
    let kind = match &error {
        git::Error::Cancelled => FailureKind::Transient,
        // A disk that is full, too many open files: whoever looks after the machine is told by the log.
        git::Error::Io { .. } => FailureKind::Transient,
        error if error.is_transient() => FailureKind::Transient,
        _ => FailureKind::Permanent,
    };
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        reason = format!("{reason}: {deeper}");
        cause = deeper.source();
    }
    Failure { reason, kind, retry_at: None }
}

pub(super) fn transient(reason: impl Into<String>) -> Failure {
    Failure { reason: reason.into(), kind: FailureKind::Transient, retry_at: None }
}

pub(super) fn permanent(reason: impl Into<String>) -> Failure {
    Failure { reason: reason.into(), kind: FailureKind::Permanent, retry_at: None }
}
