//! Making a gateway and its checkout, before any fixer sees them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use merge_train_core::ids::BranchName;
use tokio_util::sync::CancellationToken;

use super::config::{self, Completeness, Identity};
use super::supply::Source;
use super::{COPY_DEADLINE, Error, Gateway, remove};
use crate::command::Command;
use crate::{Committer, Git, Oid};

/// What of a part of a branch's name fits into a file name, with git's `.lock` behind it.
const LONGEST_PART: usize = 250;

/// What a fixer is to get.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Where the gateway and the checkout go. Nothing else is in it.
    pub folder: &'a Path,
    /// The pull request's branch, and where it is.
    pub branch: &'a BranchName,
    pub head: &'a Oid,
    /// What the pull request is to be merged into: to look at, not to push to.
    pub base: Option<(&'a BranchName, &'a Oid)>,
    /// In whose name the fixer commits.
    pub identity: &'a Committer,
    pub from: Source<'a>,
}

impl Gateway {
    /// Makes the gateway and the checkout. What an attempt that was cut short left behind goes first; a checkout that a
    /// fixer could have worked in does not.
    pub async fn create(git: &Git, order: Order<'_>, cancel: &CancellationToken) -> Result<Self, Error> {
        order.validate()?;
        let gateway = Self { git: git.clone(), folder: order.folder.to_owned(), branch: order.branch.clone() };
        if gateway.checkout().symlink_metadata().is_ok() {
            let text = format!("{} already exists; open it, or remove it first", gateway.checkout().display());
            return Err(crate::Error::Refused(text).into());
        }
        let (unfinished, half) = (gateway.folder.join("checkout.new"), gateway.folder.join("gateway.new"));
        for leftover in [gateway.path(), unfinished.clone(), half.clone()] {
            remove::remove_all(&leftover).map_err(io("removing what an earlier attempt left"))?;
        }
        fs::create_dir_all(&gateway.folder).map_err(io("making the fixer's folder"))?;
        gateway.make_gateway(&order, &half, cancel).await?;
        // Whole from the moment that it is there: whoever finds it may read it.
        fs::rename(&half, gateway.path()).map_err(io("putting the gateway in place"))?;
        gateway.make_checkout(&order, &unfinished, cancel).await?;
        fs::rename(&unfinished, gateway.checkout()).map_err(io("putting the fixer's checkout in place"))?;
        Ok(gateway)
    }

    async fn make_gateway(&self, order: &Order<'_>, path: &Path, cancel: &CancellationToken) -> Result<(), Error> {
        self.init(order, path, &["--bare"]).await?;
        self.write_rules(path, order.head, order.from.completeness())?;
        let base = order.base.map(|(_, oid)| oid);
        let tips: Vec<&Oid> = [order.head].into_iter().chain(base).collect();
        order.from.supply(&self.git, path, (&tips, &[]), cancel).await?;
        let mut refs = format!("create {} {}\n", self.branch_ref(), order.head);
        if let Some((name, oid)) = order.base {
            refs += &format!("create refs/heads/{name} {oid}\n");
        }
        self.update_refs(path, "merge-train: made", refs).await.map_err(Error::from)
    }

