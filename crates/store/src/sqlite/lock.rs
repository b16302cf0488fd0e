//! The state directory belongs to one process at a time.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::stream::Owner;

const FILE: &str = "lock";

/// The directory is ours as long as this lives. The kernel ends it with the process, however that ends.
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn take(dir: &Path, owner: &Owner) -> Result<Self> {
        let failed = |source| Error::File { path: dir.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
        let path = dir.join(FILE);
        let failed = |source| Error::File { path: path.clone(), source };
        // Not emptied on opening: if it is somebody else's, it tells who that is.
        let mut open = OpenOptions::new();
        let mut file =
            open.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(Error::InUse { dir: dir.to_owned(), holder: holder(&mut file) }),
            Err(errno) => return Err(failed(errno.into())),
        }
        sign(&mut file, owner).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn sign(file: &mut File, owner: &Owner) -> std::io::Result<()> {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let (pid, now) = (std::process::id(), Timestamp::now().round(jiff::Unit::Second).unwrap_or_default());
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {pid} on {host}, started {now} ({owner})")?;
    file.sync_all()
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "a process that has not said its name".to_owned(),
    }
}
