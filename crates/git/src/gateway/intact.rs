//! Looking at files that somebody else could have put there.
//!
//! A fixer may change them at any moment, also after they were looked at. What is refused here is what git could be led
//! astray by without any race; what is taken from the gateway is proven elsewhere.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::Error;

/// Of the log of a branch: tens of thousands of pushes.
const LOG_LIMIT: u64 = 8 * 1024 * 1024;
/// What would let git read another repository in place of this one.
const ASTRAY: [&str; 3] = ["commondir", "objects/info/alternates", "objects/info/http-alternates"];
/// Below these, everything is looked at.
const DEEP: [&str; 3] = ["objects", "refs", "logs"];

/// Refuses a gateway that leads elsewhere.
pub(super) fn check(gateway: &Path) -> Result<(), Error> {
    be_folder(gateway)?;
    for name in ["objects", "refs"] {
        be_folder(&gateway.join(name))?;
    }
    for name in ASTRAY {
        let path = gateway.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(Error::TamperedWith { path, what: "leads to another repository" });
        }
    }
    let mut folders = vec![gateway.to_owned()];
    folders.extend(DEEP.map(|name| gateway.join(name)));
    while let Some(folder) = folders.pop() {
        let is_deep = DEEP.iter().any(|name| folder.starts_with(gateway.join(name)));
        for (path, kind) in entries(&folder)? {
            if kind.is_symlink() {
                return Err(Error::TamperedWith { path, what: "is a symbolic link" });
            }
            if !kind.is_file() && !kind.is_dir() {
                return Err(Error::TamperedWith { path, what: "is neither a file nor a folder" });
            }
            if kind.is_dir() && is_deep {
                folders.push(path);
            }
        }
    }
    Ok(())
}

fn be_folder(path: &Path) -> Result<(), Error> {
    let what = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(metadata) if metadata.is_symlink() => "is a symbolic link",
        Ok(_) => "is no folder",
        Err(_) => "is gone",
    };
    Err(Error::TamperedWith { path: path.to_owned(), what })
}

/// What is in a folder; nothing, if it is gone.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, fs::FileType)>, Error> {
    let list = || fs::read_dir(folder)?.map(|entry| entry.and_then(|it| Ok((it.path(), it.file_type()?)))).collect();
    match list() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unlooked_at(folder, "looking into", error)),
        Ok(entries) => Ok(entries),
    }
}

/// Why something could not be looked at: what its owner has done to it, or what the machine lacks.
fn unlooked_at(path: &Path, doing: &str, error: std::io::Error) -> Error {
    let what = match error.kind() {
        ErrorKind::PermissionDenied => "may not be read",
        ErrorKind::InvalidFilename => "has too long a path",
        ErrorKind::NotADirectory => "is no folder",
        _ => return crate::Error::io(format!("{doing} {}", path.display()))(error).into(),
    };
    Error::TamperedWith { path: path.to_owned(), what }
}

/// Reads a file below `root` without following a link and without waiting for a pipe. One that does not exist is empty.
pub(super) fn read(root: &Path, file: &Path) -> Result<Vec<u8>, Error> {
    be_folder(root)?;
    let path = root.join(file);
    let above = path.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in above {
        if folder.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Error::TamperedWith { path: folder.to_owned(), what: "is a symbolic link" });
        }
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unlooked_at(&path, "opening", error)),
    };
    let doing = || format!("reading {}", path.display());
    if !file.metadata().map_err(crate::Error::io(doing()))?.is_file() {
        return Err(Error::TamperedWith { path, what: "is no file" });
    }
    let mut bytes = Vec::new();
    file.take(LOG_LIMIT).read_to_end(&mut bytes).map_err(crate::Error::io(doing()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn gateway() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["objects/pack", "objects/info", "refs/heads/deep", "logs"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("config"), "").unwrap();
        folder
    }

    #[test]
    fn a_gateway_that_leads_nowhere_else_is_intact() {
        check(gateway().path()).unwrap();
    }

    #[test]
    fn every_link_that_git_would_follow_is_found() {
        for name in
            ["config", "HEAD", "objects/pack/x.pack", "objects/ab", "refs/heads/deep/x", "refs/tags", "logs/refs"]
        {
            let gateway = gateway();
            let path = gateway.path().join(name);
            let _ = fs::remove_file(&path);
            symlink("/etc", &path).unwrap();
            let found = check(gateway.path());
            assert!(matches!(found, Err(Error::TamperedWith { path: ref at, .. }) if *at == path), "{name}: {found:?}");
        }
    }

    fn make_pipe(path: &Path) {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
    }

    #[test]
    fn a_pipe_that_git_would_wait_for_is_found() {
        for name in ["HEAD", "packed-refs", "refs/heads/feature"] {
            let gateway = gateway();
            make_pipe(&gateway.path().join(name));
            let found = check(gateway.path());
            assert!(matches!(found, Err(Error::TamperedWith { .. })), "{name}: {found:?}");
        }
    }

    #[test]
    fn what_names_another_repository_is_found() {
        for name in ASTRAY {
            let gateway = gateway();
            fs::write(gateway.path().join(name), "/elsewhere").unwrap();
            assert!(matches!(check(gateway.path()), Err(Error::TamperedWith { .. })), "{name}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_gateway_is_found() {
        let (gateway, folder) = (gateway(), tempfile::tempdir().unwrap());
        let link = folder.path().join("gateway.git");
        symlink(gateway.path(), &link).unwrap();
        assert!(matches!(check(&link), Err(Error::TamperedWith { what: "is a symbolic link", .. })));
        assert!(matches!(read(&link, "config".as_ref()), Err(Error::TamperedWith { .. })));
        fs::remove_file(&link).unwrap();
        assert!(matches!(check(&link), Err(Error::TamperedWith { what: "is gone", .. })));
    }

    #[test]
    fn neither_a_link_nor_a_folder_nor_a_pipe_is_read() {
        let gateway = gateway();
        let read = |name: &str| read(gateway.path(), name.as_ref());
        assert_eq!(read("logs/missing").unwrap(), b"");
        symlink("/etc/passwd", gateway.path().join("logs/link")).unwrap();
        assert!(read("logs/link").is_err());
        symlink("/etc", gateway.path().join("logs/folder")).unwrap();
        assert!(matches!(read("logs/folder/passwd"), Err(Error::TamperedWith { .. })));
        assert!(matches!(read("logs"), Err(Error::TamperedWith { .. })));
        make_pipe(&gateway.path().join("logs/pipe"));
        assert!(matches!(read("logs/pipe"), Err(Error::TamperedWith { what: "is no file", .. })));
    }
}
