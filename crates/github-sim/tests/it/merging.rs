//! Merging: methods, messages, refusals, and what follows from a merge.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Clone, Receiver, World};

const REPO: &str = "/repos/octocat/r";

async fn merge(client: &Client, number: u64, body: Value) -> Answer {
    client.put(&format!("{REPO}/pulls/{number}/merge"), body).await
}

async fn squash(client: &Client, number: u64) -> String {
    let answer = merge(client, number, json!({ "merge_method": "squash" })).await.expect(200).json;
    answer["sha"].as_str().expect("a text").to_owned()
}

async fn refusal(client: &Client, number: u64, body: Value, status: u16) -> String {
    merge(client, number, body).await.expect(status).json["message"].as_str().expect("a text").to_owned()
}

async fn show(client: &Client, number: u64) -> Value {
    client.get(&format!("{REPO}/pulls/{number}")).await.expect(200).json
}

/// What `git show` prints of a commit that landed.
async fn landed(clone: &Clone, sha: &str, format: &str) -> String {
    clone.git(&["fetch", "--quiet", "origin"]).await;
    clone.git(&["show", "--no-patch", &format!("--format={format}"), sha]).await
}

async fn settings(world: &World, settings: Value) {
    world.octocat.patch(REPO, settings).await.expect(200);
}

/// Opens a pull request whose commits have these messages.
async fn pull_of(world: &World, clone: &Clone, branch: &str, messages: &[&str]) -> u64 {
    for (at, message) in messages.iter().enumerate() {
        clone.commit_on(branch, "main", &[(&format!("{branch}{at}.txt"), message)], message).await;
    }
    clone.push(branch).await;
    let new = json!({ "title": format!("The {branch}"), "head": branch, "base": "main", "body": "Because." });
    world.octocat.post(&format!("{REPO}/pulls"), new).await.expect(201).json["number"].as_u64().expect("a number")
}

#[tokio::test]
async fn a_squash_is_one_commit_by_the_author_committed_by_github() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let base = clone.git(&["rev-parse", "main"]).await;
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["*"] });
    world.octocat.post(&format!("{REPO}/hooks"), hook).await.expect(201);
    let answer = merge(&world.octocat, number, json!({ "merge_method": "squash" })).await.expect(200).json;
    assert_eq!((&answer["merged"], &answer["message"]), (&json!(true), &json!("Pull Request successfully merged")));
    let sha = answer["sha"].as_str().unwrap();
    let line = landed(&clone, sha, "%P|%an|%cn|%ce|%s").await;
    assert_eq!(line, format!("{base}|octocat|GitHub|noreply@github.com|Add feature (#{number})"));
    assert!(landed(&clone, sha, "%ae").await.ends_with("+octocat@users.noreply.github.com"));
    assert_eq!(clone.git(&["rev-parse", "origin/main"]).await, sha);
    assert_eq!(clone.git(&["show", &format!("{sha}:feature.txt")]).await, "feature");
    let pull = show(&world.octocat, number).await;
    assert_eq!((&pull["merged"], &pull["state"]), (&json!(true), &json!("closed")));
    assert_eq!((&pull["merge_commit_sha"], &pull["merged_by"]["login"]), (&json!(sha), &json!("octocat")));
    assert_eq!((&pull["base"]["sha"], &pull["commits"]), (&json!(base), &json!(1)));
    world.octocat.get(&format!("{REPO}/pulls/{number}/merge")).await.expect(204);
    let push = receiver.expect("push").await.json;
    assert_eq!((&push["ref"], &push["after"]), (&json!("refs/heads/main"), &json!(sha)));
    let closed = receiver.expect("pull_request.closed").await.json;
    assert_eq!((&closed["pull_request"]["merged"], &closed["sender"]["login"]), (&json!(true), &json!("octocat")));
    world.finish().await;
}

