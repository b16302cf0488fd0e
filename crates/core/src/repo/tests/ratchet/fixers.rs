//! Fixers from being sent to their end, and what is counted.

use super::*;
use crate::repo::ratchet::{FixIssue, OutcomeKind};

/// A fixer that is at work comes to this end.
fn ends(bench: &mut Bench, fixer: Fixer) {
    bench.fixer(1, fixer);
    bench.settle();
}

/// CI fails again, and a fixer pushes something.
fn another_push(bench: &mut Bench) {
    bench.fixer(1, Fixer::Pushes);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
}

// ── Waiting for their end ──

#[test]
fn unit_awaiting_fixup_completion_works_end_to_end() {
    let mut bench = Bench::fixing();
    let fix = bench.fix(1).clone();
    assert_eq!((fix.issue, &fix.phase, fix.starts), (FixIssue::FixCi, &FixPhase::Running, 1));
    assert_eq!((fix.head, fix.branch, fix.base), (sha(1), branch("feature-1"), branch("main")));
    ends(&mut bench, Fixer::Pushes);
    assert_eq!((bench.shown(1), bench.attempts(1)), ((WorkspaceStatus::WaitingForCi, WorkspaceReason::StaleCi), 1));
    assert_eq!(bench.worker.known(1).head_sha, bench.hub.pulls[&1].head, "what it pushed is known");
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
    let log: Vec<_> = bench.moves(1).into_iter().map(|(deed, _, reason)| (deed, reason)).collect();
    let expected = [
        (TransitionLogAction::Wait, WorkspaceReason::Grace),
        (TransitionLogAction::FixCi, WorkspaceReason::CiFailed),
        (TransitionLogAction::Wait, WorkspaceReason::FixerPushed),
        (TransitionLogAction::Wait, WorkspaceReason::StaleCi),
        (TransitionLogAction::Wait, WorkspaceReason::Grace),
        (TransitionLogAction::Pause, WorkspaceReason::AllGreen),
    ];
    assert_eq!(log, expected, "every step is in the log");
}

#[test]
fn unit_wait_for_completion_resolves_when_the_session_exits_and_not_before() {
    let mut bench = Bench::fixing();
    bench.wait(20 * MINUTE);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed));
    assert_eq!(bench.times("forward"), 0);
    ends(&mut bench, Fixer::GivesUp);
    assert_eq!(bench.workspace(1).fix, None);
}

#[test]
fn unit_wait_for_completion_with_a_timeout_counts_as_an_attempt_and_is_followed_by_a_fresh_look() {
    let mut bench = Bench::fixing();
    ends(&mut bench, Fixer::TimesOut);
    assert_eq!((bench.sent(1), bench.attempts(1)), (3, 3), "it is sent again, as long as there is a budget");
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::TooManyAttempts));
    assert_eq!(bench.times("clear_fixer"), 3);
    let settled = bench.events(1).into_iter().find_map(|event| match event {
        workspace::Event::FixSettled { settled, .. } => Some(settled),
        _ => None,
    });
    assert_eq!(settled.unwrap().sentence(), "The fixer ran out of time and was stopped: after 30 minutes");
}

#[test]
fn unit_clear_ratchet_sessions_tears_down_the_previous_fixup_before_the_action_phase() {
    let mut bench = Bench::fixing();
    let first = bench.fix(1).clone();
    ends(&mut bench, Fixer::Pushes);
    bench.fixer(1, Fixer::Works);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    let second = bench.fix(1).at;
    let position = |what: &dyn Fn(&Effect) -> bool| bench.asked.iter().position(what).expect("asked for");
    let cleared = position(&|effect| {
        *effect == Effect::Ratchet(RatchetEffect::ClearFixer { pr: pr(1), at: first.at, head: first.head.clone() })
    });
    let begun = position(&|effect| matches!(effect, Effect::Ratchet(RatchetEffect::Fix { at, .. }) if *at == second));
    assert!(cleared < begun);
}

#[test]
fn unit_clear_ratchet_sessions_runs_even_when_the_ratchet_is_disabled() {
    let mut bench = Bench::fixing();
    bench.toggle(1, false).unwrap();
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed), "who is at work finishes");
    assert_eq!((bench.times("clear_fixer"), bench.cancels.len()), (0, 0));
    ends(&mut bench, Fixer::Pushes);
    assert_eq!(bench.times("clear_fixer"), 1);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDisabled, WorkspaceReason::Disabled));
    bench.ci(1, CheckConclusion::Failed);
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!((bench.shown(1).0, bench.sent(1)), (WorkspaceStatus::PausedDisabled, 1), "and nobody follows");
}

