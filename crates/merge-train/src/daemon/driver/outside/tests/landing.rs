//! Squashing, looking, retargeting, closing, deleting: GitHub's side of a train.

use merge_train_core::facts::Permission;
use merge_train_core::ids::{CommentId, PrNumber, Sha};
use merge_train_core::repo::trains::message::SquashMessageTemplates;
use merge_train_core::repo::trains::work::{
    MergeEndpoint, ObservedSquash, RetargetOutcome, SquashOutcome, TrainTask, TrainTaskOutcome,
};
use merge_train_core::repo::{
    Answer, Effect, EffectFailure, EffectFailureKind, NoteContent, NoteId, PostAttempt, commands, mirror, outbox,
    trains,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::World;
use super::world::branch;

async fn squash(world: &World, pull: PrNumber, head: &Sha, via: MergeEndpoint) -> Result<SquashOutcome, EffectFailure> {
    let (base, wording) = (branch("main"), SquashMessageTemplates::default());
    match world.work(pull, TrainTask::Squash { pull, head: head.clone(), base, via, wording }).await? {
        TrainTaskOutcome::Squashed(squashed) => Ok(squashed),
        other => panic!("{other:?}"),
    }
}

async fn look(world: &World, pull: PrNumber) -> ObservedSquash {
    match world.work(pull, TrainTask::Look { pull }).await.unwrap() {
        TrainTaskOutcome::Seen(seen) => seen,
        other => panic!("{other:?}"),
    }
}

async fn close(world: &World, pull: PrNumber) -> Result<(), EffectFailure> {
    let effect = Effect::Outbox(outbox::Effect::Say {
        note: NoteId(1),
        pr: pull,
        say: NoteContent::Close {},
        since: crate::clock::now(),
        tried: PostAttempt::Perhaps,
    });
    match world.perform(effect).await? {
        Answer::Done(()) => Ok(()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_squash_lands_the_head_that_was_found_ready_and_no_other() {
    for via in [MergeEndpoint::Now, MergeEndpoint::Background] {
        let world = World::new().await;
        let one = world.open_pull("one", "main").await;
        let old = world.head("one").await;
        let head = world.write("one", "more.txt", "x\n").await;
        assert_eq!(squash(&world, one, &old, via).await, Ok(SquashOutcome::HeadChanged), "{via:?}");
        assert_eq!(look(&world, one).await, ObservedSquash::Open { head: head.clone() });
        let Ok(SquashOutcome::Merged { commit }) = squash(&world, one, &head, via).await else { panic!("{via:?}") };
        assert_eq!(commit, world.head("main").await);
        assert_eq!(look(&world, one).await, ObservedSquash::Merged { commit: Some(commit) });
        assert_eq!(world.landed_message().await, format!("Add one (#{one})\n\n* Write one.txt\n\n* Write more.txt"));
        world.finish().await;
    }
}

#[tokio::test]
async fn what_github_refuses_is_told_in_its_words() {
    for (via, words) in
        [(MergeEndpoint::Now, "Pull Request is not mergeable"), (MergeEndpoint::Background, "Merge conflict")]
    {
        let world = World::new().await;
        let one = world.open_pull("one", "main").await;
        world.write("main", "one.txt", "theirs\n").await;
        let head = world.head("one").await;
        let Ok(SquashOutcome::Refused { message }) = squash(&world, one, &head, via).await else { panic!("{via:?}") };
        assert!(message.contains(words), "{via:?}: {message}");
        world.finish().await;
    }
}

#[tokio::test]
async fn a_base_that_moves_is_no_changed_head() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let head = world.head("one").await;
    let words = "Base branch was modified. Review and try the merge again.";
    for status in [405, 409] {
        world
            .fault(json!({ "match": { "method": "PUT" }, "kind": "status", "status": status, "message": words }))
            .await;
        let refused = SquashOutcome::Refused { message: words.to_owned() };
        assert_eq!(squash(&world, one, &head, MergeEndpoint::Now).await, Ok(refused));
    }
    world.finish().await;
}

#[tokio::test]
async fn a_lost_answer_is_a_failure_that_passes_and_the_look_finds_what_was_done() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let head = world.head("one").await;
    world.fault(json!({ "match": { "method": "PUT", "path": "*/merge" }, "kind": "lose_response" })).await;
    world.fault(json!({ "kind": "lag_merge_commit_sha", "ms": 60_000 })).await;
    let failure = squash(&world, one, &head, MergeEndpoint::Now).await.unwrap_err();
    assert_eq!(failure.kind, EffectFailureKind::Transient, "{}", failure.reason);
    assert_eq!(look(&world, one).await, ObservedSquash::Merged { commit: None });
    world.control(Method::POST, "/clock", json!({ "advance_seconds": 61 })).await;
    assert_eq!(look(&world, one).await, ObservedSquash::Merged { commit: Some(world.head("main").await) });
    world.finish().await;
}

#[tokio::test]
async fn a_member_of_a_native_stack_is_merged_in_the_background_and_waited_for() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    world.in_repo(Method::POST, "/stacks", json!({ "pull_requests": [one, two] })).await;
    world.control(Method::PATCH, "/settings", json!({ "merge_async_delay_ms": 600 })).await;
    let Ok(Answer::Pull(Some(facts))) = world.perform(Effect::Mirror(mirror::Effect::FetchPull { pr: two })).await
    else {
        panic!("it exists")
    };
    assert_eq!(facts.stack_position, Some(2));
    let head = world.head("one").await;
    let refused = squash(&world, one, &head, MergeEndpoint::Now).await;
    assert!(matches!(refused, Ok(SquashOutcome::Refused { .. })), "{refused:?}");
    let merged = squash(&world, one, &head, MergeEndpoint::Background).await;
    assert_eq!(merged, Ok(SquashOutcome::Merged { commit: world.head("main").await }));
    world.finish().await;
}

#[tokio::test]
async fn a_merge_in_the_background_at_another_head_is_not_taken_for_ours() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    world.control(Method::PATCH, "/settings", json!({ "merge_async_delay_ms": 600_000 })).await;
    let ask = json!({ "merge_method": "squash", "merge_action": "direct_merge" });
    world.in_repo(Method::PUT, &format!("/pulls/{one}/merge-async"), ask).await;
    let head = world.write("one", "more.txt", "x\n").await;
    let Ok(SquashOutcome::Refused { message }) = squash(&world, one, &head, MergeEndpoint::Background).await else {
        panic!()
    };
    assert!(message.contains("was already asked to merge #1") && message.contains(head.as_str()), "{message}");
    world.finish().await;
}

