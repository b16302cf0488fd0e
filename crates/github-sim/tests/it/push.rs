//! What follows from refs having moved.

use serde_json::{Value, json};

use crate::support::{Client, Clone, Receiver, World};

async fn pull(client: &Client, number: u64) -> Value {
    client.get(&format!("/repos/octocat/r/pulls/{number}")).await.expect(200).json
}

/// Everything octocat's repository `r` sends.
async fn listen(world: &World) -> Receiver {
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["*"] });
    world.octocat.post("/repos/octocat/r/hooks", hook).await.expect(201);
    receiver
}

async fn remote(clone: &Clone, name: &str) -> String {
    let line = clone.git(&["ls-remote", "origin", name]).await;
    line.split('\t').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_push_moves_the_head_of_its_pull_request() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let before = pull(&world.octocat, number).await;
    let receiver = listen(&world).await;
    let head = clone.commit_on("feature", "main", &[("more.txt", "more"), ("feature.txt", "else")], "More").await;
    clone.push("feature").await;
    let after = pull(&world.octocat, number).await;
    assert_eq!(after["head"]["sha"], head.as_str());
    assert_eq!(after["commits"], 2);
    assert_ne!(after["merge_commit_sha"], before["merge_commit_sha"]);
    assert_eq!(remote(&clone, &format!("refs/pull/{number}/head")).await, head);
    let push = receiver.expect("push").await.json;
    assert_eq!(push["ref"], "refs/heads/feature");
    assert_eq!(push["before"], before["head"]["sha"]);
    assert_eq!((&push["forced"], &push["created"], &push["deleted"]), (&json!(false), &json!(false), &json!(false)));
    assert_eq!(push["commits"][0]["added"], json!(["more.txt"]));
    assert_eq!(push["commits"][0]["modified"], json!(["feature.txt"]));
    let synchronize = receiver.expect("pull_request.synchronize").await.json;
    assert_eq!(synchronize["before"], before["head"]["sha"]);
    assert_eq!(synchronize["after"], head.as_str());
    world.finish().await;
}

#[tokio::test]
async fn branches_and_tags_are_announced_when_they_come_and_go() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let receiver = listen(&world).await;
    clone.commit_on("topic", "main", &[("t.txt", "t")], "Topic").await;
    clone.push("topic").await;
    let created = receiver.expect("create").await.json;
    assert_eq!((created["ref"].as_str(), created["ref_type"].as_str()), (Some("topic"), Some("branch")));
    let push = receiver.expect("push").await.json;
    assert_eq!((&push["created"], push["commits"].as_array().map(Vec::len)), (&json!(true), Some(1)));
    clone.git(&["push", "--quiet", "origin", "topic:refs/tags/v1"]).await;
    assert_eq!(receiver.expect("create").await.json["ref_type"], "tag");
    clone.git(&["push", "--quiet", "origin", ":topic"]).await;
    let deleted = receiver.expect("delete").await.json;
    assert_eq!((deleted["ref"].as_str(), deleted["ref_type"].as_str()), (Some("topic"), Some("branch")));
    world.finish().await;
}

#[tokio::test]
async fn a_forced_push_says_so() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let receiver = listen(&world).await;
    clone.git(&["commit", "--quiet", "--amend", "-m", "Again"]).await;
    clone.git(&["push", "--quiet", "--force", "origin", "feature"]).await;
    assert_eq!(receiver.expect("push").await.json["forced"], true);
    let head = clone.git(&["rev-parse", "HEAD"]).await;
    assert_eq!(pull(&world.octocat, number).await["head"]["sha"], head.as_str());
    world.finish().await;
}

#[tokio::test]
async fn deleting_the_head_branch_closes_the_pull_request_and_keeps_its_commits() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let receiver = listen(&world).await;
    let head = clone.git(&["rev-parse", "feature"]).await;
    clone.git(&["push", "--quiet", "origin", ":feature"]).await;
    let closed = pull(&world.octocat, number).await;
    assert_eq!((&closed["state"], &closed["merged"]), (&json!("closed"), &json!(false)));
    assert_eq!(receiver.expect("pull_request.closed").await.json["pull_request"]["merged"], false);
    let fresh = world.clone_of("octocat", "r").await;
    fresh.git(&["fetch", "--quiet", "origin", &format!("refs/pull/{number}/head")]).await;
    assert_eq!(fresh.git(&["rev-parse", "FETCH_HEAD"]).await, head);
    world.finish().await;
}

