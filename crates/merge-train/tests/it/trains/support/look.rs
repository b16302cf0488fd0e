//! What can be seen of a train, and waiting until it can be seen.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use test_support::wait::within;

use super::conversation::normalised;
use super::{REPO, Trains};
use crate::support::Database;

/// Long enough for a machine under load; nothing waits this long unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);
const STATE: &str = "<!-- merge-train-state";

impl Trains {
    /// Everything in the conversation of a pull request, oldest first.
    pub async fn comments(&self, number: u64) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let found = self.get(&format!("/issues/{number}/comments?per_page=100&page={page}")).await;
            let found = found.as_array().expect("a list");
            all.extend_from_slice(found);
            if found.len() < 100 {
                break;
            }
        }
        all
    }

    /// Whether this is the daemon's own account.
    fn is_bot(&self, user: &Value) -> bool {
        user["type"] == "Bot" && user["login"] == self.bot
    }

    /// What the bot wrote there.
    pub async fn bot_comments(&self, number: u64) -> Vec<String> {
        let all = self.comments(number).await;
        let bot = all.iter().filter(|comment| self.is_bot(&comment["user"]));
        bot.map(|comment| comment["body"].as_str().expect("a body").to_owned()).collect()
    }

    /// What the bot wrote there apart from the status comment.
    pub async fn notes(&self, number: u64) -> Vec<String> {
        self.bot_comments(number).await.into_iter().filter(|body| !is_status(body)).collect()
    }

    /// The bot's comment on a pull request that says this.
    pub async fn told(&self, number: u64, text: &str) -> String {
        self.until(&format!("#{number} is told: {text}"), async || {
            self.bot_comments(number).await.into_iter().find(|body| body.contains(text))
        })
        .await
    }

    /// The status comment on a pull request.
    pub async fn status_comment(&self, number: u64) -> Option<Value> {
        let is_it =
            |comment: &Value| self.is_bot(&comment["user"]) && is_status(comment["body"].as_str().unwrap_or(""));
        self.comments(number).await.into_iter().find(is_it)
    }

    /// The record in the status comment; none where there is no comment, or the train in it is done.
    pub async fn status(&self, number: u64) -> Option<Value> {
        let comment = self.status_comment(number).await?;
        let json = comment["body"].as_str()?.strip_prefix(STATE)?.split_once("-->")?.0;
        Some(serde_json::from_str(json).expect("JSON"))
    }

    /// Waits until the status comment on a train's root shows this state, and gives the record in it.
    pub async fn becomes(&self, root: u64, state: &str) -> Value {
        self.until(&format!("the train of #{root} becomes {state}"), async || {
            self.status(root).await.filter(|record| record["state"] == state)
        })
        .await
    }

    /// Waits until the status comment on a train's root gives this as the reason why the train does not move.
    pub async fn waits_because(&self, root: u64, blocker: &str) {
        let expected = format!("**Why not yet:** {blocker}\n");
        let mut last = String::new();
        let seen = tokio::time::timeout(PATIENCE, async {
            loop {
                let body = self.status_comment(root).await.map(|comment| comment["body"].clone());
                last = normalised(body.as_ref().and_then(Value::as_str).unwrap_or_default());
                if last.contains(&expected) {
                    break;
                }
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
        });
        if seen.await.is_err() {
            panic!("in vain: {expected}instead of it: {last}");
        }
    }

    /// What the daemon knows of the repository.
    pub async fn state(&self) -> Value {
        self.daemon().state(REPO).await
    }

    /// The record of a train that is not done.
    pub async fn train(&self, root: u64) -> Value {
        self.state().await["active_trains"][root.to_string()].clone()
    }

    /// Waits until a train is in this phase, by the daemon's own record.
    pub async fn phase(&self, root: u64, name: &str) -> Value {
        self.until(&format!("the train of #{root} is {name}"), async || {
            let train = self.train(root).await;
            let phase = &train["cascade_phase"];
            (phase == name || phase.get(name).is_some()).then_some(train)
        })
        .await
    }

    /// What happened in the repository, by the name of the event.
    pub async fn events(&self, kind: &str) -> Vec<Value> {
        let state = self.state().await;
        let all = state["recent_events"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|event| event["type"] == kind).collect()
    }

    pub async fn is_merged(&self, number: u64) -> bool {
        self.pull(number).await["merged"] == true
    }

    pub async fn pull(&self, number: u64) -> Value {
        self.get(&format!("/pulls/{number}")).await
    }

    /// Waits until all of them have landed and the trains that brought them have said so. A train that ends otherwise fails
    /// the test at once.
    pub async fn landed(&self, numbers: &[u64]) {
        for number in numbers {
            self.until(&format!("#{number} lands"), async || {
                self.expect_no_fault(numbers).await;
                self.is_merged(*number).await.then_some(())
            })
            .await;
        }
        for number in numbers {
            self.until(&format!("a train on #{number} says that it is done"), async || {
                self.status(*number).await.is_none().then_some(())
            })
            .await;
        }
    }

    /// The trains of these pull requests run or wait, or are done.
    async fn expect_no_fault(&self, numbers: &[u64]) {
        let state = self.state().await;
        for (root, train) in state["active_trains"].as_object().into_iter().flatten() {
            let is_one_of_them = |number: &u64| train["original_root_pr"] == *number || train["current_pr"] == *number;
            let state = train["state"].as_str().unwrap_or_default();
            let is_well = matches!(state, "running" | "waiting_ci") || !numbers.iter().any(is_one_of_them);
            assert!(is_well, "the train of #{root} is {state}: {}", train["error"]);
        }
    }

    /// Waits until the bot has given a comment its thumbs up.
    pub async fn acknowledged(&self, comment: u64) {
        self.until(&format!("comment {comment} is acknowledged"), async || {
            self.reactions(comment).await.contains(&"+1".to_owned()).then_some(())
        })
        .await;
    }

    /// What the bot gave a comment.
    pub async fn reactions(&self, comment: u64) -> Vec<String> {
        let all = self.get(&format!("/issues/comments/{comment}/reactions")).await;
        let all = all.as_array().expect("a list").clone();
        let bot = all.iter().filter(|given| self.is_bot(&given["user"]));
        bot.map(|given| given["content"].as_str().expect("text").to_owned()).collect()
    }

    /// Waits until everything that GitHub has to tell was looked at, and all that follows of it was said.
    pub async fn settled(&self) {
        self.until("all webhooks are delivered", async || {
            let all = self.control(Method::GET, "/deliveries", Value::Null).await;
            all.as_array().expect("a list").iter().all(|delivery| delivery["state"] == "done").then_some(())
        })
        .await;
        Database::Sqlite.settled(&self.world.setup).await;
        self.until("everything is said", async || nothing_owed(&self.state().await).then_some(())).await;
    }

    /// What there is a log of.
    pub async fn streams(&self) -> Vec<String> {
        let store = Database::Sqlite.open(&self.world.setup).await;
        let streams = store.streams(None).await.expect("the state can be read");
        store.close().await;
        streams.iter().map(|stream| stream.stream.to_string()).collect()
    }

    /// How often each endpoint was called since they were last forgotten, whoever called. git is not counted.
    pub async fn all_calls(&self) -> BTreeMap<String, u64> {
        let calls = self.control(Method::GET, "/calls", Value::Null).await["calls"].clone();
        serde_json::from_value(calls).expect("counts")
    }

    /// The same of one: `PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge`.
    pub async fn calls(&self, endpoint: &str) -> u64 {
        self.all_calls().await.get(endpoint).copied().unwrap_or_default()
    }

    pub async fn forget_calls(&self) {
        self.control(Method::DELETE, "/calls", Value::Null).await;
    }

    /// Waits until `look` finds something.
    pub async fn until<T, F: Future<Output = Option<T>>>(&self, what: &str, look: impl FnMut() -> F) -> T {
        match within(PATIENCE, what, look).await {
            Ok(found) => found,
            Err(never) => panic!("{never}\n{}", self.known().await),
        }
    }

    /// What the daemon knows, for whoever has to find out why something did not happen.
    async fn known(&self) -> String {
        let Some(daemon) = &self.daemon else { return "there is no daemon".to_owned() };
        let state = daemon.state(REPO).await;
        let part = |name: &str| format!("{name}: {:#}", state[name]);
        let events = state["recent_events"].as_array().into_iter().flatten().map(|event| format!("  {event}\n"));
        let events: String = events.collect();
        [part("active_trains"), part("train_details"), part("outbox"), part("prs"), format!("events:\n{events}")]
            .join("\n")
    }

    /// Waits until a pull request is based on the default branch.
    pub async fn retargeted(&self, number: u64) {
        self.until(&format!("#{number} is retargeted"), async || {
            (self.pull(number).await["base"]["ref"] == self.default_branch.as_str()).then_some(())
        })
        .await;
    }

    /// Waits until a pull request is merged, whatever comes after it.
    pub async fn merged(&self, number: u64) {
        self.until(&format!("#{number} lands"), async || self.is_merged(number).await.then_some(())).await;
    }
}

/// Whether a comment of the bot is a status comment, and no answer to somebody who asked for the status.
pub fn is_status(body: &str) -> bool {
    body.contains("**Merge Train Status**") && !body.contains("<!-- merge-train-note ")
}

/// Whether there is nothing left that the bot wants to say.
pub fn nothing_owed(state: &Value) -> bool {
    state["outbox"]["owed"].as_object().is_none_or(serde_json::Map::is_empty)
}
