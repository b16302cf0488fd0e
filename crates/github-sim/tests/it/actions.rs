//! Workflow runs, jobs and logs.

use serde_json::{Value, json};

use crate::support::{Answer, Client, Clone, World, eventually};

pub struct Scene {
    pub world: World,
    pub clone: Clone,
}

pub const RUNS: &str = "/repos/octocat/app/actions/runs";

/// A repository with these checks.
pub async fn with_ci(checks: Value) -> Scene {
    let world = World::new().await;
    let clone = world.repo("app").await;
    define(&world, json!({ "checks": checks })).await;
    Scene { world, clone }
}

pub async fn define(world: &World, definition: Value) -> Answer {
    world.control("PUT", "/repos/octocat/app/ci", definition).await.expect(200)
}

impl Scene {
    /// Pushes a commit with these files; its SHA.
    pub async fn push(&self, branch: &str, files: &[(&str, &str)]) -> String {
        let sha = self.clone.commit_on(branch, "main", files, &format!("Change {branch}")).await;
        self.clone.push(branch).await;
        sha
    }

    pub async fn get(&self, path: &str) -> Value {
        self.world.octocat.get(path).await.expect(200).json
    }

    /// The workflow run of a commit, when it has ended.
    pub async fn completed_run(&self, sha: &str) -> Value {
        self.run_that(sha, |run| run["status"] == "completed").await
    }

    pub async fn run_that(&self, sha: &str, fits: impl Fn(&Value) -> bool) -> Value {
        eventually("the workflow run is as expected", || async {
            let runs = self.get(&format!("{RUNS}?head_sha={sha}")).await;
            runs["workflow_runs"].as_array().expect("a list").first().filter(|run| fits(run)).cloned()
        })
        .await
    }

    pub async fn jobs(&self, run: &Value) -> Vec<Value> {
        self.get(&format!("{RUNS}/{}/jobs", run["id"])).await["jobs"].as_array().expect("a list").clone()
    }
}

/// A job's log, by way of the redirect.
pub async fn log_of(client: &Client, job: &Value) -> String {
    client.get(&format!("/repos/octocat/app/actions/jobs/{}/logs", job["id"])).await.expect(200).text
}

