//! A branch has one owner at a time: a train, or a fixer.

use super::*;
use crate::repo::ratchet::ApprovalRule;
use crate::repo::trains::blockers;

impl Bench {
    fn phase(&self, root: u64) -> &'static str {
        self.worker.state.active_trains.get(&pr(root)).map_or("none", |train| train.cascade_phase.name())
    }

    fn waits_for_fixer(&self, root: u64, number: u64, is_held: bool) -> bool {
        let why = self.worker.state.details.get(&pr(root)).and_then(|detail| detail.why.as_ref());
        why.is_some_and(|why| blockers::fixer_at_work(pr(number), is_held).is(why))
    }

    /// A train that is in a phase of these, and stays there.
    fn at_phase(on: &[u64], phase: &str) -> Self {
        let mut bench = Self::new(on);
        bench.is_manual = true;
        bench.starts(1);
        bench.is_manual = false;
        bench.until(|bench| bench.phase(1) == phase);
        bench.is_blocked = true;
        bench.settle();
        bench
    }
}

#[test]
fn a_train_in_any_phase_but_idle_holds_back_the_fixers_of_its_current_and_its_frozen_descendants() {
    for phase in ["preparing", "squash_pending", "reconciling", "catching_up", "retargeting"] {
        let mut bench = Bench::at_phase(&[0, 1, 0], phase);
        assert_eq!(bench.phase(1), phase);
        let consumed = bench.workspace(2).consumed.clone();
        (1..=3).for_each(|number| bench.says(number, "thread"));
        bench.beat();
        let has_landed = bench.hub.pulls[&1].landed.is_some();
        if !has_landed {
            assert_eq!(bench.shown(1), (WorkspaceStatus::WaitingForTrain, WorkspaceReason::TrainAtWork), "{phase}");
        }
        assert_eq!(bench.shown(2), (WorkspaceStatus::WaitingForTrain, WorkspaceReason::TrainAtWork), "{phase}");
        assert_eq!(bench.activity(2), "Waiting for the merge train to finish with this branch");
        assert_eq!(
            (bench.sent(1), bench.sent(2), bench.sent(3)),
            (0, 0, 1),
            "{phase}: who is not aboard is not held back"
        );
        assert_eq!(bench.workspace(2).consumed, consumed, "{phase}: what was said is still news");
    }
}

#[test]
fn the_fixer_goes_on_by_itself_when_the_train_leaves_the_branch() {
    let mut bench = Bench::at_phase(&[0, 1], "preparing");
    bench.says(2, "thread");
    let script = bench.script(2);
    (script.merge, script.review) = (MergeState::Blocked, Some(ReviewDecision::ChangesRequested));
    bench.beat();
    assert_eq!(bench.shown(2).0, WorkspaceStatus::WaitingForTrain);
    bench.is_blocked = false;
    bench.settle();
    assert_eq!((bench.hub.squashes.as_slice(), bench.phase(1)), ([1].as_slice(), "idle"), "the train waits at #2");
    assert_eq!((bench.sent(2), bench.shown(2).0), (1, WorkspaceStatus::FixingReview));
    assert!(bench.waits_for_fixer(1, 2, false));
    bench.fixer(2, Fixer::Pushes);
    let script = bench.script(2);
    (script.merge, script.review) = (MergeState::Clean, Some(ReviewDecision::Approved));
    bench.until(|bench| bench.hub.squashes == [1, 2]);
}

#[test]
fn a_train_that_is_stopped_leaves_the_branch_to_the_fixer() {
    let mut bench = Bench::at_phase(&[0, 1], "preparing");
    bench.says(2, "thread");
    bench.beat();
    assert_eq!(bench.sent(2), 0);
    bench.ask(Request::StopTrain { pr: pr(1), behest: Attribution::default() }).unwrap();
    let is_pushing = bench.worker.state.details.values().any(|detail| detail.intent.is_some());
    assert_eq!(bench.sent(2), usize::from(!is_pushing));
}

