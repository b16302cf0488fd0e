//! Issues: opening, changing, listing, and what is remembered of it.

use serde_json::{Value, json};

use crate::support::{Client, Receiver, World};

async fn open(client: &Client, body: Value) -> u64 {
    client.post("/repos/octocat/talk/issues", body).await.expect(201).json["number"].as_u64().expect("a number")
}

async fn world() -> World {
    let world = World::new().await;
    world.octocat.post("/user/repos", json!({ "name": "talk" })).await.expect(201);
    world
}

async fn titles(client: &Client, query: &str) -> Vec<String> {
    let list = client.get(&format!("/repos/octocat/talk/issues{query}")).await.expect(200).json;
    list.as_array().expect("a list").iter().map(|issue| issue["title"].as_str().expect("a title").to_owned()).collect()
}

#[tokio::test]
async fn an_issue_is_opened_changed_closed_and_opened_again() {
    let world = world().await;
    let body =
        json!({ "title": "It squeaks", "body": "Loudly.", "labels": ["bug", "noise"], "assignees": ["octocat"] });
    let number = open(&world.octocat, body).await;
    let path = format!("/repos/octocat/talk/issues/{number}");
    let issue = world.octocat.get(&path).await.expect(200).json;
    assert_eq!((&issue["state"], &issue["user"]["login"]), (&json!("open"), &json!("octocat")));
    assert_eq!(issue["author_association"], "OWNER");
    assert_eq!(issue["labels"][1]["name"], "noise");
    assert_eq!(issue["assignee"]["login"], "octocat");
    assert!(issue.get("pull_request").is_none());

    let change = json!({ "title": "It hums", "body": null, "labels": [{ "name": "noise" }], "assignees": [] });
    let changed = world.octocat.patch(&path, change).await.expect(200).json;
    assert_eq!(
        (&changed["title"], &changed["body"], &changed["assignee"]),
        (&json!("It hums"), &Value::Null, &Value::Null)
    );
    assert_eq!(changed["labels"].as_array().unwrap().len(), 1);

    let closed = world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200).json;
    assert_eq!((&closed["state"], &closed["state_reason"]), (&json!("closed"), &json!("completed")));
    assert_eq!(closed["closed_by"]["login"], "octocat");
    let again = world.octocat.patch(&path, json!({ "state": "open" })).await.expect(200).json;
    assert_eq!((&again["state_reason"], &again["closed_at"]), (&json!("reopened"), &Value::Null));
    let planned = json!({ "state": "closed", "state_reason": "not_planned" });
    assert_eq!(world.octocat.patch(&path, planned).await.expect(200).json["state_reason"], "not_planned");
    world.finish().await;
}

#[tokio::test]
async fn what_is_no_issue_is_refused() {
    let world = world().await;
    let path = "/repos/octocat/talk/issues";
    for bad in [
        json!({}),
        json!({ "title": "" }),
        json!({ "title": null }),
        json!({ "title": ["a"] }),
        json!({ "title": "x".repeat(257) }),
        json!({ "title": "x", "body": "y".repeat(65537) }),
        json!({ "title": "x", "labels": "bug" }),
        json!({ "title": "x", "labels": [7] }),
        json!({ "title": "x", "assignees": ["nobody"] }),
    ] {
        let answer = world.octocat.post(path, bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad} {}", answer.text);
    }
    assert_eq!(titles(&world.octocat, "?state=all").await, Vec::<String>::new());
    world.anonymous().post(path, json!({ "title": "x" })).await.expect(401);
    let number = open(&world.octocat, json!({ "title": "x" })).await;
    for bad in
        [json!({ "state": "ajar" }), json!({ "state": "closed", "state_reason": "tired" }), json!({ "title": "" })]
    {
        world.octocat.patch(&format!("{path}/{number}"), bad).await.expect(422);
    }
    world.octocat.patch(&format!("{path}/99"), json!({ "title": "y" })).await.expect(404);
    world.octocat.get(&format!("{path}/99")).await.expect(404);

    world.octocat.patch("/repos/octocat/talk", json!({ "has_issues": false })).await.expect(200);
    world.octocat.post(path, json!({ "title": "x" })).await.expect(410);
    world.octocat.get(&format!("{path}/{number}")).await.expect(410);
    world.finish().await;
}

