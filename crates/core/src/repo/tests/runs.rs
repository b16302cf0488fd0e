//! Trains as runs: whatever happens to a train happens to its run, by the table of transitions.

use std::collections::BTreeMap;

use super::trains::Yard;
use super::*;
use crate::ids::RunId;
use crate::run::{Run, RunStatus, StepStatus};
use crate::train::TrainState;

fn repo() -> RepoId {
    "acme/widgets".parse().unwrap()
}

/// Follows a log from its beginning: what became of each run. Nothing may move that has ended, or as no run may.
pub(super) fn follow(log: &[Recorded]) -> BTreeMap<RunId, Run> {
    let (mut state, mut runs) = (RepoState::default(), BTreeMap::<RunId, Run>::new());
    for Recorded { ts, event, .. } in log {
        let before = state.open_runs(&repo(), *ts);
        apply(&mut state, event, *ts);
        let moves = runs_moved(&before, event, &state, &repo(), *ts);
        assert!(moves.is_empty() || moves_trains(event), "{event:?} moves {moves:?}");
        for RunMove { run, path, steps } in moves {
            let known = runs.get(&run.id).map_or(RunStatus::Pending, |known| known.status);
            assert_eq!((path.first(), path.last()), (Some(&known), Some(&run.status)), "{event:?}: {run:?}");
            for step in path.windows(2) {
                assert_eq!(step[0].check(step[1]), Ok(()), "{event:?}: {path:?}");
            }
            assert_eq!(run.completed_at.is_some(), run.status.is_terminal());
            assert!(steps.iter().all(|step| step.run_id == run.id));
            runs.insert(run.id.clone(), run);
        }
        let open: Vec<_> = runs.values().filter(|run| !run.status.is_terminal()).map(|run| &run.id).collect();
        assert_eq!(open, state.open_runs(&repo(), *ts).keys().collect::<Vec<_>>(), "after {event:?}");
    }
    runs
}

fn statuses(runs: &BTreeMap<RunId, Run>) -> Vec<(u64, RunStatus)> {
    let mut all: Vec<&Run> = runs.values().collect();
    all.sort_by_key(|run| (run.created_at, run.pr_id.clone()));
    all.iter().map(|run| (run.pr_id.parse().unwrap(), run.status)).collect()
}

#[test]
fn a_train_that_lands_is_a_run_that_completes() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    yard.finish();
    let runs = follow(&yard.worker.log);
    assert_eq!(statuses(&runs), [(1, RunStatus::Completed)]);
    let run = runs.values().next().unwrap();
    assert_eq!((run.kind.as_str(), run.repo_id.as_str()), (TRAIN, "acme/widgets"));
    assert_eq!(run.result.as_ref().unwrap()["landed"], serde_json::json!([1, 2, 3]));
    assert!(run.duration_ms.is_some() && run.cancellation.is_none() && run.error.is_none());
}

#[test]
fn each_pull_request_is_a_step_of_the_run() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    yard.finish();
    let (mut state, mut told) = (RepoState::default(), BTreeMap::new());
    for Recorded { ts, event, .. } in &yard.worker.log {
        let before = state.open_runs(&repo(), *ts);
        apply(&mut state, event, *ts);
        for moved in runs_moved(&before, event, &state, &repo(), *ts) {
            told.extend(moved.steps.into_iter().map(|step| (step.step_id.clone(), step)));
        }
    }
    let steps: Vec<_> = told.values().map(|step| (step.step_id.as_str(), step.position, step.status)).collect();
    assert_eq!(steps, [("pr-1", 0, StepStatus::Completed), ("pr-2", 1, StepStatus::Completed)]);
    assert!(told["pr-1"].output.as_ref().unwrap()["mergeCommitSha"].is_string());
}

#[test]
fn a_fan_out_ends_one_run_and_begins_others() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.start(1);
    yard.finish();
    let runs = follow(&yard.worker.log);
    let done = RunStatus::Completed;
    assert_eq!(statuses(&runs), [(1, done), (2, done), (3, done)]);
    let first = runs.values().find(|run| run.pr_id == "1").unwrap();
    assert_eq!(first.result.as_ref().unwrap()["newTrains"], serde_json::json!([2, 3]));
}

#[test]
fn a_stop_cancels_the_run_and_a_start_begins_another() {
    let mut yard = Yard::new(&[0, 1]);
    yard.start(1);
    while yard.worker.state.active_trains.is_empty() {
        yard.answer(0);
    }
    yard.says(1, 900, "@merge-train stop");
    let runs = follow(&yard.worker.log);
    assert_eq!(statuses(&runs), [(1, RunStatus::Cancelled)]);
    assert!(runs.values().next().unwrap().cancellation.as_ref().unwrap().reason.is_some());
    yard.start_as(1, 901);
    yard.finish();
    assert_eq!(statuses(&follow(&yard.worker.log)), [(1, RunStatus::Cancelled), (1, RunStatus::Completed)]);
}

#[test]
fn a_start_and_a_stop_and_a_start_in_one_moment_are_two_runs() {
    let mut worker = Worker::ready(&[pull(1)]);
    let moment = |worker: &mut Worker, event: Event| {
        apply(&mut worker.state, &event, at(7));
        worker.log.push(Recorded { seq: worker.log.len() as u64 + 1, ts: at(7), event });
    };
    let started = || Event::TrainStarted { root_pr: pr(1), current_pr: pr(1) };
    moment(&mut worker, started());
    moment(&mut worker, Event::TrainStopped { root_pr: pr(1) });
    moment(&mut worker, started());
    let runs = follow(&worker.log);
    assert_eq!(runs.len(), 2);
}

#[test]
fn a_train_that_a_person_looked_at_goes_on_as_the_same_run() {
    let mut worker = Worker::ready(&[pull(1)]);
    let events = [
        Event::TrainStarted { root_pr: pr(1), current_pr: pr(1) },
        Event::TrainWaiting {
            train_root: pr(1),
            why: crate::train::why::checks_running(pr(1), &["ci"], &sha(1)).since(at(1)),
        },
        Event::TrainFrozen {
            root_pr: pr(1),
            error: crate::train::TrainError { error_type: "wrong_tree".to_owned(), message: "not that".to_owned() },
        },
    ];
    for event in events {
        apply(&mut worker.state, &event, at(1));
        worker.log.push(Recorded { seq: worker.log.len() as u64 + 1, ts: at(1), event });
    }
    let frozen = follow(&worker.log);
    assert_eq!(statuses(&frozen), [(1, RunStatus::AwaitingApproval)], "by way of running");
    let event = Event::TrainStarted { root_pr: pr(1), current_pr: pr(1) };
    apply(&mut worker.state, &event, at(2));
    worker.log.push(Recorded { seq: worker.log.len() as u64 + 1, ts: at(2), event });
    let runs = follow(&worker.log);
    assert_eq!(runs.keys().collect::<Vec<_>>(), frozen.keys().collect::<Vec<_>>());
    assert_eq!(statuses(&runs), [(1, RunStatus::Running)]);
}

/// The states of a train, as DESIGN maps them.
#[test]
fn every_state_of_a_train_is_a_state_of_a_run() {
    let mapped = [
        (TrainState::Running, RunStatus::Running),
        (TrainState::WaitingCi, RunStatus::WaitingExternal),
        (TrainState::Stopped, RunStatus::Cancelled),
        (TrainState::Aborted, RunStatus::Failed),
        (TrainState::NeedsManualReview, RunStatus::AwaitingApproval),
    ];
    for (train, run) in mapped {
        assert_eq!(train.as_run(), run);
    }
}
