//! What a train needs done outside: one thing at a time, and what may come of each.
//!
//! Whatever cannot be undone travels in a plan whose events hold its intent. Wanted again after a crash, it is first looked for.

use serde::{Deserialize, Serialize};

use super::conflict::Conflict;
use super::difference::{Difference, NamedCommit};
use super::message::SquashMessageTemplates;
use super::plan::{LandingPlan, StackMember};
use crate::ids::{BranchName, PrNumber, Sha};

/// One thing to be done for a train.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrainTask {
    /// What landing the stack would do. Nothing is changed.
    Plan {
        members: Vec<StackMember>,
        default: BranchName,
    },
    /// Compute a merge into the branch of a pull request. Nothing is pushed.
    Merge {
        step: MergeStep,
        pull: PrNumber,
        branch: BranchName,
        default: BranchName,
    },
    Push(BranchPush),
    /// Find out what became of a push that was intended.
    Probe(BranchPush),
    /// Compute, in two ways, what a squash of this head would put on the default branch.
    Expect {
        change: OwnChange,
        head: Sha,
        default: BranchName,
    },
    /// Squash-merge, if these are still the head and the base.
    Squash {
        pull: PrNumber,
        head: Sha,
        base: BranchName,
        via: MergeEndpoint,
        wording: SquashMessageTemplates,
    },
    /// Find out whether a pull request was merged, and as which commit.
    Look {
        pull: PrNumber,
    },
    /// Prove that what landed is the squash that was expected.
    Prove {
        landed: LandedSquash,
        /// What the train landed before: it must still be on the default branch.
        earlier: Vec<LandedSquash>,
        default: BranchName,
    },
    Retarget {
        pull: PrNumber,
        base: BranchName,
    },
    Worktrees(WorktreeCleanup),
}

impl TrainTask {
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

impl TrainTask {
    /// What it is to a person, after "to".
    pub fn told(&self) -> &'static str {
        match self {
            Self::Plan { .. } => "plan the stack",
            Self::Merge { .. } => "merge in the clone",
            Self::Push(_) => "push to the branch",
            Self::Probe(_) => "check the branch",
            Self::Expect { .. } => "compute the squash",
            Self::Squash { .. } => "squash-merge",
            Self::Look { .. } => "read the pull request",
            Self::Prove { .. } => "check the squash",
            Self::Retarget { .. } => "change the base branch",
            Self::Worktrees(_) => "clean up the clone",
        }
    }
}

/// Which merge it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MergeStep {
    /// The predecessor's head into a descendant, before the predecessor is squashed.
    Prepare {
        predecessor: PrNumber,
        /// The heads of the predecessor that the descendant was prepared with before.
        prepared_with: Vec<Sha>,
        /// The heads that the predecessor had before: the descendant may have been written on one that was rewritten since.
        former_heads: Vec<Sha>,
    },
    /// A prepared descendant is related to its predecessor's squash.
    Reconcile { landed: LandedSquash },
    /// What landed after the squash, into a descendant; with the relation to what landed below it, where that is gone.
    CatchUp { change: OwnChange },
    /// The default branch into a root that is behind.
    UpdateRoot,
    /// The relation to all that landed below a pull request, where it lacks any of it; then what landed after that.
    AddLate { change: OwnChange },
}

/// What a pull request itself changes: from what it was written on to what people last pushed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnChange {
    pub pull: PrNumber,
    /// What people last pushed, where the head is a push of merge-train.
    pub people_head: Option<Sha>,
    /// The landed pull requests that it was stacked on, the lowest first.
    pub below: Vec<LandedSquash>,
}

/// A branch that is to be moved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BranchPush {
    pub kind: PushKind,
    pub pull: PrNumber,
    pub branch: BranchName,
    /// Where the branch was: `pre_push_sha`.
    pub from: Sha,
    /// The commit that was computed. After a crash it may be gone from the clone, and is computed again.
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
pub enum MergeEndpoint {
    /// The answer is the result.
    Now,
    /// `merge-async`: the one door for what is in a stack that GitHub keeps.
    Background,
}

/// A squash, as GitHub and the train's own memory tell of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LandedSquash {
    pub pull: PrNumber,
    pub commit: Sha,
    /// The head that was squashed, where the train did it.
    pub head: Option<Sha>,
    /// The default branch's head, read before.
    pub known_before: Option<Sha>,
    /// The heads that the pull request had before: what is stacked on it may have been written on one of those.
    pub former_heads: Vec<Sha>,
}

/// What is to become of worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeCleanup {
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
pub enum TrainTaskOutcome {
    Planned(LandingPlan),
    Merged(BranchMergeOutcome),
    Pushed(PushOutcome),
    Probed(PushProbeResult),
    Expected(ExpectedTree),
    Squashed(SquashOutcome),
    Seen(ObservedSquash),
    Proved(LandedTreeProof),
    Retargeted(RetargetOutcome),
    Tidied,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchMergeOutcome {
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
        /// Where the branch is stacked on what has landed.
        standing: Option<AuthoredHead>,
    },
    BranchGone,
    /// `refs/pull/N/head` of this pull request is gone.
    PullRefGone {
        pull: PrNumber,
    },
    /// The descendant does not contain the head of its predecessor that landed.
    NotPrepared(AuthoredHead),
    /// The descendant was prepared with a head of its predecessor that the predecessor no longer contains.
    Withdrawn(WithdrawnCommits),
    /// Relating it to what landed gives another tree than its own change alone.
    Differs(Difference),
    /// The default branch does not have this commit, which the pull request landed as.
    Missing {
        pull: PrNumber,
        commit: Sha,
    },
    /// What landed is no squash: how it landed instead, for people.
    NotASquash {
        pull: PrNumber,
        reason: String,
        /// The same with what to do about a pull request that came late.
        advice: String,
        standing: AuthoredHead,
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
pub enum PushOutcome {
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
pub enum PushProbeResult {
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

/// What people last pushed to a branch, and what that was written on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthoredHead {
    pub people_head: Sha,
    pub stands_on: Sha,
    /// The head of the branch when that was found out. Whoever moves the branch must find it there, or would overwrite a push.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Sha>,
    /// Whether there are merges between the two: a rebase would lose what was written in them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_merges: bool,
    /// Whether a merge driver of `.gitattributes` would bring back what the change takes away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_driver: bool,
}

impl AuthoredHead {
    pub fn new(people_head: Sha, stands_on: Sha) -> Self {
        Self { people_head, stands_on, head: None, has_merges: false, by_driver: false }
    }
}

/// Commits that a pull request no longer has, and that a pull request stacked on it still has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawnCommits {
    /// The head that the predecessor had.
    pub head: Sha,
    /// What is gone from the predecessor, the newest first, as far as it is named.
    pub commits: Vec<NamedCommit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedTree {
    /// Both ways give this tree.
    Tree {
        default_head: Sha,
        tree: Sha,
        standing: AuthoredHead,
    },
    /// The two ways differ, or the own change alone conflicts.
    Differs(Difference),
    /// The head does not contain the squash of this pull request, which it was stacked on.
    NotRelated {
        pull: PrNumber,
    },
    /// The default branch does not contain the squash of this pull request any more.
    Rewound {
        pull: PrNumber,
        commit: Sha,
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
pub enum SquashOutcome {
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
pub enum ObservedSquash {
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
pub enum LandedTreeProof {
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
    /// The default branch does not contain this squash, or does not any more.
    Missing {
        pull: PrNumber,
        commit: Sha,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetargetOutcome {
    Done,
    /// The pull request is closed.
    NotOpen,
}
