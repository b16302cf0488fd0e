//! What a train needs done outside: one thing at a time, and what may come of each.
//!
//! Whatever cannot be undone travels in a plan whose events hold its intent. Wanted again after a crash, it is first looked for.

use serde::{Deserialize, Serialize};

use crate::conflict::Conflict;
use crate::ids::{BranchName, PrNumber, Sha};
use crate::plan::{Member, Plan};
use crate::train::message::Wording;

/// One thing to be done for a train.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// What landing the stack would do. Nothing is changed.
    Plan {
        members: Vec<Member>,
        default: BranchName,
    },
    /// Compute a merge into the branch of a pull request. Nothing is pushed.
    Merge {
        step: Step,
        pull: PrNumber,
        branch: BranchName,
        default: BranchName,
    },
    Push(Push),
    /// Find out what became of a push that was intended.
    Probe(Push),
    /// Compute what a squash of this head would put on the default branch.
    Expect {
        pull: PrNumber,
        head: Sha,
        default: BranchName,
    },
    /// Squash-merge, if these are still the head and the base.
    Squash {
        pull: PrNumber,
        head: Sha,
        base: BranchName,
        via: Via,
        wording: Wording,
    },
    /// Find out whether a pull request was merged, and as which commit.
    Look {
        pull: PrNumber,
    },
    /// Prove that what landed is the squash that was expected.
    Prove {
        landed: Landed,
        default: BranchName,
    },
    Retarget {
        pull: PrNumber,
        base: BranchName,
    },
    Worktrees(Tidying),
}

impl Work {
    /// What it is to a reader of metrics and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Plan { .. } => "plan",
            Self::Merge { .. } => "merge",
            Self::Push(_) => "push",
            Self::Probe(_) => "probe_push",
            Self::Expect { .. } => "expect_squash",
            Self::Squash { .. } => "squash",
            Self::Look { .. } => "look_at_merge",
            Self::Prove { .. } => "prove_landed",
            Self::Retarget { .. } => "retarget",
            Self::Worktrees(_) => "worktrees",
        }
    }
}

impl Work {
    /// What it is to a person, after "to".
    pub fn told(&self) -> &'static str {
        match self {
            Self::Plan { .. } => "plan the stack",
            Self::Merge { .. } => "merge in the clone",
            Self::Push(_) => "push to the branch",
            Self::Probe(_) => "look at the branch",
            Self::Expect { .. } => "compute the squash",
            Self::Squash { .. } => "squash-merge",
            Self::Look { .. } => "look at the pull request",
            Self::Prove { .. } => "check the squash",
            Self::Retarget { .. } => "change the base branch",
            Self::Worktrees(_) => "tidy up the clone",
        }
    }
}

/// Which merge it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The predecessor's head into a descendant, before the predecessor is squashed.
    Prepare { predecessor: PrNumber },
    /// A prepared descendant is related to its predecessor's squash.
    Reconcile { landed: Landed },
    /// What landed after the squash, into a descendant.
    CatchUp,
    /// The default branch into a root that is behind.
    UpdateRoot,
    /// All of it, for a pull request whose predecessor landed before it was prepared.
    AddLate { landed: Landed },
}

/// A branch that is to be moved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Push {
    pub kind: PushKind,
    pub pull: PrNumber,
    pub branch: BranchName,
    /// Where the branch was: `pre_push_sha`.
    pub from: Sha,
    /// The commit that was computed. After a crash it may be gone from the clone, and is computed anew.
    pub to: Sha,
    /// `expected_tree`.
    pub tree: Sha,
    /// What the push brings into the branch's history, so that it is known again.
    pub contains: Vec<Sha>,
}

/// Which pair of events brackets a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushKind {
    Prep,
    Reconcile,
    Catchup,
}

/// By which of GitHub's doors a pull request is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Via {
    /// The answer is the result.
    Now,
    /// `merge-async`: the one door for what is in a stack that GitHub keeps.
    Background,
}

/// A squash, as GitHub and the train's own memory tell of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Landed {
    pub pull: PrNumber,
    pub commit: Sha,
    /// The head that was squashed, where the train did it.
    pub head: Option<Sha>,
    /// The default branch's head, read before.
    pub known_before: Option<Sha>,
}

/// What is to become of worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tidying {
    /// After an abort: nothing half done stays.
    Clean,
    Remove,
    /// The old one goes, then these come.
    FanOut {
        new: Vec<PrNumber>,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Planned(Plan),
    Merged(Merged),
    Pushed(Pushed),
    Probed(Probed),
    Expected(Expected),
    Squashed(Squashed),
    Seen(Seen),
    Proved(Proof),
    Retargeted(Retargeted),
    Tidied,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The branch has it all already.
    Unchanged {
        head: Sha,
    },
    Advance {
        from: Sha,
        to: Sha,
        tree: Sha,
        contains: Vec<Sha>,
    },
    Conflict {
        with: MergedWith,
        conflict: Conflict,
    },
    BranchGone,
    /// `refs/pull/N/head` of this pull request is gone.
    PullRefGone {
        pull: PrNumber,
    },
    /// The descendant does not contain the head of its predecessor that landed.
    NotPrepared,
    /// What landed is no squash: how it landed instead, for people.
    NotASquash {
        reason: String,
        /// The same with what to do about a pull request that came late.
        advice: String,
    },
}

/// What it was that did not go into the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedWith {
    Predecessor,
    /// The default branch as it was before the squash.
    BeforeSquash,
    /// The default branch as it is.
    Default,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    Landed,
    /// Somebody else moved the branch.
    Foreign {
        head: Sha,
        tree: Option<Sha>,
    },
    BranchGone,
    Rejected {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    Landed {
        head: Sha,
    },
    /// The branch is where it was.
    NotYet,
    /// Somebody pushed something else onto what was there.
    Foreign {
        head: Sha,
        tree: Option<Sha>,
    },
    /// The branch no longer contains what it contained.
    Rewound,
    BranchGone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    Tree {
        default_head: Sha,
        tree: Sha,
    },
    /// The head that GitHub has is another by now.
    HeadChanged {
        head: Sha,
    },
    Conflict(Conflict),
    /// `refs/pull/N/head` is gone.
    PullRefGone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Squashed {
    Merged {
        commit: Sha,
    },
    /// The head is not the one that was found ready.
    HeadChanged,
    /// It is not for the default branch any more.
    BaseChanged {
        base: BranchName,
    },
    /// GitHub says no, in these words.
    Refused {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Open {
        head: Sha,
    },
    Closed,
    /// The commit can come seconds later than the merge.
    Merged {
        commit: Option<Sha>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    Proven,
    WrongTree {
        expected: Sha,
        found: Sha,
        files: Vec<String>,
    },
    NotASquash {
        reason: String,
    },
    /// It is the squash of another head than the train knew: somebody pushed, and merged it.
    OtherHead {
        head: Sha,
    },
    /// Nobody can say what was to land: the two do not merge cleanly here.
    CannotTell {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retargeted {
    Done,
    /// The pull request is closed.
    NotOpen,
}
