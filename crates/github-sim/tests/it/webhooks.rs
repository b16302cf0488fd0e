//! What webhooks tell of, to whom, and that it is signed.

use std::collections::BTreeSet;

use aws_lc_rs::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use serde_json::{Value, json};

use crate::support::{Clone, Receiver, Webhook, World, eventually};

/// HMAC as RFC 2104 has it, so that it is not the simulator's own that says the signature is right.
fn hmac(algorithm: &'static Algorithm, secret: &str, message: &[u8]) -> String {
    const BLOCK: usize = 64;
    let mut key = secret.as_bytes().to_vec();
    assert!(key.len() <= BLOCK, "a longer key would be hashed first");
    key.resize(BLOCK, 0);
    let padded = |pad: u8| key.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = digest(algorithm, &[padded(0x36).as_slice(), message].concat());
    let outer = digest(algorithm, &[padded(0x5c).as_slice(), inner.as_ref()].concat());
    hex::encode(outer)
}

fn check_signature(webhook: &Webhook, secret: &str) {
    assert_eq!(webhook.signature, format!("sha256={}", hmac(&SHA256, secret, &webhook.body)), "{}", webhook.name());
    let old = webhook.headers["x-hub-signature"].to_str().expect("ASCII");
    assert_eq!(old, format!("sha1={}", hmac(&SHA1_FOR_LEGACY_USE_ONLY, secret, &webhook.body)));
}

/// A repository with a hook that hears everything, and an app that does.
struct Scene {
    world: World,
    clone: Clone,
    hook: Receiver,
    app: Receiver,
}

const REPO: &str = "/repos/octocat/app";
const SECRET: &str = "a secret of the hook's";

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let (hook, app) = (Receiver::new().await, Receiver::new().await);
        world.control("PATCH", "/app", json!({ "webhook_url": app.url })).await.expect(200);
        let clone = world.repo("app").await;
        let config = json!({ "url": hook.url, "content_type": "json", "secret": SECRET });
        world.octocat.post(&format!("{REPO}/hooks"), json!({ "config": config, "events": ["*"] })).await.expect(201);
        hook.expect("ping").await;
        // The hook came after the first commit, the app before it.
        app.expect("create").await;
        app.expect("push").await;
        Self { world, clone, hook, app }
    }

    /// What both the hook and the app are told under this name.
    async fn expect(&self, name: &str) -> Value {
        let (to_hook, to_app) = (self.hook.expect(name).await, self.app.expect(name).await);
        check_signature(&to_hook, SECRET);
        check_signature(&to_app, &self.world.app_secret());
        let mut without = to_app.json.clone();
        assert!(
            without.as_object_mut().expect("an object").remove("installation").is_some(),
            "{name} has no installation"
        );
        assert_eq!(without, to_hook.json, "{name}");
        assert_eq!(to_hook.json["repository"]["full_name"], "octocat/app", "{name}");
        assert!(to_hook.json["sender"]["login"].is_string(), "{name}");
        to_hook.json
    }
}

