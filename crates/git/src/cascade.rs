//! The steps of a cascade, computed in the object store: nothing here reads a remote or pushes.
//!
//! The order is what makes it right. Before the squash a descendant takes in its predecessor's head and *not* the default
//! branch. After it, it takes in the squash's parent, which is the default branch as it was just before, and only then is
//! related to the squash itself without taking anything from it: all that the squash holds is there by now. Were the default
//! branch merged earlier, what landed on it between that merge and the squash would be lost without a conflict.

use merge_train_core::ids::{BranchName, PrNumber};
use merge_train_core::repo::trains::conflict::Conflict;

use crate::merge::{Attributes, Head, Merge};
use crate::proof::{Below, Squash};
use crate::{Error, Objects, Oid};

/// How the messages of merge-train's own commits end: by these it knows them again.
const PREPARED: &str = " (merge-train prep)";
const RELATED: &str = " (merge-train)";
const CAUGHT_UP: &str = " (merge-train catch-up)";
const UPDATED: &str = " to satisfy branch protection";
const LATE_ADDITION: &str = "Merge predecessor head (late addition)";

/// Whether a commit with this subject is one of a cascade.
pub(crate) fn is_of_a_cascade(subject: &str) -> bool {
    let begins = subject.starts_with("Merge ") || subject.starts_with("Relate ");
    let ends = [PREPARED, RELATED, CAUGHT_UP, UPDATED].iter().any(|end| subject.ends_with(end));
    subject == LATE_ADDITION || (begins && ends)
}

/// Whether a branch that lacks nothing of what landed below it takes in the default branch all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    Always,
    IfRelatedAnew,
}

/// What a branch is stacked on.
#[derive(Clone, Copy, Debug)]
pub struct Predecessor<'a> {
    pub pull: PrNumber,
    pub head: &'a Oid,
    /// Heads that it had before, as far as they are remembered.
    pub former_heads: &'a [Oid],
}

/// What a step does to a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The branch has it all already: nothing to push.
    Unchanged(Head),
    /// To be pushed.
    Advance(Advance),
    Conflict(Clash),
}

/// A branch as it was read, and as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// What the remote had: `pre_push_sha`.
    pub from: Oid,
    pub to: Oid,
    /// The tree of `to`. Unlike its name it is the same whenever the step is repeated: `expected_tree`.
    pub tree: Oid,
}

/// A step that a person has to help with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    pub merging: Merging,
    pub conflict: Conflict,
}

/// What was being merged into the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    Predecessor(PrNumber),
    /// The default branch as it was before the predecessor's squash.
    BeforeSquash,
    /// The default branch as it is now.
    Default,
}

impl Step {
    /// Where the branch is after the step, if there is an after.
    pub fn head(&self) -> Option<Head> {
        match self {
            Self::Unchanged(head) => Some(head.clone()),
            Self::Advance(advance) => Some(Head { commit: advance.to.clone(), tree: advance.tree.clone() }),
            Self::Conflict(_) => None,
        }
    }
}

/// A branch at work: the commits that it gets are named after it.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    pub name: &'a BranchName,
    pub head: &'a Oid,
    pub default: &'a BranchName,
}

impl Objects {
    /// Before the squash: merges the predecessor's head into the descendant, and nothing else.
    pub async fn prepare(&self, descendant: Branch<'_>, predecessor: PrNumber, head: &Oid) -> Result<Step, Error> {
        self.prepare_on(descendant, Predecessor { pull: predecessor, head, former_heads: &[] }).await
    }

    /// The same where former heads of the predecessor are known.
    pub async fn prepare_on(&self, descendant: Branch<'_>, predecessor: Predecessor<'_>) -> Result<Step, Error> {
        let message = format!("Merge predecessor PR #{} into {}{PREPARED}", predecessor.pull, descendant.name);
        self.merge_predecessor(descendant, predecessor, &message).await
    }

    /// Merges a predecessor's head into a branch. Where the predecessor was rewritten since the branch was written on it, the
    /// common ancestor is the head that it had then: git would take an older one, and bring back what the branch deleted of it.
    async fn merge_predecessor(
        &self,
        branch: Branch<'_>,
        predecessor: Predecessor<'_>,
        message: &str,
    ) -> Result<Step, Error> {
        let merging = Merging::Predecessor(predecessor.pull);
        let written_on = self.rewritten_heads(branch.head, predecessor).await?;
        if written_on.is_empty() {
            return self.step(branch, predecessor.head, merging, message).await;
        }
        let written_on: Vec<Oid> = written_on.into_iter().cloned().collect();
        let rewritten = self.containing(predecessor.head, &written_on).await?;
        Ok(match self.merge_trees(branch.head, &rewritten, Attributes::OfOurs).await? {
            Err(conflict) => Step::Conflict(Clash { merging, conflict }),
            Ok(tree) => {
                let commit = self.write_commit(&tree, &[branch.head, predecessor.head], message).await?;
                branch.moved_to(Head { commit, tree })
            }
        })
    }

