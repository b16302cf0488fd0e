//! What holds at the end of every test, whatever happened in it.

use std::collections::BTreeSet;

use regex::Regex;
use reqwest::Method;
use serde_json::Value;

use super::look::{is_status, nothing_owed};
use super::replay::Landings;
use super::{Change, REPO, Trains};

impl Trains {
    /// Ends the test: each pull request landed at most once, the default branch holds exactly what landed, no branch was
    /// forced, nothing is left behind, nothing is owed, nothing was said twice.
    pub async fn finish(self) {
        self.finish_with(Landings::Right).await;
    }

    /// The same where something was landed wrongly on purpose, so that the contents of the default branch say nothing.
    pub async fn finish_after_a_wrong_landing(self) {
        self.finish_with(Landings::Wrong).await;
    }

    /// The same where people rewrote their branches: the default branch has what it began with, and these changes.
    pub async fn finish_exactly(self, changes: &[Change<'_>]) {
        self.expect_main(changes).await;
        self.finish_with(Landings::Stated).await;
    }

    async fn finish_with(mut self, landings: Landings) {
        let state = self.quiet().await;
        self.expect_runs_in_step().await;
        self.expect_no_forced_push(landings).await;
        self.expect_nothing_said_twice().await;
        let told = self.conversations().await;
        self.expect_linear_history(landings).await;
        let daemon = self.daemon.take().expect("the daemon runs");
        self.old_logs.push_str(&daemon.log());
        assert!(daemon.stop().await.success(), "it stops when it is asked to");
        self.expect_no_worktree(&state);
        self.expect_no_error_in_the_log(landings);
        snapshot(&told);
        self.finished = true;
    }

    /// Waits until there is nothing left to say, and the status comments show what the records say.
    async fn quiet(&self) -> Value {
        self.until("the bot has said everything", async || {
            let state = self.state().await;
            if !nothing_owed(&state) {
                return None;
            }
            for number in state["prs"].as_object().into_iter().flatten().map(|(number, _)| number) {
                let train = &state["active_trains"][number];
                let number = number.parse().expect("a number");
                match self.status(number).await {
                    Some(shown) if shown["recovery_seq"] == train["recovery_seq"] => {}
                    None if train.is_null() => {}
                    // An administrator had the last word.
                    None if train["state"] == "stopped" && self.status_comment(number).await.is_some() => {}
                    _ => return None,
                }
            }
            Some(state)
        })
        .await
    }

    /// Each train that can go on is a run in the state that it is mapped to, which tells what the train waits for, and no
    /// other run of a train is open.
    async fn expect_runs_in_step(&self) {
        let (trains, runs) = self
            .until("nothing moves while it is looked at", async || {
                let before = trains_told(&self.state().await);
                let (status, page) = self.daemon().get("/api/v1/runs?type=train&limit=200").await;
                assert_eq!(status, 200, "{page}");
                (trains_told(&self.state().await) == before).then(|| (before, runs_told(&page)))
            })
            .await;
        assert_eq!(runs, trains, "the runs are not in step with the trains");
    }

    /// Not even by people, unless the test is about that.
    async fn expect_no_forced_push(&self, landings: Landings) {
        let pushes = self.control(Method::GET, "/deliveries?event=push", Value::Null).await;
        for push in pushes.as_array().expect("a list") {
            let payload = &push["payload"];
            if landings != Landings::Right && payload["sender"]["type"] != "Bot" {
                continue;
            }
            assert_eq!(payload["forced"], false, "{} was forced by {}", payload["ref"], payload["sender"]["login"]);
        }
    }

    async fn expect_nothing_said_twice(&self) {
        let all = self.get("/issues/comments?per_page=100").await;
        let mark = Regex::new(r"<!-- merge-train-note [^>]* -->").expect("a pattern");
        let mut marks = BTreeSet::new();
        let mut with_status = BTreeSet::new();
        for comment in all.as_array().expect("a list").iter().filter(|comment| comment["user"]["type"] == "Bot") {
            let body = comment["body"].as_str().expect("a body");
            if is_status(body) {
                let issue = comment["issue_url"].as_str().expect("an address").to_owned();
                assert!(with_status.insert(issue.clone()), "{issue} has two status comments");
                continue;
            }
            let mark = mark.find(body).unwrap_or_else(|| panic!("a comment without a mark: {body}")).as_str();
            assert!(marks.insert(mark.to_owned()), "said twice: {body}");
        }
    }

    /// Worktrees are for trains that are under way, or that can go on.
    fn expect_no_worktree(&self, state: &Value) {
        let folder = self.world.setup.clones().join(REPO.replace('/', "-")).join("worktrees");
        let left = std::fs::read_dir(folder).into_iter().flatten();
        for entry in left {
            let name = entry.expect("an entry").file_name().into_string().expect("text");
            let root = name.strip_prefix("stack-").unwrap_or_else(|| panic!("left behind: {name}"));
            let train = &state["active_trains"][root];
            assert!(!train.is_null() && train["state"] != "stopped", "{name} was left behind: {train}");
        }
    }

    /// Where something wrong has landed, somebody rewound the default branch, or nobody knows how far a train had come, that
    /// is the one alarm.
    fn expect_no_error_in_the_log(&self, landings: Landings) {
        let is_error = |line: &&str| line.contains(r#""level":"ERROR""#);
        let is_alarm = |line: &&str| {
            line.contains("the state of a train was lost")
                || line.contains("main was rewound")
                || landings == Landings::Wrong && line.contains("what landed is not what")
                || landings == Landings::Wrong && line.contains("the two ways to compute what lands do not agree")
        };
        let errors: Vec<&str> = self.old_logs.lines().filter(is_error).filter(|line| !is_alarm(line)).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}

/// A pull request, the state of the run that its train is, and what that waits for.
type Told = BTreeSet<(String, String, Option<String>)>;

/// What the trains that can go on have to say.
fn trains_told(state: &Value) -> Told {
    let mapped = |train: &Value| match train["state"].as_str() {
        Some("running") => Some("running"),
        Some("waiting_ci") => Some("waiting_external"),
        Some("needs_manual_review") => Some("awaiting_approval"),
        _ => None,
    };
    let blocker = |root: &str| state["train_details"][root]["why"]["blocker"].as_str().map(str::to_owned);
    let trains = state["active_trains"].as_object().into_iter().flatten();
    trains.filter_map(|(root, train)| Some((root.clone(), mapped(train)?.to_owned(), blocker(root)))).collect()
}

/// The same of the runs that are open.
fn runs_told(page: &Value) -> Told {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let is_open = |run: &&Value| !["completed", "failed", "cancelled"].contains(&run["status"].as_str().expect("text"));
    let blocker = |run: &Value| run["lastTransition"]["metadata"]["blocker"].as_str().map(str::to_owned);
    let open = page["runs"].as_array().expect("a list").iter().filter(is_open);
    open.map(|run| (text(&run["prId"]), text(&run["status"]), blocker(run))).collect()
}

/// Keeps the conversation under the name of the test.
fn snapshot(told: &str) {
    let thread = std::thread::current();
    let name = thread.name().expect("a test has a name").trim_start_matches("trains::").replace("::", "__");
    insta::with_settings!(
        { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!(name, told) }
    );
}
