//! Something that webhooks are sent to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;

/// Listens on a free port and keeps what it is sent.
pub struct Receiver {
    pub url: String,
    received: Arc<Mutex<Vec<Webhook>>>,
    /// What the next deliveries are answered with, then 200.
    answers: Arc<Mutex<Vec<u16>>>,
    /// How long the next delivery waits for its answer.
    delay: Arc<Mutex<Option<Duration>>>,
}

#[derive(Clone, Debug)]
pub struct Webhook {
    pub event: String,
    pub delivery: String,
    pub signature: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub json: Value,
}

impl Webhook {
    /// `push`, `pull_request.opened`.
    pub fn name(&self) -> String {
        match self.json["action"].as_str() {
            Some(action) => format!("{}.{action}", self.event),
            None => self.event.clone(),
        }
    }
}

type Shared = (Arc<Mutex<Vec<Webhook>>>, Arc<Mutex<Vec<u16>>>, Arc<Mutex<Option<Duration>>>);

impl Receiver {
    pub async fn new() -> Self {
        Self::on(tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    /// Answers what comes to this listener, also what came before.
    pub fn on(listener: tokio::net::TcpListener) -> Self {
        let (received, answers, delay) = (Arc::default(), Arc::default(), Arc::default());
        let state: Shared = (Arc::clone(&received), Arc::clone(&answers), Arc::clone(&delay));
        let router = Router::new().route("/", post(receive)).with_state(state);
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received, answers, delay }
    }

    pub fn answer_next_with(&self, statuses: &[u16]) {
        *self.answers.lock().expect("no holder panics") = statuses.iter().rev().copied().collect();
    }

    /// The next delivery is answered only after this time.
    pub fn answer_next_after(&self, delay: Duration) {
        *self.delay.lock().expect("no holder panics") = Some(delay);
    }

    pub fn count(&self) -> usize {
        self.received.lock().expect("no holder panics").len()
    }

    pub fn all(&self) -> Vec<Webhook> {
        self.received.lock().expect("no holder panics").clone()
    }

    /// Waits for a webhook with this name (`push`, `pull_request.opened`) that was not waited for before.
    pub async fn expect(&self, name: &str) -> Webhook {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        loop {
            {
                let mut received = self.received.lock().expect("no holder panics");
                if let Some(at) = received.iter().position(|webhook| webhook.name() == name) {
                    return received.remove(at);
                }
            }
            if tokio::time::Instant::now() > deadline {
                let names: Vec<String> = self.all().iter().map(Webhook::name).collect();
                panic!("no {name} came, but {names:?}");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn receive(State((received, answers, delay)): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
    received.lock().expect("no holder panics").push(Webhook {
        event: text("x-github-event"),
        delivery: text("x-github-delivery"),
        signature: text("x-hub-signature-256"),
        headers: headers.clone(),
        body,
        json,
    });
    let delay = delay.lock().expect("no holder panics").take();
    if let Some(delay) = delay {
        tokio::time::sleep(delay).await;
    }
    let status = answers.lock().expect("no holder panics").pop().unwrap_or(200);
    StatusCode::from_u16(status).expect("a status code")
}