#[tokio::test]
async fn a_reader_may_open_and_close_an_issue_but_not_label_it() {
    let world = world().await;
    let (reader, other) = (world.user("reader").await, world.user("other").await);
    let number = open(&reader, json!({ "title": "Help", "labels": ["urgent"], "assignees": ["octocat"] })).await;
    let path = format!("/repos/octocat/talk/issues/{number}");
    let issue = world.octocat.get(&path).await.expect(200).json;
    assert_eq!((&issue["labels"], &issue["assignees"]), (&json!([]), &json!([])));
    reader.patch(&path, json!({ "title": "Please help", "labels": ["urgent"] })).await.expect(200);
    assert_eq!(world.octocat.get(&path).await.expect(200).json["labels"], json!([]));
    other.patch(&path, json!({ "title": "No" })).await.expect(403);
    other.patch(&path, json!({ "state": "closed" })).await.expect(403);

    reader.patch(&path, json!({ "state": "closed" })).await.expect(200);
    reader.patch(&path, json!({ "state": "open" })).await.expect(200);
    world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200);
    // What a maintainer closed stays closed for them.
    reader.patch(&path, json!({ "state": "open" })).await.expect(403);
    world.finish().await;
}

#[tokio::test]
async fn issues_are_listed_as_asked_for() {
    let world = world().await;
    let reader = world.user("reader").await;
    let one = open(&world.octocat, json!({ "title": "one", "labels": ["bug", "ui"], "assignees": ["octocat"] })).await;
    open(&world.octocat, json!({ "title": "two", "labels": ["Bug"] })).await;
    let three = open(&reader, json!({ "title": "three", "body": "cc @octocat" })).await;
    let closed = open(&reader, json!({ "title": "four" })).await;
    world
        .octocat
        .patch(&format!("/repos/octocat/talk/issues/{closed}"), json!({ "state": "closed" }))
        .await
        .expect(200);
    let comment = json!({ "body": "hm" });
    world.octocat.post(&format!("/repos/octocat/talk/issues/{one}/comments"), comment).await.expect(201);

    for (query, expected) in [
        ("", vec!["three", "two", "one"]),
        ("?direction=asc", vec!["one", "two", "three"]),
        ("?state=closed", vec!["four"]),
        ("?state=all&per_page=2&page=2", vec!["two", "one"]),
        ("?labels=BUG", vec!["two", "one"]),
        ("?labels=bug,ui", vec!["one"]),
        ("?labels=nothing", vec![]),
        ("?creator=reader", vec!["three"]),
        ("?assignee=octocat", vec!["one"]),
        ("?assignee=none", vec!["three", "two"]),
        ("?assignee=*", vec!["one"]),
        ("?mentioned=octocat", vec!["three"]),
        ("?sort=comments", vec!["one", "three", "two"]),
        ("?sort=updated", vec!["one", "three", "two"]),
        ("?since=2999-01-01T00:00:00Z", vec![]),
    ] {
        assert_eq!(titles(&world.octocat, query).await, expected, "{query}");
    }
    world.octocat.get("/repos/octocat/talk/issues?state=ajar").await.expect(422);
    assert!(three < closed);
    world.finish().await;
}

