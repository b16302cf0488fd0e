//! Opening, reading, listing and editing pull requests.

use serde_json::{Value, json};

use crate::support::{Receiver, World};

const PULLS: &str = "/repos/octocat/r/pulls";

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().expect("a list").iter().map(|pull| pull["number"].as_u64().expect("a number")).collect()
}

#[tokio::test]
async fn a_pull_request_is_opened_and_read_back() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let pull = world.octocat.get(&format!("{PULLS}/{number}")).await.expect(200).json;
    let head = clone.git(&["rev-parse", "feature"]).await;
    assert_eq!(pull["head"]["sha"], head);
    assert_eq!(pull["head"]["label"], "octocat:feature");
    assert_eq!(pull["base"]["ref"], "main");
    assert_eq!(pull["mergeable"], true);
    assert_eq!(pull["mergeable_state"], "clean");
    assert_eq!((&pull["commits"], &pull["changed_files"]), (&json!(1), &json!(1)));
    assert_eq!((&pull["additions"], &pull["deletions"]), (&json!(1), &json!(0)));
    assert_eq!(pull["author_association"], "OWNER");
    let test_merge = clone.git(&["ls-remote", "origin", &format!("refs/pull/{number}/merge")]).await;
    assert!(test_merge.starts_with(pull["merge_commit_sha"].as_str().unwrap()), "{test_merge}");
    world.octocat.get(&format!("{PULLS}/99")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn what_cannot_be_a_pull_request_is_refused() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    clone.git(&["push", "--quiet", "origin", "main:same"]).await;
    world.pull(&clone, "feature", "main").await;
    clone.git(&["checkout", "--quiet", "--orphan", "lonely"]).await;
    clone.git(&["commit", "--quiet", "--allow-empty", "-m", "Lonely"]).await;
    clone.push("lonely").await;
    for (body, expected) in [
        (json!({ "title": "T", "head": "same", "base": "main" }), "No commits between main and same"),
        (
            json!({ "title": "T", "head": "feature", "base": "main" }),
            "A pull request already exists for octocat:feature.",
        ),
        (json!({ "title": "T", "head": "gone", "base": "main" }), r#""field":"head","code":"invalid""#),
        (json!({ "title": "T", "head": "nobody:feature", "base": "main" }), r#""field":"head","code":"invalid""#),
        (json!({ "title": "T", "head": "feature", "base": "gone" }), r#""field":"base","code":"invalid""#),
        (json!({ "title": "", "head": "feature", "base": "main" }), r#""field":"title","code":"missing_field""#),
        (json!({ "head": "feature", "base": "main" }), r#""field":"title","code":"missing_field""#),
        (json!({ "title": "T", "base": "main" }), r#"\"head\" wasn't supplied."#),
        (json!({ "title": "T", "head": "lonely", "base": "main" }), "has no history in common with main"),
        (json!({ "issue": 77, "head": "same", "base": "main" }), ""),
    ] {
        let answer = world.octocat.post(PULLS, body.clone()).await.expect(422);
        assert!(answer.text.contains(expected), "{body}: {}", answer.text);
    }
    let stranger = world.user("stranger").await;
    let body = json!({ "title": "T", "head": "feature", "base": "same" });
    let answer = stranger.post(PULLS, body.clone()).await.expect(422);
    assert!(answer.text.contains("must be a collaborator"), "{}", answer.text);
    world.anonymous().post(PULLS, body).await.expect(401);
    world.finish().await;
}

#[tokio::test]
async fn an_issue_becomes_a_pull_request() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let issue = world.octocat.post("/repos/octocat/r/issues", json!({ "title": "Wish" })).await.expect(201).json;
    clone.commit_on("feature", "main", &[("f.txt", "f")], "Fulfil").await;
    clone.push("feature").await;
    let body = json!({ "issue": issue["number"], "head": "feature", "base": "main" });
    let pull = world.octocat.post(PULLS, body.clone()).await.expect(201).json;
    assert_eq!((&pull["number"], &pull["title"]), (&issue["number"], &json!("Wish")));
    world.octocat.post(PULLS, body).await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn lists_are_filtered_sorted_and_paged() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let (one, two, three) = (
        world.pull(&clone, "one", "main").await,
        world.pull(&clone, "two", "main").await,
        world.pull(&clone, "three", "two").await,
    );
    world.octocat.patch(&format!("{PULLS}/{one}"), json!({ "state": "closed" })).await.expect(200);
    world.control("POST", "/clock", json!({ "advance_seconds": 5 })).await;
    world.octocat.post(&format!("/repos/octocat/r/issues/{two}/comments"), json!({ "body": "!" })).await.expect(201);
    for (query, expected) in [
        ("", vec![three, two]),
        ("?state=closed", vec![one]),
        ("?state=all&direction=asc", vec![one, two, three]),
        ("?head=octocat:two", vec![two]),
        ("?head=somebody:two", vec![]),
        ("?base=two", vec![three]),
        ("?sort=updated&direction=desc", vec![two, three]),
        ("?sort=popularity&direction=desc", vec![two, three]),
        ("?sort=long-running", vec![two, three]),
    ] {
        let answer = world.octocat.get(&format!("{PULLS}{query}")).await.expect(200);
        assert_eq!(numbers(&answer.json), expected, "{query}");
    }
    let page = world.octocat.get(&format!("{PULLS}?state=all&per_page=2")).await.expect(200);
    assert_eq!(numbers(&page.json), [three, two]);
    assert!(page.header("link").contains("rel=\"next\""), "{}", page.header("link"));
    world.finish().await;
}

#[tokio::test]
async fn words_and_state_are_edited() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let path = format!("{PULLS}/{number}");
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["pull_request"] });
    world.octocat.post("/repos/octocat/r/hooks", hook).await.expect(201);
    let pull = world.octocat.patch(&path, json!({ "title": "New", "body": null })).await.expect(200).json;
    assert_eq!((&pull["title"], &pull["body"]), (&json!("New"), &Value::Null));
    let edited = receiver.expect("pull_request.edited").await.json;
    assert_eq!(edited["changes"]["title"]["from"], "Add feature");
    world.octocat.patch(&path, json!({ "title": " " })).await.expect(422);
    world.octocat.patch(&path, json!({ "state": "odd" })).await.expect(422);
    let closed = world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200).json;
    assert_eq!((&closed["state"], &closed["mergeable_state"]), (&json!("closed"), &json!("unknown")));
    receiver.expect("pull_request.closed").await;
    world.octocat.get(&format!("{path}/merge")).await.expect(404);
    let opened = world.octocat.patch(&path, json!({ "state": "open" })).await.expect(200).json;
    assert_eq!((&opened["state"], &opened["closed_at"]), (&json!("open"), &Value::Null));
    receiver.expect("pull_request.reopened").await;
    let stranger = world.user("stranger").await;
    stranger.patch(&path, json!({ "state": "closed" })).await.expect(403);
    world.finish().await;
}

#[tokio::test]
async fn a_pull_request_whose_branch_is_gone_or_rewritten_stays_closed() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let path = format!("{PULLS}/{number}");
    world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200);
    clone.git(&["commit", "--quiet", "--amend", "-m", "Rewritten"]).await;
    clone.git(&["push", "--quiet", "--force", "origin", "feature"]).await;
    let refused = world.octocat.patch(&path, json!({ "state": "open" })).await.expect(422);
    assert!(refused.text.contains("The feature branch was force-pushed or recreated."), "{}", refused.text);
    clone.git(&["push", "--quiet", "origin", ":feature"]).await;
    let refused = world.octocat.patch(&path, json!({ "state": "open" })).await.expect(422);
    assert!(refused.text.contains("The feature branch has been deleted."), "{}", refused.text);
    world.finish().await;
}

