//! The demo's repository: a stack of three pull requests, CI that runs, and a conversation, made through the same API that a
//! bot would use.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::api::Api;

const REVIEWER: &str = "hubot";
/// For the checks of three small pull requests, and for the daemon to take in what was declared.
const READY_DEADLINE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What CI runs on every push; all of it must pass before something lands.
const CHECKS: &[(&str, &str)] = &[
    ("test", "for t in tests/*.sh; do echo \"$t\"; sh \"$t\" || exit 1; done"),
    ("lint", "for f in *.sh; do echo \"$f\"; sh -n \"$f\" || exit 1; done"),
];

/// The files a pull request of the stack changes, on a branch cut from the one before.
struct Layer {
    branch: &'static str,
    title: &'static str,
    body: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const STACK: &[Layer] = &[
    Layer {
        branch: "farewell",
        title: "Say goodbye, too",
        body: "The lighthouse greets every ship that comes. Ships also leave.",
        files: &[
            ("farewell.sh", "#!/bin/sh\necho \"Fair winds, $1!\"\n"),
            ("tests/farewell.sh", "test \"$(sh farewell.sh Anna)\" = 'Fair winds, Anna!'\n"),
        ],
    },
    Layer {
        branch: "fog-signal",
        title: "Sound the horn in fog",
        body: "Builds on #1. The test is right, the script is not: a red check for a fixer to mend.",
        files: &[
            ("horn.sh", "#!/bin/sh\n[ \"$1\" = fog ] && echo 'TOOT'\n"),
            (
                "tests/horn.sh",
                "test \"$(sh horn.sh fog)\" = 'TOOT TOOT' || { echo 'error: in fog the horn sounds twice'; exit 1; }\n",
            ),
        ],
    },
    Layer {
        branch: "count-ships",
        title: "Count the ships",
        body: "Builds on #2.\n\n- [x] count them\n- [ ] greet them",
        files: &[
            ("count.sh", "#!/bin/sh\necho \"$# ships\"\n"),
            ("tests/count.sh", "test \"$(sh count.sh Anna Berta)\" = '2 ships'\n"),
        ],
    },
];

/// The demo's fixer. A coding agent would read what it is told, on standard input; this one knows the one bug that there is.
pub const FIXER: &str = "#!/bin/sh -e\n\
    grep '^error' || true  # what CI said\n\
    sleep 3                # as if it had to think\n\
    sed -i \"s/'TOOT'/'TOOT TOOT'/\" horn.sh\n\
    sh tests/horn.sh\n\
    git commit -qam 'Sound the horn twice in fog'\n\
    git push -q\n";

/// The stack as it stands in the repository.
pub struct Stack {
    /// From the bottom to the top.
    pub pulls: Vec<u64>,
    pub red: Red,
    pub default_branch: String,
}

/// The pull request whose own change fails its check; what stands on it has the same in it.
pub struct Red {
    pub pull: u64,
}

impl Stack {
    /// Makes the repository and waits until CI has ended and the daemon has taken in what stands on what.
    pub async fn make(api: &Api) -> anyhow::Result<Self> {
        let reviewer = api.with_new_user(REVIEWER).await?;
        let default_branch = repository(api).await?;
        let (mut pulls, mut declarations) = (Vec::new(), Vec::new());
        let mut base = default_branch.as_str();
        for layer in STACK {
            let pull = open(api, layer, base).await?;
            if let Some(below) = pulls.last() {
                declarations.push(api.comment(pull, &format!("@merge-train predecessor #{below}")).await?);
            }
            pulls.push(pull);
            base = layer.branch;
        }
        protect(api, &default_branch).await?;
        let review = json!({ "event": "APPROVE", "body": "Clear as a bell." });
        reviewer.in_repo("POST", &format!("/pulls/{}/reviews", pulls[0]), review).await?;
        let deadline = Instant::now() + READY_DEADLINE;
        let red = find_red(api, &pulls, deadline).await?;
        let question = format!("Once or twice? The test in #{} says twice.", red.pull);
        reviewer.comment(red.pull, &question).await?;
        for comment in declarations {
            acknowledged(api, comment, deadline).await?;
        }
        Ok(Self { pulls, red, default_branch })
    }

    pub fn bottom(&self) -> u64 {
        self.pulls[0]
    }
}

/// Makes the repository with what is on its default branch, whose name is returned.
async fn repository(api: &Api) -> anyhow::Result<String> {
    let name = api.repo.rsplit('/').next();
    let new = json!({ "name": name, "auto_init": true, "description": "Greets ships.", "delete_branch_on_merge": true,
        "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
    let made = api.call("POST", "/user/repos", new).await?;
    let branch = made["default_branch"].as_str().context("a repository has a default branch")?.to_owned();
    put_file(api, &branch, "greet.sh", "#!/bin/sh\necho \"Ahoy, $1!\"\n").await?;
    put_file(api, &branch, "tests/greet.sh", "test \"$(sh greet.sh Anna)\" = 'Ahoy, Anna!'\n").await?;
    Ok(branch)
}

async fn open(api: &Api, layer: &Layer, base: &str) -> anyhow::Result<u64> {
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

async fn put_file(api: &Api, branch: &str, path: &str, content: &str) -> anyhow::Result<()> {
    let body = json!({ "message": format!("Add {path}"), "content": STANDARD.encode(content), "branch": branch });
    api.in_repo("PUT", &format!("/contents/{path}"), body).await?;
    Ok(())
}

/// Sets CI up, and requires it.
async fn protect(api: &Api, branch: &str) -> anyhow::Result<()> {
    let checks: Vec<Value> = CHECKS.iter().map(|(name, command)| json!({ "name": name, "command": command })).collect();
    let ci = json!({ "name": "CI", "checks": checks });
    api.control("PUT", &format!("/repos/{}/ci?run=heads", api.repo), ci).await?;
    let required: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    let rules = json!({ "required_status_checks": { "strict": false, "contexts": required },
        "required_pull_request_reviews": null, "enforce_admins": false, "restrictions": null });
    api.in_repo("PUT", &format!("/branches/{branch}/protection"), rules).await?;
    Ok(())
}

/// Waits until every check has ended; the pull request with the red one.
async fn find_red(api: &Api, pulls: &[u64], deadline: Instant) -> anyhow::Result<Red> {
    let mut red = None;
    for &number in pulls {
        let pull = api.in_repo("GET", &format!("/pulls/{number}"), Value::Null).await?;
        let head = pull["head"]["sha"].as_str().context("a pull request has a head")?;
        let path = format!("/commits/{head}/check-runs");
        loop {
            let answer = api.in_repo("GET", &path, Value::Null).await?;
            let runs = answer["check_runs"].as_array().context("a list of check runs")?;
            if runs.len() == CHECKS.len() && runs.iter().all(|run| run["status"] == "completed") {
                if runs.iter().any(|run| run["conclusion"] == "failure") {
                    red = red.or(Some(Red { pull: number }));
                }
                break;
            }
            ensure!(Instant::now() < deadline, "CI of #{number} did not end within {} s", READY_DEADLINE.as_secs());
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
    red.context("the check that should be red is green")
}

/// Waits until the daemon has given a comment its thumbs up.
async fn acknowledged(api: &Api, comment: u64, deadline: Instant) -> anyhow::Result<()> {
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