#[test]
fn a_fixer_in_flight_makes_the_train_wait_before_it_freezes_and_the_train_goes_on_by_itself() {
    for number in [1, 2] {
        let mut bench = Bench::new(&[0, 1]);
        bench.says(number, "thread");
        bench.beat();
        bench.starts(1);
        assert_eq!((bench.phase(1), bench.hub.squashes.len()), ("idle", 0));
        assert!(bench.waits_for_fixer(1, number, false), "a fixer of #{number}");
        bench.wait(20 * MINUTE);
        assert_eq!(bench.phase(1), "idle");
        bench.fixer(number, Fixer::GivesUp);
        bench.settle();
        assert_eq!(bench.hub.squashes, [1, 2], "a fixer of #{number}");
    }
}

#[test]
fn a_fixer_in_flight_makes_the_train_wait_before_it_catches_up() {
    let mut bench = Bench::one();
    bench.script(1).merge = MergeState::Behind;
    bench.says(1, "thread");
    bench.beat();
    bench.starts(1);
    assert!(bench.waits_for_fixer(1, 1, false));
    let head = bench.hub.pulls[&1].head.clone();
    bench.wait(20 * MINUTE);
    assert_eq!(bench.hub.pulls[&1].head, head, "nothing is pushed");
    bench.fixer(1, Fixer::GivesUp);
    bench.script(1).merge = MergeState::Clean;
    bench.until(|bench| bench.hub.squashes == [1]);
}

#[test]
fn a_fixer_in_flight_makes_the_train_wait_before_a_pull_request_joins_late() {
    let mut bench = Bench::new(&[0, 1]);
    bench.says(2, "thread");
    bench.beat();
    // Somebody merges the first by hand.
    let main = bench.hub.main.clone();
    let commit = bench.hub.commit(&[&main]);
    bench.hub.main = commit.clone();
    bench.hub.edit(1, |pull| pull.landed = Some(commit));
    bench.tells(1, "closed");
    let head = bench.hub.pulls[&2].head.clone();
    bench.wait(20 * MINUTE);
    assert_eq!((bench.sent(2), &bench.hub.pulls[&2].head), (1, &head), "its fixer has the branch");
    bench.fixer(2, Fixer::GivesUp);
    bench.settle();
    assert!(bench.worker.known(2).predecessor_squash_reconciled.is_some(), "and then it joins");
}

#[test]
fn a_push_that_is_held_keeps_the_train_waiting_for_the_person_who_decides() {
    let mut bench = Bench::with(&[0, 1], |settings| settings.approve = ApprovalRule::Always);
    bench.fixer(2, Fixer::Pushes);
    bench.says(2, "thread");
    bench.beat();
    bench.starts(1);
    assert!(bench.waits_for_fixer(1, 2, true));
    bench.decides(2, Decision::Rejected).unwrap();
    assert_eq!(bench.hub.squashes, [1, 2]);
}

/// Nothing else needs to happen for that.
#[test]
fn a_push_that_was_held_and_is_outpaced_keeps_the_train_waiting_no_longer() {
    let mut bench = Bench::with(&[0, 1], |settings| settings.approve = ApprovalRule::Always);
    bench.fixer(2, Fixer::Pushes);
    bench.says(2, "thread");
    bench.beat();
    bench.starts(1);
    assert!(bench.waits_for_fixer(1, 2, true));
    bench.is_manual = true;
    bench.pushes(2);
    assert_eq!(bench.workspace(2).fix, None);
    assert!(!bench.waits_for_fixer(1, 2, true), "{:?}", bench.worker.state.details[&pr(1)].why);
}

#[test]
fn unit_a_trains_own_push_never_counts_as_external() {
    let mut bench = Bench::new(&[0, 1]);
    bench.fixer(2, Fixer::Pushes);
    bench.says(2, "thread");
    bench.beat();
    let head = bench.hub.pulls[&2].head.clone();
    assert_eq!(bench.attempts(2), 1);
    bench.is_manual = true;
    bench.starts(1);
    bench.is_manual = false;
    bench.until(|bench| bench.phase(1) == "catching_up");
    assert_ne!(bench.hub.pulls[&2].head, head, "the train has pushed to it");
    bench.is_blocked = true;
    bench.tells(2, "synchronize");
    bench.beat();
    assert_eq!(bench.attempts(2), 1);
    bench.pushes(2);
    assert_eq!(bench.attempts(2), 0, "as a person's does");
}
