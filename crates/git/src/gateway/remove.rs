//! Removing a folder that somebody else filled: as deep as they liked, with any names, and locked.
//!
//! Neither the stack nor the number of open files grows with the depth, and no path is ever long: what lies deeper than
//! [`DEEPEST`] is moved up to the top, and has its turn there. No link is followed.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// So many folders are open at once, each in the one before.
const DEEPEST: usize = 16;
/// What is moved up is called this and a number.
const MOVED: &str = "moved-";
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes a folder with all that is in it, also where a tool took its own right to do so. One that is gone is removed.
pub(super) fn remove_all(folder: &Path) -> io::Result<()> {
    let top = match open(CWD, folder) {
        Ok(dir) => Level { name: CString::default(), dir },
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return gone(unlinkat(CWD, folder, AtFlags::empty())),
        Err(error) => return Err(error.into()),
    };
    let mut removal = Removal { open: vec![top], moved: 0, done: 0 };
    loop {
        let before = removal.done;
        removal.pass()?;
        match unlinkat(CWD, folder, AtFlags::REMOVEDIR) {
            // What was moved up while this pass went by.
            Err(Errno::NOTEMPTY | Errno::EXIST) if removal.done > before => removal.open[0].dir.rewind(),
            other => return gone(other),
        }
    }
}

fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}

/// A folder that is being read.
struct Level {
    /// In the one above.
    name: CString,
    dir: Dir,
}

struct Removal {
    /// The top first, each in the one before.
    open: Vec<Level>,
    /// The number that the next folder which is moved up is tried with.
    moved: u64,
    /// How much was removed or moved.
    done: u64,
}

impl Removal {
    /// Goes once through all that is there, and stays at the top.
    fn pass(&mut self) -> rustix::io::Result<()> {
        while let Some(level) = self.open.last_mut() {
            match level.dir.read() {
                Some(entry) => {
                    let entry = entry?;
                    self.remove(entry.file_name(), entry.file_type())?;
                }
                None if self.open.len() == 1 => return Ok(()),
                None => self.leave()?,
            }
        }
        Ok(())
    }

    fn here(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        self.open.last().ok_or(Errno::BADF)?.dir.fd()
    }

