//! Trains as runs: whatever happens to a train happens to its run, by the table of transitions.

use std::collections::BTreeMap;

use super::trains::Yard;
use super::*;
use crate::ids::RunId;
use crate::repo::trains::{TrainError, TrainState, blockers};
use crate::workflow::{Decision, Initiator, Run, RunStatus, StepStatus, TriggerSource};

fn repo() -> RepoId {
    "acme/widgets".parse().unwrap()
}

/// Follows a log from its beginning: what became of each run. Nothing may move that has ended, or as no run may.
pub(super) fn follow(log: &[RecordedEvent]) -> BTreeMap<RunId, Run> {
    let (mut state, mut runs) = (RepoState::default(), BTreeMap::<RunId, Run>::new());
    for RecordedEvent { ts, event, .. } in log {
        let before = state.open_runs(&repo(), *ts);
        apply(&mut state, event, *ts);
        let moves = runs_moved(&before, event, &state, &repo(), *ts);
        assert!(moves.is_empty() || moves_runs(event), "{event:?} moves {moves:?}");
        for RunChange { run, path, steps, .. } in moves {
            let known = runs.get(&run.id).map_or(RunStatus::Pending, |known| known.status);
            assert_eq!((path.first(), path.last()), (Some(&known), Some(&run.status)), "{event:?}: {run:?}");
            for step in path.windows(2) {
                assert_eq!(step[0].check(step[1]), Ok(()), "{event:?}: {path:?}");
            }
            assert_eq!(run.completed_at.is_some(), run.status.is_terminal());
            assert!(steps.iter().all(|step| step.run_id == run.id));
            runs.insert(run.id.clone(), run);
        }
        // All that is told of a run is what its train is now; but when it was last told.
        let now = |run: &Run| Run { updated_at: *ts, last_heartbeat_at: Some(*ts), ..run.clone() };
        let open: Vec<_> = runs.values().filter(|run| !run.status.is_terminal()).map(now).collect();
        assert_eq!(open, state.open_runs(&repo(), *ts).into_values().collect::<Vec<_>>(), "after {event:?}");
    }
    runs
}

impl Worker {
    fn happens(&mut self, when: i64, event: Event) {
        apply(&mut self.state, &event, at(when));
        self.log.push(RecordedEvent { seq: self.log.len() as u64 + 1, ts: at(when), event });
    }
}

fn started(behest: Attribution) -> Event {
    Event::Trains(TrainsEvent::TrainStarted { root_pr: pr(1), current_pr: pr(1), behest })
}

fn frozen() -> Event {
    let error = TrainError { error_type: "wrong_tree".to_owned(), message: "not that".to_owned() };
    Event::Trains(TrainsEvent::TrainFrozen { root_pr: pr(1), error })
}

fn by(who: &str, reason: &str) -> Attribution {
    Attribution { by: Some(who.to_owned()), reason: Some(reason.to_owned()), ..Attribution::default() }
}

