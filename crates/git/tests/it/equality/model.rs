//! A tree in memory: what chance may still rename, edit or delete.

use std::collections::BTreeMap;

use git::Oid;

use crate::support::Change;
use crate::support::history::Mode;

#[derive(Clone, Debug)]
pub enum Node {
    File { bytes: Vec<u8>, mode: Mode },
    Link,
    Submodule,
}

/// Every path of a tree.
#[derive(Clone, Debug, Default)]
pub struct Model(BTreeMap<String, Node>);

impl Model {
    pub fn of(changes: &[Change]) -> Self {
        let mut model = Self::default();
        for change in changes {
            model.apply(change);
        }
        model
    }

    /// Does what `git fast-import` does.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { path, bytes, mode } => self.put(path, Node::File { bytes: bytes.clone(), mode: *mode }),
            Change::Symlink { path, .. } => self.put(path, Node::Link),
            Change::Submodule { path, .. } => self.put(path, Node::Submodule),
            Change::Delete { path } => self.clear(path),
            Change::Rename { from, to } => {
                let moved: Vec<(String, Node)> = self
                    .0
                    .iter()
                    .filter(|(path, _)| is_at_or_in(path, from))
                    .map(|(path, node)| (format!("{to}{}", &path[from.len()..]), node.clone()))
                    .collect();
                self.clear(from);
                self.clear(to);
                for (path, node) in moved {
                    self.put(&path, node);
                }
            }
        }
    }

    /// The file, link or submodule that a number picks.
    pub fn any(&self, number: usize) -> Option<(&String, &Node)> {
        self.0.iter().nth(number.checked_rem(self.0.len())?)
    }

    /// The text file that a number picks.
    pub fn any_text(&self, number: usize) -> Option<(&String, &Vec<u8>, Mode)> {
        let texts: Vec<_> = self.0.iter().filter_map(|(path, node)| text(path, node)).collect();
        texts.get(number.checked_rem(texts.len())?).copied()
    }

    /// The top folder that a number picks.
    pub fn any_folder(&self, number: usize) -> Option<String> {
        let mut folders: Vec<&str> = self.0.keys().filter_map(|path| Some(path.split_once('/')?.0)).collect();
        folders.dedup();
        Some(folders[number.checked_rem(folders.len())?].to_owned())
    }

    fn put(&mut self, path: &str, node: Node) {
        self.clear(path);
        // What was a file and is to be a folder goes.
        for (end, _) in path.match_indices('/') {
            self.0.remove(&path[..end]);
        }
        self.0.insert(path.to_owned(), node);
    }

    fn clear(&mut self, path: &str) {
        self.0.retain(|other, _| !is_at_or_in(other, path));
    }
}

fn is_at_or_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn text<'a>(path: &'a String, node: &'a Node) -> Option<(&'a String, &'a Vec<u8>, Mode)> {
    match node {
        Node::File { bytes, mode } if path.ends_with(".txt") => Some((path, bytes, *mode)),
        _ => None,
    }
}

/// A commit of another repository, which nobody here has.
pub fn submodule_commit(number: u8) -> Oid {
    Oid::parse(format!("{:040x}", u64::from(number) + 0xabc0)).expect("a commit's name")
}