#[tokio::test]
async fn a_pull_request_opened_again_has_what_was_pushed_meanwhile() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let path = format!("{PULLS}/{number}");
    world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200);
    let head = clone.commit_on("feature", "main", &[("more.txt", "more")], "More").await;
    clone.push("feature").await;
    assert_ne!(world.octocat.get(&path).await.json["head"]["sha"], head.as_str());
    let opened = world.octocat.patch(&path, json!({ "state": "open" })).await.expect(200).json;
    assert_eq!(opened["head"]["sha"], head.as_str());
    world.finish().await;
}

#[tokio::test]
async fn the_base_is_changed() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let below = world.pull(&clone, "one", "main").await;
    let above = world.pull(&clone, "two", "one").await;
    let path = format!("{PULLS}/{above}");
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["pull_request"] });
    world.octocat.post("/repos/octocat/r/hooks", hook).await.expect(201);
    let moved = world.octocat.patch(&path, json!({ "base": "main" })).await.expect(200).json;
    assert_eq!((&moved["base"]["ref"], &moved["commits"]), (&json!("main"), &json!(2)));
    let edited = receiver.expect("pull_request.edited").await.json;
    assert_eq!(edited["changes"]["base"]["ref"]["from"], "one");
    world.octocat.patch(&path, json!({ "base": "nowhere" })).await.expect(422);
    clone.git(&["push", "--quiet", "origin", "two:later"]).await;
    let refused = world.octocat.patch(&path, json!({ "base": "later" })).await.expect(422);
    assert!(refused.text.contains("There are no new commits between base branch 'later'"), "{}", refused.text);
    world.octocat.patch(&format!("{PULLS}/{below}"), json!({ "state": "closed" })).await.expect(200);
    let refused = world.octocat.patch(&format!("{PULLS}/{below}"), json!({ "base": "later" })).await.expect(422);
    assert!(refused.text.contains("Cannot change the base branch of a closed pull request."), "{}", refused.text);
    world.finish().await;
}