#[tokio::test]
async fn a_run_and_its_jobs_can_be_read_and_found() {
    let scene = with_ci(json!([{ "name": "unit", "command": "true" }, { "name": "lint", "command": "true" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    assert_eq!((run["conclusion"].as_str(), run["event"].as_str()), (Some("success"), Some("push")));
    assert_eq!((run["head_branch"].as_str(), run["head_sha"].as_str()), (Some("feature"), Some(sha.as_str())));
    assert_eq!((run["name"].as_str(), run["display_title"].as_str()), (Some("CI"), Some("Change feature")));
    assert_eq!(scene.get(&format!("{RUNS}/{}", run["id"])).await["id"], run["id"]);

    let jobs = scene.jobs(&run).await;
    assert_eq!(jobs.iter().map(|job| job["name"].as_str().unwrap()).collect::<Vec<_>>(), ["unit", "lint"]);
    let job = scene.get(&format!("/repos/octocat/app/actions/jobs/{}", jobs[0]["id"])).await;
    assert_eq!(job["steps"][2]["name"], "Run true");
    let check_run = scene.get(&format!("/repos/octocat/app/check-runs/{}", job["id"])).await;
    assert_eq!((check_run["name"].as_str(), check_run["app"]["slug"].as_str()), (Some("unit"), Some("github-actions")));
    assert_eq!(check_run["details_url"], job["html_url"]);
    assert_eq!(check_run["check_suite"]["id"], run["check_suite_id"]);

    for (query, found) in [
        ("branch=feature", 1),
        ("branch=main", 0),
        ("event=push", 1),
        ("event=schedule", 0),
        ("status=completed", 1),
        ("status=success", 1),
        ("status=failure", 0),
        ("actor=octocat", 1),
        ("actor=nobody", 0),
        (&format!("check_suite_id={}", run["check_suite_id"]), 1),
    ] {
        assert_eq!(scene.get(&format!("{RUNS}?{query}")).await["total_count"], found, "{query}");
    }
    scene.world.octocat.get(&format!("{RUNS}/1")).await.expect(404);
    scene.world.octocat.get("/repos/octocat/app/actions/jobs/1").await.expect(404);
    assert_eq!(scene.get(&format!("{RUNS}/{}/artifacts", run["id"])).await["total_count"], 0);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_repository_with_ci_has_a_workflow() {
    let scene = with_ci(json!([{ "name": "unit", "command": "true" }])).await;
    let list = scene.get("/repos/octocat/app/actions/workflows").await;
    assert_eq!((list["total_count"].as_u64(), list["workflows"][0]["state"].as_str()), (Some(1), Some("active")));
    let by_id = format!("/repos/octocat/app/actions/workflows/{}", list["workflows"][0]["id"]);
    assert_eq!(scene.get(&by_id).await, list["workflows"][0]);
    assert_eq!(scene.get("/repos/octocat/app/actions/workflows/ci.yml").await, list["workflows"][0]);
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    assert_eq!(scene.get(&format!("{by_id}/runs")).await["workflow_runs"][0]["id"], run["id"]);
    scene.world.octocat.get("/repos/octocat/app/actions/workflows/other.yml").await.expect(404);
    let bare = scene.world.repo("bare").await;
    assert_eq!(scene.get(&format!("/repos/{}/actions/workflows", bare.full_name())).await["total_count"], 0);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_log_is_read_through_a_redirect() {
    let scene = with_ci(json!([{ "name": "unit", "command": "echo out; echo err >&2; exit 3" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    let job = scene.jobs(&run).await.remove(0);
    let log = log_of(&scene.world.octocat, &job).await;
    let lines: Vec<&str> = log.lines().map(|line| line.split_once(' ').expect("a time").1).collect();
    let at = lines.iter().position(|line| *line == "out").expect("the output");
    assert_eq!(lines[at..], ["out", "err", "##[error]Process completed with exit code 3."]);
    assert!(log.lines().all(|line| line.split(' ').next().unwrap().ends_with('Z')));
    let path = format!("/repos/octocat/app/actions/jobs/{}/logs", job["id"]);
    scene.world.anonymous().get(&path).await.expect(401);
    scene.world.finish().await;
}

#[tokio::test]
async fn the_logs_of_a_run_come_as_an_archive() {
    let scene =
        with_ci(json!([{ "name": "one", "command": "echo 1st" }, { "name": "two", "command": "echo 2nd" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    for path in [format!("{RUNS}/{}/logs", run["id"]), format!("{RUNS}/{}/attempts/1/logs", run["id"])] {
        let answer = scene.world.octocat.get(&path).await.expect(200);
        assert_eq!(answer.header("content-type"), "application/zip");
        for part in ["0_one.txt", "1st\n", "1_two.txt", "2nd\n"] {
            assert!(answer.text.contains(part), "{part}");
        }
    }
    scene.world.octocat.get(&format!("{RUNS}/{}/attempts/2/logs", run["id"])).await.expect(404);
    scene.world.octocat.get(&format!("{RUNS}/1/logs")).await.expect(404);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_it_runs() {
    let scene = with_ci(json!([{ "name": "slow", "command": "sleep 600" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.run_that(&sha, |run| run["status"] == "in_progress").await;
    scene.world.octocat.post(&format!("{RUNS}/{}/cancel", run["id"]), json!({})).await.expect(202);
    let run = scene.completed_run(&sha).await;
    assert_eq!(run["conclusion"], "cancelled");
    assert_eq!(scene.jobs(&run).await[0]["conclusion"], "cancelled");
    let again = scene.world.octocat.post(&format!("{RUNS}/{}/cancel", run["id"]), json!({})).await.expect(409);
    assert_eq!(again.json["message"], "Cannot cancel a workflow run that is completed.");
    let stranger = scene.world.user("stranger").await;
    stranger.post(&format!("{RUNS}/{}/cancel", run["id"]), json!({})).await.expect(403);
    scene.world.finish().await;
}

/// Fails the first time it runs and passes from then on.
fn flaky(marker: &std::path::Path) -> String {
    format!("test -e {0} || {{ touch {0}; exit 1; }}", marker.display())
}

#[tokio::test]
async fn failed_jobs_are_run_again_in_a_new_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let flaky = flaky(&folder.path().join("marker"));
    let scene = with_ci(json!([{ "name": "good", "command": "true" }, { "name": "flaky", "command": flaky }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    assert_eq!(run["conclusion"], "failure");
    let before = scene.jobs(&run).await;
    scene.world.octocat.post(&format!("{RUNS}/{}/rerun-failed-jobs", run["id"]), json!({})).await.expect(201);
    let run = scene.run_that(&sha, |run| run["run_attempt"] == 2 && run["status"] == "completed").await;
    assert_eq!(run["conclusion"], "success");
    let after = scene.jobs(&run).await;
    assert_eq!(after[0]["id"], before[0]["id"]);
    assert_ne!(after[1]["id"], before[1]["id"]);
    assert_eq!(after[1]["run_attempt"], 2);
    let all = scene.get(&format!("{RUNS}/{}/jobs?filter=all", run["id"])).await;
    assert_eq!(all["total_count"], 3);
    let first = scene.get(&format!("{RUNS}/{}/attempts/1", run["id"])).await;
    assert_eq!((first["conclusion"].as_str(), first["run_attempt"].as_u64()), (Some("failure"), Some(1)));
    let jobs = scene.get(&format!("{RUNS}/{}/attempts/1/jobs", run["id"])).await;
    assert_eq!(jobs["jobs"][1]["id"], before[1]["id"]);
    scene.world.octocat.get(&format!("{RUNS}/{}/attempts/3", run["id"])).await.expect(404);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_whole_run_or_one_job_is_run_again() {
    let scene = with_ci(json!([{ "name": "one", "command": "true" }, { "name": "two", "command": "true" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    let first = scene.jobs(&run).await;
    scene.world.octocat.post(&format!("{RUNS}/{}/rerun", run["id"]), json!({})).await.expect(201);
    let run = scene.run_that(&sha, |run| run["run_attempt"] == 2 && run["status"] == "completed").await;
    let second = scene.jobs(&run).await;
    assert!(first.iter().zip(&second).all(|(old, new)| old["id"] != new["id"] && old["name"] == new["name"]));

    let path = format!("/repos/octocat/app/actions/jobs/{}/rerun", second[0]["id"]);
    scene.world.octocat.post(&path, json!({})).await.expect(201);
    let run = scene.run_that(&sha, |run| run["run_attempt"] == 3 && run["status"] == "completed").await;
    let third = scene.jobs(&run).await;
    assert_eq!((third.len(), &third[0]["id"]), (2, &second[1]["id"]));

    let check_run = format!("/repos/octocat/app/check-runs/{}/rerequest", third[1]["id"]);
    scene.world.octocat.post(&check_run, json!({})).await.expect(201);
    scene.run_that(&sha, |run| run["run_attempt"] == 4 && run["status"] == "completed").await;
    scene.world.finish().await;
}

#[tokio::test]
async fn what_runs_is_not_run_again() {
    let scene = with_ci(json!([{ "name": "by hand" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.run_that(&sha, |run| run["status"] == "queued").await;
    let refused = scene.world.octocat.post(&format!("{RUNS}/{}/rerun", run["id"]), json!({})).await.expect(403);
    assert_eq!(refused.json["message"], "This workflow is already running");
    let job = scene.jobs(&run).await.remove(0);
    scene.world.octocat.get(&format!("/repos/octocat/app/actions/jobs/{}/logs", job["id"])).await.expect(404);
    scene.world.finish().await;
}
