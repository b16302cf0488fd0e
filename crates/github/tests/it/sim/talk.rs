use github::{Depth, Repo};
use merge_train_core::facts::{ReviewActivity, ReviewThreadActivity};
use merge_train_core::ids::PrNumber;
use serde_json::{Value, json};

use super::{FIRST, Person, World, remark, review};

/// The talk about the first pull request. A brief look must say the same of it, as far as it looks.
async fn talk(repo: &Repo) -> (String, ReviewThreadActivity) {
    let mut found = repo.talk(&[FIRST]).await.expect("an answer");
    assert_eq!(found.len(), 1);
    let (pr, ReviewActivity { overview, detail }) = found.remove(0);
    assert_eq!(pr, FIRST);
    let brief = repo.client().glance(&[(repo.id().clone(), vec![FIRST])], Depth::Brief).await.expect("an answer").seen;
    assert_eq!(brief[0].talk, ReviewActivity { overview: overview.clone(), detail: None });
    (overview, detail.expect("it was looked at closely"))
}

pub async fn set_resolved(person: &Person, mutation: &str, thread: &str) {
    let query = format!("mutation($id: ID!) {{ {mutation}(input: {{threadId: $id}}) {{ clientMutationId }} }}");
    person.graphql(&query, json!({ "id": thread })).await;
}

#[tokio::test]
async fn each_thing_that_others_do_in_the_conversation_is_news() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    let mut known = vec![talk(&repo).await.0];
    let comments = format!("/repos/{}/issues/1/comments", repo.id());
    let first = world.octocat.call("POST", &comments, json!({ "body": "one" })).await;
    let first = format!("/repos/{}/issues/comments/{}", repo.id(), first["id"]);
    known.push(talk(&repo).await.0);
    // In the same second as it was written.
    world.octocat.call("PATCH", &first, json!({ "body": "two" })).await;
    known.push(talk(&repo).await.0);
    world.a_second_later().await;
    world.octocat.call("PATCH", &first, json!({ "body": "three" })).await;
    known.push(talk(&repo).await.0);
    assert_eq!(talk(&repo).await.0, known[3], "nothing happened since");
    world.octocat.call("POST", &comments, json!({ "body": "four" })).await;
    known.push(talk(&repo).await.0);
    world.octocat.call("DELETE", &first, Value::Null).await;
    known.push(talk(&repo).await.0);
    let count = known.len();
    known.sort();
    known.dedup();
    assert_eq!(known.len(), count, "each is another");
    world.stop().await;
}

#[tokio::test]
async fn nothing_that_merge_train_says_is_news() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    for index in 0..12 {
        let path = format!("/repos/{}/issues/1/comments", repo.id());
        world.octocat.call("POST", &path, json!({ "body": format!("{index}") })).await;
        world.a_second_later().await;
    }
    remark(&world.octocat, &repo, "why?").await;
    let before = talk(&repo).await;
    let mut own = Vec::new();
    for _ in 0..20 {
        own.push(repo.create_comment(FIRST, "status").await.expect("it may write").id);
    }
    world.a_second_later().await;
    repo.update_comment(own[0], "another status").await.expect("it may edit");
    repo.delete_comment(own[1]).await.expect("it may delete");
    let comment = repo.review_comments(FIRST).await.expect("an answer")[0].id;
    let token = world.client.token_for(repo.id()).await.expect("a token");
    let bot = world.octocat.with_token("merge-train[bot]", token.expose());
    let reply = format!("/repos/{}/pulls/1/comments/{comment}/replies", repo.id());
    bot.call("POST", &reply, json!({ "body": "It is being mended." })).await;
    assert_eq!(talk(&repo).await, before);
    world.stop().await;
}

#[tokio::test]
async fn a_thread_is_a_point_until_it_is_resolved() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    let mona = world.person("mona", repo.id()).await;
    let (_, empty) = talk(&repo).await;
    assert_eq!(empty.points, []);
    let comment = remark(&mona, &repo, "why?").await;
    let (overview, begun) = talk(&repo).await;
    let [point] = begun.points.as_slice() else { panic!("{begun:?}") };
    assert_ne!(begun.mark, empty.mark);
    world.a_second_later().await;
    let path = format!("/repos/{}/pulls/comments/{comment}", repo.id());
    mona.call("PATCH", &path, json!({ "body": "why not?" })).await;
    let (same, edited) = talk(&repo).await;
    assert_eq!(same, overview, "only a close look sees it");
    assert_ne!(edited.mark, begun.mark);
    assert!(edited.points.len() == 1 && edited.points[0].id == point.id && edited.points[0].said_at > point.said_at);
    set_resolved(&mona, "resolveReviewThread", &point.id).await;
    let (resolved_overview, resolved) = talk(&repo).await;
    assert!(resolved_overview != overview && resolved.mark != edited.mark);
    assert_eq!(resolved.points, []);
    set_resolved(&mona, "unresolveReviewThread", &point.id).await;
    assert_eq!(talk(&repo).await, (overview, edited), "as before");
    mona.call("DELETE", &path, Value::Null).await;
    assert_eq!(talk(&repo).await.1, empty);
    world.stop().await;
}

