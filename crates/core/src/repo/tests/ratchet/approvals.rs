//! Pushes that wait for a person.

use super::*;
use crate::repo::ratchet::ApprovalRule;

fn held(approve: ApprovalRule) -> Bench {
    let mut bench = Bench::with(&[0], |settings| settings.approve = approve);
    bench.fixer(1, Fixer::Pushes);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench
}

#[test]
fn a_push_is_held_where_every_push_is_to_be_approved_or_where_it_touches_a_path_that_is_named() {
    let paths = |pattern: &str| ApprovalRule::Paths(vec![pattern.to_owned()]);
    for (approve, is_held) in
        [(ApprovalRule::Always, true), (paths("src/**"), true), (paths("docs/**"), false), (ApprovalRule::Never, false)]
    {
        let bench = held(approve.clone());
        assert_eq!(bench.times("forward"), usize::from(!is_held), "{approve:?}");
        assert_eq!(bench.attempts(1), u32::from(!is_held), "{approve:?}");
        if is_held {
            assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionPushApproval, WorkspaceReason::PushApproval));
            assert_eq!(bench.activity(1), "Waiting for approval of a fixer's push");
            let said = bench.told(1);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains(bench.fix(1).run_id(pr(1)).as_str()), "{said:?}");
            assert!(said[0].contains("`src/lib.rs`"), "{said:?}");
        }
    }
}

#[test]
fn a_guarded_path_behind_however_many_others_holds_the_push_which_says_how_many_it_does_not_list() {
    let paths = ApprovalRule::Paths(vec!["src/guarded/**".to_owned()]);
    let mut bench = Bench::with(&[0], |settings| settings.approve = paths);
    let mut files: Vec<String> = (0..5_000).map(|number| format!("a/{number:04}.txt")).collect();
    files.push("src/guarded/key.rs".to_owned());
    bench.script(1).files = files;
    bench.fixer(1, Fixer::Pushes);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!((bench.shown(1).1, bench.times("forward")), (WorkspaceReason::PushApproval, 0));
    let FixPhase::Held { push, path, .. } = bench.fix(1).phase.clone() else { panic!("it is not held") };
    assert_eq!((path.as_str(), push.files.len(), push.count()), ("src/guarded/key.rs", 300, 5_001));
    let said = bench.told(1).remove(0);
    assert!(said.contains("`src/guarded/key.rs`") && said.contains("and 4991 more"), "{said}");
}

#[test]
fn what_is_held_waits_and_nothing_else_is_begun_meanwhile() {
    let mut bench = held(ApprovalRule::Always);
    bench.ci(1, CheckConclusion::Failed);
    bench.says(1, "thread");
    bench.beat();
    bench.wait(60 * MINUTE);
    assert_eq!((bench.sent(1), bench.times("forward")), (1, 0));
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedAttentionPushApproval);
    assert!(!bench.workspace(1).is_in_flight(), "nobody is at work");
}

#[test]
fn what_is_approved_is_pushed_and_counted() {
    let mut bench = held(ApprovalRule::Always);
    let FixPhase::Held { push, .. } = bench.fix(1).phase.clone() else { panic!("it is not held") };
    bench.decides(1, Decision::Approved).unwrap();
    assert_eq!((bench.times("forward"), bench.attempts(1)), (1, 1));
    assert_eq!(bench.hub.pulls[&1].head, push.to);
    let intended = bench.events(1).into_iter().find_map(|event| match event {
        workspace::Event::FixPushIntended { behest, .. } => Some(behest),
        _ => None,
    });
    assert_eq!(intended.unwrap().by.as_deref(), Some("api:ops"), "by whom is written down");
    assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForCi, WorkspaceReason::StaleCi));
}

#[test]
fn what_is_rejected_is_dropped_with_the_reason_and_not_counted() {
    let mut bench = held(ApprovalRule::Always);
    let at = bench.fix(1).at;
    bench.decides(1, Decision::Rejected).unwrap();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::PushRejected));
    assert_eq!((bench.workspace(1).told.as_deref(), bench.attempts(1)), (Some("so"), 0));
    assert_eq!((bench.times("forward"), bench.times("clear_fixer")), (0, 1));
    let behest = Attribution { decision: Some(Decision::Approved), ..Attribution::default() };
    let again = bench.ask(Request::DecideFix { pr: pr(1), at, behest });
    assert!(again.unwrap_err().contains("waits for a decision"), "it is decided");
}

#[test]
fn what_is_held_is_outpaced_by_a_push_of_somebody_else() {
    let mut bench = held(ApprovalRule::Always);
    bench.pushes(1);
    assert_eq!(bench.workspace(1).fix, None);
    assert!(bench.moves(1).iter().any(|(.., reason)| *reason == WorkspaceReason::Outpaced));
    assert_eq!((bench.times("forward"), bench.times("clear_fixer"), bench.attempts(1)), (0, 1, 0));
}

#[test]
fn what_is_held_ends_with_its_pull_request_or_when_somebody_stops_it() {
    let mut bench = held(ApprovalRule::Always);
    bench.closes(1);
    assert_eq!((bench.workspace(1).fix.as_ref(), bench.times("clear_fixer")), (None, 1));
    let mut bench = held(ApprovalRule::Always);
    bench.stops_fixer(1).unwrap();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoPush, WorkspaceReason::FixerCancelled));
}

#[test]
fn neither_yes_nor_no_is_no_decision() {
    let mut bench = held(ApprovalRule::Always);
    let at = bench.fix(1).at;
    let none = bench.ask(Request::DecideFix { pr: pr(1), at, behest: Attribution::default() });
    assert!(none.is_err());
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedAttentionPushApproval);
}
