//! The pages for people.

use serde_json::{Value, json};

use crate::support::{Answer, Receiver, World};

/// A page, as a browser asks for it.
async fn page(world: &World, path: &str) -> Answer {
    let request = world.octocat.http.get(format!("{}{path}", world.url())).header("accept", "text/html,*/*;q=0.8");
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.expect("a body");
    Answer { status, headers, json: Value::Null, text }
}

/// Sends the comment box of a pull request.
async fn comment(world: &World, path: &str, user: &str, body: &str) -> (u16, String) {
    let http =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let request =
        http.post(format!("{}{path}", world.url())).header("content-type", "application/x-www-form-urlencoded");
    let encode = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let response =
        request.body(format!("user={}&body={}", encode(user), encode(body))).send().await.expect("an answer");
    let location = response.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
    (response.status().as_u16(), location.to_owned())
}

#[tokio::test]
async fn a_pull_request_s_page_shows_its_branches_checks_commits_and_conversation() {
    let world = World::new().await;
    let clone = world.repo("hello").await;
    let number = world.pull(&clone, "feature", "main").await;
    let check = json!({ "pull": number, "name": "unit tests", "conclusion": "failure" });
    world.control("POST", "/repos/octocat/hello/checks", check).await.expect(201);
    let body = json!({ "body": "**bold** <!-- unseen -->\n\n| a |\n|---|\n| 1 |" });
    world.octocat.post(&format!("/repos/octocat/hello/issues/{number}/comments"), body).await.expect(201);
    let text = page(&world, &format!("/octocat/hello/pull/{number}")).await.expect(200).text;
    for part in [
        "Add feature",
        "<code>feature</code>",
        "<code>main</code>",
        "UNSTABLE",
        "unit tests",
        "failure",
        "<strong>bold</strong>",
        "<td>1</td>",
        "name=\"body\"",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("unseen"));
    let files = page(&world, &format!("/octocat/hello/pull/{number}/files")).await.expect(200).text;
    assert!(files.contains("feature.txt") && files.contains("+feature"), "{files}");
    for list in ["/", "/octocat", "/octocat/hello"] {
        let text = page(&world, list).await.expect(200).text;
        assert!(text.contains("/octocat/hello"), "{list} gave {text}");
    }
    world.finish().await;
}

#[tokio::test]
async fn a_comment_from_the_page_is_a_comment_like_any_other() {
    let world = World::new().await;
    let clone = world.repo("hello").await;
    let number = world.pull(&clone, "feature", "main").await;
    world.user("hubot").await;
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["issue_comment"] });
    world.octocat.post("/repos/octocat/hello/hooks", hook).await.expect(201);
    let path = format!("/octocat/hello/pull/{number}");
    let (status, location) = comment(&world, &path, "hubot", "@merge-train start\r\nnow").await;
    assert_eq!(status, 303);
    let webhook = receiver.expect("issue_comment.created").await;
    assert_eq!(webhook.json["comment"]["body"], "@merge-train start\nnow");
    assert_eq!(webhook.json["sender"]["login"], "hubot");
    assert!(location.ends_with(&format!("#issuecomment-{}", webhook.json["comment"]["id"])), "{location}");
    assert!(page(&world, &path).await.expect(200).text.contains("hubot"));
    world.finish().await;
}

#[tokio::test]
async fn the_comment_box_lets_nobody_do_what_the_api_would_not() {
    let world = World::new().await;
    world
        .octocat
        .post("/user/repos", json!({ "name": "secret", "auto_init": true, "private": true }))
        .await
        .expect(201);
    let clone = world.clone_of("octocat", "secret").await;
    let number = world.pull(&clone, "feature", "main").await;
    world.user("hubot").await;
    let path = format!("/octocat/secret/pull/{number}");
    assert_eq!(comment(&world, &path, "hubot", "let me in").await.0, 404);
    assert_eq!(comment(&world, &path, "nobody", "x").await.0, 404);
    assert_eq!(comment(&world, &path, "merge-train[bot]", "x").await.0, 403);
    assert_eq!(comment(&world, &path, "octocat", "").await.0, 422);
    assert_eq!(comment(&world, "/octocat/secret/pull/99", "octocat", "x").await.0, 404);
    let comments = world.octocat.get(&format!("/repos/octocat/secret/issues/{number}/comments")).await.expect(200);
    assert_eq!(comments.json, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn what_people_write_is_shown_and_never_run() {
    let world = World::new().await;
    let clone = world.repo("hello").await;
    let number = world.pull(&clone, "feature", "main").await;
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    let pull = format!("/repos/octocat/hello/pulls/{number}");
    world.octocat.patch(&pull, json!({ "title": evil, "body": evil })).await.expect(200);
    let review = json!({ "event": "COMMENT", "body": evil });
    world.octocat.post(&format!("{pull}/reviews"), review).await.expect(200);
    for path in [format!("/octocat/hello/pull/{number}"), "/octocat/hello".to_owned()] {
        let text = page(&world, &path).await.expect(200).text;
        assert!(!text.contains("<script") && !text.contains("<img"), "{text}");
        assert!(text.contains("&lt;script"), "{text}");
    }
    world.finish().await;
}

#[tokio::test]
async fn what_is_not_there_says_so_as_a_page() {
    let world = World::new().await;
    world.repo("hello").await;
    for path in
        ["/nobody", "/octocat/nothing", "/octocat/hello/pull/7", "/octocat/hello/pull/x", "/octocat/hello/runs/1"]
    {
        let answer = page(&world, path).await.expect(404);
        assert!(answer.text.contains("Not Found"), "{path}: {}", answer.text);
    }
    world.finish().await;
}
