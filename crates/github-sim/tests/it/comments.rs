//! Comments on issues and pull requests, and reactions.

use serde_json::{Value, json};

use crate::support::{Client, Receiver, World};

async fn issue(world: &World) -> u64 {
    world.octocat.post("/user/repos", json!({ "name": "talk" })).await.expect(201);
    let issue = world.octocat.post("/repos/octocat/talk/issues", json!({ "title": "It squeaks" })).await.expect(201);
    issue.json["number"].as_u64().expect("a number")
}

async fn comment(client: &Client, number: u64, body: &str) -> Value {
    let path = format!("/repos/octocat/talk/issues/{number}/comments");
    client.post(&path, json!({ "body": body })).await.expect(201).json
}

fn bodies(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|comment| comment["body"].as_str().expect("a body")).collect()
}

#[tokio::test]
async fn a_comment_is_created_read_edited_and_deleted() {
    let world = World::new().await;
    let number = issue(&world).await;
    let reader = world.user("reader").await;
    let created = comment(&reader, number, "Me too.").await;
    assert_eq!(created["user"]["login"], "reader");
    assert_eq!(created["author_association"], "NONE");
    assert_eq!(created["performed_via_github_app"], Value::Null);
    let html = created["html_url"].as_str().unwrap();
    assert!(html.ends_with(&format!("/octocat/talk/issues/{number}#issuecomment-{}", created["id"])), "{html}");

    let path = format!("/repos/octocat/talk/issues/comments/{}", created["id"]);
    assert_eq!(world.octocat.get(&path).await.expect(200).json, created);
    let edited = reader.patch(&path, json!({ "body": "Not me." })).await.expect(200).json;
    assert_eq!((&edited["body"], &edited["id"]), (&json!("Not me."), &created["id"]));
    assert_eq!(
        world.octocat.get(&format!("/repos/octocat/talk/issues/{number}")).await.expect(200).json["comments"],
        1
    );

    reader.delete(&path).await.expect(204);
    world.octocat.get(&path).await.expect(404);
    reader.delete(&path).await.expect(404);
    let left = world.octocat.get(&format!("/repos/octocat/talk/issues/{number}/comments")).await.expect(200).json;
    assert_eq!(left, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn a_comment_is_kept_as_it_was_written() {
    let world = World::new().await;
    let number = issue(&world).await;
    let longest = "ö".repeat(65536);
    for text in [
        "<script>alert(1)</script> & \"quotes\"",
        "日本語 👩‍👩‍👧 \u{202e}x",
        "a\r\n\r\n```rust\nfn x() {}\n```\n",
        &longest,
    ] {
        assert_eq!(comment(&world.octocat, number, text).await["body"], text);
    }
    world.finish().await;
}

#[tokio::test]
async fn a_body_that_is_no_comment_is_refused() {
    let world = World::new().await;
    let number = issue(&world).await;
    let path = format!("/repos/octocat/talk/issues/{number}/comments");
    let too_long = "x".repeat(65537);
    for (body, says) in [
        (json!({}), "\"body\" wasn't supplied"),
        (json!({ "body": 5 }), "Invalid request"),
        (json!({ "body": null }), "Invalid request"),
        (json!({ "body": ["a"] }), "Invalid request"),
        (json!({ "body": "" }), "Body cannot be blank"),
        (json!({ "body": " \n" }), "Body cannot be blank"),
        (json!({ "body": too_long }), "Body is too long (maximum is 65536 characters)"),
    ] {
        let answer = world.octocat.post(&path, body).await.expect(422);
        assert!(answer.text.contains(&says.replace('"', "\\\"")), "{says}: {}", answer.text);
    }
    world.octocat.post("/repos/octocat/talk/issues/99/comments", json!({ "body": "x" })).await.expect(404);
    world.octocat.post("/repos/octocat/talk/issues/x/comments", json!({ "body": "x" })).await.expect(404);
    world.octocat.post("/repos/octocat/nothing/issues/1/comments", json!({ "body": "x" })).await.expect(404);
    assert_eq!(world.octocat.get(&path).await.expect(200).json, json!([]));

    let id = comment(&world.octocat, number, "first").await["id"].clone();
    let path = format!("/repos/octocat/talk/issues/comments/{id}");
    let answer = world.octocat.patch(&path, json!({ "body": too_long })).await.expect(422);
    assert!(answer.text.contains("body is too long (maximum is 65536 characters)"), "{}", answer.text);
    world.octocat.patch(&path, json!({ "body": "" })).await.expect(422);
    assert_eq!(world.octocat.get(&path).await.expect(200).json["body"], "first");
    world.finish().await;
}

#[tokio::test]
async fn only_its_author_and_those_who_may_write_change_a_comment() {
    let world = World::new().await;
    let number = issue(&world).await;
    let (author, other, writer) = (world.user("author").await, world.user("other").await, world.user("writer").await);
    world.octocat.put("/repos/octocat/talk/collaborators/writer", json!({ "permission": "push" })).await;
    let id = comment(&author, number, "mine").await["id"].clone();
    let path = format!("/repos/octocat/talk/issues/comments/{id}");
    let refused = other.patch(&path, json!({ "body": "theirs" })).await.expect(403);
    assert_eq!(refused.json["message"], "Must have admin rights to Repository.");
    other.delete(&path).await.expect(403);
    world.anonymous().patch(&path, json!({ "body": "nobody's" })).await.expect(401);
    world.anonymous().delete(&path).await.expect(401);
    assert_eq!(world.anonymous().get(&path).await.expect(200).json["body"], "mine");
    writer.patch(&path, json!({ "body": "tidied" })).await.expect(200);
    let after = world.octocat.get(&path).await.expect(200).json;
    assert_eq!((&after["body"], &after["user"]["login"]), (&json!("tidied"), &json!("author")));
    writer.delete(&path).await.expect(204);
    world.finish().await;
}

#[tokio::test]
async fn a_stranger_sees_nothing_of_a_private_conversation() {
    let world = World::new().await;
    let number = issue(&world).await;
    let id = comment(&world.octocat, number, "secret").await["id"].clone();
    world.octocat.patch("/repos/octocat/talk", json!({ "private": true })).await.expect(200);
    let stranger = world.user("stranger").await;
    stranger.get(&format!("/repos/octocat/talk/issues/comments/{id}")).await.expect(404);
    stranger.get(&format!("/repos/octocat/talk/issues/{number}/comments")).await.expect(404);
    stranger.post(&format!("/repos/octocat/talk/issues/{number}/comments"), json!({ "body": "x" })).await.expect(404);
    world.anonymous().get("/repos/octocat/talk/issues/comments").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn in_a_locked_conversation_only_those_who_may_write_speak() {
    let world = World::new().await;
    let number = issue(&world).await;
    let reader = world.user("reader").await;
    let lock = format!("/repos/octocat/talk/issues/{number}/lock");
    reader.put(&lock, json!({})).await.expect(403);
    world.octocat.put(&lock, json!({ "lock_reason": "boring" })).await.expect(422);
    world.octocat.put(&lock, json!({ "lock_reason": "too heated" })).await.expect(204);
    let locked = world.octocat.get(&format!("/repos/octocat/talk/issues/{number}")).await.expect(200).json;
    assert_eq!((&locked["locked"], &locked["active_lock_reason"]), (&json!(true), &json!("too heated")));

    let path = format!("/repos/octocat/talk/issues/{number}/comments");
    let refused = reader.post(&path, json!({ "body": "But!" })).await.expect(403);
    assert_eq!(refused.json["message"], "Unable to create comment because issue is locked.");
    comment(&world.octocat, number, "Enough.").await;

    world.octocat.delete(&lock).await.expect(204);
    comment(&reader, number, "But!").await;
    let open = world.octocat.get(&format!("/repos/octocat/talk/issues/{number}")).await.expect(200).json;
    assert_eq!((&open["locked"], &open["active_lock_reason"]), (&json!(false), &Value::Null));
    world.finish().await;
}

#[tokio::test]
async fn an_archived_repository_takes_no_comments() {
    let world = World::new().await;
    let number = issue(&world).await;
    let id = comment(&world.octocat, number, "before").await["id"].clone();
    world.octocat.patch("/repos/octocat/talk", json!({ "archived": true })).await.expect(200);
    let path = format!("/repos/octocat/talk/issues/{number}/comments");
    world.octocat.post(&path, json!({ "body": "after" })).await.expect(403);
    let comment = format!("/repos/octocat/talk/issues/comments/{id}");
    world.octocat.patch(&comment, json!({ "body": "after" })).await.expect(403);
    world.octocat.post(&format!("{comment}/reactions"), json!({ "content": "eyes" })).await.expect(403);
    assert_eq!(bodies(&world.octocat.get(&path).await.expect(200).json), ["before"]);
    world.finish().await;
}

#[tokio::test]
async fn comments_are_listed_by_issue_and_by_repository() {
    let world = World::new().await;
    let first = issue(&world).await;
    let second = world.octocat.post("/repos/octocat/talk/issues", json!({ "title": "Another" })).await.expect(201);
    let second = second.json["number"].as_u64().unwrap();
    let a = comment(&world.octocat, first, "a").await;
    comment(&world.octocat, second, "b").await;
    comment(&world.octocat, first, "c").await;
    let get = |path: String| {
        let client = world.octocat.clone();
        async move { client.get(&path).await.expect(200) }
    };
    let of_first = get(format!("/repos/octocat/talk/issues/{first}/comments")).await;
    assert_eq!(bodies(&of_first.json), ["a", "c"]);
    let page = get(format!("/repos/octocat/talk/issues/{first}/comments?per_page=1&page=2")).await;
    assert_eq!(bodies(&page.json), ["c"]);
    assert!(page.header("link").contains("rel=\"prev\""), "{}", page.header("link"));

    let all = "/repos/octocat/talk/issues/comments";
    assert_eq!(bodies(&get(all.into()).await.json), ["a", "b", "c"]);
    // Without `sort`, GitHub ignores the direction.
    assert_eq!(bodies(&get(format!("{all}?direction=desc")).await.json), ["a", "b", "c"]);
    assert_eq!(bodies(&get(format!("{all}?sort=created&direction=desc")).await.json), ["c", "b", "a"]);
    world.octocat.patch(&format!("{all}/{}", a["id"]), json!({ "body": "A" })).await.expect(200);
    assert_eq!(bodies(&get(format!("{all}?sort=updated&direction=asc")).await.json), ["b", "c", "A"]);

    let past = "2001-01-01T00:00:00Z";
    let future = "2999-01-01T00:00:00Z";
    assert_eq!(bodies(&get(format!("{all}?since={past}")).await.json), ["A", "b", "c"]);
    assert_eq!(get(format!("{all}?since={future}")).await.json, json!([]));
    assert_eq!(get(format!("/repos/octocat/talk/issues/{first}/comments?since={future}")).await.json, json!([]));
    world.octocat.get(&format!("{all}?since=yesterday")).await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn a_reaction_is_given_once_counted_and_taken_back() {
    let world = World::new().await;
    let number = issue(&world).await;
    let reader = world.user("reader").await;
    let id = comment(&world.octocat, number, "Done.").await["id"].clone();
    for subject in [format!("issues/comments/{id}"), format!("issues/{number}")] {
        let subject = format!("/repos/octocat/talk/{subject}");
        let path = format!("{subject}/reactions");
        let first = reader.post(&path, json!({ "content": "+1" })).await.expect(201).json;
        assert_eq!(reader.post(&path, json!({ "content": "+1" })).await.expect(200).json, first);
        reader.post(&path, json!({ "content": "hooray" })).await.expect(201);
        world.octocat.post(&path, json!({ "content": "+1" })).await.expect(201);
        let rollup = world.octocat.get(&subject).await.expect(200).json["reactions"].clone();
        assert_eq!((&rollup["total_count"], &rollup["+1"], &rollup["hooray"]), (&json!(3), &json!(2), &json!(1)));
        assert!(rollup["url"].as_str().unwrap().ends_with(&path), "{rollup}");

        let thumbs = world.octocat.get(&format!("{path}?content=%2B1")).await.expect(200).json;
        assert_eq!(thumbs.as_array().unwrap().len(), 2);
        for refused in [json!({}), json!({ "content": "meh" }), json!({ "content": 1 })] {
            reader.post(&path, refused).await.expect(422);
        }
        world.anonymous().post(&path, json!({ "content": "+1" })).await.expect(401);
        world.octocat.delete(&format!("{path}/{}", first["id"])).await.expect(403);
        reader.delete(&format!("{path}/{}", first["id"])).await.expect(204);
        reader.delete(&format!("{path}/{}", first["id"])).await.expect(404);
        assert_eq!(world.octocat.get(&path).await.expect(200).json.as_array().unwrap().len(), 2);
    }
    world.octocat.post("/repos/octocat/talk/issues/99/reactions", json!({ "content": "+1" })).await.expect(404);
    world.octocat.get("/repos/octocat/talk/issues/comments/99/reactions").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn whoever_listens_hears_of_comments() {
    let world = World::new().await;
    let number = issue(&world).await;
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["issue_comment"] });
    world.octocat.post("/repos/octocat/talk/hooks", hook).await.expect(201);
    let reader = world.user("reader").await;
    let id = comment(&reader, number, "frist").await["id"].clone();
    let created = receiver.expect("issue_comment.created").await.json;
    assert_eq!((&created["comment"]["id"], &created["issue"]["number"]), (&id, &json!(number)));
    assert_eq!((&created["issue"]["comments"], &created["sender"]["login"]), (&json!(1), &json!("reader")));

    let path = format!("/repos/octocat/talk/issues/comments/{id}");
    reader.patch(&path, json!({ "body": "frist" })).await.expect(200);
    world.octocat.patch(&path, json!({ "body": "first" })).await.expect(200);
    let edited = receiver.expect("issue_comment.edited").await.json;
    assert_eq!(edited["changes"]["body"]["from"], "frist");
    assert_eq!((&edited["comment"]["body"], &edited["sender"]["login"]), (&json!("first"), &json!("octocat")));
    world.octocat.delete(&path).await.expect(204);
    assert_eq!(receiver.expect("issue_comment.deleted").await.json["comment"]["body"], "first");
    // Saying the same again was no edit.
    assert!(receiver.all().iter().all(|webhook| webhook.event == "ping"), "{:?}", receiver.all());
    world.finish().await;
}

#[tokio::test]
async fn an_app_comments_as_its_bot() {
    let world = World::new().await;
    let number = issue(&world).await;
    let bot = world.installation("octocat/talk").await;
    let said = comment(&bot, number, "All aboard.").await;
    assert_eq!((&said["user"]["login"], &said["user"]["type"]), (&json!("merge-train[bot]"), &json!("Bot")));
    assert_eq!(said["performed_via_github_app"]["slug"], "merge-train");
    let path = format!("/repos/octocat/talk/issues/comments/{}", said["id"]);
    bot.patch(&path, json!({ "body": "Departed." })).await.expect(200);
    bot.post(&format!("{path}/reactions"), json!({ "content": "rocket" })).await.expect(201);

    // Commenting takes the permission to write, and reading is not that.
    let weak = world
        .narrowed_installation("octocat/talk", json!({ "permissions": { "issues": "read", "metadata": "read" } }))
        .await;
    weak.get(&path).await.expect(200);
    let refused = weak.patch(&path, json!({ "body": "x" })).await.expect(403);
    assert_eq!(refused.json["message"], "Resource not accessible by integration");
    let all = format!("/repos/octocat/talk/issues/{number}/comments");
    weak.post(&all, json!({ "body": "x" })).await.expect(403);
    // Nor does a bot speak where people have been told to be quiet.
    world.octocat.put(&format!("/repos/octocat/talk/issues/{number}/lock"), json!({})).await.expect(204);
    bot.post(&all, json!({ "body": "x" })).await.expect(403);
    world.finish().await;
}
