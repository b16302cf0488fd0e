//! What GitHub said: the same facts, whether a webhook brought them or an answer of the API.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{BranchName, CheckSuiteId, CommentId, DeliveryId, PrNumber, RepoId, Sha, UserId};

/// A pull request, as GitHub described it at `updated_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullFacts {
    pub number: PrNumber,
    pub head_ref: BranchName,
    pub head_sha: Sha,
    pub head_repo: HeadRepo,
    pub base_ref: BranchName,
    pub state: PullState,
    pub draft: bool,
    pub author: UserId,
    pub updated_at: Timestamp,
    /// Its place in a stack that GitHub itself keeps, the bottom being 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_position: Option<u32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The names of its labels.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
}

/// Where the head branch lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadRepo {
    /// In the repository that the pull request is for.
    Same,
    /// In a fork, or in a fork that was deleted since: the bot cannot push there and leaves it alone.
    Fork,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PullState {
    Open,
    /// GitHub can be seconds late with the commit that the merge made.
    Merged {
        merge_commit_sha: Option<Sha>,
        at: Timestamp,
    },
    Closed {
        at: Timestamp,
    },
}

/// GitHub's `mergeStateStatus`: all rules of the branch, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MergeState {
    Clean,
    Unstable,
    Blocked,
    Behind,
    Dirty,
    HasHooks,
    Draft,
    Unknown,
}

/// What GitHub's GraphQL says about whether a pull request can be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeFacts {
    pub number: PrNumber,
    pub is_open: bool,
    /// The head that GitHub knows; its merge state can still be that of the head before.
    pub head_sha: Sha,
    /// What it would be merged into.
    pub base_ref: BranchName,
    pub state: MergeState,
    pub draft: bool,
    /// What GitHub says of the reviews; none where none are asked for.
    pub review: Option<ReviewDecision>,
    /// What CI says of that head.
    pub ci: CiFacts,
    /// What that head has where a repository says something about itself.
    #[serde(default)]
    pub own_file: SettingsFileContent,
}

/// What a commit has in the place of the file in which a repository says something about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsFileContent {
    /// Nobody looked.
    #[default]
    Unseen,
    Absent,
    Blob(Sha),
}

/// What was said about a pull request: enough to tell whether anything of it is new, edited, taken back or resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewActivity {
    /// Another text whenever something was said, edited, deleted, submitted, dismissed or resolved, as far as can be seen
    /// without looking into each thread.
    pub overview: String,
    /// None where nobody looked into the threads.
    pub detail: Option<ReviewThreadActivity>,
}

/// What a look into each thread of the reviews shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewThreadActivity {
    /// Another text whenever a comment of a thread is new, edited or gone, or a thread was resolved or opened again.
    pub mark: String,
    /// What reviewers want, and has not been resolved. What merge-train itself said is not among it.
    pub points: Vec<ReviewerRequest>,
}

/// Something that a reviewer wants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReviewerRequest {
    /// GitHub's name for the thread or the review.
    pub id: String,
    /// When it was last said or edited, by whoever is not merge-train.
    pub said_at: Timestamp,
}

/// What a heartbeat sees of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatFacts {
    pub repo: RepoId,
    pub merge: MergeFacts,
    pub talk: ReviewActivity,
}

/// GitHub's `reviewDecision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewDecision {
    Approved,
    ChangesRequested,
    ReviewRequired,
}

/// What CI says of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CiFacts {
    /// Whether each suite that has runs is complete.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub suites: BTreeMap<CheckSuiteId, CheckProgress>,
    /// The runs of the suites and the statuses, by name; of several with one name, the worst.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, Check>,
    /// What GitHub says all of them come to, where there are more than these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall: Option<CheckConclusion>,
    /// When the newest of them began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
}

impl CiFacts {
    /// Which run of CI it is: another for each that begins, on the same commit as well. None where nothing was reported.
    pub fn run_id(&self) -> Option<String> {
        let suite = self.suites.keys().next_back().map(ToString::to_string);
        let status = || (!self.checks.is_empty()).then(|| "status".to_owned());
        let name = suite.or_else(status)?;
        Some(self.began.map_or_else(|| name.clone(), |began| format!("{name}@{began}")))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckProgress {
    UnderWay,
    Complete,
}

/// A check run or a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub verdict: CheckConclusion,
    /// Whether the rules of the branch ask for it.
    pub required: bool,
}

/// What a check came to. Success, neutral and skipped are all passed, as GitHub counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckConclusion {
    Passed,
    Pending,
    Failed,
}

