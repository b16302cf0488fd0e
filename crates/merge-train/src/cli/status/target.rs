//! What the status is asked of.

use std::str::FromStr;

use merge_train_core::ids::{PrNumber, RepoId};

use crate::cli::plan::target::PullRequestArgument;

/// A repository, or a pull request of it, written `OWNER/REPO[#N]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeArgument {
    pub repo: RepoId,
    pub pull: Option<PrNumber>,
}

/// What stands there is neither.
#[derive(Debug, thiserror::Error)]
#[error("write OWNER/REPO, or OWNER/REPO#N, such as octocat/hello#12 (in quotes if your shell treats # as a comment)")]
pub struct InvalidScopeArgument;

impl FromStr for ScopeArgument {
    type Err = InvalidScopeArgument;

    fn from_str(text: &str) -> Result<Self, InvalidScopeArgument> {
        if !text.contains('#') {
            return text.parse().map(|repo| Self { repo, pull: None }).map_err(|_| InvalidScopeArgument);
        }
        let PullRequestArgument { repo, pull } = text.parse().map_err(|_| InvalidScopeArgument)?;
        Ok(Self { repo, pull: Some(pull) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_or_a_pull_request_of_it_can_be_meant() {
        let scope = |text: &str| text.parse::<ScopeArgument>().map(|scope| (scope.repo.to_string(), scope.pull)).ok();
        assert_eq!(scope("octocat/hello"), Some(("octocat/hello".into(), None)));
        assert_eq!(scope("octocat/hello#12"), Some(("octocat/hello".into(), Some(PrNumber::new(12)))));
        for text in ["", "octocat", "octocat/hello#", "octocat/hello#0", "octocat/hello#x", "a/b/c", "#1"] {
            assert_eq!(scope(text), None, "{text}");
        }
    }
}