#[tokio::test]
async fn deleting_a_base_branch_closes_what_was_based_on_it() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let below = world.pull(&clone, "one", "main").await;
    let above = world.pull(&clone, "two", "one").await;
    world.octocat.delete("/repos/octocat/r/git/refs/heads/one").await.expect(204);
    for number in [below, above] {
        let closed = pull(&world.octocat, number).await;
        assert_eq!((&closed["state"], &closed["merged"]), (&json!("closed"), &json!(false)), "{number}");
    }
    world.finish().await;
}

#[tokio::test]
async fn pushing_the_head_to_the_base_merges_the_pull_request() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let (direct, by_merge) = (world.pull(&clone, "one", "main").await, world.pull(&clone, "two", "main").await);
    let receiver = listen(&world).await;
    let one = clone.git(&["rev-parse", "one"]).await;
    clone.git(&["push", "--quiet", "origin", "one:main"]).await;
    let merged = pull(&world.octocat, direct).await;
    assert_eq!((&merged["merged"], &merged["merge_commit_sha"]), (&json!(true), &json!(one)));
    assert_eq!(merged["merged_by"]["login"], "octocat");
    assert_eq!(receiver.expect("pull_request.closed").await.json["pull_request"]["merged"], true);
    clone.git(&["checkout", "--quiet", "one"]).await;
    clone.git(&["merge", "--quiet", "--no-ff", "-m", "By hand", "two"]).await;
    clone.git(&["push", "--quiet", "origin", "one:main"]).await;
    let merge = clone.git(&["rev-parse", "one"]).await;
    let merged = pull(&world.octocat, by_merge).await;
    assert_eq!((&merged["merged"], &merged["merge_commit_sha"]), (&json!(true), &json!(merge)));
    world.finish().await;
}

#[tokio::test]
async fn a_fork_s_push_moves_the_head_of_its_pull_request() {
    let world = World::new().await;
    world.repo("r").await;
    let alice = world.user("alice").await;
    alice.post("/repos/octocat/r/forks", json!({})).await.expect(202);
    let clone = Clone::new(&world.url(), &alice, "alice", "r").await;
    clone.commit_on("idea", "main", &[("idea.txt", "1")], "Idea").await;
    clone.push("idea").await;
    let new = json!({ "title": "Idea", "head": "alice:idea", "base": "main" });
    let opened = alice.post("/repos/octocat/r/pulls", new).await.expect(201).json;
    assert_eq!(opened["head"]["repo"]["full_name"], "alice/r");
    assert_eq!(opened["head"]["repo"]["fork"], true);
    assert_eq!(opened["maintainer_can_modify"], true);
    let number = opened["number"].as_u64().unwrap();
    let head = clone.commit_on("idea", "main", &[("idea.txt", "2")], "Better").await;
    clone.push("idea").await;
    let after = pull(&world.octocat, number).await;
    assert_eq!((&after["head"]["sha"], &after["mergeable"]), (&json!(head), &json!(true)));
    let base = world.clone_of("octocat", "r").await;
    assert_eq!(remote(&base, &format!("refs/pull/{number}/head")).await, head);
    world.finish().await;
}

