//! Whom the ratchet leaves alone, what it waits for, and how that is shown.

use super::*;
use crate::repo::ratchet::{OutcomeKind, brief};

// ── People at work ──

#[test]
fn unit_has_any_working_session_a_session_that_runs_but_is_idle_does_not_block_the_ratchet() {
    for (idle, sent) in [(true, 1), (false, 0)] {
        let mut bench = Bench::one();
        bench.session(1, "desk", idle);
        bench.ci(1, CheckConclusion::Failed);
        bench.beat();
        assert_eq!(bench.sent(1), sent, "idle: {idle}");
    }
}

#[test]
fn unit_paused_user_working_does_not_update_the_last_known_github_markers() {
    let mut bench = Bench::one();
    let (before, run) = (bench.workspace(1).consumed.clone(), bench.workspace(1).last_ci_run.clone());
    bench.session(1, "desk", false);
    bench.ci(1, CheckConclusion::Failed);
    bench.says(1, "thread");
    bench.script(1).merge = MergeState::Dirty;
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedUserWorking, WorkspaceReason::UserWorking));
    assert_eq!(bench.workspace(1).consumed, before, "all of it is still news");
    assert_eq!(bench.workspace(1).last_ci_run, run);
    assert_eq!(bench.sent(1), 0);
}

#[test]
fn unit_user_session_exit_triggers_a_forced_re_evaluation_although_nothing_is_new() {
    let mut bench = Bench::one();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
    let consumed = bench.workspace(1).consumed.clone();
    bench.session(1, "desk", false);
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedUserWorking);
    bench.session_ends(1, "desk");
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::Grace), "it is looked at");
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedDone);
    assert_eq!(bench.workspace(1).consumed, consumed, "and nothing was new");
    assert!(!bench.workspace(1).forced);
}

#[test]
fn unit_ci_that_reaches_its_end_while_a_session_is_active_is_acted_on_when_the_session_ends() {
    let mut bench = Bench::one();
    bench.session(1, "desk", false);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 0);
    bench.session_ends(1, "desk");
    assert_eq!((bench.sent(1), bench.shown(1)), (1, (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed)));
}

#[test]
fn a_session_that_falls_idle_or_of_which_nobody_hears_any_more_makes_way_as_one_that_ends() {
    let mut bench = Bench::one();
    bench.session(1, "desk", false);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.session(1, "desk", true);
    assert_eq!(bench.sent(1), 1, "it waits for its person now");

    let mut bench = Bench::one();
    bench.session(1, "desk", false);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.tick();
    assert_eq!((bench.sent(1), bench.workspace(1).sessions.len()), (1, 0), "the worker woke by itself");
    let ended = |event: &workspace::Event| matches!(event, workspace::Event::SessionEnded { vanished: true, .. });
    assert!(bench.events(1).iter().any(ended));
    let again = Request::Session { pr: pr(1), session: "desk".to_owned(), idle: false, by: None, again: true };
    assert!(bench.ask(again).unwrap_err().contains("no longer known"));
}

#[test]
fn one_session_of_several_is_enough_to_keep_the_ratchet_out() {
    let mut bench = Bench::one();
    bench.session(1, "desk", false);
    bench.session(1, "laptop", false);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.session_ends(1, "desk");
    assert_eq!((bench.sent(1), bench.shown(1).0), (0, WorkspaceStatus::PausedUserWorking));
    bench.session_ends(1, "laptop");
    assert_eq!(bench.sent(1), 1);
}

#[test]
fn a_session_that_opens_while_a_fixer_is_at_work_lets_it_finish_and_keeps_the_next_one_out() {
    let mut bench = Bench::fixing();
    bench.session(1, "desk", false);
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed));
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!((bench.shown(1).0, bench.attempts(1)), (WorkspaceStatus::PausedUserWorking, 1));
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 1);
    bench.session_ends(1, "desk");
    assert_eq!(bench.sent(1), 2);
}

// ── CI ──

#[test]
fn unit_ci_in_progress_workspaces_are_skipped_for_fixup_dispatch_and_the_later_end_is_not_lost() {
    let mut bench = Bench::one();
    bench.ci_begins(1);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::CiInProgress));
    assert_eq!(bench.activity(1), "Waiting for CI to finish");
    assert!(
        bench.moves(1).contains(&(
            TransitionLogAction::Wait,
            WorkspaceStatus::WaitingForCi,
            WorkspaceReason::CiInProgress
        )),
        "it is in the log"
    );
    assert_eq!(bench.beat(), [0_u64; 0], "nothing new");
    bench.ci_ends(1, CheckConclusion::Failed);
    assert_eq!((bench.beat(), bench.sent(1)), (vec![1], 1));
}

