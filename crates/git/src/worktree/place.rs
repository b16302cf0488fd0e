//! Making, fixing and removing one worktree. The caller sees to it that nobody else is at it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::folder;
use super::name::Name;
use crate::{Error, Git, Oid};

/// Git's code for what it cannot do.
const FATAL: i32 = 128;

/// A repository's folder: the bare clone, and the worktrees beside it.
#[derive(Debug)]
pub(super) struct Place {
    pub git: Git,
    pub base: PathBuf,
    pub clone: PathBuf,
    pub worktrees: PathBuf,
}

/// A worktree that git acknowledges as the clone's.
struct Sound {
    admin: PathBuf,
    head: Oid,
}

impl Place {
    pub fn new(base: &Path, git: Git) -> Self {
        Self { git, base: base.to_owned(), clone: base.join("clone"), worktrees: base.join("worktrees") }
    }

    pub fn path(&self, name: &Name) -> PathBuf {
        self.worktrees.join(name.to_string())
    }

    pub async fn ensure(&self, name: &Name) -> Result<PathBuf, Error> {
        let path = self.path(name);
        if self.look(&path).await?.is_none() {
            self.make_anew(&path).await?;
        }
        Ok(path)
    }

    pub async fn discard(&self, name: &Name) -> Result<(), Error> {
        self.remove(&self.path(name)).await?;
        let refs = self.refs(&name.namespace()).await?;
        self.delete_refs(&refs).await
    }

    pub async fn clean(&self, name: &Name) -> Result<PathBuf, Error> {
        let path = self.path(name);
        let Some(sound) = self.look(&path).await? else {
            tracing::warn!(path = %path.display(), "the worktree is missing or corrupt; it is made anew");
            self.make_anew(&path).await?;
            return Ok(path);
        };
        let (worktree, admin) = (path.clone(), sound.admin);
        on_disk("cleaning a worktree", move || folder::scrub(&worktree, &admin)).await?;
        self.detach(&path, &sound.head).await?;
        Ok(path)
    }

    pub async fn move_head(&self, name: &Name, commit: &Oid) -> Result<(), Error> {
        let path = self.path(name);
        match self.detach(&path, commit).await {
            Err(Error::Failed { .. }) if self.look(&path).await?.is_none() => {
                self.make_anew(&path).await?;
                self.detach(&path, commit).await
            }
            other => other,
        }
    }

    /// What git says of the folder; none if it is no worktree of the clone, or one that `git worktree prune` would
    /// forget.
    async fn look(&self, path: &Path) -> Result<Option<Sound>, Error> {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir", "HEAD^{commit}"];
        let output = self.git.on(&path.join(".git"), args).run_allowing(&[0, FATAL]).await?;
        if output.code == FATAL {
            return Ok(None);
        }
        let mut lines = output.stdout.split(|byte| *byte == b'\n').map(OsStr::from_bytes);
        let (common, admin, head) = (lines.next(), lines.next(), lines.next());
        let (Some(common), Some(admin), Some(head)) = (common, admin, head) else { return Err(output.unexpected()) };
        let head = Oid::parse(head.to_string_lossy()).map_err(|_| output.unexpected())?;
        let admin = PathBuf::from(admin);
        let is_clones = match (Path::new(common).canonicalize(), self.clone.canonicalize()) {
            (Ok(common), Ok(clone)) => common == clone,
            _ => false,
        };
        let is_known = folder::owner(&admin).is_some_and(|owner| folder::is_same(&owner, path));
        Ok((is_clones && is_known).then_some(Sound { admin, head }))
    }

    /// Makes the worktree apart from the clone and moves it in whole: whoever enumerates the clone's worktrees
    /// meanwhile, as every fetch does, would stumble over one that is half made.
    async fn make_anew(&self, path: &Path) -> Result<(), Error> {
        self.remove(path).await?;
        let nothing = self.empty_commit().await?;
        let staging = folder::staging(&self.base).map_err(Error::io("making a worktree"))?;
        let args = ["worktree", "add", "--quiet", "--no-checkout", "--detach", "--"];
        let command = self.git.on(staging.path(), args).env("GIT_OBJECT_DIRECTORY", self.clone.join("objects"));
        command.arg(path).arg(nothing.as_str()).run().await?;
        let (path, admins) = (path.to_owned(), self.clone.join("worktrees"));
        on_disk("making a worktree", move || folder::move_in(staging.path(), &admins, &path)).await
    }

    /// A commit without files and without parents: where a HEAD can be before anything was fetched. Always the same.
    async fn empty_commit(&self) -> Result<Oid, Error> {
        let tree = self.git.on(&self.clone, ["mktree"]).run().await?.oid()?;
        let mut command = self.git.on(&self.clone, ["commit-tree", tree.as_str()]).stdin("Nothing yet\n");
        for role in ["AUTHOR", "COMMITTER"] {
            command = command
                .env(format!("GIT_{role}_NAME"), "merge-train")
                .env(format!("GIT_{role}_EMAIL"), "merge-train@localhost")
                .env(format!("GIT_{role}_DATE"), "@0 +0000");
        }
        command.run().await?.oid()
    }

    async fn detach(&self, path: &Path, commit: &Oid) -> Result<(), Error> {
        let args = ["update-ref", "--no-deref", "HEAD", commit.as_str()];
        self.git.on(&path.join(".git"), args).run().await.map(drop)
    }

    /// Removes a worktree, whatever of it is there. By hand: git removes no worktree that is damaged, and takes a sound
    /// one apart under the eyes of everyone who enumerates them.
    async fn remove(&self, path: &Path) -> Result<(), Error> {
        let (base, admins, path) = (self.base.clone(), self.clone.join("worktrees"), path.to_owned());
        let doing = format!("removing the worktree {}", path.display());
        on_disk(doing, move || folder::remove_admin(&base, &admins, &path).and_then(|()| folder::remove(&path))).await
    }

    /// The refs at or below `namespace`.
    pub async fn refs(&self, namespace: &str) -> Result<Vec<String>, Error> {
        if !self.clone.join("HEAD").exists() {
            return Ok(Vec::new());
        }
        let output = self.git.on(&self.clone, ["for-each-ref", "--format=%(refname)", namespace]).run().await?;
        Ok(output.text().lines().map(str::to_owned).collect())
    }

    pub async fn delete_refs(&self, refs: &[String]) -> Result<(), Error> {
        if refs.is_empty() {
            return Ok(());
        }
        let lines: String = refs.iter().map(|name| format!("delete {name}\n")).collect();
        self.git.on(&self.clone, ["update-ref", "--stdin"]).stdin(lines).run().await.map(drop)
    }
}

/// Work on many files, off the threads that others wait on.
pub(super) async fn on_disk<T: Send + 'static>(
    doing: impl Into<String>,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other).and_then(|done| done);
    done.map_err(Error::io(doing))
}
