//! A repository's stream: its events, the state they add up to, and the decisions on what comes in.
//!
//! `decide` says what an input means, `apply` folds an event into the state. Nothing else changes the state, so a replay
//! of the events gives what was there before.

mod apply;
pub mod commands;
mod decide;
mod event;
mod mirror;
mod outbox;
mod pace;
pub mod ratchet;
mod run_view;
pub mod settings;
mod snapshot;
mod state;
pub mod trains;
mod transaction;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::facts::Talk;
use crate::facts::{CommentFacts, Conversation, Delivery, Listing, MergeFacts, Permission, PullFacts};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber, Sha};
use crate::inbox::{Key, RequestHash};
use crate::repo::trains::Policy;
use crate::repo::trains::message::Wording;
use crate::repo::trains::work::{Outcome, Probed, Pushed, Work};
use ratchet::{FixEnd, FixPush, Issue, SessionId};
use settings::Verdict;

pub use apply::apply;
pub use decide::decide;
pub use event::{
    Behest, CiWord, CommandOutcome, CommentRef, DeliveryOutcome, Event, PushDetail, ReadKind, Recorded, RequestOutcome,
    Shown, SyncReason, Trace, WantReason,
};
pub use mirror::reads::{attention, next_wake};
pub use outbox::{NoteId, Say, Tried, mark};
pub use ratchet::{LABEL_OFF, LABEL_ON, candidate};
pub use run_view::{FIXER, RunMove, TRAIN, WaitingFor, current_pull, landing, moves_runs, run_differs, runs_moved};
pub use settings::{Reading, Showing, Standing};
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
    /// The answer to `Effect::ReadTalk`; those that GitHub does not have are absent.
    TalkRead { prs: Vec<PrNumber>, requested_at: Timestamp, result: Result<Vec<(PrNumber, Talk)>, Failure> },
    /// The answer to `Effect::Diagnose`.
    Diagnosed { pr: PrNumber, head: Sha, issue: Issue, result: Result<Diagnosis, Failure> },
    /// The process of a fixer begins; its end is still to come.
    FixStarted { pr: PrNumber, at: Timestamp },
    /// The answer to `Effect::Fix`.
    Fixed { pr: PrNumber, at: Timestamp, result: Result<FixEnd, Failure> },
    /// The answer to `Effect::Forward`.
    Forwarded { pr: PrNumber, at: Timestamp, result: Result<Forwarded, Failure> },
    /// The answer to `Effect::ClearFixer`.
    FixerCleared { pr: PrNumber, at: Timestamp, result: Result<(), Failure> },
    /// The answer to `Effect::ReadSettings`.
    SettingsRead { requested_at: Timestamp, result: Result<settings::File, Failure> },
    /// The answer to `Effect::ReadProposal`.
    ProposalRead { pr: PrNumber, head: Sha, result: Result<settings::Proposal, Failure> },
    /// The answer to `Effect::ShowCheck`.
    CheckShown { head: Sha, result: Result<Showing, Failure> },
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
    /// To turn the ratchet on or off: for a pull request, or for all that say nothing else.
    Ratchet {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        on: bool,
        #[serde(flatten)]
        behest: Behest,
    },
    /// To have a closer look at these: a heartbeat saw something new.
    LookAt { prs: Vec<PrNumber> },
    /// To approve or reject what a fixer wants to push; which fixer, its start says.
    DecideFix {
        pr: PrNumber,
        at: Timestamp,
        #[serde(flatten)]
        behest: Behest,
    },
    /// To end a fixer.
    StopFix {
        pr: PrNumber,
        at: Timestamp,
        #[serde(flatten)]
        behest: Behest,
    },
    /// Somebody is at work in a workspace, or gives a sign of life.
    Session {
        pr: PrNumber,
        session: SessionId,
        #[serde(default)]
        idle: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// A sign of life of a session that is known, and not a new one.
        #[serde(default)]
        again: bool,
    },
    /// It is over.
    EndSession {
        pr: PrNumber,
        session: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
}

/// What is wrong with a pull request, as far as it tells one failure from another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    pub signature: Option<String>,
}

/// What became of a fixer's push on its way to GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forwarded {
    Pushed(Pushed),
    /// It was only looked for.
    Probed(Probed),
}

/// What an effect is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Served {
    Train(PrNumber),
    Fixer(PrNumber),
}