/// The one run that a log tells of.
fn only(log: &[RecordedEvent]) -> Run {
    let mut runs = follow(log);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.pop_first().unwrap().1
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
    for RecordedEvent { ts, event, .. } in &yard.worker.log {
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

/// What the steps that a log makes say of landings: the pull request, and the run that landed it.
fn landings(log: &[RecordedEvent]) -> Vec<(u64, RunId)> {
    let (mut state, mut told) = (RepoState::default(), BTreeMap::new());
    for RecordedEvent { ts, event, .. } in log {
        let before = state.open_runs(&repo(), *ts);
        apply(&mut state, event, *ts);
        for moved in runs_moved(&before, event, &state, &repo(), *ts) {
            told.extend(moved.steps.into_iter().map(|step| ((step.run_id.clone(), step.step_id.clone()), step)));
        }
    }
    let mut all: Vec<_> =
        told.into_values().filter_map(|step| Some((landing(&step)?.0.get(), step.run_id.clone()))).collect();
    all.sort();
    all
}

#[test]
fn what_a_train_landed_before_it_was_stopped_is_told_at_once_and_once() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    let has_landed = |yard: &Yard| {
        yard.worker.log.iter().any(|it| matches!(it.event, Event::Trains(TrainsEvent::SquashCommitted { .. })))
    };
    while !has_landed(&yard) {
        yard.answer(0);
    }
    let under_way = landings(&yard.worker.log);
    assert_eq!(under_way.iter().map(|(pull, _)| *pull).collect::<Vec<_>>(), [1], "while it is under way");
    yard.says(1, 900, "@merge-train stop");
    assert_eq!(landings(&yard.worker.log), under_way);
    yard.start_as(1, 901);
    yard.finish();
    let all = landings(&yard.worker.log);
    assert_eq!(all.iter().map(|(pull, _)| *pull).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(all[0] == under_way[0] && all[1].1 != all[0].1, "{all:?}");
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
    worker.happens(7, started(Attribution::default()));
    worker.happens(7, Event::Trains(TrainsEvent::TrainStopped { root_pr: pr(1), behest: Attribution::default() }));
    worker.happens(7, started(Attribution::default()));
    let runs = follow(&worker.log);
    assert_eq!(runs.len(), 2);
}

#[test]
fn a_train_that_a_person_looked_at_goes_on_as_the_same_run() {
    let mut worker = Worker::ready(&[pull(1)]);
    let events = [
        started(Attribution::default()),
        Event::Trains(TrainsEvent::TrainWaiting {
            train_root: pr(1),
            why: blockers::checks_running(pr(1), &["ci"], &sha(1)).since(at(1)),
        }),
        frozen(),
    ];
    events.into_iter().for_each(|event| worker.happens(1, event));
    let frozen = follow(&worker.log);
    assert_eq!(statuses(&frozen), [(1, RunStatus::AwaitingApproval)], "by way of running");
    worker.happens(2, started(Attribution::default()));
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

/// It waits on, but for something else: no transition, and no old reason either.
#[test]
fn a_run_tells_what_its_train_waits_for_now() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(1, started(Attribution::default()));
    let waits = |when: i64, reason: blockers::Blocker| {
        Event::Trains(TrainsEvent::TrainWaiting { train_root: pr(1), why: reason.since(at(when)) })
    };
    worker.happens(2, waits(2, blockers::checks_running(pr(1), &["ci"], &sha(1))));
    let context = |run: &Run| run.last_transition.clone().unwrap();
    let blocker = |run: &Run| context(run).metadata.unwrap()["blocker"].as_str().unwrap().to_owned();
    let first = only(&worker.log);
    assert_eq!(blocker(&first), "The check `ci` has not finished on PR #1 at `0000000000`.");

    let before = worker.state.open_runs(&repo(), at(3));
    let event = waits(3, blockers::review_required(pr(1)));
    worker.happens(3, event.clone());
    let moves = runs_moved(&before, &event, &worker.state, &repo(), at(3));
    assert_eq!(moves.iter().map(|moved| &moved.path[..]).collect::<Vec<_>>(), [[RunStatus::WaitingExternal]]);
    let run = only(&worker.log);
    assert_eq!(blocker(&run), "PR #1 needs an approving review.");
    assert_eq!(context(&run).metadata.unwrap()["who"], "A reviewer of PR #1, by approving it.");
    assert_eq!((context(&run).timestamp, run.updated_at), (Some(at(2)), at(3)), "it has waited since the first reason");

    let again = worker.state.open_runs(&repo(), at(4));
    assert!(again.iter().all(|(_, now)| !run_differs(&run, now)), "the passing of time is no news");
}

#[test]
fn a_run_is_called_as_its_pull_request_is_now() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(1, started(Attribution::default()));
    let title = |worker: &Worker| only(&worker.log).result.unwrap()["title"].clone();
    assert_eq!(title(&worker), "");
    worker.clock = 2;
    worker.pull_event("edited", PullFacts { title: "Say <b>goodbye</b>".to_owned(), updated_at: at(2), ..pull(1) });
    assert_eq!(title(&worker), "Say <b>goodbye</b>");
}

#[test]
fn a_run_knows_how_long_it_waited_for_whom() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(1, started(Attribution::default()));
    let waits = |when: i64, reason: blockers::Blocker| {
        Event::Trains(TrainsEvent::TrainWaiting { train_root: pr(1), why: reason.since(at(when)) })
    };
    worker.happens(2, waits(2, blockers::checks_running(pr(1), &["ci"], &sha(1))));
    // Another check, the same party: it is one wait.
    worker.happens(5, waits(5, blockers::checks_expected(pr(1), &["lint"], &sha(1))));
    worker.happens(12, waits(12, blockers::review_required(pr(1))));
    worker.happens(15, Event::Trains(TrainsEvent::TrainResumed { train_root: pr(1) }));
    worker.happens(20, waits(20, blockers::ci_expected(pr(1), &sha(1))));
    worker.happens(21, Event::Trains(TrainsEvent::TrainResumed { train_root: pr(1) }));
    worker.happens(30, Event::Trains(TrainsEvent::TrainCompleted { root_pr: pr(1) }));
    let result = only(&worker.log).result.unwrap();
    assert_eq!(result["waited"], serde_json::json!({ "reviewer": 3_000, "ci": 11_000 }));
}

