//! What is news, and what becomes of it.

use super::*;

#[test]
fn unit_the_heartbeat_delta_filter_dispatches_only_changed_workspaces() {
    let mut bench = Bench::new(&[0, 0, 0]);
    bench.beat();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.beat(), [0_u64; 0]);
    let (first, third) = (bench.events(1), bench.events(3));
    bench.ci(2, CheckConclusion::Failed);
    assert_eq!(bench.beat(), [2]);
    assert_eq!((bench.sent(1), bench.sent(2), bench.sent(3)), (0, 1, 0));
    assert_eq!((bench.events(1), bench.events(3)), (first, third), "nothing happens to the others");
}

#[test]
fn a_look_at_a_workspace_that_has_not_changed_records_nothing_about_it_and_asks_for_nothing() {
    let mut bench = Bench::one();
    bench.wait(2 * MINUTE);
    bench.worker.clock += 1;
    let plan = bench.feed(&Input::Tick);
    assert_eq!((plan.events, plan.effects), (Vec::new(), Vec::new()));
    // Read again and found to be the same, it is not decided on again.
    let before = bench.moves(1);
    bench.ask(Request::LookAt { prs: vec![pr(1)] }).unwrap();
    assert_eq!(bench.moves(1), before);
}

#[test]
fn paused_workspaces_remain_candidates_in_every_pause() {
    let mut bench = Bench::one();
    bench.wait(2 * MINUTE);
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedDone);
    assert!(candidate(&bench.worker.state, pr(1), &bench.worker.settings));
    bench.says(1, "late");
    assert_eq!((bench.beat(), bench.sent(1)), (vec![1], 1), "a late comment wakes it");
    bench.fixer(1, Fixer::GivesUp);
    bench.settle();
    assert_eq!(bench.shown(1).0, WorkspaceStatus::PausedAttentionNoPush);
    assert!(candidate(&bench.worker.state, pr(1), &bench.worker.settings));
    bench.toggle(1, false).unwrap();
    assert!(!candidate(&bench.worker.state, pr(1), &bench.worker.settings), "who is off is not looked at");
    bench.toggle(1, true).unwrap();
    bench.closes(1);
    assert!(!candidate(&bench.worker.state, pr(1), &bench.worker.settings), "nor who is closed");
}

#[test]
fn an_edit_of_a_comment_sends_a_fixer_again_and_a_word_that_was_dealt_with_does_not() {
    let mut bench = Bench::one();
    bench.says(1, "thread");
    bench.fixer(1, Fixer::Pushes);
    bench.beat();
    assert_eq!((bench.sent(1), bench.attempts(1)), (1, 1));
    bench.wait(MINUTE);
    bench.beat();
    assert_eq!(bench.sent(1), 1, "it is unresolved, and a fixer has pushed for it");
    bench.says(1, "thread");
    bench.beat();
    assert_eq!(bench.sent(1), 2);
}

#[test]
fn a_word_of_a_reviewer_is_read_as_soon_as_github_tells_of_it_and_not_what_the_bot_says() {
    let mut bench = Bench::one();
    bench.says(1, "thread");
    let plan =
        bench.worker.heard("pull_request_review_comment", Some("created"), WebhookEvent::ReviewTalk { pr: pr(1) });
    bench.take(plan);
    bench.settle();
    assert_eq!(bench.sent(1), 1);
    let before = bench.times("read_talk");
    let own = CommentFacts { author: UserId::new(900), ..comment(1, 77, "done <!-- merge-train-note 1-1 -->") };
    let plan = bench.worker.comment_event(CommentChange::Created, own);
    bench.take(plan);
    assert_eq!(bench.times("read_talk"), before);
}

#[test]
fn what_could_not_be_read_is_read_again_later() {
    let mut bench = Bench::one();
    bench.is_deaf = true;
    bench.says(1, "thread");
    bench.beat();
    assert_eq!(bench.sent(1), 0);
    bench.is_deaf = false;
    bench.tick();
    assert_eq!(bench.sent(1), 1, "the worker woke for it by itself");
}

#[test]
fn what_is_wrong_is_asked_again_later_where_github_could_not_be_asked() {
    let mut bench = Bench::one();
    bench.ci(1, CheckConclusion::Failed);
    bench.script(1).diagnosis = Some(failure(EffectFailureKind::Transient));
    bench.beat();
    assert_eq!(
        (bench.shown(1), bench.sent(1)),
        ((WorkspaceStatus::WaitingForCi, WorkspaceReason::GithubUnavailable), 0)
    );
    bench.tick();
    bench.tick();
    assert_eq!((bench.workspace(1).failures, bench.sent(1)), (3, 0), "with longer and longer waits");
    bench.script(1).diagnosis = None;
    bench.tick();
    assert_eq!((bench.workspace(1).failures, bench.sent(1)), (0, 1));
}

#[test]
fn an_answer_about_a_head_that_is_not_there_any_more_sends_nobody() {
    let mut bench = Bench::one();
    bench.is_slow = true;
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    assert_eq!((bench.times("diagnose"), bench.sent(1)), (1, 0));
    let old = bench.hub.pulls[&1].head.clone();
    bench.pushes(1);
    bench.ci(1, CheckConclusion::Failed);
    bench.beat();
    let (issue, result) = (workspace::FixIssue::FixCi, Ok(CiDiagnosis::default()));
    bench.feed(&diagnosed(pr(1), old.clone(), issue, result));
    assert_eq!(bench.sent(1), 0);
    bench.is_slow = false;
    bench.settle();
    assert_eq!(bench.sent(1), 1);
    assert_ne!(bench.fix(1).head, old);
}
