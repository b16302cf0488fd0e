//! Check runs and check suites, written by the app.

use serde_json::{Value, json};

use crate::support::{Client, Clone, Receiver, World};

const RUNS: &str = "/repos/octocat/app/check-runs";

struct Scene {
    world: World,
    clone: Clone,
    app: Client,
    sha: String,
}

async fn scene() -> Scene {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let app = world.installation("octocat/app").await;
    let sha = clone.git(&["rev-parse", "HEAD"]).await;
    Scene { world, clone, app, sha }
}

impl Scene {
    async fn create(&self, more: Value) -> Value {
        let mut body = json!({ "name": "build", "head_sha": self.sha });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        self.app.post(RUNS, body).await.expect(201).json
    }

    async fn update(&self, run: &Value, body: Value) -> Value {
        self.app.patch(&format!("{RUNS}/{}", run["id"]), body).await.expect(200).json
    }

    async fn suite(&self, run: &Value) -> Value {
        let path = format!("/repos/octocat/app/check-suites/{}", run["check_suite"]["id"]);
        self.world.octocat.get(&path).await.expect(200).json
    }

    async fn hook(&self, events: &[&str]) -> Receiver {
        let receiver = Receiver::new().await;
        let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": events });
        self.world.octocat.post("/repos/octocat/app/hooks", hook).await.expect(201);
        receiver
    }

    async fn names_of(&self, path: &str) -> Vec<String> {
        let answer = self.world.octocat.get(path).await.expect(200);
        let runs = answer.json["check_runs"].as_array().expect("runs");
        assert_eq!(answer.json["total_count"], runs.len());
        runs.iter().map(|run| run["name"].as_str().expect("a name").to_owned()).collect()
    }
}

#[tokio::test]
async fn a_check_run_goes_from_queued_to_completed() {
    let scene = scene().await;
    let receiver = scene.hook(&["check_run", "check_suite"]).await;
    let run = scene.create(json!({ "external_id": "42" })).await;
    assert_eq!((run["status"].as_str(), run["conclusion"].as_str()), (Some("queued"), None));
    assert_eq!((run["external_id"].as_str(), run["app"]["slug"].as_str()), (Some("42"), Some("merge-train")));
    assert_eq!(run["details_url"], run["app"]["external_url"]);
    let created = receiver.expect("check_run.created").await;
    assert_eq!(created.json["check_run"]["id"], run["id"]);
    assert_eq!(scene.suite(&run).await["status"], "queued");

    let run = scene.update(&run, json!({ "status": "in_progress" })).await;
    assert_eq!(run["status"], "in_progress");
    assert_eq!(scene.suite(&run).await["status"], "in_progress");

    let run = scene.update(&run, json!({ "conclusion": "success" })).await;
    assert_eq!((run["status"].as_str(), run["conclusion"].as_str()), (Some("completed"), Some("success")));
    assert!(run["completed_at"].is_string());
    let completed = receiver.expect("check_run.completed").await;
    assert_eq!(completed.json["check_run"]["conclusion"], "success");
    let suite = receiver.expect("check_suite.completed").await;
    assert_eq!(suite.json["check_suite"]["conclusion"], "success");
    assert_eq!(suite.json["check_suite"]["head_commit"]["id"], json!(scene.sha));

    let run = scene.update(&run, json!({ "status": "in_progress" })).await;
    assert_eq!((run["conclusion"].as_str(), run["completed_at"].as_str()), (None, None));
    assert_eq!(scene.suite(&run).await["status"], "in_progress");
    scene.world.finish().await;
}

#[tokio::test]
async fn a_suite_is_the_sum_of_the_newest_runs_of_each_name() {
    let scene = scene().await;
    let build = scene.create(json!({ "conclusion": "success" })).await;
    let test = scene.create(json!({ "name": "test", "status": "in_progress" })).await;
    assert_eq!(build["check_suite"], test["check_suite"]);
    assert_eq!(scene.suite(&test).await["status"], "in_progress");
    scene.update(&test, json!({ "conclusion": "failure" })).await;
    let suite = scene.suite(&test).await;
    assert_eq!((suite["status"].as_str(), suite["conclusion"].as_str()), (Some("completed"), Some("failure")));
    assert_eq!(suite["latest_check_runs_count"], 2);
    scene.create(json!({ "name": "test", "conclusion": "success" })).await;
    let suite = scene.suite(&test).await;
    assert_eq!((suite["conclusion"].as_str(), suite["latest_check_runs_count"].as_u64()), (Some("success"), Some(2)));
    scene.world.finish().await;
}

