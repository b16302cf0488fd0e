//! Histories as data, written by one `git fast-import`.

use git::Oid;

use super::{World, oid, process};

/// What a commit does to one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Write {
        path: String,
        bytes: Vec<u8>,
        mode: Mode,
    },
    Delete {
        path: String,
    },
    /// A file or a whole folder.
    Rename {
        from: String,
        to: String,
    },
    Symlink {
        path: String,
        target: String,
    },
    Submodule {
        path: String,
        commit: Oid,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Plain,
    Executable,
}

impl Change {
    pub fn write(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::Write { path: path.into(), bytes: bytes.into(), mode: Mode::Plain }
    }

    pub fn delete(path: impl Into<String>) -> Self {
        Self::Delete { path: path.into() }
    }

    pub fn rename(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::Rename { from: from.into(), to: to.into() }
    }
}

/// A commit that is to be.
#[derive(Clone, Debug)]
pub struct Draft {
    pub parents: Vec<Parent>,
    /// What it does to the tree of its first parent.
    pub changes: Vec<Change>,
    pub message: String,
}

#[derive(Clone, Debug)]
pub enum Parent {
    /// The draft at this place of the same import.
    Draft(usize),
    Commit(Oid),
}

impl World {
    /// Writes commits, in one process.
    pub fn import(&self, drafts: &[Draft]) -> Vec<Oid> {
        let mut stream = Vec::new();
        for (index, draft) in drafts.iter().enumerate() {
            self.describe(&mut stream, index, draft);
        }
        for index in 0..drafts.len() {
            line(&mut stream, &format!("get-mark :{}", index + 1));
        }
        let names = process::git_reading(&self.origin(), &["fast-import", "--quiet", "--force"], &stream);
        names.split(|byte| *byte == b'\n').filter(|name| !name.is_empty()).map(oid).collect()
    }

    /// Writes one commit.
    pub fn commit(&self, parents: &[&Oid], changes: &[Change], message: &str) -> Oid {
        let parents = parents.iter().map(|parent| Parent::Commit((*parent).clone())).collect();
        let draft = Draft { parents, changes: changes.to_vec(), message: message.to_owned() };
        self.import(&[draft]).remove(0)
    }

    /// Writes commits one upon the other, and returns all of them.
    pub fn chain(&self, base: &Oid, commits: &[(Vec<Change>, String)]) -> Vec<Oid> {
        let drafts: Vec<Draft> = commits
            .iter()
            .enumerate()
            .map(|(index, (changes, message))| Draft {
                parents: vec![if index == 0 { Parent::Commit(base.clone()) } else { Parent::Draft(index - 1) }],
                changes: changes.clone(),
                message: message.clone(),
            })
            .collect();
        self.import(&drafts)
    }

    fn describe(&self, stream: &mut Vec<u8>, index: usize, draft: &Draft) {
        let time = self.tick();
        // The one ref that every import moves: nothing depends on it.
        line(stream, "reset refs/world/import");
        line(stream, "");
        line(stream, "commit refs/world/import");
        line(stream, &format!("mark :{}", index + 1));
        line(stream, &format!("author author <author@example.com> {time} +0000"));
        line(stream, &format!("committer author <author@example.com> {time} +0000"));
        data(stream, draft.message.as_bytes());
        for (place, parent) in draft.parents.iter().enumerate() {
            let verb = if place == 0 { "from" } else { "merge" };
            match parent {
                Parent::Draft(earlier) => line(stream, &format!("{verb} :{}", earlier + 1)),
                Parent::Commit(commit) => line(stream, &format!("{verb} {commit}")),
            }
        }
        for change in &draft.changes {
            describe_change(stream, change);
        }
        line(stream, "");
    }
}

fn describe_change(stream: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { path, bytes, mode } => {
            let mode = if *mode == Mode::Executable { "100755" } else { "100644" };
            line(stream, &format!("M {mode} inline {}", quoted(path)));
            data(stream, bytes);
        }
        Change::Delete { path } => line(stream, &format!("D {}", quoted(path))),
        Change::Rename { from, to } => line(stream, &format!("R {} {}", quoted(from), quoted(to))),
        Change::Symlink { path, target } => {
            line(stream, &format!("M 120000 inline {}", quoted(path)));
            data(stream, target.as_bytes());
        }
        Change::Submodule { path, commit } => line(stream, &format!("M 160000 {commit} {}", quoted(path))),
    }
}

fn line(stream: &mut Vec<u8>, text: &str) {
    stream.extend_from_slice(text.as_bytes());
    stream.push(b'\n');
}

fn data(stream: &mut Vec<u8>, bytes: &[u8]) {
    line(stream, &format!("data {}", bytes.len()));
    stream.extend_from_slice(bytes);
    stream.push(b'\n');
}

fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