/// What a repository has, before anybody looked into the conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoListing {
    pub default_branch: BranchName,
    /// The open ones, and those closed of late.
    pub pulls: Vec<PullFacts>,
    /// Whom GitHub takes merge-train for.
    pub bot: UserId,
}

/// What was said under a pull request, as far as it concerns merge-train.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationFacts {
    pub pr: PrNumber,
    /// Who merged it; none where nobody did, or where that cannot be told.
    pub merged_by: Option<UserId>,
    /// What addresses the bot, and the bot's own status comments; oldest first.
    pub comments: Vec<CommentFacts>,
    /// Those of them that the bot itself gave a thumbs up.
    pub acknowledged: BTreeSet<CommentId>,
    /// The heads that the pull request had before it was force-pushed, as far as GitHub knows them; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_heads: Vec<Sha>,
}

/// All that a full look at a repository brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoFacts {
    pub default_branch: BranchName,
    /// The open ones, and those closed of late.
    pub pulls: Vec<PullFacts>,
    /// The declarations found in the comments of the open ones, oldest first.
    pub comments: Vec<CommentFacts>,
    /// Whom GitHub takes merge-train for.
    pub bot: UserId,
}

/// A comment in the conversation of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFacts {
    pub id: CommentId,
    pub pr: PrNumber,
    pub author: UserId,
    /// By which GitHub is asked what the author may do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub login: String,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What somebody may do in a repository, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

/// One delivery of a webhook, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    /// The name of the event, as in `X-GitHub-Event`.
    pub event: String,
    pub action: Option<String>,
    /// None for what concerns the whole app: `ping`, `installation`.
    pub repo: Option<RepoId>,
    /// As the payload has it.
    pub default_branch: Option<BranchName>,
    pub happening: WebhookEvent,
}

/// What happened, as far as merge-train cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookEvent {
    /// `opened`, `closed`, `synchronize`, …: the action is the delivery's.
    Pull(PullFacts),
    /// A comment on a pull request was created, edited or deleted.
    Comment(CommentChange, CommentFacts),
    CheckSuite(CheckSuiteFacts),
    /// `check_run`, with the suite's head.
    CheckRun {
        head_sha: Sha,
        pulls: Vec<PrNumber>,
    },
    Status {
        sha: Sha,
        state: StatusState,
        context: String,
    },
    /// A review was submitted, edited or dismissed.
    Review {
        pull: ReviewedPull,
        state: ReviewState,
    },
    /// A comment or a thread of a review.
    ReviewTalk {
        pr: PrNumber,
    },
    Push {
        branch: BranchName,
        after: Sha,
        /// Whether it changes, or may change, the file in which a repository says something about itself.
        touches_own_file: bool,
    },
    /// The app was installed, suspended or given other repositories.
    Installation,
    Ping,
    /// A comment on an issue, and all events that merge-train does not know.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentChange {
    Created,
    Edited,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSuiteFacts {
    pub id: CheckSuiteId,
    pub head_sha: Sha,
    /// Set once it is complete.
    pub conclusion: Option<String>,
    pub updated_at: Timestamp,
    /// Those of the same repository whose head it is; GitHub leaves out forks.
    pub pulls: Vec<PrNumber>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusState {
    Pending,
    Success,
    Failure,
    Error,
}

/// The pull request inside a review's webhook: less than in a `pull_request` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedPull {
    pub number: PrNumber,
    pub head_sha: Sha,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    Pending,
}

impl Delivery {
    /// The pull request it is about, where it names exactly one.
    pub fn pr(&self) -> Option<PrNumber> {
        match &self.happening {
            WebhookEvent::Pull(pull) => Some(pull.number),
            WebhookEvent::Comment(_, comment) => Some(comment.pr),
            WebhookEvent::Review { pull, .. } => Some(pull.number),
            WebhookEvent::ReviewTalk { pr } => Some(*pr),
            WebhookEvent::CheckSuite(CheckSuiteFacts { pulls, .. }) | WebhookEvent::CheckRun { pulls, .. } => {
                if let [only] = pulls.as_slice() { Some(*only) } else { None }
            }
            WebhookEvent::Status { .. }
            | WebhookEvent::Push { .. }
            | WebhookEvent::Installation
            | WebhookEvent::Ping
            | WebhookEvent::Other => None,
        }
    }
}