#[test]
fn unit_clear_workspace_ratchet_sessions_terminates_the_fixer_of_a_pull_request_that_is_closed() {
    let mut bench = Bench::fixing();
    bench.closes(1);
    assert_eq!(bench.cancels, [EffectOwner::Fixer(pr(1))]);
    assert_eq!(bench.times("clear_fixer"), 1);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedPrNotOpen, WorkspaceReason::PrNotOpen));
    assert!(bench.workspace(1).archived_at.is_some());
    assert_eq!((bench.attempts(1), bench.told(1).len()), (0, 0), "which is nobody's fault");
}

#[test]
fn somebody_stops_a_fixer_and_it_is_not_sent_again_for_the_same() {
    let mut bench = Bench::fixing();
    bench.stops_fixer(1).unwrap();
    assert_eq!(bench.cancels, [EffectOwner::Fixer(pr(1))]);
    assert_eq!((bench.times("clear_fixer"), bench.attempts(1)), (1, 0));
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::FixerCancelled));
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    bench.wait(30 * MINUTE);
    assert_eq!(bench.sent(1), 1);
    let stale = Request::StopFix { pr: pr(1), at: at(0), behest: Attribution::default() };
    assert!(bench.ask(stale).unwrap_err().contains("No such fixer"));
}

#[test]
fn a_fixer_whose_push_is_on_its_way_cannot_be_stopped() {
    let mut bench = Bench::fixing();
    bench.script(1).way = Way::Hangs;
    ends(&mut bench, Fixer::Pushes);
    assert!(bench.stops_fixer(1).unwrap_err().contains("can no longer be cancelled"));
    bench.script(1).way = Way::Lands;
    bench.settle();
    assert_eq!(bench.attempts(1), 1);
}

// ── One at a time ──

#[test]
fn unit_workspace_single_flight_prevents_concurrent_runs() {
    let mut bench = Bench::fixing();
    for round in 0..5 {
        bench.ci(1, CheckConclusion::Failed);
        bench.says(1, &format!("thread {round}"));
        bench.script(1).merge = if round % 2 == 0 { MergeState::Dirty } else { MergeState::Clean };
        bench.beat();
        bench.wait(MINUTE);
    }
    let at = bench.fix(1).at;
    assert_eq!((bench.sent(1), bench.times("diagnose")), (1, 1));
    let fixes = bench
        .asked
        .iter()
        .filter(|effect| matches!(effect, Effect::Ratchet(RatchetEffect::Fix { at: of, .. }) if *of != at));
    assert_eq!(fixes.count(), 0, "whatever is asked for again is the same one");
}

#[test]
fn unit_mid_run_delta_coalescing_schedules_one_follow_up_pass() {
    let mut bench = Bench::fixing();
    for round in 0..3 {
        bench.says(1, &format!("thread {round}"));
        bench.beat();
    }
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    let before = bench.moves(1).len();
    bench.fixer(1, Fixer::GivesUp);
    bench.is_slow = true;
    bench.settle();
    assert_eq!(bench.moves(1).len(), before + 1, "the end of the fixer");
    assert_eq!(bench.times("diagnose"), 2, "and one look at all that came meanwhile");
    bench.is_slow = false;
    bench.fixer(1, Fixer::Works);
    bench.settle();
    assert_eq!((bench.sent(1), bench.fix(1).points.len()), (2, 3), "which is one fixer for all three");
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingReview, WorkspaceReason::ReviewComments));
}

// ── No push ──

#[test]
fn unit_no_push_detection_an_agent_that_exits_without_pushing_pauses_and_each_way_to_do_so_is_told_apart() {
    let ways = [
        (Fixer::GivesUp, WorkspaceReason::FixerGaveUp, None),
        (Fixer::Fails, WorkspaceReason::FixerFailed, Some("no memory left")),
        (Fixer::Dies, WorkspaceReason::FixerDied, Some("no memory left")),
        (Fixer::Oversteps, WorkspaceReason::PushRefused, Some("it rewrites history")),
        (Fixer::Breaks, WorkspaceReason::FixerDied, Some("it did not succeed")),
    ];
    for (fixer, reason, told) in ways {
        let mut bench = Bench::one();
        bench.fixer(1, fixer);
        bench.ci(1, CheckConclusion::Failed);
        bench.beat();
        assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, reason), "{fixer:?}");
        assert_eq!(bench.shown(1).0.outcome_kind(), Some(OutcomeKind::Attention));
        assert_eq!(bench.workspace(1).told.as_deref(), told, "{fixer:?}");
        let said = bench.told(1);
        assert_eq!(said.len(), 1, "{fixer:?}: {said:?}");
        assert!(told.is_none_or(|told| said[0].contains(told)), "{said:?}");
        assert_eq!(bench.workspace(1).stale_since, None, "no CI is waited for that nobody set off");
    }
}

