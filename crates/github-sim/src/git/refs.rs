//! Refs: reading all of them, changing several at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::GitRepo;
use super::command::Error;

/// A ref that moved, appeared (`old` none) or went (`new` none).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefChange {
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl RefChange {
    pub fn branch(&self) -> Option<&str> {
        self.name.strip_prefix("refs/heads/")
    }

    pub fn tag(&self) -> Option<&str> {
        self.name.strip_prefix("refs/tags/")
    }
}

/// A ref as git lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRef {
    pub name: String,
    pub sha: String,
    /// `commit`, `tag` …
    pub kind: String,
}

const ZERO: &str = "0000000000000000000000000000000000000000";

impl GitRepo {
    /// Branches and tags. A tag's value is what the ref holds (an annotated tag's own object).
    pub async fn refs(&self) -> Result<BTreeMap<String, String>, Error> {
        let output =
            self.git(["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"]).run().await?;
        Ok(output
            .text()
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, sha)| (name.to_owned(), sha.to_owned()))
            .collect())
    }

    /// Every ref whose full name begins with `prefix`, `refs/pull` among them, by name.
    pub async fn refs_beginning(&self, prefix: &str) -> Result<Vec<ListedRef>, Error> {
        let output = self.git(["for-each-ref", "--format=%(refname) %(objectname) %(objecttype)"]).run().await?.text();
        Ok(output
            .lines()
            .filter(|line| line.starts_with(prefix))
            .filter_map(|line| {
                let mut fields = line.split(' ').map(str::to_owned);
                Some(ListedRef { name: fields.next()?, sha: fields.next()?, kind: fields.next()? })
            })
            .collect())
    }

    /// The numbers of the pull requests whose head has `commit` in its history.
    pub async fn pull_heads_containing(&self, commit: &str) -> Result<Vec<u64>, Error> {
        let output = self
            .git(["for-each-ref", "--format=%(refname)"])
            .arg(format!("--contains={commit}"))
            .arg("refs/pull/*/head")
            .run()
            .await?
            .text();
        Ok(output.lines().filter_map(|name| name.split('/').nth(2)?.parse().ok()).collect())
    }

    /// Branches that contain a commit, with the commit each points at; `most` of them at most.
    pub async fn branches_containing(&self, sha: &str, most: usize) -> Result<Vec<(String, String)>, Error> {
        let output = self
            .git(["for-each-ref", "--format=%(refname:lstrip=2) %(objectname)"])
            .args([format!("--contains={sha}"), format!("--count={most}"), "refs/heads".to_owned()])
            .run()
            .await?;
        let text = output.text();
        let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
        Ok(lines.map(|(name, sha)| (name.to_owned(), sha.to_owned())).collect())
    }

    /// All changes or none: each ref must still hold `old`.
    pub async fn update_refs(&self, changes: &[RefChange]) -> Result<(), Error> {
        let mut script = String::from("start\n");
        for change in changes {
            let old = change.old.as_deref().unwrap_or(ZERO);
            match &change.new {
                Some(new) => script.push_str(&format!("update {} {new} {old}\n", change.name)),
                None => script.push_str(&format!("delete {} {old}\n", change.name)),
            }
        }
        script.push_str("commit\n");
        self.git(["update-ref", "--stdin"]).stdin(script).run().await?;
        Ok(())
    }

    /// Points a derived ref (`refs/pull/…`) at a commit, wherever it pointed before.
    pub async fn set_ref(&self, name: &str, sha: &str) -> Result<(), Error> {
        self.git(["update-ref", name, sha]).run().await?;
        Ok(())
    }
}

/// git's own rules for a ref name, plus: nothing that could be taken for an option.
pub fn is_valid_branch_name(name: &str) -> bool {
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('-')
        && !name.ends_with('.')
        && name != "@"
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(|c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c))
        && !name.split('/').any(bad_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_follow_git_s_rules() {
        for good in ["main", "feature/x", "a-b_c.d", "ünïcode", "x@y"] {
            assert!(is_valid_branch_name(good), "{good}");
        }
        for bad in [
            "", "-x", "a b", "a..b", "a/", "/a", "a//b", "x.lock", ".x", "x.", "@", "a~1", "a^", "a:b", "a@{1}", "a\\b",
        ] {
            assert!(!is_valid_branch_name(bad), "{bad}");
        }
    }
}
