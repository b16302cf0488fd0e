//! `SHA256SUMS`: what each file of an export held when it was written. `sha256sum -c SHA256SUMS` reads it as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use merge_train_core::inbox::RequestHash;

use super::{Error, file_error, malformed};

pub const FILE: &str = "SHA256SUMS";

/// Between the sum and the name: as `sha256sum` writes it.
const GAP: &str = "  ";

/// A line for each file below a folder.
pub fn of(dir: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for (name, path) in files(dir)? {
        text += &format!("{}{GAP}{name}\n", sum(&path)?);
    }
    Ok(text)
}

/// Refuses an export whose files are not those that were written. One without the file is read as it is: somebody made
/// or changed it by hand.
pub fn verify(dir: &Path) -> Result<(), Error> {
    let list = dir.join(FILE);
    let text = match fs::read_to_string(&list) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(malformed(&list, None, "it is not text"));
        }
        Err(error) => return Err(file_error(&list)(error)),
    };
    let mut found = files(dir)?;
    found.remove(FILE);
    for (number, line) in text.lines().enumerate() {
        let Some((expected, name)) = line.split_once(GAP) else {
            return Err(malformed(&list, Some(number + 1), "it is not a sum and a name"));
        };
        let Some(path) = found.remove(name) else {
            return Err(malformed(&list, Some(number + 1), format!("{name} is missing")));
        };
        if sum(&path)? != expected {
            return Err(malformed(&path, None, format!("it is not what was exported; {HINT}")));
        }
    }
    match found.values().next() {
        Some(path) => Err(malformed(path, None, format!("it was not exported; {HINT}"))),
        None => Ok(()),
    }
}

const HINT: &str = "take another copy of the export, or, if you changed it yourself, remove SHA256SUMS";

fn sum(path: &Path) -> Result<String, Error> {
    let content = fs::read(path).map_err(file_error(path))?;
    Ok(RequestHash::of(&content).as_str().to_owned())
}

/// All files below a folder, by their names from there.
fn files(dir: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(file_error(&folder))? {
            let path = entry.map_err(file_error(&folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(name) = path.strip_prefix(dir).ok().and_then(Path::to_str) {
                found.insert(name.to_owned(), path);
            }
        }
    }
    Ok(found)
}
