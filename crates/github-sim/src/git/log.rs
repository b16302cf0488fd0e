//! History: what a branch's log shows, and who is in it.

use super::GitRepo;
use super::command::{Error, GitCommand};
use super::objects::{COMMIT_FORMAT, CommitObject, parse_commits};

/// Which commits of a history to show.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    pub path: Option<String>,
    /// Texts of which one must stand in `Name <address>`; empty means anyone.
    pub authors: Vec<String>,
    pub committers: Vec<String>,
    pub since: Option<String>,
    pub until: Option<String>,
}

impl LogFilter {
    fn apply(&self, mut command: GitCommand, start: &str) -> GitCommand {
        command = command.args(["--fixed-strings", "--regexp-ignore-case"]);
        for author in &self.authors {
            command = command.arg(format!("--author={author}"));
        }
        for committer in &self.committers {
            command = command.arg(format!("--committer={committer}"));
        }
        if let Some(since) = &self.since {
            command = command.arg(format!("--since={since}"));
        }
        if let Some(until) = &self.until {
            command = command.arg(format!("--until={until}"));
        }
        command = command.args([start, "--"]);
        match &self.path {
            Some(path) => command.arg(format!(":(literal,top){path}")),
            None => command,
        }
    }
}

impl GitRepo {
    /// The commits from `start` back, newest first.
    pub async fn log(
        &self,
        start: &str,
        filter: &LogFilter,
        limit: usize,
        skip: usize,
    ) -> Result<Vec<CommitObject>, Error> {
        let command = self.git(["log", "--date=raw", COMMIT_FORMAT]);
        let command = command.arg(format!("--max-count={limit}")).arg(format!("--skip={skip}"));
        parse_commits(&filter.apply(command, start).run().await?.text())
    }

    /// How many commits there are in all.
    pub async fn log_length(&self, start: &str, filter: &LogFilter) -> Result<usize, Error> {
        let text = filter.apply(self.git(["rev-list", "--count"]), start).run().await?.text();
        text.trim().parse().map_err(|_| Error::Unexpected { command: "rev-list --count", output: text })
    }

    /// (address, name, commits) of everyone who wrote something in `start`'s history, most first.
    pub async fn authors(&self, start: &str) -> Result<Vec<(String, String, u64)>, Error> {
        let text = self.git(["shortlog", "--summary", "--numbered", "--email", start, "--"]).run().await?.text();
        Ok(text
            .lines()
            .filter_map(|line| {
                let (count, who) = line.trim().split_once('\t')?;
                let (name, email) = who.rsplit_once(" <")?;
                Some((email.trim_end_matches('>').to_owned(), name.to_owned(), count.parse().ok()?))
            })
            .collect())
    }
}
