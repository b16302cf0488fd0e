//! The workflows in `docs/workflows` do what their page says, with an agent that is a script.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Daemon, KEY, Sender, Setup, eventually, http, pull_request};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workflows");
const NAMES: [&str; 5] = ["triage", "plan", "review", "resolve", "autopilot"];

/// All of them, with an agent that keeps what it is told and answers in JSON.
fn examples(dir: &Path) -> String {
    let agent = dir.join("agent");
    let script = "#!/bin/sh\ncat >> \"${0%/*}/prompts\"\necho '{\"branch\": \"work\", \"passed\": true}'\n";
    std::fs::write(&agent, script).expect("written");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let read = |name: &str| std::fs::read_to_string(format!("{EXAMPLES}/{name}.toml")).expect("an example");
    let all: String = NAMES.iter().map(|name| read(name) + "\n").collect();
    all.replace("/etc/merge-train/workflows", EXAMPLES).replace("/usr/local/bin/your-agent", &agent.to_string_lossy())
}

async fn post(daemon: &Daemon, path: &str, body: Value) -> Value {
    let request = http().post(format!("{}/api/v1/runs{path}", daemon.url)).bearer_auth(KEY).json(&body);
    let response = request.send().await.expect("an answer");
    let status = response.status();
    let body: Value = response.json().await.expect("JSON");
    assert!(status.is_success(), "{path}: {status} {body}");
    body
}

async fn start(daemon: &Daemon, workflow: &str, inputs: Value) -> String {
    let run = post(daemon, "", json!({ "workflow": workflow, "repo": "octocat/hello", "inputs": inputs })).await;
    run["id"].as_str().expect("an id").to_owned()
}

async fn becomes(daemon: &Daemon, run: &str, wanted: &str) -> Value {
    eventually(&format!("{run} becomes {wanted}"), || async {
        let (_, run) = daemon.get(&format!("/api/v1/runs/{run}")).await;
        assert!(run["status"] == wanted || run["status"] != "failed", "{run}");
        (run["status"] == wanted).then_some(run)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workflows_of_the_documentation_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let config = format!("[runs]\nwork_dir = {:?}\n{}", dir.path().join("runs"), examples(dir.path()));
    let daemon = Setup::new(dir.path()).more(&config).start().await;

    let triage = start(&daemon, "triage", json!({ "issue": 12 })).await;
    let done = becomes(&daemon, &triage, "completed").await;
    assert_eq!(done["result"]["passed"], true);
    let prompts = std::fs::read_to_string(dir.path().join("prompts")).expect("what the agent was told");
    let fence = prompts.split_whitespace().find(|word| word.starts_with("untrusted-")).expect("a fence");
    assert_eq!(prompts.matches(fence).count(), 3, "announced, and on either side of what is given:\n{prompts}");
    assert!(prompts.contains("\"issue\":12") || prompts.contains("\"issue\": 12"), "{prompts}");

    let plan = start(&daemon, "plan", json!({ "goal": "less" })).await;
    becomes(&daemon, &plan, "completed").await;
    let resolve = start(&daemon, "resolve", json!({ "plan": "do it" })).await;
    becomes(&daemon, &resolve, "completed").await;

    let review = start(&daemon, "review", json!({ "pr": 7 })).await;
    becomes(&daemon, &review, "awaiting_approval").await;
    post(&daemon, &format!("/{review}/approve"), json!({})).await;
    becomes(&daemon, &review, "completed").await;

    let autopilot = start(&daemon, "autopilot", json!({ "goal": "more", "pull": "octocat/hello#7" })).await;
    becomes(&daemon, &autopilot, "awaiting_approval").await;
    post(&daemon, &format!("/{autopilot}/approve"), json!({})).await;
    becomes(&daemon, &autopilot, "waiting_external").await;
    let github = Sender::to(&daemon.url);
    let tell = async |number: u64, action: &str, delivery: &str| {
        let payload = pull_request("octocat/hello", number, action, 1, 1);
        let answer = github.send("pull_request", delivery, &payload).await.expect("an answer");
        assert_eq!(answer.status(), 202);
    };
    tell(7, "edited", "00000000-0000-0000-0000-000000000001").await;
    tell(8, "closed", "00000000-0000-0000-0000-000000000002").await;
    tell(7, "closed", "00000000-0000-0000-0000-000000000003").await;
    let done = becomes(&daemon, &autopilot, "completed").await;
    assert_eq!(done["result"]["eventId"], "00000000-0000-0000-0000-000000000003", "{done}");
    assert_eq!(done["result"]["payload"]["pr"], 7);
    assert!(daemon.stop().await.success());
}