#[test]
fn a_run_knows_who_set_it_off_and_the_delivery_that_said_so() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.start(1);
    yard.finish();
    let runs = follow(&yard.worker.log);
    assert_eq!(runs.len(), 3);
    let started = yard.worker.log.iter().find_map(|line| match &line.event {
        Event::Trains(TrainsEvent::TrainStarted { behest, .. }) => Some(behest.clone()),
        _ => None,
    });
    let delivery = started.unwrap().delivery.expect("a webhook told of the comment");
    for run in runs.values() {
        let trigger = &run.trigger;
        assert_eq!((trigger.source, trigger.user_id.as_deref()), (TriggerSource::Webhook, Some("github:user-1")));
        assert_eq!(trigger.webhook_event_id.as_deref(), Some(delivery.as_str()), "also where the train has parted");
    }
}

#[test]
fn whoever_starts_a_train_through_the_api_is_known_with_what_they_said() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(
        1,
        Event::Trains(TrainsEvent::StartAsked { pr: pr(1), comment: None, behest: by("api:ops", "it is time") }),
    );
    worker.happens(1, started(by("api:ops", "it is time")));
    let run = only(&worker.log);
    assert_eq!((run.trigger.source, run.trigger.user_id.as_deref()), (TriggerSource::Api, Some("api:ops")));
    let context = run.last_transition.unwrap();
    assert_eq!((context.user_id.as_deref(), context.initiator), (Some("api:ops"), Some(Initiator::User)));
    assert_eq!(context.metadata.unwrap()["reason"], "it is time");
    // Who is on GitHub did not use the API, and who is in Slack typed into a window.
    for (who, source) in [("github:octocat", TriggerSource::Webhook), ("slack:U1", TriggerSource::Ui)] {
        let mut worker = Worker::ready(&[pull(1)]);
        worker.happens(1, started(by(who, "it is time")));
        assert_eq!(only(&worker.log).trigger.source, source);
    }
    // And nobody is made up.
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(1, started(Attribution::default()));
    let run = only(&worker.log);
    assert_eq!((run.trigger.source, run.trigger.user_id), (TriggerSource::Webhook, None));
    assert_eq!(run.last_transition.unwrap().initiator, Some(Initiator::System));
}

#[test]
fn a_run_that_is_cancelled_says_by_whom_and_why() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(1, started(Attribution::default()));
    worker.happens(
        2,
        Event::Trains(TrainsEvent::TrainStopped { root_pr: pr(1), behest: by("api:ops", "the release is off") }),
    );
    let run = only(&worker.log);
    let cancellation = run.cancellation.unwrap();
    assert_eq!((cancellation.initiator, cancellation.user_id.as_deref()), (Initiator::User, Some("api:ops")));
    assert_eq!(cancellation.reason.as_deref(), Some("the release is off"));
    let context = run.last_transition.unwrap();
    assert_eq!((context.user_id.as_deref(), context.approval), (Some("api:ops"), None), "nobody was asked to decide");
}

