//! Reads from GitHub: when they are due, when they are tried again, and which answers come too late to count.

use super::*;

fn transient(reason: &str) -> EffectFailure {
    EffectFailure { reason: reason.to_owned(), kind: EffectFailureKind::Transient, retry_at: None }
}

#[test]
fn a_failed_bootstrap_is_tried_again_later_and_later() {
    let mut worker = Worker::default();
    worker.pull_event("opened", pull(1));
    let mut waits = Vec::new();
    for _ in 0..12 {
        worker.feed(&surveyed(at(worker.clock), Err(transient("502"))));
        assert_eq!(worker.state.lifecycle(), Lifecycle::Failed);
        let wake = next_wake(&worker.state, &worker.settings, at(worker.clock)).expect("a retry");
        let wait = wake.duration_since(at(worker.clock)).as_secs();
        waits.push(wait);
        assert!(
            !worker.feed(&Input::Tick).effects.contains(&Effect::Mirror(MirrorEffect::Survey)),
            "not before it is due"
        );
        worker.clock += wait;
        assert!(worker.feed(&Input::Tick).effects.contains(&Effect::Mirror(MirrorEffect::Survey)));
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
    worker.surveyed(at(worker.clock), &[pull(1)], &[]);
    assert_eq!(worker.state.lifecycle(), Lifecycle::Ready);
}

#[test]
fn a_retry_waits_as_long_as_github_asks() {
    let mut worker = Worker::default();
    worker.pull_event("opened", pull(1));
    let told = EffectFailure { retry_at: Some(at(900)), ..transient("secondary rate limit") };
    worker.feed(&surveyed(at(0), Err(told)));
    assert_eq!(next_wake(&worker.state, &worker.settings, at(0)), Some(at(900)));
}

#[test]
fn an_answer_that_is_none_to_its_effect_is_a_failure_that_does_not_pass() {
    let mut worker = Worker::default();
    worker.pull_event("opened", pull(1));
    let plan = worker.feed(&completed(MirrorEffect::Survey, at(0), Ok(None::<PullFacts>)));
    let reason = "the answer to survey is none to it; this is a bug".to_owned();
    assert_eq!(
        plan.events,
        [Event::Mirror(MirrorEvent::ReadFailed { read: ReadKind::Repository, reason, retry_at: at(3600) })]
    );
}

#[test]
fn everything_is_read_anew_each_hour() {
    let mut worker = Worker::ready(&[pull(1)]);
    assert_eq!(next_wake(&worker.state, &worker.settings, at(0)), Some(at(3600)));
    worker.clock = 3600;
    assert!(worker.feed(&Input::Tick).effects.contains(&Effect::Mirror(MirrorEffect::Survey)));
    assert!(
        worker
            .log
            .iter()
            .any(|line| line.event == Event::Mirror(MirrorEvent::SyncRequested { reason: SyncReason::Periodic }))
    );
}

#[test]
fn a_state_that_nobody_touched_for_an_hour_is_read_anew_on_resumption() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.clock = 3601;
    assert_eq!(worker.feed(&Input::Resume).effects, [Effect::Mirror(MirrorEffect::Survey)]);
    assert!(
        worker
            .log
            .iter()
            .any(|line| line.event == Event::Mirror(MirrorEvent::SyncRequested { reason: SyncReason::Stale }))
    );
}

#[test]
fn a_resumed_worker_asks_again_for_all_that_is_owed() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.heard("pull_request_review_comment", None, WebhookEvent::ReviewTalk { pr: pr(8) });
    let effects = worker.feed(&Input::Resume).effects;
    assert_eq!(
        effects,
        [
            Effect::Mirror(MirrorEffect::FetchPull { pr: pr(8) }),
            Effect::Mirror(MirrorEffect::ReadMergeStates { prs: vec![pr(1)] })
        ]
    );
    let mut young = Worker::default();
    young.pull_event("opened", pull(1));
    assert!(young.feed(&Input::Resume).effects.contains(&Effect::Mirror(MirrorEffect::Survey)));
}

