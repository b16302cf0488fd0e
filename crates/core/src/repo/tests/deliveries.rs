//! What each webhook changes in the mirror, and which deliveries change nothing: late ones, repetitions, forks.

use super::*;
use crate::facts::{CheckSuiteFacts, ReviewState, ReviewedPull, StatusState};
use crate::ids::CheckSuiteId;

#[test]
fn the_first_delivery_of_an_unknown_repository_asks_for_a_full_look() {
    let mut worker = Worker::default();
    assert_eq!(worker.state.lifecycle(), Lifecycle::Unknown);
    let plan = worker.pull_event("opened", pull(1));
    assert!(plan.effects.contains(&Effect::Mirror(MirrorEffect::Survey)));
    assert_eq!(worker.state.lifecycle(), Lifecycle::Bootstrapping);
    assert!(
        !worker.pull_event("opened", pull(2)).effects.contains(&Effect::Mirror(MirrorEffect::Survey)),
        "it is under way"
    );
    assert!(worker.known(2).is_open(), "what is told meanwhile is not lost");
}

#[test]
fn the_rows_of_the_table_of_incremental_updates() {
    let mut worker = Worker::ready(&[]);
    worker.pull_event("opened", pull(1));
    assert!(worker.known(1).is_open());

    worker.clock = 10;
    worker.feed(&merge_states(vec![pr(1)], at(10), Ok(vec![merge_facts(1, MergeState::Clean)])));
    assert_eq!(worker.known(1).merge_state, MergeState::Clean);
    worker.pull_event("synchronize", PullFacts { head_sha: sha(11), updated_at: at(10), ..pull(1) });
    assert_eq!(worker.known(1).head_sha, sha(11));
    assert_eq!(worker.known(1).merge_state, MergeState::Unknown, "the old head's state says nothing of the new");

    worker
        .pull_event("edited", PullFacts { head_sha: sha(11), base_ref: branch("next"), updated_at: at(11), ..pull(1) });
    assert_eq!(worker.known(1).base_ref, branch("next"));

    let reads = || Effect::Mirror(MirrorEffect::ReadMergeStates { prs: vec![pr(1)] });
    let suite = CheckSuiteFacts {
        id: CheckSuiteId::new(5),
        head_sha: sha(11),
        conclusion: Some("success".to_owned()),
        updated_at: at(12),
        pulls: vec![pr(1)],
    };
    let plan = worker.heard("check_suite", Some("requested"), WebhookEvent::CheckSuite(suite.clone()));
    assert_eq!(plan.effects, [], "nothing is complete yet");
    assert_eq!(worker.heard("check_suite", Some("completed"), WebhookEvent::CheckSuite(suite)).effects, [reads()]);
    let status = |state| WebhookEvent::Status { sha: sha(11), state, context: "ci".to_owned() };
    assert_eq!(worker.heard("status", None, status(StatusState::Pending)).effects, []);
    assert_eq!(worker.heard("status", None, status(StatusState::Success)).effects, [reads()]);
    let review =
        WebhookEvent::Review { pull: ReviewedPull { number: pr(1), head_sha: sha(11) }, state: ReviewState::Approved };
    assert_eq!(worker.heard("pull_request_review", Some("submitted"), review).effects, [reads()]);

    let closed = PullFacts { state: PullState::Closed { at: at(20) }, updated_at: at(20), ..pull(1) };
    worker.pull_event("closed", closed);
    assert_eq!(worker.known(1).state, PrState::Closed { closed_at: Some(at(20)) });
    worker.pull_event("reopened", PullFacts { updated_at: at(21), ..pull(1) });
    assert!(worker.known(1).is_open());
    let merged = PullState::Merged { merge_commit_sha: Some(sha(99)), at: at(22) };
    worker.pull_event("closed", PullFacts { state: merged, updated_at: at(22), ..pull(1) });
    let expected = PrState::Merged { merge_commit_sha: Some(sha(99)), closed_at: Some(at(22)) };
    assert_eq!(worker.known(1).state, expected);
}

#[test]
fn a_delivery_that_was_overtaken_is_not_news() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.pull_event("synchronize", PullFacts { head_sha: sha(12), updated_at: at(20), ..pull(1) });
    worker.pull_event("synchronize", PullFacts { head_sha: sha(11), updated_at: at(10), ..pull(1) });
    assert_eq!(worker.known(1).head_sha, sha(12));
}

#[test]
fn what_is_merged_stays_merged() {
    let mut worker = Worker::ready(&[pull(1)]);
    let merged = PullState::Merged { merge_commit_sha: None, at: at(5) };
    worker.pull_event("closed", PullFacts { state: merged, updated_at: at(5), ..pull(1) });
    worker.pull_event("edited", PullFacts { updated_at: at(6), ..pull(1) });
    assert!(matches!(worker.known(1).state, PrState::Merged { merge_commit_sha: None, .. }));
    let merged = PullState::Merged { merge_commit_sha: Some(sha(9)), at: at(5) };
    worker.pull_event("edited", PullFacts { state: merged, updated_at: at(7), ..pull(1) });
    let PrState::Merged { merge_commit_sha, .. } = &worker.known(1).state else { panic!("not merged") };
    assert_eq!(merge_commit_sha.as_ref(), Some(&sha(9)), "GitHub was late with the commit");
}

