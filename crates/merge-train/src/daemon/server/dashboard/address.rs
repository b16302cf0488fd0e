//! Where each page is.

use std::fmt;

use merge_train_core::ids::{PrNumber, RepoId};
use serde::Deserialize;
use store::RunStatus;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAddress {
    Board { repo: Option<RepoId> },
    Train { repo: RepoId, root: PrNumber },
    Runs(RunListFilter),
    Run { id: String },
    Workspace { repo: RepoId, pr: PrNumber },
    Insights,
    System,
}

/// Which runs are to be listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RunListFilter {
    #[serde(deserialize_with = "said")]
    pub status: Option<String>,
    #[serde(rename = "type", deserialize_with = "said")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "said")]
    pub repo: Option<String>,
    #[serde(deserialize_with = "said")]
    pub cursor: Option<String>,
}

impl RunListFilter {
    pub fn status(&self) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| self.status.as_deref() == Some(&*status.to_string()))
    }
}

/// A form sends what was left empty, too.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BoardFilter {
    #[serde(deserialize_with = "said")]
    repo: Option<String>,
}

impl PageAddress {
    /// For the router; `read` takes them apart.
    pub const PATHS: [&'static str; 7] = [
        "/",
        "/repos/{owner}/{repo}/trains/{root}",
        "/runs",
        "/runs/{id}",
        "/repos/{owner}/{repo}/workspaces/{pr}",
        "/insights",
        "/system",
    ];

    pub fn read(path: &str, query: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let pull = |owner: &str, name: &str, number: &str| {
            let number = number.parse().ok().filter(|number| *number > 0)?;
            Some((RepoId::new(owner, name).ok()?, PrNumber::new(number)))
        };
        Some(match parts.as_slice() {
            [""] => {
                let BoardFilter { repo } = serde_urlencoded::from_str(query).ok()?;
                Self::Board { repo: repo.map(|repo| repo.parse()).transpose().ok()? }
            }
            ["repos", owner, name, "trains", root] => {
                pull(owner, name, root).map(|(repo, root)| Self::Train { repo, root })?
            }
            ["repos", owner, name, "workspaces", pr] => {
                pull(owner, name, pr).map(|(repo, pr)| Self::Workspace { repo, pr })?
            }
            ["runs"] => Self::Runs(serde_urlencoded::from_str(query).ok()?),
            ["runs", id] => Self::Run { id: (*id).to_owned() },
            ["insights"] => Self::Insights,
            ["system"] => Self::System,
            _ => return None,
        })
    }
}

impl fmt::Display for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |path: &str, pairs: &[(&str, Option<&str>)]| {
            let said: Vec<_> = pairs.iter().filter_map(|(name, value)| Some((name, (*value)?))).collect();
            let query = serde_urlencoded::to_string(said).unwrap_or_default();
            if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
        };
        match self {
            Self::Board { repo } => {
                f.write_str(&with("/", &[("repo", repo.as_ref().map(ToString::to_string).as_deref())]))
            }
            Self::Train { repo, root } => write!(f, "/repos/{repo}/trains/{root}"),
            Self::Runs(RunListFilter { status, kind, repo, cursor }) => {
                let pairs = [("status", status), ("type", kind), ("repo", repo), ("cursor", cursor)];
                f.write_str(&with("/runs", &pairs.map(|(name, value)| (name, value.as_deref()))))
            }
            Self::Run { id } => write!(f, "/runs/{id}"),
            Self::Workspace { repo, pr } => write!(f, "/repos/{repo}/workspaces/{pr}"),
            Self::Insights => f.write_str("/insights"),
            Self::System => f.write_str("/system"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_found_where_it_says_it_is() {
        for text in [
            "/",
            "/?repo=acme%2Fwidgets",
            "/repos/acme/widgets/trains/7",
            "/repos/acme/widgets/workspaces/7",
            "/runs",
            "/runs?status=running&type=train&repo=acme%2Fwidgets&cursor=1_a",
            "/runs/run-1",
            "/insights",
            "/system",
        ] {
            let (path, query) = text.split_once('?').unwrap_or((text, ""));
            assert_eq!(PageAddress::read(path, query).map(|it| it.to_string()).as_deref(), Some(text));
        }
        for nowhere in ["/runs/", "/repos/acme/widgets/trains/0", "/repos/a b/c/trains/1", "/nowhere", "/runs/a/b"] {
            let found = PageAddress::read(nowhere, "");
            assert!(
                found.is_none() || matches!(&found, Some(PageAddress::Run { id }) if id.is_empty()),
                "{nowhere}: {found:?}"
            );
        }
    }
}
