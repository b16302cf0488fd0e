//! The object store of a clone: reading commits, asking how they relate, writing new ones.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::command::{Command, among_paths};
use crate::signing::Signing;
use crate::{Error, Git, Oid, Remote};

/// Who makes the commits.
#[derive(Clone, Debug)]
pub struct Committer {
    pub name: String,
    pub email: String,
    pub signing: Signing,
}

/// The object store, as one piece of work sees it: what it writes, and what ends it.
#[derive(Clone, Debug)]
pub struct Objects {
    git: Git,
    dir: PathBuf,
    committer: Committer,
    cancel: CancellationToken,
    /// Where a partial clone gets what it left out.
    promisor: Option<Remote>,
    /// Where new objects go, if not into the clone: what is only computed leaves nothing behind.
    aside: Option<PathBuf>,
}

/// What a commit says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
}

impl Objects {
    /// The store of the repository in `dir`, which is complete.
    pub fn new(git: Git, dir: impl Into<PathBuf>, committer: Committer, cancel: CancellationToken) -> Self {
        Self { git, dir: dir.into(), committer, cancel, promisor: None, aside: None }
    }

    /// Fetches from `remote` what the clone left out, when it is needed.
    pub(crate) fn completed_by(mut self, remote: Remote) -> Self {
        self.promisor = Some(remote);
        self
    }

    /// Writes into `folder` from now on, and reads from there too.
    pub(crate) fn writing_into(mut self, folder: &Path) -> Self {
        self.aside = Some(folder.to_owned());
        self
    }

    /// Leaves commits unsigned: what is only computed needs no signature.
    pub(crate) fn unsigned(mut self) -> Self {
        self.committer.signing = Signing::Off;
        self
    }

    pub(crate) fn committer_email(&self) -> &str {
        &self.committer.email
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// A command on the store. In a partial clone it may fetch, and is given what that takes.
    pub(crate) async fn command<I, S>(&self, args: I) -> Result<Command, Error>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        let mut command = self.git.on(&self.dir, args).until(&self.cancel);
        if let Some(folder) = &self.aside {
            command = command
                .env("GIT_OBJECT_DIRECTORY", folder)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", among_paths(&self.dir.join("objects")));
        }
        match &self.promisor {
            Some(remote) => command.speaking_with(remote).await,
            None => Ok(command),
        }
    }

    /// Reads a commit. It must be in the store.
    pub async fn commit(&self, id: &Oid) -> Result<Commit, Error> {
        let args = ["rev-list", "--no-walk", "--no-commit-header", "--format=%H %T %P", id.as_str()];
        let output = self.command(args).await?.run().await?;
        output.text().lines().next().and_then(parse_commit).ok_or_else(|| output.unexpected())
    }

    /// Where two histories last met. Git picks one when there are several.
    pub async fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, Error> {
        let output = self.command(["merge-base", one.as_str(), other.as_str()]).await?.run_allowing(&[0, 1]).await?;
        if output.code == 0 { output.oid().map(Some) } else { Ok(None) }
    }

    /// Whether `ancestor` is `descendant` or in its history.
    pub async fn is_ancestor(&self, ancestor: &Oid, descendant: &Oid) -> Result<bool, Error> {
        if ancestor == descendant {
            return Ok(true);
        }
        let args = ["merge-base", "--is-ancestor", ancestor.as_str(), descendant.as_str()];
        Ok(self.command(args).await?.run_allowing(&[0, 1]).await?.code == 0)
    }

    /// Whether `commit` is in the history of `head`, also when the clone has never heard of it.
    pub async fn contains(&self, head: &Oid, commit: &Oid) -> Result<bool, Error> {
        let known =
            self.command(["cat-file", "-e", commit.as_str()]).await?.run_allowing(&[0, 1, 128]).await?.code == 0;
        Ok(known && self.is_ancestor(commit, head).await?)
    }

    /// The files that differ between two commits, all of them: what is allowed may depend on the last.
    pub async fn changed_files(&self, from: &Oid, to: &Oid) -> Result<Vec<String>, Error> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from.as_str(), to.as_str()];
        let output = self.command(args).await?.run().await?;
        Ok(output.text().split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// What differs between two commits, as people read it; cut after so many bytes.
    pub async fn diff(&self, from: &Oid, to: &Oid, most_bytes: usize) -> Result<String, Error> {
        let args =
            ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--stat", "--patch", from.as_str(), to.as_str()];
        let output = self.command(args).await?.run().await?;
        let text = output.text();
        let mut end = most_bytes.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let cut = if end < text.len() { "\n[the rest was left out]\n" } else { "" };
        Ok(format!("{}{cut}", &text[..end]))
    }

    /// Writes a commit, signed as the committer's setting says.
    pub async fn write_commit(&self, tree: &Oid, parents: &[&Oid], message: &str) -> Result<Oid, Error> {
        self.write_commit_of(tree.as_str(), parents, message).await
    }

    /// The same with a tree that is named by a revision.
    pub(crate) async fn write_commit_of(&self, tree: &str, parents: &[&Oid], message: &str) -> Result<Oid, Error> {
        let mut command = self.command(["commit-tree"]).await?;
        command = self.committer.signing.sign(command);
        for parent in parents {
            command = command.args(["-p", parent.as_str()]);
        }
        for (key, value) in [("NAME", &self.committer.name), ("EMAIL", &self.committer.email)] {
            command = command.env(format!("GIT_AUTHOR_{key}"), value).env(format!("GIT_COMMITTER_{key}"), value);
        }
        if let Some(date) = self.git.date() {
            command = command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        }
        let written = command.arg(tree).stdin(message).run().await;
        match written {
            Ok(output) => output.oid(),
            Err(Error::Failed { stderr, .. }) if self.committer.signing != Signing::Off => Err(Error::Signing(stderr)),
            Err(error) => Err(error),
        }
    }
}

/// Of `commit tree parent…`, as `%H %T %P` prints it.
fn parse_commit(line: &str) -> Option<Commit> {
    let mut names = line.split(' ').filter(|name| !name.is_empty()).map(Oid::parse);
    let (id, tree) = (names.next()?.ok()?, names.next()?.ok()?);
    Some(Commit { id, tree, parents: names.collect::<Result<_, _>>().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_with_any_number_of_parents() {
        let oid = |digit: &str| Oid::parse(digit.repeat(40)).unwrap();
        let line = |names: &[Oid]| names.iter().map(Oid::to_string).collect::<Vec<_>>().join(" ");
        for parents in [vec![], vec![oid("c")], vec![oid("c"), oid("d")], vec![oid("c"), oid("d"), oid("e")]] {
            let text = line(&[vec![oid("a"), oid("b")], parents.clone()].concat());
            let read = parse_commit(&text);
            assert_eq!(read, Some(Commit { id: oid("a"), tree: oid("b"), parents }));
        }
        // A root commit: git prints the separator all the same.
        assert!(parse_commit(&format!("{} {} ", oid("a"), oid("b"))).is_some());
        assert_eq!(parse_commit("fatal: bad object"), None);
        assert_eq!(parse_commit(""), None);
    }
}
