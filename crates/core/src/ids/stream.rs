//! The names of event streams: one for each repository, and one for each run of a workflow.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{InvalidName, RepoId, RunId};

/// A stream of numbered events, with one owner at a time: `repo:{owner}/{name}` or `run:{id}`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StreamId {
    Repo(RepoId),
    Run(RunId),
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repo(repo) => write!(f, "repo:{}", repo.key()),
            Self::Run(run) => write!(f, "run:{run}"),
        }
    }
}

impl FromStr for StreamId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match text.split_once(':') {
            Some(("repo", repo)) => Ok(Self::Repo(repo.parse()?)),
            Some(("run", run)) => Ok(Self::Run(run.parse()?)),
            _ => Err(InvalidName::new("a stream: repo:OWNER/NAME or run:ID", text)),
        }
    }
}

impl TryFrom<String> for StreamId {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<StreamId> for String {
    fn from(stream: StreamId) -> String {
        stream.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_reads_back_what_it_prints() {
        for text in ["repo:acme/widgets", "run:01JABC"] {
            assert_eq!(text.parse::<StreamId>().unwrap().to_string(), text);
        }
        assert_eq!("repo:Acme/Widgets".parse::<StreamId>().unwrap().to_string(), "repo:acme/widgets");
        for text in ["", "repo:", "repo:a", "train:1", "run:a b"] {
            assert!(text.parse::<StreamId>().is_err(), "{text:?}");
        }
    }
}
