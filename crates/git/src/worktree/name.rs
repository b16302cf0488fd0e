//! What worktrees are called, as a folder and as a part of ref names.

use std::fmt;
use std::path::Path;

use merge_train_core::ids::PrNumber;

const STACK: &str = "stack-";
const PLAN: &str = "plan-";
/// All refs that worktrees own are below it.
pub(super) const ALL_REFS: &str = "refs/merge-train";
/// The longest token of a plan.
const TOKEN_LIMIT: usize = 64;

/// Whose a worktree is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A stack's, by the pull request that it was started on, whichever is its root by now.
    Stack(PrNumber),
    /// That of somebody who only wants to know; letters, digits and dashes tell them apart.
    Plan(String),
}

impl Name {
    /// Of a folder's name; none if it is no worktree's.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(number) = text.strip_prefix(STACK) {
            let number: u64 = number.parse().ok()?;
            let name = Self::Stack(PrNumber::new(number));
            // `007` and `+7` are numbers to the parser, and no names that were ever given.
            return (name.to_string() == text).then_some(name);
        }
        let token = text.strip_prefix(PLAN)?;
        let valid = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (valid && (1..=TOKEN_LIMIT).contains(&token.len())).then(|| Self::Plan(token.to_owned()))
    }

    /// Below this are the refs that go with the worktree.
    pub fn namespace(&self) -> String {
        format!("{ALL_REFS}/{self}")
    }

    /// Whose ref it is.
    pub(super) fn of_ref(name: &str) -> Option<Self> {
        Self::parse(name.strip_prefix(ALL_REFS)?.strip_prefix('/')?.split('/').next()?)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(root) => write!(f, "{STACK}{root}"),
            Self::Plan(token) => write!(f, "{PLAN}{token}"),
        }
    }
}

/// The stack whose worktree a folder is, by the folder's name.
pub fn parse_stack_dir_name(path: &Path) -> Option<PrNumber> {
    match Name::parse(path.file_name()?.to_str()?)? {
        Name::Stack(root) => Some(root),
        Name::Plan(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stacks_folder_names_a_stack() {
        for (path, number) in [
            ("/repos/o-r/worktrees/stack-123", Some(123)),
            ("stack-1", Some(1)),
            ("stack-18446744073709551615", Some(u64::MAX)),
            ("stack-18446744073709551616", None),
            ("stack-", None),
            ("stack-12x", None),
            ("stack-012", None),
            ("stack-+12", None),
            ("stack--12", None),
            ("xstack-12", None),
            ("plan-12", None),
            ("/", None),
        ] {
            assert_eq!(parse_stack_dir_name(Path::new(path)), number.map(PrNumber::new), "{path}");
        }
    }

    #[test]
    fn names_are_read_back_from_folders_and_refs() {
        for name in [Name::Stack(PrNumber::new(7)), Name::Plan("4711-2".into())] {
            assert_eq!(Name::parse(&name.to_string()), Some(name.clone()));
            assert_eq!(Name::of_ref(&format!("{}/pull/9", name.namespace())), Some(name));
        }
        assert_eq!(Name::parse("plan-"), None);
        assert_eq!(Name::parse("plan-../x"), None);
        assert_eq!(Name::of_ref("refs/heads/stack-7"), None);
        assert_eq!(Name::of_ref("refs/merge-trainer/stack-7/x"), None);
    }
}
