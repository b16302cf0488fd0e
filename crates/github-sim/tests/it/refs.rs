//! git's own objects and refs, through the API.

use serde_json::{Value, json};

use tokio::io::AsyncWriteExt;

use crate::support::{Answer, World, eventually};

const NOWHERE: &str = "1111111111111111111111111111111111111111";

async fn text(world: &World, path: &str) -> String {
    let raw = [("accept", "application/vnd.github.raw")];
    world.octocat.try_send("GET", path, None, &raw).await.expect("an answer").expect(200).text
}

#[tokio::test]
async fn a_branch_can_be_built_from_nothing_but_api_calls() {
    let world = World::new().await;
    let clone = world.repo("built").await;
    let main = clone.git(&["rev-parse", "HEAD"]).await;
    let at = |path: &str| format!("/repos/octocat/built/git/{path}");
    let base = world.octocat.get(&at(&format!("commits/{main}"))).await.expect(200).json;
    let blob = world.octocat.post(&at("blobs"), json!({ "content": "aGVsbG8K", "encoding": "base64" })).await;
    let blob = blob.expect(201).json["sha"].clone();
    let read = world.octocat.get(&at(&format!("blobs/{}", blob.as_str().unwrap()))).await.expect(200).json;
    assert_eq!((&read["content"], &read["size"]), (&json!("aGVsbG8K\n"), &json!(6)));
    let entries = json!([
        { "path": "docs/hello.txt", "mode": "100644", "type": "blob", "sha": blob },
        { "path": "run.sh", "mode": "100755", "type": "blob", "content": "#!/bin/sh\n" },
        { "path": "README.md", "mode": "100644", "type": "blob", "sha": null },
    ]);
    let tree = json!({ "base_tree": base["tree"]["sha"], "tree": entries });
    let tree = world.octocat.post(&at("trees"), tree).await.expect(201).json;
    let names: Vec<&str> = tree["tree"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["docs", "run.sh"]);
    let author = json!({ "name": "Mona", "email": "mona@example.com", "date": "2024-05-06T07:08:09+02:00" });
    let commit = json!({ "message": "Build it", "tree": tree["sha"], "parents": [main], "author": author });
    let commit = world.octocat.post(&at("commits"), commit).await.expect(201).json;
    assert_eq!(commit["author"]["date"], "2024-05-06T05:08:09Z");
    assert_eq!(commit["parents"][0]["sha"], main.as_str());
    let made = json!({ "ref": "refs/heads/built/by-api", "sha": commit["sha"] });
    let made = world.octocat.post(&at("refs"), made).await.expect(201).json;
    assert_eq!(made["object"]["sha"], commit["sha"]);
    clone.git(&["fetch", "-q", "origin"]).await;
    clone.git(&["checkout", "-q", "built/by-api"]).await;
    assert_eq!(std::fs::read_to_string(clone.path().join("docs/hello.txt")).unwrap(), "hello\n");
    assert_eq!(
        clone.git(&["log", "-1", "--format=%an <%ae> %ad", "--date=iso"]).await,
        "Mona <mona@example.com> 2024-05-06 07:08:09 +0200"
    );
    assert!(!clone.path().join("README.md").exists());
    let recursive = world.octocat.get(&at("trees/built/by-api?recursive=1")).await.expect(200).json;
    assert!(recursive["tree"].as_array().unwrap().iter().any(|entry| entry["path"] == "docs/hello.txt"));
    assert_eq!(text(&world, &at(&format!("blobs/{}", read["sha"].as_str().unwrap()))).await, "hello\n");
    world.finish().await;
}

