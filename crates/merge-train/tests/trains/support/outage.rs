//! What goes wrong: the daemon dies, GitHub takes its time.

use reqwest::Method;
use serde_json::{Value, json};

use super::{REPO, Trains};

/// Longer than any test lasts.
const FOREVER_MS: u64 = 600_000;
const GIT_REFS: &str = "/octocat/hello.git/info/refs";
const GIT_PUSH: &str = "/octocat/hello.git/git-receive-pack";

/// What the daemon asks GitHub for, to be disturbed.
#[derive(Clone, Copy)]
pub enum Call {
    /// What git asks first when it fetches or pushes.
    Fetch,
    /// `git push`, the n-th from now on.
    Push(u64),
    Squash,
    /// The change of a pull request's base.
    Retarget(u64),
}

impl Call {
    fn matcher(self) -> Value {
        match self {
            Self::Fetch => json!({ "method": "GET", "path": GIT_REFS }),
            Self::Push(nth) => json!({ "method": "POST", "path": GIT_PUSH, "nth": nth }),
            Self::Squash => json!({ "method": "PUT", "path": format!("/repos/{REPO}/pulls/*/merge") }),
            Self::Retarget(number) => json!({ "method": "PATCH", "path": format!("/repos/{REPO}/pulls/{number}") }),
        }
    }
}

impl Trains {
    /// The call gets no answer, and nothing is done.
    pub async fn hold(&self, call: Call) {
        self.fault(json!({ "kind": "timeout", "ms": FOREVER_MS, "match": call.matcher() })).await;
    }

    /// The call is carried out this much later.
    pub async fn delay(&self, call: Call, ms: u64) {
        self.fault(json!({ "kind": "delay", "ms": ms, "match": call.matcher() })).await;
    }

    /// The call is carried out, and its answer gets lost.
    pub async fn lose_answer(&self, call: Call) {
        self.fault(json!({ "kind": "lose_response", "match": call.matcher() })).await;
    }

    /// The call is answered like this, this often.
    pub async fn refuse(&self, call: Call, status: u16, message: &str, times: u64) {
        let fault =
            json!({ "kind": "status", "status": status, "message": message, "count": times, "match": call.matcher() });
        self.fault(fault).await;
    }

    /// Waits until one of the faults has struck.
    pub async fn struck(&self) {
        self.until("the fault strikes", async || {
            let faults = self.control(Method::GET, "/faults", Value::Null).await;
            let any = faults.as_array().expect("a list").iter().any(|fault| fault["struck"].as_u64() > Some(0));
            any.then_some(())
        })
        .await;
    }

    /// No warning, no chance to tidy up.
    pub async fn kill(&mut self) {
        let daemon = self.daemon.take().expect("the daemon runs");
        self.old_logs.push_str(&daemon.log());
        daemon.kill().await;
    }

    /// A daemon on the same state, to which the webhooks go from now on.
    pub async fn restart(&mut self) {
        let daemon = self.world.setup.start().await;
        self.world.aim_at(&daemon).await;
        self.daemon = Some(daemon);
    }

    /// The daemon's disk is gone: all that it remembers, and its clones.
    pub fn lose_state(&self) {
        assert!(self.daemon.is_none(), "the daemon is not running");
        for folder in [self.world.setup.state_dir(), self.world.setup.clones()] {
            if folder.exists() {
                std::fs::remove_dir_all(folder).expect("it is removed");
            }
        }
    }
}
