//! How much is spent, and on what it is not spent again.

use super::*;

#[test]
fn a_repository_gets_so_many_fixers_in_a_day_and_goes_on_by_itself_after_that() {
    let mut bench = Bench::with(&[0, 0, 0], |settings| settings.daily_budget = 2);
    (1..=3).for_each(|number| bench.fixer(number, Fixer::GivesUp));
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    let first = bench.worker.clock;
    bench.wait(10 * MINUTE);
    bench.ci(2, CheckConclusion::Failed);
    bench.ci(3, CheckConclusion::Failed);
    bench.beat();
    assert_eq!((bench.sent(1), bench.sent(2), bench.sent(3)), (1, 1, 0));
    assert_eq!(bench.shown(3), (WorkspaceStatus::PausedAttentionDailyBudget, WorkspaceReason::DailyBudget));
    assert_eq!(bench.told(3).len(), 0, "it passes by itself");
    let consumed = bench.workspace(3).consumed.clone();
    while bench.sent(3) == 0 {
        bench.tick();
        assert!(bench.worker.clock <= first + DAY + MINUTE, "it is woken for it");
    }
    assert!(bench.worker.clock >= first + DAY - 2 * MINUTE, "and not sooner");
    assert_ne!(bench.workspace(3).consumed, consumed, "what was wrong was still news");
}

/// The operator lowers the budget while more than that are counted.
#[test]
fn the_worker_is_woken_for_each_fixer_that_does_not_count_any_more() {
    let mut bench = Bench::with(&[0, 0, 0], |_| {});
    (1..=3).for_each(|number| bench.fixer(number, Fixer::GivesUp));
    for number in 1..=2 {
        bench.ci(number, CheckConclusion::Failed);
        bench.beat();
        bench.wait(30 * MINUTE);
    }
    bench.settings().daily_budget = 1;
    bench.ci(3, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.shown(3).1, WorkspaceReason::DailyBudget);
    let sent = bench.worker.state.fixers_sent.clone();
    let wakes: BTreeSet<Timestamp> = crate::repo::ratchet::wakes(&bench.worker.state, &bench.worker.settings)
        .into_iter()
        .filter(|wake| *wake > at(bench.worker.clock))
        .collect();
    let expected: BTreeSet<Timestamp> =
        sent.iter().map(|sent| sent.checked_add(SignedDuration::from_hours(24)).unwrap()).collect();
    assert_eq!((wakes, sent.len()), (expected, 2));
}

#[test]
fn what_waited_for_a_fixer_gets_one_when_one_is_configured() {
    let mut bench = Bench::with(&[0], |settings| settings.has_fixer = false);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoFixer, WorkspaceReason::NoFixer));
    bench.settings().has_fixer = true;
    bench.crash();
    bench.settle();
    assert_eq!((bench.sent(1), bench.shown(1)), (1, (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed)));
}

#[test]
fn without_a_fixer_it_is_said_once_that_there_is_none() {
    let mut bench = Bench::with(&[0], |settings| settings.has_fixer = false);
    for _ in 0..3 {
        bench.ci(1, CheckConclusion::Failed);
        bench.beat();
    }
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionNoFixer, WorkspaceReason::NoFixer));
    assert_eq!((bench.sent(1), bench.told(1).len()), (0, 1));
}

#[test]
fn the_same_failure_twice_in_a_row_pauses_and_another_one_does_not() {
    let run = |signatures: [Option<&str>; 2]| {
        let mut bench = Bench::one();
        bench.fixer(1, Fixer::Pushes);
        for signature in signatures {
            bench.script(1).signature = signature.map(str::to_owned);
            bench.ci(1, CheckConclusion::Failed);
            bench.beat();
        }
        (bench.sent(1), bench.shown(1).1, bench.told(1).len())
    };
    assert_eq!(run([Some("E0425"), Some("E0425")]), (1, WorkspaceReason::SameFailure, 1));
    assert_eq!(run([Some("E0425"), Some("E0308")]), (2, WorkspaceReason::StaleCi, 0));
    assert_eq!(run([None, None]), (2, WorkspaceReason::StaleCi, 0), "what cannot be told apart is not the same");
    assert_eq!(run([Some("E0425"), None]), (2, WorkspaceReason::StaleCi, 0));
}

#[test]
fn the_same_failure_counts_only_where_a_fixer_pushed_for_it_and_a_person_begins_anew() {
    let mut bench = Bench::one();
    bench.script(1).signature = Some("E0425".to_owned());
    bench.fixer(1, Fixer::GivesUp);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.fixer(1, Fixer::Pushes);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!((bench.sent(1), bench.attempts(1)), (2, 1), "the first changed nothing");
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedAttentionTerminalFailed, WorkspaceReason::SameFailure));
    bench.pushes(1);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!(bench.sent(1), 3);
}