#[tokio::test]
async fn pushes_and_refs_are_told_of() {
    let scene = Scene::new().await;
    let before = scene.clone.git(&["rev-parse", "HEAD"]).await;
    let first = scene.clone.commit_on("topic", "main", &[("a.txt", "a"), ("README.md", "new")], "Add a").await;
    let second = scene.clone.commit_on("topic", "main", &[("b.txt", "b")], "Add b\n\nAt length.").await;
    scene.clone.push("topic").await;
    let create = scene.expect("create").await;
    assert_eq!(
        (&create["ref"], &create["ref_type"], &create["master_branch"]),
        (&json!("topic"), &json!("branch"), &json!("main"))
    );
    let push = scene.expect("push").await;
    assert_eq!(push["ref"], "refs/heads/topic");
    assert_eq!((&push["created"], &push["deleted"], &push["forced"]), (&json!(true), &json!(false), &json!(false)));
    assert_eq!(push["before"], "0".repeat(40));
    assert_eq!((&push["after"], &push["head_commit"]["id"]), (&json!(second), &json!(second)));
    let commits: Vec<&Value> = push["commits"].as_array().unwrap().iter().map(|commit| &commit["id"]).collect();
    assert_eq!(commits, [&json!(first), &json!(second)]);
    assert_eq!(
        (&push["commits"][0]["added"], &push["commits"][0]["modified"]),
        (&json!(["a.txt"]), &json!(["README.md"]))
    );
    assert_eq!(push["pusher"]["name"], "octocat");

    scene.clone.git(&["reset", "--quiet", "--hard", &first]).await;
    scene.clone.git(&["push", "--quiet", "--force", "origin", "topic"]).await;
    let forced = scene.expect("push").await;
    assert_eq!((&forced["forced"], &forced["before"], &forced["commits"]), (&json!(true), &json!(second), &json!([])));
    let range = format!("/octocat/app/compare/{}...{}", &second[..12], &first[..12]);
    assert!(forced["compare"].as_str().unwrap().ends_with(&range), "{forced}");

    scene.clone.git(&["tag", "v1", &before]).await;
    scene.clone.git(&["push", "--quiet", "origin", "v1"]).await;
    assert_eq!(scene.expect("create").await["ref_type"], "tag");
    assert_eq!(scene.expect("push").await["base_ref"], "refs/heads/main");
    scene.clone.git(&["push", "--quiet", "origin", ":topic"]).await;
    assert_eq!(scene.expect("delete").await["ref"], "topic");
    let deleted = scene.expect("push").await;
    assert_eq!((&deleted["deleted"], &deleted["head_commit"]), (&json!(true), &Value::Null));
    scene.world.finish().await;
}

