//! The demo's repository: a stack of four pull requests that parts, CI that runs, and a conversation, made through the same API that a
//! bot would use.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::api::SimulatorApi;

const REVIEWER: &str = "hubot";
/// For the checks of four small pull requests, and for the daemon to take in what was declared.
const READY_DEADLINE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What CI runs on every push; all of it must pass before something lands.
const CHECKS: &[(&str, &str)] = &[
    ("test", "for t in tests/*.sh; do echo \"$t\"; sh \"$t\" || exit 1; done"),
    ("lint", "for f in *.sh; do echo \"$f\"; sh -n \"$f\" || exit 1; done"),
];

/// The files a pull request of the stack changes, on the branch that it stands on.
struct DemoPullRequest {
    branch: &'static str,
    /// The layer below; none stands on the default branch.
    on: Option<usize>,
    title: &'static str,
    body: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// What somebody pushes later, which breaks its test.
    slip: Option<(&'static str, &'static str)>,
}

const HORN: &str = "horn.sh";
const LAMP: &str = ".github/lamp.conf";

/// One, and two that stand on it: a stack that parts.
const STACK: &[DemoPullRequest] = &[
    DemoPullRequest {
        branch: "farewell",
        on: None,
        title: "Say goodbye, too",
        body: "The lighthouse greets every ship that comes. Ships also leave.",
        files: &[
            ("farewell.sh", "#!/bin/sh\necho \"Fair winds, $1!\"\n"),
            ("tests/farewell.sh", "test \"$(sh farewell.sh Anna)\" = 'Fair winds, Anna!'\n"),
        ],
        slip: None,
    },
    DemoPullRequest {
        branch: "fog-signal",
        on: Some(0),
        title: "Sound the horn in fog",
        body: "Builds on #1.",
        files: &[
            (HORN, "#!/bin/sh\n[ \"$1\" = fog ] && echo 'TOOT TOOT'\n"),
            (
                "tests/horn.sh",
                "test \"$(sh horn.sh fog)\" = 'TOOT TOOT' || { echo 'error: in fog the horn sounds twice'; exit 1; }\n",
            ),
        ],
        slip: Some((HORN, "#!/bin/sh\n[ \"$1\" = fog ] && echo 'TOOT'\n")),
    },
    DemoPullRequest {
        branch: "count-ships",
        on: Some(1),
        title: "Count the ships",
        body: "Builds on #2.\n\n- [x] count them\n- [ ] greet them",
        files: &[
            ("count.sh", "#!/bin/sh\necho \"$# ships\"\n"),
            ("tests/count.sh", "test \"$(sh count.sh Anna Berta)\" = '2 ships'\n"),
        ],
        slip: None,
    },
    DemoPullRequest {
        branch: "light-the-lamp",
        on: Some(0),
        title: "Light the lamp at dusk",
        body: "Builds on #1, beside #2.",
        files: &[
            (LAMP, "light = dusk\n"),
            ("tests/lamp.sh", "grep -q dusk .github/lamp.conf || { echo 'error: the lamp is lit at dusk'; exit 1; }\n"),
        ],
        slip: Some((LAMP, "light = noon\n")),
    },
];

/// The demo's fixer. A coding agent would read what it is told, on standard input; this one knows the two bugs that there are.
pub const FIXER: &str = "#!/bin/sh -e\n\
    grep '^error' || true  # what CI said\n\
    sleep 3                # as if it had to think\n\
    [ ! -e horn.sh ] || sed -i \"s/'TOOT'/'TOOT TOOT'/\" horn.sh\n\
    [ ! -e .github/lamp.conf ] || sed -i s/noon/dusk/ .github/lamp.conf\n\
    for t in tests/*.sh; do sh \"$t\"; done\n\
    git commit -qam 'Do what the test says'\n\
    git push -q\n";
/// What it may not change without somebody's leave.
pub const GUARDED: &str = ".github/**";

/// The stack as it stands in the repository.
pub struct DemoStack {
    /// In the order of `STACK`.
    pub pulls: Vec<u64>,
    pub default_branch: String,
}

impl DemoStack {
    /// Makes the repository and waits until CI has ended.
    pub async fn make(api: &SimulatorApi) -> anyhow::Result<Self> {
        let reviewer = api.with_new_user(REVIEWER).await?;
        let default_branch = repository(api).await?;
        let mut pulls = Vec::new();
        for layer in STACK {
            let base = layer.on.map_or(default_branch.as_str(), |on| STACK[on].branch);
            pulls.push(open(api, layer, base).await?);
        }
        protect(api, &default_branch).await?;
        let review = json!({ "event": "APPROVE", "body": "Clear as a bell." });
        reviewer.in_repo("POST", &format!("/pulls/{}/reviews", pulls[0]), review).await?;
        ci_ended(api, &pulls, Instant::now() + READY_DEADLINE).await?;
        reviewer.comment(pulls[1], "Once or twice? The test says twice.").await?;
        Ok(Self { pulls, default_branch })
    }

    pub fn bottom(&self) -> u64 {
        self.pulls[0]
    }

