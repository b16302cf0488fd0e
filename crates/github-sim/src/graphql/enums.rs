//! GitHub's enums, and how the world's values translate.

use async_graphql::{Enum, InputObject};

use crate::rollup::RollupState;
use crate::world;

/// An enum of GitHub's, with what it is read from: `from Type { Theirs => Ours, … }`.
macro_rules! github_enum {
    ($name:ident { $($value:ident),* $(,)? } $(from $source:ty { $($theirs:pat => $ours:ident),* $(,)? })?) => {
        #[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($value),* }

        $(impl From<$source> for $name {
            fn from(value: $source) -> Self {
                match value { $($theirs => Self::$ours),* }
            }
        })?
    };
}

github_enum!(PullRequestState { Closed, Merged, Open });
github_enum!(IssueState { Closed, Open } from world::IssueState {
    world::IssueState::Open => Open, world::IssueState::Closed => Closed,
});
github_enum!(IssueStateReason { Completed, NotPlanned, Reopened });
github_enum!(MergeableState { Conflicting, Mergeable, Unknown } from Option<bool> {
    Some(true) => Mergeable, Some(false) => Conflicting, None => Unknown,
});
github_enum!(MergeStateStatus { Behind, Blocked, Clean, Dirty, Draft, HasHooks, Unknown, Unstable } from &str {
    "BEHIND" => Behind, "BLOCKED" => Blocked, "CLEAN" => Clean, "DIRTY" => Dirty, "DRAFT" => Draft,
    "HAS_HOOKS" => HasHooks, "UNSTABLE" => Unstable, _ => Unknown,
});
github_enum!(PullRequestReviewDecision { Approved, ChangesRequested, ReviewRequired } from &str {
    "APPROVED" => Approved, "CHANGES_REQUESTED" => ChangesRequested, _ => ReviewRequired,
});
github_enum!(PullRequestReviewState { Approved, ChangesRequested, Commented, Dismissed, Pending }
from world::ReviewState {
    world::ReviewState::Approved => Approved, world::ReviewState::ChangesRequested => ChangesRequested,
    world::ReviewState::Commented => Commented, world::ReviewState::Dismissed => Dismissed,
    world::ReviewState::Pending => Pending,
});
github_enum!(PullRequestReviewEvent { Approve, Comment, Dismiss, RequestChanges });
github_enum!(PullRequestUpdateState { Closed, Open });
github_enum!(PullRequestBranchUpdateMethod { Merge, Rebase });
github_enum!(PullRequestReviewCommentState { Pending, Submitted });
github_enum!(PullRequestReviewThreadSubjectType { File, Line } from &str { "file" => File, _ => Line });
github_enum!(DiffSide { Left, Right } from world::Side {
    world::Side::Left => Left, world::Side::Right => Right,
});
github_enum!(CommentAuthorAssociation {
    Collaborator, Contributor, FirstTimer, FirstTimeContributor, Mannequin, Member, None, Owner,
} from &str {
    "OWNER" => Owner, "MEMBER" => Member, "COLLABORATOR" => Collaborator, "CONTRIBUTOR" => Contributor,
    "FIRST_TIME_CONTRIBUTOR" => FirstTimeContributor, "FIRST_TIMER" => FirstTimer, "MANNEQUIN" => Mannequin, _ => None,
});
github_enum!(StatusState { Error, Expected, Failure, Pending, Success } from RollupState {
    RollupState::Success => Success, RollupState::Expected => Expected, RollupState::Pending => Pending,
    RollupState::Error => Error, RollupState::Failure => Failure,
});
github_enum!(CheckStatusState { Completed, InProgress, Pending, Queued, Requested, Waiting } from world::RunStatus {
    world::RunStatus::Queued => Queued, world::RunStatus::InProgress => InProgress,
    world::RunStatus::Completed => Completed, world::RunStatus::Waiting => Waiting,
    world::RunStatus::Requested => Requested, world::RunStatus::Pending => Pending,
});
github_enum!(CheckConclusionState {
    ActionRequired, Cancelled, Failure, Neutral, Skipped, Stale, StartupFailure, Success, TimedOut,
} from world::RunConclusion {
    world::RunConclusion::ActionRequired => ActionRequired, world::RunConclusion::Cancelled => Cancelled,
    world::RunConclusion::Failure => Failure, world::RunConclusion::Neutral => Neutral,
    world::RunConclusion::Success => Success, world::RunConclusion::Skipped => Skipped,
    world::RunConclusion::Stale => Stale, world::RunConclusion::TimedOut => TimedOut,
    world::RunConclusion::StartupFailure => StartupFailure,
});
github_enum!(CheckRunType { All, Latest });
github_enum!(CheckRunState {
    ActionRequired,
    Cancelled,
    Completed,
    Failure,
    InProgress,
    Neutral,
    Pending,
    Queued,
    Skipped,
    Stale,
    StartupFailure,
    Success,
    TimedOut,
    Waiting,
});
github_enum!(CheckAnnotationLevel { Failure, Notice, Warning } from &str {
    "failure" => Failure, "warning" => Warning, _ => Notice,
});
github_enum!(RepositoryPermission { Admin, Maintain, Read, Triage, Write } from world::RepoRole {
    world::RepoRole::Admin => Admin, world::RepoRole::Maintain => Maintain, world::RepoRole::Write => Write,
    world::RepoRole::Triage => Triage, world::RepoRole::Read => Read,
});
github_enum!(RepositoryVisibility { Internal, Private, Public });
github_enum!(PullRequestMergeMethod { Merge, Rebase, Squash } from world::MergeMethod {
    world::MergeMethod::Merge => Merge, world::MergeMethod::Rebase => Rebase, world::MergeMethod::Squash => Squash,
});
github_enum!(SquashMergeCommitTitle { CommitOrPrTitle, PrTitle } from world::SquashTitle {
    world::SquashTitle::PrTitle => PrTitle, world::SquashTitle::CommitOrPrTitle => CommitOrPrTitle,
});
github_enum!(SquashMergeCommitMessage { Blank, CommitMessages, PrBody } from world::SquashMessage {
    world::SquashMessage::PrBody => PrBody, world::SquashMessage::CommitMessages => CommitMessages,
    world::SquashMessage::Blank => Blank,
});
github_enum!(MergeCommitTitle { MergeMessage, PrTitle } from world::MergeTitle {
    world::MergeTitle::PrTitle => PrTitle, world::MergeTitle::MergeMessage => MergeMessage,
});
github_enum!(MergeCommitMessage { Blank, PrBody, PrTitle } from world::MergeMessage {
    world::MergeMessage::PrBody => PrBody, world::MergeMessage::PrTitle => PrTitle, world::MergeMessage::Blank => Blank,
});
github_enum!(PatchStatus { Added, Changed, Copied, Deleted, Modified, Renamed } from crate::git::FileStatus {
    crate::git::FileStatus::Added => Added, crate::git::FileStatus::Removed => Deleted,
    crate::git::FileStatus::Modified => Modified, crate::git::FileStatus::Renamed => Renamed,
    crate::git::FileStatus::Copied => Copied, crate::git::FileStatus::Changed => Changed,
});
github_enum!(ReactionContent { Confused, Eyes, Heart, Hooray, Laugh, Rocket, ThumbsDown, ThumbsUp } from &str {
    "+1" => ThumbsUp, "-1" => ThumbsDown, "laugh" => Laugh, "hooray" => Hooray, "confused" => Confused,
    "rocket" => Rocket, "eyes" => Eyes, _ => Heart,
});

