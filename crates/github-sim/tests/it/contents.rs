//! Files and folders, read and written without a clone.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::World;

fn decoded(file: &Value) -> String {
    let compact: String = file["content"].as_str().expect("content").split_whitespace().collect();
    String::from_utf8(STANDARD.decode(compact).expect("base64")).expect("text")
}

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

#[tokio::test]
async fn files_folders_links_and_submodules_are_told_apart() {
    let world = World::new().await;
    let clone = world.repo("kinds").await;
    clone.git(&["checkout", "-q", "-b", "topic/x"]).await;
    let modules = "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.com/lib.git\n";
    std::fs::create_dir_all(clone.path().join("docs/deep")).unwrap();
    std::os::unix::fs::symlink("docs/a b.txt", clone.path().join("inside")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", clone.path().join("outside")).unwrap();
    let sha = "2".repeat(40);
    clone.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{sha},lib")]).await;
    std::fs::create_dir_all(clone.path().join("lib")).unwrap();
    let files = [("docs/a b.txt", "hello"), ("docs/deep/c.txt", "c"), (".gitmodules", modules)];
    for (path, content) in files {
        std::fs::write(clone.path().join(path), content).unwrap();
    }
    clone.git(&["add", "docs", "inside", "outside", ".gitmodules"]).await;
    clone.git(&["commit", "-q", "-m", "Kinds"]).await;
    clone.push("topic/x").await;
    let get = async |path: &str| world.octocat.get(&format!("/repos/octocat/kinds/contents{path}")).await;

    let root = get("?ref=topic/x").await.expect(200).json;
    let kinds: Vec<(&str, &str)> = root
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["name"].as_str().unwrap(), entry["type"].as_str().unwrap()))
        .collect();
    let wanted = [
        (".gitmodules", "file"),
        ("README.md", "file"),
        ("docs", "dir"),
        ("inside", "symlink"),
        ("lib", "submodule"),
        ("outside", "symlink"),
    ];
    assert_eq!(kinds, wanted);
    let docs = get("/docs?ref=topic%2Fx").await.expect(200).json;
    assert_eq!(docs[0]["path"], "docs/a b.txt");
    let file = get("/docs/a%20b.txt?ref=topic/x").await.expect(200).json;
    assert_eq!((decoded(&file).as_str(), &file["encoding"]), ("hello", &json!("base64")));
    let same = world.octocat.get(&file["url"].as_str().unwrap()[world.octocat.base.len()..]).await.expect(200).json;
    assert_eq!(same, file, "its own address leads to it");
    let inside = get("/inside?ref=topic/x").await.expect(200).json;
    assert_eq!((decoded(&inside).as_str(), &inside["type"]), ("hello", &json!("file")));
    let outside = get("/outside?ref=topic/x").await.expect(200).json;
    assert_eq!((&outside["type"], &outside["target"]), (&json!("symlink"), &json!("/etc/passwd")));
    let lib = get("/lib?ref=topic/x").await.expect(200).json;
    assert_eq!((&lib["type"], &lib["sha"]), (&json!("submodule"), &json!(sha)));
    assert_eq!(lib["submodule_git_url"], "https://example.com/lib.git");
    get("/docs").await.expect(404);
    let answer = get("/docs?ref=nowhere").await.expect(404);
    assert_eq!(answer.json["message"], "No commit found for the ref nowhere");
    get("/../secret").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn files_come_raw_and_folders_as_one_object_when_asked_so() {
    let world = World::new().await;
    let clone = world.repo("raw").await;
    clone.commit_on("main", "main", &[("docs/a.txt", "hello\n")], "A").await;
    clone.push("main").await;
    let get = async |path: &str, media: &str| {
        let headers = [("accept", media)];
        let path = format!("/repos/octocat/raw/{path}");
        world.octocat.try_send("GET", &path, None, &headers).await.unwrap().expect(200)
    };
    assert_eq!(get("contents/docs/a.txt", "application/vnd.github.raw+json").await.text, "hello\n");
    assert_eq!(get("contents/docs/a.txt", "application/vnd.github.v3.raw").await.text, "hello\n");
    let folder = get("contents/docs", "application/vnd.github.object").await.json;
    assert_eq!((&folder["type"], &folder["entries"][0]["name"]), (&json!("dir"), &json!("a.txt")));
    assert_eq!(get("readme", "application/vnd.github.raw").await.text, "# raw\n");
    let readme = world.octocat.get("/repos/octocat/raw/readme").await.expect(200).json;
    assert_eq!((&readme["path"], decoded(&readme).as_str()), (&json!("README.md"), "# raw\n"));
    world.octocat.get("/repos/octocat/raw/readme/docs").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_file_is_created_updated_and_deleted() {
    let world = World::new().await;
    let clone = world.repo("written").await;
    let path = "/repos/octocat/written/contents/src/a.txt";
    let new = json!({ "message": "Add a", "content": encoded("one") });
    let made = world.octocat.put(path, new).await.expect(201).json;
    assert_eq!(made["content"]["path"], "src/a.txt");
    assert_eq!(made["commit"]["message"], "Add a");
    assert_eq!(made["commit"]["committer"]["name"], "GitHub");
    let again = json!({ "message": "Again", "content": encoded("two") });
    let answer = world.octocat.put(path, again).await.expect(422);
    assert!(answer.text.contains("\\\"sha\\\" wasn't supplied"), "{}", answer.text);
    let stale = json!({ "message": "Stale", "content": encoded("two"), "sha": "3".repeat(40) });
    let answer = world.octocat.put(path, stale).await.expect(409);
    assert_eq!(answer.json["message"], format!("src/a.txt does not match {}", "3".repeat(40)));
    let mona = json!({ "name": "Mona", "email": "mona@example.com" });
    let right =
        json!({ "message": "Change a", "content": encoded("two"), "sha": made["content"]["sha"], "author": mona });
    let changed = world.octocat.put(path, right).await.expect(200).json;
    assert_eq!(changed["commit"]["author"]["name"], "Mona");
    clone.git(&["pull", "-q"]).await;
    assert_eq!(std::fs::read_to_string(clone.path().join("src/a.txt")).unwrap(), "two");
    let wrong = json!({ "message": "Drop", "sha": made["content"]["sha"] });
    world.octocat.send("DELETE", path, Some(wrong)).await.expect(409);
    let gone = json!({ "message": "Drop", "sha": changed["content"]["sha"] });
    let gone = world.octocat.send("DELETE", path, Some(gone)).await.expect(200).json;
    assert_eq!(gone["content"], Value::Null);
    world.octocat.get(path).await.expect(404);
    clone.git(&["pull", "-q"]).await;
    assert!(!clone.path().join("src/a.txt").exists());
    world.finish().await;
}

#[tokio::test]
async fn files_go_to_the_branch_that_is_named_and_only_there() {
    let world = World::new().await;
    let clone = world.repo("aside").await;
    clone.git(&["push", "-q", "origin", "main:feature/x"]).await;
    let path = "/repos/octocat/aside/contents/a.txt";
    let new = json!({ "message": "Add", "content": encoded("a"), "branch": "feature/x" });
    world.octocat.put(path, new).await.expect(201);
    world.octocat.get(path).await.expect(404);
    world.octocat.get(&format!("{path}?ref=feature/x")).await.expect(200);
    let lost = json!({ "message": "Add", "content": encoded("a"), "branch": "lost" });
    let answer = world.octocat.put(path, lost).await.expect(404);
    assert_eq!(answer.json["message"], "Branch lost not found");
    for (path, body) in [
        ("a.txt", json!({ "message": "x", "content": "not base64!" })),
        ("a.txt", json!({ "content": "" })),
        ("README.md/below", json!({ "message": "x", "content": "" })),
        (".git/config", json!({ "message": "x", "content": "" })),
    ] {
        world.octocat.put(&format!("/repos/octocat/aside/contents/{path}"), body).await.expect(422);
    }
    world.finish().await;
}

#[tokio::test]
async fn the_first_file_of_an_empty_repository_makes_its_branch() {
    let world = World::new().await;
    world.octocat.post("/user/repos", json!({ "name": "fresh" })).await.expect(201);
    let path = "/repos/octocat/fresh/contents/a.txt";
    let answer = world.octocat.get(path).await.expect(404);
    assert_eq!(answer.json["message"], "This repository is empty.");
    world.octocat.put(path, json!({ "message": "First", "content": encoded("a") })).await.expect(201);
    let branches = world.octocat.get("/repos/octocat/fresh/branches").await.expect(200).json;
    assert_eq!(branches[0]["name"], "main");
    world.finish().await;
}

#[tokio::test]
async fn a_protected_branch_takes_no_file() {
    let world = World::new().await;
    world.repo("shut").await;
    let rules = json!({ "required_status_checks": null, "enforce_admins": true, "restrictions": null, "required_pull_request_reviews": {} });
    world.octocat.put("/repos/octocat/shut/branches/main/protection", rules).await.expect(200);
    let new = json!({ "message": "Add", "content": "" });
    let path = "/repos/octocat/shut/contents/a.txt";
    let answer = world.octocat.put(path, new.clone()).await.expect(409);
    assert_eq!(answer.json["message"], "Could not create file: Changes must be made through a pull request.");
    world.octocat.delete("/repos/octocat/shut/branches/main/protection").await.expect(204);
    let ruleset = json!({ "name": "all", "enforcement": "active", "rules": [{ "type": "update" }], "conditions": { "ref_name": { "include": ["~ALL"], "exclude": [] } } });
    world.octocat.post("/repos/octocat/shut/rulesets", ruleset).await.expect(201);
    let answer = world.octocat.put(path, new).await.expect(409);
    let message = answer.json["message"].as_str().unwrap();
    assert!(message.starts_with("Repository rule violations found\n\n"), "{message}");
    world.octocat.get(path).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn of_two_writes_to_one_file_at_the_same_time_one_is_told_to_look_again() {
    let world = World::new().await;
    world.repo("rivals").await;
    let path = "/repos/octocat/rivals/contents/README.md";
    let sha = world.octocat.get(path).await.expect(200).json["sha"].clone();
    let write = |text: &str| world.octocat.put(path, json!({ "message": text, "content": encoded(text), "sha": sha }));
    let (one, two) = tokio::join!(write("one"), write("two"));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    world.finish().await;
}
