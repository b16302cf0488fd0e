//! What a commit holds, file by file.

use std::collections::{BTreeMap, BTreeSet};

use git::Oid;

use super::{Change, World, process};
use crate::support::history::Mode;

/// Every file of a tree, by its path: its mode, and its bytes (of a submodule, the commit's name).
pub type Contents = BTreeMap<String, (String, Vec<u8>)>;

impl World {
    /// What the commit or tree holds, in two processes.
    pub fn tree_contents(&self, of: &Oid) -> Contents {
        let listed = process::git(&self.origin(), &["ls-tree", "-r", "-z", of.as_str()]);
        let listed = String::from_utf8(listed).expect("the tests' paths are UTF-8");
        let entries: Vec<(&str, &str, &str)> = listed.split_terminator('\0').map(entry).collect();
        let blobs: BTreeSet<&str> =
            entries.iter().filter(|(mode, ..)| *mode != "160000").map(|(_, blob, _)| *blob).collect();
        let request: String = blobs.iter().map(|blob| format!("{blob}\n")).collect();
        let answer = process::git_reading(&self.origin(), &["cat-file", "--batch"], request.as_bytes());
        let contents = split_batch(&answer);
        let read = |(mode, object, path): (&str, &str, &str)| {
            let bytes = contents.get(object).cloned().unwrap_or_else(|| object.as_bytes().to_vec());
            (path.to_owned(), (mode.to_owned(), bytes))
        };
        entries.into_iter().map(read).collect()
    }

    /// The bytes of one file, by its object.
    pub fn blob(&self, object: &str) -> Vec<u8> {
        process::git(&self.origin(), &["cat-file", "blob", object])
    }
}

/// Does to a model of a tree what the changes do to a tree, as far as files written and deleted go.
pub fn apply(contents: &mut Contents, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Write { path, bytes, mode } => {
                let mode = if *mode == Mode::Executable { "100755" } else { "100644" };
                contents.insert(path.clone(), (mode.to_owned(), bytes.clone()));
            }
            Change::Delete { path } => {
                contents.remove(path);
            }
            other => panic!("the model knows nothing of {other:?}"),
        }
    }
}

/// Of `mode type object\tpath`.
fn entry(line: &str) -> (&str, &str, &str) {
    let (info, path) = line.split_once('\t').expect("a path");
    let mut info = info.split(' ');
    let (mode, _kind, object) = (info.next(), info.next(), info.next());
    (mode.expect("a mode"), object.expect("an object"), path)
}

/// Of `object blob size\n<bytes>\n`, again and again.
fn split_batch(mut rest: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        let mut words = header.split(' ');
        let (object, size) = (words.next().expect("an object"), words.nth(1).expect("a size"));
        let size: usize = size.parse().expect("a number");
        contents.insert(object.to_owned(), rest[end + 1..end + 1 + size].to_vec());
        rest = &rest[end + 2 + size..];
    }
    contents
}
