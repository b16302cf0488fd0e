//! How statuses and reasons are shown: their names, their sentences, the columns of a board. Nothing is decided here.

use serde::{Deserialize, Serialize};

use super::status::{Reason, Status};

/// Where a board of all workspaces shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Column {
    Working,
    #[default]
    Waiting,
    Done,
}

impl Status {
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

impl Reason {
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
            Self::New => "Nobody has looked at it yet",
            Self::UserWorking => {
                "Somebody is at work in this workspace; what happened meanwhile is dealt with afterwards"
            }
            Self::NoPr => "There is no such pull request",
            Self::PrNotOpen => "The pull request is not open",
            Self::Disabled => "The ratchet is off for this pull request",
            Self::TooManyAttempts => {
                "Fixers have tried as often as they may and it is still not in order; a push of yours, or turning the \
                 ratchet on again, lets them try again"
            }
            Self::CiInProgress => "CI has not finished",
            Self::StaleCi => "CI has not started again since a fixer was sent",
            Self::StaleCiTimeout => {
                "CI did not start again after a fixer's push; look why, and run it by hand or push something"
            }
            Self::ConflictOnly => {
                "It conflicts with its base and nothing else is wrong; conflicts alone are not a reason to send a fixer"
            }
            Self::CiFailed => "CI failed",
            Self::ReviewComments => "Reviewers want something changed",
            Self::HumanReview => "Everything is green, and the rules ask for a person's review",
            Self::Grace => "Everything is green; late comments are waited for a moment",
            Self::AllGreen => "CI is green, nothing conflicts, and no reviewer waits for an answer",
            Self::CiExpected => "The rules ask for checks that have not reported yet",
            Self::CiUnseen => {
                "GitHub says that not everything has passed and does not show what; the app may lack the right to read checks"
            }
            Self::MergeBlocked => {
                "All that reported is green and no review is missing, and the rules still say no; a check that they ask for \
                 may not have reported yet"
            }
            Self::NothingActionable => "Nothing of what changed asks for a fixer",
            Self::AlreadyTried => "A fixer was here for exactly this and changed nothing",
            Self::ExternalChange => "Only something outside of the pull request changed",
            Self::SameFailure => {
                "It fails with the same error as before the last fixer's push; a push of yours, or turning the ratchet on \
                 again, lets a fixer try again"
            }
            Self::DailyBudget => {
                "The repository has had as many fixers as it gets in a day; it goes on by itself later"
            }
            Self::NoFixer => "The configuration names no fixer; set command in [ratchet.fixer]",
            Self::TrainAtWork => "A train is at work on this branch; the fixer comes after it",
            Self::FixerPushed => "The fixer pushed",
            Self::FixerGaveUp => "The fixer exited without push; its log may say why",
            Self::FixerFailed => "The fixer exited without push and reported failure; its log may say why",
            Self::FixerDied => "The fixer died before it could push",
            Self::FixerTimedOut => "The fixer did not end in time and was ended",
            Self::FixerCancelled => "The fixer was cancelled",
            Self::PushRefused => "What the fixer pushed was refused",
            Self::PushRejected => "Somebody rejected what the fixer wanted to push",
            Self::PushStatusUnknown => "Whether the push arrived could not be found out; it is looked at again",
            Self::PushApproval => "The fixer's push waits for approval",
            Self::Outpaced => "Somebody else pushed to the branch meanwhile; what the fixer did is dropped",
            Self::GithubUnavailable => "GitHub could not be asked what is wrong; it is asked again",
        }
    }

    /// What a person sees who looks at the workspace now: what is going on, or what is waited for.
    pub fn activity(self, status: Status) -> Option<&'static str> {
        match (status, self) {
            (Status::FixingCi, _) => Some("Fixing build failures"),
            (Status::FixingReview, _) => Some("Addressing PR review comments"),
            (Status::WaitingForCi, Self::StaleCi) => Some("Waiting for CI to restart"),
            (Status::WaitingForCi, Self::Grace) => Some("Waiting a moment for late review comments"),
            (Status::WaitingForCi, Self::PushStatusUnknown) => Some("Finding out whether the fixer's push arrived"),
            (Status::WaitingForCi, Self::MergeBlocked) => Some("Waiting for what the branch's rules ask for"),
            (Status::WaitingForCi, _) => Some("Waiting for CI to finish"),
            (Status::WaitingForTrain, _) => Some("Waiting for the merge train to finish with this branch"),
            (Status::PausedUserWorking, _) => Some("Waiting for active workspace session to finish"),
            (Status::PausedWaitHumanReview, _) => Some("Waiting for human review approval"),
            (Status::PausedWaitConflictOnly, _) => Some("Waiting for non-conflict trigger to update branch"),
            (Status::PausedAttentionPushApproval, _) => Some("Waiting for approval of a fixer's push"),
            (
                Status::New
                | Status::PausedNoPr
                | Status::PausedPrNotOpen
                | Status::PausedDisabled
                | Status::PausedDone
                | Status::PausedAttentionTerminalFailed
                | Status::PausedAttentionStaleCiTimeout
                | Status::PausedAttentionNoPush
                | Status::PausedAttentionDailyBudget
                | Status::PausedAttentionNoFixer,
                _,
            ) => None,
        }
    }
}

/// What is shown while a fixer that has to bring the branch up to date is about to begin.
pub const UPDATING: &str = "Updating branch from main";
