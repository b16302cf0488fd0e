//! For whom the ratchet is on.

use super::*;

fn is_on(bench: &Bench, number: u64) -> bool {
    bench.worker.state.ratchet_is_on(pr(number), &bench.worker.settings)
}

#[test]
fn the_own_word_comes_before_the_label_and_that_before_the_repository_and_that_before_the_configuration() {
    // Somebody's word, the labels, the repository, the configuration; and what comes of them.
    let words = [None, Some(false), Some(true)];
    for toggle in words {
        for label in words {
            for default in words {
                for enabled in [false, true] {
                    let mut bench = Bench::with(&[0], |settings| settings.enabled = enabled);
                    if let Some(on) = default {
                        bench.toggle(None, on).unwrap();
                    }
                    match label {
                        Some(true) => bench.labels(1, &["Ratchet"]),
                        Some(false) => bench.labels(1, &["no-ratchet", "ratchet"]),
                        None => bench.labels(1, &["bug"]),
                    }
                    if let Some(on) = toggle {
                        bench.toggle(1, on).unwrap();
                    }
                    let expected = toggle.or(label).or(default).unwrap_or(enabled);
                    assert_eq!(is_on(&bench, 1), expected, "{toggle:?} {label:?} {default:?} {enabled}");
                    bench.ci(1, CheckConclusion::Failed);
                    bench.beat();
                    let workspace = bench.worker.state.workspaces.get(&pr(1));
                    let sent = workspace.is_some_and(|workspace| workspace.fix.is_some());
                    assert_eq!(sent, expected, "{toggle:?} {label:?} {default:?} {enabled}");
                }
            }
        }
    }
}

#[test]
fn a_label_that_is_put_on_later_is_the_later_word() {
    let mut bench = Bench::one();
    bench.toggle(1, false).unwrap();
    bench.labels(1, &["ratchet"]);
    assert!(is_on(&bench, 1));
    bench.toggle(1, false).unwrap();
    assert!(!is_on(&bench, 1));
    bench.tells(1, "edited");
    assert!(!is_on(&bench, 1), "a label that was there before says nothing new");
    bench.labels(1, &[]);
    assert!(is_on(&bench, 1), "and one that is taken off leaves it to the repository");
}

#[test]
fn unit_ratchet_toggle_a_workspace_that_is_turned_off_is_paused_disabled_and_on_again_it_is_looked_at() {
    for how in [0, 1, 2] {
        let mut bench = Bench::one();
        bench.wait(2 * MINUTE);
        let switch = |bench: &mut Bench, on: bool| match (how, on) {
            (0, on) => bench.toggle(1, on).unwrap(),
            (1, on) => bench.toggle(None, on).unwrap(),
            (_, false) => bench.labels(1, &["no-ratchet"]),
            (_, true) => bench.labels(1, &[]),
        };
        switch(&mut bench, false);
        assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDisabled, WorkspaceReason::Disabled));
        switch(&mut bench, true);
        bench.wait(2 * MINUTE);
        assert_eq!(bench.shown(1), (WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen), "the way at {how}");
    }
}

#[test]
fn a_failure_of_while_it_was_off_is_mended_when_it_is_on() {
    let mut bench = Bench::one();
    bench.toggle(1, false).unwrap();
    bench.ci(1, CheckConclusion::Failed);
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!(bench.sent(1), 0);
    bench.toggle(1, true).unwrap();
    assert_eq!(bench.sent(1), 1);
}

#[test]
fn a_label_on_a_pull_request_that_nobody_knew_is_enough() {
    let mut bench = Bench::with(&[0], |settings| settings.enabled = false);
    assert!(bench.worker.state.workspaces.is_empty());
    bench.ci(1, CheckConclusion::Failed);
    bench.labels(1, &["ratchet"]);
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!(bench.sent(1), 1);
}

#[test]
fn somebody_turns_it_on_with_a_comment() {
    let mut bench = Bench::with(&[0], |settings| settings.enabled = false);
    bench.ci(1, CheckConclusion::Failed);
    let plan = bench.worker.comment_event(CommentChange::Created, comment(1, 70, "@merge-train ratchet on"));
    bench.take(plan);
    bench.settle();
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!(bench.sent(1), 1);
}

#[test]
fn forks_and_what_is_not_open_or_not_known_is_refused_and_left_alone() {
    let mut bench = Bench::with(&[0, 0], |settings| settings.enabled = false);
    bench.script(1).fork = true;
    bench.labels(1, &["ratchet"]);
    assert!(bench.toggle(1, true).unwrap_err().contains("in a fork"));
    let request = Request::Session { pr: pr(1), session: "desk".to_owned(), idle: false, by: None, again: false };
    assert!(bench.ask(request).unwrap_err().contains("in a fork"));
    bench.toggle(None, true).unwrap();
    bench.closes(2);
    assert!(bench.toggle(2, true).unwrap_err().contains("not open"));
    assert!(bench.toggle(9, true).unwrap_err().contains("no pull request #9"));
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    bench.wait(2 * MINUTE);
    let fork = bench.worker.state.workspaces.get(&pr(1));
    assert!(fork.is_none_or(|workspace| workspace.consumed.is_none()), "{fork:?}");
}

#[test]
fn a_pull_request_that_is_opened_again_is_looked_at_again() {
    let mut bench = Bench::one();
    bench.closes(1);
    assert_eq!(bench.shown(1), (WorkspaceStatus::PausedPrNotOpen, WorkspaceReason::PrNotOpen));
    assert!(bench.workspace(1).archived_at.is_some());
    bench.ci(1, CheckConclusion::Failed);
    bench.hub.edit(1, |pull| pull.closed = false);
    bench.tells(1, "reopened");
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!((bench.sent(1), bench.workspace(1).archived_at), (1, None));
}

#[test]
fn a_session_has_a_name_and_there_are_not_too_many_of_them() {
    let mut bench = Bench::one();
    let open = |session: String| Request::Session { pr: pr(1), session, idle: true, by: None, again: false };
    assert!(bench.ask(open(String::new())).is_err());
    assert!(bench.ask(open("x".repeat(129))).is_err());
    for number in 0..64 {
        bench.ask(open(format!("session {number}"))).unwrap();
    }
    assert!(bench.ask(open("one more".to_owned())).unwrap_err().contains("64 sessions"));
    let gone = Request::EndSession { pr: pr(1), session: "nobody's".to_owned(), exit_code: None };
    assert!(bench.ask(gone).unwrap_err().contains("has ended already"));
}

#[test]
fn unit_not_has_pr_a_pull_request_that_github_has_no_more_is_paused_no_pr_and_ends_its_fixer_and_is_no_candidate() {
    for is_fixed in [true, false] {
        let mut bench = if is_fixed { Bench::fixing() } else { Bench::one() };
        bench.script(1).gone = true;
        bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
        assert!(bench.worker.state.pr(pr(1)).is_none());
        assert_eq!(bench.shown(1), (WorkspaceStatus::PausedNoPr, WorkspaceReason::NoPr));
        assert_eq!((bench.workspace(1).fix.as_ref(), bench.cancels.len()), (None, usize::from(is_fixed)));
        assert!(bench.workspace(1).archived_at.is_some());
        assert!(!candidate(&bench.worker.state, pr(1), &bench.worker.settings));
        bench.script(1).gone = false;
        bench.tells(1, "edited");
        assert_eq!(bench.workspace(1).archived_at, None, "it may come back");
        bench.wait(2 * MINUTE);
        let expected = if is_fixed { WorkspaceStatus::FixingCi } else { WorkspaceStatus::PausedDone };
        assert_eq!(bench.shown(1).0, expected);
    }
}