#[tokio::test]
async fn a_pull_request_is_retargeted_whatever_its_state() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    let retarget = async |base: &str| {
        let answered = world.work(one, TrainTask::Retarget { pull: two, base: branch(base) }).await;
        answered.map(|outcome| match outcome {
            TrainTaskOutcome::Retargeted(retargeted) => retargeted,
            other => panic!("{other:?}"),
        })
    };
    for _ in 0..2 {
        assert_eq!(retarget("main").await, Ok(RetargetOutcome::Done));
        assert_eq!(world.pull(two).await["base"]["ref"], "main");
    }
    let failure = retarget("nowhere").await.unwrap_err();
    assert_eq!(failure.kind, EffectFailureKind::Permanent);
    assert!(failure.reason.contains("base"), "{}", failure.reason);
    for _ in 0..2 {
        assert_eq!(close(&world, two).await, Ok(()));
        assert_eq!(world.pull(two).await["state"], "closed");
        assert_eq!(look(&world, two).await, ObservedSquash::Closed);
        assert_eq!(retarget("one").await, Ok(RetargetOutcome::NotOpen));
    }
    world.finish().await;
}

#[tokio::test]
async fn closing_what_is_merged_is_no_failure_but_a_refusal_is() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let refusal = json!({ "match": { "method": "PATCH" }, "kind": "status", "status": 422, "message": "Not now" });
    world.fault(refusal.clone()).await;
    let failure = close(&world, one).await.unwrap_err();
    assert!(failure.kind == EffectFailureKind::Permanent && failure.reason.contains("Not now"), "{}", failure.reason);
    world.squash(one, one, "one").await;
    assert_eq!(close(&world, one).await, Ok(()));
    world.fault(refusal).await;
    assert_eq!(close(&world, one).await, Ok(()), "it is closed, whatever GitHub makes of the wish");
    world.finish().await;
}

#[tokio::test]
async fn a_branch_is_deleted_unless_somebody_pushed_to_it() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let old = world.head("one").await;
    let head = world.write("one", "more.txt", "x\n").await;
    let delete = async |head: &Sha| {
        let effect =
            Effect::Trains(trains::Effect::DeleteBranch { pr: one, branch: branch("one"), head: head.clone() });
        world.perform(effect).await
    };
    let branches = async || world.in_repo(Method::GET, "/branches", Value::Null).await.as_array().unwrap().len();
    assert_eq!((delete(&old).await, branches().await), (Ok(Answer::Done(())), 2));
    for _ in 0..2 {
        assert_eq!((delete(&head).await, branches().await), (Ok(Answer::Done(())), 1));
    }
    world.finish().await;
}

#[tokio::test]
async fn what_somebody_may_do_is_read() {
    let world = World::new().await;
    world.control(Method::POST, "/users", json!({ "login": "mona" })).await;
    let permission = async |login: &str| {
        let effect =
            Effect::Commands(commands::Effect::ReadPermission { comment: CommentId::new(1), login: login.to_owned() });
        world.perform(effect).await
    };
    assert_eq!(permission("octocat").await, Ok(Permission::Admin.into()));
    assert_eq!(permission("mona").await, Ok(Permission::Read.into()));
    assert_eq!(permission("nobody-at-all").await, Ok(Permission::None.into()));
    world.finish().await;
}
