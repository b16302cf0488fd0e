//! What events are made of.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::facts::{CheckConclusion, CheckProgress};
use crate::ids::{CheckSuiteId, CommentId, DeliveryId, PrNumber, Sha};
use crate::repo::trains::TrainRecord;
use crate::workflow::{Decision, TriggerSource};

/// Who wants something, and what they say to it. Empty where nobody in particular does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attribution {
    /// `github:octocat`, `api:ops`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What they decided, where a train waited for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The delivery that brought their word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryId>,
}

impl Attribution {
    /// The way that it came in, which whoever wants it is named after.
    pub fn source(&self) -> TriggerSource {
        match self.by.as_deref().and_then(|who| who.split_once(':')) {
            Some(("api", _)) => TriggerSource::Api,
            Some(("slack", _)) => TriggerSource::Ui,
            _ => TriggerSource::Webhook,
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What an intent to push holds beyond what the specification asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PushDetail {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr: Option<PrNumber>,
    /// The commit that was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Sha>,
    /// What it brings into the branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<Sha>,
}

/// A comment and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommentRef {
    pub pr: PrNumber,
    pub id: CommentId,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CommandOutcome {
    Done,
    Refused { reason: String },
}

/// A suite or a status, as a webhook tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiReport {
    Suite { id: CheckSuiteId, progress: CheckProgress },
    Status { context: String, verdict: CheckConclusion },
}

pub(in crate::repo) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrStateName {
    Open,
    Merged,
    Closed,
}

/// What the conversation of a pull request tells of trains that nobody remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainTraces {
    pub pr: PrNumber,
    /// The last order that the bot acknowledged there: when it was given, if it is a `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The same, if it is a `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    /// The bot merged it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub merged_by_bot: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub shown: StatusCommentPart,
}

/// What of a status comment is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusCommentPart {
    #[default]
    Nothing,
    /// Somebody else wrote what looks like one: an impostor, or the bot under another name.
    ByAnother,
    /// The record of a train, in this comment, which was last changed then.
    Record { record: Box<TrainRecord>, comment: CommentId, updated_at: Timestamp },
    /// The last word on a train; it went on as these, where it parted.
    Closed { new_roots: Vec<PrNumber> },
}

/// Why a single pull request is to be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchReason {
    /// An event named it and it was not known. Too many of these, and everything is read again.
    CacheMiss,
    /// It was open, and a full look did not find it.
    AbsentFromSync,
    /// GitHub speaks of another head than the one known.
    HeadDiffers,
    /// What stands on it was given another base: GitHub does that, too, when it has landed.
    BaseChanged,
}

/// Why a full sync is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncReason {
    Bootstrap,
    Periodic,
    Stale,
    TooManyMisses,
    /// A pull request is not open any more, and nobody said so.
    Missed,
    /// Somebody asked for it.
    Operator,
    /// GitHub knows more of a train than is remembered here.
    Behind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    Started,
    /// It was under way before it was asked for.
    UnderWay,
    /// There is nothing to do it to.
    Nothing,
}

/// What was being read when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadKind {
    Repository,
    Pull(PrNumber),
    MergeStates,
    Policy,
    /// What the author of this comment may do.
    Permission(CommentId),
    /// Not read but removed: the branch of this pull request.
    Branch(PrNumber),
    /// What was said about pull requests.
    Talk,
    /// What the repository says about itself.
    Settings,
    /// What this pull request would have it say.
    Proposal(PrNumber),
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
