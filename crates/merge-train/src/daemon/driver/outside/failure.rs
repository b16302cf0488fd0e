//! What went wrong, as the deciders need to know it: whether it may pass, and in words for people.

use std::error::Error as _;

use git::Oid;
use github::Class;
use merge_train_core::ids::Sha;
use merge_train_core::repo::{EffectFailure, EffectFailureKind};

use crate::clock;

pub(super) fn of_github(error: github::Error) -> EffectFailure {
    let kind = match error.class() {
        Class::Transient | Class::Conflict => EffectFailureKind::Transient,
        Class::NotFound | Class::Forbidden | Class::Permanent => EffectFailureKind::Permanent,
    };
    let retry_at = error.retry_after().and_then(|wait| clock::now().checked_add(wait).ok());
    EffectFailure { reason: error.to_string(), kind, retry_at }
}

pub(super) fn of_git(error: git::Error) -> EffectFailure {
    let kind = match &error {
        git::Error::Cancelled => EffectFailureKind::Transient,
        // A disk that is full, too many open files: whoever looks after the machine is told by the log.
        git::Error::Io { .. } => EffectFailureKind::Transient,
        git::Error::Failed { stderr, .. } if broke_off(stderr) => EffectFailureKind::Transient,
        error if is_for_want_of_room(error) => EffectFailureKind::Transient,
        error if error.is_transient() => EffectFailureKind::Transient,
        _ => EffectFailureKind::Permanent,
    };
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        reason = format!("{reason}: {deeper}");
        cause = deeper.source();
    }
    EffectFailure { reason, kind, retry_at: None }
}

/// Any command on a partial clone fetches what it lacks, and then fails as a fetch does. Git has no exit code for it: these
/// are its words in the pinned locale.
fn broke_off(stderr: &str) -> bool {
    const FETCH_FAILED: [&str; 5] = [
        "from promisor remote",
        "fatal: unable to access '",
        "error: RPC failed",
        "fatal: early EOF",
        "the remote end hung up unexpectedly",
    ];
    FETCH_FAILED.iter().any(|words| stderr.contains(words))
}

/// Whether the machine had no room for what git wanted to write, or git's own upkeep swept the folder away that it was to go
/// into: the repository has nothing to do with it.
pub(super) fn is_for_want_of_room(error: &git::Error) -> bool {
    let git::Error::Failed { stderr, .. } = error else { return false };
    const WORDS: [&str; 6] = [
        "unable to create temporary file",
        "unable to create temporary object directory",
        "No space left on device",
        "Disk quota exceeded",
        "Cannot allocate memory",
        "Too many open files",
    ];
    WORDS.iter().any(|words| stderr.contains(words))
}

/// The name of an object, as git takes it.
pub(super) fn oid(sha: &Sha) -> Result<Oid, EffectFailure> {
    Oid::try_from(sha).map_err(|error| permanent(error.to_string()))
}

pub(super) fn transient(reason: impl Into<String>) -> EffectFailure {
    EffectFailure { reason: reason.into(), kind: EffectFailureKind::Transient, retry_at: None }
}

pub(super) fn permanent(reason: impl Into<String>) -> EffectFailure {
    EffectFailure { reason: reason.into(), kind: EffectFailureKind::Permanent, retry_at: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(stderr: &str) -> EffectFailureKind {
        let (command, stderr) = ("merge-tree".to_owned(), stderr.to_owned());
        of_git(git::Error::Failed { command, code: 128, stderr }).kind
    }

    #[test]
    fn a_merge_that_could_not_fetch_or_write_what_it_needs_is_tried_again() {
        for stderr in [
            "fatal: unable to access 'http://127.0.0.1:1/o/r.git/': Empty reply from server",
            "fatal: unable to access 'http://127.0.0.1:1/o/r.git/': The requested URL returned error: 503",
            "error: RPC failed; curl 18 transfer closed with outstanding read data remaining",
            "fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF",
            "fatal: could not fetch 590bcfda19dc5d93da08fed7998fd7117e1afc2a from promisor remote",
            "error: unable to create temporary file: No such file or directory\nfatal: failure to merge",
            "error: unable to write file .git/objects/ab/cd: No space left on device",
        ] {
            assert_eq!(kind(stderr), EffectFailureKind::Transient, "{stderr}");
        }
        for stderr in ["fatal: bad object 590bcfda19dc5d93da08fed7998fd7117e1afc2a", "fatal: not a tree object", ""] {
            assert_eq!(kind(stderr), EffectFailureKind::Permanent, "{stderr}");
        }
    }
}
