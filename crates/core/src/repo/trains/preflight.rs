//! What must hold of a repository before a train may start.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which ways of merging a repository allows: its settings, by GitHub's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeMethods {
    pub allow_squash_merge: bool,
    pub allow_merge_commit: bool,
    pub allow_rebase_merge: bool,
}

/// A repository that allows other merges than squashes, or no squash. Printed, it is the comment that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeMethodRefusal(MergeMethods);

/// Whether squashing is the one way of merging: the cascade relies on each landed pull request being one commit upon what
/// the default branch was just before.
pub fn check_merge_method_preflight(methods: &MergeMethods) -> Result<(), MergeMethodRefusal> {
    match methods {
        MergeMethods { allow_squash_merge: true, allow_merge_commit: false, allow_rebase_merge: false } => Ok(()),
        other => Err(MergeMethodRefusal(*other)),
    }
}

impl MergeMethodRefusal {
    /// The first thing that is wrong, in a few words: for a log or a list.
    pub fn reason(&self) -> &'static str {
        match self.0 {
            MergeMethods { allow_squash_merge: false, .. } => "squash merge disabled (allow_squash_merge)",
            MergeMethods { allow_merge_commit: true, .. } => "merge commit allowed (allow_merge_commit)",
            _ => "rebase merge allowed (allow_rebase_merge)",
        }
    }
}

impl fmt::Display for MergeMethodRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MergeMethods { allow_squash_merge, allow_merge_commit, allow_rebase_merge } = self.0;
        write!(
            f,
            "Cannot start merge train: this repository must be configured for squash-only merges.\n\n\
             The merge train bot requires:\n  \
             ✓ \"Allow squash merging\" enabled\n  \
             ✗ \"Allow merge commits\" disabled\n  \
             ✗ \"Allow rebase merging\" disabled\n\n\
             Current settings:\n  \
             allow_squash_merge: {allow_squash_merge}\n  \
             allow_merge_commit: {allow_merge_commit}\n  \
             allow_rebase_merge: {allow_rebase_merge}\n\n\
             Please update repository settings to allow only squash merging."
        )
    }
}

impl std::error::Error for MergeMethodRefusal {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn squash_only_preflight_check() {
        for bits in 0..8_u8 {
            let methods = MergeMethods {
                allow_squash_merge: bits & 1 != 0,
                allow_merge_commit: bits & 2 != 0,
                allow_rebase_merge: bits & 4 != 0,
            };
            assert_eq!(check_merge_method_preflight(&methods).is_ok(), bits == 1, "{methods:?}");
        }
    }

    #[test]
    fn the_refusal_is_the_specs_comment() {
        let methods = MergeMethods { allow_squash_merge: true, allow_merge_commit: true, allow_rebase_merge: false };
        let text = check_merge_method_preflight(&methods).unwrap_err().to_string();
        let expected = r#"Cannot start merge train: this repository must be configured for squash-only merges.

The merge train bot requires:
  ✓ "Allow squash merging" enabled
  ✗ "Allow merge commits" disabled
  ✗ "Allow rebase merging" disabled

Current settings:
  allow_squash_merge: true
  allow_merge_commit: true
  allow_rebase_merge: false

Please update repository settings to allow only squash merging."#;
        assert_eq!(text, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn preflight_rejects_non_squash_only(squash: bool, merge: bool, rebase: bool) {
            let methods =
                MergeMethods { allow_squash_merge: squash, allow_merge_commit: merge, allow_rebase_merge: rebase };
            match check_merge_method_preflight(&methods) {
                Ok(()) => prop_assert!(squash && !merge && !rebase),
                Err(refusal) => {
                    prop_assert!(!squash || merge || rebase);
                    let named = match (squash, merge) {
                        (false, _) => "squash merge disabled",
                        (true, true) => "allow_merge_commit",
                        (true, false) => "allow_rebase_merge",
                    };
                    prop_assert!(refusal.reason().contains(named), "{}", refusal.reason());
                    for (setting, value) in [("squash_merge", squash), ("merge_commit", merge), ("rebase_merge", rebase)] {
                        let line = format!("allow_{setting}: {value}\n");
                        prop_assert!(refusal.to_string().contains(&line), "{refusal}");
                    }
                }
            }
        }
    }
}
