//! Fixers as runs: whatever happens to a fixer happens to its run, by the table of transitions.

use super::*;
use crate::repo::ratchet::{ApprovalRule, FixIssue};
use crate::repo::tests::runs::follow;
use crate::workflow::{Initiator, Run, RunStatus, StepStatus};

/// The runs of fixers that a log tells of, in their order. Every path that they take is a legal one.
fn runs(bench: &Bench) -> Vec<Run> {
    let mut runs: Vec<Run> = follow(&bench.worker.log).into_values().filter(|run| run.kind == FIXER).collect();
    runs.sort_by_key(|run| run.created_at);
    runs
}

fn only(bench: &Bench) -> Run {
    let mut runs = runs(bench);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.pop().unwrap()
}

fn sent(fixer: Fixer, way: Way) -> Bench {
    let mut bench = Bench::with(&[0], |settings| settings.max_attempts = 1);
    (bench.script(1).fixer, bench.script(1).way) = (fixer, way);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench
}

#[test]
fn a_fixer_is_a_run_with_the_same_name_from_its_beginning_to_its_end() {
    let mut bench = Bench::one();
    bench.is_full = true;
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    let id = bench.fix(1).run_id(pr(1));
    let run = only(&bench);
    assert_eq!(
        (run.id.clone(), run.status, run.current_step.as_deref()),
        (id.clone(), RunStatus::Pending, Some("fix"))
    );
    assert_eq!((run.pr_id.as_str(), run.repo_id.as_str()), ("1", "acme/widgets"));
    bench.is_full = false;
    bench.settle();
    assert_eq!(only(&bench).status, RunStatus::Running);
    bench.crash();
    assert_eq!((only(&bench).status, only(&bench).resume_count), (RunStatus::Running, 0));
    bench.settle();
    assert_eq!((only(&bench).status, only(&bench).resume_count), (RunStatus::Running, 1));
    bench.script(1).way = Way::Hangs;
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    let run = only(&bench);
    assert_eq!((run.status, run.current_step.as_deref()), (RunStatus::Running, Some("push")));
    assert!(run.result.unwrap()["push"]["to"].is_string());
    bench.script(1).way = Way::Lands;
    bench.settle();
    let run = only(&bench);
    assert_eq!((run.id, run.status), (id, RunStatus::Completed));
    assert!(run.completed_at.is_some() && run.duration_ms.is_some());
}

#[test]
fn every_end_of_a_fixer_is_an_end_of_its_run_with_what_came_of_it() {
    let ends = [
        (Fixer::Pushes, Way::Lands, RunStatus::Completed, "FIXER_PUSHED"),
        (Fixer::GivesUp, Way::Lands, RunStatus::Completed, "FIXER_GAVE_UP"),
        (Fixer::Fails, Way::Lands, RunStatus::Failed, "FIXER_FAILED"),
        (Fixer::Dies, Way::Lands, RunStatus::Failed, "FIXER_DIED"),
        (Fixer::Breaks, Way::Lands, RunStatus::Failed, "FIXER_DIED"),
        (Fixer::TimesOut, Way::Lands, RunStatus::Failed, "FIXER_TIMED_OUT"),
        (Fixer::Oversteps, Way::Lands, RunStatus::Failed, "PUSH_REFUSED"),
        (Fixer::Pushes, Way::IsRejected, RunStatus::Failed, "PUSH_REFUSED"),
        (Fixer::Pushes, Way::FindsNoBranch, RunStatus::Failed, "PUSH_REFUSED"),
    ];
    for (fixer, way, status, outcome) in ends {
        let bench = sent(fixer, way);
        let run = only(&bench);
        let result = run.result.unwrap();
        let pushed = outcome == "FIXER_PUSHED";
        assert_eq!((run.status, result["outcome"].as_str()), (status, Some(outcome)), "{fixer:?} {way:?}");
        assert_eq!(result["pushed"], pushed, "{fixer:?} {way:?}");
        let head = bench.hub.pulls[&1].head.as_str();
        assert_eq!(result.get("pushedSha").and_then(|sha| sha.as_str()), pushed.then_some(head), "{fixer:?} {way:?}");
        assert_eq!(run.error.is_some(), status == RunStatus::Failed, "{fixer:?} {way:?}");
        assert_eq!(result["issue"], serde_json::to_value(FixIssue::FixCi).unwrap());
        assert_eq!(result["ciRunId"].as_str(), bench.workspace(1).last_ci_run.as_deref());
    }
}