#[tokio::test]
async fn a_tree_can_replace_and_remove_folders() {
    let world = World::new().await;
    let clone = world.repo("folders").await;
    clone.commit_on("main", "main", &[("a/one.txt", "1"), ("a/two.txt", "2"), ("b/x.txt", "x")], "Add").await;
    clone.push("main").await;
    let trees = "/repos/octocat/folders/git/trees";
    let whole = world.octocat.get(&format!("{trees}/main")).await.expect(200).json;
    let b = whole["tree"].as_array().unwrap().iter().find(|entry| entry["path"] == "b").unwrap()["sha"].clone();
    let entries = json!([{ "path": "a", "mode": "040000", "type": "tree", "sha": b }, { "path": "b", "mode": "040000", "type": "tree", "sha": null }]);
    let made = json!({ "base_tree": whole["sha"], "tree": entries });
    let made = world.octocat.post(trees, made).await.expect(201).json;
    let shown = world.octocat.get(&format!("{trees}/{}?recursive=1", made["sha"].as_str().unwrap())).await;
    let paths: Vec<Value> = shown.json["tree"].as_array().unwrap().iter().map(|entry| entry["path"].clone()).collect();
    assert_eq!(paths, ["README.md", "a", "a/x.txt"]);
    for (bad, why) in [
        (json!([{ "path": "c", "mode": "040000", "type": "tree", "sha": null }]), "GitRPC::BadObjectState"),
        (json!([{ "path": "../c", "mode": "100644", "content": "" }]), "malformed"),
        (json!([{ "path": "c", "mode": "100666", "content": "" }]), "tree.mode"),
        (json!([{ "path": "c", "mode": "100644" }]), "tree.sha or tree.content"),
        (json!([{ "path": "c", "mode": "100644", "sha": NOWHERE }]), "not a valid blob"),
    ] {
        let answer = world.octocat.post(trees, json!({ "base_tree": whole["sha"], "tree": bad })).await.expect(422);
        assert!(answer.text.contains(why), "{}", answer.text);
    }
    world.octocat.post(trees, json!({ "tree": [] })).await.expect(422);
    world.octocat.post(trees, json!({ "base_tree": NOWHERE, "tree": [] })).await.expect(422);
    world.finish().await;
}

