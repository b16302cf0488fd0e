//! Branches by chance. Those of different owners never touch the same file: not by rejection, by construction.

use proptest::collection::vec;
use proptest::prelude::*;

use super::contents::{Contents, apply};
use super::history::Change;

/// Each file belongs to one owner, told by its extension. All of them share the folders.
pub const OWNERS: usize = 8;
const FOLDERS: [&str; 4] = ["", "src/", "src/deep/", "lib/"];
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// So many of the names exist in the base.
const NAMES_IN_BASE: usize = 2;

/// One or more changes of files.
#[derive(Clone, Debug)]
pub struct GeneratedCommit {
    pub changes: Vec<Change>,
    pub message: String,
}

/// Commits one upon the other.
#[derive(Clone, Debug)]
pub struct GeneratedBranch {
    pub commits: Vec<GeneratedCommit>,
}

impl GeneratedBranch {
    /// Does to a model of a tree what the branch does to a tree.
    pub fn apply(&self, contents: &mut Contents) {
        for commit in &self.commits {
            apply(contents, &commit.changes);
        }
    }
}

/// Commits as the world writes them.
pub fn chain(commits: &[GeneratedCommit]) -> Vec<(Vec<Change>, String)> {
    commits.iter().map(|commit| (commit.changes.clone(), commit.message.clone())).collect()
}

/// Files of every owner that are there before any branch.
pub fn base_files() -> Vec<Change> {
    let mut files = Vec::new();
    for owner in 0..OWNERS {
        for folder in FOLDERS {
            for name in &NAMES[..NAMES_IN_BASE] {
                let path = path(folder, name, owner);
                let bytes: String = (1..=12).map(|line| format!("{path}, line {line}\n")).collect();
                files.push(Change::write(path, bytes));
            }
        }
    }
    files
}

/// A branch of one to five commits on files of this owner alone.
pub fn branch(owner: usize) -> impl Strategy<Value = GeneratedBranch> {
    branch_of(owner, 1)
}

/// The same, of at least so many commits.
pub fn branch_of(owner: usize, at_least: usize) -> impl Strategy<Value = GeneratedBranch> {
    vec(commit(owner), at_least..=5).prop_map(|commits| GeneratedBranch { commits })
}

/// A commit on files of this owner alone.
pub fn commit(owner: usize) -> impl Strategy<Value = GeneratedCommit> {
    (vec(change(owner), 1..=5), message()).prop_map(|(changes, message)| GeneratedCommit { changes, message })
}

fn change(owner: usize) -> impl Strategy<Value = Change> {
    let path = (prop::sample::select(&FOLDERS[..]), prop::sample::select(&NAMES[..]))
        .prop_map(move |(folder, name)| path(folder, name, owner));
    let what = prop_oneof![6 => bytes().prop_map(Some), 1 => Just(None)];
    (path, what).prop_map(|(path, bytes)| match bytes {
        Some(bytes) => Change::write(path, bytes),
        None => Change::delete(path),
    })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => vec(any::<u8>(), 0..120),
        4 => vec("[a-z]{0,20}\n", 0..12).prop_map(|lines| lines.concat().into_bytes()),
        2 => (any::<u8>(), 0..2048_usize).prop_map(|(seed, length)| noise(seed, length)),
        1 => (any::<u8>(), 2048..10_240_usize).prop_map(|(seed, length)| noise(seed, length)),
    ]
}

/// Many bytes from few: what is long need not be drawn byte by byte.
fn noise(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|place| (place.wrapping_mul(place.wrapping_add(usize::from(seed))) >> 3) as u8).collect()
}

fn message() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-zA-Z0-9 #:._-]{0,30}", 1 => "[a-z ]{1,20}\n\n[a-zäöü* \n]{0,40}", 1 => Just("wip".to_owned())]
}

fn path(folder: &str, name: &str, owner: usize) -> String {
    format!("{folder}{name}.{owner}")
}