impl From<PullRequestUpdateState> for world::IssueState {
    fn from(state: PullRequestUpdateState) -> Self {
        match state {
            PullRequestUpdateState::Open => Self::Open,
            PullRequestUpdateState::Closed => Self::Closed,
        }
    }
}

impl From<PullRequestMergeMethod> for world::MergeMethod {
    fn from(method: PullRequestMergeMethod) -> Self {
        match method {
            PullRequestMergeMethod::Merge => Self::Merge,
            PullRequestMergeMethod::Rebase => Self::Rebase,
            PullRequestMergeMethod::Squash => Self::Squash,
        }
    }
}

impl From<DiffSide> for world::Side {
    fn from(side: DiffSide) -> Self {
        match side {
            DiffSide::Left => Self::Left,
            DiffSide::Right => Self::Right,
        }
    }
}

impl ReactionContent {
    /// In the order GitHub lists them.
    pub const ALL: [Self; 8] = [
        Self::ThumbsUp,
        Self::ThumbsDown,
        Self::Laugh,
        Self::Hooray,
        Self::Confused,
        Self::Heart,
        Self::Rocket,
        Self::Eyes,
    ];

    /// REST's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThumbsUp => "+1",
            Self::ThumbsDown => "-1",
            Self::Laugh => "laugh",
            Self::Hooray => "hooray",
            Self::Confused => "confused",
            Self::Heart => "heart",
            Self::Rocket => "rocket",
            Self::Eyes => "eyes",
        }
    }
}

github_enum!(WorkflowState { Active, Deleted, DisabledFork, DisabledInactivity, DisabledManually });
github_enum!(FileViewedState { Dismissed, Unviewed, Viewed });
github_enum!(SearchType { Discussion, Issue, Repository, User });
github_enum!(OrderDirection { Asc, Desc });
github_enum!(IssueOrderField { Comments, CreatedAt, UpdatedAt });
github_enum!(LabelOrderField { CreatedAt, Name });
github_enum!(RefOrderField { Alphabetical, TagCommitDate });
github_enum!(IssueCommentOrderField { UpdatedAt });
github_enum!(ReactionOrderField { CreatedAt });
github_enum!(PullRequestOrderField { CreatedAt, UpdatedAt });

macro_rules! order {
    ($($name:ident by $field:ty),* $(,)?) => {$(
        #[derive(InputObject, Clone, Copy)]
        pub struct $name {
            pub direction: OrderDirection,
            pub field: $field,
        }
    )*};
}

order! {
    IssueOrder by IssueOrderField, LabelOrder by LabelOrderField, RefOrder by RefOrderField,
    IssueCommentOrder by IssueCommentOrderField, ReactionOrder by ReactionOrderField,
    PullRequestOrder by PullRequestOrderField,
}

impl From<PullRequestOrder> for IssueOrder {
    fn from(order: PullRequestOrder) -> Self {
        let field = match order.field {
            PullRequestOrderField::CreatedAt => IssueOrderField::CreatedAt,
            PullRequestOrderField::UpdatedAt => IssueOrderField::UpdatedAt,
        };
        Self { direction: order.direction, field }
    }
}

impl OrderDirection {
    /// Puts an ascending list into this order.
    pub fn arrange<T>(self, items: &mut [T]) {
        if self == Self::Desc {
            items.reverse();
        }
    }
}
