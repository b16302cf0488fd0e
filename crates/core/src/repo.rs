//! A repository's stream: its events, the state they add up to, and the decisions on what comes in.
//!
//! `decide` says what an input means, `apply` folds an event into the state. Nothing else changes the state, so a replay
//! of the events gives what was there before.

mod apply;
mod commands;
mod comments;
mod decide;
mod delivery;
mod draft;
mod event;
mod membership;
mod outbox;
mod prune;
mod reads;
mod runs;
mod snapshot;
mod stack;
mod state;
mod trains;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::facts::{CommentFacts, Conversation, Delivery, Listing, MergeFacts, Permission, PullFacts};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber, Sha};
use crate::inbox::{Key, RequestHash};
use crate::train::Policy;
use crate::train::work::{Outcome, Work};

pub use apply::apply;
pub use decide::decide;
pub use event::{
    Behest, CiWord, CommandOutcome, CommentRef, DeliveryOutcome, Event, PushDetail, ReadKind, Recorded, RequestOutcome,
    Shown, SyncReason, Trace, WantReason,
};
pub use outbox::{NoteId, Say, Tried, mark};
pub use reads::{attention, next_wake};
pub use runs::{RunMove, TRAIN, moves_trains, run_differs, runs_moved};
pub use snapshot::{Position, Snapshot};
pub use state::{CachedPr, Lifecycle, PrState, Progress, RepoState};

/// Something that the repository's worker has to think about.
#[derive(Debug, Clone)]
pub enum Input {
    /// The worker has loaded the state and goes on where it, or another, left off.
    Resume,
    /// A webhook.
    Delivery { delivery: Delivery, hash: RequestHash, received_at: Timestamp },
    /// A delivery that cannot be acted on: its payload is not what GitHub sends, or its worker died of it.
    Unusable { id: DeliveryId, event: String, received_at: Timestamp, reason: String },
    /// Somebody asked for something through the API.
    Asked { key: Key, request: Request },
    /// The answer to `Effect::Survey`.
    Surveyed { requested_at: Timestamp, result: Result<Listing, Failure> },
    /// The answer to `Effect::ReadConversations`; those that GitHub does not have are absent.
    ConversationsRead { prs: Vec<PrNumber>, requested_at: Timestamp, result: Result<Vec<Conversation>, Failure> },
    /// The answer to `Effect::FetchPull`; none where GitHub has no such pull request.
    Fetched { pr: PrNumber, requested_at: Timestamp, result: Result<Option<PullFacts>, Failure> },
    /// The answer to `Effect::ReadMergeStates`; those that GitHub does not have are absent.
    MergeStates { prs: Vec<PrNumber>, requested_at: Timestamp, result: Result<Vec<MergeFacts>, Failure> },
    /// The answer to `Effect::Say`.
    Said { note: NoteId, result: Result<(), Failure> },
    /// The answer to `Effect::Train`, with the work that it answers.
    Worked { root: PrNumber, work: Work, result: Result<Outcome, Failure> },
    /// The answer to `Effect::WriteStatus`: the comment that holds it now.
    StatusWritten { root: PrNumber, seq: u64, result: Result<CommentId, Failure> },
    /// The answer to `Effect::ReadStatus`; none where the comment is gone.
    StatusRead { root: PrNumber, comment: CommentId, result: Result<Option<CommentFacts>, Failure> },
    /// The answer to `Effect::ReadPolicy`.
    PolicyRead { result: Result<Policy, Failure> },
    /// The answer to `Effect::ReadPermission`.
    PermissionRead { comment: CommentId, result: Result<Permission, Failure> },
    /// The answer to `Effect::DeleteBranch`.
    BranchDeleted { pr: PrNumber, result: Result<(), Failure> },
    /// The time that `next_wake` asked for has come.
    Tick,
    /// Time to forget what is not needed any more.
    Housekeeping,
}

/// What can be asked for through the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To look at the whole repository now.
    Sync,
    /// To start a train, as `@merge-train start` on that pull request does.
    StartTrain {
        pr: PrNumber,
        #[serde(flatten)]
        behest: Behest,
    },
    /// To stop the train that has this pull request on board.
    StopTrain {
        pr: PrNumber,
        #[serde(flatten)]
        behest: Behest,
    },
    /// To have the train that has this pull request on board look again at once, as `@merge-train retry` does.
    RetryTrain {
        pr: PrNumber,
        #[serde(flatten)]
        behest: Behest,
    },
}

/// Why an effect did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub reason: String,
    pub kind: FailureKind,
    /// Not before this, if GitHub said so.
    pub retry_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// May go away by itself.
    Transient,
    /// Will not go away before somebody changes something on GitHub.
    Permanent,
}

/// Something to be done outside. Its result comes back as an input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// See what the repository has: its default branch, its pull requests, and as whom GitHub knows merge-train.
    Survey,
    /// Read what was said under these pull requests.
    ReadConversations {
        prs: Vec<PrNumber>,
    },
    FetchPull {
        pr: PrNumber,
    },
    /// Of open pull requests only.
    ReadMergeStates {
        prs: Vec<PrNumber>,
    },
    /// Say something on a pull request.
    Say {
        note: NoteId,
        pr: PrNumber,
        say: Say,
        /// When it became owed: part of its mark.
        since: Timestamp,
        tried: Tried,
    },
    /// One thing for a train; also for one that is to start, and for what is left to do when it has ended.
    Train {
        root: PrNumber,
        work: Work,
    },
    /// Make the status comment on `root` say this: `comment` if it is known, another if that is gone.
    WriteStatus {
        root: PrNumber,
        comment: Option<CommentId>,
        body: String,
        /// Which state of the record it shows.
        seq: u64,
    },
    /// Read the status comment of a train back: what it shows may be newer than what is remembered.
    ReadStatus {
        root: PrNumber,
        comment: CommentId,
    },
    /// Read the settings of the repository, and the rules of its default branch.
    ReadPolicy {
        default: BranchName,
    },
    /// Read what the author of a comment may do.
    ReadPermission {
        comment: CommentId,
        login: String,
    },
    /// Delete the branch of a pull request that has landed, if it is still where it was.
    DeleteBranch {
        pr: PrNumber,
        branch: BranchName,
        head: Sha,
    },
}