#[test]
fn a_repetition_under_another_delivery_id_changes_nothing_and_is_logged() {
    let mut worker = Worker::ready(&[pull(1), merged(9)]);
    let declared = comment(1, 50, "@merge-train predecessor #9");
    worker.comment_event(CommentChange::Created, declared.clone());
    worker.clock = 3600;
    let plan = worker.comment_event(CommentChange::Created, declared.clone());
    assert_eq!(plan.events.len(), 1);
    assert_eq!(*worker.outcome(), DeliveryOutcome::Duplicate { dedupe_key: "issue_comment:1:50".to_owned() });

    worker.clock = 25 * 3600;
    worker.comment_event(CommentChange::Created, declared);
    assert!(matches!(worker.outcome(), DeliveryOutcome::Applied { .. }), "after the day it is forgotten");
}

#[test]
fn every_edit_of_a_comment_counts() {
    let mut worker = Worker::ready(&[pull(1), merged(6), merged(7), merged(8)]);
    worker.comment_event(CommentChange::Created, comment(1, 50, "@merge-train predecessor #8"));
    for (second, predecessor) in [(1, 7), (2, 6), (3, 7)] {
        let body = format!("@merge-train predecessor #{predecessor}");
        worker.comment_event(CommentChange::Edited, CommentFacts { updated_at: at(second), ..comment(1, 50, &body) });
        assert_eq!(worker.known(1).predecessor, Some(pr(predecessor)));
    }
}

#[test]
fn a_pull_request_closed_twice_is_closed_twice() {
    let mut worker = Worker::ready(&[pull(1)]);
    for second in [10, 30] {
        let closed = PullState::Closed { at: at(second) };
        worker.pull_event("closed", PullFacts { state: closed, updated_at: at(second), ..pull(1) });
        assert!(!worker.known(1).is_open());
        worker.pull_event("reopened", PullFacts { updated_at: at(second + 10), ..pull(1) });
        assert!(worker.known(1).is_open());
    }
}

#[test]
fn an_equal_payload_is_a_repetition_for_five_seconds() {
    let mut worker = Worker::ready(&[pull(1)]);
    let review = || WebhookEvent::Review {
        pull: ReviewedPull { number: pr(1), head_sha: sha(1) },
        state: ReviewState::Approved,
    };
    worker.clock = 100;
    worker.heard("pull_request_review", Some("submitted"), review());
    assert!(matches!(worker.outcome(), DeliveryOutcome::Applied { .. }));
    worker.clock = 104;
    worker.heard("pull_request_review", Some("submitted"), review());
    assert!(matches!(worker.outcome(), DeliveryOutcome::Duplicate { .. }));
    worker.clock = 105;
    worker.heard("pull_request_review", Some("submitted"), review());
    assert!(matches!(worker.outcome(), DeliveryOutcome::Applied { .. }));
    let other = WebhookEvent::Review {
        pull: ReviewedPull { number: pr(1), head_sha: sha(1) },
        state: ReviewState::ChangesRequested,
    };
    worker.heard("pull_request_review", Some("submitted"), other);
    assert!(matches!(worker.outcome(), DeliveryOutcome::Applied { .. }), "another review, however soon, is news");
}

#[test]
fn a_pull_request_from_a_fork_is_known_and_left_alone() {
    let mut worker = Worker::ready(&[]);
    let plan = worker.pull_event("opened", PullFacts { head_repo: HeadRepo::Fork, ..pull(7) });
    assert_eq!(
        plan.effects,
        [Effect::Settings(SettingsEffect::ReadProposal { pr: pr(7), head: sha(7) })],
        "but for the repository's own settings"
    );
    let again = worker.pull_event("edited", PullFacts { head_repo: HeadRepo::Fork, updated_at: at(1), ..pull(7) });
    assert_eq!(again.effects, []);
    assert!(matches!(worker.outcome(), DeliveryOutcome::Ignored { .. }));
    assert!(!worker.known(7).is_ours());
    let status = WebhookEvent::Status { sha: sha(7), state: StatusState::Success, context: "ci".to_owned() };
    assert_eq!(worker.heard("status", None, status).effects, [], "no budget is spent on it");
}

#[test]
fn an_unknown_pull_request_is_fetched_and_the_fifth_means_a_full_look() {
    let mut worker = Worker::ready(&[]);
    for number in 1..=4 {
        let talk = WebhookEvent::ReviewTalk { pr: pr(number) };
        let plan = worker.heard("pull_request_review_comment", Some("created"), talk);
        assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::FetchPull { pr: pr(number) })]);
    }
    let again = worker.heard("pull_request_review_comment", Some("edited"), WebhookEvent::ReviewTalk { pr: pr(1) });
    assert_eq!(again.effects, [], "it is wanted already");
    let plan = worker.heard("pull_request_review_comment", Some("created"), WebhookEvent::ReviewTalk { pr: pr(5) });
    assert_eq!(
        plan.effects,
        [Effect::Mirror(MirrorEffect::FetchPull { pr: pr(5) }), Effect::Mirror(MirrorEffect::Survey)]
    );
    assert_eq!(worker.state.lifecycle(), Lifecycle::Resync);
}

#[test]
fn what_cannot_be_read_is_logged_and_over() {
    let mut worker = Worker::ready(&[]);
    let before = worker.state.clone();
    worker.feed(&Input::Unusable {
        id: DeliveryId::parse("d").unwrap(),
        event: "pull_request".to_owned(),
        received_at: at(0),
        reason: "no number".to_owned(),
    });
    assert_eq!(*worker.outcome(), DeliveryOutcome::Failed { reason: "no number".to_owned() });
    assert_eq!(RepoState { touched_at: before.touched_at, ..worker.state.clone() }, before);
}
