//! From nothing to a daemon that lands a pull request: `merge-train init` and `merge-train app create`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::support::{PATIENCE, REPO, World, eventually, path_with_current_git};

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a text")
}

/// The program, with what it keeps in a folder of the test's.
fn program(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
    command.current_dir(dir).stdin(Stdio::null()).kill_on_drop(true).env_remove("RUST_LOG");
    command.env("PATH", path_with_current_git(dir));
    for (name, folder) in [("STATE_STATE_DIR", "state"), ("GIT_CLONE_BASE_DIR", "repos"), ("RUNS_WORK_DIR", "runs")] {
        command.env(format!("MERGE_TRAIN_{name}"), dir.join(folder));
    }
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_configuration_is_written_once_and_can_be_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("merge-train.toml");
    let output = program(dir.path()).args(["init", "--json"]).output().await.expect("it runs");
    assert!(output.status.success(), "{}", told(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(mode(&file), 0o600);
    let first = read(&file);
    assert!(!first.contains(text(&done["api_key"])), "the key itself is not kept");

    let output = program(dir.path()).arg("init").output().await.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("already exists") && told(&output).contains("--force"), "{}", told(&output));
    assert_eq!(read(&file), first);

    let report = program(dir.path()).args(["doctor", "--json"]).output().await.expect("it runs");
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let failed: Vec<&str> = report["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["result"] == "failed")
        .map(|check| text(&check["check"]))
        .collect();
    assert_eq!(failed, ["github", "webhooks"], "only what nobody else can know is missing: {report:#}");

    let output = program(dir.path()).args(["init", "--force"]).output().await.expect("it runs");
    assert!(output.status.success() && told(&output).contains("merge-train app create"), "{}", told(&output));
    assert_ne!(read(&file), first, "another key");
    assert_eq!(mode(&file), 0o600);
}

/// `merge-train app create` at work, and a browser.
struct Creation {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// The page on this machine.
    page: String,
    browser: reqwest::Client,
}

impl Creation {
    async fn begin(world: &World, dir: &Path, words: &[&str]) -> Self {
        let mut command = program(dir);
        command.args(["app", "create", "--no-browser", "--github", text(&world.described["web_url"])]).args(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("text");
        let line = line.unwrap_or_default();
        let page = line.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(page.starts_with("http://127.0.0.1:"), "{line}");
        let browser = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        Self { child, lines, page, browser }
    }

    async fn get(&self, url: &str) -> (StatusCode, String) {
        let response = self.browser.get(url).send().await.expect("an answer");
        (response.status(), response.text().await.expect("a page"))
    }

    /// Where the page leads, and what it asks for.
    async fn proposal(&self) -> (Url, Value) {
        let (status, page) = self.get(&self.page).await;
        assert_eq!(status, 200);
        let attribute = |before: &str| {
            let rest = page.split_once(before).unwrap_or_else(|| panic!("{before}: {page}")).1;
            let value = rest.split_once('"').expect("it ends").0;
            value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        };
        let manifest = serde_json::from_str(&attribute("name=\"manifest\" value=\"")).expect("JSON");
        (attribute("action=\"").parse().expect("an address"), manifest)
    }

    /// Looks at the proposal on GitHub, agrees, and says where GitHub leads back to.
    async fn agree(&self) -> Url {
        let (action, manifest) = self.proposal().await;
        let name = text(&manifest["name"]).to_owned();
        let post = async |fields: &[(&str, &str)]| {
            let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            let request = self.browser.post(action.clone()).header("content-type", "application/x-www-form-urlencoded");
            request.body(body).send().await.expect("an answer")
        };
        let manifest = manifest.to_string();
        let shown = post(&[("manifest", &manifest)]).await;
        assert_eq!(shown.status(), 200);
        assert!(shown.text().await.expect("a page").contains("contents: write"));
        let agreed = [("manifest", manifest.as_str()), ("agreed", "yes"), ("name", &name), ("owner", "octocat")];
        let back = post(&agreed).await;
        assert_eq!(back.status(), 303);
        back.headers()["location"].to_str().expect("text").parse().expect("an address")
    }

    /// Waits until it ends: its exit code, and what it said.
    async fn done(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        while let Some(line) = self.lines.next_line().await.expect("text") {
            said += &format!("{line}\n");
        }
        let mut errors = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut errors).await.expect("text");
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends").expect("a status");
        (status.code(), said + &errors)
    }
}

/// An address that nobody listens at yet.
async fn free_address() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").to_string()
}

async fn install(world: &World, slug: &str) {
    world.control(Method::POST, "/installations", json!({ "app": slug, "account": "octocat" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_made_and_the_daemon_lands_with_what_was_written() {
    let world = World::without_daemon().await;
    world.squash_only().await;
    let address = free_address().await;
    let dir = world.dir.path().join("operator");
    std::fs::create_dir(&dir).expect("a folder");
    let public = format!("http://{address}");
    let creation = Creation::begin(&world, &dir, &["--url", &public, "--name", "Landing Bot"]).await;

    let back = creation.agree().await;
    let mut forged = back.clone();
    let code = back.query_pairs().find(|(name, _)| name == "code").expect("a code").1.into_owned();
    forged.query_pairs_mut().clear().append_pair("code", &code).append_pair("state", "guessed");
    let (status, page) = creation.get(forged.as_str()).await;
    assert_eq!((status, page.contains("No app was created")), (StatusCode::BAD_REQUEST, true), "{page}");
    let elsewhere =
        creation.browser.get(&creation.page).header("host", "evil.example").send().await.expect("an answer");
    assert_eq!(elsewhere.status(), StatusCode::MISDIRECTED_REQUEST);

    let (status, page) = creation.get(back.as_str()).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("Landing Bot is made") && page.contains("/apps/landing-bot/installations/new"), "{page}");
    let (status, page) = creation.get(back.as_str()).await;
    assert_eq!((status, page.contains("already exists")), (StatusCode::CONFLICT, true), "{page}");
    install(&world, "landing-bot").await;
    let (code, said) = creation.done().await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("/apps/landing-bot/installations/new"), "{said}");
    assert_eq!(said.matches(", for 15 minutes at most").count(), 2, "whom it waits for, and for how long: {said}");
    assert!(said.contains("\nIt works, with 1 warning.") && said.contains("warning  signing"), "{said}");

    let (key, config) = (dir.join("landing-bot.private-key.pem"), dir.join("merge-train.toml"));
    assert_eq!((mode(&key), mode(&config)), (0o600, 0o600));
    assert!(
        read(&key).contains("PRIVATE KEY")
            && read(&config).contains("private_key_path = \"landing-bot.private-key.pem\"")
    );
    let api_key = said.split_once("MERGE_TRAIN_API_KEY=").expect("a key").1.lines().next().expect("a line").to_owned();
    land(&world, &dir, &address, &api_key).await;
    world.sim.stop().await;
}

/// Runs the daemon with what was written, and lets it land a pull request: the permissions asked for are enough.
async fn land(world: &World, dir: &Path, address: &str, api_key: &str) {
    let mut serve = program(dir);
    serve.arg("serve").env("MERGE_TRAIN_SERVER_BIND_ADDRESS", address).stdout(Stdio::null());
    let mut daemon = serve.stderr(Stdio::null()).spawn().expect("it starts");
    let http = crate::support::http();
    let ready =
        || async { http.get(format!("http://{address}/readyz")).send().await.ok().filter(|it| it.status() == 200) };
    eventually("the daemon is ready", ready).await;
    let number = world.open_pull("feature", "main").await;
    world.comment(number, "@merge-train start").await;
    let landed =
        || async { world.truth().await.get(&number.to_string()).filter(|[state, ..]| state == "merged").cloned() };
    eventually("it lands", landed).await;
    let repos =
        http.get(format!("http://{address}/api/v1/repos")).bearer_auth(api_key).send().await.expect("an answer");
    assert_eq!(repos.status(), 200, "the key that was shown is the one that was kept");
    let checked = program(dir).args(["doctor", REPO]).output().await.expect("it runs");
    assert!(checked.status.success() && told(&checked).contains("arrived just now"), "{}", told(&checked));
    daemon.kill().await.expect("killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_configuration_says_already_is_kept_and_never_overwritten() {
    let world = World::without_daemon().await;
    let dir = world.dir.path().join("operator");
    std::fs::create_dir(&dir).expect("a folder");
    let config = dir.join("merge-train.toml");
    let mine = "# mine\n[server]\nbind_address = \"127.0.0.1:7\" # stays\npublic_url = \"http://127.0.0.1:7\"\n\n[git]\nsigning = \"off\"\n";
    std::fs::write(&config, mine).expect("written");
    let creation = Creation::begin(&world, &dir, &["--timeout", "600"]).await;
    let (_, manifest) = creation.proposal().await;
    assert_eq!(manifest["hook_attributes"]["url"], "http://127.0.0.1:7/webhook");
    let slug = text(&manifest["name"]).to_owned();
    assert_eq!(creation.get(creation.agree().await.as_str()).await.0, 200);
    install(&world, &slug).await;
    let (code, said) = creation.done().await;
    assert_eq!(code, Some(0), "{said}");
    let written = read(&config);
    for line in mine.lines() {
        assert!(written.lines().any(|kept| kept == line), "{line:?} is gone: {written}");
    }
    assert!(written.contains("\n[github]\n") && written.contains("\nwebhook_secret = "), "{written}");
    assert_eq!(mode(&config), 0o600);

    let again = program(&dir).args(["app", "create", "--no-browser"]).output().await.expect("it runs");
    assert_eq!(again.status.code(), Some(1));
    let told = told(&again);
    assert!(told.contains("github.app_id") && told.contains("name another file with --config"), "{told}");
    assert_eq!(read(&config), written);
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_told_and_nothing_is_written() {
    let world = World::without_daemon().await;
    let dir = world.dir.path().join("operator");
    std::fs::create_dir(&dir).expect("a folder");
    let files = || -> Vec<PathBuf> {
        let all = std::fs::read_dir(&dir).expect("a folder").map(|entry| entry.expect("an entry").path());
        all.filter(|path| path.is_file()).collect()
    };
    let creation = Creation::begin(&world, &dir, &["--url", "http://127.0.0.1:7", "--timeout", "1"]).await;
    let (code, said) = creation.done().await;
    assert_eq!(code, Some(1));
    assert!(said.contains("nobody confirmed on GitHub within 1 s, and no app was created"), "{said}");

    let creation = Creation::begin(&world, &dir, &["--url", "http://127.0.0.1:7", "--org", "acme"]).await;
    let (action, _) = creation.proposal().await;
    assert!(action.path().ends_with("/organizations/acme/settings/apps/new"), "{action}");
    // A code that GitHub does not know.
    let state = action.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    let (status, page) = creation.get(&format!("{}made?code=nonsense&state={state}", creation.page)).await;
    assert_eq!((status, page.contains("GitHub did not create the app")), (StatusCode::BAD_GATEWAY, true), "{page}");
    assert!(!page.contains("nonsense"), "a code is a secret");
    let (status, _) = creation.get(&format!("{}made?code=nonsense", creation.page)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);

    let output = program(&dir).args(["app", "create", "--no-browser"]).output().await.expect("it runs");
    assert!(!output.status.success() && told(&output).contains("--url https://"), "{}", told(&output));
    let open = ["app", "create", "--url", "https://train.example", "--github", "http://github.example"];
    let output = program(&dir).args(open).output().await.expect("it runs");
    assert!(!output.status.success() && told(&output).contains("must begin with https://"), "{}", told(&output));
    // What is set in the environment would contradict what is written.
    let mut contradicted = program(&dir);
    contradicted.args(["app", "create", "--url", "https://train.example"]).env("MERGE_TRAIN_GITHUB_TOKEN", "x");
    let output = contradicted.output().await.expect("it runs");
    assert!(!output.status.success() && told(&output).contains("github.token and github.app_id"), "{}", told(&output));
    assert_eq!(files(), Vec::<PathBuf>::new());
    world.sim.stop().await;
}