#[tokio::test]
async fn the_life_of_a_pull_request_is_told() {
    let scene = Scene::new().await;
    let Scene { world, clone, .. } = &scene;
    world.user("mona").await;
    world.octocat.put(&format!("{REPO}/collaborators/mona"), json!({ "permission": "push" })).await;
    let number = world.pull(clone, "topic", "main").await;
    let opened = scene.expect("pull_request.opened").await["pull_request"].clone();
    assert_eq!(
        (&opened["number"], &opened["mergeable"], &opened["mergeable_state"]),
        (&json!(number), &Value::Null, &json!("unknown"))
    );
    assert_eq!((&opened["commits"], &opened["additions"], &opened["changed_files"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(opened["head"]["repo"]["full_name"], "octocat/app");

    let (pull, issue) = (format!("{REPO}/pulls/{number}"), format!("{REPO}/issues/{number}"));
    world.octocat.patch(&pull, json!({ "title": "Better" })).await.expect(200);
    assert_eq!(scene.expect("pull_request.edited").await["changes"]["title"]["from"], "Add topic");
    world.octocat.post(&format!("{REPO}/labels"), json!({ "name": "ship", "color": "00ff00" })).await.expect(201);
    world.octocat.post(&format!("{issue}/labels"), json!({ "labels": ["ship"] })).await.expect(200);
    assert_eq!(scene.expect("pull_request.labeled").await["label"]["name"], "ship");
    assert_eq!(scene.expect("label.created").await["label"]["name"], "ship");
    world.octocat.delete(&format!("{issue}/labels/ship")).await.expect(200);
    assert_eq!(scene.expect("pull_request.unlabeled").await["label"]["name"], "ship");
    world.octocat.post(&format!("{issue}/assignees"), json!({ "assignees": ["mona"] })).await.expect(201);
    assert_eq!(scene.expect("pull_request.assigned").await["assignee"]["login"], "mona");
    world
        .octocat
        .send("DELETE", &format!("{issue}/assignees"), Some(json!({ "assignees": ["mona"] })))
        .await
        .expect(200);
    scene.expect("pull_request.unassigned").await;
    let reviewers = json!({ "reviewers": ["mona"] });
    world.octocat.post(&format!("{pull}/requested_reviewers"), reviewers.clone()).await.expect(201);
    assert_eq!(scene.expect("pull_request.review_requested").await["requested_reviewer"]["login"], "mona");
    world.octocat.send("DELETE", &format!("{pull}/requested_reviewers"), Some(reviewers)).await.expect(200);
    scene.expect("pull_request.review_request_removed").await;

    let id = opened["node_id"].clone();
    let draft = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }";
    world.octocat.graphql(draft, json!({ "id": id })).await;
    assert_eq!(scene.expect("pull_request.converted_to_draft").await["pull_request"]["draft"], true);
    let ready =
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }";
    world.octocat.graphql(ready, json!({ "id": id })).await;
    scene.expect("pull_request.ready_for_review").await;

    let before = opened["head"]["sha"].clone();
    let after = clone.commit_on("topic", "main", &[("more.txt", "more")], "More").await;
    clone.push("topic").await;
    let moved = scene.expect("pull_request.synchronize").await;
    assert_eq!(
        (&moved["before"], &moved["after"], &moved["pull_request"]["head"]["sha"]),
        (&before, &json!(after), &json!(after))
    );
    assert_eq!(moved["pull_request"]["commits"], 2);
    world.octocat.patch(&pull, json!({ "state": "closed" })).await.expect(200);
    assert_eq!(scene.expect("pull_request.closed").await["pull_request"]["merged"], false);
    world.octocat.patch(&pull, json!({ "state": "open" })).await.expect(200);
    scene.expect("pull_request.reopened").await;
    let merged =
        world.octocat.put(&format!("{pull}/merge"), json!({ "merge_method": "squash" })).await.expect(200).json;
    let closed = scene.expect("pull_request.closed").await["pull_request"].clone();
    assert_eq!((&closed["merged"], &closed["merge_commit_sha"]), (&json!(true), &merged["sha"]));
    scene.world.finish().await;
}

#[tokio::test]
async fn conversations_are_told_of() {
    let scene = Scene::new().await;
    let octocat = &scene.world.octocat;
    let issue = octocat.post(&format!("{REPO}/issues"), json!({ "title": "Talk" })).await.expect(201).json;
    scene.expect("issues.opened").await;
    let path = format!("{REPO}/issues/{}", issue["number"]);
    octocat.patch(&path, json!({ "title": "Talk more" })).await.expect(200);
    assert_eq!(scene.expect("issues.edited").await["changes"]["title"]["from"], "Talk");
    let comment = octocat.post(&format!("{path}/comments"), json!({ "body": "One" })).await.expect(201).json;
    assert_eq!(scene.expect("issue_comment.created").await["comment"]["id"], comment["id"]);
    let comment = format!("{REPO}/issues/comments/{}", comment["id"]);
    octocat.patch(&comment, json!({ "body": "Two" })).await.expect(200);
    assert_eq!(scene.expect("issue_comment.edited").await["changes"]["body"]["from"], "One");
    octocat.delete(&comment).await.expect(204);
    assert_eq!(scene.expect("issue_comment.deleted").await["comment"]["body"], "Two");
    octocat.patch(&path, json!({ "state": "closed" })).await.expect(200);
    scene.expect("issues.closed").await;
    octocat.patch(&path, json!({ "state": "open" })).await.expect(200);
    scene.expect("issues.reopened").await;
    let app = scene.world.installation("octocat/app").await;
    app.post(&format!("{path}/comments"), json!({ "body": "I am a bot" })).await.expect(201);
    let told = scene.expect("issue_comment.created").await;
    assert_eq!(told["comment"]["performed_via_github_app"]["slug"], "merge-train");
    assert_eq!(told["sender"]["login"], "merge-train[bot]");
    scene.world.finish().await;
}

#[tokio::test]
async fn reviews_are_told_of() {
    let scene = Scene::new().await;
    let Scene { world, clone, .. } = &scene;
    let mona = world.user("mona").await;
    world.octocat.put(&format!("{REPO}/collaborators/mona"), json!({ "permission": "push" })).await;
    let number = world.pull(clone, "topic", "main").await;
    let pull = format!("{REPO}/pulls/{number}");
    let new =
        json!({ "event": "APPROVE", "body": "Fine", "comments": [{ "path": "topic.txt", "line": 1, "body": "Why?" }] });
    let review = mona.post(&format!("{pull}/reviews"), new).await.expect(200).json;
    let submitted = scene.expect("pull_request_review.submitted").await;
    assert_eq!((&submitted["review"]["state"], &submitted["review"]["id"]), (&json!("approved"), &review["id"]));
    let comment = scene.expect("pull_request_review_comment.created").await["comment"].clone();
    let path = format!("{pull}/reviews/{}", review["id"]);
    mona.put(&path, json!({ "body": "Very fine" })).await.expect(200);
    assert_eq!(scene.expect("pull_request_review.edited").await["changes"]["body"]["from"], "Fine");
    let comment = format!("{REPO}/pulls/comments/{}", comment["id"]);
    mona.patch(&comment, json!({ "body": "Why not?" })).await.expect(200);
    assert_eq!(scene.expect("pull_request_review_comment.edited").await["changes"]["body"]["from"], "Why?");

    let query = "query($n: Int!) { repository(owner: \"octocat\", name: \"app\") { pullRequest(number: $n) {
        reviewThreads(first: 1) { nodes { id } } } } }";
    let found = world.octocat.graphql(query, json!({ "n": number })).await;
    let thread = found["repository"]["pullRequest"]["reviewThreads"]["nodes"][0]["id"].clone();
    for (mutation, event) in [
        ("resolveReviewThread", "pull_request_review_thread.resolved"),
        ("unresolveReviewThread", "pull_request_review_thread.unresolved"),
    ] {
        let text = format!("mutation($id: ID!) {{ {mutation}(input: {{threadId: $id}}) {{ clientMutationId }} }}");
        world.octocat.graphql(&text, json!({ "id": thread })).await;
        let told = scene.expect(event).await;
        assert_eq!((&told["thread"]["node_id"], &told["thread"]["comments"][0]["body"]), (&thread, &json!("Why not?")));
    }
    mona.delete(&comment).await.expect(204);
    scene.expect("pull_request_review_comment.deleted").await;
    world.octocat.put(&format!("{path}/dismissals"), json!({ "message": "Stale" })).await.expect(200);
    assert_eq!(scene.expect("pull_request_review.dismissed").await["review"]["state"], "dismissed");
    scene.world.finish().await;
}

