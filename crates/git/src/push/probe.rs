//! Whether a push that was intended before a crash has landed.
//!
//! Merge commits are not reproducible: dates and signatures differ each time. What is the same is the tree, and that the
//! branch contains what it contained before.

use crate::repository::Wanted;
use crate::stack::Stack;
use crate::{Error, Oid};

/// What an intent to push recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Where the branch was: `pre_push_sha`.
    pub from: Oid,
    /// `expected_tree`.
    pub tree: Oid,
    /// What the push was to bring into the branch's history: the predecessor's head, the squash, the default branch.
    pub contains: Vec<Oid>,
}

/// What the remote says about an intended push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushProbe {
    /// It is there: record it as done.
    Landed {
        head: Oid,
    },
    /// The branch is where it was: do it again.
    NotYet,
    /// Somebody pushed something else onto what was there: stop, and say so.
    Foreign {
        head: Oid,
    },
    /// The branch no longer contains what it contained: compute the step again from here.
    Rewound {
        head: Oid,
    },
    BranchGone,
}

impl Stack {
    /// Looks at the branch of a pull request on the remote and tells what became of the push.
    pub async fn probe_push(&self, branch: &Wanted, expected: &Expected) -> Result<PushProbe, Error> {
        let heads = match self.fetch(std::slice::from_ref(branch)).await {
            Ok(heads) => heads,
            Err(Error::BranchGone(_)) => return Ok(PushProbe::BranchGone),
            Err(error) => return Err(error),
        };
        let head = heads.of(branch)?.clone();
        if head == expected.from {
            return Ok(PushProbe::NotYet);
        }
        let objects = self.objects();
        if !objects.contains(&head, &expected.from).await? {
            return Ok(PushProbe::Rewound { head });
        }
        let mut landed = objects.commit(&head).await?.tree == expected.tree;
        for commit in &expected.contains {
            landed = landed && objects.contains(&head, commit).await?;
        }
        Ok(if landed { PushProbe::Landed { head } } else { PushProbe::Foreign { head } })
    }
}