/// A check may come and go within one run.
#[test]
fn ci_that_goes_on_for_a_while_and_says_the_same_as_before_does_not_leave_the_workspace_waiting_for_it() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedDone);
    bench.ci_ends(1, CheckConclusion::Pending);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::CiInProgress));
    bench.ci_ends(1, CheckConclusion::Passed);
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
}

#[test]
fn unit_stale_ci_guard_prevents_a_duplicate_fixup_after_push() {
    let mut bench = Bench::fixing();
    let old = bench.script(1).ci.values().next().cloned().unwrap();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!((bench.shown(1), bench.sent(1)), ((WorkspaceStatus::WaitingForCi, WorkspaceReason::StaleCi), 1));
    assert_eq!(bench.activity(1), "Waiting for CI to restart");
    // GitHub still shows the run of before, which failed.
    let head = bench.hub.pulls[&1].head.clone();
    bench.script(1).ci.insert(head, old);
    for _ in 0..3 {
        bench.beat();
        bench.wait(MINUTE);
    }
    assert_eq!((bench.shown(1), bench.sent(1)), ((WorkspaceStatus::WaitingForCi, WorkspaceReason::StaleCi), 1));
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 2, "another run has begun, and failed");
}

#[test]
fn unit_stale_ci_timeout_triggers_an_attention_pause_with_audit_reason_stale_ci_timeout() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    let before = bench.worker.clock;
    bench.tick();
    assert!((before..before + 6 * MINUTE).contains(&bench.worker.clock), "the worker wakes for it by itself");
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionStaleCiTimeout, WorkspaceReason::StaleCiTimeout));
    assert_eq!(bench.shown(1).1.code(), "STALE_CI_TIMEOUT");
    assert_eq!(bench.shown(1).0.outcome_kind(), Some(OutcomeKind::Attention));
    assert_eq!(bench.moves(1).last().unwrap().0, TransitionLogAction::Pause);
    assert_eq!(bench.told(1).len(), 1, "somebody is told, once");
    for _ in 0..3 {
        bench.wait(10 * MINUTE);
        bench.beat();
    }
    assert_eq!((bench.told(1).len(), bench.sent(1)), (1, 1));
    bench.fixer(1, Fixer::Works);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 2, "it goes on when CI does");
}

#[test]
fn unit_a_new_run_ends_the_staleness_so_that_a_later_look_finds_no_timeout() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert!(bench.workspace(1).stale_since.is_some());
    bench.ci_begins(1);
    bench.beat();
    assert_eq!(bench.workspace(1).stale_since, None);
    bench.wait(30 * MINUTE);
    bench.ci_ends(1, CheckConclusion::Passed);
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
}

#[test]
fn where_nobody_runs_ci_none_is_waited_for_after_a_push() {
    let mut bench = Bench::one();
    bench.says(1, "thread");
    bench.fixer(1, Fixer::Pushes);
    bench.beat();
    assert_eq!((bench.sent(1), bench.attempts(1)), (1, 1));
    bench.resolves(1, "thread");
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
}

// ── Conflicts and people ──

#[test]
fn unit_conflict_only_mergeability_deltas_do_not_dispatch_fixer_work() {
    let mut bench = Bench::new(&[0; 6]);
    bench.wait(2 * MINUTE);
    (1..=6).for_each(|number| bench.script(number).merge = MergeState::Dirty);
    assert_eq!(bench.beat().len(), 6);
    for number in 1..=6 {
        assert_eq!((bench.sent(number), bench.times("diagnose")), (0, 0), "no herd");
    }
}