#[tokio::test]
async fn checks_and_statuses_are_told_of() {
    let scene = Scene::new().await;
    let Scene { world, clone, .. } = &scene;
    let sha = clone.git(&["rev-parse", "HEAD"]).await;
    let app = world.installation("octocat/app").await;
    let run =
        app.post(&format!("{REPO}/check-runs"), json!({ "name": "lint", "head_sha": sha })).await.expect(201).json;
    assert_eq!(scene.expect("check_run.created").await["check_run"]["check_suite"]["head_sha"], json!(sha));
    let path = format!("{REPO}/check-runs/{}", run["id"]);
    app.patch(&path, json!({ "conclusion": "success" })).await.expect(200);
    scene.expect("check_run.completed").await;
    let suite = scene.expect("check_suite.completed").await["check_suite"].clone();
    assert_eq!((&suite["head_commit"]["id"], &suite["conclusion"]), (&json!(sha), &json!("success")));
    world.octocat.post(&format!("{path}/rerequest"), json!({})).await.expect(201);
    let asked = scene.app.expect("check_run.rerequested").await;
    check_signature(&asked, &world.app_secret());

    let path = format!("{REPO}/check-suites/{}/rerequest", suite["id"]);
    world.octocat.post(&path, json!({})).await.expect(201);
    scene.app.expect("check_suite.rerequested").await;

    let status = json!({ "state": "success", "context": "ci/test", "description": "All good" });
    world.octocat.post(&format!("{REPO}/statuses/{sha}"), status).await.expect(201);
    let told = scene.expect("status").await;
    assert_eq!((&told["commit"]["sha"], &told["branches"][0]["name"]), (&json!(sha), &json!("main")));
    assert_eq!((&told["state"], &told["name"]), (&json!("success"), &json!("octocat/app")));

    let ci = json!({ "name": "CI", "checks": [{ "name": "test", "command": "true" }] });
    world.control("PUT", "/repos/octocat/app/ci", ci).await;
    clone.commit_on("main", "main", &[("c.txt", "c")], "Run it").await;
    clone.push("main").await;
    for name in ["requested", "in_progress", "completed"] {
        let told = scene.expect(&format!("workflow_run.{name}")).await;
        assert_eq!(
            (&told["workflow_run"]["display_title"], &told["workflow"]["name"]),
            (&json!("Run it"), &json!("CI"))
        );
    }
    let hook_heard: BTreeSet<String> = scene.hook.all().iter().map(Webhook::name).collect();
    assert!(
        !hook_heard.contains("check_run.rerequested") && !hook_heard.contains("check_suite.requested"),
        "{hook_heard:?}"
    );
    scene.world.finish().await;
}