#[test]
fn unit_no_push_does_not_increment_the_attempt_counter() {
    for fixer in [Fixer::GivesUp, Fixer::Fails, Fixer::Dies, Fixer::Oversteps, Fixer::Breaks] {
        let mut bench = Bench::fixing();
        ends(&mut bench, fixer);
        assert_eq!((bench.attempts(1), bench.times("clear_fixer")), (0, 1), "{fixer:?}");
    }
}

#[test]
fn a_fixer_whose_checkout_cannot_be_made_is_tried_again_and_given_up_in_the_end() {
    let mut bench = Bench::one();
    bench.fixer(1, Fixer::Stumbles);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!((bench.shown(1).0, bench.fix(1).failures), (WorkspaceStatus::FixingCi, 1));
    let mut clocks = Vec::new();
    while bench.workspace(1).fix.is_some() {
        bench.tick();
        clocks.push(bench.worker.clock);
    }
    assert_eq!((clocks.len(), bench.sent(1)), (6, 1), "each time later");
    assert!(clocks.windows(3).all(|them| them[2] - them[1] > them[1] - them[0]), "{clocks:?}");
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::FixerDied));

    let mut bench = Bench::one();
    bench.fixer(1, Fixer::Stumbles);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.fixer(1, Fixer::Pushes);
    bench.tick();
    assert_eq!(bench.attempts(1), 1, "or goes on once that succeeds");
}

#[test]
fn no_second_fixer_is_sent_for_the_same_failure_after_no_push_and_a_new_run_allows_one() {
    let mut bench = Bench::fixing();
    ends(&mut bench, Fixer::GivesUp);
    bench.script(1).merge = MergeState::Dirty;
    bench.beat();
    assert_eq!((bench.sent(1), bench.shown(1).1), (1, WorkspaceReason::FixerGaveUp), "what is shown still holds");
    assert_eq!(bench.moves(1).last().unwrap().2, WorkspaceReason::AlreadyTried);
    bench.session(1, "desk", false);
    bench.session_ends(1, "desk");
    assert_eq!(
        (bench.sent(1), bench.shown(1)),
        (1, (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::AlreadyTried))
    );
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 2);
}

#[test]
fn a_reviewer_who_says_something_new_lets_a_fixer_try_again_as_it_was_promised() {
    for is_failing in [true, false] {
        let mut bench = Bench::one();
        bench.fixer(1, Fixer::GivesUp);
        if is_failing {
            bench.ci(1, CheckConclusion::Failed);
        }
        bench.says(1, "thread");
        bench.beat();
        assert_eq!((bench.sent(1), bench.shown(1).0), (1, WorkspaceStatus::PausedAttentionNoPush));
        assert!(bench.told(1)[0].contains("or a reviewer comments"));
        bench.beat();
        assert_eq!(bench.sent(1), 1);
        bench.says(1, "another");
        bench.beat();
        assert_eq!(bench.sent(1), 2, "CI fails: {is_failing}");
    }
}

// ── The counter ──

#[test]
fn unit_the_attempt_counter_increments_when_the_agent_pushes_whatever_for() {
    let mut bench = Bench::one();
    another_push(&mut bench);
    assert_eq!(bench.attempts(1), 1);
    bench.ci(1, CheckConclusion::Passed);
    bench.says(1, "thread");
    bench.beat();
    assert_eq!(bench.attempts(1), 2, "for a reviewer as for CI");
    another_push(&mut bench);
    assert_eq!(bench.attempts(1), 3);
}

#[test]
fn unit_paused_attention_terminal_failed_is_entered_at_three_attempts_and_skips_the_fixup_launch() {
    let mut bench = Bench::one();
    (0..3).for_each(|_| another_push(&mut bench));
    assert_eq!((bench.sent(1), bench.attempts(1)), (3, 3));
    assert_ne!(bench.shown(1).0, WorkspaceStatus::PausedAttentionTerminalFailed, "the third may have helped");
    let diagnosed = bench.times("diagnose");
    another_push(&mut bench);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::TooManyAttempts));
    another_push(&mut bench);
    assert_eq!((bench.sent(1), bench.times("diagnose")), (3, diagnosed), "nobody is sent any more");
    assert_eq!(bench.told(1).len(), 1, "and that is said once");
}

#[test]
fn unit_the_terminal_threshold_is_the_setting() {
    let mut bench = Bench::with(&[0], |settings| settings.max_attempts = 1);
    another_push(&mut bench);
    another_push(&mut bench);
    assert_eq!((bench.sent(1), bench.shown(1).1), (1, WorkspaceReason::TooManyAttempts));
}

