//! What GitHub said: the same facts, whether a webhook brought them or an answer of the API.

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
    /// The head that GitHub knows; its merge state can still be that of the head before.
    pub head_sha: Sha,
    pub state: MergeState,
    pub draft: bool,
}

/// All that a full look at a repository brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoFacts {
    pub default_branch: BranchName,
    /// The open ones, and those closed of late.
    pub pulls: Vec<PullFacts>,
    /// The declarations found in the comments of the open ones, oldest first.
    pub comments: Vec<CommentFacts>,
}

/// A comment in the conversation of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFacts {
    pub id: CommentId,
    pub pr: PrNumber,
    pub author: UserId,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
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
    pub happening: Happening,
}

/// What happened, as far as merge-train cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
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
            Happening::Pull(pull) => Some(pull.number),
            Happening::Comment(_, comment) => Some(comment.pr),
            Happening::Review { pull, .. } => Some(pull.number),
            Happening::ReviewTalk { pr } => Some(*pr),
            Happening::CheckSuite(CheckSuiteFacts { pulls, .. }) | Happening::CheckRun { pulls, .. } => {
                if let [only] = pulls.as_slice() { Some(*only) } else { None }
            }
            Happening::Status { .. }
            | Happening::Push { .. }
            | Happening::Installation
            | Happening::Ping
            | Happening::Other => None,
        }
    }
}
