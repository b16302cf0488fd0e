//! The status comment, written once and again.

use merge_train_core::ids::{CommentId, PrNumber};
use merge_train_core::repo::{Answer, Effect, EffectFailure, trains};
use reqwest::Method;
use serde_json::{Value, json};

use super::World;

/// A status comment as far as it is recognised.
fn body(words: &str) -> String {
    format!("<!-- merge-train-state\n{{\"version\": 1}}\n-->\n**Merge Train Status**\n\n{words}")
}

async fn write(
    world: &World,
    root: PrNumber,
    comment: Option<CommentId>,
    body: &str,
) -> Result<CommentId, EffectFailure> {
    let effect = Effect::Trains(trains::Effect::WriteStatus { root, comment, body: body.to_owned(), seq: 3 });
    match world.perform(effect).await? {
        Answer::StatusWritten(comment) => Ok(comment),
        other => panic!("{other:?}"),
    }
}

async fn comments(world: &World, root: PrNumber) -> Vec<(u64, String)> {
    let listed = world.in_repo(Method::GET, &format!("/issues/{root}/comments"), Value::Null).await;
    let shown = |comment: &Value| (comment["id"].as_u64().unwrap(), comment["body"].as_str().unwrap().to_owned());
    listed.as_array().unwrap().iter().map(shown).collect()
}

#[tokio::test]
async fn it_is_created_once_then_updated_and_recreated_when_it_was_deleted() {
    let world = World::new().await;
    let root = world.open_pull("one", "main").await;
    let first = write(&world, root, None, &body("one")).await.unwrap();
    assert_eq!(comments(&world, root).await, [(first.get(), body("one"))]);
    assert_eq!(write(&world, root, Some(first), &body("two")).await, Ok(first));
    assert_eq!(comments(&world, root).await, [(first.get(), body("two"))]);
    world.in_repo(Method::DELETE, &format!("/issues/comments/{first}"), Value::Null).await;
    let second = write(&world, root, Some(first), &body("three")).await.unwrap();
    assert_ne!(second, first);
    assert_eq!(comments(&world, root).await, [(second.get(), body("three"))]);
    world.finish().await;
}

#[tokio::test]
async fn one_whose_creation_was_lost_is_found_again() {
    let world = World::new().await;
    let root = world.open_pull("one", "main").await;
    for words in [body("one"), "**Merge Train Status**\n\nAll has landed.".to_owned()] {
        let before = comments(&world, root).await.len();
        world.fault(json!({ "match": { "method": "POST", "path": "*/comments" }, "kind": "lose_response" })).await;
        if before == 0 {
            write(&world, root, None, &words).await.unwrap_err();
        }
        let found = write(&world, root, None, &words).await.unwrap();
        assert_eq!(comments(&world, root).await, [(found.get(), words)], "there is one, and it says the latest");
    }
    world.finish().await;
}

#[tokio::test]
async fn one_that_somebody_else_wrote_is_left_alone() {
    let world = World::new().await;
    let root = world.open_pull("one", "main").await;
    world.in_repo(Method::POST, &format!("/issues/{root}/comments"), json!({ "body": body("fake") })).await;
    let ours = write(&world, root, None, &body("true")).await.unwrap();
    let found = comments(&world, root).await;
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].1.as_str(), &found[1]), (body("fake").as_str(), &(ours.get(), body("true"))));
    world.finish().await;
}