    /// The former heads of a predecessor that a branch contains and that the predecessor's head no longer does, if it still lacks
    /// that head: the branch was written on them, or merged them.
    pub async fn rewritten_heads<'p>(&self, branch: &Oid, predecessor: Predecessor<'p>) -> Result<Vec<&'p Oid>, Error> {
        let former: Vec<&Oid> = predecessor.former_heads.iter().collect();
        let rewritten = self.outside_of(std::slice::from_ref(predecessor.head), &former).await?;
        let mut written_on = Vec::new();
        if rewritten.is_empty() || self.contains(branch, predecessor.head).await? {
            return Ok(written_on);
        }
        for former in rewritten {
            if self.contains(branch, former).await? {
                written_on.push(former);
            }
        }
        Ok(written_on)
    }

    /// After the squash: merges its parent into the prepared descendant, then relates it to the squash.
    pub async fn reconcile(&self, descendant: Branch<'_>, squash: &Squash) -> Result<Step, Error> {
        let Branch { name, default, .. } = descendant;
        let message = format!("Merge {default} (pre-squash) into {name}{RELATED}");
        let merged = self.step(descendant, squash.parent(), Merging::BeforeSquash, &message).await?;
        let head = match merged {
            Step::Conflict(_) => return Ok(merged),
            Step::Unchanged(head) if self.is_ancestor(squash.commit(), &head.commit).await? => {
                return Ok(Step::Unchanged(head));
            }
            Step::Unchanged(head) => head,
            Step::Advance(Advance { to, tree, .. }) => Head { commit: to, tree },
        };
        let message = format!("Relate {name} with squash commit{RELATED}");
        let related = self.relate(&head, squash.commit(), &message).await?;
        Ok(descendant.moved_to(related))
    }

    /// Merges what landed on the default branch after the squash.
    pub async fn catch_up(&self, descendant: Branch<'_>, default_head: &Oid) -> Result<Step, Error> {
        let Branch { name, default, .. } = descendant;
        let message = format!("Merge {default} into {name}{CAUGHT_UP}");
        self.step(descendant, default_head, Merging::Default, &message).await
    }

    /// Relates a pull request to all that landed below it, the lowest first, as far as it lacks any of it. Then what landed
    /// after that is merged: always, or only if it lacked something.
    ///
    /// What has the squash in its history is left alone: its author may have put it there, and the predecessor's own commits
    /// must not come back.
    pub async fn relate_to_all(
        &self,
        branch: Branch<'_>,
        below: &[(&Below, &Squash)],
        default_head: &Oid,
        catch_up: CatchUp,
    ) -> Result<Step, Error> {
        let mut head = Head { commit: branch.head.clone(), tree: self.commit(branch.head).await?.tree };
        for (below, squash) in below {
            if self.is_ancestor(squash.commit(), &head.commit).await? {
                continue;
            }
            let at = |head| Branch { head, ..branch };
            let predecessor = Predecessor { pull: below.pull, head: &below.head, former_heads: &below.former_heads };
            let prepared = self.merge_predecessor(at(&head.commit), predecessor, LATE_ADDITION).await?;
            let Some(with_predecessor) = prepared.head() else { return Ok(prepared) };
            let reconciled = self.reconcile(at(&with_predecessor.commit), squash).await?;
            let Some(reconciled_head) = reconciled.head() else { return Ok(reconciled) };
            head = reconciled_head;
        }
        if head.commit != *branch.head || catch_up == CatchUp::Always {
            let caught_up = self.catch_up(Branch { head: &head.commit, ..branch }, default_head).await?;
            let Some(caught_up_head) = caught_up.head() else { return Ok(caught_up) };
            head = caught_up_head;
        }
        Ok(branch.moved_to(head))
    }

    /// Merges the default branch into a root that GitHub calls behind.
    pub async fn update_root(&self, root: Branch<'_>, default_head: &Oid) -> Result<Step, Error> {
        let message = format!("Merge {}{UPDATED}", root.default);
        self.step(root, default_head, Merging::Default, &message).await
    }

    async fn step(&self, branch: Branch<'_>, theirs: &Oid, merging: Merging, message: &str) -> Result<Step, Error> {
        Ok(match self.merge(branch.head, theirs, message).await? {
            Merge::UpToDate => {
                let tree = self.commit(branch.head).await?.tree;
                Step::Unchanged(Head { commit: branch.head.clone(), tree })
            }
            Merge::Advanced(head) => branch.moved_to(head),
            Merge::Conflict(conflict) => Step::Conflict(Clash { merging, conflict }),
        })
    }
}

impl Branch<'_> {
    fn moved_to(self, head: Head) -> Step {
        if head.commit == *self.head {
            Step::Unchanged(head)
        } else {
            Step::Advance(Advance { from: self.head.clone(), to: head.commit, tree: head.tree })
        }
    }
}