fn message(answer: &Answer) -> &str {
    answer.json["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn refs_are_made_moved_and_deleted_by_git_s_rules() {
    let world = World::new().await;
    let clone = world.repo("refs").await;
    let first = clone.git(&["rev-parse", "HEAD"]).await;
    let second = clone.commit_on("main", "main", &[("a.txt", "a")], "A").await;
    clone.push("main").await;
    let refs = "/repos/octocat/refs/git/refs";
    let make = async |name: &str, sha: &str| world.octocat.post(refs, json!({ "ref": name, "sha": sha })).await;
    make("refs/heads/topic", &second).await.expect(201);
    assert_eq!(message(&make("refs/heads/topic", &first).await.expect(422)), "Reference already exists");
    assert_eq!(message(&make("refs/heads/lost", NOWHERE).await.expect(422)), "Object does not exist");
    assert_eq!(message(&make("refs/heads/topic/below", &first).await.expect(422)), "Reference update failed");
    for bad in ["main", "refs/heads/a b", "refs/heads/", "refs/pull/7/head", "heads/x"] {
        make(bad, &first).await.expect(422);
    }
    make("refs/heads/short", "abc").await.expect(422);
    let topic = format!("{refs}/heads/topic");
    let answer = world.octocat.patch(&topic, json!({ "sha": first })).await.expect(422);
    assert_eq!(message(&answer), "Update is not a fast forward");
    let moved = world.octocat.patch(&topic, json!({ "sha": first, "force": true })).await.expect(200).json;
    assert_eq!(moved["object"]["sha"], first.as_str());
    world.octocat.patch(&topic, json!({ "sha": second })).await.expect(200);
    let answer = world.octocat.patch(&topic, json!({ "sha": NOWHERE })).await.expect(422);
    assert_eq!(message(&answer), "Object does not exist");
    world.octocat.delete(&topic).await.expect(204);
    assert_eq!(message(&world.octocat.delete(&topic).await.expect(422)), "Reference does not exist");
    let answer = world.octocat.patch(&topic, json!({ "sha": first })).await.expect(422);
    assert_eq!(message(&answer), "Reference does not exist");
    world.octocat.delete(&format!("{refs}/heads/main")).await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn refs_are_found_by_name_and_by_beginning() {
    let world = World::new().await;
    let clone = world.repo("found").await;
    for branch in ["feature-a", "feature/b", "other"] {
        clone.git(&["push", "-q", "origin", &format!("main:refs/heads/{branch}")]).await;
    }
    let number = world.pull(&clone, "topic", "main").await;
    let git = "/repos/octocat/found/git";
    let matching = async |beginning: &str| {
        let answer = world.octocat.get(&format!("{git}/matching-refs/{beginning}")).await.expect(200);
        answer.json.as_array().unwrap().iter().map(|one| one["ref"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(matching("heads/feature").await, ["refs/heads/feature-a", "refs/heads/feature/b"]);
    assert_eq!(matching("heads/nothing").await, Vec::<String>::new());
    assert!(matching("pull").await.contains(&format!("refs/pull/{number}/head")));
    world.octocat.get(&format!("{git}/ref/heads/feature/b")).await.expect(200);
    world.octocat.get(&format!("{git}/ref/heads/feature")).await.expect(404);
    world.octocat.get(&format!("{git}/ref/pull/{number}/head")).await.expect(200);
    let paged = world.octocat.get(&format!("{git}/matching-refs/heads/?per_page=2")).await.expect(200);
    assert_eq!(paged.json.as_array().unwrap().len(), 2);
    assert!(paged.header("link").contains("rel=\"next\""));
    world.octocat.post("/user/repos", json!({ "name": "empty" })).await.expect(201);
    let answer = world.octocat.get("/repos/octocat/empty/git/ref/heads/main").await.expect(409);
    assert_eq!(message(&answer), "Git Repository is empty.");
    world.finish().await;
}

#[tokio::test]
async fn annotated_tags_are_written_and_read() {
    let world = World::new().await;
    let clone = world.repo("tagged").await;
    let head = clone.git(&["rev-parse", "HEAD"]).await;
    let tags = "/repos/octocat/tagged/git/tags";
    let new = json!({ "tag": "v1", "message": "First\n\nWith notes", "object": head, "type": "commit" });
    let made = world.octocat.post(tags, new.clone()).await.expect(201).json;
    let sha = made["sha"].as_str().unwrap();
    assert_eq!(made["tagger"]["name"], "octocat");
    assert_eq!(world.octocat.get(&format!("{tags}/{sha}")).await.expect(200).json, made);
    let point = json!({ "ref": "refs/tags/v1", "sha": sha });
    let point = world.octocat.post("/repos/octocat/tagged/git/refs", point).await.expect(201).json;
    assert_eq!(point["object"]["type"], "tag");
    clone.git(&["fetch", "-q", "--tags", "origin"]).await;
    assert_eq!(clone.git(&["tag", "-l", "--format=%(contents:subject)", "v1"]).await, "First");
    assert_eq!(clone.git(&["rev-parse", "v1^{commit}"]).await, head);
    // A branch cannot be at a tag.
    let branch = json!({ "ref": "refs/heads/v1", "sha": sha });
    world.octocat.post("/repos/octocat/tagged/git/refs", branch).await.expect(422);
    for (field, bad) in [("object", json!(NOWHERE)), ("type", json!("tree")), ("tag", json!("a b"))] {
        let mut odd = new.clone();
        odd[field] = bad;
        world.octocat.post(tags, odd).await.expect(422);
    }
    world.octocat.get(&format!("{tags}/{head}")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn commits_need_a_tree_and_parents_that_are_there() {
    let world = World::new().await;
    let clone = world.repo("parents").await;
    let (head, tree) = (clone.git(&["rev-parse", "HEAD"]).await, clone.git(&["rev-parse", "HEAD^{tree}"]).await);
    let commits = "/repos/octocat/parents/git/commits";
    let make = async |tree: &str, parent: &str| {
        world.octocat.post(commits, json!({ "message": "x", "tree": tree, "parents": [parent] })).await
    };
    assert_eq!(message(&make(NOWHERE, &head).await.expect(422)), "Tree SHA does not exist");
    assert_eq!(message(&make(&head, &head).await.expect(422)), "Tree SHA does not exist");
    let answer = make(&tree, NOWHERE).await.expect(422);
    assert_eq!(message(&answer), "Parent SHA does not exist or is not a commit object");
    make(&tree, &tree).await.expect(422);
    make(&tree, &head).await.expect(201);
    world.octocat.post(commits, json!({ "message": "root", "tree": tree })).await.expect(201);
    world.octocat.post(commits, json!({ "tree": tree })).await.expect(422);
    world.octocat.get(&format!("{commits}/{NOWHERE}")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn the_api_keeps_a_protected_branch_s_rules_too() {
    let world = World::new().await;
    let clone = world.repo("kept").await;
    let first = clone.git(&["rev-parse", "HEAD"]).await;
    let second = clone.commit_on("main", "main", &[("a.txt", "a")], "A").await;
    clone.push("main").await;
    let protect = async |rules: Value| {
        let mut body = json!({ "required_status_checks": null, "enforce_admins": true, "required_pull_request_reviews": null, "restrictions": null });
        body.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        world.octocat.put("/repos/octocat/kept/branches/main/protection", body).await.expect(200);
    };
    let main = "/repos/octocat/kept/git/refs/heads/main";
    protect(json!({})).await;
    let answer = world.octocat.patch(main, json!({ "sha": first, "force": true })).await.expect(422);
    assert_eq!(message(&answer), "Cannot force-push to this branch");
    protect(json!({ "required_status_checks": { "strict": false, "contexts": ["ci"] } })).await;
    let tree = clone.git(&["rev-parse", "HEAD^{tree}"]).await;
    let commit = json!({ "message": "B", "tree": tree, "parents": [second] });
    let commit = world.octocat.post("/repos/octocat/kept/git/commits", commit).await.expect(201).json;
    let answer = world.octocat.patch(main, json!({ "sha": commit["sha"] })).await.expect(422);
    assert_eq!(message(&answer), "Required status check \"ci\" is expected.");
    let status = format!("/repos/octocat/kept/statuses/{}", commit["sha"].as_str().unwrap());
    world.octocat.post(&status, json!({ "state": "success", "context": "ci" })).await.expect(201);
    world.octocat.patch(main, json!({ "sha": commit["sha"] })).await.expect(200);
    let rules = json!({ "restrictions": { "users": [], "teams": [], "apps": ["merge-train"] } });
    protect(rules).await;
    let answer = world.octocat.patch(main, json!({ "sha": commit["sha"], "force": true })).await.expect(200);
    assert_eq!(answer.json["object"]["sha"], commit["sha"], "what moves nothing breaks no rule");
    let answer = world.octocat.patch(main, json!({ "sha": first, "force": true })).await.expect(422);
    assert!(message(&answer).starts_with("You're not authorized to push to this branch."), "{}", answer.text);
    world.finish().await;
}

#[tokio::test]
async fn what_was_asked_for_is_done_although_the_caller_hangs_up() {
    let world = World::new().await;
    let clone = world.repo("impatient").await;
    let head = clone.git(&["rev-parse", "HEAD"]).await;
    let address = world.url().replace("http://", "");
    let token = world.octocat.token.clone().unwrap();
    for n in 0..8 {
        let body = json!({ "ref": format!("refs/heads/topic-{n}"), "sha": head }).to_string();
        let request = format!(
            "POST /repos/octocat/impatient/git/refs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(n * 3)).await;
    }
    for n in 0..8 {
        let path = format!("/repos/octocat/impatient/branches/topic-{n}");
        eventually("the branch is there", || async { (world.octocat.get(&path).await.status == 200).then_some(()) })
            .await;
    }
    assert_eq!(clone.git(&["ls-remote", "origin", "refs/heads/topic-*"]).await.lines().count(), 8);
    world.finish().await;
}