#[tokio::test]
async fn what_happened_to_an_issue_is_remembered() {
    let world = world().await;
    let number = open(&world.octocat, json!({ "title": "before" })).await;
    let path = format!("/repos/octocat/talk/issues/{number}");
    world.octocat.patch(&path, json!({ "title": "after" })).await.expect(200);
    world.octocat.post(&format!("{path}/labels"), json!({ "labels": ["bug"] })).await.expect(200);
    world.octocat.post(&format!("{path}/assignees"), json!({ "assignees": ["octocat"] })).await.expect(201);
    world.octocat.post(&format!("{path}/comments"), json!({ "body": "hm" })).await.expect(201);
    world.octocat.put(&format!("{path}/lock"), json!({ "lock_reason": "resolved" })).await.expect(204);
    world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
    };
    let events = world.octocat.get(&format!("{path}/events")).await.expect(200).json;
    assert_eq!(names(&events), ["renamed", "labeled", "assigned", "locked", "closed"]);
    assert_eq!(events[0]["rename"], json!({ "from": "before", "to": "after" }));
    assert_eq!((&events[1]["label"]["name"], &events[2]["assignee"]["login"]), (&json!("bug"), &json!("octocat")));
    let timeline = world.octocat.get(&format!("{path}/timeline")).await.expect(200).json;
    assert_eq!(names(&timeline), ["renamed", "labeled", "assigned", "commented", "locked", "closed"]);

    let all = world.octocat.get("/repos/octocat/talk/issues/events").await.expect(200).json;
    assert_eq!((&all[0]["event"], &all[0]["issue"]["number"]), (&json!("closed"), &json!(number)));
    let one = world.octocat.get(&format!("/repos/octocat/talk/issues/events/{}", all[0]["id"])).await.expect(200).json;
    assert_eq!(one, all[0]);
    world.octocat.get("/repos/octocat/talk/issues/events/1").await.expect(404);
    world.octocat.get("/repos/octocat/talk/issues/99/timeline").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn only_those_with_a_part_in_it_are_assigned() {
    let world = world().await;
    let (reader, _) = (world.user("reader").await, world.user("stranger").await);
    let number = open(&reader, json!({ "title": "Help" })).await;
    let path = format!("/repos/octocat/talk/issues/{number}/assignees");
    let logins = |issue: &Value| -> Vec<String> {
        issue["assignees"].as_array().unwrap().iter().map(|user| user["login"].as_str().unwrap().into()).collect()
    };
    // The stranger is passed over without a word.
    let wanted = json!({ "assignees": ["octocat", "reader", "stranger", "nobody"] });
    let assigned = world.octocat.post(&path, wanted).await.expect(201).json;
    assert_eq!(logins(&assigned), ["octocat", "reader"]);
    let left = world.octocat.send("DELETE", &path, Some(json!({ "assignees": ["octocat"] }))).await.expect(200).json;
    assert_eq!(logins(&left), ["reader"]);
    reader.post(&path, json!({ "assignees": ["reader"] })).await.expect(403);

    world.octocat.get(&format!("{path}/reader")).await.expect(204);
    world.octocat.get(&format!("{path}/stranger")).await.expect(404);
    world.octocat.get("/repos/octocat/talk/assignees/octocat").await.expect(204);
    world.octocat.get("/repos/octocat/talk/assignees/reader").await.expect(404);
    world.octocat.get("/repos/octocat/talk/assignees/nobody").await.expect(404);
    let all = world.octocat.get("/repos/octocat/talk/assignees").await.expect(200).json;
    assert_eq!((all.as_array().unwrap().len(), &all[0]["login"]), (1, &json!("octocat")));
    world.finish().await;
}

#[tokio::test]
async fn whoever_listens_hears_of_issues() {
    let world = world().await;
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["issues"] });
    world.octocat.post("/repos/octocat/talk/hooks", hook).await.expect(201);
    let number = open(&world.octocat, json!({ "title": "before", "labels": ["bug"], "assignees": ["octocat"] })).await;
    let path = format!("/repos/octocat/talk/issues/{number}");
    world.octocat.patch(&path, json!({ "title": "after", "body": "More." })).await.expect(200);
    world.octocat.patch(&path, json!({ "labels": [], "assignees": [] })).await.expect(200);
    world.octocat.put(&format!("{path}/lock"), json!({ "lock_reason": "spam" })).await.expect(204);
    world.octocat.delete(&format!("{path}/lock")).await.expect(204);
    world.octocat.patch(&path, json!({ "state": "closed" })).await.expect(200);
    world.octocat.patch(&path, json!({ "state": "open" })).await.expect(200);
    assert_eq!(receiver.expect("issues.opened").await.json["issue"]["number"], number);
    assert_eq!(receiver.expect("issues.labeled").await.json["label"]["name"], "bug");
    assert_eq!(receiver.expect("issues.assigned").await.json["assignee"]["login"], "octocat");
    let edited = receiver.expect("issues.edited").await.json;
    assert_eq!(edited["changes"], json!({ "title": { "from": "before" }, "body": { "from": "" } }));
    assert_eq!(receiver.expect("issues.unlabeled").await.json["label"]["name"], "bug");
    receiver.expect("issues.unassigned").await;
    assert_eq!(receiver.expect("issues.locked").await.json["issue"]["active_lock_reason"], "spam");
    receiver.expect("issues.unlocked").await;
    assert_eq!(receiver.expect("issues.closed").await.json["issue"]["state"], "closed");
    receiver.expect("issues.reopened").await;
    world.finish().await;
}
