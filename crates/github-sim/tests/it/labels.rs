//! Labels of a repository, and on its issues.

use serde_json::{Value, json};

use crate::support::World;

async fn world() -> (World, String) {
    let world = World::new().await;
    world.octocat.post("/user/repos", json!({ "name": "talk" })).await.expect(201);
    let issue = world.octocat.post("/repos/octocat/talk/issues", json!({ "title": "x" })).await.expect(201).json;
    (world, format!("/repos/octocat/talk/issues/{}/labels", issue["number"]))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|label| label["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn a_label_is_made_changed_and_deleted() {
    let (world, on_issue) = world().await;
    let labels = "/repos/octocat/talk/labels";
    let new = json!({ "name": "merge train", "color": "FF8800", "description": "All aboard" });
    let made = world.octocat.post(labels, new).await.expect(201).json;
    assert_eq!((&made["color"], &made["default"]), (&json!("ff8800"), &json!(false)));
    assert!(made["url"].as_str().unwrap().ends_with("/labels/merge%20train"), "{made}");
    assert_eq!(world.octocat.get(&format!("{labels}/Merge%20Train")).await.expect(200).json, made);
    world.octocat.post(&on_issue, json!({ "labels": ["merge train"] })).await.expect(200);

    let path = format!("{labels}/merge%20train");
    let changed = world.octocat.patch(&path, json!({ "new_name": "zug/ü", "color": "000000" })).await.expect(200).json;
    assert_eq!((&changed["name"], &changed["description"]), (&json!("zug/ü"), &json!("All aboard")));
    assert_eq!(changed["id"], made["id"]);
    assert_eq!(names(&world.octocat.get(&on_issue).await.expect(200).json), ["zug/ü"]);
    world.octocat.get(&path).await.expect(404);
    let path = format!("{labels}/zug%2F%C3%BC");
    world.octocat.delete(&path).await.expect(204);
    world.octocat.delete(&path).await.expect(404);
    assert_eq!(world.octocat.get(&on_issue).await.expect(200).json, json!([]));
    world.finish().await;
}

#[tokio::test]
async fn a_label_that_cannot_be_is_refused() {
    let (world, _) = world().await;
    let labels = "/repos/octocat/talk/labels";
    world.octocat.post(labels, json!({ "name": "one" })).await.expect(201);
    for (bad, code) in [
        (json!({ "name": "ONE" }), "already_exists"),
        (json!({ "name": "" }), "missing_field"),
        (json!({ "name": "x".repeat(51) }), "too long"),
        (json!({ "name": "two", "color": "#ff0000" }), "invalid"),
        (json!({ "name": "two", "color": "red" }), "invalid"),
        (json!({ "name": "two", "description": "x".repeat(101) }), "too long"),
        (json!({ "name": 2 }), "Invalid request"),
        (json!({}), "wasn't supplied"),
    ] {
        let answer = world.octocat.post(labels, bad).await.expect(422);
        assert!(answer.text.contains(code), "{code}: {}", answer.text);
    }
    world.octocat.post(labels, json!({ "name": "two" })).await.expect(201);
    world.octocat.patch(&format!("{labels}/two"), json!({ "new_name": "One" })).await.expect(422);
    world.octocat.patch(&format!("{labels}/two"), json!({ "new_name": "TWO" })).await.expect(200);
    let reader = world.user("reader").await;
    reader.post(labels, json!({ "name": "three" })).await.expect(403);
    reader.delete(&format!("{labels}/one")).await.expect(403);
    world.anonymous().post(labels, json!({ "name": "three" })).await.expect(401);
    assert_eq!(names(&reader.get(labels).await.expect(200).json), ["one", "TWO"]);
    world.finish().await;
}

#[tokio::test]
async fn labels_are_put_on_an_issue_and_taken_off() {
    let (world, path) = world().await;
    // A label that the repository does not have is made.
    let added = world.octocat.post(&path, json!({ "labels": ["a", "b", "A"] })).await.expect(200).json;
    assert_eq!((names(&added), &added[0]["color"]), (vec!["a", "b"], &json!("ededed")));
    // The older way to send them.
    let added = world.octocat.post(&path, json!(["c", "a"])).await.expect(200).json;
    assert_eq!(names(&added), ["a", "b", "c"]);
    let added = world.octocat.post(&path, json!({ "labels": [{ "name": "d" }] })).await.expect(200).json;
    assert_eq!(names(&added), ["a", "b", "c", "d"]);

    let left = world.octocat.delete(&format!("{path}/B")).await.expect(200).json;
    assert_eq!(names(&left), ["a", "c", "d"]);
    let gone = world.octocat.delete(&format!("{path}/b")).await.expect(404);
    assert_eq!(gone.json["message"], "Label does not exist");
    let set = world.octocat.put(&path, json!({ "labels": ["c", "e"] })).await.expect(200).json;
    assert_eq!(names(&set), ["c", "e"]);
    world.octocat.delete(&path).await.expect(204);
    assert_eq!(world.octocat.get(&path).await.expect(200).json, json!([]));

    let events = world.octocat.get(&path.replace("/labels", "/events")).await.expect(200).json;
    let events: Vec<String> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| format!("{} {}", event["event"], event["label"]["name"]).replace('"', ""))
        .collect();
    let expected = [
        "labeled a",
        "labeled b",
        "labeled c",
        "labeled d",
        "unlabeled b",
        "unlabeled a",
        "unlabeled d",
        "labeled e",
        "unlabeled c",
        "unlabeled e",
    ];
    assert_eq!(events, expected);
    world.finish().await;
}

#[tokio::test]
async fn labelling_takes_triage_rights_and_a_list_of_names() {
    let (world, path) = world().await;
    let (reader, triage) = (world.user("reader").await, world.user("triager").await);
    world.octocat.put("/repos/octocat/talk/collaborators/triager", json!({ "permission": "triage" })).await;
    reader.post(&path, json!({ "labels": ["a"] })).await.expect(403);
    reader.delete(&path).await.expect(403);
    triage.post(&path, json!({ "labels": ["a"] })).await.expect(200);
    for bad in [json!({ "labels": "a" }), json!({ "labels": [1] }), json!({ "labels": [""] })] {
        let answer = world.octocat.post(&path, bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad} {}", answer.text);
    }
    world.octocat.post("/repos/octocat/talk/issues/99/labels", json!({ "labels": ["a"] })).await.expect(404);
    assert_eq!(names(&reader.get(&path).await.expect(200).json), ["a"]);
    world.finish().await;
}
