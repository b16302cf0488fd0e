//! Which pull request is meant.

use std::str::FromStr;

use merge_train_core::ids::{PrNumber, RepoId};

/// A pull request of a repository, written `OWNER/REPO#N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestArgument {
    pub repo: RepoId,
    pub pull: PrNumber,
}

/// What stands there is no pull request.
#[derive(Debug, thiserror::Error)]
#[error("write OWNER/REPO#N, such as octocat/hello#12 (in quotes if your shell treats # as a comment)")]
pub struct InvalidPullRequestArgument;

impl FromStr for PullRequestArgument {
    type Err = InvalidPullRequestArgument;

    fn from_str(text: &str) -> Result<Self, InvalidPullRequestArgument> {
        let (repo, number) = text.split_once('#').ok_or(InvalidPullRequestArgument)?;
        let repo = repo.parse().map_err(|_| InvalidPullRequestArgument)?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|number| is_plain && *number > 0).ok_or(InvalidPullRequestArgument)?;
        Ok(Self { repo, pull: PrNumber::new(number) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_is_named_by_repository_and_number() {
        let target: PullRequestArgument = "octocat/hello-world#12".parse().unwrap();
        assert_eq!((target.repo.to_string(), target.pull), ("octocat/hello-world".to_owned(), PrNumber::new(12)));
    }

    #[test]
    fn anything_else_is_told_how_to_write_it() {
        for text in [
            "",
            "12",
            "#12",
            "octocat/hello",
            "octocat/hello#",
            "octocat/hello#0",
            "octocat/hello#+1",
            "octocat/hello#-1",
        ]
        .into_iter()
        .chain([
            "octocat#1",
            "a/b/c#1",
            "octocat/hello#1#2",
            "octocat/hello#99999999999999999999",
            "https://x/y#1",
        ]) {
            let told = text.parse::<PullRequestArgument>().expect_err(text).to_string();
            assert!(told.contains("octocat/hello#12"), "{told}");
        }
    }
}