impl Effect {
    /// What it is to a reader of metrics and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::ReadConversations { .. } => "read_conversations",
            Self::FetchPull { .. } => "fetch_pull",
            Self::ReadMergeStates { .. } => "read_merge_states",
            Self::Say { .. } => "say",
            Self::Train { work, .. } => work.name(),
            Self::WriteStatus { .. } => "write_status",
            Self::ReadStatus { .. } => "read_status",
            Self::ReadPolicy { .. } => "read_policy",
            Self::ReadPermission { .. } => "read_permission",
            Self::DeleteBranch { .. } => "delete_branch",
        }
    }

    /// The input that says it did not succeed.
    pub fn failed(self, requested_at: Timestamp, failure: Failure) -> Input {
        match self {
            Self::Survey => Input::Surveyed { requested_at, result: Err(failure) },
            Self::ReadConversations { prs } => Input::ConversationsRead { prs, requested_at, result: Err(failure) },
            Self::FetchPull { pr } => Input::Fetched { pr, requested_at, result: Err(failure) },
            Self::ReadMergeStates { prs } => Input::MergeStates { prs, requested_at, result: Err(failure) },
            Self::Say { note, .. } => Input::Said { note, result: Err(failure) },
            Self::Train { root, work } => Input::Worked { root, work, result: Err(failure) },
            Self::WriteStatus { root, seq, .. } => Input::StatusWritten { root, seq, result: Err(failure) },
            Self::ReadStatus { root, comment } => Input::StatusRead { root, comment, result: Err(failure) },
            Self::ReadPolicy { .. } => Input::PolicyRead { result: Err(failure) },
            Self::ReadPermission { comment, .. } => Input::PermissionRead { comment, result: Err(failure) },
            Self::DeleteBranch { pr, .. } => Input::BranchDeleted { pr, result: Err(failure) },
        }
    }

    /// Two effects of one key need not be under way at once: the later is asked for again when the first has ended.
    pub fn key(&self) -> EffectKey {
        match self {
            Self::Survey => EffectKey::Survey,
            // Each batch has numbers of its own.
            Self::ReadConversations { prs } => EffectKey::ReadConversations(prs.first().copied()),
            Self::FetchPull { pr } => EffectKey::FetchPull(*pr),
            Self::ReadMergeStates { .. } => EffectKey::ReadMergeStates,
            Self::Say { note, .. } => EffectKey::Say(*note),
            Self::Train { root, .. } => EffectKey::Train(*root),
            Self::WriteStatus { root, .. } => EffectKey::WriteStatus(*root),
            Self::ReadStatus { root, .. } => EffectKey::ReadStatus(*root),
            Self::ReadPolicy { .. } => EffectKey::ReadPolicy,
            Self::ReadPermission { comment, .. } => EffectKey::ReadPermission(*comment),
            Self::DeleteBranch { pr, .. } => EffectKey::DeleteBranch(*pr),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    Survey,
    ReadConversations(Option<PrNumber>),
    FetchPull(PrNumber),
    ReadMergeStates,
    Say(NoteId),
    Train(PrNumber),
    WriteStatus(PrNumber),
    ReadStatus(PrNumber),
    ReadPolicy,
    ReadPermission(CommentId),
    DeleteBranch(PrNumber),
}

/// What is to be recorded, and then done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    /// Trains whose effects under way are to end at once.
    pub cancels: Vec<PrNumber>,
}

/// What the operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub resync_interval: SignedDuration,
    /// A state that nobody touched for longer is read anew from GitHub.
    pub staleness_threshold: SignedDuration,
    pub dedupe_ttl: SignedDuration,
    pub pr_retention: SignedDuration,
    pub max_prs_in_snapshot: usize,
    /// The most pull requests that a train may have.
    pub max_stack_size: usize,
    /// How long GitHub may take to settle something before that is worth a warning.
    pub wait_timeout: SignedDuration,
    /// For how long the rules of the repository are remembered.
    pub policy_ttl: SignedDuration,
    /// How often the trains are looked after although no webhook came, give or take a fifth.
    pub poll_interval: SignedDuration,
    /// Differs from repository to repository, so that not all are polled at once.
    pub stagger: u64,
    /// Whether a stack starts by itself once its root is approved and its checks have passed.
    pub auto_start: bool,
    /// Whether the branch of a pull request is deleted once it has landed and nothing is based on it.
    pub delete_branches: bool,
    /// Whether everything is merged in the background, and not only what GitHub demands it for.
    pub merge_in_background: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resync_interval: SignedDuration::from_hours(1),
            staleness_threshold: SignedDuration::from_hours(1),
            dedupe_ttl: SignedDuration::from_hours(24),
            pr_retention: SignedDuration::from_hours(30 * 24),
            max_prs_in_snapshot: 1000,
            max_stack_size: 50,
            wait_timeout: SignedDuration::from_mins(5),
            policy_ttl: SignedDuration::from_hours(1),
            poll_interval: SignedDuration::from_mins(10),
            stagger: 0,
            auto_start: false,
            delete_branches: false,
            merge_in_background: false,
        }
    }
}

#[cfg(test)]
mod tests;