#[test]
fn unit_conflict_only_filtered_workspaces_still_get_their_status_and_their_line_in_the_log() {
    let mut bench = Bench::one();
    bench.wait(2 * MINUTE);
    bench.script(1).merge = MergeState::Dirty;
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedWaitConflictOnly, WorkspaceReason::ConflictOnly));
    assert_eq!(bench.activity(1), "Waiting for non-conflict trigger to update branch");
    let line = (TransitionLogAction::Pause, WorkspaceStatus::PausedWaitConflictOnly, WorkspaceReason::ConflictOnly);
    assert_eq!(bench.moves(1).last(), Some(&line));
    let snapshot = bench.events(1).into_iter().rev().find_map(|event| match event {
        workspace::Event::RatchetMoved { snapshot, .. } => snapshot,
        _ => None,
    });
    assert_eq!(snapshot.unwrap()["conflicts"], true, "with what it was decided on");
}

#[test]
fn unit_a_conflict_beside_a_failure_is_one_run_that_is_shown_to_update_the_branch_first() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Failed);
    bench.script(1).merge = MergeState::Dirty;
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!((bench.sent(1), bench.fix(1).conflicts), (1, true));
    let activities = bench.events(1).into_iter().filter_map(|event| match event {
        workspace::Event::RatchetMoved { action: TransitionLogAction::FixCi, activity, .. } => activity,
        _ => None,
    });
    assert_eq!(activities.collect::<Vec<_>>(), ["Updating branch from main", "Fixing build failures"]);
}

#[test]
fn a_failure_that_was_dealt_with_is_not_taken_up_again_because_main_moved() {
    let mut bench = Bench::fixing();
    bench.script(1).signature = Some("E0425".to_owned());
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::SameFailure));
    let asked = bench.times("diagnose");
    bench.script(1).merge = MergeState::Dirty;
    bench.beat();
    assert_eq!(
        bench.shown(1),
        (WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::SameFailure),
        "why is still shown"
    );
    let line =
        (TransitionLogAction::Noop, WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::ExternalChange);
    assert_eq!(bench.moves(1).last(), Some(&line), "what came of it is in the log");
    assert_eq!(bench.times("diagnose"), asked, "only what is outside of it changed");
}

#[test]
fn unit_the_status_is_updated_with_waiting_text_when_merge_is_blocked_on_human_review() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Passed);
    let script = bench.script(1);
    (script.merge, script.review) = (MergeState::Blocked, Some(ReviewDecision::ReviewRequired));
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedWaitHumanReview, WorkspaceReason::HumanReview));
    assert_eq!(bench.activity(1), "Waiting for human review approval");
    let script = bench.script(1);
    (script.merge, script.review) = (MergeState::Clean, Some(ReviewDecision::Approved));
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(
        bench.shown(1),
        (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen),
        "it goes on when somebody approves"
    );
}

// ── What is shown ──

#[test]
fn unit_the_status_is_updated_with_the_expected_activity_text_when_fixing_ci_and_review_comments() {
    let bench = Bench::fixing();
    assert_eq!(bench.activity(1), "Fixing build failures");
    let mut bench = Bench::one();
    bench.says(1, "thread");
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingReview, WorkspaceReason::ReviewComments));
    assert_eq!(bench.activity(1), "Addressing PR review comments");
}

#[test]
fn unit_the_status_is_updated_with_waiting_text_during_ci_wait_and_active_session_wait() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!(bench.activity(1), "Waiting for CI to restart");
    bench.session(1, "desk", false);
    assert_eq!(bench.activity(1), "Waiting for active workspace session to finish");
}

#[test]
fn the_time_of_a_status_is_that_of_its_last_change() {
    let mut bench = Bench::fixing();
    let since = bench.workspace(1).moved_at;
    bench.wait(10 * MINUTE);
    assert_eq!(bench.workspace(1).moved_at, since);
    bench.fixer(1, Fixer::GivesUp);
    bench.settle();
    assert!(bench.workspace(1).moved_at > since);
}

#[test]
fn the_time_of_a_status_is_also_that_of_another_activity_in_it() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Failed);
    bench.script(1).merge = MergeState::Dirty;
    bench.is_full = true;
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!(bench.activity(1), "Updating branch from main");
    let since = bench.workspace(1).moved_at;
    bench.worker.clock += MINUTE;
    bench.is_full = false;
    bench.settle();
    assert_eq!(bench.activity(1), "Fixing build failures");
    assert!(bench.workspace(1).moved_at > since);
}