#[test]
fn a_run_whose_fixer_is_outpaced_or_whose_pull_request_is_closed_or_which_is_stopped_ends_as_that() {
    let mut bench = Bench::fixing();
    bench.pushes(1);
    bench.fixer(1, Fixer::Pushes);
    bench.settle();
    assert_eq!(
        (runs(&bench)[0].status, &runs(&bench)[0].result.as_ref().unwrap()["outcome"]),
        (RunStatus::Failed, &"OUTPACED".into())
    );

    let mut bench = Bench::fixing();
    bench.closes(1);
    let run = only(&bench);
    assert_eq!((run.status, run.cancellation.unwrap().initiator), (RunStatus::Cancelled, Initiator::System));

    for is_full in [true, false] {
        let mut bench = Bench::one();
        bench.is_full = is_full;
        bench.ci(1, CheckConclusion::Failed);
        bench.beat();
        let (at, by) = (bench.fix(1).at, Some("api:ops".to_owned()));
        let behest = Attribution { by, reason: Some("not now".to_owned()), ..Attribution::default() };
        bench.ask(Request::StopFix { pr: pr(1), at, behest }).unwrap();
        let run = only(&bench);
        let cancellation = run.cancellation.unwrap();
        assert_eq!((run.status, cancellation.user_id.as_deref()), (RunStatus::Cancelled, Some("api:ops")));
        assert_eq!(cancellation.reason.as_deref(), Some("not now"));
    }
}

fn held() -> Bench {
    let mut bench = Bench::with(&[0], |settings| settings.approve = ApprovalRule::Always);
    bench.fixer(1, Fixer::Pushes);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench
}

#[test]
fn a_run_that_is_held_has_what_is_to_be_approved_and_the_diff() {
    let bench = held();
    let run = only(&bench);
    assert_eq!((run.status, run.current_step.as_deref()), (RunStatus::AwaitingApproval, Some("approve")));
    let context = run.last_transition.unwrap();
    let approval = context.approval.unwrap();
    assert_eq!(
        (approval.action.as_str(), approval.decision, context.initiator),
        ("push", None, Some(Initiator::Policy))
    );
    assert!(approval.reason.is_some());
    let result = run.result.unwrap();
    assert_eq!((&result["diff"], &result["push"]["files"][0]), (&"+ mended".into(), &"src/lib.rs".into()));
}

#[test]
fn a_run_that_was_held_is_completed_by_approval_and_failed_by_rejection() {
    let mut bench = held();
    bench.script(1).way = Way::Hangs;
    bench.decides(1, Decision::Approved).unwrap();
    let approval = only(&bench).last_transition.unwrap().approval.unwrap();
    assert_eq!((approval.action.as_str(), approval.decision), ("push", Some(Decision::Approved)));
    assert_eq!(approval.decided_by.as_deref(), Some("api:ops"));
    bench.script(1).way = Way::Lands;
    bench.settle();
    let run = only(&bench);
    let result = run.result.unwrap();
    assert_eq!((run.status, &result["pushed"], result.get("diff")), (RunStatus::Completed, &true.into(), None));
    assert_eq!((&result["approval"]["by"], &result["approval"]["reason"]), (&"api:ops".into(), &"so".into()));

    let mut bench = held();
    bench.decides(1, Decision::Rejected).unwrap();
    let run = only(&bench);
    let approval = run.last_transition.unwrap().approval.unwrap();
    assert_eq!((run.status, approval.decision), (RunStatus::Failed, Some(Decision::Rejected)));
    assert_eq!((approval.decided_by.as_deref(), approval.reason.as_deref()), (Some("api:ops"), Some("so")));
    assert_eq!(run.result.unwrap()["outcome"], "PUSH_REJECTED");
}

#[test]
fn every_step_of_a_run_that_completed_is_complete() {
    let repo = "acme/widgets".parse::<RepoId>().unwrap();
    for approve in [ApprovalRule::Never, ApprovalRule::Always] {
        let mut bench = held();
        if approve == ApprovalRule::Never {
            bench = sent(Fixer::Pushes, Way::Lands);
        } else {
            bench.decides(1, Decision::Approved).unwrap();
        }
        let (mut state, mut told) = (RepoState::default(), BTreeMap::new());
        for RecordedEvent { ts, event, .. } in &bench.worker.log {
            let before = state.open_runs(&repo, *ts);
            apply(&mut state, event, *ts);
            for moved in runs_moved(&before, event, &state, &repo, *ts) {
                told.extend(moved.steps.into_iter().map(|step| (step.step_id.clone(), step)));
            }
        }
        let mut times: Vec<_> = told.values().map(|step| (step.position, step.started_at, step.completed_at)).collect();
        times.sort_unstable();
        assert!(times.iter().all(|(_, begun, ended)| begun.is_some() && begun <= ended), "{times:?}");
        assert!(times.windows(2).all(|pair| pair[0].2 == pair[1].1), "one begins as the other ends: {times:?}");
        let mut steps: Vec<_> = told.into_values().map(|step| (step.position, step.step_id, step.status)).collect();
        steps.sort_unstable_by_key(|(position, ..)| *position);
        let names: Vec<&str> = steps.iter().map(|(_, name, _)| name.as_str()).collect();
        let expected: &[&str] =
            if approve == ApprovalRule::Never { &["fix", "push"] } else { &["fix", "approve", "push"] };
        assert_eq!(names, expected);
        assert!(steps.iter().all(|(.., status)| *status == StepStatus::Completed), "{steps:?}");
    }
}