#[tokio::test]
async fn a_squash_of_one_commit_has_its_title_and_body() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = pull_of(&world, &clone, "one", &["Fix it\n\nBy hand.\n\nTwice."]).await;
    let sha = squash(&world.octocat, number).await;
    assert_eq!(landed(&clone, &sha, "%B").await, format!("Fix it (#{number})\n\nBy hand.\n\nTwice."));
    world.finish().await;
}

#[tokio::test]
async fn a_squash_of_several_commits_lists_them_under_the_pull_request_s_title() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = pull_of(&world, &clone, "many", &["First", "Second\n\nWith a body.", "Third"]).await;
    let sha = squash(&world.octocat, number).await;
    let expected = format!("The many (#{number})\n\n* First\n\n* Second\n\nWith a body.\n\n* Third");
    assert_eq!(landed(&clone, &sha, "%B").await, expected);
    world.finish().await;
}

#[tokio::test]
async fn a_squash_credits_everyone_else_who_wrote_a_commit() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    clone.commit_on("team", "main", &[("a.txt", "a")], "Mine").await;
    clone.git(&["commit", "--quiet", "--allow-empty", "--author=Ann Bee <ann@bee.org>", "-m", "Hers"]).await;
    let credited = "Ours\n\nCo-authored-by: Cy Dee <cy@dee.org>\nCo-authored-by: Ann Bee <ann@bee.org>";
    clone.git(&["commit", "--quiet", "--allow-empty", "-m", credited]).await;
    let number = pull_of(&world, &clone, "team", &[]).await;
    let sha = squash(&world.octocat, number).await;
    let message = landed(&clone, &sha, "%B").await;
    let (_, credits) = message.split_once("\n\n---------\n\n").expect("credits");
    assert_eq!(credits, "Co-authored-by: Ann Bee <ann@bee.org>\nCo-authored-by: Cy Dee <cy@dee.org>");
    clone.git(&["checkout", "--quiet", "-b", "hers", "origin/main"]).await;
    clone.git(&["commit", "--quiet", "--allow-empty", "--author=Ann Bee <ann@bee.org>", "-m", "Alone"]).await;
    let number = pull_of(&world, &clone, "hers", &[]).await;
    let sha = squash(&world.octocat, number).await;
    let expected = format!("Alone (#{number})\n\nCo-authored-by: Ann Bee <ann@bee.org>");
    assert_eq!(landed(&clone, &sha, "%B").await, expected);
    world.finish().await;
}

#[tokio::test]
async fn a_squash_s_words_follow_the_repository_s_settings() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    for (branch, title, message, expected) in [
        ("a", "PR_TITLE", "PR_BODY", "The a (#N)\n\nBecause."),
        ("b", "PR_TITLE", "BLANK", "The b (#N)"),
        ("c", "PR_TITLE", "COMMIT_MESSAGES", "The c (#N)\n\nWhy."),
        ("d", "COMMIT_OR_PR_TITLE", "COMMIT_MESSAGES", "What (#N)\n\nWhy."),
    ] {
        let new = json!({ "squash_merge_commit_title": title, "squash_merge_commit_message": message });
        settings(&world, new).await;
        let number = pull_of(&world, &clone, branch, &["What\n\nWhy."]).await;
        let sha = squash(&world.octocat, number).await;
        let expected = expected.replace('N', &number.to_string());
        assert_eq!(landed(&clone, &sha, "%B").await, expected, "{title} {message}");
    }
    world.finish().await;
}

#[tokio::test]
async fn the_caller_s_own_words_are_taken_as_they_are() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = pull_of(&world, &clone, "mine", &["One", "Two"]).await;
    let body = json!({ "merge_method": "squash", "commit_title": "My title", "commit_message": "My words" });
    let answer = merge(&world.octocat, number, body).await.expect(200).json;
    assert_eq!(landed(&clone, answer["sha"].as_str().unwrap(), "%B").await, "My title\n\nMy words");
    let number = pull_of(&world, &clone, "blank", &["One", "Two"]).await;
    let body = json!({ "merge_method": "squash", "commit_message": "" });
    let answer = merge(&world.octocat, number, body).await.expect(200).json;
    assert_eq!(landed(&clone, answer["sha"].as_str().unwrap(), "%B").await, format!("The blank (#{number})"));
    world.finish().await;
}

