//! Which pull requests and dedupe keys are forgotten, and which are kept.

use super::*;
use crate::repo::trains::CascadePhase;

fn closed(number: u64, day: i64) -> PullFacts {
    let at = at(day * 86_400);
    PullFacts { state: PullState::Closed { at }, ..pull(number) }
}

fn numbers(worker: &Worker) -> Vec<u64> {
    worker.state.prs().keys().map(|number| number.get()).collect()
}

#[test]
fn closed_pull_requests_are_forgotten_after_the_retention_unless_something_leads_to_them() {
    let mut worker = Worker::ready(&[closed(1, 0), closed(2, 0), closed(3, 0), closed(4, 20), pull(5)]);
    for (from, to) in [(5, 2), (2, 1)] {
        apply(
            &mut worker.state,
            &Event::Mirror(MirrorEvent::PredecessorDeclared { pr: pr(from), predecessor: pr(to), comment: None }),
            at(0),
        );
    }
    worker.clock = 31 * 86_400;
    worker.feed(&Input::Housekeeping);
    assert_eq!(numbers(&worker), [1, 2, 4, 5], "3 is old and loose; 4 is young; 1 and 2 are what 5 stands on");
}

#[test]
fn what_a_train_needs_is_kept() {
    let mut worker = Worker::ready(&[closed(1, 0), closed(2, 0), closed(3, 0)]);
    apply(
        &mut worker.state,
        &Event::Trains(TrainsEvent::TrainStarted { root_pr: pr(1), current_pr: pr(1), behest: Attribution::default() }),
        at(0),
    );
    let phase = CascadePhase::SquashPending { frozen_descendants: vec![pr(2)], skipped: vec![] };
    let moved = Event::Trains(TrainsEvent::PhaseTransition {
        train_root: pr(1),
        current_pr: pr(1),
        predecessor_pr: None,
        last_squash_sha: None,
        phase,
        predecessor_head_sha: None,
    });
    apply(&mut worker.state, &moved, at(0));
    worker.clock = 365 * 86_400;
    worker.feed(&Input::Housekeeping);
    assert_eq!(numbers(&worker), [1, 2]);
}

#[test]
fn beyond_the_limit_the_oldest_closed_ones_go_first_and_open_ones_never() {
    let mut worker = Worker::ready(&[closed(1, 0), closed(2, 0), pull(3), closed(4, 0), pull(5)]);
    worker.settings.max_prs_in_snapshot = 3;
    worker.feed(&Input::Housekeeping);
    assert_eq!(numbers(&worker), [3, 4, 5]);
    worker.settings.max_prs_in_snapshot = 1;
    worker.feed(&Input::Housekeeping);
    assert_eq!(numbers(&worker), [3, 5]);
}

#[test]
fn dedupe_keys_are_forgotten_after_their_day() {
    let mut worker = Worker::ready(&[]);
    worker.pull_event("opened", pull(1));
    worker.clock = 86_399;
    worker.pull_event("opened", pull(2));
    worker.feed(&Input::Housekeeping);
    assert_eq!(worker.state.seen_dedupe_keys.len(), 2);
    worker.clock = 86_401;
    worker.feed(&Input::Housekeeping);
    assert_eq!(
        worker.state.seen_dedupe_keys.keys().collect::<Vec<_>>(),
        [&format!("pull_request:2:opened:{}", sha(2))]
    );
}

#[test]
fn where_nothing_is_to_be_forgotten_nothing_is_written() {
    let mut worker = Worker::ready(&[pull(1)]);
    assert_eq!(worker.feed(&Input::Housekeeping), Plan::default());
}

#[test]
fn there_are_never_more_dedupe_keys_than_fit() {
    let mut worker = Worker::ready(&[]);
    for second in 0..60_000 {
        worker.state.seen_dedupe_keys.insert(format!("pull_request:{second}"), at(second));
    }
    worker.clock = 60_000;
    worker.feed(&Input::Housekeeping);
    assert_eq!(worker.state.seen_dedupe_keys.len(), 50_000);
    assert_eq!(worker.state.seen_dedupe_keys.values().min(), Some(&at(10_000)), "the oldest went");
}
