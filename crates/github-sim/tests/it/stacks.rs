//! Native stacks and asynchronous merges.

use serde_json::{Value, json};

use crate::support::{Answer, Clone, World, eventually};

const REPO: &str = "/repos/octocat/r";

/// A stack of three pull requests, `one` on main, `two` on it, `three` on that.
async fn stack_of_three(world: &World) -> (Clone, [u64; 3], u64) {
    let clone = world.repo("r").await;
    let mut numbers = [0; 3];
    for (at, (branch, base)) in [("one", "main"), ("two", "one"), ("three", "two")].into_iter().enumerate() {
        numbers[at] = world.pull(&clone, branch, base).await;
    }
    let stack = world.octocat.post(&format!("{REPO}/stacks"), json!({ "pull_requests": numbers })).await.expect(201);
    (clone, numbers, stack.json["number"].as_u64().expect("a number"))
}

async fn show(world: &World, number: u64) -> Value {
    world.octocat.get(&format!("{REPO}/pulls/{number}")).await.expect(200).json
}

async fn ask(world: &World, number: u64, body: Value) -> Answer {
    world.octocat.put(&format!("{REPO}/pulls/{number}/merge-async"), body).await
}

/// Asks for the merge and waits for its end.
async fn merge(world: &World, number: u64, body: Value) -> Value {
    let asked = ask(world, number, body).await.expect(202).json;
    assert_eq!(asked["status"], "pending");
    let uuid = asked["details"]["uuid"].as_str().expect("a text");
    let path = format!("{REPO}/pulls/{number}/merge-async/{uuid}");
    eventually("the merge ends", || async {
        let result = world.octocat.get(&path).await.expect(200).json;
        (result["status"] != "pending").then_some(result)
    })
    .await
}