#[tokio::test]
async fn a_merge_commit_has_both_parents_and_github_s_words() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let (base, head) = (clone.git(&["rev-parse", "main"]).await, clone.git(&["rev-parse", "feature"]).await);
    let answer = merge(&world.octocat, number, json!({})).await.expect(200).json;
    let expected =
        format!("{base} {head}|octocat|GitHub|Merge pull request #{number} from octocat/feature\n\nAdd feature");
    assert_eq!(landed(&clone, answer["sha"].as_str().unwrap(), "%P|%an|%cn|%B").await, expected);
    settings(&world, json!({ "merge_commit_title": "PR_TITLE", "merge_commit_message": "PR_BODY" })).await;
    let number = world.pull(&clone, "other", "main").await;
    let answer = merge(&world.octocat, number, json!({ "merge_method": "merge" })).await.expect(200).json;
    let expected = format!("Add other (#{number})\n\nAbout other.");
    assert_eq!(landed(&clone, answer["sha"].as_str().unwrap(), "%B").await, expected);
    world.finish().await;
}

#[tokio::test]
async fn a_rebase_replays_each_commit() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = pull_of(&world, &clone, "many", &["First", "Second\n\nWith a body."]).await;
    let tip = clone.commit_on("main", "main", &[("m.txt", "m")], "Move on").await;
    clone.push("main").await;
    let answer = merge(&world.octocat, number, json!({ "merge_method": "rebase" })).await.expect(200).json;
    let sha = answer["sha"].as_str().unwrap();
    clone.git(&["fetch", "--quiet", "origin"]).await;
    let log = clone.git(&["log", "--format=%s|%an", &format!("{tip}..{sha}")]).await;
    assert_eq!(log, "Second|octocat\nFirst|octocat");
    assert_eq!(clone.git(&["rev-parse", &format!("{sha}~2")]).await, tip);
    world.finish().await;
}

#[tokio::test]
async fn of_twenty_merges_at_once_exactly_one_succeeds() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let attempts: Vec<_> = (0..20)
        .map(|_| {
            let client = world.octocat.clone();
            tokio::spawn(async move { merge(&client, number, json!({ "merge_method": "squash" })).await })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap().status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200);
    assert!(statuses[1..].iter().all(|status| *status == 405), "{statuses:?}");
    clone.git(&["fetch", "--quiet", "origin"]).await;
    assert_eq!(clone.git(&["rev-list", "--count", "main..origin/main"]).await, "1");
    world.finish().await;
}

#[tokio::test]
async fn different_pull_requests_merged_at_once_all_land() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let mut attempts = Vec::new();
    for branch in ["a", "b", "c", "d", "e"] {
        let (client, number) = (world.octocat.clone(), world.pull(&clone, branch, "main").await);
        attempts.push(tokio::spawn(async move { squash(&client, number).await }));
    }
    for attempt in attempts {
        attempt.await.unwrap();
    }
    clone.git(&["fetch", "--quiet", "origin"]).await;
    assert_eq!(clone.git(&["rev-list", "--count", "main..origin/main"]).await, "5");
    let files = clone.git(&["ls-tree", "--name-only", "origin/main"]).await;
    assert!(["a", "b", "c", "d", "e"].iter().all(|name| files.contains(&format!("{name}.txt"))), "{files}");
    world.finish().await;
}