#[tokio::test]
async fn a_repository_s_labels_are_told_of() {
    let scene = Scene::new().await;
    let octocat = &scene.world.octocat;
    octocat.post(&format!("{REPO}/labels"), json!({ "name": "ship", "color": "00ff00" })).await.expect(201);
    assert_eq!(scene.expect("label.created").await["label"]["color"], "00ff00");
    let change = json!({ "new_name": "land", "description": "Soon" });
    octocat.patch(&format!("{REPO}/labels/ship"), change).await.expect(200);
    let edited = scene.expect("label.edited").await;
    assert_eq!(edited["changes"], json!({ "name": { "from": "ship" }, "description": { "from": "" } }));
    octocat.delete(&format!("{REPO}/labels/land")).await.expect(204);
    assert_eq!(scene.expect("label.deleted").await["label"]["name"], "land");
    scene.world.finish().await;
}

#[tokio::test]
async fn an_organization_s_repository_says_so() {
    let world = World::new().await;
    world.control("POST", "/orgs", json!({ "login": "acme", "admins": ["octocat"] })).await.expect(201);
    let receiver = Receiver::new().await;
    world.control("PATCH", "/app", json!({ "webhook_url": receiver.url })).await.expect(200);
    world.octocat.post("/orgs/acme/repos", json!({ "name": "app", "auto_init": true })).await.expect(201);
    let installed = receiver.expect("installation.created").await;
    assert_eq!(installed.json["installation"]["target_type"], "Organization");
    world.octocat.post("/repos/acme/app/issues", json!({ "title": "Hear me" })).await.expect(201);
    let told = receiver.expect("issues.opened").await;
    assert_eq!(told.json["organization"]["login"], "acme");
    assert_eq!(told.json["installation"]["id"], installed.json["installation"]["id"]);
    world.finish().await;
}

#[tokio::test]
async fn an_app_hears_only_of_what_it_asked_for_and_where_it_is() {
    let world = World::new().await;
    world.repo("one").await;
    world.repo("two").await;
    let receiver = Receiver::new().await;
    let id = world.installation_id("octocat/one").await;
    world.control("PATCH", &format!("/installations/{id}"), json!({ "repositories": ["one"] })).await.expect(200);
    world.control("PATCH", "/app", json!({ "webhook_url": receiver.url, "events": ["issues"] })).await.expect(200);
    receiver.expect("ping").await;
    for name in ["two", "one"] {
        let issues = format!("/repos/octocat/{name}/issues");
        world.octocat.post(&issues, json!({ "title": name })).await.expect(201);
        world.octocat.post(&format!("{issues}/1/comments"), json!({ "body": name })).await.expect(201);
    }
    world.octocat.post("/repos/octocat/one/issues", json!({ "title": "last" })).await.expect(201);
    let heard: Vec<String> = eventually("both issues of one", || async {
        let all = receiver.all();
        let titles = all.iter().map(|told| format!("{} {}", told.name(), told.json["issue"]["title"]));
        (all.len() >= 2).then(|| titles.collect())
    })
    .await;
    assert_eq!(heard, ["issues.opened \"one\"", "issues.opened \"last\""]);
    world.finish().await;
}

