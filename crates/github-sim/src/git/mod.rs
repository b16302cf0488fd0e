//! The one door to git. Repositories are bare; files are checked out only for the CI ([`checkout`]).

mod checkout;
mod command;
mod diff;
mod log;
mod merge;
mod objects;
mod pushed;
mod refs;
mod smart_http;
mod tags;
mod trees;

pub use command::{Error, GitCommand, Signature};
pub use diff::{FileChange, FileStatus};
pub use log::LogFilter;
pub use merge::{MergeOutcome, Rebased};
pub use objects::{CommitObject, TreeEntry};
pub use pushed::{CommitFiles, MOST_PUSHED_COMMITS};
pub use refs::{ListedRef, RefChange, is_valid_branch_name};
pub use smart_http::{ReceiveCommand, SmartHttpRequest, parse_receive_commands};
pub use tags::TagObject;

use std::path::{Path, PathBuf};

use crate::world::Id;

/// All repositories of a simulator, each in a folder named by its id, so that renaming one moves nothing.
#[derive(Clone, Debug)]
pub struct Git {
    root: PathBuf,
}

impl Git {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn repo(&self, id: Id) -> GitRepo {
        GitRepo { id, root: self.root.clone(), dir: self.root.join(format!("{id}.git")) }
    }
}

/// One bare repository.
#[derive(Clone, Debug)]
pub struct GitRepo {
    id: Id,
    root: PathBuf,
    dir: PathBuf,
}

/// Runs for each pushed ref. `SIM_PUSH_RULES` names a file of lines `deny REF MESSAGE`, `no-force REF
/// MESSAGE` and `no-merges REF MESSAGE`.
const UPDATE_HOOK: &str = r#"#!/bin/sh
[ -n "$SIM_PUSH_RULES" ] || exit 0
zero=0000000000000000000000000000000000000000
while IFS=' ' read -r rule ref message; do
  [ "$ref" = "$1" ] || continue
  case $rule in
    no-force)
      [ "$2" = "$zero" ] && continue
      [ "$3" = "$zero" ] && continue
      git merge-base --is-ancestor "$2" "$3" && continue ;;
    no-merges)
      [ "$2" = "$zero" ] && continue
      [ "$3" = "$zero" ] && continue
      [ -z "$(git rev-list --merges --max-count=1 "$2..$3")" ] && continue ;;
  esac
  printf '%b\n' "$message" >&2
  exit 1
done < "$SIM_PUSH_RULES"
exit 0
"#;

impl GitRepo {
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn id(&self) -> Id {
        self.id
    }

    /// Makes the bare repository. Doing it again changes nothing.
    pub async fn init(&self, default_branch: &str) -> Result<(), Error> {
        tokio::fs::create_dir_all(&self.dir).await?;
        self.git(["init", "--quiet", "--bare"]).arg(format!("--initial-branch={default_branch}")).run().await?;
        for (key, value) in [
            ("http.receivepack", "true"),
            ("uploadpack.allowFilter", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            // Derived refs: anyone may fetch them, nobody may push them.
            ("receive.hideRefs", "refs/pull"),
            ("receive.advertisePushOptions", "false"),
            ("receive.denyDeleteCurrent", "refuse"),
            ("receive.autogc", "false"),
            ("gc.auto", "0"),
            ("core.logAllRefUpdates", "false"),
        ] {
            self.git(["config", key, value]).run().await?;
        }
        let hooks = self.dir.join("hooks");
        tokio::fs::create_dir_all(&hooks).await?;
        let hook = hooks.join("update");
        tokio::fs::write(&hook, UPDATE_HOOK).await?;
        make_executable(&hook).await?;
        Ok(())
    }

    /// Copies every object and every branch and tag of `source`.
    pub async fn fork_from(&self, source: &Self) -> Result<(), Error> {
        self.git(["fetch", "--quiet", "--no-tags"])
            .arg(&source.dir)
            .args(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"])
            .run()
            .await?;
        Ok(())
    }

    /// Brings the objects of `sha` here from a fork.
    pub async fn fetch_from(&self, source: &Self, sha: &str) -> Result<(), Error> {
        if self.dir == source.dir || self.has_commit(sha).await? {
            return Ok(());
        }
        self.git(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]).arg(&source.dir).arg(sha).run().await?;
        Ok(())
    }

    pub async fn set_default_branch(&self, branch: &str) -> Result<(), Error> {
        self.git(["symbolic-ref", "HEAD"]).arg(format!("refs/heads/{branch}")).run().await?;
        Ok(())
    }

    pub async fn delete(&self) -> Result<(), Error> {
        match tokio::fs::remove_dir_all(&self.dir).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn git<I, S>(&self, args: I) -> GitCommand
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        GitCommand::in_repository(&self.dir).args(args)
    }
}

async fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    tokio::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).await
}