#[tokio::test]
async fn what_is_not_mergeable_is_a_405() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    clone.commit_on("draft", "main", &[("d.txt", "d")], "Draft").await;
    clone.push("draft").await;
    let new = json!({ "title": "Draft", "head": "draft", "base": "main", "draft": true });
    let draft = world.octocat.post(&format!("{REPO}/pulls"), new).await.expect(201).json;
    assert_eq!(draft["draft"], true);
    let draft = draft["number"].as_u64().unwrap();
    assert_eq!(show(&world.octocat, draft).await["mergeable_state"], "blocked");
    assert_eq!(refusal(&world.octocat, draft, json!({}), 405).await, "Pull Request is still a draft");
    let closed = world.pull(&clone, "closed", "main").await;
    world.octocat.patch(&format!("{REPO}/pulls/{closed}"), json!({ "state": "closed" })).await.expect(200);
    assert_eq!(refusal(&world.octocat, closed, json!({}), 405).await, "Pull Request is not mergeable");
    let conflict = world.pull(&clone, "conflict", "main").await;
    clone.commit_on("main", "main", &[("conflict.txt", "mine")], "Collide").await;
    clone.push("main").await;
    let pull = show(&world.octocat, conflict).await;
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&json!(false), &json!("dirty")));
    assert_eq!(refusal(&world.octocat, conflict, json!({}), 405).await, "Pull Request is not mergeable");
    let odd = json!({ "merge_method": "octopus" });
    merge(&world.octocat, conflict, odd).await.expect(422);
    world.octocat.put(&format!("{REPO}/pulls/99/merge"), json!({})).await.expect(404);
    let stranger = world.user("stranger").await;
    merge(&stranger, conflict, json!({})).await.expect(403);
    world.finish().await;
}

#[tokio::test]
async fn a_head_that_moved_is_not_merged() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let old = clone.git(&["rev-parse", "feature"]).await;
    let new = clone.commit_on("feature", "main", &[("x.txt", "x")], "More").await;
    clone.push("feature").await;
    let message = refusal(&world.octocat, number, json!({ "sha": old }), 409).await;
    assert_eq!(message, "Head branch was modified. Review and try the merge again.");
    merge(&world.octocat, number, json!({ "sha": new, "merge_method": "squash" })).await.expect(200);
    world.finish().await;
}

#[tokio::test]
async fn methods_the_repository_does_not_allow_are_refused() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    for (setting, method, expected) in [
        ("allow_merge_commit", "merge", "Merge commits are not allowed on this repository."),
        ("allow_rebase_merge", "rebase", "Rebase merges are not allowed on this repository."),
        ("allow_squash_merge", "squash", "Squash merges are not allowed on this repository."),
    ] {
        let mut new = json!({ "allow_merge_commit": true, "allow_rebase_merge": true, "allow_squash_merge": true });
        new[setting] = false.into();
        settings(&world, new).await;
        let body = json!({ "merge_method": method });
        assert_eq!(refusal(&world.octocat, number, body, 405).await, expected);
    }
    world.finish().await;
}

/// Protects main for everyone, and lets alice write.
async fn protect(world: &World, checks: Value, reviews: Value) -> Client {
    let alice = world.user("alice").await;
    world.octocat.put(&format!("{REPO}/collaborators/alice"), json!({ "permission": "push" })).await;
    let protection = json!({
        "required_status_checks": checks, "enforce_admins": true, "restrictions": null,
        "required_pull_request_reviews": reviews, "required_conversation_resolution": true,
    });
    world.octocat.put(&format!("{REPO}/branches/main/protection"), protection).await.expect(200);
    alice
}

async fn report(world: &World, sha: &Value, context: &str, state: &str) {
    let path = format!("{REPO}/statuses/{}", sha.as_str().expect("a text"));
    world.octocat.post(&path, json!({ "context": context, "state": state })).await.expect(201);
}

