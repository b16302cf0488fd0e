//! A repository's stream: its events, the state they add up to, and the decisions on what comes in.
//!
//! `decide` says what an input means, `apply` folds an event into the state. Nothing else changes the state, so a replay
//! of the events gives what was there before.

mod apply;
pub mod commands;
mod decide;
mod effect;
mod event;
pub mod mirror;
pub mod outbox;
mod pace;
pub mod ratchet;
mod run_view;
pub mod settings;
mod snapshot;
mod state;
pub mod trains;
mod transaction;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::facts::Delivery;
use crate::ids::{DeliveryId, PrNumber};
use crate::inbox::{Key, RequestHash};
use crate::repo::trains::message::SquashMessageTemplates;
use crate::repo::trains::work::{PushOutcome, PushProbeResult};
use ratchet::SessionId;

pub use apply::apply;
pub use decide::decide;
pub use effect::{Answer, Effect, EffectFailure, EffectFailureKind, EffectKey};
pub use event::{
    Attribution, CiReport, CommandOutcome, CommentRef, DeliveryOutcome, Event, FetchReason, PushDetail, ReadKind,
    RecordedEvent, RequestOutcome, StatusCommentPart, SyncReason, TrainTraces,
};
pub use mirror::reads::{attention, next_wake};
pub use outbox::{NoteContent, NoteId, PostAttempt, mark};
pub use ratchet::{LABEL_OFF, LABEL_ON, candidate};
pub use run_view::{FIXER, RunChange, TRAIN, WaitingFor, current_pull, landing, moves_runs, run_differs, runs_moved};
pub use settings::{CheckPublication, SettingsFileChange, SettingsFileReading};
pub use snapshot::{Position, Snapshot};
pub use state::{CachedPr, Lifecycle, PrState, RepoState, SyncProgress};

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
    /// An effect has ended.
    Completed { effect: Effect, requested_at: Timestamp, result: Result<Answer, EffectFailure> },
    /// The process of a fixer begins; its end is still to come.
    FixStarted { pr: PrNumber, at: Timestamp },
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
        behest: Attribution,
    },
    /// To stop the train that has this pull request on board.
    StopTrain {
        pr: PrNumber,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// To have the train that has this pull request on board look again at once, as `@merge-train retry` does.
    RetryTrain {
        pr: PrNumber,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// To turn the ratchet on or off: for a pull request, or for all without a setting of their own.
    Ratchet {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        on: bool,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// To have a closer look at these: a heartbeat saw something new.
    LookAt { prs: Vec<PrNumber> },
    /// To approve or reject what a fixer wants to push; which fixer, its start says.
    DecideFix {
        pr: PrNumber,
        at: Timestamp,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// To end a fixer.
    StopFix {
        pr: PrNumber,
        at: Timestamp,
        #[serde(flatten)]
        behest: Attribution,
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
pub struct CiDiagnosis {
    pub signature: Option<String>,
}

/// What became of a fixer's push on its way to GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardedPush {
    Pushed(PushOutcome),
    /// It was only looked for.
    Probed(PushProbeResult),
}

/// What an effect is done for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectOwner {
    Train(PrNumber),
    Fixer(PrNumber),
}

impl EffectOwner {
    /// The key of the effect that does its work.
    pub fn work(self) -> EffectKey {
        match self {
            Self::Train(root) => EffectKey::Trains(trains::EffectKey::Work(root)),
            Self::Fixer(pr) => EffectKey::Ratchet(ratchet::EffectKey::Fix(pr)),
        }
    }
}

/// What is to be recorded, and then done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    /// Whose effects under way are to end at once.
    pub cancels: Vec<EffectOwner>,
}

/// What the operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub resync_interval: SignedDuration,
    /// A state that nobody touched for longer is read again from GitHub.
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
    pub wording: SquashMessageTemplates,
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
            wording: SquashMessageTemplates::default(),
            ratchet: ratchet::Settings::default(),
        }
    }
}

#[cfg(test)]
mod tests;
