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

/// How the lines of one file moved between two commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMoves {
    /// Of each hunk: first old line, how many old lines went, how many new ones came.
    hunks: Vec<(u64, u64, u64)>,
    deleted: bool,
}

impl LineMoves {
    fn parse(diff: &str) -> Self {
        let count = |text: &str| -> Option<(u64, u64)> {
            let (start, length) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, length.parse().ok()?))
        };
        let hunks = diff.lines().filter_map(|line| {
            let mut fields = line.strip_prefix("@@ -")?.split(' ');
            let (old, new) = (count(fields.next()?)?, count(fields.next()?.strip_prefix('+')?)?);
            Some((old.0, old.1, new.1))
        });
        Self { hunks: hunks.collect(), deleted: diff.lines().any(|line| line.starts_with("deleted file mode ")) }
    }

    /// Where a line is now; none when it was changed or went.
    pub fn follow(&self, line: u64) -> Option<u64> {
        let mut shift = 0_i64;
        for (start, gone, come) in &self.hunks {
            // A hunk that only adds stands after its first line.
            let first = if *gone == 0 { start + 1 } else { *start };
            if line < first {
                break;
            }
            if line < first + gone {
                return None;
            }
            shift += *come as i64 - *gone as i64;
        }
        (!self.deleted).then(|| line.saturating_add_signed(shift))
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

    /// The same for a commit and its parent; without one, everything in it is new.
    pub async fn diff_text_from(&self, parent: Option<&str>, to: &str) -> Result<String, Error> {
        self.diff_text(parent.unwrap_or(EMPTY_TREE), to).await
    }

    /// One commit as a mail.
    pub async fn patch_of(&self, sha: &str) -> Result<String, Error> {
        Ok(self.git(["format-patch", "--stdout", "--no-signature", "--root", "-1", sha]).run().await?.text())
    }

    /// A mail-formatted series, as `.patch` links serve it.
    pub async fn patch_text(&self, from: &str, to: &str) -> Result<String, Error> {
        Ok(self.git(["format-patch", "--stdout", "--no-signature"]).arg(format!("{from}..{to}")).run().await?.text())
    }

    /// The change without its place: the same for a change that was only moved onto another commit.
    pub async fn diff_fingerprint(&self, from: &str, to: &str) -> Result<String, Error> {
        let text = self.diff(["--patch", "--no-color", "--full-index"], from, to).await?;
        let placeless = |line: &&str| !line.starts_with("index ") && !line.starts_with("@@ ");
        Ok(text.lines().filter(placeless).collect::<Vec<_>>().join("\n"))
    }

    /// Where the lines of a file went between two commits.
    pub async fn line_moves(&self, from: &str, to: &str, path: &str) -> Result<LineMoves, Error> {
        let output = self
            .git(["diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--patch", "--unified=0", "--no-color"])
            .args([from, to, "--", path])
            .run()
            .await?;
        Ok(LineMoves::parse(&output.text()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_followed_through_a_change() {
        let moves = LineMoves::parse("@@ -2,0 +3,2 @@\n+a\n+b\n@@ -5 +8 @@\n-x\n+y\n@@ -9,2 +11,0 @@\n-p\n-q\n");
        let followed: Vec<_> = [1, 2, 3, 4, 5, 6, 8, 9, 10, 11].into_iter().map(|line| moves.follow(line)).collect();
        let expected = [Some(1), Some(2), Some(5), Some(6), None, Some(8), Some(10), None, None, Some(11)];
        assert_eq!(followed, expected);
    }

    #[test]
    fn no_line_of_a_deleted_file_is_left() {
        let moves = LineMoves::parse("deleted file mode 100644\n@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_eq!(moves.follow(1), None);
    }
}
