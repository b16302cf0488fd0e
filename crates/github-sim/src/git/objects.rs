//! Commits, trees and blobs.

use super::GitRepo;
use super::command::{Error, Signature};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitObject {
    pub sha: String,
    pub tree: String,
    pub parents: Vec<String>,
    pub author: Signature,
    pub committer: Signature,
    pub message: String,
}

impl CommitObject {
    /// The first line.
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// What follows the title and the blank line.
    pub fn body(&self) -> &str {
        self.message.split_once('\n').map_or("", |(_, rest)| rest.trim_matches('\n'))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: String,
    /// `100644`, `100755`, `120000`, `040000`, `160000`.
    pub mode: String,
    /// `blob`, `tree` or `commit`.
    pub kind: String,
    pub sha: String,
    /// Of a blob.
    pub size: Option<u64>,
}

/// One commit, fields apart by 0x1f, commits apart by 0x1e. The message is last: it may hold anything but those.
pub(super) const COMMIT_FORMAT: &str =
    "--format=format:%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%cn%x1f%ce%x1f%cd%x1f%B%x1e";

impl GitRepo {
    /// The full SHA of a commit named by branch, tag, (short) SHA or `HEAD`; none when there is no such commit.
    pub async fn resolve(&self, revision: &str) -> Result<Option<String>, Error> {
        let odd = revision.starts_with('-') || revision.contains("..") || revision.contains("@{");
        if odd || revision == "@" || revision.contains([':', '^', '~', ' ', '\0']) {
            return Ok(None);
        }
        if is_sha(revision) && self.has_commit(revision).await? {
            return Ok(Some(revision.to_ascii_lowercase()));
        }
        for candidate in [format!("refs/heads/{revision}"), format!("refs/tags/{revision}"), revision.to_owned()] {
            let output = self
                .git(["rev-parse", "--quiet", "--verify", "--end-of-options"])
                .arg(format!("{candidate}^{{commit}}"))
                .run_allowing(&[0, 1, 128])
                .await?;
            if output.code == 0 {
                return Ok(Some(output.text().trim().to_owned()));
            }
        }
        Ok(None)
    }

    pub async fn has_commit(&self, sha: &str) -> Result<bool, Error> {
        Ok(self.object_kind(sha).await?.as_deref() == Some("commit"))
    }

    /// `commit`, `tree`, `blob` or `tag`; none when the object is not here.
    pub async fn object_kind(&self, sha: &str) -> Result<Option<String>, Error> {
        if !is_sha(sha) {
            return Ok(None);
        }
        let output = self.git(["cat-file", "-t", sha]).run_allowing(&[0, 128]).await?;
        Ok((output.code == 0).then(|| output.text().trim().to_owned()))
    }

    pub async fn commit(&self, sha: &str) -> Result<Option<CommitObject>, Error> {
        Ok(if is_sha(sha) { self.commits(&[sha], Some(1), 0).await.unwrap_or_default().pop() } else { None })
    }

    /// The commits that `git log` lists for `revisions` (SHAs, `^SHA` to leave out), newest first.
    pub async fn commits(&self, revisions: &[&str], limit: Option<u64>, skip: u64) -> Result<Vec<CommitObject>, Error> {
        let mut command = self.git(["log", "--date=raw", "--topo-order", COMMIT_FORMAT]);
        if let Some(limit) = limit {
            command = command.arg(format!("--max-count={limit}"));
        }
        if skip > 0 {
            command = command.arg(format!("--skip={skip}"));
        }
        let output = command.args(revisions).arg("--").run().await?.text();
        parse_commits(&output)
    }

    /// Every commit that can be reached from `revision`, newest first; with `path`, those that touch it.
    pub async fn history(&self, revision: &str, path: Option<&str>) -> Result<Vec<String>, Error> {
        let output = self.git(["rev-list", revision, "--"]).args(path).run().await?.text();
        Ok(output.lines().map(str::to_owned).collect())
    }

    /// The entries of a tree (or of a commit's tree), with sizes. `path` narrows it to one entry.
    pub async fn tree(&self, treeish: &str, path: Option<&str>, recursive: bool) -> Result<Vec<TreeEntry>, Error> {
        let mut command = self.git(["ls-tree", "-z", "--long", "--full-tree"]);
        if recursive {
            command = command.args(["-r", "-t"]);
        }
        command = command.arg(treeish);
        if let Some(path) = path {
            command = command.arg("--").arg(path);
        }
        let output = command.run().await?.text();
        output.split('\0').filter(|line| !line.is_empty()).map(parse_tree_entry).collect()
    }

    pub async fn blob(&self, sha: &str) -> Result<Vec<u8>, Error> {
        Ok(self.git(["cat-file", "blob", sha]).run().await?.stdout)
    }

    pub async fn write_blob(&self, content: &[u8]) -> Result<String, Error> {
        let output = self.git(["hash-object", "-w", "--stdin"]).stdin(content).run().await?;
        Ok(output.text().trim().to_owned())
    }

    pub async fn write_commit(
        &self,
        tree: &str,
        parents: &[&str],
        author: &Signature,
        committer: &Signature,
        message: &str,
    ) -> Result<String, Error> {
        let mut command = self
            .git(["commit-tree", tree])
            .env("GIT_AUTHOR_NAME", &author.name)
            .env("GIT_AUTHOR_EMAIL", &author.email)
            .env("GIT_AUTHOR_DATE", format!("{} {}", author.seconds, author.offset))
            .env("GIT_COMMITTER_NAME", &committer.name)
            .env("GIT_COMMITTER_EMAIL", &committer.email)
            .env("GIT_COMMITTER_DATE", format!("{} {}", committer.seconds, committer.offset));
        for parent in parents {
            command = command.args(["-p", parent]);
        }
        let output = command.args(["-F", "-"]).stdin(message).run().await?;
        Ok(output.text().trim().to_owned())
    }
}

pub(super) fn is_sha(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn parse_commits(output: &str) -> Result<Vec<CommitObject>, Error> {
    output.split('\u{1e}').map(str::trim_start).filter(|part| !part.is_empty()).map(parse_commit).collect()
}

pub(super) fn parse_commit(text: &str) -> Result<CommitObject, Error> {
    let fields: Vec<&str> = text.splitn(10, '\u{1f}').collect();
    let [sha, tree, parents, an, ae, ad, cn, ce, cd, message] = fields[..] else {
        return Err(Error::Unexpected { command: "log", output: text.to_owned() });
    };
    Ok(CommitObject {
        sha: sha.to_owned(),
        tree: tree.to_owned(),
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        author: signature(an, ae, ad),
        committer: signature(cn, ce, cd),
        message: message.trim_end_matches('\n').to_owned(),
    })
}

pub(super) fn signature(name: &str, email: &str, raw_date: &str) -> Signature {
    let (seconds, offset) = raw_date.split_once(' ').unwrap_or((raw_date, "+0000"));
    Signature {
        name: name.to_owned(),
        email: email.to_owned(),
        seconds: seconds.parse().unwrap_or_default(),
        offset: offset.to_owned(),
    }
}

fn parse_tree_entry(line: &str) -> Result<TreeEntry, Error> {
    let unexpected = || Error::Unexpected { command: "ls-tree", output: line.to_owned() };
    let (meta, path) = line.split_once('\t').ok_or_else(unexpected)?;
    let mut fields = meta.split_whitespace();
    let mut next = || fields.next().map(str::to_owned).ok_or_else(unexpected);
    let (mode, kind, sha, size) = (next()?, next()?, next()?, next()?);
    Ok(TreeEntry { path: path.to_owned(), mode, kind, sha, size: size.parse().ok() })
}
