//! What happens to trains. These are events of the repository's stream; their JSON is an interface.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::WaitReason;
use super::{CascadePhase, MergePolicy, TrainError, TrainRecord};
use crate::ids::{BranchName, CommentId, PrNumber, Sha};
use crate::repo::{Attribution, CommentRef, PushDetail};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    // ── Trains ──
    TrainStarted {
        root_pr: PrNumber,
        current_pr: PrNumber,
        #[serde(flatten)]
        behest: Attribution,
    },
    TrainStopped {
        root_pr: PrNumber,
        #[serde(flatten)]
        behest: Attribution,
    },
    TrainCompleted {
        root_pr: PrNumber,
    },
    TrainAborted {
        root_pr: PrNumber,
        error: Option<TrainError>,
    },
    PhaseTransition {
        train_root: PrNumber,
        current_pr: PrNumber,
        predecessor_pr: Option<PrNumber>,
        last_squash_sha: Option<Sha>,
        phase: CascadePhase,
        /// The head of `current_pr` that its descendants are prepared for, and that is to be squashed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predecessor_head_sha: Option<Sha>,
    },
    SquashCommitted {
        train_root: PrNumber,
        pr: PrNumber,
        sha: Sha,
    },
    FanOutCompleted {
        old_root: PrNumber,
        new_roots: Vec<PrNumber>,
        original_root_pr: PrNumber,
    },

    // ── Intents of what cannot be undone, and that it was done ──
    IntentPushPrep {
        train_root: PrNumber,
        branch: BranchName,
        pre_push_sha: Sha,
        expected_tree: Sha,
        #[serde(flatten)]
        more: PushDetail,
    },
    DonePushPrep {
        train_root: PrNumber,
        branch: BranchName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_sha: Option<Sha>,
    },
    IntentSquash {
        train_root: PrNumber,
        pr: PrNumber,
        /// What GitHub is to refuse anything else than.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_sha: Option<Sha>,
        /// The default branch, read before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_head: Option<Sha>,
        /// What it is to have after, if nothing else lands meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_tree: Option<Sha>,
        /// What people last pushed, and what that was written on: what lands is the change between the two.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        people_head: Option<Sha>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stands_on: Option<Sha>,
    },
    IntentPushReconcile {
        train_root: PrNumber,
        branch: BranchName,
        pre_push_sha: Sha,
        expected_tree: Sha,
        #[serde(flatten)]
        more: PushDetail,
    },
    DonePushReconcile {
        train_root: PrNumber,
        branch: BranchName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_sha: Option<Sha>,
    },
    IntentPushCatchup {
        train_root: PrNumber,
        branch: BranchName,
        pre_push_sha: Sha,
        expected_tree: Sha,
        #[serde(flatten)]
        more: PushDetail,
    },
    DonePushCatchup {
        train_root: PrNumber,
        branch: BranchName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_sha: Option<Sha>,
    },
    IntentRetarget {
        train_root: PrNumber,
        pr: PrNumber,
        new_base: BranchName,
    },
    DoneRetarget {
        train_root: PrNumber,
        pr: PrNumber,
    },

    // ── What goes on between them ──
    TrainWaiting {
        train_root: PrNumber,
        why: WaitReason,
    },
    /// What it waited for has come.
    TrainResumed {
        train_root: PrNumber,
    },
    /// Something landed wrongly, and nothing may be built upon it: `needs_manual_review`.
    TrainFrozen {
        root_pr: PrNumber,
        error: TrainError,
    },
    /// The last squash has the one parent and the tree that it must have.
    SquashProven {
        train_root: PrNumber,
        sha: Sha,
    },
    /// Something did not succeed, and is tried again.
    WorkDelayed {
        train_root: PrNumber,
        reason: String,
        retry_at: Timestamp,
    },
    /// What was intended may have been done: it is looked for first.
    WorkDoubted {
        train_root: PrNumber,
    },
    /// What was intended is known not to have been done, and is thought over.
    WorkDropped {
        train_root: PrNumber,
        reason: String,
        /// Somebody pushed to the branch meanwhile.
        #[serde(default)]
        by_others: bool,
    },
    /// GitHub calls a descendant behind that was just prepared; it is prepared once more.
    BehindAfterPreparation {
        train_root: PrNumber,
        pr: PrNumber,
    },
    /// GitHub refuses for now; the next word of it about this pull request is waited for.
    TrainHeld {
        train_root: PrNumber,
    },
    /// GitHub did not take the squash, for a reason that may pass.
    SquashRefused {
        train_root: PrNumber,
        reason: String,
    },
    /// Somebody wants it to try again at once.
    TrainNudged {
        train_root: PrNumber,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// GitHub's word does not fit what else it says, and is asked for again.
    RecheckPlanned {
        train_root: PrNumber,
        at: Timestamp,
    },
    /// GitHub has not settled something for too long.
    WaitTimedOut {
        train_root: PrNumber,
    },
    WorktreesTidied {
        train_root: PrNumber,
    },
    StatusWritten {
        train_root: PrNumber,
        comment: CommentId,
        status_seq: u64,
    },
    StatusDelayed {
        train_root: PrNumber,
        reason: String,
        retry_at: Timestamp,
    },
    /// The last word of a train's status comment.
    StatusClosing {
        train_root: PrNumber,
        text: String,
        /// The trains that go on in its place, where it parted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        new_roots: Vec<PrNumber>,
    },
    TrainsPolled {},

    // ── What GitHub remembers of a train ──
    /// The status comment may show something newer than this record: it is read before anything is done.
    StatusDoubted {
        train_root: PrNumber,
    },
    /// It shows nothing newer.
    StatusTrusted {
        train_root: PrNumber,
    },
    /// The status comment is ahead of what is remembered, or all that there is.
    TrainRecovered {
        record: TrainRecord,
        comment: CommentId,
        /// What the train has landed so far, as far as that can be told.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        landed: Vec<PrNumber>,
    },
    /// It is over, and nothing is left of it to go on with.
    TrainForgotten {
        root_pr: PrNumber,
        reason: String,
    },

    // ── Starting ──
    StartAsked {
        pr: PrNumber,
        /// What gets the thumbs up; none where nobody commented.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<CommentRef>,
        #[serde(flatten)]
        behest: Attribution,
    },
    StartDelayed {
        pr: PrNumber,
        reason: String,
        retry_at: Timestamp,
    },
    /// It was started, or refused.
    StartSettled {
        pr: PrNumber,
    },
    PolicyWanted {},
    PolicyObserved {
        policy: MergePolicy,
    },
    /// An approval was taken away; people are told why as soon as the rules are read again.
    DismissalNoticed {
        pr: PrNumber,
        train_root: PrNumber,
    },
    DismissalTold {
        pr: PrNumber,
    },

    // ── Pull requests that came late ──
    /// Its predecessor has landed, and it was not prepared for that.
    LateFound {
        pr: PrNumber,
    },
    /// Written by versions that did not say of which head it was true.
    LateJoined {
        train_root: PrNumber,
        pr: PrNumber,
    },
    /// This head of a pull request contains the squash of its predecessor, or, without one, it does not.
    SquashContained {
        train_root: PrNumber,
        pr: PrNumber,
        squash: Option<Sha>,
        head_sha: Sha,
    },
    /// A train goes on without a pull request, and said so.
    PrLeftOut {
        pr: PrNumber,
    },
    /// A start takes these in again.
    PrsTakenIn {
        prs: Vec<PrNumber>,
    },
    /// It needs a person: nothing more is tried with this head.
    LateRefused {
        pr: PrNumber,
        head_sha: Sha,
    },
    /// It is related to its predecessor's squash, and stands on the default branch.
    LateReconciled {
        pr: PrNumber,
        squash: Sha,
    },

    // ── What landed and leaves its branch behind ──
    BranchOutlived {
        pr: PrNumber,
        branch: BranchName,
        head_sha: Sha,
    },
    BranchSettled {
        pr: PrNumber,
    },
}
