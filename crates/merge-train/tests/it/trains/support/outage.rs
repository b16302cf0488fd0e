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
    /// A status comment that is there already gets another text.
    RewriteStatus,
    /// The first status comment on a pull request, or anything else that is said there.
    Comment(u64),
    /// Conversations, status comments and merge states that are read.
    Query,
    /// The list of pull requests.
    List,
    /// Whatever it is.
    Any,
}

impl Call {
    fn matcher(self) -> Value {
        match self {
            Self::Fetch => json!({ "method": "GET", "path": GIT_REFS }),
            Self::Push(nth) => json!({ "method": "POST", "path": GIT_PUSH, "nth": nth }),
            Self::Squash => json!({ "method": "PUT", "path": format!("/repos/{REPO}/pulls/*/merge") }),
            Self::Retarget(number) => json!({ "method": "PATCH", "path": format!("/repos/{REPO}/pulls/{number}") }),
            Self::RewriteStatus => json!({ "method": "PATCH", "path": format!("/repos/{REPO}/issues/comments/*") }),
            Self::Comment(number) => {
                json!({ "method": "POST", "path": format!("/repos/{REPO}/issues/{number}/comments") })
            }
            Self::Query => json!({ "method": "POST", "path": "*/graphql" }),
            Self::List => json!({ "method": "GET", "path": format!("/repos/{REPO}/pulls") }),
            Self::Any => json!({}),
        }
    }
}

impl Trains {
    /// The call gets no answer, and nothing is done.
    pub async fn hold(&self, call: Call) {
        self.fault(json!({ "kind": "timeout", "ms": FOREVER_MS, "match": call.matcher() })).await;
    }

    /// The call gets no answer from now on, however often it is made.
    pub async fn hold_all(&self, call: Call) {
        self.fault(json!({ "kind": "timeout", "ms": FOREVER_MS, "count": null, "match": call.matcher() })).await;
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

    /// The call meets a rate limit, this often, that says when to come back.
    pub async fn limit(&self, call: Call, retry_after: u64, times: u64) {
        let fault = json!({
            "kind": "status", "status": 403, "retry_after": retry_after, "count": times, "match": call.matcher(),
        });
        self.fault(fault).await;
    }

    /// The call is carried out, and half of its answer arrives.
    pub async fn truncate(&self, call: Call) {
        self.fault(json!({ "kind": "truncate", "match": call.matcher() })).await;
    }

    /// The call is answered like this from now on.
    pub async fn refuse_all(&self, call: Call, status: u16) {
        self.fault(json!({ "kind": "status", "status": status, "count": null, "match": call.matcher() })).await;
    }

    /// Whether a fault that was asked for with this call has struck.
    pub async fn has_struck(&self, call: Call) -> bool {
        let faults = self.control(Method::GET, "/faults", Value::Null).await;
        let matcher = call.matcher();
        let is_about_it = |fault: &&Value| {
            matcher.as_object().expect("an object").iter().all(|(name, value)| fault["match"][name] == *value)
        };
        faults.as_array().expect("a list").iter().filter(is_about_it).any(|fault| fault["struck"].as_u64() > Some(0))
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

    /// The same, for a daemon that ends itself at a point in the words of `FAILPOINTS`.
    pub async fn restart_to_die_at(&mut self, point: &str) {
        let points = format!("FAILPOINTS={point}");
        let daemon = self.world.setup.clone().through(&["env", &points]).start().await;
        self.world.aim_at(&daemon).await;
        self.daemon = Some(daemon);
    }

    /// Waits until the daemon is dead.
    pub async fn dies(&mut self) {
        let daemon = self.daemon.take().expect("the daemon runs");
        let (http, url) = (daemon.http.clone(), format!("{}/healthz", daemon.url));
        self.until("the daemon dies", async || http.get(&url).send().await.is_err().then_some(())).await;
        self.old_logs.push_str(&daemon.log());
    }

    /// A daemon on the same state, to which the webhooks go from now on.
    pub async fn restart(&mut self) {
        let daemon = self.world.setup.start().await;
        self.world.aim_at(&daemon).await;
        self.daemon = Some(daemon);
    }
}
