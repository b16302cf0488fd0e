//! What a pull request changes, as one comparable value.

use std::fmt;

use crate::{Error, Objects, Oid};

/// The first git whose `patch-id` looks at white space and at binary files.
const NEEDED: (u32, u32, &str) = (2, 39, "2.39");

/// Says of two diffs whether they are the same, wherever in the files they stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PatchId(Oid);

impl fmt::Display for PatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What of a diff counts.
pub(super) enum Exactness {
    /// Every byte, and the lines around a change: for telling people that nothing changed.
    Verbatim,
    /// The changed lines but for their white space: for finding a commit again that was moved.
    Lenient,
}

impl Objects {
    /// The id of what a pull request changes: the diff from where `head` left `base` to `head`. None when that is nothing.
    ///
    /// It stays the same when the lines around it move, and differs when a line, a mode or a binary file of the diff does.
    /// A diff too large to be held in memory is an error, never a guess.
    pub async fn patch_id(&self, base: &Oid, head: &Oid) -> Result<Option<PatchId>, Error> {
        let version = self.git().version();
        if (version.0, version.1) < (NEEDED.0, NEEDED.1) {
            return Err(Error::TooOld { found: version.to_string(), needed: NEEDED.2 });
        }
        let Some(fork) = self.merge_base(base, head).await? else {
            return Err(Error::Unrelated { ours: base.to_string(), theirs: head.to_string() });
        };
        self.diff_id(&fork, head, &Exactness::Verbatim).await
    }

    /// The id of the diff between two commits or trees.
    pub(super) async fn diff_id(&self, from: &Oid, to: &Oid, exactness: &Exactness) -> Result<Option<PatchId>, Error> {
        let (context, how) = match exactness {
            Exactness::Verbatim => ("--unified=3", "--verbatim"),
            Exactness::Lenient => ("--unified=0", "--stable"),
        };
        let diff = self
            .command([
                "diff-tree",
                "-r",
                "-p",
                context,
                "--full-index",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
            ])
            .await?
            .args([from.as_str(), to.as_str()])
            .run()
            .await?;
        if diff.stdout.is_empty() {
            return Ok(None);
        }
        let output = self.command(["patch-id", how]).await?.stdin(diff.stdout).run().await?;
        // `patch commit`; there is no commit in what it read, and it prints nothing of a diff that it finds empty.
        match output.text().split_whitespace().next() {
            None => Ok(None),
            Some(name) => Oid::parse(name).map(|name| Some(PatchId(name))).map_err(|_| output.unexpected()),
        }
    }
}
