//! What a Slack channel is told: each thing once, whatever happens meanwhile, and nothing waits for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::KEY;
use crate::trains::support::{Rules, Trains};

/// How a message is refused, and when Slack says to come back.
type Refusal = (StatusCode, Option<u64>);

/// A Slack that takes messages.
#[derive(Clone, Default)]
struct Slack {
    /// The channel, the text, and when it came.
    told: Arc<Mutex<Vec<(String, String, Instant)>>>,
    /// How the next messages are refused, the last first.
    refusals: Arc<Mutex<Vec<Refusal>>>,
    refused_at: Arc<Mutex<Vec<Instant>>>,
}

impl Slack {
    async fn start(&self) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        (address, self.serve(listener))
    }

    fn serve(&self, listener: TcpListener) -> JoinHandle<()> {
        let router = Router::new().route("/services/{channel}", post(take)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") })
    }

    /// What a channel was told that has this in it.
    fn found(&self, channel: &str, text: &str) -> Vec<String> {
        let told = self.told.lock();
        told.iter()
            .filter(|(to, told, _)| to == channel && told.contains(text))
            .map(|(_, told, _)| told.clone())
            .collect()
    }
}

async fn take(State(slack): State<Slack>, Path(channel): Path<String>, body: String) -> Response {
    if let Some((status, after)) = slack.refusals.lock().pop() {
        slack.refused_at.lock().push(Instant::now());
        let after: Vec<_> = after.map(|seconds| (header::RETRY_AFTER, seconds.to_string())).into_iter().collect();
        let mut response = status.into_response();
        response.headers_mut().extend(after.into_iter().map(|(name, value)| (name, value.parse().expect("a value"))));
        return response;
    }
    let message: Value = serde_json::from_str(&body).expect("JSON");
    let text = message["text"].as_str().expect("a text").to_owned();
    slack.told.lock().push((channel, text, Instant::now()));
    "ok".into_response()
}

const GATE: &str = "[[workflows]]\nname = \"release\"\n[[workflows.steps]]\nid = \"ok\"\nkind = \"approval\"\n";

/// The rest of `[server]`.
const PUBLIC: &str = "public_url = \"https://trains.example.com\"\n";

/// The owner of the repository is told in this channel.
fn config(address: SocketAddr) -> String {
    format!("[slack]\nnotify_url = \"http://{address}/services/all\"\n{GATE}")
}

impl Trains {
    async fn slack_hears(&self, slack: &Slack, channel: &str, text: &str) -> String {
        let what = format!("{channel} is told {text:?}");
        self.until(&what, async || slack.found(channel, text).first().cloned()).await
    }

    async fn begin_release(&self, id: &str) -> String {
        let daemon = self.daemon();
        let request =
            daemon.http.post(format!("{}/api/v1/runs", daemon.url)).bearer_auth(KEY).header("x-request-id", id);
        let body = json!({ "workflow": "release", "tenant": "octocat" });
        let answer = request.json(&body).send().await.expect("an answer");
        let status = answer.status();
        let run: Value = answer.json().await.expect("JSON");
        assert!(status.is_success(), "{status} {run}");
        run["id"].as_str().or(run["runId"].as_str()).unwrap_or_else(|| panic!("{run}")).to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_news_is_told_once_and_to_the_point() {
    let slack = Slack::default();
    let (address, server) = slack.start().await;
    let mut world = Trains::wish().config(PUBLIC).config(&config(address)).start().await;
    world.protect(Rules { approvals: 1, ..Rules::default() }).await;
    let [one] = world.stack([("one", "main")]).await;
    world.start(one).await;
    let blocked = world.slack_hears(&slack, "all", "needs an approving review").await;
    assert!(
        blocked.contains("A reviewer of PR #1") && blocked.contains("/octocat/hello/pull/1|octocat/hello#1>"),
        "{blocked}"
    );
    assert!(blocked.contains("<https://trains.example.com/repos/octocat/hello/trains/1|dashboard>"), "{blocked}");
    let run = world.begin_release("first").await;
    let asked = world.slack_hears(&slack, "all", "A run of `release` needs approval of `ok`").await;
    assert!(asked.contains(&run), "{asked}");
    // A daemon that comes later tells nothing of it again.
    world.kill().await;
    world.restart().await;
    world.approve(one).await;
    world.landed(&[one]).await;
    world.slack_hears(&slack, "all", "A train has landed: #1").await;
    let count = |text: &str| slack.found("all", text).len();
    assert_eq!((count("needs an approving review"), count("needs approval"), count("has landed")), (1, 1, 1));
    assert_eq!(slack.told.lock().len(), 3, "{:?}", slack.told.lock());
    world.finish().await;
    server.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_with_a_channel_of_its_own_is_told_there_and_nowhere_else() {
    let slack = Slack::default();
    let (address, server) = slack.start().await;
    let own = format!("[[slack_channels]]\ntenant = \"octocat\"\nnotify_url = \"http://{address}/services/ours\"\n");
    let world = Trains::wish().config(&config(address)).config(&own).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.slack_hears(&slack, "ours", "A train has landed").await;
    assert_eq!(slack.found("all", "").len(), 0);
    world.finish().await;
    server.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_slack_does_not_take_for_now_is_told_when_it_does() {
    let slack = Slack::default();
    let (address, server) = slack.start().await;
    // Nobody is there at first, and trains do not mind.
    server.abort();
    let world = Trains::wish().config(&config(address)).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.until("it was tried", async || world.daemon().log().contains("slack_notice_retry").then_some(())).await;
    assert!(!world.daemon().log().contains("/services/"), "whoever knows the address can post");
    *slack.refusals.lock() = vec![(StatusCode::BAD_GATEWAY, None), (StatusCode::TOO_MANY_REQUESTS, Some(3))];
    let listener = TcpListener::bind(address).await.expect("the same port");
    let server = slack.serve(listener);
    world.slack_hears(&slack, "all", "A train has landed").await;
    let refused = slack.refused_at.lock().clone();
    assert_eq!(refused.len(), 2);
    assert!(refused[1] - refused[0] >= Duration::from_secs(3), "Slack said when to come back");
    // What Slack refuses for good is left.
    *slack.refusals.lock() = vec![(StatusCode::NOT_FOUND, None)];
    world.begin_release("first").await;
    world.until("it is given up", async || world.daemon().log().contains("slack_notice_failed").then_some(())).await;
    assert_eq!(slack.told.lock().len(), 1);
    world.finish().await;
    server.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_before_it_tells_has_its_successor_tell_and_after_it_nobody_tells_again() {
    for point in ["notify.before", "notify.sent"] {
        let slack = Slack::default();
        let (address, server) = slack.start().await;
        let mut world = Trains::wish().config(&config(address)).start().await;
        let [one] = world.stack([("one", "main")]).await;
        world.settled().await;
        world.kill().await;
        world.restart_to_die_at(&format!("{point}=return")).await;
        world.start(one).await;
        world.dies().await;
        world.restart().await;
        world.landed(&[one]).await;
        world.slack_hears(&slack, "all", "A train has landed").await;
        // Something that comes after it has been told by then.
        world.begin_release("first").await;
        world.slack_hears(&slack, "all", "needs approval").await;
        assert_eq!(slack.found("all", "A train has landed").len(), 1, "{point}");
        world.finish().await;
        server.abort();
    }
}
