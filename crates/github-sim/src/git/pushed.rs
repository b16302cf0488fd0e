//! What a push brought: its commits, and the files each of them touched.

use super::GitRepo;
use super::command::Error;
use super::objects::{COMMIT_FORMAT, CommitObject, parse_commit};

/// GitHub lists at most this many commits in a push.
pub const MOST_PUSHED_COMMITS: usize = 2048;

/// A commit, and what it did to files, compared with its first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFiles {
    pub commit: CommitObject,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub modified: Vec<String>,
}

impl GitRepo {
    /// The newest commits of `revisions` (SHAs, `^SHA` to leave out) with their files, oldest first.
    pub async fn pushed_commits(&self, revisions: &[&str], limit: usize) -> Result<Vec<CommitFiles>, Error> {
        let output = self
            .git(["log", "--date=raw", "--topo-order", "-z", "--name-status", "--no-renames"])
            .args(["--diff-merges=first-parent", COMMIT_FORMAT])
            .arg(format!("--max-count={limit}"))
            .arg("--stdin")
            .stdin(revisions.join("\n") + "\n")
            .run()
            .await?
            .text();
        let mut commits = parse(&output)?;
        commits.reverse();
        Ok(commits)
    }

    /// Whether an object is a commit or a tag of one.
    pub async fn leads_to_commit(&self, sha: &str) -> Result<bool, Error> {
        let output = self.git(["cat-file", "-e"]).arg(format!("{sha}^{{commit}}")).run_allowing(&[0, 1, 128]).await?;
        Ok(output.code == 0)
    }

    /// Every commit of `new` that `old` does not have.
    pub async fn new_commits(&self, old: Option<&str>, new: &str) -> Result<Vec<String>, Error> {
        let mut command = self.git(["rev-list", new]);
        if let Some(old) = old {
            command = command.arg(format!("^{old}"));
        }
        Ok(command.arg("--").run().await?.text().lines().map(str::to_owned).collect())
    }
}

/// A commit ends with 0x1e; what follows up to the next commit's SHA are status letters and paths, apart by NUL.
fn parse(text: &str) -> Result<Vec<CommitFiles>, Error> {
    let mut commits: Vec<CommitFiles> = Vec::new();
    let mut parts = text.split('\u{1e}');
    let mut head = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let commit = parse_commit(head.trim_start_matches(['\0', '\n']))?;
        let mut files = CommitFiles { commit, added: Vec::new(), removed: Vec::new(), modified: Vec::new() };
        let mut fields = part.split('\0').map(|field| field.trim_start_matches('\n')).peekable();
        head = String::new();
        while let Some(field) = fields.next() {
            match (field, field.len()) {
                ("", _) => {}
                ("A", _) => files.added.extend(fields.next().map(str::to_owned)),
                ("D", _) => files.removed.extend(fields.next().map(str::to_owned)),
                (_, 1) => files.modified.extend(fields.next().map(str::to_owned)),
                _ => head = field.to_owned(),
            }
        }
        commits.push(files);
    }
    Ok(commits)
}
