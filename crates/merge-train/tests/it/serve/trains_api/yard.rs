//! A simulated GitHub with a stack on it, and a daemon that is its app.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Daemon, REPO, Setup, World, eventually};

/// A repository that allows squashes only, with a stack of pull requests.
pub struct Yard {
    pub world: World,
    pub daemon: Daemon,
    /// From the root up.
    pub stack: Vec<u64>,
}

impl Yard {
    /// A stack of so many, with a daemon that is set up so.
    pub async fn new(count: usize, how: impl FnOnce(Setup) -> Setup) -> Self {
        let mut world = World::without_daemon().await;
        world.setup = how(world.setup.clone());
        let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
        world.call(Method::PATCH, &format!("/repos/{REPO}"), settings).await;
        let daemon = world.setup.start().await;
        world.aim_at(&daemon).await;
        let mut yard = Self { world, daemon, stack: Vec::new() };
        let mut base = "main".to_owned();
        for number in 1..=count {
            let branch = format!("branch-{number}");
            let pull = yard.world.open_pull(&branch, &base).await;
            if let Some(below) = yard.stack.last() {
                yard.world.comment(pull, &format!("@merge-train predecessor #{below}")).await;
            }
            yard.stack.push(pull);
            base = branch;
        }
        yard.known().await;
        yard
    }

    /// Waits until the daemon knows all of the stack.
    async fn known(&self) {
        eventually("the stack is known", || async {
            let state = self.daemon.state(REPO).await;
            let knows = |pair: &[u64]| state["prs"][pair[1].to_string()]["predecessor"] == pair[0];
            let root = !state["prs"][self.stack[0].to_string()].is_null();
            (root && self.stack.windows(2).all(knows)).then_some(())
        })
        .await;
    }

    pub fn root(&self) -> u64 {
        self.stack[0]
    }

    /// Nothing lands on the default branch before the check `ci` has passed, and that waits for [`Self::passes`].
    pub async fn require_check(&self) {
        let ci = json!({ "checks": [{ "name": "ci" }], "ignore_branches": ["main"] });
        self.world.control(Method::PUT, &format!("/repos/{REPO}/ci?run=heads"), ci).await;
        let rules = json!({
            "required_status_checks": { "strict": false, "contexts": ["ci"] }, "required_pull_request_reviews": null,
            "enforce_admins": false, "restrictions": null,
        });
        self.world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), rules).await;
    }

    /// The check passes on every head there is, and on all that come.
    pub async fn passes(&self) {
        let ci = json!({ "checks": [{ "name": "ci", "command": "true" }], "ignore_branches": ["main"] });
        self.world.control(Method::PUT, &format!("/repos/{REPO}/ci"), ci).await;
        for pull in &self.stack {
            let passed = json!({ "pull": pull, "name": "ci", "conclusion": "success" });
            self.world.control(Method::POST, &format!("/repos/{REPO}/checks"), passed).await;
        }
    }

    /// Starts the train through the API.
    pub async fn start(&self) {
        let address = format!("{}/api/v1/repos/{REPO}/trains/{}/start", self.daemon.url, self.root());
        let answer = self.daemon.http.post(address).bearer_auth(crate::support::KEY).send().await.expect("an answer");
        assert_eq!(answer.status(), 202);
    }

    /// The train as the API shows it; null if there is none.
    pub async fn train(&self) -> Value {
        let (status, train) = self.daemon.get(&format!("/api/v1/repos/{REPO}/trains/{}", self.root())).await;
        if status == 200 { train } else { Value::Null }
    }

    /// Waits until the train is in this state.
    pub async fn becomes(&self, state: &str) -> Value {
        eventually(&format!("the train is {state}"), || async {
            let train = self.train().await;
            (train["state"] == state).then_some(train)
        })
        .await
    }

    pub async fn has_landed(&self) -> bool {
        self.world.truth().await.values().all(|[state, ..]| state == "merged")
    }

    /// Waits until everything is merged and the train is over.
    pub async fn lands(&self) {
        eventually("the stack lands", || async {
            (self.has_landed().await && self.train().await.is_null()).then_some(())
        })
        .await;
    }

    /// What the bot said on a pull request.
    pub async fn said(&self, pull: u64) -> Vec<String> {
        let path = format!("/repos/{REPO}/issues/{pull}/comments?per_page=100");
        let comments = self.world.call(Method::GET, &path, Value::Null).await;
        let bots = comments.as_array().expect("a list").iter().filter(|comment| comment["user"]["type"] == "Bot");
        bots.map(|comment| comment["body"].as_str().expect("text").to_owned()).collect()
    }

    pub async fn close(self) {
        assert!(self.daemon.stop().await.success());
        self.world.sim.stop().await;
    }
}
