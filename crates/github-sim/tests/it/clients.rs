//! Clients that others wrote, as they are. What they do is in `tests/clients`; what is needed is installed by `make test`.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use test_support::cache::client;
use tokio::process::Command;

use crate::support::{Client, Clone, World, eventually};

const PATIENCE: Duration = Duration::from_secs(240);

fn script(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(path)
}

/// Runs a script with the simulator's description in `SIM`. All it says is shown if it fails.
async fn run(world: &World, program: &Path, script: &Path) {
    let mut command = Command::new(program);
    command
        .arg(script)
        .env("SIM", world.running().description().to_string())
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("in time").expect("it starts");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{} ended with {}:\n{said}", script.display(), output.status);
}

#[tokio::test]
async fn pygithub_lands_a_stack() {
    let world = World::new().await;
    world.user("hubot").await;
    run(&world, &client("pygithub").join("bin/python"), &script("pygithub/scenario.py")).await;
    world.finish().await;
}

#[tokio::test]
async fn octokit_lands_a_stack() {
    let world = World::new().await;
    world.user("hubot").await;
    // Node looks for packages beside the script, and those are in the cache folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("scenario.mjs");
    std::fs::copy(script("octokit/scenario.mjs"), &copy).expect("the script");
    std::os::unix::fs::symlink(client("octokit").join("node_modules"), folder.path().join("node_modules"))
        .expect("a link");
    run(&world, Path::new("node"), &copy).await;
    world.finish().await;
}

/// GitHub's own command line. It speaks plain HTTP to the host `github.localhost` only, so it goes there by way of the
/// simulator as a proxy.
struct Gh {
    proxy: String,
    /// Some of its commands want to stand in a clone.
    clone: PathBuf,
    config: tempfile::TempDir,
}

impl Gh {
    async fn new(world: &World, clone: &Clone) -> Self {
        clone.git(&["remote", "add", "hub", "http://github.localhost/octocat/demo.git"]).await;
        Self { proxy: world.url(), clone: clone.path(), config: tempfile::tempdir().expect("a temporary folder") }
    }

    /// What it printed; it must succeed.
    async fn run(&self, who: &Client, args: &[&str]) -> String {
        let output = self.output(who, args).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "gh {args:?} ended with {}:\n{said}", output.status);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    async fn json(&self, who: &Client, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(who, args).await).expect("JSON")
    }

    async fn output(&self, who: &Client, args: &[&str]) -> Output {
        let mut command = Command::new("gh");
        command
            .args(args)
            .current_dir(&self.clone)
            .env("GH_HOST", "github.localhost")
            .env("GH_REPO", "github.localhost/octocat/demo")
            .env("GH_TOKEN", who.token.as_deref().expect("a token"))
            .env("GH_CONFIG_DIR", self.config.path())
            .env("GH_PROMPT_DISABLED", "1")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("NO_COLOR", "1")
            .env("HTTP_PROXY", &self.proxy)
            .env("http_proxy", &self.proxy)
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("in time");
        output.expect("gh starts; `make test` and `scripts/setup` install it")
    }
}