impl Served {
    /// The key of the effect that does its work.
    pub fn work(self) -> EffectKey {
        match self {
            Self::Train(root) => EffectKey::Train(root),
            Self::Fixer(pr) => EffectKey::Fix(pr),
        }
    }
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
    /// Read what was said about these.
    ReadTalk {
        prs: Vec<PrNumber>,
    },
    /// Find out what is wrong with a pull request, and write down what a fixer is told of it.
    Diagnose {
        pr: PrNumber,
        issue: Issue,
        branch: BranchName,
        base: BranchName,
        head: Sha,
        conflicts: bool,
        /// What a fixer dealt with before.
        handled: BTreeMap<String, Timestamp>,
    },
    /// Let a fixer mend a pull request, to its end. Begun again after a crash, it goes on with what the first left.
    Fix {
        pr: PrNumber,
        /// When it was sent: its name.
        at: Timestamp,
        issue: Issue,
        branch: BranchName,
        base: BranchName,
        head: Sha,
        conflicts: bool,
        handled: BTreeMap<String, Timestamp>,
    },
    /// Push to GitHub what a fixer pushed; or only look whether that is there.
    Forward {
        pr: PrNumber,
        at: Timestamp,
        branch: BranchName,
        push: FixPush,
        doubted: bool,
    },
    /// Remove what a fixer that has ended leaves behind.
    ClearFixer {
        pr: PrNumber,
        at: Timestamp,
        head: Sha,
    },
    /// Read what the repository says about itself, on its default branch.
    ReadSettings {
        default: BranchName,
    },
    /// Find out whether a pull request changes that, and what it would say.
    ReadProposal {
        pr: PrNumber,
        head: Sha,
    },
    /// Have a check on a commit say this of the file in it: the one that does so already, or a new one.
    ShowCheck {
        head: Sha,
        verdict: Verdict,
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
            Self::ReadTalk { .. } => "read_talk",
            Self::Diagnose { .. } => "diagnose",
            Self::Fix { .. } => "fix",
            Self::Forward { doubted: false, .. } => "forward",
            Self::Forward { doubted: true, .. } => "probe_forward",
            Self::ClearFixer { .. } => "clear_fixer",
            Self::ReadSettings { .. } => "read_settings",
            Self::ReadProposal { .. } => "read_proposal",
            Self::ShowCheck { .. } => "show_check",
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
            Self::ReadTalk { prs } => Input::TalkRead { prs, requested_at, result: Err(failure) },
            Self::Diagnose { pr, head, issue, .. } => Input::Diagnosed { pr, head, issue, result: Err(failure) },
            Self::Fix { pr, at, .. } => Input::Fixed { pr, at, result: Err(failure) },
            Self::Forward { pr, at, .. } => Input::Forwarded { pr, at, result: Err(failure) },
            Self::ClearFixer { pr, at, .. } => Input::FixerCleared { pr, at, result: Err(failure) },
            Self::ReadSettings { .. } => Input::SettingsRead { requested_at, result: Err(failure) },
            Self::ReadProposal { pr, head } => Input::ProposalRead { pr, head, result: Err(failure) },
            Self::ShowCheck { head, .. } => Input::CheckShown { head, result: Err(failure) },
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
            Self::ReadTalk { .. } => EffectKey::ReadTalk,
            Self::Diagnose { pr, .. } => EffectKey::Diagnose(*pr),
            Self::Fix { pr, .. } => EffectKey::Fix(*pr),
            Self::Forward { pr, .. } => EffectKey::Forward(*pr),
            Self::ClearFixer { pr, at, .. } => EffectKey::ClearFixer(*pr, *at),
            Self::ReadSettings { .. } => EffectKey::ReadSettings,
            Self::ReadProposal { pr, .. } => EffectKey::ReadProposal(*pr),
            Self::ShowCheck { .. } => EffectKey::ShowCheck,
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
    ReadTalk,
    Diagnose(PrNumber),
    Fix(PrNumber),
    Forward(PrNumber),
    ClearFixer(PrNumber, Timestamp),
    ReadSettings,
    ReadProposal(PrNumber),
    ShowCheck,
}

/// What is to be recorded, and then done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    /// Whose effects under way are to end at once.
    pub cancels: Vec<Served>,
}

/// What the operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// How squashes are worded.
    pub wording: Wording,
    pub ratchet: ratchet::Settings,
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
            wording: Wording::default(),
            ratchet: ratchet::Settings::default(),
        }
    }
}

#[cfg(test)]
mod tests;
