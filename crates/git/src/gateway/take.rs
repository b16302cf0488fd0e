//! Taking what a fixer pushed, from a repository that may be anything by now.

use std::path::Path;
use std::time::Duration;

use super::make::sealed;
use super::{Error, Gateway, intact};
use crate::{Oid, Remote};

/// What a fixer pushed is small, and what never ends is no push.
const DEADLINE: Duration = Duration::from_secs(5 * 60);
/// What git may ask the machine for at once: an object that unpacks to more would take the machine's memory. Larger files are
/// never held as a whole.
const LARGEST_OBJECT: &str = "512m";
/// Git's code for what it cannot do.
const FATAL: i32 = 128;

/// Run in the gateway by a shell, without the settings of the process that starts it: so that all is said here. No hook
/// runs, nothing is asked of another repository, and nothing is fetched that the gateway claims to lack.
const UPLOAD_PACK: &str = "GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none git -c core.hooksPath=/dev/null \
                           -c core.fsmonitor=false -c core.alternateRefsCommand=true upload-pack";

/// What there was to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The branch is where the daemon knew it to be.
    Unchanged,
    /// The fixer has built on that, up to here.
    Advanced(Oid),
}

impl Gateway {
    /// Brings the branch, as it is in the gateway now, into the clone, where `as_ref` then names it. Only what builds
    /// on `known_head` is taken.
    pub async fn take(&self, into: &Path, known_head: &Oid, as_ref: &str) -> Result<Taken, Error> {
        if !as_ref.starts_with("refs/") {
            return Err(crate::Error::Refused(format!("{as_ref:?} is not the full name of a ref")).into());
        }
        let path = self.path();
        let looked = tokio::task::spawn_blocking(move || intact::check(&path)).await;
        looked.map_err(super::join_error)??;
        let incoming = format!("{as_ref}-incoming");
        self.fetch(into, &incoming).await?;
        let verdict = self.judge(into, known_head, &incoming).await;
        let mut changes = format!("delete {incoming}\n");
        if let Ok(Taken::Advanced(found)) = &verdict {
            changes += &format!("update {as_ref} {found}\n");
        }
        self.git.on(into, ["update-ref", "--stdin"]).stdin(changes).run().await?;
        verdict
    }

    /// Fetches the branch and nothing else, and refuses broken objects.
    async fn fetch(&self, into: &Path, incoming: &str) -> Result<(), Error> {
        let remote = Remote::folder(&self.path())?;
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="];
        let command = self.git.on(into, args).setting("fetch.fsckObjects=true").setting("transfer.bundleURI=false");
        let command = command.arg(format!("--upload-pack={UPLOAD_PACK}")).arg(remote.url());
        let command = command.arg(format!("+{}:{incoming}", self.branch_ref()));
        let command = sealed(command).env("GIT_ALLOW_PROTOCOL", "file").env("GIT_ALLOC_LIMIT", LARGEST_OBJECT);
        let command = command.speaking_with(&remote).await?;
        match command.deadline(DEADLINE).run().await {
            Ok(_) => Ok(()),
            Err(cause @ (crate::Error::Failed { .. } | crate::Error::Deadline { .. })) => {
                Err(Error::Unreadable { path: self.path(), cause })
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn judge(&self, into: &Path, known: &Oid, incoming: &str) -> Result<Taken, Error> {
        let name = format!("{incoming}^{{commit}}");
        let output =
            self.git.on(into, ["rev-parse", "--verify", "--quiet", &name]).run_allowing(&[0, 1, FATAL]).await?;
        if output.code != 0 {
            return Err(Error::TamperedWith { path: self.path(), what: "has a branch that is no commit" });
        }
        let found = output.oid()?;
        if found == *known {
            return Ok(Taken::Unchanged);
        }
        let args = ["merge-base", "--is-ancestor", known.as_str(), found.as_str()];
        match self.git.on(into, args).run_allowing(&[0, 1]).await?.code {
            0 => Ok(Taken::Advanced(found)),
            _ => Err(Error::NotFastForward { branch: self.branch.clone(), known: known.clone(), found }),
        }
    }
}