#[tokio::test]
async fn lists_show_the_newest_of_each_name_and_can_be_narrowed() {
    let scene = scene().await;
    scene.create(json!({ "conclusion": "failure" })).await;
    let newest = scene.create(json!({ "conclusion": "success" })).await;
    scene.create(json!({ "name": "test", "status": "in_progress" })).await;
    let of_ref = "/repos/octocat/app/commits/main/check-runs";
    assert_eq!(scene.names_of(of_ref).await, ["test", "build"]);
    assert_eq!(scene.names_of(&format!("{of_ref}?filter=all")).await, ["test", "build", "build"]);
    assert_eq!(scene.names_of(&format!("{of_ref}?check_name=build")).await, ["build"]);
    assert_eq!(scene.names_of(&format!("{of_ref}?status=in_progress")).await, ["test"]);
    assert_eq!(scene.names_of(&format!("{of_ref}?app_id={}", newest["app"]["id"])).await.len(), 2);
    assert_eq!(scene.names_of(&format!("{of_ref}?app_id=1")).await.len(), 0);
    let of_suite = format!("/repos/octocat/app/check-suites/{}/check-runs", newest["check_suite"]["id"]);
    assert_eq!(scene.names_of(&of_suite).await, ["test", "build"]);
    let refused = scene.world.octocat.get(&format!("{of_ref}?status=strange")).await.expect(422);
    assert!(refused.json["message"].as_str().unwrap().contains("is not a member of"), "{}", refused.text);
    scene.world.octocat.get("/repos/octocat/app/commits/nowhere/check-runs").await.expect(422);
    let suites = scene.world.octocat.get("/repos/octocat/app/commits/main/check-suites").await.expect(200);
    assert!(
        suites.json["check_suites"].as_array().unwrap().iter().any(|suite| suite["id"] == newest["check_suite"]["id"])
    );
    scene.world.finish().await;
}

#[tokio::test]
async fn annotations_are_added_fifty_at_a_time() {
    let scene = scene().await;
    let annotations = |count: u64| {
        let one = |line: u64| json!({ "path": "a.rs", "start_line": line, "end_line": line, "annotation_level": "warning", "message": format!("line {line}") });
        json!({ "output": { "title": "Lint", "summary": "Some", "annotations": (1..=count).map(one).collect::<Vec<_>>() } })
    };
    let run = scene.create(annotations(50)).await;
    assert_eq!(run["output"]["annotations_count"], 50);
    let run = scene.update(&run, annotations(3)).await;
    assert_eq!(run["output"]["annotations_count"], 53);
    let path = format!("{RUNS}/{}/annotations", run["id"]);
    let page = scene.world.octocat.get(&format!("{path}?per_page=50&page=2")).await.expect(200);
    assert_eq!(page.json.as_array().unwrap().len(), 3);
    assert_eq!(page.json[0]["message"], "line 1");
    assert!(page.json[0]["blob_href"].as_str().unwrap().ends_with(&format!("/blob/{}/a.rs", scene.sha)));
    let refused = scene.app.patch(&format!("{RUNS}/{}", run["id"]), annotations(51)).await.expect(422);
    assert!(refused.json["message"].as_str().unwrap().contains("No more than 50 items"), "{}", refused.text);
    scene.world.finish().await;
}

#[tokio::test]
async fn only_apps_write_checks_and_each_only_its_own() {
    let scene = scene().await;
    let body = json!({ "name": "build", "head_sha": scene.sha });
    let refused = scene.world.octocat.post(RUNS, body.clone()).await.expect(403);
    assert_eq!(refused.json["message"], "You must authenticate via a GitHub App.");
    scene.world.anonymous().post(RUNS, body.clone()).await.expect(401);
    let suite = json!({ "head_sha": scene.sha });
    scene.world.octocat.post("/repos/octocat/app/check-suites", suite).await.expect(403);

    let set = json!({ "branch": "main", "name": "by hand", "conclusion": "success" });
    let set = scene.world.control("POST", "/repos/octocat/app/checks", set).await.expect(201);
    let of_actions = format!("{RUNS}/{}", set.json["check_run_id"]);
    let refused = scene.app.patch(&of_actions, json!({ "conclusion": "failure" })).await.expect(403);
    assert!(
        refused.json["message"].as_str().unwrap().contains("can only be modified by the GitHub App that created it")
    );
    scene.world.finish().await;
}

