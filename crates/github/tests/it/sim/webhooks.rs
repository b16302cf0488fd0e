use github::webhook::parse;
use merge_train_core::facts::{CommentChange, WebhookEvent};
use merge_train_core::ids::DeliveryId;
use serde_json::{Value, json};

use super::{FIRST, World, remark};

/// What merge-train is told of since it was last asked.
async fn happenings(world: &World) -> Vec<(String, WebhookEvent)> {
    let taken = world.control("POST", "/deliveries/take", json!({})).await;
    let read = |delivery: &Value| {
        let (event, id) = (delivery["event"].as_str().expect("an event"), delivery["guid"].as_str().expect("an id"));
        let payload = serde_json::to_vec(&delivery["payload"]).expect("JSON");
        let parsed = parse(event, DeliveryId::parse(id).expect("an id"), &payload).expect("it is well formed");
        let action = parsed.action.map(|action| format!(".{action}")).unwrap_or_default();
        (format!("{event}{action}"), parsed.happening)
    };
    taken.as_array().expect("a list").iter().map(read).collect()
}

#[tokio::test]
async fn labels_come_with_the_webhooks_about_them() {
    let world = World::with_held_webhooks().await;
    let repo = world.repo("widgets", 1).await;
    happenings(&world).await;
    let labels = format!("/repos/{}/issues/1/labels", repo.id());
    world.octocat.call("POST", &labels, json!({ "labels": ["ratchet"] })).await;
    world.octocat.call("DELETE", &format!("{labels}/ratchet"), Value::Null).await;
    let told: Vec<(String, usize)> = happenings(&world)
        .await
        .into_iter()
        .filter_map(|(event, happening)| match happening {
            WebhookEvent::Pull(pull) => Some((event, pull.labels.len())),
            _ => None,
        })
        .collect();
    assert_eq!(told, [("pull_request.labeled".to_owned(), 1), ("pull_request.unlabeled".to_owned(), 0)]);
    world.octocat.call("POST", &labels, json!({ "labels": ["ratchet"] })).await;
    assert!(repo.pull(FIRST).await.expect("an answer").facts.labels.contains("ratchet"));
    assert!(repo.open_pulls().await.expect("an answer")[0].labels.contains("ratchet"));
    world.stop().await;
}

#[tokio::test]
async fn whatever_happens_to_what_was_said_is_told() {
    let world = World::with_held_webhooks().await;
    let repo = world.repo("widgets", 1).await;
    happenings(&world).await;
    let comment = remark(&world.octocat, &repo, "why?").await;
    let path = format!("/repos/{}/pulls/comments/{comment}", repo.id());
    world.octocat.call("PATCH", &path, json!({ "body": "why not?" })).await;
    let thread =
        repo.talk(&[FIRST]).await.expect("an answer").remove(0).1.detail.expect("a close look").points.remove(0).id;
    super::talk::set_resolved(&world.octocat, "resolveReviewThread", &thread).await;
    super::talk::set_resolved(&world.octocat, "unresolveReviewThread", &thread).await;
    world.octocat.call("DELETE", &path, Value::Null).await;
    let told = happenings(&world).await;
    let talk = |event: &&str| {
        told.iter().any(|(name, happening)| name == event && *happening == WebhookEvent::ReviewTalk { pr: FIRST })
    };
    let missing: Vec<&str> = [
        "pull_request_review_comment.created",
        "pull_request_review_comment.edited",
        "pull_request_review_comment.deleted",
        "pull_request_review_thread.resolved",
        "pull_request_review_thread.unresolved",
    ]
    .into_iter()
    .filter(|event| !talk(event))
    .collect();
    assert!(missing.is_empty(), "{missing:?} of {told:?}");
    let comments = format!("/repos/{}/issues", repo.id());
    let said = world.octocat.call("POST", &format!("{comments}/1/comments"), json!({ "body": "I see." })).await;
    let said = format!("{comments}/comments/{}", said["id"]);
    world.octocat.call("PATCH", &said, json!({ "body": "I do." })).await;
    world.octocat.call("DELETE", &said, Value::Null).await;
    let changes: Vec<CommentChange> = happenings(&world)
        .await
        .into_iter()
        .filter_map(|(_, happening)| match happening {
            WebhookEvent::Comment(change, _) => Some(change),
            _ => None,
        })
        .collect();
    assert_eq!(changes, [CommentChange::Created, CommentChange::Edited, CommentChange::Deleted]);
    world.stop().await;
}
