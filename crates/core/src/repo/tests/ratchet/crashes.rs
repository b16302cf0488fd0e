//! A daemon that dies, and the next one.

use super::*;
use crate::repo::ratchet::ApprovalRule;

fn names(plan: &Plan) -> Vec<&'static str> {
    let is_about_fixers = |name: &&str| ["diagnose", "fix", "forward", "probe_forward", "clear_fixer"].contains(name);
    plan.effects.iter().map(Effect::name).filter(is_about_fixers).collect()
}

fn events(plan: &Plan) -> Vec<&workspace::Event> {
    let about = plan.events.iter().filter_map(|event| match event {
        Event::Ratchet(event) => Some(event),
        _ => None,
    });
    about.filter(|event| !matches!(event, workspace::Event::TalkOutdated { .. })).collect()
}

#[test]
fn what_cannot_be_undone_is_written_down_in_the_same_breath_in_which_it_is_asked_for() {
    let mut bench = Bench::one();
    bench.is_slow = true;
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.is_manual = true;
    bench.under_way.clear();
    let head = bench.hub.pulls[&1].head.clone();
    let (issue, result) = (workspace::FixIssue::FixCi, Ok(CiDiagnosis::default()));
    let plan = bench.feed(&diagnosed(pr(1), head, issue, result));
    assert_eq!(names(&plan), ["fix"]);
    assert!(events(&plan).iter().any(|event| matches!(event, workspace::Event::FixDispatched { .. })));
    let sent = bench.fix(1).at;
    bench.feed(&Input::FixStarted { pr: pr(1), at: sent });
    bench.fixer(1, Fixer::Pushes);
    let result = bench.fixed(1, sha(1));
    let plan = bench.feed(&fixed(pr(1), sent, result));
    assert_eq!(names(&plan), ["forward"]);
    assert!(events(&plan).iter().any(|event| matches!(event, workspace::Event::FixPushIntended { .. })));
}

#[test]
fn what_is_wrong_is_asked_again_where_nobody_was_sent_yet() {
    let mut bench = Bench::one();
    bench.is_slow = true;
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.crash();
    bench.is_slow = false;
    bench.settle();
    assert_eq!((bench.times("diagnose"), bench.sent(1)), (2, 1));
}

#[test]
fn a_fixer_that_was_sent_and_never_began_is_begun() {
    let mut bench = Bench::one();
    bench.is_full = true;
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    let fix = bench.fix(1).clone();
    assert_eq!((&fix.phase, fix.starts), (&FixPhase::Queued, 0));
    let plan = bench.crash();
    assert_eq!((names(&plan), events(&plan).len()), (vec!["fix"], 0));
    assert_eq!(bench.fix(1), &fix, "the same one");
    bench.is_full = false;
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!((bench.sent(1), bench.attempts(1)), (1, 1));
}

#[test]
fn a_fixer_that_was_at_work_is_begun_again_and_counted_once() {
    let mut bench = Bench::fixing();
    let at = bench.fix(1).at;
    let plan = bench.crash();
    assert_eq!(names(&plan), ["fix"]);
    assert!(matches!(events(&plan)[..], [workspace::Event::FixInterrupted { .. }]), "{:?}", plan.events);
    bench.settle();
    assert_eq!((bench.fix(1).at, bench.fix(1).starts), (at, 2));
    assert_eq!(bench.shown(1), (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed));
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!((bench.sent(1), bench.attempts(1), bench.times("clear_fixer")), (1, 1, 1));
}

#[test]
fn a_fixer_that_ends_with_the_daemon_is_begun_again_by_the_next_one() {
    let mut bench = Bench::fixing();
    bench.fixer(1, Fixer::Stops);
    let key = EffectKey::Ratchet(RatchetKey::Fix(pr(1)));
    bench.answer(key);
    assert_eq!(bench.fix(1).phase, FixPhase::Queued);
    assert_eq!((bench.attempts(1), bench.workspace(1).tried.as_ref()), (0, None));
    bench.fixer(1, Fixer::Pushes);
    bench.crash();
    bench.settle();
    assert_eq!((bench.sent(1), bench.attempts(1)), (1, 1));
}

