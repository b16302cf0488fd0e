//! The names of statuses and reasons, which programs read, and what follows from a status.

use super::*;

#[test]
fn a_status_is_called_the_same_wherever_it_is_written() {
    for status in WorkspaceStatus::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(serde_json::from_value::<WorkspaceStatus>(status.as_str().into()).unwrap(), status);
        let attention = status.as_str().starts_with("PAUSED_ATTENTION_").then_some(OutcomeKind::Attention);
        let success = (status == WorkspaceStatus::PausedDone).then_some(OutcomeKind::Success);
        assert_eq!(status.outcome_kind(), attention.or(success), "{status:?}");
        assert_eq!(status.is_paused(), status.as_str().starts_with("PAUSED"), "{status:?}");
    }
}

#[test]
fn a_reason_is_called_the_same_wherever_it_is_written() {
    for reason in reasons() {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.code());
        assert!(!reason.sentence().ends_with('.'), "{reason:?}: what follows it ends the sentence");
    }
}

/// All of them: the names are read back from their codes, and the compiler asks for the list to be complete.
pub(super) fn reasons() -> Vec<WorkspaceReason> {
    let mut all = vec![WorkspaceReason::New];
    while let Some(next) = after(*all.last().expect("the first")) {
        all.push(next);
    }
    all
}

fn after(reason: WorkspaceReason) -> Option<WorkspaceReason> {
    Some(match reason {
        WorkspaceReason::New => WorkspaceReason::UserWorking,
        WorkspaceReason::UserWorking => WorkspaceReason::NoPr,
        WorkspaceReason::NoPr => WorkspaceReason::PrNotOpen,
        WorkspaceReason::PrNotOpen => WorkspaceReason::Disabled,
        WorkspaceReason::Disabled => WorkspaceReason::TooManyAttempts,
        WorkspaceReason::TooManyAttempts => WorkspaceReason::CiInProgress,
        WorkspaceReason::CiInProgress => WorkspaceReason::StaleCi,
        WorkspaceReason::StaleCi => WorkspaceReason::StaleCiTimeout,
        WorkspaceReason::StaleCiTimeout => WorkspaceReason::ConflictOnly,
        WorkspaceReason::ConflictOnly => WorkspaceReason::CiFailed,
        WorkspaceReason::CiFailed => WorkspaceReason::ReviewComments,
        WorkspaceReason::ReviewComments => WorkspaceReason::HumanReview,
        WorkspaceReason::HumanReview => WorkspaceReason::Grace,
        WorkspaceReason::Grace => WorkspaceReason::AllGreen,
        WorkspaceReason::AllGreen => WorkspaceReason::CiExpected,
        WorkspaceReason::CiExpected => WorkspaceReason::CiUnseen,
        WorkspaceReason::CiUnseen => WorkspaceReason::MergeBlocked,
        WorkspaceReason::MergeBlocked => WorkspaceReason::NothingActionable,
        WorkspaceReason::NothingActionable => WorkspaceReason::AlreadyTried,
        WorkspaceReason::AlreadyTried => WorkspaceReason::ExternalChange,
        WorkspaceReason::ExternalChange => WorkspaceReason::SameFailure,
        WorkspaceReason::SameFailure => WorkspaceReason::DailyBudget,
        WorkspaceReason::DailyBudget => WorkspaceReason::NoFixer,
        WorkspaceReason::NoFixer => WorkspaceReason::TrainAtWork,
        WorkspaceReason::TrainAtWork => WorkspaceReason::FixerPushed,
        WorkspaceReason::FixerPushed => WorkspaceReason::FixerGaveUp,
        WorkspaceReason::FixerGaveUp => WorkspaceReason::FixerFailed,
        WorkspaceReason::FixerFailed => WorkspaceReason::FixerDied,
        WorkspaceReason::FixerDied => WorkspaceReason::FixerTimedOut,
        WorkspaceReason::FixerTimedOut => WorkspaceReason::FixerCancelled,
        WorkspaceReason::FixerCancelled => WorkspaceReason::PushRefused,
        WorkspaceReason::PushRefused => WorkspaceReason::PushRejected,
        WorkspaceReason::PushRejected => WorkspaceReason::PushStatusUnknown,
        WorkspaceReason::PushStatusUnknown => WorkspaceReason::PushApproval,
        WorkspaceReason::PushApproval => WorkspaceReason::Outpaced,
        WorkspaceReason::Outpaced => WorkspaceReason::GithubUnavailable,
        WorkspaceReason::GithubUnavailable => return None,
    })
}

#[test]
fn unit_a_workspace_is_in_the_working_column_while_a_fixer_or_a_person_is_at_work() {
    let timeout = SignedDuration::from_secs(90);
    let mut workspace = Workspace::default();
    assert_eq!(workspace.column(timeout, now()), BoardColumn::Waiting);
    let session = UserSession { started_at: now(), seen_at: now(), idle: false, by: None };
    workspace.sessions.insert("a".to_owned(), session);
    assert_eq!(workspace.column(timeout, now()), BoardColumn::Working);
    workspace.sessions.clear();
    workspace.archived_at = Some(now());
    assert_eq!(workspace.column(timeout, now()), BoardColumn::Done);
}
