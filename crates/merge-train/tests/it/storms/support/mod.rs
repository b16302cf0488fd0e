//! A GitHub with many repositories, and the daemon that lands their stacks.

mod ci;
mod repo;
mod verify;

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use test_support::api::Client;
pub use test_support::wait::within;

pub use ci::Ci;
pub use repo::{Edit, Repo};
pub use verify::reason_of;

use crate::support::{Daemon, PATIENCE, Setup};

/// Looks at GitHub so often that what webhooks did not tell is made up for within seconds.
const POLLING: &str = "[housekeeping]\npoll_interval_mins = 0.05\n[behavior]\nresync_interval_mins = 0.1\n";

/// One simulator, one daemon. Each repository has an owner of its own, so that GitHub counts the calls for each apart.
pub struct Yard {
    pub dir: tempfile::TempDir,
    _sim: github_sim::Running,
    described: Value,
    pub setup: Setup,
    pub daemon: Daemon,
    http: reqwest::Client,
}

impl Yard {
    /// With a daemon that looks for itself every few seconds.
    pub async fn new(seed: u64) -> Arc<Self> {
        Self::with(seed, POLLING).await
    }

    /// With these sections in the configuration.
    pub async fn with(seed: u64, sections: &str) -> Arc<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("sim");
        let options = github_sim::Options { seed: Some(seed), ..github_sim::Options::new(&data) };
        let sim = github_sim::start(options).await.expect("the simulator starts");
        let described: Value =
            serde_json::from_slice(&std::fs::read(data.join("sim.json")).expect("sim.json")).expect("JSON");
        let app = &described["app"];
        let github = format!(
            "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\napp_id = {}\nprivate_key_path = {}\n",
            described["api_url"], described["graphql_url"], described["git_url"], app["id"], app["private_key_path"]
        );
        let secret = app["webhook_secret"].as_str().expect("text");
        let setup = Setup::new(dir.path()).github(github).secrets(&[secret]).more(sections);
        let daemon = setup.start().await;
        let yard = Self { dir, _sim: sim, described, setup, daemon, http: lonely_calls() };
        let webhook_url = format!("{}/webhook", yard.daemon.url);
        yard.control(Method::PATCH, "/app", json!({ "webhook_url": webhook_url })).await;
        Arc::new(yard)
    }

    fn text(&self, name: &str) -> &str {
        self.described[name].as_str().expect("an address")
    }

    /// The token of the person who owns everything.
    fn token(&self) -> &str {
        self.described["users"][0]["token"].as_str().expect("a token")
    }

    fn login(&self) -> &str {
        self.described["users"][0]["login"].as_str().expect("a login")
    }

    /// The number of the app that the daemon is.
    pub fn app(&self) -> &Value {
        &self.described["app"]["id"]
    }

    /// What only GitHub itself can do.
    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        Client::control(self.http.clone(), &self.described).call(method.as_str(), path, body).await
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let owner = Client::first_user(self.http.clone(), &self.described);
        let answer = owner.send(method.as_str(), path, Some(body).filter(|body| !body.is_null())).await;
        (answer.status, answer.json)
    }

    /// Every webhook of one kind that came about, in that order, whether it was delivered or not.
    pub async fn deliveries(&self, event: &str) -> Vec<Value> {
        let all = self.control(Method::GET, &format!("/deliveries?event={event}"), Value::Null).await;
        all.as_array().expect("a list").clone()
    }

    /// No branch was forced, in any repository.
    pub async fn expect_no_forced_push(&self) {
        for push in self.deliveries("push").await {
            let (repo, payload) = (&push["repository"], &push["payload"]);
            let by = &payload["sender"]["login"];
            assert_eq!(payload["forced"], false, "{} of {repo} was forced by {by}", payload["ref"]);
        }
    }
}

/// A connection for each call: one that is kept may be closed by the other side just when it is needed.
fn lonely_calls() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).pool_max_idle_per_host(0).build();
    client.expect("a client")
}

/// The seeds to try: those that the environment names, with commas between them, or from the first on as many as there is
/// time for. `make storm` has more of it.
pub fn seeds(usual: u64, with_time: u64) -> Vec<u64> {
    match std::env::var("MERGE_TRAIN_TEST_SEED") {
        Ok(named) => named.split(',').map(|seed| seed.parse().expect("MERGE_TRAIN_TEST_SEED is a number")).collect(),
        Err(_) if std::env::var_os("MERGE_TRAIN_STORMS").is_some() => (1..=with_time).collect(),
        Err(_) => (1..=usual).collect(),
    }
}