#[tokio::test]
async fn a_stack_is_made_read_and_listed() {
    let world = World::new().await;
    let (_, [_, two, three], stack) = stack_of_three(&world).await;
    let shown = world.octocat.get(&format!("{REPO}/stacks/{stack}")).await.expect(200).json;
    assert_eq!((&shown["base"]["ref"], &shown["open"]), (&json!("main"), &json!(true)));
    assert_eq!(shown["pull_requests"][1]["number"], two);
    assert_eq!(shown["pull_requests"][1]["base"]["ref"], "one");
    let pull = show(&world, two).await;
    assert_eq!((&pull["stack"]["position"], &pull["stack"]["size"]), (&json!(2), &json!(3)));
    assert_eq!(pull["stack"]["base"]["ref"], "main");
    for (query, count) in [("", 1), (&*format!("?pull_request={three}"), 1), ("?pull_request=99", 0)] {
        let list = world.octocat.get(&format!("{REPO}/stacks{query}")).await.expect(200).json;
        assert_eq!(list.as_array().unwrap().len(), count, "{query}");
    }
    world.octocat.get(&format!("{REPO}/stacks/99")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn only_a_line_of_open_pull_requests_makes_a_stack() {
    let world = World::new().await;
    let (clone, [one, two, three], stack) = stack_of_three(&world).await;
    let loose = world.pull(&clone, "loose", "main").await;
    let top = world.pull(&clone, "top", "three").await;
    let not_a_line = "Pull requests must form a stack, where each PR's base ref is the previous PR's head ref";
    for (numbers, expected) in [
        (json!([loose, top]), not_a_line),
        (json!([one, two]), "Pull request #1 is already part of a stack"),
        (json!([loose, 98, 99]), r#""code":"missing","value":[98,99]"#),
        (json!([loose]), r#""field":"pull_requests","code":"invalid""#),
    ] {
        let answer =
            world.octocat.post(&format!("{REPO}/stacks"), json!({ "pull_requests": numbers })).await.expect(422);
        assert!(answer.text.contains(expected), "{}", answer.text);
    }
    let add = |numbers: Value| {
        let path = format!("{REPO}/stacks/{stack}/add");
        let client = world.octocat.clone();
        async move { client.post(&path, json!({ "pull_requests": numbers })).await }
    };
    assert_eq!(add(json!([loose])).await.expect(422).json["message"], not_a_line);
    let longer = add(json!([top])).await.expect(200).json;
    assert_eq!(longer["pull_requests"].as_array().unwrap().len(), 4);
    assert_eq!(show(&world, three).await["stack"]["size"], 4);
    world.octocat.patch(&format!("{REPO}/pulls/{three}"), json!({ "base": "main" })).await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn a_stack_is_dissolved() {
    let world = World::new().await;
    let (_, [one, two, _], stack) = stack_of_three(&world).await;
    let merged = merge(&world, one, json!({ "merge_method": "squash" })).await;
    assert_eq!(merged["status"], "merged");
    let path = format!("{REPO}/stacks/{stack}/unstack");
    let rest = world.octocat.post(&path, json!({})).await.expect(200).json;
    assert_eq!(rest["pull_requests"].as_array().unwrap().len(), 1);
    assert_eq!(rest["open"], false);
    assert_eq!(show(&world, two).await.get("stack"), None);
    let refused = world.octocat.post(&path, json!({})).await.expect(422);
    assert_eq!(refused.json["message"], "Pull requests in this stack cannot be removed");
    world.finish().await;
}

#[tokio::test]
async fn an_untouched_stack_goes_with_its_pull_requests() {
    let world = World::new().await;
    let (_, _, stack) = stack_of_three(&world).await;
    world.octocat.post(&format!("{REPO}/stacks/{stack}/unstack"), json!({})).await.expect(204);
    world.octocat.get(&format!("{REPO}/stacks/{stack}")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_stack_refuses_the_synchronous_merge() {
    let world = World::new().await;
    let (_, [one, ..], _) = stack_of_three(&world).await;
    let answer = world.octocat.put(&format!("{REPO}/pulls/{one}/merge"), json!({})).await.expect(405);
    assert!(answer.json["message"].as_str().unwrap().contains("merge-async"), "{}", answer.text);
    assert_eq!(show(&world, one).await["state"], "open");
    world.finish().await;
}

#[tokio::test]
async fn a_whole_stack_lands_as_one_squash_each() {
    let world = World::new().await;
    let (clone, [one, two, three], stack) = stack_of_three(&world).await;
    let result = merge(&world, three, json!({ "merge_method": "squash", "commit_title": "The last" })).await;
    assert_eq!(result["details"]["message"], "Pull request was merged.");
    clone.git(&["fetch", "--quiet", "origin"]).await;
    let log = clone.git(&["log", "--format=%s|%an|%cn", "main..origin/main"]).await;
    assert_eq!(
        log,
        format!("The last|octocat|GitHub\nAdd two (#{two})|octocat|GitHub\nAdd one (#{one})|octocat|GitHub")
    );
    assert_eq!(result["details"]["sha"], clone.git(&["rev-parse", "origin/main"]).await);
    for number in [one, two, three] {
        let pull = show(&world, number).await;
        assert_eq!((&pull["merged"], &pull["changed_files"]), (&json!(true), &json!(1)), "{number}");
    }
    assert_eq!(world.octocat.get(&format!("{REPO}/stacks/{stack}")).await.json["open"], false);
    let again = ask(&world, three, json!({})).await.expect(200).json;
    assert_eq!((&again["status"], &again["details"]["sha"]), (&json!("merged"), &result["details"]["sha"]));
    world.finish().await;
}

#[tokio::test]
async fn layers_that_edit_the_same_line_land_in_order() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let mut numbers = Vec::new();
    for (branch, base, text) in [("one", "main", "1\n"), ("two", "one", "2\n"), ("three", "two", "3\n")] {
        clone.commit_on(branch, base, &[("same.txt", text)], branch).await;
        clone.push(branch).await;
        let new = json!({ "title": branch, "head": branch, "base": base });
        numbers
            .push(world.octocat.post(&format!("{REPO}/pulls"), new).await.expect(201).json["number"].as_u64().unwrap());
    }
    world.octocat.post(&format!("{REPO}/stacks"), json!({ "pull_requests": numbers })).await.expect(201);
    assert_eq!(merge(&world, numbers[1], json!({ "merge_method": "squash" })).await["status"], "merged");
    clone.git(&["fetch", "--quiet", "origin"]).await;
    assert_eq!(clone.git(&["show", "origin/main:same.txt"]).await, "2");
    assert_eq!(clone.git(&["show", "origin/main~1:same.txt"]).await, "1");
    let rest = show(&world, numbers[2]).await;
    assert_eq!((&rest["base"]["ref"], &rest["mergeable"]), (&json!("main"), &json!(true)));
    assert_eq!(
        (&rest["commits"], &rest["head"]["sha"]),
        (&json!(1), &json!(clone.git(&["rev-parse", "origin/three"]).await))
    );
    assert_eq!(clone.git(&["rev-parse", "origin/three~1"]).await, clone.git(&["rev-parse", "origin/main"]).await);
    world.finish().await;
}

#[tokio::test]
async fn a_stack_lands_whole_or_not_at_all() {
    let world = World::new().await;
    let (clone, [one, two, _], _) = stack_of_three(&world).await;
    let before = clone.git(&["ls-remote", "origin", "refs/heads/*"]).await;
    let protection = json!({
        "required_status_checks": { "strict": false, "contexts": ["test"] }, "enforce_admins": false,
        "restrictions": null, "required_pull_request_reviews": null,
    });
    world.octocat.put(&format!("{REPO}/branches/main/protection"), protection).await.expect(200);
    // The rules are those of the stack's base, for every layer.
    assert_eq!(show(&world, two).await["mergeable_state"], "blocked");
    let head = show(&world, one).await["head"]["sha"].clone();
    let status = json!({ "context": "test", "state": "success" });
    world.octocat.post(&format!("{REPO}/statuses/{}", head.as_str().unwrap()), status).await.expect(201);
    let result = merge(&world, two, json!({ "merge_method": "squash" })).await;
    assert_eq!(result["status"], "failed");
    assert_eq!(result["details"]["message"], "Required status check \"test\" is expected.");
    assert_eq!(clone.git(&["ls-remote", "origin", "refs/heads/*"]).await, before);
    assert_eq!(show(&world, one).await["state"], "open");
    world.finish().await;
}

#[tokio::test]
async fn a_closed_or_conflicting_layer_stops_the_merge() {
    let world = World::new().await;
    let (clone, [one, two, three], _) = stack_of_three(&world).await;
    clone.commit_on("main", "main", &[("two.txt", "mine")], "Collide").await;
    clone.push("main").await;
    let result = merge(&world, three, json!({ "merge_method": "squash" })).await;
    assert_eq!(result["details"]["message"], "Merge conflict: the pull request could not be merged.");
    world.octocat.patch(&format!("{REPO}/pulls/{one}"), json!({ "state": "closed" })).await.expect(200);
    let result = merge(&world, two, json!({ "merge_method": "squash" })).await;
    assert_eq!(result["details"]["message"], format!("Pull request #{one} is closed."));
    world.finish().await;
}

#[tokio::test]
async fn branches_of_a_landed_stack_are_deleted_where_the_repository_wants_it() {
    let world = World::new().await;
    let (_, [one, two, three], _) = stack_of_three(&world).await;
    world.octocat.patch(REPO, json!({ "delete_branch_on_merge": true })).await.expect(200);
    assert_eq!(merge(&world, two, json!({ "merge_method": "squash" })).await["status"], "merged");
    for (branch, status) in [("one", 404), ("two", 404), ("three", 200)] {
        world.octocat.get(&format!("{REPO}/branches/{branch}")).await.expect(status);
    }
    let rest = show(&world, three).await;
    assert_eq!((&rest["state"], &rest["base"]["ref"]), (&json!("open"), &json!("main")));
    assert_eq!(show(&world, one).await["merged"], true);
    world.finish().await;
}

#[tokio::test]
async fn an_asynchronous_merge_says_at_once_what_it_can() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    world.control("PATCH", "/settings", json!({ "merge_async_delay_ms": 3_600_000 })).await.expect(200);
    let wrong = ask(&world, number, json!({ "sha": "0".repeat(40) })).await.expect(400).json;
    assert_eq!(wrong["status"], "failed");
    ask(&world, number, json!({ "merge_action": "merge_queue" })).await.expect(422);
    let asked = ask(&world, number, json!({ "merge_method": "squash" })).await.expect(202).json;
    assert_eq!(asked["details"]["message"], "Merge request enqueued.");
    assert_eq!(asked["details"]["expected_head_sha"], clone.git(&["rev-parse", "feature"]).await);
    let again = ask(&world, number, json!({ "merge_method": "rebase" })).await.expect(409).json;
    assert_eq!(again["details"]["uuid"], asked["details"]["uuid"]);
    assert_eq!(again["details"]["merge_method"], "squash");
    let uuid = asked["details"]["uuid"].as_str().unwrap();
    let pending = world.octocat.get(&format!("{REPO}/pulls/{number}/merge-async/{uuid}")).await.expect(200).json;
    assert_eq!(
        (&pending["status"], &pending["details"]["message"]),
        (&json!("pending"), &json!("Merge request is in progress."))
    );
    world.octocat.get(&format!("{REPO}/pulls/{number}/merge-async/nothing")).await.expect(404);
    let closed = world.pull(&clone, "closed", "main").await;
    world.octocat.patch(&format!("{REPO}/pulls/{closed}"), json!({ "state": "closed" })).await.expect(200);
    assert_eq!(ask(&world, closed, json!({})).await.expect(400).json["details"]["message"], "Pull request is closed.");
    ask(&world, 99, json!({})).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn an_asynchronous_merge_survives_a_restart_and_is_forgotten_after_a_day() {
    let mut world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    world.control("PATCH", "/settings", json!({ "merge_async_delay_ms": 60_000 })).await.expect(200);
    let asked = ask(&world, number, json!({ "merge_method": "squash" })).await.expect(202).json;
    let path = format!("{REPO}/pulls/{number}/merge-async/{}", asked["details"]["uuid"].as_str().unwrap());
    world.restart().await;
    assert_eq!(world.octocat.get(&path).await.expect(200).json["status"], "pending");
    world.control("POST", "/clock", json!({ "advance_seconds": 61 })).await.expect(200);
    eventually("the merge lands", || async {
        (world.octocat.get(&path).await.json["status"] == "merged").then_some(())
    })
    .await;
    assert_eq!(show(&world, number).await["merged"], true);
    world.control("POST", "/clock", json!({ "advance_seconds": 90_000 })).await.expect(200);
    world.octocat.get(&path).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_push_cancels_the_asynchronous_merge() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    world.control("PATCH", "/settings", json!({ "merge_async_delay_ms": 60_000 })).await.expect(200);
    let asked = ask(&world, number, json!({})).await.expect(202).json;
    clone.commit_on("feature", "main", &[("x.txt", "x")], "More").await;
    clone.push("feature").await;
    world.control("POST", "/clock", json!({ "advance_seconds": 61 })).await.expect(200);
    let path = format!("{REPO}/pulls/{number}/merge-async/{}", asked["details"]["uuid"].as_str().unwrap());
    let failed = eventually("the merge fails", || async {
        let result = world.octocat.get(&path).await.json;
        (result["status"] == "failed").then_some(result)
    })
    .await;
    assert_eq!(failed["details"]["message"], "Head branch was modified. Review and try the merge again.");
    world.finish().await;
}
