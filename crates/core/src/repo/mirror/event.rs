//! What is known of GitHub, and what was read or heard. These are events of the repository's stream; their JSON is an interface.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::facts::{CiFacts, CommentFacts, HeadRepo, MergeState, ReviewDecision};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber, Sha, UserId};
use crate::repo::event::{
    CiReport, CommentRef, DeliveryOutcome, FetchReason, PrStateName, ReadKind, SyncReason, TrainTraces, is_default,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stack_position: Option<u32>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
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
        reason: FetchReason,
        /// A command that waits for the pull request to be known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<CommentFacts>,
    },
    /// A comment that waited for a pull request to become known was edited or deleted: it does not count any more.
    CommentSuperseded {
        comment: CommentRef,
    },
    MergeStateOutdated {
        prs: Vec<PrNumber>,
    },
    MergeStateObserved {
        pr: PrNumber,
        head_sha: Sha,
        state: MergeState,
        draft: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewDecision>,
        #[serde(default, skip_serializing_if = "is_default")]
        ci: CiFacts,
    },
    /// CI said something about a commit.
    CiSeen {
        sha: Sha,
        #[serde(flatten)]
        what: CiReport,
    },
    /// Whom GitHub takes merge-train for.
    BotKnown {
        user: UserId,
    },
    SyncRequested {
        reason: SyncReason,
    },
    /// Which pull requests there are is known; the conversations under these are to be read.
    RepositoryListed {
        unread: Vec<PrNumber>,
    },
    /// These were found on the way: what a pull request declares to stand on is older than what was listed.
    ConversationsWanted {
        prs: Vec<PrNumber>,
    },
    ConversationsHeard {
        prs: Vec<PrNumber>,
        /// What tells of trains there, as long as nothing else does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        traces: Vec<TrainTraces>,
    },
    /// Heads that a pull request had before it was force-pushed, as GitHub remembers them.
    FormerHeadsHeard {
        pr: PrNumber,
        heads: Vec<Sha>,
    },
    SyncCompleted {},
    ReadFailed {
        read: ReadKind,
        reason: String,
        retry_at: Timestamp,
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

    // ── Housekeeping ──
    Pruned {
        prs: Vec<PrNumber>,
        dedupe_keys_before: Timestamp,
        /// Those of equal payloads are news again after seconds.
        brief_keys_before: Timestamp,
    },
}
