//! Files that nobody but their owner may read. What is written is there in full, or not at all.

use std::io::{self, Write};
use std::path::Path;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use tempfile::NamedTempFile;

/// What to do about a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFile {
    /// It is [`io::ErrorKind::AlreadyExists`].
    Keep,
    Replace,
}

pub fn write(path: &Path, text: &str, existing: ExistingFile) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Where there is a link, the file that it leads to is replaced, and not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(folder);
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match existing {
        ExistingFile::Keep => file.persist_noclobber(&target),
        ExistingFile::Replace => file.persist(&target),
    }
    .map_err(|error| error.error)?;
    Ok(())
}

/// What nobody can guess, in hexadecimal.
pub fn random_text() -> String {
    let mut bytes = [0_u8; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    hex::encode(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_owner_reads_it_and_nothing_is_overwritten_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        write(&path, "one", ExistingFile::Keep).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let refused = write(&path, "two", ExistingFile::Keep).unwrap_err();
        assert_eq!(
            (refused.kind(), std::fs::read_to_string(&path).unwrap().as_str()),
            (io::ErrorKind::AlreadyExists, "one")
        );
        write(&path, "two", ExistingFile::Replace).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
        assert_ne!(random_text(), random_text());
    }
}
