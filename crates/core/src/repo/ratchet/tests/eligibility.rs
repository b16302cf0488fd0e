//! Every combination of the guards that come before any decision.

use super::*;

/// "`ratchetWorkspace`", line by line: what is asked, and what is shown where that says no. The attempt budget comes where a fix
/// would be taken otherwise.
type Line = (fn(&Eligibility) -> bool, WorkspaceStatus, WorkspaceReason);

const LINES: [Line; 5] = [
    (|asked| asked.user_is_working, WorkspaceStatus::PausedUserWorking, WorkspaceReason::UserWorking),
    (|asked| !asked.has_pr, WorkspaceStatus::PausedNoPr, WorkspaceReason::NoPr),
    (|asked| !asked.is_open, WorkspaceStatus::PausedPrNotOpen, WorkspaceReason::PrNotOpen),
    (|asked| !asked.is_enabled, WorkspaceStatus::PausedDisabled, WorkspaceReason::Disabled),
    (|asked| asked.ci == CiSummary::InProgress, WorkspaceStatus::WaitingForCi, WorkspaceReason::CiInProgress),
];

fn all() -> Vec<Eligibility> {
    let mut all = Vec::new();
    for bits in 0..16_u8 {
        for ci in [CiSummary::None, CiSummary::InProgress, CiSummary::Failed, CiSummary::Passed] {
            let is = |bit: u8| bits & (1 << bit) != 0;
            let asked = Eligibility { user_is_working: is(0), has_pr: is(1), is_open: is(2), is_enabled: is(3), ci };
            all.push(asked);
        }
    }
    all
}

#[test]
fn unit_every_combination_of_the_eligibility_guards_is_barred_by_the_first_that_says_no() {
    let mut free = 0;
    for asked in all() {
        let expected = LINES.iter().find(|(bars, ..)| bars(&asked));
        let expected = expected.map(|(_, status, reason)| RatchetBlocker { status: *status, reason: *reason });
        assert_eq!(bar(asked), expected, "{asked:?}");
        free += usize::from(expected.is_none());
    }
    assert_eq!((all().len(), free), (64, 3), "only who is open, on and alone, with CI at its end, is looked at");
}

#[test]
fn unit_ratchet_disabled_is_paused_disabled() {
    let asked =
        Eligibility { user_is_working: false, has_pr: true, is_open: true, is_enabled: false, ci: CiSummary::Failed };
    assert_eq!(
        bar(asked),
        Some(RatchetBlocker { status: WorkspaceStatus::PausedDisabled, reason: WorkspaceReason::Disabled })
    );
}

#[test]
fn unit_a_session_is_working_unless_it_is_idle_or_gave_no_sign_of_life_for_too_long() {
    let timeout = SignedDuration::from_secs(90);
    let session = |idle: bool, quiet: i64| UserSession {
        started_at: ago(SignedDuration::from_hours(1)),
        seen_at: ago(SignedDuration::from_secs(quiet)),
        idle,
        by: None,
    };
    let table = [(false, 0, true), (false, 89, true), (false, 90, false), (true, 0, false), (true, 90, false)];
    for (idle, quiet, works) in table {
        assert_eq!(is_working(&session(idle, quiet), timeout, now()), works, "idle: {idle}, quiet for {quiet} seconds");
    }
    let mut workspace = Workspace::default();
    workspace.sessions.insert("idle".to_owned(), session(true, 0));
    assert!(!workspace.user_is_working(timeout, now()), "one that runs and waits for its person keeps nobody");
    workspace.sessions.insert("busy".to_owned(), session(false, 0));
    assert!(workspace.user_is_working(timeout, now()), "one of several is enough");
}