#[tokio::test]
async fn reviews_are_points_as_long_as_they_want_something() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    let (mona, hubot) = (world.person("mona", repo.id()).await, world.person("hubot", repo.id()).await);
    let id = |review: &Value| review["node_id"].as_str().expect("an id").to_owned();
    let points = || async { talk(&repo).await.1.points.into_iter().map(|point| point.id).collect::<Vec<_>>() };
    let wanted = id(&review(&mona, &repo, "REQUEST_CHANGES", "Add a test.").await);
    assert_eq!(points().await, std::slice::from_ref(&wanted));
    world.a_second_later().await;
    let besides = id(&review(&mona, &repo, "COMMENT", "And a name.").await);
    review(&world.octocat, &repo, "COMMENT", "I will.").await;
    let pending = json!({ "body": "not yet said" });
    hubot.call("POST", &format!("/repos/{}/pulls/1/reviews", repo.id()), pending).await;
    let mut both = vec![wanted.clone(), besides.clone()];
    both.sort();
    assert_eq!(points().await, both, "a comment takes nothing back, the author wants nothing, and a draft is not said");
    world.a_second_later().await;
    review(&mona, &repo, "APPROVE", "").await;
    assert_eq!(points().await, std::slice::from_ref(&besides));
    let again = review(&mona, &repo, "REQUEST_CHANGES", "No, wait.").await;
    assert_eq!(points().await.len(), 2);
    let dismissal = format!("/repos/{}/pulls/1/reviews/{}/dismissals", repo.id(), again["id"]);
    let (before, _) = talk(&repo).await;
    world.octocat.call("PUT", &dismissal, json!({ "message": "settled", "event": "DISMISS" })).await;
    assert_eq!(points().await, [besides]);
    assert_ne!(talk(&repo).await.0, before, "a dismissal is news");
    world.stop().await;
}

#[tokio::test]
async fn an_edited_review_is_said_anew() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    let mona = world.person("mona", repo.id()).await;
    let review = review(&mona, &repo, "COMMENT", "Add a test.").await;
    let (overview, said) = talk(&repo).await;
    let path = format!("/repos/{}/pulls/1/reviews/{}", repo.id(), review["id"]);
    mona.call("PUT", &path, json!({ "body": "Add two." })).await;
    let (edited, _) = talk(&repo).await;
    assert_ne!(edited, overview, "also in the second in which it was written");
    world.a_second_later().await;
    mona.call("PUT", &path, json!({ "body": "Add three." })).await;
    let (again, resaid) = talk(&repo).await;
    assert_ne!(again, edited);
    assert!(resaid.points[0].said_at > said.points[0].said_at);
    world.stop().await;
}

#[tokio::test]
async fn more_threads_than_fit_into_one_answer_are_all_read() {
    let world = World::new().await;
    let repo = world.repo("widgets", 1).await;
    let mona = world.person("mona", repo.id()).await;
    let path = format!("/repos/{}/pulls/1/reviews", repo.id());
    let comments: Vec<Value> =
        (0..230).map(|index| json!({ "path": "change-1.txt", "line": 1, "body": format!("{index}") })).collect();
    mona.call("POST", &path, json!({ "event": "COMMENT", "comments": comments })).await;
    let (_, detail) = talk(&repo).await;
    assert_eq!(detail.points.len(), 230);
    let oldest = repo.review_comments(FIRST).await.expect("an answer")[0].id;
    mona.call("DELETE", &format!("/repos/{}/pulls/comments/{oldest}", repo.id()), Value::Null).await;
    let (_, without) = talk(&repo).await;
    assert!(without.points.len() == 229 && without.mark != detail.mark);
    world.stop().await;
}

#[tokio::test]
async fn those_that_are_not_there_are_left_out() {
    let world = World::new().await;
    let repo = world.repo("widgets", 2).await;
    let numbers: Vec<PrNumber> = [2, 77, 1].map(PrNumber::new).into();
    let found = repo.talk(&numbers).await.expect("an answer");
    assert_eq!(found.iter().map(|(pr, _)| pr.get()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(repo.talk(&[]).await.expect("an answer"), []);
    world.stop().await;
}
