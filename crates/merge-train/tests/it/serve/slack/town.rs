//! A Slack that takes replies, and a daemon that it may talk to.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::hmac;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::support::{Daemon, Setup, eventually, http};

pub const SECRET: &str = "a signing secret for tests";
/// The one who may start and cancel runs.
pub const OPERATOR: &str = "U1";

/// What Slack took at the address of one request.
#[derive(Clone)]
pub struct Reply {
    /// The end of the address.
    pub to: String,
    pub message: Value,
}

#[derive(Clone, Default)]
pub struct FakeSlack {
    replies: Arc<Mutex<Vec<Reply>>>,
    asked: Arc<AtomicUsize>,
    /// How many are refused before one is taken, and how.
    failures: Arc<Mutex<Vec<StatusCode>>>,
}

impl FakeSlack {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().route("/hooks/{id}", post(take)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    pub fn fail_with(&self, failures: &[StatusCode]) {
        *self.failures.lock() = failures.iter().rev().copied().collect();
    }

    /// How often anything was posted, whatever came of it.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub fn replies(&self) -> Vec<Reply> {
        self.replies.lock().clone()
    }

    /// The first reply to a request whose text has this in it.
    pub async fn told(&self, to: &str, text: &str) -> Value {
        eventually(&format!("{to} is told {text:?}"), || async {
            let is_it = |reply: &&Reply| {
                reply.to == to && reply.message["text"].as_str().is_some_and(|found| found.contains(text))
            };
            self.replies().iter().find(is_it).map(|reply| reply.message.clone())
        })
        .await
    }
}

async fn take(State(slack): State<FakeSlack>, Path(to): Path<String>, headers: HeaderMap, body: String) -> Response {
    slack.asked.fetch_add(1, Ordering::SeqCst);
    let failure = slack.failures.lock().pop();
    match failure {
        Some(status) if status.is_redirection() => (status, [(header::LOCATION, "/hooks/elsewhere")]).into_response(),
        Some(status) => status.into_response(),
        None => {
            let is_json = headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
            assert!(is_json, "{headers:?}");
            let message = serde_json::from_str(&body).expect("JSON");
            slack.replies.lock().push(Reply { to, message });
            "ok".into_response()
        }
    }
}

pub struct Town {
    pub dir: tempfile::TempDir,
    pub setup: Setup,
    pub slack: FakeSlack,
    pub url: String,
}

impl Town {
    /// The workspace `T1` is `acme`'s.
    pub async fn new(workflows: &str) -> Self {
        let slack = FakeSlack::default();
        let url = slack.start().await;
        let dir = tempfile::tempdir().expect("a folder");
        let sections = format!(
            "[runs]\nwork_dir = {:?}\n[slack]\nsigning_secret = {SECRET:?}\nresponse_url_prefix = \"{url}/hooks/\"\n\
             [[slack_workspaces]]\nteam_id = \"T1\"\ntenant = \"acme\"\noperators = [{OPERATOR:?}]\n",
            dir.path().join("runs"),
        );
        let workflows = workflows.replace("DIR", &dir.path().to_string_lossy());
        let setup = Setup::new(dir.path()).more(&sections).more(&workflows);
        Self { dir, setup, slack, url }
    }

    fn begun(&self) -> PathBuf {
        self.dir.path().join("begun")
    }

    /// How often the command of a step was begun.
    pub fn times(&self, step: &str) -> usize {
        let log = std::fs::read_to_string(self.begun()).unwrap_or_default();
        log.lines().filter(|line| *line == step).count()
    }

    /// The body of a slash command. Replies come under the name of the trigger.
    pub fn typed(&self, user: &str, trigger: &str, text: &str) -> String {
        let url = format!("{}/hooks/{trigger}", self.url);
        let fields = [
            ("team_id", "T1"),
            ("user_id", user),
            ("command", "/train"),
            ("text", text),
            ("response_url", &url),
            ("trigger_id", trigger),
        ];
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    /// The body that a button of a message makes.
    pub fn pressed(&self, user: &str, trigger: &str, message: &Value, action: &str) -> String {
        let blocks = message["blocks"].as_array().expect("blocks");
        let actions = blocks.iter().find(|block| block["type"] == "actions").expect("there are buttons");
        let button = actions["elements"].as_array().expect("buttons").iter().find(|it| it["action_id"] == action);
        let value = &button.expect("there is such a button")["value"];
        let payload = json!({
            "type": "block_actions",
            "team": { "id": "T1", "domain": "acme" },
            "user": { "id": user, "username": "somebody", "team_id": "T1" },
            "trigger_id": trigger,
            "response_url": format!("{}/hooks/{trigger}", self.url),
            "actions": [{ "type": "button", "action_id": action, "block_id": actions["block_id"], "value": value }],
        });
        form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish()
    }

    /// Types a command, which must be answered with 200 in time.
    pub async fn types(&self, daemon: &Daemon, user: &str, trigger: &str, text: &str) -> Value {
        let began = std::time::Instant::now();
        let (status, answer) = send(daemon, "/slack/commands", &self.typed(user, trigger, text)).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["response_type"], "ephemeral", "{answer}");
        assert!(began.elapsed().as_secs_f64() < 3.0, "Slack has given up by now");
        answer
    }

    pub async fn presses(&self, daemon: &Daemon, user: &str, trigger: &str, message: &Value, action: &str) {
        let body = self.pressed(user, trigger, message, action);
        let (status, answer) = send(daemon, "/slack/interactions", &body).await;
        assert_eq!(status, 200, "{answer}");
    }

    /// Starts a run, and gives its id.
    pub async fn runs(&self, daemon: &Daemon, trigger: &str, text: &str) -> String {
        let answer = self.types(daemon, OPERATOR, trigger, text).await;
        let text = answer["text"].as_str().expect("a text");
        text.split('`').nth(1).filter(|id| id.starts_with("run-")).unwrap_or_else(|| panic!("{text}")).to_owned()
    }
}

pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

pub fn sign(secret: &str, timestamp: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("v0:{timestamp}:{body}").as_bytes());
    format!("v0={}", hex::encode(tag))
}

/// Sends a body as Slack does.
pub async fn send(daemon: &Daemon, path: &str, body: &str) -> (u16, Value) {
    let at = now();
    send_signed(daemon, path, body, at, &sign(SECRET, at, body)).await
}

pub async fn send_signed(daemon: &Daemon, path: &str, body: &str, at: i64, signature: &str) -> (u16, Value) {
    let request = http()
        .post(format!("{}{path}", daemon.url))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-slack-request-timestamp", at)
        .header("x-slack-signature", signature)
        .body(body.to_owned());
    let response = request.send().await.expect("an answer");
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

/// A step whose command notes that it was begun, and prints this.
pub fn step(id: &str, output: &str) -> String {
    let script = format!("echo {id} >> DIR/begun; echo '{output}'");
    format!("[[workflows.steps]]\nid = {id:?}\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\n")
}

pub fn gate(id: &str, more: &str) -> String {
    format!("[[workflows.steps]]\nid = {id:?}\nkind = \"approval\"\n{more}\n")
}

pub fn workflow(name: &str, steps: &[String]) -> String {
    format!("[[workflows]]\nname = {name:?}\n{}", steps.concat())
}