    async fn make_checkout(&self, order: &Order<'_>, path: &Path, cancel: &CancellationToken) -> Result<(), Error> {
        self.init(order, path, &[]).await?;
        let repository = path.join(".git");
        let identity = Identity { name: &order.identity.name, email: &order.identity.email };
        let completeness = order.from.completeness();
        let text = config::of_checkout(&self.path(), &self.branch, order.head, completeness, &identity);
        // What is in the gateway need not be here as well: both are the fixer's.
        let objects = format!("{}\n", self.path().join("objects").display());
        let hook = repository.join("hooks/pre-push");
        fs::write(repository.join("config"), text)
            .and_then(|()| fs::create_dir_all(repository.join("hooks")))
            .and_then(|()| fs::write(&hook, config::PRE_PUSH))
            .and_then(|()| fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)))
            .and_then(|()| fs::create_dir_all(repository.join("objects/info")))
            .and_then(|()| fs::write(repository.join("objects/info/alternates"), objects))
            .map_err(io("configuring the fixer's checkout"))?;
        let mut refs = format!("create {} {}\n", self.branch_ref(), order.head);
        refs += &format!("create refs/remotes/origin/{} {}\n", self.branch, order.head);
        if let Some((name, oid)) = order.base {
            refs += &format!("create refs/remotes/origin/{name} {oid}\n");
        }
        let within = |command: Command| named(command).env("GIT_WORK_TREE", path).folder(path).until(cancel);
        let args = ["update-ref", "-m", "merge-train: made", "--stdin"];
        within(self.git.on(&repository, args)).stdin(refs).run().await?;
        let write_files = self.git.on(&repository, ["reset", "--quiet", "--hard"]);
        within(write_files).deadline(COPY_DEADLINE).run().await?;
        Ok(())
    }

    async fn init(&self, order: &Order<'_>, path: &Path, more: &[&str]) -> Result<(), Error> {
        let format = if order.head.as_str().len() == 64 { "sha256" } else { "sha1" };
        let command = self.git.anywhere(["init", "--quiet", "--template="]).args(more);
        let command = command.arg(format!("--object-format={format}")).arg(format!("--initial-branch={}", self.branch));
        command.arg("--").arg(path).run().await?;
        Ok(())
    }

    /// Writes the gateway's configuration and its hook into `path`, whatever was there.
    pub(super) fn write_rules(&self, path: &Path, head: &Oid, completeness: Completeness) -> Result<(), Error> {
        let (hooks, hook) = (path.join("hooks"), path.join("hooks/pre-receive"));
        let write = || {
            replace(&path.join("config"), &config::of_gateway(&self.path(), &self.branch, head, completeness))?;
            if hooks.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                fs::remove_file(&hooks)?;
            }
            fs::create_dir_all(&hooks)?;
            replace(&hook, config::PRE_RECEIVE)?;
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))
        };
        write().map_err(io("writing the gateway's rules"))?;
        if rustix::fs::access(&hook, rustix::fs::Access::EXEC_OK).is_err() {
            let text =
                format!("{} cannot be run: its file system forbids it. Let fixers work elsewhere", hook.display());
            return Err(crate::Error::Refused(text).into());
        }
        Ok(())
    }

    /// Moves refs of the gateway in `path`. Its hooks do not run, and nothing is fetched that it may claim to lack.
    pub(super) async fn update_refs(&self, path: &Path, message: &str, changes: String) -> Result<(), crate::Error> {
        let command = self.git.on(path, ["update-ref", "-m", message, "--create-reflog", "--stdin"]);
        sealed(named(command)).stdin(changes).run().await.map(drop)
    }
}

impl Order<'_> {
    fn validate(&self) -> Result<(), Error> {
        let refuse = |text: String| Err(crate::Error::Refused(text).into());
        if !self.folder.is_absolute() {
            return refuse(format!("{} is not an absolute path", self.folder.display()));
        }
        let names = [Some(self.branch), self.base.map(|(name, _)| name)];
        for name in names.into_iter().flatten() {
            if name.as_str().split('/').any(|part| part.len() > LONGEST_PART) {
                return refuse(format!(
                    "the branch {name} cannot be checked out: a part of its name is longer than {LONGEST_PART} bytes. Rename it"
                ));
            }
        }
        match self.base {
            Some((base, _)) if base == self.branch => {
                refuse(format!("{base} cannot be both the branch to fix and its base branch"))
            }
            _ => Ok(()),
        }
    }
}

/// In the daemon's name, for the logs of refs.
fn named(command: Command) -> Command {
    command.env("GIT_COMMITTER_NAME", "merge-train").env("GIT_COMMITTER_EMAIL", "merge-train@localhost")
}

/// Nothing that a repository's configuration says lets the command reach for a remote.
pub(super) fn sealed(command: Command) -> Command {
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none")
}

/// Writes a file again beside the old one and puts it in its place: an old one that is a link is replaced, not followed.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let file = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(file.path(), text)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| crate::Error::io(doing)(error).into()
}