#[tokio::test]
async fn gh_works_on_pull_requests() {
    let world = World::new().await;
    let (octocat, hubot) = (world.octocat.clone(), world.user("hubot").await);
    let clone = world.repo("demo").await;
    let ci = json!({ "checks": [{ "name": "test", "command": "test -e work.txt" }] });
    world.control("PUT", "/repos/octocat/demo/ci", ci).await.expect(200);
    clone.commit_on("work", "main", &[("work.txt", "done\n")], "Work").await;
    clone.push("work").await;
    let gh = Gh::new(&world, &clone).await;

    assert_eq!(gh.run(&octocat, &["api", "user", "--jq", ".login"]).await, "octocat");
    let repo =
        gh.json(&octocat, &["repo", "view", "octocat/demo", "--json", "name,defaultBranchRef,viewerPermission"]).await;
    assert_eq!(repo, json!({ "name": "demo", "defaultBranchRef": { "name": "main" }, "viewerPermission": "ADMIN" }));

    let create = ["pr", "create", "--head", "work", "--base", "main", "--title", "Do work", "--body", "As told."];
    assert!(gh.run(&octocat, &create).await.ends_with("/octocat/demo/pull/1"));
    let listed = gh.json(&octocat, &["pr", "list", "--json", "number,title,headRefName,state"]).await;
    assert_eq!(listed, json!([{ "number": 1, "title": "Do work", "headRefName": "work", "state": "OPEN" }]));
    assert!(gh.run(&octocat, &["pr", "diff", "1"]).await.contains("+done"));

    gh.run(&hubot, &["pr", "comment", "1", "--body", "Let me see."]).await;
    gh.run(&hubot, &["pr", "review", "1", "--approve", "--body", "Good."]).await;
    gh.run(&octocat, &["pr", "edit", "1", "--title", "Do the work"]).await;
    let fields = "title,author,comments,reviews,mergeable,isDraft,files,commits,labels,baseRefName";
    let viewed = gh.json(&octocat, &["pr", "view", "1", "--json", fields]).await;
    assert_eq!(viewed["title"], "Do the work");
    assert_eq!(viewed["comments"][0]["body"], "Let me see.");
    assert_eq!(viewed["reviews"][0]["state"], "APPROVED");
    assert_eq!(viewed["files"][0]["path"], "work.txt");
    assert_eq!((&viewed["mergeable"], &viewed["isDraft"]), (&json!("MERGEABLE"), &json!(false)));
    assert!(gh.run(&octocat, &["pr", "view", "1"]).await.contains("Do the work"));

    eventually("the check has passed", || async {
        let checks = gh.output(&octocat, &["pr", "checks", "1"]).await;
        (checks.status.success() && String::from_utf8_lossy(&checks.stdout).contains("pass")).then_some(())
    })
    .await;
    gh.run(&octocat, &["pr", "merge", "1", "--squash"]).await;
    let merged = gh.json(&octocat, &["pr", "view", "1", "--json", "state,mergedBy,mergeCommit"]).await;
    assert_eq!((&merged["state"], &merged["mergedBy"]["login"]), (&json!("MERGED"), &json!("octocat")));
    let main = world.octocat.get("/repos/octocat/demo/commits/main").await.expect(200);
    assert_eq!(merged["mergeCommit"]["oid"], main.json["sha"]);
    assert_eq!(main.json["commit"]["message"], "Work (#1)", "a single commit lends its own title");
    world.finish().await;
}

#[tokio::test]
async fn gh_closes_reopens_and_drafts() {
    let world = World::new().await;
    let octocat = world.octocat.clone();
    let clone = world.repo("demo").await;
    world.pull(&clone, "one", "main").await;
    let gh = Gh::new(&world, &clone).await;
    gh.run(&octocat, &["pr", "close", "1"]).await;
    assert_eq!(gh.json(&octocat, &["pr", "view", "1", "--json", "state"]).await["state"], "CLOSED");
    gh.run(&octocat, &["pr", "reopen", "1"]).await;
    gh.run(&octocat, &["label", "create", "ready", "--color", "00ff00"]).await;
    gh.run(&octocat, &["pr", "edit", "1", "--add-label", "ready"]).await;
    let viewed = gh.json(&octocat, &["pr", "view", "1", "--json", "state,labels"]).await;
    assert_eq!((&viewed["state"], &viewed["labels"][0]["name"]), (&json!("OPEN"), &json!("ready")));
    gh.run(&octocat, &["pr", "ready", "1", "--undo"]).await;
    gh.run(&octocat, &["pr", "ready", "1"]).await;
    assert_eq!(gh.json(&octocat, &["pr", "view", "1", "--json", "isDraft"]).await["isDraft"], false);
    let nothing = gh.output(&octocat, &["pr", "view", "99"]).await;
    assert!(!nothing.status.success());
    assert!(
        String::from_utf8_lossy(&nothing.stderr).contains("Could not resolve to a PullRequest with the number of 99")
    );
    world.finish().await;
}
