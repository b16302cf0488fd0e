//! How statuses and reasons are shown: their names, their sentences, the columns of a board. Nothing is decided here.

use serde::{Deserialize, Serialize};

use super::status::{WorkspaceReason, WorkspaceStatus};

/// Where a board of all workspaces shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BoardColumn {
    Working,
    #[default]
    Waiting,
    Done,
}

impl WorkspaceStatus {
    /// Its name in events, in the API and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::FixingCi => "FIXING_CI",
            Self::FixingReview => "FIXING_REVIEW",
            Self::WaitingForCi => "WAITING_FOR_CI",
            Self::WaitingForTrain => "WAITING_FOR_TRAIN",
            Self::PausedUserWorking => "PAUSED_USER_WORKING",
            Self::PausedNoPr => "PAUSED_NO_PR",
            Self::PausedPrNotOpen => "PAUSED_PR_NOT_OPEN",
            Self::PausedDisabled => "PAUSED_DISABLED",
            Self::PausedWaitConflictOnly => "PAUSED_WAIT_CONFLICT_ONLY",
            Self::PausedWaitHumanReview => "PAUSED_WAIT_HUMAN_REVIEW",
            Self::PausedDone => "PAUSED_DONE",
            Self::PausedAttentionTerminalFailed => "PAUSED_ATTENTION_TERMINAL_FAILED",
            Self::PausedAttentionStaleCiTimeout => "PAUSED_ATTENTION_STALE_CI_TIMEOUT",
            Self::PausedAttentionNoPush => "PAUSED_ATTENTION_NO_PUSH",
            Self::PausedAttentionPushApproval => "PAUSED_ATTENTION_PUSH_APPROVAL",
            Self::PausedAttentionDailyBudget => "PAUSED_ATTENTION_DAILY_BUDGET",
            Self::PausedAttentionNoFixer => "PAUSED_ATTENTION_NO_FIXER",
        }
    }
}

