//! Pushing: fast-forward only, never forced, and only from the head that was read.
//!
//! Why a push did not land is decided by what the remote has afterwards, not by what git said about it: an answer can be
//! lost although the push landed, and the words differ from server to server.

mod porcelain;
mod probe;

use merge_train_core::ids::BranchName;
use tokio_util::sync::CancellationToken;

pub use probe::{Expected, PushProbe};

use crate::cascade::Advance;
use crate::repository::Repository;
use crate::{Error, Oid};

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    Landed,
    /// Somebody else moved the branch since it was read.
    ForeignAdvance {
        head: Oid,
    },
    BranchGone,
    /// A rule or a hook of the server said no, and would say it again.
    Rejected {
        reason: String,
    },
    /// Worth another try: the branch is where it was, as far as anyone can tell.
    Transient {
        reason: String,
    },
}

/// What became of a branch that was to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It is not there any more, whoever deleted it.
    Yes,
    /// Somebody pushed to it: it stays.
    Moved { head: Oid },
    /// A rule of the server keeps it, or the server does not answer.
    Refused { reason: String },
}

impl Repository {
    /// Moves the remote's branch from `advance.from` to `advance.to`.
    pub async fn push(
        &self,
        branch: &BranchName,
        advance: &Advance,
        cancel: &CancellationToken,
    ) -> Result<Pushed, Error> {
        let Advance { from, to, .. } = advance;
        if !self.objects(cancel.clone()).is_ancestor(from, to).await? {
            return Err(Error::Refused(format!(
                "{to} does not contain {from}, so pushing it to {branch} would lose work"
            )));
        }
        let target = format!("refs/heads/{branch}");
        // The lease is the comparison of the compare-and-swap: without it git would bring a deleted branch back, and undo
        // a rewind. It forces nothing here, since `to` contains `from`.
        let command = self
            .git()
            .on(&self.clone_dir(), ["push", "--porcelain", "--quiet", "--no-verify", "--no-follow-tags"])
            .args(["--no-signed", "--recurse-submodules=no"])
            .arg(format!("--force-with-lease={target}:{from}"))
            .args(["origin", &format!("{to}:{target}")])
            .speaking_with(self.remote())
            .await?;
        let said = match command.until(cancel).run_allowing(&[0, 1]).await {
            Ok(output) if output.code == 0 => return Ok(Pushed::Landed),
            Ok(output) => Said { refusal: porcelain::refusal(&output.text(), &output.stderr), stderr: output.stderr },
            Err(Error::Failed { stderr, .. }) => Said { refusal: None, stderr },
            Err(error @ Error::Deadline { .. }) => Said { refusal: None, stderr: error.to_string() },
            Err(error) => return Err(error),
        };
        self.judge(branch, advance, said, cancel).await
    }

    /// Deletes the remote's branch if it is still at `head`: git compares and deletes in one step, which GitHub's API cannot.
    pub async fn delete_branch(
        &self,
        branch: &BranchName,
        head: &Oid,
        cancel: &CancellationToken,
    ) -> Result<Deleted, Error> {
        let target = format!("refs/heads/{branch}");
        let command = self
            .git()
            .on(&self.clone_dir(), ["push", "--porcelain", "--quiet", "--no-verify", "--no-signed"])
            .arg(format!("--force-with-lease={target}:{head}"))
            .args(["origin", &format!(":{target}")])
            .speaking_with(self.remote())
            .await?;
        let said = match command.until(cancel).run_allowing(&[0, 1]).await {
            Ok(output) if output.code == 0 => return Ok(Deleted::Yes),
            Ok(output) => porcelain::refusal(&output.text(), &output.stderr).unwrap_or(output.stderr),
            Err(Error::Failed { stderr, .. }) => stderr,
            Err(error) => return Err(error),
        };
        Ok(match self.remote_head(branch, cancel).await? {
            None => Deleted::Yes,
            Some(now) if now != *head => Deleted::Moved { head: now },
            Some(_) => Deleted::Refused { reason: said },
        })
    }

    /// What a push that reported no success came to, by what the remote has now.
    async fn judge(
        &self,
        branch: &BranchName,
        Advance { from, to, .. }: &Advance,
        said: Said,
        cancel: &CancellationToken,
    ) -> Result<Pushed, Error> {
        let now = match self.remote_head(branch, cancel).await {
            Ok(now) => now,
            // The push and the look failed: what happened is told by the next probe.
            Err(Error::Unreachable { message, .. }) => return Ok(Pushed::Transient { reason: message }),
            Err(Error::Denied { message, .. }) => return Ok(Pushed::Rejected { reason: message }),
            Err(error) => return Err(error),
        };
        Ok(match (now, said) {
            (None, _) => Pushed::BranchGone,
            (Some(head), _) if head == *to => Pushed::Landed,
            (Some(head), _) if head != *from => Pushed::ForeignAdvance { head },
            (Some(_), Said { refusal: Some(reason), .. }) => Pushed::Rejected { reason },
            (Some(_), Said { refusal: None, stderr }) => match self.remote_fault(&stderr) {
                Error::Denied { message, .. } => Pushed::Rejected { reason: message },
                _ => Pushed::Transient { reason: stderr },
            },
        })
    }
}

/// What git said about a push that did not succeed.
struct Said {
    /// The server's own reason, if it was spoken to and refused.
    refusal: Option<String>,
    stderr: String,
}
