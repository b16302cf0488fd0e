//! The files of worktrees: what git leaves behind when a worktree is half gone.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Result};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What makes a worktree's administrative folder one; everything else there is work under way.
const LASTING: [&str; 6] = ["HEAD", "commondir", "gitdir", "logs", "refs", "reftable"];

/// Worktrees on their way in, and on their way out.
const STAGING: &str = ".staging-";
const LEAVING: &str = ".leaving-";

/// Removes whatever is at `path`. A symbolic link goes, what it leads to stays.
pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes all that is in `folder` but the entries that `keep` wants.
fn empty(folder: &Path, keep: impl Fn(&OsStr) -> bool) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !keep(&entry.file_name()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Ends whatever a worktree is in the middle of, without asking git: removing the state of a merge, of a rebase, of a
/// bisection, the index and stale locks, and all files.
pub(super) fn scrub(worktree: &Path, admin: &Path) -> Result<()> {
    empty(worktree, |name| name == ".git")?;
    empty(admin, |name| LASTING.iter().any(|kept| name == *kept))?;
    match empty(&admin.join("refs"), |_| false) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The worktree that an administrative folder belongs to: it says where that worktree's `.git` is.
pub(super) fn owner(admin: &Path) -> Option<PathBuf> {
    let text = fs::read(admin.join("gitdir")).ok()?;
    let path = Path::new(OsStr::from_bytes(text.trim_ascii_end()));
    let path = (path.is_absolute() && path.file_name()? == ".git").then_some(path)?;
    Some(path.parent()?.to_owned())
}

/// Whether both name one entry of one folder. The entry itself need not exist.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| path.parent().and_then(|parent| parent.canonicalize().ok());
    one == other || (one.file_name() == other.file_name() && folder(one).is_some_and(|it| folder(other) == Some(it)))
}

/// Removes the administrative folders of the worktree at `worktree` from `admins`, the clone's: by what they say, and
/// one of its name that says nothing. Each is moved out whole before it is taken apart: git enumerates them at every
/// fetch, and is not to see half of one.
pub(super) fn remove_admin(base: &Path, admins: &Path, worktree: &Path) -> Result<()> {
    let entries = match fs::read_dir(admins) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let admin = entry?.path();
        let is_its = match owner(&admin) {
            Some(path) => is_same(&path, worktree),
            None => admin.file_name() == worktree.file_name(),
        };
        if is_its {
            let aside = tempfile::Builder::new().prefix(LEAVING).tempdir_in(base)?;
            fs::rename(&admin, aside.path().join("admin"))?;
        }
    }
    Ok(())
}

/// Whether it is something that was being made or removed when the process ended.
pub(super) fn is_in_between(name: &OsStr) -> bool {
    [STAGING, LEAVING].iter().any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()))
}

/// The least that git takes for a repository, for a worktree to be made in. Its objects are another's.
pub(super) fn staging(base: &Path) -> Result<tempfile::TempDir> {
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(base)?;
    fs::write(staging.path().join("HEAD"), "ref: refs/heads/none\n")?;
    fs::create_dir(staging.path().join("refs"))?;
    Ok(staging)
}

/// Moves the administrative folder of the worktree at `worktree`, which was made in `staging`, among those of the
/// clone.
pub(super) fn move_in(staging: &Path, admins: &Path, worktree: &Path) -> Result<()> {
    let name = worktree.file_name().unwrap_or_default();
    let admin = admins.join(name);
    fs::create_dir_all(admins)?;
    remove(&admin)?;
    fs::rename(staging.join("worktrees").join(name), &admin)?;
    let link = worktree.join(".git.new");
    fs::write(&link, [b"gitdir: ", admin.as_os_str().as_bytes(), b"\n"].concat())?;
    fs::rename(&link, worktree.join(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_removed_and_what_it_leads_to_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        remove(&link).unwrap();
        assert!(fs::symlink_metadata(&link).is_err());
        assert!(target.join("file").exists());
        remove(&link).unwrap();
    }

    #[test]
    fn only_the_folders_of_that_worktree_and_nameless_ones_of_its_name_go() {
        let folder = tempfile::tempdir().unwrap();
        let (admins, worktrees) = (folder.path().join("admins"), folder.path().join("worktrees"));
        fs::create_dir_all(&worktrees).unwrap();
        let add = |id: &str, gitdir: Option<String>| {
            fs::create_dir_all(admins.join(id)).unwrap();
            if let Some(text) = gitdir {
                fs::write(admins.join(id).join("gitdir"), text).unwrap();
            }
        };
        let at = |name: &str| format!("{}\n", worktrees.join(name).join(".git").display());
        add("stack-5", None);
        add("stack-51", Some(at("stack-5")));
        add("stack-52", Some(at("stack-52")));
        add("stack-6", None);
        remove_admin(folder.path(), &admins, &worktrees.join("stack-5")).unwrap();
        let mut left: Vec<_> = fs::read_dir(&admins).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["stack-52", "stack-6"]);
    }
}
