//! The statuses of a workspace and the reasons for them, and what the ratchet concludes from each. How they are shown is in
//! `display.rs`.

use serde::{Deserialize, Serialize};

use super::brief::FixIssue;

/// What the ratchet is doing about a pull request, or why it does nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkspaceStatus {
    /// Not checked yet.
    #[default]
    New,
    FixingCi,
    FixingReview,
    WaitingForCi,
    /// A train is at work on the branch.
    WaitingForTrain,
    PausedUserWorking,
    PausedNoPr,
    PausedPrNotOpen,
    PausedDisabled,
    PausedWaitConflictOnly,
    PausedWaitHumanReview,
    PausedDone,
    PausedAttentionTerminalFailed,
    PausedAttentionStaleCiTimeout,
    PausedAttentionNoPush,
    /// A fixer's push waits for somebody's approval.
    PausedAttentionPushApproval,
    /// The repository has had all the fixers that it gets in a day.
    PausedAttentionDailyBudget,
    /// The configuration names no fixer.
    PausedAttentionNoFixer,
}

/// Whether what came of it is good, or needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OutcomeKind {
    Success,
    Attention,
}

impl WorkspaceStatus {
    pub const ALL: [Self; 18] = [
        Self::New,
        Self::FixingCi,
        Self::FixingReview,
        Self::WaitingForCi,
        Self::WaitingForTrain,
        Self::PausedUserWorking,
        Self::PausedNoPr,
        Self::PausedPrNotOpen,
        Self::PausedDisabled,
        Self::PausedWaitConflictOnly,
        Self::PausedWaitHumanReview,
        Self::PausedDone,
        Self::PausedAttentionTerminalFailed,
        Self::PausedAttentionStaleCiTimeout,
        Self::PausedAttentionNoPush,
        Self::PausedAttentionPushApproval,
        Self::PausedAttentionDailyBudget,
        Self::PausedAttentionNoFixer,
    ];

    pub fn of(issue: FixIssue) -> Self {
        match issue {
            FixIssue::FixCi => Self::FixingCi,
            FixIssue::FixReview => Self::FixingReview,
        }
    }

    pub fn outcome_kind(self) -> Option<OutcomeKind> {
        match self {
            Self::PausedDone => Some(OutcomeKind::Success),
            Self::PausedAttentionTerminalFailed
            | Self::PausedAttentionStaleCiTimeout
            | Self::PausedAttentionNoPush
            | Self::PausedAttentionPushApproval
            | Self::PausedAttentionDailyBudget
            | Self::PausedAttentionNoFixer => Some(OutcomeKind::Attention),
            Self::New
            | Self::FixingCi
            | Self::FixingReview
            | Self::WaitingForCi
            | Self::WaitingForTrain
            | Self::PausedUserWorking
            | Self::PausedNoPr
            | Self::PausedPrNotOpen
            | Self::PausedDisabled
            | Self::PausedWaitConflictOnly
            | Self::PausedWaitHumanReview => None,
        }
    }

    /// Whether the ratchet does nothing until somebody else did something.
    pub fn is_paused(self) -> bool {
        match self {
            Self::PausedUserWorking
            | Self::PausedNoPr
            | Self::PausedPrNotOpen
            | Self::PausedDisabled
            | Self::PausedWaitConflictOnly
            | Self::PausedWaitHumanReview
            | Self::PausedDone
            | Self::PausedAttentionTerminalFailed
            | Self::PausedAttentionStaleCiTimeout
            | Self::PausedAttentionNoPush
            | Self::PausedAttentionPushApproval
            | Self::PausedAttentionDailyBudget
            | Self::PausedAttentionNoFixer => true,
            Self::New | Self::FixingCi | Self::FixingReview | Self::WaitingForCi | Self::WaitingForTrain => false,
        }
    }
}

/// Why a workspace has its status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkspaceReason {
    #[default]
    New,
    UserWorking,
    NoPr,
    PrNotOpen,
    Disabled,
    TooManyAttempts,
    CiInProgress,
    StaleCi,
    StaleCiTimeout,
    ConflictOnly,
    CiFailed,
    ReviewComments,
    HumanReview,
    Grace,
    AllGreen,
    CiExpected,
    CiUnseen,
    MergeBlocked,
    NothingActionable,
    AlreadyTried,
    ExternalChange,
    SameFailure,
    DailyBudget,
    NoFixer,
    TrainAtWork,
    FixerPushed,
    FixerGaveUp,
    FixerFailed,
    FixerDied,
    FixerTimedOut,
    FixerCancelled,
    PushRefused,
    PushRejected,
    PushStatusUnknown,
    PushApproval,
    Outpaced,
    GithubUnavailable,
}

/// What became of a fixer that has ended, as far as it matters for what is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixOutcome {
    Pushed,
    /// It looked, and found nothing to do.
    GaveUp,
    TimedOut,
    /// Somebody else pushed meanwhile.
    Outpaced,
    Cancelled,
    /// The pull request is not open any more.
    PrClosed,
    /// Nothing arrived, for whatever reason.
    Failed,
}

impl WorkspaceReason {
    /// What became of a fixer that ended for this reason.
    pub(super) fn fix_outcome(self) -> FixOutcome {
        match self {
            Self::FixerPushed => FixOutcome::Pushed,
            Self::FixerGaveUp => FixOutcome::GaveUp,
            Self::FixerTimedOut => FixOutcome::TimedOut,
            Self::Outpaced => FixOutcome::Outpaced,
            Self::FixerCancelled => FixOutcome::Cancelled,
            Self::PrNotOpen => FixOutcome::PrClosed,
            Self::New
            | Self::UserWorking
            | Self::NoPr
            | Self::Disabled
            | Self::TooManyAttempts
            | Self::CiInProgress
            | Self::StaleCi
            | Self::StaleCiTimeout
            | Self::ConflictOnly
            | Self::CiFailed
            | Self::ReviewComments
            | Self::HumanReview
            | Self::Grace
            | Self::AllGreen
            | Self::CiExpected
            | Self::CiUnseen
            | Self::MergeBlocked
            | Self::NothingActionable
            | Self::AlreadyTried
            | Self::ExternalChange
            | Self::SameFailure
            | Self::DailyBudget
            | Self::NoFixer
            | Self::TrainAtWork
            | Self::FixerFailed
            | Self::FixerDied
            | Self::PushRefused
            | Self::PushRejected
            | Self::PushStatusUnknown
            | Self::PushApproval
            | Self::GithubUnavailable => FixOutcome::Failed,
        }
    }

    /// Whether a workspace is left alone for something that is not about what there is to fix.
    pub(super) fn keeps_out(self) -> bool {
        matches!(
            self,
            Self::UserWorking
                | Self::NoPr
                | Self::PrNotOpen
                | Self::Disabled
                | Self::CiInProgress
                | Self::TrainAtWork
                | Self::DailyBudget
                | Self::NoFixer
        )
    }

    /// Whether CI that was expected to start again is still expected to.
    pub(super) fn leaves_ci_expected(self) -> bool {
        matches!(
            self,
            Self::StaleCi
                | Self::StaleCiTimeout
                | Self::UserWorking
                | Self::TrainAtWork
                | Self::FixerPushed
                | Self::PushStatusUnknown
        )
    }
}
