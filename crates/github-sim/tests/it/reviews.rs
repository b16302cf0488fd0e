//! Reviews, review comments and their threads.

use serde_json::{Value, json};

use crate::support::{Client, Clone, Receiver, World};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
const AFTER: &str = "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n";

/// A repository with a pull request of octocat's that changes `a.txt`, and someone who may write to it.
struct Scene {
    world: World,
    clone: Clone,
    writer: Client,
    reader: Client,
    pull: String,
    head: String,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let clone = world.repo("talk").await;
        clone.commit_on("main", "main", &[("a.txt", BEFORE)], "Count").await;
        clone.push("main").await;
        let head = clone.commit_on("change", "main", &[("a.txt", AFTER), ("b.txt", "b\n")], "Count louder").await;
        clone.push("change").await;
        let new = json!({ "title": "Count louder", "head": "change", "base": "main" });
        let number = world.octocat.post("/repos/octocat/talk/pulls", new).await.expect(201).json["number"].clone();
        let (writer, reader) = (world.user("writer").await, world.user("reader").await);
        let invitation = world.octocat.put("/repos/octocat/talk/collaborators/writer", json!({ "permission": "push" }));
        invitation.await;
        Self { pull: format!("/repos/octocat/talk/pulls/{number}"), world, clone, writer, reader, head }
    }

    async fn review(&self, client: &Client, body: Value) -> Value {
        client.post(&format!("{}/reviews", self.pull), body).await.expect(200).json
    }

    async fn refused(&self, client: &Client, body: Value) -> String {
        client.post(&format!("{}/reviews", self.pull), body).await.expect(422).text
    }

    /// A comment on the changed line.
    async fn comment(&self, client: &Client, body: &str) -> Value {
        let new = json!({ "body": body, "commit_id": self.head, "path": "a.txt", "line": 2 });
        client.post(&format!("{}/comments", self.pull), new).await.expect(201).json
    }

    async fn list(&self, client: &Client, what: &str) -> Vec<Value> {
        client.get(&format!("{}/{what}", self.pull)).await.expect(200).json.as_array().expect("a list").clone()
    }
}