impl WorkspaceReason {
    /// Its name in events, in the API and in metrics.
    pub fn code(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::UserWorking => "USER_WORKING",
            Self::NoPr => "NO_PR",
            Self::PrNotOpen => "PR_NOT_OPEN",
            Self::Disabled => "DISABLED",
            Self::TooManyAttempts => "TOO_MANY_ATTEMPTS",
            Self::CiInProgress => "CI_IN_PROGRESS",
            Self::StaleCi => "STALE_CI",
            Self::StaleCiTimeout => "STALE_CI_TIMEOUT",
            Self::ConflictOnly => "CONFLICT_ONLY",
            Self::CiFailed => "CI_FAILED",
            Self::ReviewComments => "REVIEW_COMMENTS",
            Self::HumanReview => "HUMAN_REVIEW",
            Self::Grace => "GRACE",
            Self::AllGreen => "ALL_GREEN",
            Self::CiExpected => "CI_EXPECTED",
            Self::CiUnseen => "CI_UNSEEN",
            Self::MergeBlocked => "MERGE_BLOCKED",
            Self::NothingActionable => "NOTHING_ACTIONABLE",
            Self::AlreadyTried => "ALREADY_TRIED",
            Self::ExternalChange => "EXTERNAL_CHANGE",
            Self::SameFailure => "SAME_FAILURE",
            Self::DailyBudget => "DAILY_BUDGET",
            Self::NoFixer => "NO_FIXER",
            Self::TrainAtWork => "TRAIN_AT_WORK",
            Self::FixerPushed => "FIXER_PUSHED",
            Self::FixerGaveUp => "FIXER_GAVE_UP",
            Self::FixerFailed => "FIXER_FAILED",
            Self::FixerDied => "FIXER_DIED",
            Self::FixerTimedOut => "FIXER_TIMED_OUT",
            Self::FixerCancelled => "FIXER_CANCELLED",
            Self::PushRefused => "PUSH_REFUSED",
            Self::PushRejected => "PUSH_REJECTED",
            Self::PushStatusUnknown => "PUSH_STATUS_UNKNOWN",
            Self::PushApproval => "PUSH_APPROVAL",
            Self::Outpaced => "OUTPACED",
            Self::GithubUnavailable => "GITHUB_UNAVAILABLE",
        }
    }

    /// What it means, for somebody who wonders.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::New => "Not checked yet",
            Self::UserWorking => "Somebody is working in this workspace; the ratchet continues afterwards",
            Self::NoPr => "There is no such pull request",
            Self::PrNotOpen => "The pull request is not open",
            Self::Disabled => "The ratchet is off for this pull request",
            Self::TooManyAttempts => {
                "No fix attempts left, and problems remain; push a fix, or turn the ratchet on again to let fixers try \
                 again"
            }
            Self::CiInProgress => "CI has not finished",
            Self::StaleCi => "CI has not started again since a fixer was sent",
            Self::StaleCiTimeout => {
                "CI did not start again after a fixer's push; check why, then start it by hand or push something"
            }
            Self::ConflictOnly => "It only conflicts with its base branch; conflicts alone do not start a fixer",
            Self::CiFailed => "CI failed",
            Self::ReviewComments => "Reviewers want something changed",
            Self::HumanReview => "Everything is green; the branch rules require a person's review",
            Self::Grace => "Everything is green; waiting a moment for late comments",
            Self::AllGreen => "CI is green, nothing conflicts, and no review needs an answer",
            Self::CiExpected => "Required checks have not reported yet",
            Self::CiUnseen => {
                "GitHub says that something has not passed, but not what; the app may lack permission to read checks"
            }
            Self::MergeBlocked => {
                "Every reported check is green and no review is missing, but GitHub still blocks the merge; a required \
                 check may not have reported yet"
            }
            Self::NothingActionable => "No change needs a fixer",
            Self::AlreadyTried => "A fixer has already tried exactly this and changed nothing",
            Self::ExternalChange => "Only something outside the pull request changed",
            Self::SameFailure => {
                "It fails with the same error as before the last fixer's push; push a fix, or turn the ratchet on \
                 again to let a fixer try again"
            }
            Self::DailyBudget => {
                "The repository has used its daily budget of fixers; the ratchet continues by itself later"
            }
            Self::NoFixer => "No fixer is configured; set agent or command in [ratchet.fixer]",
            Self::TrainAtWork => "A train is working on this branch; the fixer starts afterwards",
            Self::FixerPushed => "The fixer pushed",
            Self::FixerGaveUp => "The fixer exited without pushing; its log may say why",
            Self::FixerFailed => "The fixer reported failure and did not push; its log may say why",
            Self::FixerDied => "The fixer died before it could push",
            Self::FixerTimedOut => "The fixer ran out of time and was stopped",
            Self::FixerCancelled => "The fixer was cancelled",
            Self::PushRefused => "The fixer's push was refused",
            Self::PushRejected => "Somebody rejected the fixer's push",
            Self::PushStatusUnknown => "It is unknown whether the push reached GitHub; the ratchet checks again",
            Self::PushApproval => "The fixer's push needs approval",
            Self::Outpaced => "Somebody else pushed to the branch in the meantime; the fixer's work is dropped",
            Self::GithubUnavailable => "Could not ask GitHub what is wrong; the ratchet retries",
        }
    }

    /// What a person sees who looks at the workspace now: what is going on, or what is waited for.
    pub fn activity(self, status: WorkspaceStatus) -> Option<&'static str> {
        match (status, self) {
            (WorkspaceStatus::FixingCi, _) => Some("Fixing build failures"),
            (WorkspaceStatus::FixingReview, _) => Some("Addressing PR review comments"),
            (WorkspaceStatus::WaitingForCi, Self::StaleCi) => Some("Waiting for CI to restart"),
            (WorkspaceStatus::WaitingForCi, Self::Grace) => Some("Waiting a moment for late review comments"),
            (WorkspaceStatus::WaitingForCi, Self::PushStatusUnknown) => {
                Some("Checking whether the fixer's push reached GitHub")
            }
            (WorkspaceStatus::WaitingForCi, Self::MergeBlocked) => Some("Waiting for the branch rules to be met"),
            (WorkspaceStatus::WaitingForCi, _) => Some("Waiting for CI to finish"),
            (WorkspaceStatus::WaitingForTrain, _) => Some("Waiting for the merge train to finish with this branch"),
            (WorkspaceStatus::PausedUserWorking, _) => Some("Waiting for active workspace session to finish"),
            (WorkspaceStatus::PausedWaitHumanReview, _) => Some("Waiting for human review approval"),
            (WorkspaceStatus::PausedWaitConflictOnly, _) => Some("Waiting for non-conflict trigger to update branch"),
            (WorkspaceStatus::PausedAttentionPushApproval, _) => Some("Waiting for approval of a fixer's push"),
            (
                WorkspaceStatus::New
                | WorkspaceStatus::PausedNoPr
                | WorkspaceStatus::PausedPrNotOpen
                | WorkspaceStatus::PausedDisabled
                | WorkspaceStatus::PausedDone
                | WorkspaceStatus::PausedAttentionTerminalFailed
                | WorkspaceStatus::PausedAttentionStaleCiTimeout
                | WorkspaceStatus::PausedAttentionNoPush
                | WorkspaceStatus::PausedAttentionDailyBudget
                | WorkspaceStatus::PausedAttentionNoFixer,
                _,
            ) => None,
        }
    }
}

/// What is shown while a fixer that has to bring the branch up to date is about to begin.
pub const UPDATING: &str = "Updating branch from main";