#[tokio::test]
async fn commits_files_and_diffs_are_shown() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    clone.commit_on("feature", "main", &[("a.txt", "a\n"), ("README.md", "else\n")], "First").await;
    clone.commit_on("feature", "main", &[("b.txt", "b\n")], "Second").await;
    clone.push("feature").await;
    let new = json!({ "title": "Both", "head": "feature", "base": "main" });
    let number = world.octocat.post(PULLS, new).await.expect(201).json["number"].clone();
    let path = format!("{PULLS}/{number}");
    let commits = world.octocat.get(&format!("{path}/commits")).await.expect(200).json;
    let titles: Vec<&str> =
        commits.as_array().unwrap().iter().map(|c| c["commit"]["message"].as_str().unwrap()).collect();
    assert_eq!(titles, ["First", "Second"]);
    let files = world.octocat.get(&format!("{path}/files?per_page=2")).await.expect(200);
    let shown: Vec<(&str, &str)> = files
        .json
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["filename"].as_str().unwrap(), file["status"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [("README.md", "modified"), ("a.txt", "added")]);
    assert!(files.header("link").contains("rel=\"next\""));
    for (kind, expected) in [("diff", "diff --git a/a.txt b/a.txt"), ("patch", "Subject: [PATCH 2/2] Second")] {
        let headers = [("accept", format!("application/vnd.github.{kind}"))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = world.octocat.try_send("GET", &path, None, &headers).await.unwrap().expect(200);
        assert!(answer.text.contains(expected), "{}", answer.text);
        assert!(answer.header("content-type").contains(kind), "{}", answer.header("content-type"));
    }
    world.finish().await;
}

