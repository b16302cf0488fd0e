//! What changed between two commits.

use std::collections::HashMap;

use super::GitRepo;
use super::command::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    /// Where a renamed or copied file was before.
    pub previous_path: Option<String>,
    pub status: FileStatus,
    pub additions: u64,
    pub deletions: u64,
    /// The blob after the change (before it, for a removed file).
    pub blob: String,
    /// The hunks, without git's headers; none for a binary file or a very large change.
    pub patch: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStatus {
    Added,
    Removed,
    Modified,
    Renamed,
    Copied,
    Changed,
}

impl FileStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
            Self::Changed => "changed",
        }
    }
}

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl GitRepo {
    /// The files that differ between two commits (or trees). Without `from`, everything in `to` is new.
    pub async fn changed_files(&self, from: Option<&str>, to: &str) -> Result<Vec<FileChange>, Error> {
        let from = from.unwrap_or(EMPTY_TREE);
        let raw = self.diff(["--raw", "-z", "--no-abbrev"], from, to);
        let counts = self.diff(["--numstat", "-z", "--no-abbrev"], from, to);
        let patch = self.diff(["--patch", "--no-color", "--no-abbrev"], from, to);
        let (raw, counts, patch) = tokio::try_join!(raw, counts, patch)?;
        let counts = parse_numstat(&counts);
        let mut patches = split_patch(&patch);
        let mut changes = parse_raw(&raw)?;
        for change in &mut changes {
            let (additions, deletions) = counts.get(&change.path).copied().unwrap_or_default();
            change.additions = additions;
            change.deletions = deletions;
            change.patch = patches.remove(&change.path);
        }
        Ok(changes)
    }

    /// (files, additions, deletions).
    pub async fn diff_totals(&self, from: &str, to: &str) -> Result<(u64, u64, u64), Error> {
        let counts = parse_numstat(&self.diff(["--numstat", "-z", "--no-abbrev"], from, to).await?);
        Ok(counts.values().fold((0, 0, 0), |(files, plus, minus), (a, d)| (files + 1, plus + a, minus + d)))
    }

    /// The diff as `git diff` prints it.
    pub async fn diff_text(&self, from: &str, to: &str) -> Result<String, Error> {
        self.diff(["--patch", "--no-color", "--abbrev=7"], from, to).await
    }

    /// A mail-formatted series, as `.patch` links serve it.
    pub async fn patch_text(&self, from: &str, to: &str) -> Result<String, Error> {
        Ok(self.git(["format-patch", "--stdout", "--no-signature"]).arg(format!("{from}..{to}")).run().await?.text())
    }

    async fn diff(&self, options: [&str; 3], from: &str, to: &str) -> Result<String, Error> {
        let output = self
            .git(["diff-tree", "-r", "--find-renames", "--no-ext-diff", "--no-textconv"])
            .args(options)
            .args([from, to, "--"])
            .run()
            .await?;
        Ok(output.text())
    }
}

fn parse_raw(text: &str) -> Result<Vec<FileChange>, Error> {
    let mut fields = text.split('\0').filter(|field| !field.is_empty());
    let mut changes = Vec::new();
    while let Some(meta) = fields.next() {
        let unexpected = || Error::Unexpected { command: "diff-tree --raw", output: meta.to_owned() };
        let parts: Vec<&str> = meta.trim_start_matches(':').split(' ').collect();
        let [_, _, before, after, letter] = parts[..] else { return Err(unexpected()) };
        let first = fields.next().ok_or_else(unexpected)?.to_owned();
        let status = match letter.chars().next() {
            Some('A') => FileStatus::Added,
            Some('D') => FileStatus::Removed,
            Some('M') => FileStatus::Modified,
            Some('R') => FileStatus::Renamed,
            Some('C') => FileStatus::Copied,
            _ => FileStatus::Changed,
        };
        let (path, previous_path) = match status {
            FileStatus::Renamed | FileStatus::Copied => (fields.next().ok_or_else(unexpected)?.to_owned(), Some(first)),
            _ => (first, None),
        };
        let blob = if status == FileStatus::Removed { before } else { after }.to_owned();
        changes.push(FileChange { path, previous_path, status, additions: 0, deletions: 0, blob, patch: None });
    }
    Ok(changes)
}

/// By path after the change. A binary file counts `-`, which is 0 here.
fn parse_numstat(text: &str) -> HashMap<String, (u64, u64)> {
    let mut counts = HashMap::new();
    let mut fields = text.split('\0');
    while let Some(line) = fields.next() {
        let mut parts = line.splitn(3, '\t');
        let (Some(plus), Some(minus), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        // A rename leaves the path empty and gives old and new path as two fields of their own.
        let path = if path.is_empty() { fields.next().and(fields.next()).unwrap_or_default() } else { path };
        counts.insert(path.to_owned(), (plus.parse().unwrap_or(0), minus.parse().unwrap_or(0)));
    }
    counts
}

/// The hunks of each file, by path after the change.
fn split_patch(text: &str) -> HashMap<String, String> {
    let mut patches = HashMap::new();
    for part in text.split("diff --git ").skip(1) {
        let Some(start) = part.find("\n@@ ") else { continue };
        let (header, hunks) = part.split_at(start);
        let path = header
            .lines()
            .find_map(|line| line.strip_prefix("+++ b/"))
            .or_else(|| header.lines().find_map(|line| line.strip_prefix("--- a/")));
        if let Some(path) = path {
            patches.insert(path.trim_end_matches('\t').to_owned(), hunks.trim_matches('\n').to_owned());
        }
    }
    patches
}
