//! The description of the API, and whether it is true.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::serve::runs::{becomes, post, step};
use crate::serve::trains_api::yard::Yard;
use crate::support::{Daemon, Database, KEY, REPO, Setup, client, http};

const SLACK: &str = "[slack]\nsigning_secret = \"a secret of Slack\"\n\
                     [[slack_workspaces]]\nteam_id = \"T1\"\ntenant = \"octocat\"\n";

/// Somebody at work on the root of the stack.
const SESSION: &str = "alice";

async fn document(daemon: &Daemon) -> Value {
    let response = http().get(format!("{}/api/openapi.json", daemon.url)).send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    response.json().await.expect("JSON")
}

/// Every operation, with its method and its path.
fn operations(document: &Value) -> Vec<(Method, &str, &Value)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            all.push((method.to_ascii_uppercase().parse().expect("a method"), path.as_str(), operation));
        }
    }
    all
}

/// Thousands of requests, each made up and judged in Python, take half a minute on an idle machine.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// Runs a program of the client to its end; what it says, and whether it found nothing.
async fn tool(program: &str, words: &[&str], folder: &Path) -> (bool, String) {
    let mut command = Command::new(client(&format!("schemathesis/bin/{program}")));
    command.args(words).current_dir(folder).env("NO_PROXY", "*").env("PYTHONDONTWRITEBYTECODE", "1").kill_on_drop(true);
    let output =
        tokio::time::timeout(HANGS_AFTER, command.output()).await.expect("it does not hang").expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn write(folder: &Path, name: &str, document: &Value) -> String {
    let path = folder.join(name);
    std::fs::write(&path, document.to_string()).expect("written");
    path.to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_valid_and_needs_no_key() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).start().await;
    let mut document = document(&daemon).await;
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")), "{}", document["openapi"]);
    let words = ["-m", "openapi_spec_validator", &write(dir.path(), "served.json", &document)];
    let (is_valid, said) = tool("python", &words, dir.path()).await;
    assert!(is_valid, "{said}");
    document["paths"]["/healthz"]["get"]["responses"]["200"] = json!({ "content": 7 });
    let words = ["-m", "openapi_spec_validator", &write(dir.path(), "broken.json", &document)];
    assert!(!tool("python", &words, dir.path()).await.0, "what is wrong would not have been found");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_cannot_say_who_it_is_gets_what_is_described() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).more(SLACK).start().await;
    let document = document(&daemon).await;
    let mut refused = 0;
    for (method, path, operation) in operations(&document) {
        let address = path.replace("{owner}", "octocat").replace("{repo}", "hello").replace("{pr}", "7");
        let request = http().request(method.clone(), format!("{}{}", daemon.url, address.replace("{id}", "run-1")));
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        assert!(!operation["responses"][status.to_string()].is_null(), "{method} {path}: {status} is not described");
        let is_open = path.starts_with("/api/openapi") || method == Method::GET && !path.starts_with("/api/");
        assert_eq!(status == 401, !is_open, "{method} {path}: {status}");
        if status == 401 {
            assert_eq!(response.headers()["content-type"], "application/problem+json", "{method} {path}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer", "{method} {path}");
            refused += 1;
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Workflows that end, fail, wait for somebody or something, or take long.
fn workflows(setup: Setup) -> Setup {
    let workflow = |name: &str, steps: &str| format!("[[workflows]]\nname = {name:?}\n{steps}");
    let gate = step("ok", "kind = \"approval\"\nby = [\"api:all\"]");
    let wait = step("published", "kind = \"wait\"\nevent = \"release.published\"");
    let tell = step("tell", "command = [\"echo\", \"{}\"]");
    let runs = format!("[runs]\nwork_dir = {:?}\n", setup.dir().join("runs"));
    setup
        .more(SLACK)
        .more(&runs)
        .more(&workflow("release", &format!("inputs = {{ version = {{ type = \"string\" }} }}\n{gate}{wait}{tell}")))
        .more(&workflow("tell", &tell))
        .more(&workflow("fail", &step("fail", "command = [\"false\"]")))
        .more(&workflow("wait", &wait))
        .more(&workflow("long", &step("long", "command = [\"sleep\", \"600\"]")))
}

/// A run in each state that one can stay in, and a train. All of their ids.
async fn bring_about(yard: &Yard) -> Vec<String> {
    let daemon = &yard.daemon;
    yard.require_check().await;
    yard.start().await;
    let train = yard.becomes("waiting_ci").await;
    let mut runs = vec![train["run_id"].as_str().expect("an id").to_owned()];
    for (workflow, state) in [
        ("release", "awaiting_approval"),
        ("tell", "completed"),
        ("fail", "failed"),
        ("wait", "waiting_external"),
        ("long", "running"),
        ("release", "cancelled"),
    ] {
        let (status, run) =
            post(daemon, "/runs", json!({ "workflow": workflow, "repo": REPO, "pr": yard.root() })).await;
        assert_eq!(status, 201, "{run}");
        let id = run["id"].as_str().expect("an id").to_owned();
        if state == "cancelled" {
            becomes(daemon, &id, "awaiting_approval").await;
            post(daemon, &format!("/runs/{id}/cancel"), json!({ "reason": "not today" })).await;
        }
        becomes(daemon, &id, state).await;
        runs.push(id);
    }
    let sessions = format!("/workspaces/{REPO}/{}/sessions", yard.root());
    let (status, session) = post(daemon, &sessions, json!({ "id": SESSION })).await;
    assert_eq!(status, 201, "{session}");
    runs
}

/// The document, of nothing but what there is here: whoever makes up names at random meets nothing but 404.
fn narrowed(mut document: Value, yard: &Yard, runs: &[String]) -> Value {
    let (owner, repo) = REPO.split_once('/').expect("two parts");
    let there_is = |name: &str| match name {
        "owner" => Some(json!([owner])),
        "repo" => Some(json!([repo])),
        "pr" => Some(json!(yard.stack)),
        "id" => Some(json!(runs)),
        "name" => Some(json!(["tell-1.log"])),
        "session" => Some(json!([SESSION])),
        _ => None,
    };
    let items = document["paths"].as_object_mut().expect("paths").values_mut();
    let operations = items.flat_map(|item| item.as_object_mut().expect("operations").values_mut());
    for parameter in operations.filter_map(|it| it.get_mut("parameters")?.as_array_mut()).flatten() {
        let name = parameter["name"].as_str().expect("a name").to_owned();
        if let (Some(names), true) = (there_is(&name), parameter["in"] == "path") {
            parameter["schema"]["enum"] = names;
            parameter.as_object_mut().expect("an object").remove("example");
        }
    }
    document["components"]["schemas"]["WantedRun"] = json!({
        "type": "object",
        "properties": {
            "workflow": { "enum": ["release", "tell", "fail", "wait"] },
            "inputs": { "type": "object", "maxProperties": 0 },
            "repo": { "enum": [REPO] },
            "pr": { "enum": yard.stack },
        },
        "required": ["workflow", "repo"],
        "additionalProperties": false,
    });
    document
}

/// Has schemathesis ask for everything that a document describes.
async fn holds(yard: &Yard, document: &Value, mode: &str) {
    let (daemon, folder) = (&yard.daemon, yard.world.dir.path());
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/schemathesis/schemathesis.toml");
    let (config, key) = (config.to_string_lossy(), format!("Authorization: Bearer {KEY}"));
    let document_path = write(folder, "openapi.json", document);
    let words = ["--config-file", &config, "run", &document_path, "--url", &daemon.url, "--header", &key];
    let words = [&words[..], &["--checks", "all", "--mode", mode]].concat();
    let (is_as_described, said) = tool("st", &words, folder).await;
    assert!(is_as_described, "{said}\n{}", daemon.log().lines().rev().take(20).collect::<Vec<_>>().join("\n"));
    // The streams do not end.
    let is_stream = |path: &str| path.ends_with("/watch") || path == "/api/v1/events";
    let asked = operations(document).iter().filter(|(_, path, _)| !is_stream(path)).count();
    assert!(said.contains(&format!("Tested: {asked}")), "it did not ask for everything:\n{said}");
    assert_eq!(daemon.get("/readyz").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing_that_is_not_as_described() {
    let yard = Yard::new(2, workflows).await;
    let runs = bring_about(&yard).await;
    let document = document(&yard.daemon).await;
    // A name that is not here is not wrong, so nothing wrong is tried with these.
    holds(&yard, &narrowed(document.clone(), &yard, &runs), "positive").await;
    holds(&yard, &document, "all").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing_on_postgresql_either() {
    let database = Database::postgres().await;
    let yard = Yard::new(1, |setup| workflows(setup).database(database)).await;
    holds(&yard, &document(&yard.daemon).await, "all").await;
    yard.close().await;
}
