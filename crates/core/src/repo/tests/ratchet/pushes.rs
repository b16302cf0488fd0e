//! Whether a fixer's push arrived, and whose pushes count as whose.

use super::*;

fn pushing(way: Way) -> Bench {
    let mut bench = Bench::fixing();
    bench.script(1).way = way;
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    bench
}

#[test]
fn unit_did_push_unknown_does_not_pause_attention_and_is_retried_with_backoff() {
    let mut bench = pushing(Way::GetsLost);
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::PushStatusUnknown));
    assert_eq!(bench.activity(1), "Checking whether the fixer's push reached GitHub");
    let mut waits = Vec::new();
    for _ in 0..5 {
        let before = bench.worker.clock;
        bench.tick();
        waits.push(bench.worker.clock - before);
    }
    assert!(waits.windows(2).all(|them| them[1] > them[0]), "{waits:?}");
    assert_eq!((bench.shown(1).0.outcome_kind(), bench.told(1).len()), (None, 0), "nobody is bothered");
    assert_eq!((bench.times("forward"), bench.times("probe_forward")), (1, 5), "it is looked for before all else");
    bench.script(1).way = Way::Lands;
    bench.tick();
    assert_eq!((bench.times("forward"), bench.attempts(1)), (2, 1), "it was not there, and is pushed again");
    assert_eq!(bench.sent(1), 1);
}

#[test]
fn a_push_that_landed_unheard_is_found_and_counted_once() {
    let mut bench = pushing(Way::LandsUnheard);
    assert_eq!((bench.shown(1).1, bench.attempts(1)), (WorkspaceReason::PushStatusUnknown, 0));
    bench.tick();
    assert_eq!((bench.times("forward"), bench.times("probe_forward")), (1, 1));
    assert_eq!((bench.attempts(1), bench.shown(1).1), (1, WorkspaceReason::StaleCi));
}

#[test]
fn a_push_that_github_tells_of_before_it_is_known_to_have_arrived_is_no_push_from_outside() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    bench.ci(1, CheckConclusion::Failed);
    bench.script(1).way = Way::LandsUnheard;
    bench.beat();
    assert_eq!((bench.attempts(1), bench.shown(1).1), (1, WorkspaceReason::PushStatusUnknown));
    bench.is_manual = true;
    bench.tells(1, "synchronize");
    assert_eq!(bench.attempts(1), 1, "its own push resets nothing");
    bench.is_manual = false;
    bench.tick();
    assert_eq!(bench.attempts(1), 2);
    bench.tells(1, "synchronize");
    bench.tells(1, "edited");
    assert_eq!(bench.attempts(1), 2, "nor does a word of it that comes late");
}

#[test]
fn a_push_of_somebody_else_ends_the_fixer_at_once_which_is_not_counted() {
    let mut bench = Bench::fixing();
    bench.pushes(1);
    expect_outpaced(&bench);
    assert_eq!(bench.cancels, [EffectOwner::Fixer(pr(1))]);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 2, "what they pushed is looked at as any other");
}

#[test]
fn a_push_of_somebody_else_that_nobody_told_of_is_found_when_the_fixer_pushes() {
    let mut bench = Bench::fixing();
    bench.hub.push(1);
    let theirs = bench.hub.pulls[&1].head.clone();
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    expect_outpaced(&bench);
    assert_eq!(bench.hub.pulls[&1].head, theirs, "theirs stays");
}

fn expect_outpaced(bench: &Bench) {
    let reasons: Vec<WorkspaceReason> = bench.moves(1).into_iter().map(|(.., reason)| reason).collect();
    assert!(reasons.contains(&WorkspaceReason::Outpaced), "{reasons:?}");
    assert_eq!((bench.attempts(1), bench.times("clear_fixer"), bench.told(1).len()), (0, 1, 0));
    assert_ne!(bench.shown(1).0, WorkspaceStatus::PausedAttentionNoPush);
}

#[test]
fn a_push_that_github_rejects_is_a_no_push_with_push_refused() {
    for (way, told) in [(Way::IsRejected, "protected branch"), (Way::FindsNoBranch, "the branch is gone")] {
        let bench = pushing(way);
        assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::PushRefused));
        assert_eq!((bench.workspace(1).told.as_deref(), bench.attempts(1)), (Some(told), 0));
        assert!(bench.told(1)[0].contains(told));
    }
}

/// The clone and the gateway are gone with the disk that they were on, say.
#[test]
fn a_push_that_can_never_be_made_is_refused_once_it_is_known_not_to_have_arrived_and_somebody_is_told() {
    let mut bench = pushing(Way::CannotBeMade);
    assert_eq!(
        bench.shown(1),
        (WorkspaceStatus::WaitingForCi, WorkspaceReason::PushStatusUnknown),
        "it may have been made before"
    );
    assert_eq!((bench.told(1).len(), bench.times("forward")), (0, 1));
    bench.tick();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::PushRefused));
    assert_eq!((bench.times("probe_forward"), bench.times("forward"), bench.attempts(1)), (1, 1, 0));
    assert_eq!((bench.told(1).len(), bench.workspace(1).fix.as_ref()), (1, None), "the branch is nobody's");
    assert!(bench.told(1)[0].contains("it is nowhere any more"), "{:?}", bench.told(1));
}

#[test]
fn a_push_that_can_never_be_made_again_but_has_arrived_is_found_and_counted() {
    let mut bench = pushing(Way::CannotBeMade);
    let FixPhase::Pushing { push, .. } = bench.fix(1).phase.clone() else { panic!("{:?}", bench.fix(1)) };
    bench.hub.pulls.get_mut(&1).unwrap().head = push.to;
    bench.tick();
    assert_eq!((bench.attempts(1), bench.shown(1).1, bench.told(1).len()), (1, WorkspaceReason::StaleCi, 0));
}

#[test]
fn a_push_that_cannot_even_be_looked_for_is_unknown_however_bad_that_is() {
    let mut bench = pushing(Way::GetsLost);
    bench.script(1).way = Way::CannotBeFound;
    for _ in 0..10 {
        bench.tick();
    }
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::PushStatusUnknown));
    assert_eq!((bench.times("forward"), bench.times("probe_forward")), (1, 10));
    bench.script(1).way = Way::Lands;
    bench.tick();
    assert_eq!(bench.attempts(1), 1, "it is pushed as soon as it is known not to be there");
}

#[test]
fn answers_that_come_late_are_about_nothing() {
    let mut bench = pushing(Way::Lands);
    let before = bench.workspace(1).clone();
    let fixed = fixed(pr(1), at(0), Err(failure(EffectFailureKind::Permanent)));
    let landed = forwarded(pr(1), at(0), Ok(ForwardedPush::Pushed(PushOutcome::Landed)));
    for input in [Input::FixStarted { pr: pr(1), at: at(0) }, fixed, landed, fixer_cleared(pr(1), at(0), Ok(()))] {
        bench.feed(&input);
    }
    assert_eq!(bench.workspace(1), &before);
}

/// Whoever tells of the start of a process may be slower than whoever tells of its end.
#[test]
fn a_start_that_is_told_after_the_end_does_not_bring_a_fixer_back_to_work() {
    let mut bench = pushing(Way::Hangs);
    let before = bench.fix(1).clone();
    bench.feed(&Input::FixStarted { pr: pr(1), at: before.at });
    assert_eq!(bench.fix(1), &before);
}