#[tokio::test]
async fn required_checks_hold_a_merge_back() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    protect(&world, json!({ "strict": true, "contexts": ["build", "test"] }), Value::Null).await;
    let number = world.pull(&clone, "feature", "main").await;
    let head = show(&world.octocat, number).await["head"]["sha"].clone();
    let squash = || json!({ "merge_method": "squash" });
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "blocked");
    let message = refusal(&world.octocat, number, squash(), 405).await;
    assert_eq!(message, "2 of 2 required status checks are expected.");
    report(&world, &head, "build", "success").await;
    let message = refusal(&world.octocat, number, squash(), 405).await;
    assert_eq!(message, "Required status check \"test\" is expected.");
    report(&world, &head, "test", "pending").await;
    let message = refusal(&world.octocat, number, squash(), 405).await;
    assert_eq!(message, "Required status check \"test\" is pending.");
    report(&world, &head, "test", "failure").await;
    let message = refusal(&world.octocat, number, squash(), 405).await;
    assert_eq!(message, "Required status check \"test\" is failing.");
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "blocked");
    report(&world, &head, "test", "success").await;
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "clean");
    report(&world, &head, "optional", "failure").await;
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "unstable");
    let other = world.pull(&clone, "other", "main").await;
    merge(&world.octocat, number, squash()).await.expect(200);
    let head = show(&world.octocat, other).await["head"]["sha"].clone();
    report(&world, &head, "build", "success").await;
    report(&world, &head, "test", "success").await;
    assert_eq!(show(&world.octocat, other).await["mergeable_state"], "behind");
    let message = refusal(&world.octocat, other, squash(), 405).await;
    assert_eq!(message, "2 of 2 required status checks are expected.");
    world.finish().await;
}

#[tokio::test]
async fn required_reviews_hold_a_merge_back() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let alice = protect(&world, Value::Null, json!({ "required_approving_review_count": 1 })).await;
    let stranger = world.user("stranger").await;
    let number = world.pull(&clone, "feature", "main").await;
    let reviews = format!("{REPO}/pulls/{number}/reviews");
    let missing = "At least 1 approving review is required by reviewers with write access.";
    assert_eq!(refusal(&world.octocat, number, json!({}), 405).await, missing);
    stranger.post(&reviews, json!({ "event": "APPROVE" })).await.expect(200);
    assert_eq!(refusal(&world.octocat, number, json!({}), 405).await, missing);
    alice.post(&reviews, json!({ "event": "REQUEST_CHANGES", "body": "No." })).await.expect(200);
    assert_eq!(refusal(&world.octocat, number, json!({}), 405).await, "Changes have been requested.");
    alice.post(&reviews, json!({ "event": "APPROVE" })).await.expect(200);
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "clean");
    let head = show(&world.octocat, number).await["head"]["sha"].clone();
    let comment = json!({ "body": "Why?", "commit_id": head, "path": "feature.txt", "line": 1 });
    alice.post(&format!("{REPO}/pulls/{number}/comments"), comment).await.expect(201);
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "blocked");
    assert_eq!(refusal(&world.octocat, number, json!({}), 405).await, "All comments must be resolved.");
    world.finish().await;
}

#[tokio::test]
async fn an_administrator_passes_a_protection_that_does_not_bind_them() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let protection = json!({
        "required_status_checks": { "strict": false, "contexts": ["test"] }, "enforce_admins": false,
        "restrictions": null, "required_pull_request_reviews": null,
    });
    world.octocat.put(&format!("{REPO}/branches/main/protection"), protection).await.expect(200);
    let alice = world.user("alice").await;
    world.octocat.put(&format!("{REPO}/collaborators/alice"), json!({ "permission": "push" })).await;
    let number = world.pull(&clone, "feature", "main").await;
    let message = refusal(&alice, number, json!({}), 405).await;
    assert_eq!(message, "Required status check \"test\" is expected.");
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "blocked");
    merge(&world.octocat, number, json!({})).await.expect(200);
    world.finish().await;
}