#[tokio::test]
async fn the_branch_is_brought_up_to_date() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let path = format!("{PULLS}/{number}");
    let refused = world.octocat.put(&format!("{path}/update-branch"), json!({})).await.expect(422);
    assert!(refused.text.contains("There are no new commits on the base branch."), "{}", refused.text);
    clone.commit_on("main", "main", &[("main.txt", "m")], "Move on").await;
    clone.push("main").await;
    let wrong = json!({ "expected_head_sha": "0".repeat(40) });
    world.octocat.put(&format!("{path}/update-branch"), wrong).await.expect(422);
    let before = world.octocat.get(&path).await.json["head"]["sha"].clone();
    let right = json!({ "expected_head_sha": before });
    let answer = world.octocat.put(&format!("{path}/update-branch"), right).await.expect(202);
    assert_eq!(answer.json["message"], "Updating pull request branch.");
    let after = world.octocat.get(&path).await.json["head"]["sha"].clone();
    clone.git(&["fetch", "--quiet", "origin"]).await;
    let log = clone.git(&["log", "-1", "--format=%s|%P|%cn", "origin/feature"]).await;
    let main = clone.git(&["rev-parse", "main"]).await;
    assert_eq!(log, format!("Merge branch 'main' into feature|{} {main}|GitHub", before.as_str().unwrap()));
    assert_eq!(after, clone.git(&["rev-parse", "origin/feature"]).await);
    clone.commit_on("main", "main", &[("feature.txt", "mine")], "Collide").await;
    clone.push("main").await;
    let refused = world.octocat.put(&format!("{path}/update-branch"), json!({})).await.expect(422);
    assert!(refused.text.contains("merge conflict between base and head"), "{}", refused.text);
    world.finish().await;
}

#[tokio::test]
async fn reviewers_are_asked_and_let_go() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let path = format!("{PULLS}/{number}/requested_reviewers");
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["pull_request"] });
    world.octocat.post("/repos/octocat/r/hooks", hook).await.expect(201);
    world.user("alice").await;
    let asked = world.octocat.post(&path, json!({ "reviewers": ["alice"] })).await.expect(201).json;
    assert_eq!(asked["requested_reviewers"][0]["login"], "alice");
    let request = receiver.expect("pull_request.review_requested").await.json;
    assert_eq!(request["requested_reviewer"]["login"], "alice");
    assert_eq!(world.octocat.get(&path).await.expect(200).json["users"][0]["login"], "alice");
    let refused = world.octocat.post(&path, json!({ "reviewers": ["octocat"] })).await.expect(422);
    assert_eq!(refused.json["message"], "Review cannot be requested from pull request author.");
    let refused = world.octocat.post(&path, json!({ "reviewers": ["nobody"] })).await.expect(422);
    assert!(refused.text.contains("Reviews may only be requested from collaborators."), "{}", refused.text);
    let body = Some(json!({ "reviewers": ["alice"] }));
    let left = world.octocat.send("DELETE", &path, body).await.expect(200).json;
    assert_eq!(left["requested_reviewers"], json!([]));
    receiver.expect("pull_request.review_request_removed").await;
    world.finish().await;
}

#[tokio::test]
async fn fifty_pull_requests_are_settled_at_once() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    for at in 0..50 {
        clone.git(&["checkout", "--quiet", "-B", &format!("b{at}"), "origin/main"]).await;
        clone.git(&["commit", "--quiet", "--allow-empty", "-m", &format!("Commit {at}")]).await;
    }
    clone.git(&["push", "--quiet", "--all", "origin"]).await;
    for at in 0..50 {
        let new = json!({ "title": format!("Pull {at}"), "head": format!("b{at}"), "base": "main" });
        world.octocat.post(PULLS, new).await.expect(201);
    }
    let asks = (1..=50).map(|number| {
        let client = world.octocat.clone();
        tokio::spawn(async move { client.get(&format!("{PULLS}/{number}")).await.expect(200).json })
    });
    for ask in asks.collect::<Vec<_>>() {
        assert_eq!(ask.await.unwrap()["mergeable_state"], "clean");
    }
    world.finish().await;
}
