//! The events of a repository's stream. Their JSON is an interface: it is the exported log.

mod parts;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::facts::{CiFacts, CommentFacts, HeadRepo, MergeState, ReviewDecision};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber, Sha, UserId};
use crate::inbox::Key;
use crate::repo::commands::StoredCommand;
use crate::repo::ratchet;
use crate::repo::settings::{OwnSettings, Problem, Verdict};
use crate::repo::trains::status::Why;
use crate::repo::trains::{CascadePhase, Policy, TrainError, TrainRecord};

use super::{NoteId, Request, Say, Standing};
use parts::is_default;

pub use parts::{
    Behest, CiWord, CommandOutcome, CommentRef, DeliveryOutcome, PrStateName, PushDetail, ReadKind, RequestOutcome,
    Shown, SyncReason, Trace, WantReason,
};

/// An event with its place in the stream: a line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub seq: u64,
    pub ts: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", remote = "Self")]
pub enum Event {
    // ── Trains ──
    TrainStarted {
        root_pr: PrNumber,
        current_pr: PrNumber,
        #[serde(flatten)]
        behest: Behest,
    },
    TrainStopped {
        root_pr: PrNumber,
        #[serde(flatten)]
        behest: Behest,
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
        why: Why,
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
    /// Somebody wants it to retry now.
    TrainNudged {
        train_root: PrNumber,
        #[serde(flatten)]
        behest: Behest,
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
        behest: Behest,
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
        policy: Policy,
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
    /// A comment that waited for a pull request to become known was edited or deleted: it does not count any more.
    CommentSuperseded {
        comment: CommentRef,
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

    // ── Commands: who gave them, and what came of it ──
    CommandGiven {
        comment: CommentRef,
        user: UserId,
        login: String,
        command: StoredCommand,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivery: Option<DeliveryId>,
    },
    CommandHandled {
        comment: CommentRef,
        user: UserId,
        command: StoredCommand,
        /// By which right: `author`, or what GitHub says.
        permission: String,
        #[serde(flatten)]
        outcome: CommandOutcome,
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<ReviewDecision>,
        #[serde(default, skip_serializing_if = "is_default")]
        ci: CiFacts,
    },
    /// CI said something about a commit.
    CiSeen {
        sha: Sha,
        #[serde(flatten)]
        what: CiWord,
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
        traces: Vec<Trace>,
    },
    SyncCompleted {},
    ReadFailed {
        read: ReadKind,
        reason: String,
        retry_at: Timestamp,
    },

    // ── What the repository says about itself ──
    /// A push touched the file.
    SettingsWanted {},
    /// It is what it was.
    SettingsConfirmed {},
    /// The file of the default branch, at this commit, is another.
    SettingsObserved {
        head_sha: Sha,
        /// None where there is no file.
        #[serde(default)]
        blob: Option<Sha>,
        /// None where something is wrong with it: those before stay in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<OwnSettings>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<Problem>,
    },
    /// This pull request may change the file.
    ProposalSuspected {
        pr: PrNumber,
        head_sha: Sha,
    },
    /// It is known whether it does.
    ProposalSettled {
        pr: PrNumber,
        head_sha: Sha,
        standing: Standing,
    },
    /// A check on this commit is to say what is thought of the file in it.
    CheckOwed {
        head_sha: Sha,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        #[serde(flatten)]
        verdict: Verdict,
    },
    CheckShown {
        head_sha: Sha,
    },
    CheckDelayed {
        head_sha: Sha,
        reason: String,
        retry_at: Timestamp,
    },
    /// GitHub does not take it.
    CheckDropped {
        head_sha: Sha,
        reason: String,
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
        /// Why there is nothing to do it to, for whoever asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<String>,
    },

    // ── Housekeeping ──
    Pruned {
        prs: Vec<PrNumber>,
        dedupe_keys_before: Timestamp,
        /// Those of equal payloads are news again after seconds.
        brief_keys_before: Timestamp,
    },

    /// What happens to workspaces. Each has a `type` of its own, as all above.
    #[serde(skip)]
    Ratchet(ratchet::Event),
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ratchet(event) => event.serialize(serializer),
            event => Self::serialize(event, serializer),
        }
    }
}

/// Which of both kinds an event is, its type tells; so that what is wrong with one can be told, too.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let is_ratchets = value["type"].as_str().is_some_and(ratchet::Event::has);
        let read =
            if is_ratchets { ratchet::Event::deserialize(value).map(Self::Ratchet) } else { Self::deserialize(value) };
        read.map_err(D::Error::custom)
    }
}

impl From<ratchet::Event> for Event {
    fn from(event: ratchet::Event) -> Self {
        Self::Ratchet(event)
    }
}
