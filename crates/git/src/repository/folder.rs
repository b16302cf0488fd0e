//! Where a clone is, what it is made of, and who may touch it.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::Path;

use merge_train_core::ids::RepoId;

use super::Extent;
use crate::{Error, Git, Remote};

pub(super) const CLONE: &str = "clone";
const LOCK: &str = "lock";

/// The folder of a repository: `owner-name`. A dash in the owner becomes `~`, which no name contains, so that `a-b/c` and
/// `a/b-c` do not meet. Lower case, since GitHub's names differ in more than case.
pub(super) fn name(repo: &RepoId) -> String {
    format!("{}-{}", repo.owner().replace('-', "~"), repo.name()).to_ascii_lowercase()
}

/// Says that this process uses the clone. The first one there clears away what a killed git left locked.
pub(super) fn claim(folder: &Path) -> Result<File, Error> {
    let doing = || format!("claiming the folder {}", folder.display());
    fs::create_dir_all(folder).map_err(Error::io(doing()))?;
    let path = folder.join(LOCK);
    let lock = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let lock = lock.map_err(Error::io(doing()))?;
    match lock.try_lock() {
        Ok(()) => remove_left_locks(&folder.join(CLONE)),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(Error::io(doing())(error)),
    }
    lock.lock_shared().map_err(Error::io(doing()))?;
    Ok(lock)
}

/// Takes the clone for this process alone; false if another one uses it.
pub(super) fn claim_alone(lock: &File) -> bool {
    lock.try_lock().is_ok()
}

/// Gives it back to all.
pub(super) fn share(lock: &File) -> Result<(), Error> {
    lock.lock_shared().map_err(Error::io("sharing the clone again"))
}

/// Makes the clone if there is none, and sees to it that its configuration is ours and nothing else: whatever else stands
/// there, or is included from there, could name a program to run.
pub(super) async fn ensure(git: &Git, folder: &Path, remote: &Remote, extent: Extent) -> Result<(), Error> {
    let clone = folder.join(CLONE);
    if !clone.join("HEAD").is_file() || !clone.join("objects").is_dir() {
        make(git, folder).await?;
    }
    configure(&clone, remote, extent)
}

/// Puts the configuration right if anybody has touched it. Cheap enough to be done before each piece of work.
pub(super) fn configure(clone: &Path, remote: &Remote, extent: Extent) -> Result<(), Error> {
    let doing = || format!("configuring the clone in {}", clone.display());
    let wanted = configuration(remote, extent);
    let path = clone.join("config");
    match fs::read_to_string(&path) {
        Ok(found) if found == wanted => {}
        // The clone is gone, or not whole: what works on it finds that out.
        Err(_) if !clone.join("HEAD").exists() => return Ok(()),
        _ => write_whole(&path, &wanted).map_err(Error::io(doing()))?,
    }
    for planted in ["info/attributes", "info/grafts", "config.worktree"] {
        remove_if_there(&clone.join(planted)).map_err(Error::io(doing()))?;
    }
    Ok(())
}

/// An empty clone, complete before it has its name.
async fn make(git: &Git, folder: &Path) -> Result<(), Error> {
    let doing = || format!("making a clone in {}", folder.display());
    let clone = folder.join(CLONE);
    let new = tempfile::Builder::new().prefix(".new-").tempdir_in(folder).map_err(Error::io(doing()))?;
    let args = ["init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--"];
    git.anywhere(args).arg(new.path()).run().await?;
    if clone.exists() {
        fs::remove_dir_all(&clone).map_err(Error::io(doing()))?;
    }
    fs::rename(new.path(), &clone).map_err(Error::io(doing()))
}

/// The whole of the clone's configuration.
fn configuration(remote: &Remote, extent: Extent) -> String {
    let mut text = String::from("[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = true\n");
    if extent == Extent::Partial {
        text.push_str("[extensions]\n\tpartialClone = origin\n");
    }
    text.push_str("[remote \"origin\"]\n");
    // An address is percent-encoded: it holds neither a quote nor a line break.
    text.push_str(&format!("\turl = \"{}\"\n", remote.url()));
    if extent == Extent::Partial {
        text.push_str("\tpromisor = true\n\tpartialclonefilter = blob:none\n");
    }
    text
}

fn write_whole(path: &Path, content: &str) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A git that was killed leaves its lock files, and every git after it would wait for them without success.
fn remove_left_locks(clone: &Path) {
    for entry in fs::read_dir(clone).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !path.ends_with("objects") {
            remove_left_locks(&path);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "lock") {
            tracing::info!(path = %path.display(), "removing a lock that a killed git left");
            let _ = fs::remove_file(&path);
        }
    }
    for left in ["objects/maintenance.lock", "objects/info/commit-graphs/commit-graph-chain.lock", "gc.pid"] {
        let _ = fs::remove_file(clone.join(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_repositories_share_a_folder() {
        let folder = |owner, repo| name(&RepoId::new(owner, repo).unwrap());
        assert_eq!(folder("octocat", "hello-world"), "octocat-hello-world");
        assert_ne!(folder("a-b", "c"), folder("a", "b-c"));
        assert_ne!(folder("a-b", "c"), folder("a", "-b-c"));
        assert_eq!(folder("OctoCat", "Hello"), folder("octocat", "hello"));
    }

    #[test]
    fn the_configuration_names_the_remote_and_no_program() {
        let remote = Remote::folder(Path::new("/srv/a \"b\"; c.git")).unwrap();
        let text = configuration(&remote, Extent::Partial);
        assert!(text.contains("\turl = \"file:///srv/a%20%22b%22;%20c.git\"\n"), "{text}");
        assert!(text.contains("partialClone = origin"));
        assert!(!configuration(&remote, Extent::Full).contains("partial"));
    }

    #[test]
    fn locks_that_a_killed_git_left_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let clone = folder.path().join(CLONE);
        fs::create_dir_all(clone.join("refs/merge-train/stack-1")).unwrap();
        fs::create_dir_all(clone.join("objects/aa")).unwrap();
        let files = ["packed-refs.lock", "refs/merge-train/stack-1/default.lock", "packed-refs", "objects/aa/b.lock"];
        for file in files {
            fs::write(clone.join(file), "").unwrap();
        }
        let _lock = claim(folder.path()).unwrap();
        let left: Vec<bool> = files.iter().map(|file| clone.join(file).exists()).collect();
        assert_eq!(left, [false, false, true, true]);
    }
}