#[test]
fn an_answer_that_is_older_than_what_was_told_meanwhile_changes_nothing() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.clock = 3600;
    worker.feed(&Input::Tick);
    worker.clock = 3601;
    let pushed = PullFacts { head_sha: sha(11), updated_at: at(3601), ..pull(1) };
    worker.pull_event("synchronize", pushed);
    worker.surveyed(at(3600), &[pull(1)], &[]);
    assert_eq!(worker.known(1).head_sha, sha(11));
    let same_second = PullFacts { head_sha: sha(12), updated_at: at(3601), ..pull(1) };
    worker.clock = 7300;
    worker.feed(&Input::Tick);
    worker.surveyed(at(7300), &[same_second], &[]);
    assert_eq!(worker.known(1).head_sha, sha(12), "asked later, so it knows better");
}

#[test]
fn an_open_pull_request_that_a_full_look_does_not_find_is_fetched() {
    let mut worker = Worker::ready(&[pull(1), pull(2)]);
    worker.clock = 3600;
    worker.feed(&Input::Tick);
    let plan = worker.surveyed(at(3600), &[pull(2)], &[]);
    assert!(plan.effects.contains(&Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })));
    worker.feed(&fetched(pr(1), at(3600), Ok(None)));
    assert_eq!(worker.state.pr(pr(1)), None);
}

#[test]
fn the_merge_state_of_another_head_is_not_believed() {
    let mut worker = Worker::ready(&[pull(1)]);
    let other = MergeFacts { head_sha: sha(77), ..merge_facts(1, MergeState::Clean) };
    let plan = worker.feed(&merge_states(vec![pr(1)], at(0), Ok(vec![other])));
    assert_eq!(worker.known(1).merge_state, MergeState::Unknown);
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })]);
    assert_eq!(next_wake(&worker.state, &worker.settings, at(0)), Some(at(2)));
}

#[test]
fn what_ci_said_of_a_head_before_it_was_known_is_asked_for() {
    let mut worker = Worker::ready(&[pull(1)]);
    let clean = Ok(vec![merge_facts(1, MergeState::Clean)]);
    worker.feed(&merge_states(vec![pr(1)], at(0), clean));
    worker.clock = 2;
    let synchronized = |head: u64| WebhookEvent::Pull(PullFacts { head_sha: sha(head), updated_at: at(2), ..pull(1) });
    worker.heard("pull_request", Some("synchronize"), synchronized(11));
    let plan = worker.heard("pull_request", Some("synchronize"), synchronized(12));
    assert!(
        plan.effects.contains(&Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })),
        "which of the two is newer only GitHub knows"
    );
    worker.clock = 3;
    let newer = PullFacts { head_sha: sha(12), updated_at: at(2), ..pull(1) };
    let plan = worker.feed(&fetched(pr(1), at(2), Ok(Some(newer))));
    assert_eq!(worker.known(1).head_sha, sha(12));
    assert!(
        plan.effects.contains(&Effect::Mirror(MirrorEffect::ReadMergeStates { prs: vec![pr(1)] })),
        "{:?}",
        plan.effects
    );
}

#[test]
fn an_answer_from_before_the_last_doubt_settles_nothing() {
    let mut worker = Worker::ready(&[pull(1)]);
    let pushed = |head: u64| PullFacts { head_sha: sha(head), updated_at: at(2), ..pull(1) };
    worker.clock = 2;
    worker.pull_event("synchronize", pushed(11));
    worker.pull_event("synchronize", pushed(12));
    worker.clock = 3;
    worker.pull_event("synchronize", pushed(13));
    let fetched = |head: u64, asked: i64| fetched(pr(1), at(asked), Ok(Some(pushed(head))));
    let plan = worker.feed(&fetched(12, 2));
    assert_eq!(
        (plan.events, plan.effects),
        (vec![], vec![Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })]),
        "it is asked again"
    );
    worker.feed(&fetched(13, 3));
    assert_eq!(worker.known(1).head_sha, sha(13));
    assert!(worker.state.wanted.is_empty());
}

#[test]
fn a_clock_that_was_set_back_makes_no_answer_too_old() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.clock = 1_000;
    worker.comment_event(CommentChange::Created, comment(2, 20, "@merge-train predecessor #1"));
    worker.clock = 10;
    let plan = worker.feed(&fetched(pr(2), at(9), Ok(Some(stacked(2, 1)))));
    assert!(!plan.effects.contains(&Effect::Mirror(MirrorEffect::FetchPull { pr: pr(2) })), "{:?}", plan.effects);
    assert_eq!(worker.known(2).predecessor, Some(pr(1)));
}

