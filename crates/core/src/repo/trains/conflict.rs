//! Where two sides of a merge cannot both be right: which files, and how.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::markdown::code_span;

/// The most files that a comment names one by one.
const NAMED_FILES: usize = 20;

/// A merge that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// By path; never empty.
    pub files: Vec<ConflictedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictedFile {
    /// From the root of the repository. Bytes that are no UTF-8 are replaced.
    pub path: String,
    pub kind: ConflictKind,
    /// What git says about it.
    pub message: String,
    /// The versions of the file that git could not unite; empty where the conflict is about its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<Version>,
}

/// One of the versions of a file in conflict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    pub side: Side,
    /// As git writes it: `100644`, `120000`.
    pub mode: String,
    pub object: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Base,
    Ours,
    Theirs,
}

/// What the two sides did to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both changed the same lines.
    Content,
    /// Both changed a file that cannot be merged line by line.
    Binary,
    /// Both added it, with different content.
    AddAdd,
    ModifyDelete,
    RenameDelete,
    /// Both renamed it, or renamed two files to one name.
    RenameRename,
    /// A directory was renamed, and where the file belongs is unclear.
    DirectoryRename,
    /// One side has a file where the other has a directory.
    FileDirectory,
    /// Symbolic links, submodules or files of different types.
    Types,
    Submodule,
    Other,
}

impl ConflictKind {
    fn what_happened(self) -> &'static str {
        match self {
            Self::Content => "both sides changed the same lines",
            Self::Binary => "both sides changed it, and it cannot be merged line by line",
            Self::AddAdd => "both sides added it, with different content",
            Self::ModifyDelete => "one side changed it, the other deleted it",
            Self::RenameDelete => "one side renamed it, the other deleted it",
            Self::RenameRename => "the sides renamed it differently",
            Self::DirectoryRename => "its directory was renamed, and where it belongs is unclear",
            Self::FileDirectory => "one side has a file there, the other a directory",
            Self::Types => "the sides disagree on whether it is a file, a link or a submodule",
            Self::Submodule => "the sides point the submodule to different commits",
            Self::Other => "it could not be merged",
        }
    }
}

/// As a list in Markdown, fit for a comment.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, file) in self.files.iter().take(NAMED_FILES).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}- {}: {}", code_span(&file.path), file.kind.what_happened())?;
        }
        match self.files.len().saturating_sub(NAMED_FILES) {
            0 => Ok(()),
            1 => f.write_str("\n- and 1 more file"),
            more => write!(f, "\n- and {more} more files"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, kind: ConflictKind) -> ConflictedFile {
        ConflictedFile { path: path.into(), kind, message: String::new(), versions: Vec::new() }
    }

    #[test]
    fn a_conflict_reads_as_a_list_for_a_comment() {
        let conflict = Conflict {
            files: vec![file("src/a.rs", ConflictKind::Content), file("docs/b.md", ConflictKind::ModifyDelete)],
        };
        assert_eq!(
            conflict.to_string(),
            "- `src/a.rs`: both sides changed the same lines\n\
             - `docs/b.md`: one side changed it, the other deleted it"
        );
    }

    #[test]
    fn of_many_files_the_first_are_named_and_the_rest_counted() {
        let files = (0..NAMED_FILES + 2).map(|n| file(&format!("{n}"), ConflictKind::Content)).collect();
        let text = Conflict { files }.to_string();
        assert_eq!(text.lines().count(), NAMED_FILES + 1);
        assert!(text.ends_with("- and 2 more files"), "{text}");
    }

    #[test]
    fn a_path_cannot_break_out_of_its_line() {
        let conflict = Conflict { files: vec![file("a`b\n- c", ConflictKind::Content)] };
        assert_eq!(conflict.to_string(), "- ``a`b\u{fffd}- c``: both sides changed the same lines");
    }
}