#[tokio::test]
async fn the_merge_state_lags_behind_a_push_when_told_to() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "clean");
    world.control("PATCH", "/settings", json!({ "merge_state_lag_ms": 60_000 })).await.expect(200);
    clone.commit_on("main", "main", &[("feature.txt", "mine")], "Collide").await;
    clone.push("main").await;
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "dirty");
    clone.commit_on("feature", "main", &[("feature.txt", "mine")], "Give in").await;
    clone.push("feature").await;
    let lagging = pull(&world.octocat, number).await;
    assert_eq!((&lagging["mergeable_state"], &lagging["mergeable"]), (&json!("dirty"), &json!(false)));
    assert_eq!(lagging["merge_commit_sha"], Value::Null);
    world.control("POST", "/clock", json!({ "advance_seconds": 61 })).await.expect(200);
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "clean");
    let unknown = json!({ "merge_state_lag_mode": "unknown" });
    world.control("PATCH", "/settings", unknown).await.expect(200);
    clone.commit_on("feature", "main", &[("x.txt", "x")], "More").await;
    clone.push("feature").await;
    let lagging = pull(&world.octocat, number).await;
    assert_eq!((&lagging["mergeable_state"], &lagging["mergeable"]), (&json!("unknown"), &Value::Null));
    world.finish().await;
}

#[tokio::test]
async fn the_merge_state_lags_once_when_a_fault_strikes() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let fault = json!({ "kind": "lag_merge_state", "ms": 60_000, "mode": "unknown" });
    world.control("POST", "/faults", fault).await.expect(201);
    for expected in ["unknown", "clean"] {
        clone.commit_on("feature", "main", &[(&format!("{expected}.txt"), "x")], "More").await;
        clone.push("feature").await;
        assert_eq!(pull(&world.octocat, number).await["mergeable_state"], expected);
    }
    world.finish().await;
}

/// octocat's pull request, approved by someone who may write, under a protection that dismisses stale approvals.
async fn approved(world: &World, clone: &Clone) -> (u64, Client) {
    let alice = world.user("alice").await;
    let role = json!({ "permission": "push" });
    world.octocat.put("/repos/octocat/r/collaborators/alice", role).await;
    let reviews = json!({ "dismiss_stale_reviews": true, "required_approving_review_count": 1 });
    let protection = json!({
        "required_status_checks": null, "enforce_admins": false, "restrictions": null,
        "required_pull_request_reviews": reviews,
    });
    world.octocat.put("/repos/octocat/r/branches/main/protection", protection).await.expect(200);
    let number = world.pull(clone, "feature", "main").await;
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "blocked");
    let path = format!("/repos/octocat/r/pulls/{number}/reviews");
    alice.post(&path, json!({ "event": "APPROVE" })).await.expect(200);
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "clean");
    (number, alice)
}

#[tokio::test]
async fn a_push_that_changes_what_was_approved_dismisses_the_approval() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let (number, _) = approved(&world, &clone).await;
    let receiver = listen(&world).await;
    clone.commit_on("feature", "main", &[("feature.txt", "sneaky")], "Sneak").await;
    clone.push("feature").await;
    let reviews = world.octocat.get(&format!("/repos/octocat/r/pulls/{number}/reviews")).await.expect(200);
    assert_eq!(reviews.json[0]["state"], "DISMISSED");
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "blocked");
    let dismissed = receiver.expect("pull_request_review.dismissed").await.json;
    assert_eq!(dismissed["review"]["user"]["login"], "alice");
    world.finish().await;
}

#[tokio::test]
async fn merging_the_base_in_keeps_the_approval() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let (number, _) = approved(&world, &clone).await;
    clone.commit_on("main", "main", &[("other.txt", "other")], "Other").await;
    clone.push("main").await;
    clone.git(&["checkout", "--quiet", "feature"]).await;
    clone.git(&["merge", "--quiet", "--no-edit", "main"]).await;
    clone.push("feature").await;
    let reviews = world.octocat.get(&format!("/repos/octocat/r/pulls/{number}/reviews")).await.expect(200);
    assert_eq!(reviews.json[0]["state"], "APPROVED");
    assert_eq!(pull(&world.octocat, number).await["mergeable_state"], "clean");
    world.finish().await;
}

