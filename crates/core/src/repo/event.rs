//! The events of a repository's stream. Their JSON is an interface: it is the exported log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::facts::{CommentFacts, HeadRepo, MergeState};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber, Sha, UserId};
use crate::inbox::Key;
use crate::train::{CascadePhase, TrainError};

use super::{NoteId, Request, Say};

/// An event with its place in the stream: a line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub seq: u64,
    pub ts: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    // ── Trains ──
    TrainStarted {
        root_pr: PrNumber,
        current_pr: PrNumber,
    },
    TrainStopped {
        root_pr: PrNumber,
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
    },
    DonePushPrep {
        train_root: PrNumber,
        branch: BranchName,
    },
    IntentSquash {
        train_root: PrNumber,
        pr: PrNumber,
    },
    IntentPushReconcile {
        train_root: PrNumber,
        branch: BranchName,
        pre_push_sha: Sha,
        expected_tree: Sha,
    },
    DonePushReconcile {
        train_root: PrNumber,
        branch: BranchName,
    },
    IntentPushCatchup {
        train_root: PrNumber,
        branch: BranchName,
        pre_push_sha: Sha,
        expected_tree: Sha,
    },
    DonePushCatchup {
        train_root: PrNumber,
        branch: BranchName,
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

    // ── Pull requests ──
    /// What GitHub says of a pull request, other than whether it is open.
    PrObserved {
        pr: PrNumber,
        head_ref: BranchName,
        head_sha: Sha,
        base_ref: BranchName,
        draft: bool,
        head_repo: HeadRepo,
        author: UserId,
        updated_at: Timestamp,
    },
    PrMerged {
        pr: PrNumber,
        /// GitHub can be seconds late with it.
        sha: Option<Sha>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    PrStateChanged {
        pr: PrNumber,
        /// `open` or `closed`.
        state: PrStateName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// GitHub has no pull request of this number.
    PrGone {
        pr: PrNumber,
    },
    PredecessorDeclared {
        pr: PrNumber,
        predecessor: PrNumber,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<CommentId>,
    },
    PredecessorRemoved {
        pr: PrNumber,
    },
    DefaultBranchChanged {
        default_branch: BranchName,
    },

    // ── What is known to be missing, and the reading of it ──
    PrWanted {
        pr: PrNumber,
        reason: WantReason,
        /// A command that waits for the pull request to be known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<CommentFacts>,
    },
    MergeStateOutdated {
        prs: Vec<PrNumber>,
    },
    MergeStateObserved {
        pr: PrNumber,
        head_sha: Sha,
        state: MergeState,
        draft: bool,
    },
    SyncRequested {
        reason: SyncReason,
    },
    SyncCompleted {},
    ReadFailed {
        read: ReadKind,
        reason: String,
        retry_at: Timestamp,
    },

    // ── What the bot says ──
    NoteOwed {
        note: NoteId,
        pr: PrNumber,
        #[serde(flatten)]
        say: Say,
    },
    NoteSaid {
        note: NoteId,
    },
    NoteDelayed {
        note: NoteId,
        reason: String,
        retry_at: Timestamp,
    },
    /// It cannot be said there: the conversation is locked, or the comment is gone.
    NoteDropped {
        note: NoteId,
        reason: String,
    },

    // ── The inbox ──
    /// The end of a delivery: written with all that it caused, and once for each that was acknowledged.
    DeliveryProcessed {
        delivery: DeliveryId,
        event: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        received_at: Timestamp,
        #[serde(flatten)]
        outcome: DeliveryOutcome,
    },

    /// The end of a request that came through the API.
    RequestProcessed {
        key: Key,
        request: Request,
        outcome: RequestOutcome,
    },

    // ── Housekeeping ──
    Pruned {
        prs: Vec<PrNumber>,
        dedupe_keys_before: Timestamp,
        /// Those of equal payloads are news again after seconds.
        brief_keys_before: Timestamp,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrStateName {
    Open,
    Merged,
    Closed,
}

/// Why a single pull request is to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantReason {
    /// An event named it and it was not known. Too many of these, and everything is read anew.
    CacheMiss,
    /// It was open, and a full look did not find it.
    AbsentFromSync,
    /// GitHub speaks of another head than the one known.
    HeadDiffers,
}

/// Why the whole repository is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncReason {
    Bootstrap,
    Periodic,
    Stale,
    TooManyMisses,
    /// Somebody asked for it.
    Operator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    Started,
    /// It was under way before it was asked for.
    UnderWay,
}

/// What was being read when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadKind {
    Repository,
    Pull(PrNumber),
    MergeStates,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// It was looked at in full; `dedupe_key` makes a repetition of it known.
    Applied {
        dedupe_key: String,
    },
    /// Another delivery told of the same event.
    Duplicate {
        dedupe_key: String,
    },
    /// Nothing that merge-train cares about.
    Ignored {
        reason: String,
    },
    Failed {
        reason: String,
    },
}
