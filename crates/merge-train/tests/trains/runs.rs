//! Trains as runs, and runs from comments.

use std::os::unix::fs::PermissionsExt;

use reqwest::Method;
use serde_json::{Value, json};

use crate::serve::support::{KEY, http};
use crate::support::{ADMIN, AUTHOR, STRANGER, Trains};

impl Trains {
    async fn runs(&self, query: &str) -> Vec<Value> {
        let (status, page) = self.daemon().get(&format!("/api/v1/runs?{query}")).await;
        assert_eq!(status, 200, "{page}");
        page["runs"].as_array().expect("a list").clone()
    }

    async fn run_becomes(&self, id: &str, wanted: &str) -> Value {
        self.until(&format!("{id} becomes {wanted}"), async || {
            let (_, run) = self.daemon().get(&format!("/api/v1/runs/{id}")).await;
            (run["status"] == wanted).then_some(run)
        })
        .await
    }

    async fn ask_run(&self, id: &str, what: &str) -> (u16, Value) {
        let url = format!("{}/api/v1/runs/{id}/{what}", self.daemon().url);
        let response = http().request(Method::POST, url).bearer_auth(KEY).send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }
}

fn id(run: &Value) -> String {
    run["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_a_run_from_its_start_to_its_end() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let [run] = &world.runs("type=train").await[..] else { panic!("there is one run") };
    let waiting = world.run_becomes(&id(run), "waiting_external").await;
    assert_eq!((waiting["prId"].as_str(), waiting["currentStep"].as_str()), (Some("1"), Some("pr-1")));
    assert!(waiting["prUrl"].as_str().is_some_and(|url| url.ends_with("/octocat/hello/pull/1")), "{waiting}");
    assert!(waiting["lastTransition"]["metadata"]["blocker"].as_str().is_some_and(|why| why.contains("ci")));
    let (_, train) = world.daemon().get(&format!("/api/v1/repos/octocat/hello/trains/{one}")).await;
    assert_eq!(train["run_id"], run["id"], "one id, everywhere");
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    let done = world.run_becomes(&id(run), "completed").await;
    assert_eq!(done["result"]["landed"], json!([1, 2]));
    assert!(done["durationMs"].as_u64().is_some_and(|millis| millis > 0));
    let (_, steps) = world.daemon().get(&format!("/api/v1/runs/{}/steps", id(run))).await;
    let steps: Vec<_> =
        steps["steps"].as_array().expect("a list").iter().map(|step| (&step["stepId"], &step["status"])).collect();
    assert_eq!(steps, [(&json!("pr-1"), &json!("completed")), (&json!("pr-2"), &json!("completed"))]);
    let (_, events) = world.daemon().get(&format!("/api/v1/runs/{}/events?limit=200", id(run))).await;
    let kinds: Vec<&str> =
        events["events"].as_array().expect("a list").iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.contains(&"squash_committed")), (Some(&"train_started"), true), "{kinds:?}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_cancel_the_run_is_to_stop_the_train() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    let run = id(&world.runs("type=train&status=waiting_external").await[0]);
    let (status, problem) = world.ask_run(&run, "approve").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_INVALID_TRANSITION")), "{problem}");
    let (status, cancelled) = world.ask_run(&run, "cancel").await;
    assert_eq!((status, cancelled["status"].as_str()), (200, Some("cancelled")), "{cancelled}");
    assert!(cancelled["cancellation"]["reason"].is_string());
    world.becomes(one, "stopped").await;
    let (status, problem) = world.ask_run(&run, "cancel").await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_TERMINAL_STATE")), "{problem}");
    world.ci_passes("ci").await;
    world.start_again(one).await;
    world.landed(&[one]).await;
    let runs = world.runs("type=train").await;
    let statuses: Vec<_> = runs.iter().filter_map(|run| run["status"].as_str()).collect();
    assert_eq!(statuses, ["completed", "cancelled"], "the newest first");
    world.finish().await;
}

fn workflow(dir: &std::path::Path) -> String {
    let path = dir.join("greet");
    std::fs::write(&path, "#!/bin/sh\ncat\n").expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    format!(
        "[runs]\nwork_dir = {:?}\n[[workflows]]\nname = \"greet\"\ninputs = {{ name = {{ type = \"string\", required = true }} }}\n\
         [[workflows.steps]]\nid = \"say\"\ncommand = [{path:?}]\n[[workflows.steps]]\nid = \"ok\"\nkind = \"approval\"\n",
        dir.join("runs")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_starts_a_workflow_and_another_approves_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let world = Trains::wish().config(&workflow(dir.path())).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.says(STRANGER, one, "@merge-train run greet name=you").await;
    world.told(one, "so nothing was done").await;
    world.says(AUTHOR, one, "@merge-train run great name=you").await;
    world.told(one, "there is no workflow \"great\"; there are: greet").await;
    world.says(AUTHOR, one, "@merge-train run greet").await;
    world.told(one, "\"name\" is a required property").await;
    world.says(AUTHOR, one, "@merge-train run greet name=you").await;
    world.told(one, "The workflow `greet` has started.").await;
    let [run] = &world.runs("type=greet").await[..] else { panic!("there is one run") };
    let run = world.run_becomes(&id(run), "awaiting_approval").await;
    assert_eq!(run["trigger"]["source"], "webhook");
    assert!(run["trigger"]["userId"].as_str().is_some_and(|user| user.starts_with("github:")), "{run}");
    assert_eq!((run["repoId"].as_str(), run["prId"].as_str()), (Some("octocat/hello"), Some("1")));
    let approve = format!("@merge-train approve {}", id(&run));
    world.says(AUTHOR, one, &approve).await;
    world.told(one, "Only an admin or maintainer of the repository can issue").await;
    world.says(ADMIN, one, &approve).await;
    world.told(one, "was approved").await;
    let done = world.run_becomes(&id(&run), "completed").await;
    assert_eq!(done["result"]["approved"], true);
    world.says(ADMIN, one, &format!("@merge-train reject {} too late", id(&run))).await;
    world.told(one, "the run is completed, and stays so").await;
    let (_, page) = world.daemon().get("/api/v1/runs?type=greet").await;
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(1));
    world.finish().await;
}
