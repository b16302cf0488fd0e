//! Merges in the object store: `git merge-tree --write-tree` computes, `git commit-tree` records. The same machinery as
//! `git merge`, without a file being checked out.

mod attributes;
mod report;

use merge_train_core::repo::trains::conflict::Conflict;

use crate::{Error, Objects, Oid};

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// All of it was there already.
    UpToDate,
    /// The new head: a merge commit, or `theirs` itself if ours had nothing of its own.
    Advanced(Head),
    Conflict(Conflict),
}

/// A commit and its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub commit: Oid,
    pub tree: Oid,
}

/// Whether a merge heeds `.gitattributes`, as a checkout does, or not, as GitHub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributes {
    OfOurs,
    Ignored,
}

/// How two commits relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Contained,
    Ahead,
    Diverged,
}

impl Objects {
    /// Merges `theirs` into `ours`, as `git merge` does in a checkout of `ours`.
    pub async fn merge(&self, ours: &Oid, theirs: &Oid, message: &str) -> Result<Merge, Error> {
        match self.relation(ours, theirs).await? {
            Relation::Contained => Ok(Merge::UpToDate),
            Relation::Ahead => {
                let tree = self.commit(theirs).await?.tree;
                Ok(Merge::Advanced(Head { commit: theirs.clone(), tree }))
            }
            Relation::Diverged => match self.merge_trees(ours, theirs, Attributes::OfOurs).await? {
                Err(conflict) => Ok(Merge::Conflict(conflict)),
                Ok(tree) => {
                    let commit = self.write_commit(&tree, &[ours, theirs], message).await?;
                    Ok(Merge::Advanced(Head { commit, tree }))
                }
            },
        }
    }

    /// Makes `theirs` part of the history of `ours` without taking anything from it, as `git merge --strategy=ours` does. It must
    /// not be part of it already.
    pub async fn relate(&self, ours: &Head, theirs: &Oid, message: &str) -> Result<Head, Error> {
        let commit = self.write_commit(&ours.tree, &[&ours.commit, theirs], message).await?;
        Ok(Head { commit, tree: ours.tree.clone() })
    }

    /// The tree that merging two commits gives, and no commit.
    pub async fn merge_trees(
        &self,
        ours: &Oid,
        theirs: &Oid,
        attributes: Attributes,
    ) -> Result<Result<Oid, Conflict>, Error> {
        let command = self.command(["merge-tree", "--write-tree", "-z", "--messages"]).await?;
        let source = match attributes {
            Attributes::OfOurs => self.attributes_of(ours).await?,
            Attributes::Ignored => attributes::Source::None,
        };
        let output = source.heeded_by(command).args([ours.as_str(), theirs.as_str()]).run_allowing(&[0, 1]).await?;
        let report = report::parse(&output.stdout).ok_or_else(|| output.unexpected())?;
        match output.code {
            0 => Ok(Ok(report.tree)),
            _ if report.files.is_empty() => Err(output.unexpected()),
            _ => Ok(Err(Conflict { files: report.files })),
        }
    }

    async fn relation(&self, ours: &Oid, theirs: &Oid) -> Result<Relation, Error> {
        let base = self.merge_base(ours, theirs).await?;
        let base = base.ok_or_else(|| Error::Unrelated { ours: ours.to_string(), theirs: theirs.to_string() })?;
        Ok(match base {
            base if base == *theirs => Relation::Contained,
            base if base == *ours => Relation::Ahead,
            _ => Relation::Diverged,
        })
    }
}
