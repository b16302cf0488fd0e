//! `merge-train demo`: a simulated GitHub with a repository, a stack of three pull requests, CI that runs and a
//! conversation, made through the same API a bot would use.

use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::telemetry;

#[derive(clap::Args)]
pub struct Args {
    /// Check that everything is there, print it, and exit: 0 when it is, 1 when not.
    #[arg(long)]
    once: bool,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8930")]
    listen: SocketAddr,
}

const REPO: &str = "octocat/lighthouse";
const REVIEWER: &str = "hubot";
/// The checks of three small pull requests.
const CI_DEADLINE: Duration = Duration::from_secs(60);

pub async fn run(args: Args) -> anyhow::Result<()> {
    telemetry::init_plain();
    let data = tempfile::tempdir().context("no room for the demo's data")?;
    let options = github_sim::Options { listen: args.listen, ..github_sim::Options::new(data.path()) };
    let running = github_sim::start(options).await.with_context(|| {
        format!("the simulator did not start; is {} taken? Another address: --listen 127.0.0.1:0", args.listen)
    })?;
    let api = Api::new(&running.description())?;
    seed(&api).await.context("the demo's repository could not be made")?;
    let red = wait_for_ci(&api).await?;
    let config = data.path().join("merge-train.toml");
    fs::write(&config, configuration(&running.description())).context("no room for the demo's configuration")?;
    let program = std::env::current_exe().map_or("merge-train".into(), |path| path.display().to_string());
    println!("A GitHub of your own is running, with a stack of three pull requests in {REPO}.\n");
    println!("  Look:     {}", running.urls().web(format!("/{REPO}")));
    println!("  Join in:  comment on {}", running.urls().web(format!("/{REPO}/pull/1")));
    println!("  Red CI:   {}", running.urls().web(format!("/{REPO}/pull/{red}")));
    println!(
        "  REST:     curl -H 'Authorization: Bearer {}' {}",
        api.token,
        running.urls().api(format!("/repos/{REPO}/pulls"))
    );
    println!("  git:      git clone {}", running.urls().web(format!("/{REPO}.git")));
    println!("  Plan:     {program} plan --config {} '{REPO}#1'", config.display());
    println!("  Tokens:   {}", data.path().join("sim.json").display());
    if !args.once {
        println!("\nCtrl-C stops it and removes its data.");
        crate::sim::stop_signal().await?;
    }
    running.stop().await;
    Ok(())
}

/// What a merge-train needs to know of this GitHub.
fn configuration(description: &Value) -> String {
    format!(
        "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\ntoken = {}\n[git]\nclone_base_dir = \"repos\"\n",
        description["api_url"], description["graphql_url"], description["git_url"], description["users"][0]["token"]
    )
}

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
        body: "Builds on #1.\n\n- [x] short blast\n- [ ] long blast",
        files: &[
            ("horn.sh", "#!/bin/sh\n[ \"$1\" = fog ] && echo TOOT\n"),
            ("tests/horn.sh", "test \"$(sh horn.sh fog)\" = TOOT\n"),
        ],
    },
    Layer {
        branch: "count-ships",
        title: "Count the ships",
        body: "Builds on #2. The test is right, the script is not: a red check for someone to mend.",
        files: &[
            ("count.sh", "#!/bin/sh\necho $#\n"),
            ("tests/count.sh", "test \"$(sh count.sh Anna Berta)\" = '2 ships'\n"),
        ],
    },
];

