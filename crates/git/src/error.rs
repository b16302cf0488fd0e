//! What can go wrong between merge-train and git, by what the caller can do about it.

use std::time::Duration;

use merge_train_core::ids::{BranchName, PrNumber};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("git could not be started: is it installed and on the PATH?")]
    NotInstalled(#[source] std::io::Error),
    #[error("git {found} is too old; merge-train needs git {needed} or newer, for merges without a checkout")]
    TooOld { found: String, needed: &'static str },
    #[error("{doing}")]
    Io {
        doing: String,
        #[source]
        source: std::io::Error,
    },
    /// The work was called off. What it had begun is ended, what it had pushed is pushed.
    #[error("cancelled")]
    Cancelled,
    #[error("`git {command}` took longer than {} s and was ended", after.as_secs())]
    Deadline { command: String, after: Duration },
    #[error("`git {command}` ended with {code}: {stderr}")]
    Failed { command: String, code: i32, stderr: String },
    #[error("`git {command}` printed unexpected output: {output}")]
    Unexpected { command: String, output: String },
    #[error(
        "Failed to fetch predecessor PR #{0}'s head ref (refs/pull/{0}/head).\n\n\
         This ref may have been garbage-collected. On github.com this should not happen;\n\
         on GitHub Enterprise Server, check your instance's ref retention settings.\n\n\
         The cascade cannot proceed without the predecessor's commit history."
    )]
    PullRefGone(PrNumber),
    #[error("the branch {0} does not exist on the remote; it was deleted or renamed")]
    BranchGone(BranchName),
    /// Worth another try, later.
    #[error("{url} could not be reached: {message}")]
    Unreachable { url: String, message: String },
    /// Another try would end the same way.
    #[error("{url} refused access: {message}. Is merge-train installed on the repository, with read and write access?")]
    Denied { url: String, message: String },
    #[error("could not get the token for git")]
    Token(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the histories of {ours} and {theirs} have no commit in common, so there is nothing to merge by")]
    Unrelated { ours: String, theirs: String },
    #[error("the commit could not be signed: {0}. `merge-train doctor` tries the key")]
    Signing(String),
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        |source| Self::Io { doing, source }
    }

    /// Whether the same call can succeed without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Deadline { .. } | Self::Token(_))
    }
}