#[tokio::test]
async fn rulesets_are_named_in_the_refusal() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let ruleset = json!({
        "name": "main", "target": "branch", "enforcement": "active",
        "conditions": { "ref_name": { "include": ["~DEFAULT_BRANCH"], "exclude": [] } },
        "rules": [
            { "type": "required_status_checks", "parameters": {
                "strict_required_status_checks_policy": false, "required_status_checks": [{ "context": "test" }] } },
            { "type": "required_linear_history" },
        ],
    });
    world.octocat.post(&format!("{REPO}/rulesets"), ruleset).await.expect(201);
    let number = world.pull(&clone, "feature", "main").await;
    let expected = "Repository rule violations found\n\nRequired status check \"test\" is expected.\n\n";
    assert_eq!(refusal(&world.octocat, number, json!({ "merge_method": "squash" }), 405).await, expected);
    let head = show(&world.octocat, number).await["head"]["sha"].clone();
    report(&world, &head, "test", "success").await;
    let expected = "Repository rule violations found\n\nThis branch must not contain merge commits.\n\n";
    assert_eq!(refusal(&world.octocat, number, json!({ "merge_method": "merge" }), 405).await, expected);
    squash(&world.octocat, number).await;
    world.finish().await;
}

#[tokio::test]
async fn the_head_branch_goes_with_the_merge_and_dependants_are_retargeted() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    settings(&world, json!({ "delete_branch_on_merge": true })).await;
    let below = world.pull(&clone, "one", "main").await;
    let above = world.pull(&clone, "two", "one").await;
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["*"] });
    world.octocat.post(&format!("{REPO}/hooks"), hook).await.expect(201);
    let head = clone.git(&["rev-parse", "one"]).await;
    squash(&world.octocat, below).await;
    world.octocat.get(&format!("{REPO}/branches/one")).await.expect(404);
    assert_eq!(receiver.expect("delete").await.json["ref"], "one");
    let edited = receiver.expect("pull_request.edited").await.json;
    assert_eq!((&edited["number"], &edited["changes"]["base"]["ref"]["from"]), (&json!(above), &json!("one")));
    let pull = show(&world.octocat, above).await;
    assert_eq!((&pull["state"], &pull["base"]["ref"]), (&json!("open"), &json!("main")));
    let fresh = world.clone_of("octocat", "r").await;
    fresh.git(&["fetch", "--quiet", "origin", &format!("refs/pull/{below}/head")]).await;
    assert_eq!(fresh.git(&["rev-parse", "FETCH_HEAD"]).await, head);
    world.finish().await;
}

#[tokio::test]
async fn a_fork_s_branch_stays() {
    let world = World::new().await;
    world.repo("r").await;
    settings(&world, json!({ "delete_branch_on_merge": true })).await;
    let alice = world.user("alice").await;
    alice.post(&format!("{REPO}/forks"), json!({})).await.expect(202);
    let clone = Clone::new(&world.url(), &alice, "alice", "r").await;
    clone.commit_on("idea", "main", &[("idea.txt", "1")], "Idea").await;
    clone.push("idea").await;
    let new = json!({ "title": "Idea", "head": "alice:idea", "base": "main" });
    let number = alice.post(&format!("{REPO}/pulls"), new).await.expect(201).json["number"].as_u64().unwrap();
    squash(&world.octocat, number).await;
    alice.get("/repos/alice/r/branches/idea").await.expect(200);
    let pull = show(&world.octocat, number).await;
    assert_eq!((&pull["merged"], &pull["merged_by"]["login"]), (&json!(true), &json!("octocat")));
    world.finish().await;
}

#[tokio::test]
async fn the_merge_commit_s_sha_lags_when_told_to() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let fault = json!({ "kind": "lag_merge_commit_sha", "ms": 60_000 });
    world.control("POST", "/faults", fault).await.expect(201);
    let sha = squash(&world.octocat, number).await;
    assert_eq!(show(&world.octocat, number).await["merge_commit_sha"], Value::Null);
    world.control("POST", "/clock", json!({ "advance_seconds": 61 })).await.expect(200);
    assert_eq!(show(&world.octocat, number).await["merge_commit_sha"], sha);
    world.finish().await;
}