#[tokio::test]
async fn one_slow_receiver_holds_up_no_other_and_order_is_kept() {
    let world = World::new().await;
    world.repo("app").await;
    let (slow, quick) = (Receiver::new().await, Receiver::new().await);
    for receiver in [&slow, &quick] {
        let config = json!({ "url": receiver.url, "content_type": "json" });
        world
            .octocat
            .post(&format!("{REPO}/hooks"), json!({ "config": config, "events": ["issues"] }))
            .await
            .expect(201);
        receiver.expect("ping").await;
    }
    slow.answer_next_after(std::time::Duration::from_secs(600));
    for n in 0..5 {
        world.octocat.post(&format!("{REPO}/issues"), json!({ "title": n.to_string() })).await.expect(201);
    }
    let titles = |receiver: &Receiver| -> Vec<String> {
        receiver.all().iter().map(|told| told.json["issue"]["title"].as_str().unwrap().to_owned()).collect()
    };
    eventually("the quick one has heard all", || async { (titles(&quick).len() == 5).then_some(()) }).await;
    assert_eq!(titles(&quick), ["0", "1", "2", "3", "4"]);
    assert_eq!(titles(&slow), ["0"]);
    world.finish().await;
}

#[tokio::test]
async fn what_was_not_sent_before_a_restart_is_sent_after_it() {
    let mut world = World::new().await;
    world.repo("app").await;
    let receiver = Receiver::new().await;
    let config = json!({ "url": receiver.url, "content_type": "json" });
    world.octocat.post(&format!("{REPO}/hooks"), json!({ "config": config, "events": ["issues"] })).await.expect(201);
    receiver.expect("ping").await;
    let late = json!({ "kind": "delay_webhook", "ms": 3_600_000 });
    world.control("POST", "/faults", late).await.expect(201);
    world.octocat.post(&format!("{REPO}/issues"), json!({ "title": "Late" })).await.expect(201);
    world.octocat.post(&format!("{REPO}/issues"), json!({ "title": "In time" })).await.expect(201);
    assert_eq!(receiver.expect("issues.opened").await.json["issue"]["title"], "In time");
    // What came of it is known only a moment after it came.
    eventually("one is done and one is not", || async {
        let all = world.control("GET", "/deliveries?event=issues", Value::Null).await.expect(200).json;
        (all[0]["state"] == "pending" && all[1]["state"] == "done").then_some(())
    })
    .await;
    world.restart().await;
    world.control("POST", "/clock", json!({ "advance_seconds": 3600 })).await.expect(200);
    assert_eq!(receiver.expect("issues.opened").await.json["issue"]["title"], "Late");
    world.finish().await;
}

#[tokio::test]
async fn only_the_newest_thousand_deliveries_of_a_receiver_are_kept() {
    let world = World::new().await;
    world.repo("app").await;
    let receiver = Receiver::new().await;
    let hooks = format!("{REPO}/hooks");
    let config = json!({ "url": receiver.url, "content_type": "json" });
    let hook = world.octocat.post(&hooks, json!({ "config": config })).await.expect(201).json["id"].clone();
    let ping = format!("{hooks}/{hook}/pings");
    for _ in 0..24 {
        let many = (0..50).map(|_| world.octocat.post(&ping, json!({})));
        futures_util::future::join_all(many).await;
    }
    eventually("all have come", || async { (receiver.count() == 1201).then_some(()) }).await;
    let kept = eventually("all are done", || async {
        let all = world.control("GET", "/deliveries", Value::Null).await.expect(200).json;
        let all = all.as_array().unwrap().clone();
        all.iter().all(|one| one["state"] == "done").then_some(all)
    })
    .await;
    assert!((1000..=1100).contains(&kept.len()), "{}", kept.len());
    let last = receiver.all().pop().unwrap().delivery;
    assert_eq!(kept.last().unwrap()["guid"], last);
    world.finish().await;
}