#[test]
fn what_a_person_decides_about_a_train_is_told_with_their_name_and_reason() {
    let said = |run: &Run| {
        let context = run.last_transition.clone().unwrap();
        let approval = context.approval.unwrap();
        assert_eq!((approval.action.as_str(), context.initiator), ("manual_review", Some(Initiator::Approval)));
        assert_eq!((approval.decided_by.clone(), approval.decided_at), (context.user_id, Some(at(3))));
        assert_eq!(approval.requested_by.as_deref(), Some("github:author"), "whose train it is");
        (approval.decision, approval.decided_by, approval.reason)
    };
    let mut worker = Worker::ready(&[pull(1)]);
    worker.happens(1, started(by("github:author", "first")));
    worker.happens(2, frozen());
    let asked = only(&worker.log).last_transition.unwrap();
    assert_eq!((asked.user_id, asked.approval.unwrap().decision), (None, None), "nobody has decided yet");

    let mut approved = worker.clone();
    approved.happens(3, started(by("api:ops", "looks fine")));
    let run = only(&approved.log);
    let yes = (Some(Decision::Approved), Some("api:ops".to_owned()), Some("looks fine".to_owned()));
    assert_eq!((run.status, said(&run)), (RunStatus::Running, yes));
    assert_eq!(run.trigger.user_id.as_deref(), Some("github:author"), "who set it off is still who did");

    let decision = Some(Decision::Rejected);
    let behest = Attribution { decision, ..by("api:ops", "not like this") };
    worker.happens(3, Event::Trains(TrainsEvent::TrainStopped { root_pr: pr(1), behest }));
    let run = only(&worker.log);
    let no = (decision, Some("api:ops".to_owned()), Some("not like this".to_owned()));
    assert_eq!((run.status, said(&run)), (RunStatus::Cancelled, no));
    assert_eq!(run.cancellation.unwrap().reason.as_deref(), Some("not like this"));
}

/// Logs of before it was known who wanted something are read as they are, and nothing is added to what has nothing to say.
#[test]
fn an_event_without_a_word_of_who_wanted_it_is_written_as_it_always_was() {
    for text in [
        r#"{"type":"train_started","root_pr":1,"current_pr":1}"#,
        r#"{"type":"train_stopped","root_pr":1}"#,
        r#"{"type":"train_nudged","train_root":1}"#,
        r#"{"type":"start_asked","pr":1}"#,
        r#"{"type":"command_given","comment":{"pr":1,"id":2},"user":3,"login":"a","command":"start"}"#,
        r#"{"type":"request_processed","key":"api:ops:1","request":{"start_train":{"pr":1}},"outcome":"started"}"#,
        r#"{"type":"request_processed","key":"api:ops:1","request":"sync","outcome":"under_way"}"#,
    ] {
        let event: Event = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
    }
    let stopped = Event::Trains(TrainsEvent::TrainStopped { root_pr: pr(1), behest: by("api:ops", "no") });
    let text = r#"{"type":"train_stopped","root_pr":1,"by":"api:ops","reason":"no"}"#;
    assert_eq!(serde_json::to_string(&stopped).unwrap(), text);
    assert_eq!(serde_json::from_str::<Event>(text).unwrap(), stopped);
}

#[test]
fn what_is_asked_for_in_vain_is_refused_with_the_reason() {
    let mut worker = Worker::ready(&[PullFacts { draft: true, ..pull(1) }]);
    let behest = || by("api:ops", "please");
    let mut ask = |request: Request| {
        let key = crate::inbox::Key::api("ops", &worker.log.len().to_string()).unwrap();
        let plan = worker.feed(&Input::Asked { key, request });
        plan.events.into_iter().find_map(|event| match event {
            Event::Commands(CommandsEvent::RequestProcessed { outcome, refusal, .. }) => {
                Some((outcome, refusal.expect("a reason")))
            }
            _ => None,
        })
    };
    let nothing = |text: &str| Some((RequestOutcome::Nothing, text.to_owned()));
    let told = "Cannot start merge train: PR #1 is a draft. Please mark it as ready for review first.";
    assert_eq!(ask(Request::StartTrain { pr: pr(1), behest: behest() }), nothing(told));
    let told = "There is nothing to stop: no merge train is running for the stack of PR #1.";
    assert_eq!(ask(Request::StopTrain { pr: pr(1), behest: behest() }), nothing(told));
    let (outcome, told) = ask(Request::RetryTrain { pr: pr(1), behest: behest() }).unwrap();
    assert!(outcome == RequestOutcome::Nothing && told.starts_with("There is nothing to retry"), "{told}");
}