#[test]
fn where_one_has_ended_and_nobody_said_so_everything_is_looked_at_once() {
    let mut worker = Worker::ready(&[pull(1), pull(2)]);
    let ended = MergeFacts { is_open: false, ..merge_facts(1, MergeState::Unknown) };
    let retargeted = MergeFacts { base_ref: branch("elsewhere"), ..merge_facts(2, MergeState::Clean) };
    let facts = || Ok(vec![ended.clone(), retargeted.clone()]);
    let prs = || vec![pr(1), pr(2)];
    let plan = worker.feed(&merge_states(prs(), at(0), facts()));
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::Survey)]);
    let plan = worker.feed(&merge_states(prs(), at(0), facts()));
    assert_eq!(plan.effects, [], "it is under way");
}

#[test]
fn where_everything_was_looked_at_a_moment_ago_only_what_differs_is_fetched() {
    let mut worker = Worker::ready(&[pull(1), pull(2)]);
    let ended = || Ok(vec![MergeFacts { is_open: false, ..merge_facts(1, MergeState::Unknown) }]);
    let plan = worker.feed(&merge_states(vec![pr(1)], at(0), ended()));
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::Survey)]);
    worker.surveyed(at(0), &[pull(1), pull(2)], &[]);
    let plan = worker.feed(&merge_states(vec![pr(1)], at(0), ended()));
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::FetchPull { pr: pr(1) })]);
}

#[test]
fn a_merge_state_that_github_has_not_computed_is_asked_for_again_with_patience_but_not_for_ever() {
    let mut worker = Worker::ready(&[pull(1)]);
    let mut asked = 0;
    while worker.known(1).merge_state_wanted_since.is_some() {
        asked += 1;
        assert!(asked < 100, "for ever");
        let unknown = Ok(vec![merge_facts(1, MergeState::Unknown)]);
        worker.feed(&merge_states(vec![pr(1)], at(worker.clock), unknown));
        worker.clock += 60;
        worker.feed(&Input::Tick);
    }
    assert_eq!(asked, 7);
}

#[test]
fn an_answer_asked_for_before_the_last_reason_to_ask_does_not_settle_it() {
    let mut worker = Worker::ready(&[pull(1)]);
    worker.clock = 50;
    let review = WebhookEvent::Review {
        pull: crate::facts::ReviewedPull { number: pr(1), head_sha: sha(1) },
        state: crate::facts::ReviewState::Approved,
    };
    worker.heard("pull_request_review", Some("submitted"), review);
    let clean = || Ok(vec![merge_facts(1, MergeState::Clean)]);
    let plan = worker.feed(&merge_states(vec![pr(1)], at(49), clean()));
    assert_eq!(plan.effects, [Effect::Mirror(MirrorEffect::ReadMergeStates { prs: vec![pr(1)] })]);
    worker.feed(&merge_states(vec![pr(1)], at(50), clean()));
    assert_eq!(worker.known(1).merge_state, MergeState::Clean);
}

#[test]
fn a_full_look_can_be_asked_for_and_is_not_begun_twice() {
    let mut worker = Worker::ready(&[]);
    let asked = |request: &str| Input::Asked { key: Key::api("ops", request).unwrap(), request: Request::Sync };
    assert_eq!(worker.feed(&asked("one")).effects, [Effect::Mirror(MirrorEffect::Survey)]);
    assert_eq!(worker.feed(&asked("two")).effects, []);
    let outcomes = worker.log.iter().filter_map(|line| match line.event {
        Event::Commands(CommandsEvent::RequestProcessed { outcome, .. }) => Some(outcome),
        _ => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [RequestOutcome::Started, RequestOutcome::UnderWay]);
}

#[test]
fn a_repository_that_is_owed_something_is_looked_at_although_nothing_comes_in() {
    let mut worker = Worker::ready(&[]);
    assert_eq!(attention(&worker.state, &worker.settings), Some(at(3_600)), "the hourly look");
    worker.heard("pull_request_review_comment", None, WebhookEvent::ReviewTalk { pr: pr(8) });
    assert_eq!(
        attention(&worker.state, &worker.settings),
        Some(at(0)),
        "at once: the fetch may have died with its worker"
    );
    worker.clock = 5;
    worker.feed(&fetched(pr(8), at(0), Err(transient("502"))));
    assert_eq!(attention(&worker.state, &worker.settings), Some(at(7)));
}