#[tokio::test]
async fn a_pull_request_is_reviewed() {
    let scene = Scene::new().await;
    let request = json!({ "reviewers": ["writer"] });
    scene.world.octocat.post(&format!("{}/requested_reviewers", scene.pull), request).await.expect(201);
    let approval = scene.review(&scene.writer, json!({ "event": "APPROVE" })).await;
    assert_eq!((&approval["state"], &approval["body"]), (&json!("APPROVED"), &json!("")));
    assert_eq!(approval["commit_id"], scene.head);
    assert_eq!(approval["author_association"], "COLLABORATOR");
    assert!(approval["submitted_at"].is_string());
    // Whoever has reviewed is no longer asked to.
    let pull = scene.world.octocat.get(&scene.pull).await.expect(200).json;
    assert_eq!(pull["requested_reviewers"], json!([]));

    let changes = scene.review(&scene.reader, json!({ "event": "REQUEST_CHANGES", "body": "Whisper." })).await;
    assert_eq!(changes["state"], "CHANGES_REQUESTED");
    let path = format!("{}/reviews/{}", scene.pull, changes["id"]);
    assert_eq!(scene.world.octocat.get(&path).await.expect(200).json, changes);
    let edited = scene.reader.put(&path, json!({ "body": "Whisper, please." })).await.expect(200).json;
    assert_eq!(edited["body"], "Whisper, please.");
    scene.writer.put(&path, json!({ "body": "Shout!" })).await.expect(403);
    scene.reader.put(&path, json!({ "body": "" })).await.expect(422);
    scene.reader.delete(&path).await.expect(422);

    let states: Vec<Value> = scene.list(&scene.reader, "reviews").await.iter().map(|it| it["state"].clone()).collect();
    assert_eq!(states, ["APPROVED", "CHANGES_REQUESTED"]);
    let timeline = scene.pull.replace("/pulls/", "/issues/") + "/timeline";
    let timeline = scene.world.octocat.get(&timeline).await.expect(200).json;
    assert!(timeline.as_array().unwrap().iter().any(|event| event["event"] == "reviewed"), "{timeline}");
    scene.world.finish().await;
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    let scene = Scene::new().await;
    let octocat = &scene.world.octocat;
    let own = scene.refused(octocat, json!({ "event": "APPROVE" })).await;
    assert!(own.contains("Review Can not approve your own pull request"), "{own}");
    let own = scene.refused(octocat, json!({ "event": "REQUEST_CHANGES", "body": "Hm." })).await;
    assert!(own.contains("Can not request changes on your own pull request"), "{own}");
    scene.review(octocat, json!({ "event": "COMMENT", "body": "I may comment." })).await;

    for (bad, says) in [
        (json!({ "event": "REQUEST_CHANGES" }), "You need to leave a comment indicating the requested changes."),
        (json!({ "event": "COMMENT", "body": " " }), "blank"),
        (json!({ "event": "PRAISE" }), "Validation Failed"),
        (json!({ "event": 1 }), "Invalid request"),
        (json!({ "event": "APPROVE", "body": "x".repeat(65537) }), "body is too long (maximum is 65536 characters)"),
        (json!({ "event": "APPROVE", "commit_id": "0".repeat(40) }), "commit_id is not part of the pull request"),
        (json!({ "event": "APPROVE", "commit_id": "--help" }), "commit_id is not part of the pull request"),
        (json!({ "event": "COMMENT", "comments": [{ "path": "a.txt", "line": 2 }] }), "wasn't supplied"),
        (json!({ "event": "COMMENT", "comments": [{ "path": "a.txt", "line": 2, "body": "" }] }), "missing_field"),
        (
            json!({ "event": "COMMENT", "comments": [{ "path": "no.txt", "line": 2, "body": "x" }] }),
            "Path could not be resolved",
        ),
        (
            json!({ "event": "COMMENT", "comments": [{ "path": "a.txt", "line": 6, "body": "x" }] }),
            "Line could not be resolved",
        ),
    ] {
        let answer = scene.refused(&scene.writer, bad.clone()).await;
        assert!(answer.contains(says), "{bad}: {answer}");
    }
    assert_eq!(scene.list(&scene.writer, "reviews").await.len(), 1);
    assert_eq!(scene.list(&scene.writer, "comments").await, Vec::<Value>::new());
    let unknown = scene.pull.replace("/pulls/", "/pulls/9");
    scene.writer.post(&format!("{unknown}/reviews"), json!({ "event": "APPROVE" })).await.expect(404);
    scene.world.anonymous().post(&format!("{}/reviews", scene.pull), json!({ "event": "APPROVE" })).await.expect(401);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_pending_review_is_its_authors_alone_until_it_is_submitted() {
    let scene = Scene::new().await;
    let comments = json!([{ "path": "a.txt", "line": 2, "body": "Why so loud?" }]);
    let pending = scene.review(&scene.writer, json!({ "body": "Hm.", "comments": comments })).await;
    assert_eq!(pending["state"], "PENDING");
    assert!(pending.get("submitted_at").is_none());
    let second = scene.refused(&scene.writer, json!({ "body": "Another." })).await;
    assert!(second.contains("User can only have one pending review per pull request"), "{second}");

    let path = format!("{}/reviews/{}", scene.pull, pending["id"]);
    assert_eq!(scene.list(&scene.writer, "reviews").await.len(), 1);
    assert_eq!(scene.list(&scene.reader, "reviews").await.len(), 0);
    assert_eq!(scene.list(&scene.writer, "comments").await.len(), 0);
    scene.reader.get(&path).await.expect(404);
    scene.reader.get(&format!("{path}/comments")).await.expect(404);
    scene.reader.post(&format!("{path}/events"), json!({ "event": "APPROVE" })).await.expect(404);
    let comment = scene.writer.get(&format!("{path}/comments")).await.expect(200).json[0].clone();
    scene.reader.get(&format!("/repos/octocat/talk/pulls/comments/{}", comment["id"])).await.expect(404);
    let reply = format!("{}/comments/{}/replies", scene.pull, comment["id"]);
    scene.reader.post(&reply, json!({ "body": "x" })).await.expect(404);
    assert_eq!(scene.reader.get(&scene.pull).await.expect(200).json["review_comments"], 0);

    scene.writer.post(&format!("{path}/events"), json!({ "event": "SHRUG" })).await.expect(422);
    scene.writer.post(&format!("{path}/events"), json!({})).await.expect(422);
    let submission = json!({ "event": "REQUEST_CHANGES", "body": "Hm!" });
    let submitted = scene.writer.post(&format!("{path}/events"), submission.clone()).await.expect(200).json;
    assert_eq!((&submitted["state"], &submitted["body"]), (&json!("CHANGES_REQUESTED"), &json!("Hm!")));
    scene.writer.post(&format!("{path}/events"), submission).await.expect(422);
    assert_eq!(scene.list(&scene.reader, "comments").await, [comment]);
    assert_eq!(scene.reader.get(&scene.pull).await.expect(200).json["review_comments"], 1);
    scene.reader.post(&reply, json!({ "body": "x" })).await.expect(201);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_pending_review_can_be_thrown_away() {
    let scene = Scene::new().await;
    let comments = json!([{ "path": "a.txt", "line": 2, "body": "Why so loud?" }]);
    let pending = scene.review(&scene.writer, json!({ "comments": comments })).await;
    let path = format!("{}/reviews/{}", scene.pull, pending["id"]);
    let gone = scene.writer.delete(&path).await.expect(200).json;
    assert_eq!(gone["id"], pending["id"]);
    scene.writer.get(&path).await.expect(404);
    scene.writer.delete(&path).await.expect(404);
    scene.review(&scene.writer, json!({ "body": "Another." })).await;
    scene.world.finish().await;
}

#[tokio::test]
async fn a_review_is_dismissed_by_those_who_may_write() {
    let scene = Scene::new().await;
    let approval = scene.review(&scene.reader, json!({ "event": "APPROVE" })).await;
    let comment = scene.review(&scene.reader, json!({ "event": "COMMENT", "body": "Hm." })).await;
    let path = |review: &Value| format!("{}/reviews/{}/dismissals", scene.pull, review["id"]);
    scene.reader.put(&path(&approval), json!({ "message": "no" })).await.expect(403);
    scene.writer.put(&path(&approval), json!({})).await.expect(422);
    scene.writer.put(&path(&approval), json!({ "message": "" })).await.expect(422);
    let dismissed = scene.writer.put(&path(&approval), json!({ "message": "Too soon." })).await.expect(200).json;
    assert_eq!((&dismissed["state"], &dismissed["user"]["login"]), (&json!("DISMISSED"), &json!("reader")));
    scene.writer.put(&path(&approval), json!({ "message": "again" })).await.expect(422);
    let refused = scene.writer.put(&path(&comment), json!({ "message": "x" })).await.expect(422);
    assert!(refused.text.contains("Can not dismiss a commented pull request review"), "{}", refused.text);

    let events =
        scene.world.octocat.get(&(scene.pull.replace("/pulls/", "/issues/") + "/events")).await.expect(200).json;
    let event = events.as_array().unwrap().iter().find(|event| event["event"] == "review_dismissed").unwrap();
    assert_eq!(event["dismissed_review"]["dismissal_message"], "Too soon.");
    assert_eq!(event["dismissed_review"]["state"], "approved");
    scene.world.finish().await;
}

#[tokio::test]
async fn a_review_comment_stands_in_the_real_diff() {
    let scene = Scene::new().await;
    let comment = scene.comment(&scene.reader, "Why so loud?").await;
    assert_eq!(comment["diff_hunk"], "@@ -1,5 +1,5 @@\n one\n-two\n+TWO");
    assert_eq!((&comment["line"], &comment["side"], &comment["position"]), (&json!(2), &json!("RIGHT"), &json!(3)));
    assert_eq!((&comment["commit_id"], &comment["original_commit_id"]), (&json!(scene.head), &json!(scene.head)));
    assert_eq!(comment["subject_type"], "line");
    let review = format!("{}/reviews/{}", scene.pull, comment["pull_request_review_id"]);
    assert_eq!(scene.reader.get(&review).await.expect(200).json["state"], "COMMENTED");

    let post = |place: Value| {
        let mut body = json!({ "body": "x", "commit_id": scene.head, "path": "a.txt" });
        body.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        let (client, path) = (scene.reader.clone(), format!("{}/comments", scene.pull));
        async move { client.post(&path, body).await }
    };
    let left = post(json!({ "line": 2, "side": "LEFT" })).await.expect(201).json;
    assert_eq!((&left["side"], &left["diff_hunk"]), (&json!("LEFT"), &json!("@@ -1,5 +1,5 @@\n one\n-two")));
    let range =
        post(json!({ "start_line": 1, "line": 3, "start_side": "RIGHT", "side": "RIGHT" })).await.expect(201).json;
    assert_eq!(
        (&range["start_line"], &range["original_start_line"], &range["line"]),
        (&json!(1), &json!(1), &json!(3))
    );
    let positioned = post(json!({ "position": 3 })).await.expect(201).json;
    assert_eq!(positioned["line"], 2);
    let file = post(json!({ "subject_type": "file" })).await.expect(201).json;
    assert_eq!((&file["subject_type"], &file["line"]), (&json!("file"), &Value::Null));

    for (place, says) in [
        (json!({ "line": 6 }), "pull_request_review_thread.line must be part of the diff"),
        (json!({ "line": 0 }), "must be part of the diff"),
        (json!({ "line": 2, "side": "UP" }), "Invalid request"),
        (json!({ "line": -1 }), "Invalid request"),
        (json!({ "line": "two" }), "Invalid request"),
        (json!({}), "pull_request_review_thread.line"),
        (json!({ "path": "no.txt", "line": 1 }), "pull_request_review_thread.path"),
        (json!({ "position": 99 }), "pull_request_review_thread.position"),
        (json!({ "start_line": 2, "line": 11 }), "must be part of the same hunk"),
        (json!({ "start_line": 3, "line": 2 }), "must precede the end line"),
        (json!({ "line": 2, "body": "" }), "missing_field"),
        (json!({ "line": 2, "body": 1 }), "Invalid request"),
        (json!({ "line": 2, "commit_id": null }), "commit_id"),
        (json!({ "line": 2, "commit_id": "main" }), "commit_id is not part of the pull request"),
        (json!({ "line": 2, "path": null }), "wasn't supplied"),
        (json!({ "subject_type": "galaxy" }), "invalid"),
    ] {
        let answer = post(place.clone()).await;
        assert!(answer.status == 422 && answer.text.contains(says), "{place}: {}", answer.text);
    }
    assert_eq!(scene.list(&scene.reader, "comments").await.len(), 5);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_thread_is_answered_edited_and_deleted() {
    let scene = Scene::new().await;
    let first = scene.comment(&scene.reader, "Why so loud?").await;
    let replies = format!("{}/comments/{}/replies", scene.pull, first["id"]);
    let answer = scene.world.octocat.post(&replies, json!({ "body": "So they hear it." })).await.expect(201).json;
    assert_eq!((&answer["in_reply_to_id"], &answer["path"]), (&first["id"], &json!("a.txt")));
    assert_ne!(answer["pull_request_review_id"], first["pull_request_review_id"]);
    // An answer to an answer belongs to the same thread, and so does the older way to ask for one.
    let nested = format!("{}/comments/{}/replies", scene.pull, answer["id"]);
    let nested = scene.reader.post(&nested, json!({ "body": "Who?" })).await.expect(201).json;
    assert_eq!(nested["in_reply_to_id"], first["id"]);
    let older = json!({ "body": "Them.", "in_reply_to": first["id"] });
    let older = scene.world.octocat.post(&format!("{}/comments", scene.pull), older).await.expect(201).json;
    assert_eq!(older["in_reply_to_id"], first["id"]);
    for bad in [json!({}), json!({ "body": "" }), json!({ "body": 1 }), json!({ "body": "x".repeat(65537) })] {
        scene.reader.post(&replies, bad).await.expect(422);
    }
    scene.reader.post(&format!("{}/comments/1/replies", scene.pull), json!({ "body": "x" })).await.expect(404);

    let path = format!("/repos/octocat/talk/pulls/comments/{}", first["id"]);
    let other = scene.world.user("other").await;
    other.patch(&path, json!({ "body": "x" })).await.expect(403);
    other.delete(&path).await.expect(403);
    let edited = scene.reader.patch(&path, json!({ "body": "Why <b>so</b> loud? 🙉" })).await.expect(200).json;
    assert_eq!(edited["body"], "Why <b>so</b> loud? 🙉");
    assert_eq!(scene.reader.get(&path).await.expect(200).json, edited);
    let reactions = format!("{path}/reactions");
    scene.writer.post(&reactions, json!({ "content": "laugh" })).await.expect(201);
    assert_eq!(scene.writer.get(&path).await.expect(200).json["reactions"]["laugh"], 1);

    let in_repository = "/repos/octocat/talk/pulls/comments?sort=created&direction=asc";
    let all = scene.reader.get(in_repository).await.expect(200).json;
    let bodies: Vec<&str> = all.as_array().unwrap().iter().map(|it| it["body"].as_str().unwrap()).collect();
    assert_eq!(bodies, ["Why <b>so</b> loud? 🙉", "So they hear it.", "Who?", "Them."]);
    scene.writer.delete(&path).await.expect(204);
    scene.reader.get(&path).await.expect(404);
    assert_eq!(scene.list(&scene.reader, "comments").await.len(), 3);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_comment_whose_line_is_gone_is_outdated() {
    let scene = Scene::new().await;
    let comment = scene.comment(&scene.reader, "Why so loud?").await;
    let calm = AFTER.replace("TWO", "two, calmly");
    scene.clone.commit_on("change", "main", &[("a.txt", &calm)], "Calm down").await;
    scene.clone.push("change").await;
    let path = format!("/repos/octocat/talk/pulls/comments/{}", comment["id"]);
    let after = scene.reader.get(&path).await.expect(200).json;
    assert_eq!((&after["line"], &after["position"]), (&Value::Null, &Value::Null));
    assert_eq!((&after["original_line"], &after["original_commit_id"]), (&json!(2), &json!(scene.head)));
    // What was not touched can be commented on at a commit from before.
    scene.comment(&scene.reader, "At the older commit.").await;
    scene.world.finish().await;
}

#[tokio::test]
async fn in_a_locked_pull_request_only_those_who_may_write_review() {
    let scene = Scene::new().await;
    let first = scene.comment(&scene.reader, "Why so loud?").await;
    let issue = scene.pull.replace("/pulls/", "/issues/");
    scene.world.octocat.put(&format!("{issue}/lock"), json!({})).await.expect(204);
    let review = json!({ "event": "APPROVE" });
    scene.reader.post(&format!("{}/reviews", scene.pull), review.clone()).await.expect(403);
    let reply = format!("{}/comments/{}/replies", scene.pull, first["id"]);
    scene.reader.post(&reply, json!({ "body": "x" })).await.expect(403);
    scene.writer.post(&reply, json!({ "body": "x" })).await.expect(201);
    scene.review(&scene.writer, review).await;
    scene.world.finish().await;
}

#[tokio::test]
async fn a_pull_request_is_an_issue_too() {
    let scene = Scene::new().await;
    let path = scene.pull.replace("/pulls/", "/issues/");
    let octocat = &scene.world.octocat;
    let issue = octocat.get(&path).await.expect(200).json;
    assert!(issue["pull_request"]["url"].as_str().unwrap().ends_with(&scene.pull), "{issue}");
    assert_eq!(issue["draft"], false);
    let listed = octocat.get("/repos/octocat/talk/issues").await.expect(200).json;
    assert_eq!(listed[0]["number"], issue["number"]);
    octocat.post(&format!("{path}/labels"), json!({ "labels": ["train"] })).await.expect(200);
    octocat.post(&format!("{path}/assignees"), json!({ "assignees": ["writer"] })).await.expect(201);
    let comment = octocat.post(&format!("{path}/comments"), json!({ "body": "Go." })).await.expect(201).json;
    assert!(comment["html_url"].as_str().unwrap().contains("/pull/"), "{comment}");
    let change = json!({ "title": "Count aloud", "state": "closed" });
    assert_eq!(octocat.patch(&path, change).await.expect(200).json["state"], "closed");
    let pull = octocat.get(&scene.pull).await.expect(200).json;
    assert_eq!(
        (&pull["title"], &pull["state"], &pull["merged"]),
        (&json!("Count aloud"), &json!("closed"), &json!(false))
    );
    assert_eq!((&pull["labels"][0]["name"], &pull["assignee"]["login"]), (&json!("train"), &json!("writer")));
    assert_eq!(octocat.patch(&path, json!({ "state": "open" })).await.expect(200).json["state"], "open");
    scene.world.finish().await;
}

#[tokio::test]
async fn whoever_listens_hears_of_reviews() {
    let scene = Scene::new().await;
    let receiver = Receiver::new().await;
    let events = ["pull_request", "pull_request_review", "pull_request_review_comment"];
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": events });
    scene.world.octocat.post("/repos/octocat/talk/hooks", hook).await.expect(201);

    let comments = json!([{ "path": "a.txt", "line": 2, "body": "Why so loud?" }]);
    let pending = scene.review(&scene.writer, json!({ "body": "Hm.", "comments": comments })).await;
    let review = format!("{}/reviews/{}", scene.pull, pending["id"]);
    scene.writer.post(&format!("{review}/events"), json!({ "event": "REQUEST_CHANGES" })).await.expect(200);
    let submitted = receiver.expect("pull_request_review.submitted").await.json;
    assert_eq!(
        (&submitted["review"]["state"], &submitted["review"]["id"]),
        (&json!("changes_requested"), &pending["id"])
    );
    let comment = receiver.expect("pull_request_review_comment.created").await.json;
    assert_eq!(comment["comment"]["body"], "Why so loud?");

    scene.writer.put(&review, json!({ "body": "Hm!" })).await.expect(200);
    receiver.expect("pull_request_review.edited").await;
    scene.world.octocat.put(&format!("{review}/dismissals"), json!({ "message": "No." })).await.expect(200);
    assert_eq!(receiver.expect("pull_request_review.dismissed").await.json["review"]["state"], "dismissed");
    let comment = format!("/repos/octocat/talk/pulls/comments/{}", comment["comment"]["id"]);
    scene.writer.patch(&comment, json!({ "body": "Why?" })).await.expect(200);
    let edited = receiver.expect("pull_request_review_comment.edited").await.json;
    assert_eq!(edited["changes"]["body"]["from"], "Why so loud?");
    scene.writer.delete(&comment).await.expect(204);
    receiver.expect("pull_request_review_comment.deleted").await;

    let issue = scene.pull.replace("/pulls/", "/issues/");
    let octocat = &scene.world.octocat;
    octocat.patch(&issue, json!({ "title": "New", "labels": ["x"], "assignees": ["writer"] })).await.expect(200);
    assert_eq!(receiver.expect("pull_request.edited").await.json["changes"]["title"]["from"], "Count louder");
    receiver.expect("pull_request.labeled").await;
    receiver.expect("pull_request.assigned").await;
    octocat.patch(&issue, json!({ "state": "closed" })).await.expect(200);
    assert_eq!(receiver.expect("pull_request.closed").await.json["pull_request"]["merged"], false);
    octocat.put(&format!("{issue}/lock"), json!({})).await.expect(204);
    receiver.expect("pull_request.locked").await;
    octocat.delete(&format!("{issue}/lock")).await.expect(204);
    receiver.expect("pull_request.unlocked").await;
    scene.world.finish().await;
}

#[tokio::test]
async fn an_edit_is_told_from_a_dismissal() {
    let scene = Scene::new().await;
    let review = scene.review(&scene.writer, json!({ "event": "REQUEST_CHANGES", "body": "Add a test." })).await;
    let edits = || async {
        let query = "query($id: ID!) { node(id: $id) { ... on PullRequestReview {
            lastEditedAt includesCreatedEdit editor { login } submittedAt updatedAt } } }";
        scene.world.octocat.graphql(query, json!({ "id": review["node_id"] })).await["node"].clone()
    };
    let told = edits().await;
    assert_eq!((&told["lastEditedAt"], &told["editor"]), (&Value::Null, &Value::Null));
    assert_eq!(told["updatedAt"], told["submittedAt"]);
    scene.world.control("POST", "/clock", json!({ "advance_seconds": 2 })).await;
    let path = format!("{}/reviews/{}", scene.pull, review["id"]);
    scene.writer.put(&path, json!({ "body": "Add two." })).await.expect(200);
    let edited = edits().await;
    assert_eq!((&edited["lastEditedAt"], &edited["editor"]["login"]), (&edited["updatedAt"], &json!("writer")));
    assert_ne!(edited["updatedAt"], told["updatedAt"]);
    scene.world.control("POST", "/clock", json!({ "advance_seconds": 2 })).await;
    let dismissal = json!({ "message": "Settled.", "event": "DISMISS" });
    scene.world.octocat.put(&format!("{path}/dismissals"), dismissal).await.expect(200);
    let dismissed = edits().await;
    assert_eq!(dismissed["lastEditedAt"], edited["lastEditedAt"]);
    assert_ne!(dismissed["updatedAt"], edited["updatedAt"]);
    scene.world.finish().await;
}
