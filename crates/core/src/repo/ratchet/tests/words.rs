//! The names of statuses and reasons, which programs read, and what follows from a status.

use super::*;

#[test]
fn a_status_is_called_the_same_wherever_it_is_written() {
    for status in Status::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(serde_json::from_value::<Status>(status.as_str().into()).unwrap(), status);
        let attention = status.as_str().starts_with("PAUSED_ATTENTION_").then_some(OutcomeKind::Attention);
        let success = (status == Status::PausedDone).then_some(OutcomeKind::Success);
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
pub(super) fn reasons() -> Vec<Reason> {
    let mut all = vec![Reason::New];
    while let Some(next) = after(*all.last().expect("the first")) {
        all.push(next);
    }
    all
}

fn after(reason: Reason) -> Option<Reason> {
    Some(match reason {
        Reason::New => Reason::UserWorking,
        Reason::UserWorking => Reason::NoPr,
        Reason::NoPr => Reason::PrNotOpen,
        Reason::PrNotOpen => Reason::Disabled,
        Reason::Disabled => Reason::TooManyAttempts,
        Reason::TooManyAttempts => Reason::CiInProgress,
        Reason::CiInProgress => Reason::StaleCi,
        Reason::StaleCi => Reason::StaleCiTimeout,
        Reason::StaleCiTimeout => Reason::ConflictOnly,
        Reason::ConflictOnly => Reason::CiFailed,
        Reason::CiFailed => Reason::ReviewComments,
        Reason::ReviewComments => Reason::HumanReview,
        Reason::HumanReview => Reason::Grace,
        Reason::Grace => Reason::AllGreen,
        Reason::AllGreen => Reason::CiExpected,
        Reason::CiExpected => Reason::CiUnseen,
        Reason::CiUnseen => Reason::MergeBlocked,
        Reason::MergeBlocked => Reason::NothingActionable,
        Reason::NothingActionable => Reason::AlreadyTried,
        Reason::AlreadyTried => Reason::ExternalChange,
        Reason::ExternalChange => Reason::SameFailure,
        Reason::SameFailure => Reason::DailyBudget,
        Reason::DailyBudget => Reason::NoFixer,
        Reason::NoFixer => Reason::TrainAtWork,
        Reason::TrainAtWork => Reason::FixerPushed,
        Reason::FixerPushed => Reason::FixerGaveUp,
        Reason::FixerGaveUp => Reason::FixerFailed,
        Reason::FixerFailed => Reason::FixerDied,
        Reason::FixerDied => Reason::FixerTimedOut,
        Reason::FixerTimedOut => Reason::FixerCancelled,
        Reason::FixerCancelled => Reason::PushRefused,
        Reason::PushRefused => Reason::PushRejected,
        Reason::PushRejected => Reason::PushStatusUnknown,
        Reason::PushStatusUnknown => Reason::PushApproval,
        Reason::PushApproval => Reason::Outpaced,
        Reason::Outpaced => Reason::GithubUnavailable,
        Reason::GithubUnavailable => return None,
    })
}

#[test]
fn unit_a_workspace_is_in_the_working_column_while_a_fixer_or_a_person_is_at_work() {
    let timeout = SignedDuration::from_secs(90);
    let mut workspace = Workspace::default();
    assert_eq!(workspace.column(timeout, now()), Column::Waiting);
    let session = Session { started_at: now(), seen_at: now(), idle: false, by: None };
    workspace.sessions.insert("a".to_owned(), session);
    assert_eq!(workspace.column(timeout, now()), Column::Working);
    workspace.sessions.clear();
    workspace.archived_at = Some(now());
    assert_eq!(workspace.column(timeout, now()), Column::Done);
}
