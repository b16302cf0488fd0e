//! Which places a command may touch that is sealed off from others.
//!
//! Landlock knows no prohibitions, and what is allowed of a folder is allowed of all in it. So a folder in which something is
//! sealed is not allowed, but everything in it that is not; and so on, down to what is sealed.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use super::super::guard_protocol::Seal;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathKind {
    Folder,
    File,
}

/// What a command may not touch, and what of that it may. All of it where it really is, without links.
#[derive(Debug)]
pub struct SealedPaths {
    /// None is in another, and none in `own`: that is open with all in it.
    pub sealed: Vec<PathBuf>,
    pub own: PathBuf,
}

impl SealedPaths {
    pub fn of(seal: &Seal) -> io::Result<Self> {
        let own = fs::canonicalize(&seal.own).map_err(|error| in_words(Path::new(&seal.own), &error))?;
        let mut found: Vec<PathBuf> =
            seal.sealed.iter().map(|path| real(Path::new(path))).collect::<io::Result<_>>()?;
        found.sort();
        let mut sealed: Vec<PathBuf> = Vec::new();
        for place in found {
            if !place.starts_with(&own) && !sealed.iter().any(|around| place.starts_with(around)) {
                sealed.push(place);
            }
        }
        Ok(Self { sealed, own })
    }

    /// Calls `allow` with every place that may be touched: it, and all in it.
    pub fn open(&self, mut allow: impl FnMut(OwnedFd, PathKind) -> io::Result<()>) -> io::Result<()> {
        around(Path::new("/"), &self.sealed, &mut allow)?;
        open_one(&self.own).map_or(Ok(()), |(place, kind)| allow(place, kind))
    }
}

/// Where something really is: for what is not there yet, or out of reach, where it would be.
fn real(path: &Path) -> io::Result<PathBuf> {
    let error = match fs::canonicalize(path) {
        Ok(real) => return Ok(real),
        Err(error) => error,
    };
    let may_be_there = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if may_be_there => Ok(real(parent)?.join(name)),
        _ => Err(in_words(path, &error)),
    }
}

fn in_words(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// A folder or file as far as nothing of it is sealed. What cannot be listed is not allowed either.
fn around(
    place: &Path,
    sealed: &[PathBuf],
    allow: &mut impl FnMut(OwnedFd, PathKind) -> io::Result<()>,
) -> io::Result<()> {
    if sealed.iter().any(|sealed| sealed == place) {
        return Ok(());
    }
    if !sealed.iter().any(|sealed| sealed.starts_with(place)) {
        return open_one(place).map_or(Ok(()), |(fd, kind)| allow(fd, kind));
    }
    let Ok(entries) = fs::read_dir(place) else { return Ok(()) };
    for entry in entries.flatten() {
        around(&entry.path(), sealed, allow)?;
    }
    Ok(())
}

/// Not a link: where it leads is allowed for what it is itself, or is not. What is gone meanwhile needs no leave.
fn open_one(path: &Path) -> Option<(OwnedFd, PathKind)> {
    let fd = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    match FileType::from_raw_mode(rustix::fs::fstat(&fd).ok()?.st_mode) {
        FileType::Symlink => None,
        FileType::Directory => Some((fd, PathKind::Folder)),
        _ => Some((fd, PathKind::File)),
    }
}