#[test]
fn a_fixer_that_takes_the_daemon_with_it_each_time_is_given_up() {
    let mut bench = Bench::fixing();
    for _ in 0..4 {
        bench.crash();
        bench.settle();
    }
    assert_eq!(bench.fix(1).starts, 5);
    let plan = bench.crash();
    assert_eq!(names(&plan), ["clear_fixer"]);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::FixerDied));
    assert!(bench.told(1)[0].contains("it was started 5 times"));
    bench.settle();
    bench.crash();
    bench.settle();
    assert_eq!((bench.sent(1), bench.attempts(1)), (1, 0), "and not sent for the same again");
}

#[test]
fn a_push_that_is_held_is_held_on_and_nothing_is_asked_for() {
    let mut bench = Bench::with(&[0], |settings| settings.approve = ApprovalRule::Always);
    bench.fixer(1, Fixer::Pushes);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    let fix = bench.fix(1).clone();
    let plan = bench.crash();
    assert_eq!((names(&plan), events(&plan).len()), (Vec::new(), 0));
    bench.settle();
    assert_eq!(bench.fix(1), &fix);
    bench.decides(1, Decision::Approved).unwrap();
    assert_eq!((bench.attempts(1), bench.times("forward")), (1, 1));
}

#[test]
fn a_push_on_its_way_is_looked_for_before_it_is_pushed_again_and_counted_once() {
    for had_landed in [true, false] {
        let mut bench = Bench::fixing();
        bench.script(1).way = Way::Hangs;
        bench.fixer(1, Fixer::Pushes);
        bench.settle();
        let FixPhase::Pushing { push, doubted: false, .. } = bench.fix(1).phase.clone() else {
            panic!("{:?}", bench.fix(1))
        };
        if had_landed {
            bench.hub.pulls.get_mut(&1).unwrap().head = push.to.clone();
        }
        let plan = bench.crash();
        assert_eq!(names(&plan), ["probe_forward"]);
        assert!(matches!(events(&plan)[..], [workspace::Event::FixPushDoubted { .. }]), "{:?}", plan.events);
        bench.script(1).way = Way::Lands;
        bench.settle();
        assert_eq!(bench.times("forward"), if had_landed { 1 } else { 2 });
        assert_eq!((bench.attempts(1), bench.sent(1)), (1, 1));
        assert_eq!((&bench.hub.pulls[&1].head, &bench.worker.known(1).head_sha), (&push.to, &push.to));
    }
}

#[test]
fn a_push_that_was_doubted_already_is_looked_for_when_it_is_due() {
    let mut bench = Bench::fixing();
    bench.script(1).way = Way::GetsLost;
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    for _ in 0..3 {
        bench.tick();
    }
    bench.script(1).way = Way::Lands;
    let plan = bench.crash();
    assert_eq!((names(&plan), events(&plan).len()), (Vec::new(), 0), "not before its time");
    bench.settle();
    assert_eq!(bench.attempts(1), 0);
    bench.tick();
    assert_eq!((bench.attempts(1), bench.sent(1), bench.shown(1).1), (1, 1, WorkspaceReason::StaleCi));
}

#[test]
fn somebody_pushed_while_nobody_listened() {
    let mut bench = Bench::fixing();
    bench.script(1).way = Way::Hangs;
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    bench.hub.push(1);
    bench.script(1).way = Way::Lands;
    bench.crash();
    bench.settle();
    assert!(bench.moves(1).iter().any(|(.., reason)| *reason == WorkspaceReason::Outpaced));
    assert_eq!((bench.attempts(1), bench.times("forward")), (0, 1));
}