    /// What is to be declared: each pull request that stands on another, with that one.
    pub fn declarations(&self) -> Vec<(u64, u64)> {
        let layers = STACK.iter().zip(&self.pulls);
        layers.filter_map(|(layer, pull)| Some((*pull, self.pulls[layer.on?]))).collect()
    }

    /// Somebody pushes what breaks the tests of some; which ones.
    pub async fn slip(&self, api: &SimulatorApi) -> anyhow::Result<Vec<u64>> {
        let mut broken = Vec::new();
        for (layer, pull) in STACK.iter().zip(&self.pulls) {
            if let Some((path, content)) = layer.slip {
                let found = api.in_repo("GET", &format!("/contents/{path}?ref={}", layer.branch), Value::Null).await?;
                let body = json!({ "message": format!("Tidy {path}"), "content": STANDARD.encode(content),
                    "branch": layer.branch, "sha": found["sha"] });
                api.in_repo("PUT", &format!("/contents/{path}"), body).await?;
                broken.push(*pull);
            }
        }
        Ok(broken)
    }
}

/// Makes the repository with what is on its default branch, whose name is returned.
async fn repository(api: &SimulatorApi) -> anyhow::Result<String> {
    let name = api.repo.rsplit('/').next();
    let new = json!({ "name": name, "auto_init": true, "description": "Greets ships.", "delete_branch_on_merge": true,
        "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
    let made = api.call("POST", "/user/repos", new).await?;
    let branch = made["default_branch"].as_str().context("a repository has a default branch")?.to_owned();
    put_file(api, &branch, "greet.sh", "#!/bin/sh\necho \"Ahoy, $1!\"\n").await?;
    put_file(api, &branch, "tests/greet.sh", "test \"$(sh greet.sh Anna)\" = 'Ahoy, Anna!'\n").await?;
    Ok(branch)
}

async fn open(api: &SimulatorApi, layer: &DemoPullRequest, base: &str) -> anyhow::Result<u64> {
    let tip = api.in_repo("GET", &format!("/git/ref/heads/{base}"), Value::Null).await?;
    let new = json!({ "ref": format!("refs/heads/{}", layer.branch), "sha": tip["object"]["sha"] });
    api.in_repo("POST", "/git/refs", new).await?;
    for (path, content) in layer.files {
        put_file(api, layer.branch, path, content).await?;
    }
    let pull = json!({ "title": layer.title, "body": layer.body, "head": layer.branch, "base": base });
    let made = api.in_repo("POST", "/pulls", pull).await?;
    made["number"].as_u64().context("a pull request has a number")
}

async fn put_file(api: &SimulatorApi, branch: &str, path: &str, content: &str) -> anyhow::Result<()> {
    let body = json!({ "message": format!("Add {path}"), "content": STANDARD.encode(content), "branch": branch });
    api.in_repo("PUT", &format!("/contents/{path}"), body).await?;
    Ok(())
}

/// Sets CI up, and requires it.
async fn protect(api: &SimulatorApi, branch: &str) -> anyhow::Result<()> {
    let checks: Vec<Value> = CHECKS.iter().map(|(name, command)| json!({ "name": name, "command": command })).collect();
    let ci = json!({ "name": "CI", "checks": checks });
    api.control("PUT", &format!("/repos/{}/ci?run=heads", api.repo), ci).await?;
    let required: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    let rules = json!({ "required_status_checks": { "strict": false, "contexts": required },
        "required_pull_request_reviews": null, "enforce_admins": false, "restrictions": null });
    api.in_repo("PUT", &format!("/branches/{branch}/protection"), rules).await?;
    Ok(())
}

/// Waits until every check has ended.
async fn ci_ended(api: &SimulatorApi, pulls: &[u64], deadline: Instant) -> anyhow::Result<()> {
    for &number in pulls {
        let pull = api.in_repo("GET", &format!("/pulls/{number}"), Value::Null).await?;
        let head = pull["head"]["sha"].as_str().context("a pull request has a head")?;
        let path = format!("/commits/{head}/check-runs");
        loop {
            let answer = api.in_repo("GET", &path, Value::Null).await?;
            let runs = answer["check_runs"].as_array().context("a list of check runs")?;
            if runs.len() == CHECKS.len() && runs.iter().all(|run| run["status"] == "completed") {
                break;
            }
            ensure!(Instant::now() < deadline, "CI of #{number} did not end within {} s", READY_DEADLINE.as_secs());
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
    Ok(())
}

/// Waits until the daemon has given a comment its thumbs up.
pub async fn acknowledged(api: &SimulatorApi, comment: u64) -> anyhow::Result<()> {
    let deadline = Instant::now() + READY_DEADLINE;
    let path = format!("/issues/comments/{comment}/reactions");
    loop {
        let given = api.in_repo("GET", &path, Value::Null).await?;
        if given.as_array().is_some_and(|given| given.iter().any(|reaction| reaction["content"] == "+1")) {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the daemon did not take a declaration in within {} s",
            READY_DEADLINE.as_secs()
        );
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}