#[test]
fn a_look_that_nothing_comes_of_changes_nothing_of_what_is_shown() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Dies);
    bench.settle();
    let before = bench.workspace(1).clone();
    assert_eq!((before.reason, before.told.as_deref()), (WorkspaceReason::FixerDied, Some("no memory left")));
    let lines = bench.moves(1).len();
    bench.worker.clock += MINUTE;
    bench.script(1).merge = MergeState::Dirty;
    bench.beat();
    let after = bench.workspace(1);
    assert_eq!(bench.moves(1)[lines..], [(TransitionLogAction::Noop, before.status, WorkspaceReason::AlreadyTried)]);
    assert_eq!(
        (after.status, after.reason, &after.told, &after.activity, after.moved_at),
        (before.status, before.reason, &before.told, &before.activity, before.moved_at)
    );
    assert_ne!(after.consumed, before.consumed, "but it was dealt with");
}

#[test]
fn the_grace_goes_on_over_a_look_that_nothing_comes_of() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    let since = bench.workspace(1).green_since;
    assert_eq!(bench.shown(1).1, WorkspaceReason::Grace);
    bench.wait(10);
    bench.script(1).merge = MergeState::Unknown;
    bench.says(1, "thread");
    bench.resolves(1, "thread");
    bench.beat();
    bench.script(1).merge = MergeState::Clean;
    bench.beat();
    assert!(since.is_some() && bench.workspace(1).green_since.is_some());
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
}

#[test]
fn a_push_of_a_person_ends_the_wait_for_ci_that_a_fixer_began() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::StaleCi));
    bench.pushes(1);
    assert_eq!(bench.workspace(1).stale_since, None);
    bench.wait(30 * MINUTE);
    assert_ne!(bench.shown(1).0, WorkspaceStatus::PausedAttentionStaleCiTimeout, "no fixer's push is waited for");
    assert_eq!(bench.told(1).len(), 0);
}

#[test]
fn a_push_of_a_person_is_looked_into_at_once_though_github_could_not_tell_of_the_head_before() {
    let mut bench = Bench::one();
    bench.script(1).diagnosis = Some(failure(EffectFailureKind::Transient));
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    for _ in 0..6 {
        bench.tick();
    }
    let retry_at = bench.workspace(1).retry_at.expect("it is tried again");
    assert!(retry_at.duration_since(at(bench.worker.clock)).as_secs() > 10);
    bench.script(1).diagnosis = None;
    bench.pushes(1);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 1);
    assert!(at(bench.worker.clock) < retry_at);
}

/// What is not there any more is not shown, also where there is nothing to do instead.
#[test]
fn a_session_that_ended_and_a_switch_that_is_on_again_are_not_shown_any_more_where_nothing_can_be_said_yet() {
    let mut bench = Bench::one();
    bench.script(1).merge = MergeState::Unknown;
    bench.pushes(1);
    bench.session(1, "desk", false);
    bench.session_ends(1, "desk");
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::NothingActionable));
    bench.toggle(1, false).unwrap();
    bench.toggle(1, true).unwrap();
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::NothingActionable));
}

#[test]
fn unit_the_post_green_grace_window_delays_paused_done_to_allow_late_review_comments() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::Grace));
    assert_eq!(bench.activity(1), "Waiting a moment for late review comments");
    bench.wait(30);
    assert_eq!(bench.shown(1).1, WorkspaceReason::Grace);
    bench.says(1, "late");
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingReview, WorkspaceReason::ReviewComments), "it came in time");

    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    let before = bench.worker.clock;
    bench.tick();
    assert_eq!(
        bench.shown(1),
        (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen),
        "the worker wakes for it by itself"
    );
    assert!(bench.worker.clock - before <= MINUTE);
    assert_eq!(bench.shown(1).0.outcome_kind(), Some(OutcomeKind::Success));
}

#[test]
fn unit_fix_prompts_include_sync_with_main_instructions() {
    for issue in [workspace::FixIssue::FixCi, workspace::FixIssue::FixReview] {
        let brief = brief::FixerBrief {
            issue,
            repo: "acme/widgets".parse().unwrap(),
            pr: pr(1),
            title: String::new(),
            branch: branch("feature-1"),
            base: branch("main"),
            head: sha(1),
            conflicts: false,
            checks: Vec::new(),
            threads: Vec::new(),
            reviews: Vec::new(),
        };
        let prompt = brief::prompt(&brief);
        assert!(prompt.contains("`git fetch origin`") && prompt.contains("git merge"), "{prompt}");
    }
}