    fn remove(&mut self, name: &CStr, kind: FileType) -> rustix::io::Result<()> {
        if matches!(name.to_bytes(), b"." | b"..") {
            return Ok(());
        }
        if matches!(kind, FileType::Directory | FileType::Unknown) {
            match open(self.here()?, name) {
                Ok(dir) if self.open.len() < DEEPEST => {
                    self.open.push(Level { name: name.to_owned(), dir });
                    return Ok(());
                }
                Ok(_) => return self.move_up(name),
                Err(Errno::NOENT) => return Ok(()),
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error),
            }
        }
        match unlinkat(self.here()?, name, AtFlags::empty()) {
            Ok(()) => self.done += 1,
            // It is another thing by now: its turn comes in the next pass.
            Err(Errno::NOENT | Errno::ISDIR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Removes the folder that was read to its end.
    fn leave(&mut self) -> rustix::io::Result<()> {
        let Some(level) = self.open.pop() else { return Ok(()) };
        match unlinkat(self.here()?, &*level.name, AtFlags::REMOVEDIR) {
            Ok(()) => self.done += 1,
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Moves a folder of the deepest that is open up to the top.
    fn move_up(&mut self, name: &CStr) -> rustix::io::Result<()> {
        loop {
            let to = format!("{MOVED}{}", self.moved);
            self.moved += 1;
            match renameat(self.here()?, name, self.open[0].dir.fd()?, to) {
                Ok(()) => {
                    self.done += 1;
                    return Ok(());
                }
                // The name is taken.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                // The top holds as many as it can: in the next pass it holds fewer.
                Err(Errno::NOENT | Errno::MLINK) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A folder that can be read and emptied now, whatever its owner was allowed to do in it.
fn open<P: Arg + Copy>(parent: BorrowedFd<'_>, name: P) -> rustix::io::Result<Dir> {
    let try_open = || openat(parent, name, FOLDER | OFlags::RDONLY, Mode::empty());
    let opened = match try_open() {
        Err(Errno::ACCESS) => {
            unlock(parent, name)?;
            try_open()
        }
        other => other,
    }?;
    if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::RWXU) {
        // Where it is not the owner who asks, what follows says whether it may.
        let _ = fchmod(opened.as_fd(), Mode::RWXU);
    }
    Dir::new(opened)
}

/// Lets the owner of a folder into it. By its descriptor: by its name, a link that has taken its place would be followed.
#[cfg(target_os = "linux")]
fn unlock<P: Arg + Copy>(parent: BorrowedFd<'_>, name: P) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let folder = openat(parent, name, FOLDER | OFlags::PATH, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    rustix::fs::chmodat(CWD, path, Mode::RWXU, AtFlags::empty())
}

#[cfg(not(target_os = "linux"))]
fn unlock<P: Arg + Copy>(parent: BorrowedFd<'_>, name: P) -> rustix::io::Result<()> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::Command;

    use rustix::fs::mkdirat;

    use super::*;

    /// More than a path may have bytes, and than a small stack has room for.
    const LEVELS: usize = 5_000;
    const SMALL_STACK: usize = 64 << 10;

    /// A chain of folders that begins in `folder`, with a file and a link in every hundredth.
    fn dig(folder: &Path, levels: usize, link: &Path) {
        let mut at = openat(CWD, folder, FOLDER, Mode::empty()).unwrap();
        for level in 0..levels {
            if level % 100 == 99 {
                rustix::fs::symlinkat(link, &at, "link").unwrap();
                openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
            }
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", FOLDER, Mode::empty()).unwrap();
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn lock(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_deeper_than_any_path_is_removed_and_nothing_that_it_links_to() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "").unwrap();
        let folder = tempfile::tempdir().unwrap().keep();
        dig(&folder, LEVELS, outside.path());
        let thread = std::thread::Builder::new().stack_size(SMALL_STACK);
        let path = folder.clone();
        thread.spawn(move || remove_all(&path)).unwrap().join().unwrap().unwrap();
        assert!(folder.symlink_metadata().is_err());
        assert!(outside.path().join("kept").exists());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "this very program, once more")]
    fn it_takes_few_open_files() {
        let module = module_path!().split_once("::").unwrap().1;
        let test = format!("{module}::a_folder_deeper_than_any_path_is_removed_and_nothing_that_it_links_to");
        let mut again = Command::new("sh");
        again.args(["-c", "ulimit -n 32; exec \"$0\" --exact \"$1\""]).arg(std::env::current_exe().unwrap()).arg(test);
        let output = again.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    }

    #[test]
    fn names_that_are_taken_or_no_text_are_no_obstacle() {
        let folder = tempfile::tempdir().unwrap().keep();
        fs::write(folder.join("moved-0"), "").unwrap();
        fs::create_dir_all(folder.join("moved-1/full")).unwrap();
        fs::create_dir(folder.join("moved-2")).unwrap();
        symlink("moved-1", folder.join("moved-3")).unwrap();
        for n in 4..20 {
            let chain = folder.join(format!("moved-{n}"));
            fs::create_dir(&chain).unwrap();
            dig(&chain, 3 * DEEPEST, "/".as_ref());
        }
        fs::create_dir(folder.join(OsStr::from_bytes(b"\xff\n -rf"))).unwrap();
        fs::write(folder.join(OsStr::from_bytes(b"\xfe")), "").unwrap();
        remove_all(&folder).unwrap();
        assert!(folder.symlink_metadata().is_err());
    }

    #[test]
    fn what_is_gone_or_a_file_or_a_link_is_removed_too() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().join("x");
        remove_all(&path).unwrap();
        fs::write(&path, "").unwrap();
        remove_all(&path).unwrap();
        symlink(outside.path(), &path).unwrap();
        remove_all(&path).unwrap();
        assert!(path.symlink_metadata().is_err() && outside.path().exists());
    }

    #[test]
    fn folders_that_lock_their_owner_out_are_unlocked_and_removed() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (top, link) = (folder.path().join("top"), folder.path().join("link"));
        let mut at = top.clone();
        for _ in 0..2 * DEEPEST {
            at.push("d");
        }
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("file"), "").unwrap();
        at.ancestors().take_while(|path| path.starts_with(&top)).for_each(|path| lock(path, 0));
        // Whoever runs this as root is never locked out: what root would not need is looked at by itself.
        lock(outside.path(), 0o500);
        symlink(outside.path(), &link).unwrap();
        assert!(unlock(CWD, link.as_path()).is_err());
        assert_eq!(mode(outside.path()), 0o500, "a link is not followed");
        unlock(CWD, top.as_path()).unwrap();
        assert_eq!(mode(&top), 0o700);
        lock(&top, 0o400);
        drop(open(CWD, top.as_path()).unwrap());
        assert_eq!(mode(&top), 0o700);
        lock(&top, 0);
        remove_all(&top).unwrap();
        assert!(top.symlink_metadata().is_err());
    }
}