#[test]
fn unit_a_third_push_that_turned_green_ends_in_paused_done() {
    let mut bench = Bench::one();
    (0..3).for_each(|_| another_push(&mut bench));
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen));
    assert_eq!(bench.attempts(1), 0);
}

#[test]
fn unit_the_attempt_counter_resets_on_paused_done() {
    let mut bench = Bench::one();
    another_push(&mut bench);
    bench.ci(1, CheckConclusion::Passed);
    bench.beat();
    assert_eq!((bench.shown(1).1, bench.attempts(1)), (WorkspaceReason::Grace, 1), "not before it is done");
    bench.wait(2 * MINUTE);
    assert_eq!((bench.shown(1).0, bench.attempts(1)), (WorkspaceStatus::PausedDone, 0));
}

#[test]
fn unit_the_attempt_counter_resets_on_an_external_push_and_the_ratchet_goes_on() {
    let mut bench = Bench::one();
    (0..4).for_each(|_| another_push(&mut bench));
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedAttentionTerminalFailed);
    bench.pushes(1);
    assert_eq!(bench.attempts(1), 0);
    assert_eq!(bench.shown(1).0, WorkspaceStatus::WaitingForCi, "nobody is needed for what is not there any more");
    another_push(&mut bench);
    assert_eq!((bench.sent(1), bench.attempts(1)), (4, 1));
}

#[test]
fn unit_the_attempt_counter_resets_on_ratchet_re_enable_in_every_way_to_do_that() {
    let ways: [fn(&mut Bench); 4] = [
        |bench| {
            bench.toggle(1, false).unwrap();
            bench.toggle(1, true).unwrap();
        },
        |bench| {
            bench.labels(1, &["no-ratchet"]);
            bench.labels(1, &[]);
        },
        |bench| {
            bench.toggle(None, false).unwrap();
            bench.toggle(None, true).unwrap();
        },
        // As the comment that somebody is asked for help in says.
        |bench| bench.toggle(1, true).unwrap(),
    ];
    for (way, how) in ways.into_iter().enumerate() {
        let mut bench = Bench::one();
        bench.toggle(1, true).unwrap();
        bench.worker.state.workspaces.get_mut(&pr(1)).unwrap().toggle = (way == 3).then_some(true);
        (0..4).for_each(|_| another_push(&mut bench));
        assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedAttentionTerminalFailed);
        bench.fixer(1, Fixer::Works);
        how(&mut bench);
        assert_eq!((bench.attempts(1), bench.sent(1)), (0, 4), "the way at {way}");
        assert_eq!(bench.shown(1).0, WorkspaceStatus::FixingCi, "the way at {way}");
    }
}

/// Somebody at work keeps the ratchet from noticing that it is off.
#[test]
fn the_attempt_counter_resets_on_ratchet_re_enable_also_while_a_session_works() {
    let ways: [fn(&mut Bench, bool); 3] = [
        |bench, on| bench.toggle(1, on).unwrap(),
        |bench, on| bench.toggle(None, on).unwrap(),
        |bench, on| bench.labels(1, if on { &[] } else { &["no-ratchet"] }),
    ];
    for (way, switch) in ways.into_iter().enumerate() {
        let mut bench = Bench::one();
        (0..3).for_each(|_| another_push(&mut bench));
        bench.session(1, "desk", false);
        switch(&mut bench, false);
        assert_eq!((bench.shown(1).0, bench.attempts(1)), (WorkspaceStatus::PausedUserWorking, 3), "the way at {way}");
        switch(&mut bench, true);
        assert_eq!(bench.attempts(1), 0, "the way at {way}");
    }
}

#[test]
fn the_switch_of_the_repository_does_not_reset_the_counter_of_who_does_not_follow_it() {
    let mut bench = Bench::one();
    bench.toggle(1, true).unwrap();
    another_push(&mut bench);
    bench.toggle(None, false).unwrap();
    bench.toggle(None, true).unwrap();
    assert_eq!(bench.attempts(1), 1);
}

#[test]
fn what_a_fixer_left_is_removed_sooner_or_later() {
    let mut bench = Bench::fixing();
    bench.is_sticky = true;
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!((bench.times("clear_fixer"), bench.workspace(1).left.len()), (1, 1));
    bench.tick();
    assert_eq!((bench.times("clear_fixer"), bench.workspace(1).left.len()), (2, 1));
    bench.is_sticky = false;
    bench.tick();
    assert_eq!((bench.times("clear_fixer"), bench.workspace(1).left.len()), (3, 0));
    bench.tick();
    assert_eq!(bench.times("clear_fixer"), 3);
}