async fn seed(api: &Api) -> anyhow::Result<()> {
    let reviewer = api.control("POST", "/users", json!({ "login": REVIEWER })).await?;
    let reviewer = api.with_token(reviewer["token"].as_str().context("a new user has a token")?);
    let (_, name) = REPO.split_once('/').context("owner/name")?;
    let repo = json!({ "name": name, "auto_init": true, "description": "Greets ships.", "delete_branch_on_merge": true,
                "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
    api.call("POST", "/user/repos", repo).await?;
    let ci = json!({ "name": "CI", "checks": [
        { "name": "test", "command": "for t in tests/*.sh; do echo \"$t\"; sh \"$t\" || exit 1; done" },
        { "name": "lint", "command": "for f in *.sh; do echo \"$f\"; sh -n \"$f\" || exit 1; done" },
    ] });
    put_file(api, "main", "greet.sh", "#!/bin/sh\necho \"Ahoy, $1!\"\n").await?;
    put_file(api, "main", "tests/greet.sh", "test \"$(sh greet.sh Anna)\" = 'Ahoy, Anna!'\n").await?;
    let mut base = "main";
    for (number, layer) in (1..).zip(STACK) {
        let tip = api.call("GET", &format!("/repos/{REPO}/git/ref/heads/{base}"), Value::Null).await?;
        let new = json!({ "ref": format!("refs/heads/{}", layer.branch), "sha": tip["object"]["sha"] });
        api.call("POST", &format!("/repos/{REPO}/git/refs"), new).await?;
        for (path, content) in layer.files {
            put_file(api, layer.branch, path, content).await?;
        }
        let pull = json!({ "title": layer.title, "body": layer.body, "head": layer.branch, "base": base });
        api.call("POST", &format!("/repos/{REPO}/pulls"), pull).await?;
        if number > 1 {
            let declaration = json!({ "body": format!("@merge-train predecessor #{}", number - 1) });
            api.call("POST", &format!("/repos/{REPO}/issues/{number}/comments"), declaration).await?;
        }
        base = layer.branch;
    }
    api.control("PUT", &format!("/repos/{REPO}/ci?run=heads"), ci).await?;
    let review = json!({ "event": "APPROVE", "body": "Clear as a bell." });
    reviewer.call("POST", &format!("/repos/{REPO}/pulls/1/reviews"), review).await?;
    let comment = json!({ "body": "What should it print, `2` or `2 ships`? The test in #3 says the latter." });
    reviewer.call("POST", &format!("/repos/{REPO}/issues/3/comments"), comment).await?;
    Ok(())
}

async fn put_file(api: &Api, branch: &str, path: &str, content: &str) -> anyhow::Result<()> {
    let body = json!({ "message": format!("Add {path}"), "content": STANDARD.encode(content), "branch": branch });
    api.call("PUT", &format!("/repos/{REPO}/contents/{path}"), body).await?;
    Ok(())
}

/// Waits until every check has ended; the pull request with the red one.
async fn wait_for_ci(api: &Api) -> anyhow::Result<u64> {
    let deadline = Instant::now() + CI_DEADLINE;
    let mut red = None;
    for number in 1..=STACK.len() as u64 {
        let pull = api.call("GET", &format!("/repos/{REPO}/pulls/{number}"), Value::Null).await?;
        let path =
            format!("/repos/{REPO}/commits/{}/check-runs", pull["head"]["sha"].as_str().context("a head commit")?);
        loop {
            let answer = api.call("GET", &path, Value::Null).await?;
            let runs = answer["check_runs"].as_array().context("a list of check runs")?;
            if runs.len() == 2 && runs.iter().all(|run| run["status"] == "completed") {
                if runs.iter().any(|run| run["conclusion"] == "failure") {
                    red = Some(number);
                }
                break;
            }
            ensure!(Instant::now() < deadline, "CI of #{number} did not end within {} s", CI_DEADLINE.as_secs());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    red.context("the check that should be red is green")
}

/// octocat's view of the simulator.
struct Api {
    http: reqwest::Client,
    api_url: String,
    control_url: String,
    token: String,
}

impl Api {
    fn new(description: &Value) -> anyhow::Result<Self> {
        let text = |pointer: &str| {
            description
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .with_context(|| format!("sim.json lacks {pointer}"))
        };
        Ok(Self {
            http: reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build()?,
            api_url: text("/api_url")?,
            control_url: text("/control_url")?,
            token: text("/users/0/token")?,
        })
    }

    fn with_token(&self, token: &str) -> Self {
        Self {
            http: self.http.clone(),
            api_url: self.api_url.clone(),
            control_url: self.control_url.clone(),
            token: token.to_owned(),
        }
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        self.send(method, &format!("{}{path}", self.api_url), body).await
    }

    async fn control(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        self.send(method, &format!("{}{path}", self.control_url), body).await
    }

    async fn send(&self, method: &str, url: &str, body: Value) -> anyhow::Result<Value> {
        let mut request = self.http.request(method.parse()?, url).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await?;
        let (status, text) = (response.status(), response.text().await?);
        if !status.is_success() {
            bail!("{method} {url} answered {status}: {text}");
        }
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }
}