#[tokio::test]
async fn what_is_no_check_run_is_refused() {
    let scene = scene().await;
    for (body, reason) in [
        (json!({ "head_sha": scene.sha }), "\"name\" wasn't supplied"),
        (json!({ "name": "x" }), "\"head_sha\" wasn't supplied"),
        (json!({ "name": "x", "head_sha": "0".repeat(40) }), "No commit found for SHA"),
        (json!({ "name": "x", "head_sha": scene.sha, "status": "completed" }), "\"conclusion\" wasn't supplied"),
        (json!({ "name": "x", "head_sha": scene.sha, "status": "done" }), "is not a member of"),
        (json!({ "name": "x", "head_sha": scene.sha, "conclusion": "stale" }), "is not a member of"),
        (json!({ "name": "x", "head_sha": scene.sha, "started_at": "yesterday" }), "date-time"),
        (json!({ "name": "x", "head_sha": scene.sha, "output": { "title": "t" } }), "\"summary\" wasn't supplied"),
        (
            json!({ "name": "x", "head_sha": scene.sha, "output": { "title": "t", "summary": "x".repeat(65536) } }),
            "Only 65535 characters are allowed; 65536 were supplied.",
        ),
    ] {
        let answer = scene.app.post(RUNS, body).await.expect(422);
        assert!(answer.json["message"].as_str().unwrap().contains(reason), "{reason}: {}", answer.text);
    }
    scene.app.patch(&format!("{RUNS}/1"), json!({ "status": "queued" })).await.expect(404);
    scene.world.octocat.get(&format!("{RUNS}/1")).await.expect(404);
    scene.world.octocat.get(&format!("{RUNS}/1/annotations")).await.expect(404);
    scene.world.octocat.get("/repos/octocat/app/check-suites/1").await.expect(404);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_suite_is_made_once_for_an_app_and_a_commit() {
    let scene = scene().await;
    // Whatever is pushed gets one by itself, so ask for one that was not: a commit further down.
    let first = scene.sha.clone();
    let body = json!({ "head_sha": first });
    let answer = scene.app.post("/repos/octocat/app/check-suites", body.clone()).await;
    assert!([200, 201].contains(&answer.status), "{}", answer.text);
    let again = scene.app.post("/repos/octocat/app/check-suites", body).await.expect(200);
    assert_eq!(again.json["id"], answer.json["id"]);
    assert_eq!(again.json["head_branch"], "main");
    let unknown = json!({ "head_sha": "0".repeat(40) });
    scene.app.post("/repos/octocat/app/check-suites", unknown).await.expect(422);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_push_makes_a_suite_for_the_app_unless_the_repository_prefers_otherwise() {
    let scene = scene().await;
    let sha = scene.clone.commit_on("one", "main", &[("one", "1")], "One").await;
    scene.clone.push("one").await;
    let suites = |sha: String| {
        let client = scene.world.octocat.clone();
        async move {
            let path = format!("/repos/octocat/app/commits/{sha}/check-suites");
            client.get(&path).await.expect(200).json["check_suites"].as_array().unwrap().clone()
        }
    };
    let made = suites(sha).await;
    assert_eq!(made.len(), 1);
    assert_eq!((made[0]["app"]["slug"].as_str(), made[0]["status"].as_str()), (Some("merge-train"), Some("queued")));
    assert_eq!(made[0]["head_branch"], "one");

    let off = json!({ "auto_trigger_checks": [{ "app_id": made[0]["app"]["id"], "setting": false }] });
    let answer = scene.world.octocat.patch("/repos/octocat/app/check-suites/preferences", off).await.expect(200);
    assert_eq!(answer.json["preferences"]["auto_trigger_checks"][0]["setting"], false);
    let sha = scene.clone.commit_on("one", "main", &[("one", "2")], "Two").await;
    scene.clone.push("one").await;
    assert_eq!(suites(sha.clone()).await.len(), 0);
    let answer = scene.app.post("/repos/octocat/app/check-suites", json!({ "head_sha": sha })).await.expect(201);
    assert_eq!(answer.json["head_branch"], "one");
    scene.world.finish().await;
}

#[tokio::test]
async fn rerequesting_reopens_the_suite_and_leaves_the_run_to_its_app() {
    let scene = scene().await;
    let run = scene.create(json!({ "conclusion": "failure" })).await;
    let path = format!("{RUNS}/{}", run["id"]);
    scene.world.octocat.post(&format!("{path}/rerequest"), json!({})).await.expect(201);
    assert_eq!(scene.world.octocat.get(&path).await.json["conclusion"], "failure");
    let suite = scene.suite(&run).await;
    assert_eq!((suite["status"].as_str(), suite["conclusion"].as_str()), (Some("queued"), None));

    scene.update(&run, json!({ "conclusion": "success" })).await;
    let suite = format!("/repos/octocat/app/check-suites/{}", run["check_suite"]["id"]);
    scene.world.octocat.post(&format!("{suite}/rerequest"), json!({})).await.expect(201);
    assert_eq!(scene.world.octocat.get(&suite).await.json["status"], "queued");
    let stranger = scene.world.user("stranger").await;
    stranger.post(&format!("{path}/rerequest"), json!({})).await.expect(403);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_check_run_names_the_open_pull_requests_of_its_commit() {
    let scene = scene().await;
    let number = scene.world.pull(&scene.clone, "feature", "main").await;
    let sha = scene.clone.git(&["rev-parse", "feature"]).await;
    let run = scene.create(json!({ "head_sha": sha })).await;
    assert_eq!(run["pull_requests"][0]["number"], number);
    assert_eq!(run["pull_requests"][0]["head"]["ref"], "feature");
    let closed = json!({ "state": "closed" });
    scene.world.octocat.patch(&format!("/repos/octocat/app/pulls/{number}"), closed).await.expect(200);
    let run = scene.world.octocat.get(&format!("{RUNS}/{}", run["id"])).await.expect(200).json;
    assert_eq!(run["pull_requests"].as_array().unwrap().len(), 0);
    scene.world.finish().await;
}

/// The merge state of a pull request whose base demands the check `build`.
async fn required(scene: &Scene, app: Value) -> (String, String) {
    let number = scene.world.pull(&scene.clone, "feature", "main").await;
    let protection = json!({
        "required_status_checks": { "strict": false, "checks": [{ "context": "build", "app_id": app }] },
        "enforce_admins": true, "required_pull_request_reviews": null, "restrictions": null,
    });
    scene.world.octocat.put("/repos/octocat/app/branches/main/protection", protection).await.expect(200);
    (format!("/repos/octocat/app/pulls/{number}"), scene.clone.git(&["rev-parse", "feature"]).await)
}

#[tokio::test]
async fn a_required_check_is_satisfied_by_a_run() {
    let scene = scene().await;
    let (pull, sha) = required(&scene, json!(-1)).await;
    let state = || async { scene.world.octocat.get(&pull).await.expect(200).json["mergeable_state"].clone() };
    assert_eq!(state().await, "blocked");
    let run = scene.create(json!({ "head_sha": sha })).await;
    assert_eq!(state().await, "blocked");
    scene.update(&run, json!({ "conclusion": "failure" })).await;
    assert_eq!(state().await, "blocked");
    scene.update(&run, json!({ "conclusion": "neutral" })).await;
    assert_eq!(state().await, "clean");
    scene.world.finish().await;
}

#[tokio::test]
async fn a_required_check_is_satisfied_by_a_status() {
    let scene = scene().await;
    let (pull, sha) = required(&scene, json!(-1)).await;
    let state = || async { scene.world.octocat.get(&pull).await.expect(200).json["mergeable_state"].clone() };
    let path = format!("/repos/octocat/app/statuses/{sha}");
    scene.world.octocat.post(&path, json!({ "state": "error", "context": "build" })).await.expect(201);
    assert_eq!(state().await, "blocked");
    scene.world.octocat.post(&path, json!({ "state": "success", "context": "build" })).await.expect(201);
    assert_eq!(state().await, "clean");
    scene.world.octocat.post(&path, json!({ "state": "failure", "context": "lint" })).await.expect(201);
    assert_eq!(state().await, "unstable");
    scene.world.finish().await;
}