#[tokio::test]
async fn a_review_comment_follows_its_line_until_that_changes() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    clone.commit_on("feature", "main", &[("f.txt", "one\ntwo\nthree\n")], "Count").await;
    clone.push("feature").await;
    let new = json!({ "title": "Count", "head": "feature", "base": "main" });
    let opened = world.octocat.post("/repos/octocat/r/pulls", new).await.expect(201).json;
    let path = format!("/repos/octocat/r/pulls/{}/comments", opened["number"]);
    let comment = json!({ "body": "two?", "commit_id": opened["head"]["sha"], "path": "f.txt", "line": 2 });
    world.octocat.post(&path, comment).await.expect(201);
    let head = clone.commit_on("feature", "main", &[("f.txt", "zero\none\ntwo\nthree\n")], "Zero").await;
    clone.push("feature").await;
    let moved = world.octocat.get(&path).await.expect(200).json[0].clone();
    assert_eq!((&moved["line"], &moved["original_line"]), (&json!(3), &json!(2)));
    assert_eq!(moved["commit_id"], head.as_str());
    clone.commit_on("feature", "main", &[("f.txt", "zero\none\nTWO\nthree\n")], "Shout").await;
    clone.push("feature").await;
    let outdated = world.octocat.get(&path).await.expect(200).json[0].clone();
    assert_eq!((&outdated["line"], &outdated["original_line"]), (&Value::Null, &json!(2)));
    world.finish().await;
}

#[tokio::test]
async fn what_was_pushed_is_known_after_a_restart() {
    let mut world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    // A push that git took and the simulator never heard of.
    let bare = std::fs::read_dir(world.dir.path().join("data/repositories")).unwrap().next().unwrap().unwrap().path();
    let head = clone.commit_on("feature", "main", &[("late.txt", "late")], "Late").await;
    clone.git(&["push", "--quiet", bare.to_str().unwrap(), "feature"]).await;
    assert_ne!(pull(&world.octocat, number).await["head"]["sha"], head.as_str());
    world.restart().await;
    assert_eq!(pull(&world.octocat, number).await["head"]["sha"], head.as_str());
    world.finish().await;
}

#[tokio::test]
async fn a_merge_cut_off_after_git_had_taken_it_is_complete_after_a_restart() {
    let mut world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let before = pull(&world.octocat, number).await;
    let repo = before["base"]["repo"]["id"].as_u64().unwrap();
    let data = world.dir.path().join("data");
    let bare = data.join(format!("repositories/{repo}.git"));
    clone.git(&["checkout", "--quiet", "-b", "squash", "main"]).await;
    clone.git(&["merge", "--quiet", "--squash", "feature"]).await;
    clone.git(&["commit", "--quiet", "-m", "Squashed"]).await;
    let (old, new) = (clone.git(&["rev-parse", "main"]).await, clone.git(&["rev-parse", "squash"]).await);
    clone.git(&["push", "--quiet", bare.to_str().unwrap(), "squash:main"]).await;
    let intent = json!({
        "repo": repo, "actor": before["user"]["id"],
        "changes": [{ "name": "refs/heads/main", "old": old, "new": new }],
        "cause": {
            "landings": [{ "number": number, "onto": old, "sha": new, "method": "squash" }], "retargets": [],
        },
    });
    let disk = rusqlite::Connection::open(data.join("sim.sqlite")).unwrap();
    let row = "insert into documents (kind, scope, id, body) values ('intent', 0, ?1, ?2)";
    disk.execute(row, rusqlite::params![repo as i64, intent.to_string()]).unwrap();
    drop(disk);
    world.restart().await;
    let after = pull(&world.octocat, number).await;
    assert_eq!((&after["merged"], &after["merge_commit_sha"]), (&json!(true), &json!(new)));
    assert_eq!(after["base"]["sha"], old.as_str());
    world.finish().await;
}

#[tokio::test]
async fn a_tag_of_something_else_than_a_commit_is_taken() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let receiver = listen(&world).await;
    clone.git(&["push", "--quiet", "origin", "main^{tree}:refs/tags/tree"]).await;
    assert_eq!(receiver.expect("create").await.json["ref"], "tree");
    clone.git(&["tag", "-a", "-m", "First", "v1", "main"]).await;
    clone.git(&["push", "--quiet", "origin", "v1"]).await;
    assert_eq!(receiver.expect("create").await.json["ref"], "v1");
    world.finish().await;
}