#[tokio::test]
async fn a_squash_goes_wrong_when_told_to() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    for how in ["revert_base", "lose_change", "two_parents", "rebase"] {
        let number = pull_of(&world, &clone, how, &["One", "Two"]).await;
        let before = clone.git(&["ls-remote", "origin", "main"]).await;
        clone.git(&["fetch", "--quiet", "origin"]).await;
        clone.git(&["checkout", "--quiet", "--detach", "origin/main"]).await;
        clone.commit_on("main", "main", &[(&format!("{how}-base.txt"), "b")], "Base moves").await;
        clone.git(&["pull", "--quiet", "--rebase", "origin", "main"]).await;
        clone.push("main").await;
        world.control("POST", "/faults", json!({ "kind": "wrong_squash", "how": how })).await.expect(201);
        let sha = squash(&world.octocat, number).await;
        clone.git(&["fetch", "--quiet", "origin"]).await;
        let parents = clone.git(&["show", "--no-patch", "--format=%P", &sha]).await.split(' ').count();
        let files = clone.git(&["ls-tree", "--name-only", &sha]).await;
        let (base_kept, landed) = (files.contains(&format!("{how}-base.txt")), files.contains(&format!("{how}1.txt")));
        match how {
            "revert_base" => assert!(!base_kept && landed, "{before} {files}"),
            "lose_change" => assert!(base_kept && !landed, "{files}"),
            "two_parents" => assert_eq!(parents, 2),
            _ => assert_eq!(clone.git(&["rev-list", "--count", &format!("main..{sha}")]).await, "2"),
        }
        clone.git(&["checkout", "--quiet", "main"]).await;
        clone.git(&["reset", "--quiet", "--hard", "origin/main"]).await;
    }
    world.finish().await;
}

#[tokio::test]
async fn a_merged_pull_request_is_the_same_after_a_restart() {
    let mut world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    squash(&world.octocat, number).await;
    // The port is another one after the restart.
    async fn shown(world: &World, number: u64) -> String {
        let host = world.url().replace("http://", "");
        show(&world.octocat, number).await.to_string().replace(&host, "host")
    }
    let before = shown(&world, number).await;
    world.restart().await;
    assert_eq!(shown(&world, number).await, before);
    world.finish().await;
}

#[tokio::test]
async fn a_merge_whose_caller_hangs_up_happens_whole_or_not_at_all() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    settings(&world, json!({ "delete_branch_on_merge": true })).await;
    let mut numbers = Vec::new();
    for at in 0..6 {
        numbers.push(world.pull(&clone, &format!("b{at}"), "main").await);
    }
    for (at, number) in numbers.iter().enumerate() {
        let attempt = merge(&world.octocat, *number, json!({ "merge_method": "squash" }));
        let patience = std::time::Duration::from_millis(15 * at as u64);
        let _ = tokio::time::timeout(patience, attempt).await;
    }
    for number in &numbers {
        let again = merge(&world.octocat, *number, json!({ "merge_method": "squash" })).await;
        assert!(again.status == 200 || again.status == 405, "{}", again.text);
        assert_eq!(show(&world.octocat, *number).await["merged"], true);
        let branch = format!("{REPO}/branches/b{}", number - numbers[0]);
        world.octocat.get(&branch).await.expect(404);
    }
    clone.git(&["fetch", "--quiet", "origin"]).await;
    assert_eq!(clone.git(&["rev-list", "--count", "main..origin/main"]).await, "6");
    world.finish().await;
}

#[tokio::test]
async fn a_pre_receive_hook_shows_in_the_merge_state() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    world.control("PATCH", "/repos/octocat/r", json!({ "has_pre_receive_hook": true })).await.expect(200);
    assert_eq!(show(&world.octocat, number).await["mergeable_state"], "has_hooks");
    squash(&world.octocat, number).await;
    world.finish().await;
}
