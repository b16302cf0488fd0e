//! One delivery as an HTTP request, signed, and what came of it.

use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use jiff::Timestamp;
use reqwest::Client;
use serde_json::{Value, json};

use crate::world::{AppWebhook, Delivery, DeliveryOutcome, DeliveryTarget, Hook, World};

/// GitHub sends no larger payloads.
pub const PAYLOAD_LIMIT_BYTES: usize = 25 * 1024 * 1024;
/// What is kept of a receiver's answer.
const KEPT_ANSWER_BYTES: usize = 64 * 1024;
const USER_AGENT: &str = "GitHub-Hookshot/51ce37c";

/// Two clients: a receiver may have asked not to check its certificate.
#[derive(Clone)]
pub struct Clients {
    checking: Client,
    trusting: Client,
}

impl Clients {
    pub fn new() -> reqwest::Result<Self> {
        let builder = || Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Ok(Self { checking: builder().build()?, trusting: builder().danger_accept_invalid_certs(true).build()? })
    }
}

pub struct Prepared {
    url: String,
    headers: Vec<(&'static str, String)>,
    body: String,
    insecure_ssl: bool,
    timeout: Duration,
}

/// Where and how a receiver wants it; `None` when it is gone.
pub fn prepare(world: &World, delivery: &Delivery) -> Option<Prepared> {
    let (config, hook_id, target_id, target_kind) = match delivery.target {
        DeliveryTarget::Hook { repo, hook } => (hook_config(world.hooks.get(repo, hook)?), hook, repo, "repository"),
        DeliveryTarget::App { app } => (world.apps.get(0, app)?.webhook.clone(), app, app, "integration"),
    };
    let payload = delivery.payload.to_string();
    let (content_type, body) = match config.content_type.as_str() {
        "form" => (
            "application/x-www-form-urlencoded",
            serde_urlencoded::to_string([("payload", &payload)]).expect("a string can be encoded"),
        ),
        _ => ("application/json", payload),
    };
    let mut headers = vec![
        ("Accept", "*/*".to_owned()),
        ("Content-Type", content_type.to_owned()),
        ("User-Agent", USER_AGENT.to_owned()),
        ("X-GitHub-Delivery", delivery.guid.clone()),
        ("X-GitHub-Event", delivery.event.clone()),
        ("X-GitHub-Hook-ID", hook_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", target_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type", target_kind.to_owned()),
    ];
    if let Some(secret) = config.secret.as_deref().filter(|secret| !secret.is_empty()) {
        let sign = |algorithm| hex::encode(hmac::sign(&hmac::Key::new(algorithm, secret.as_bytes()), body.as_bytes()));
        headers.push(("X-Hub-Signature", format!("sha1={}", sign(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY))));
        headers.push(("X-Hub-Signature-256", format!("sha256={}", sign(hmac::HMAC_SHA256))));
    }
    let timeout = Duration::from_millis(world.settings().webhook_timeout_ms);
    Some(Prepared { url: config.url?, headers, body, insecure_ssl: config.insecure_ssl == "1", timeout })
}

fn hook_config(hook: &Hook) -> AppWebhook {
    AppWebhook {
        url: Some(hook.url.clone()),
        secret: hook.secret.clone(),
        content_type: hook.content_type.clone(),
        insecure_ssl: hook.insecure_ssl.clone(),
    }
}

impl Prepared {
    pub fn is_too_large(&self) -> bool {
        self.body.len() > PAYLOAD_LIMIT_BYTES
    }

    /// What is noted for a delivery that a fault swallowed.
    pub fn dropped(&self, now: Timestamp) -> DeliveryOutcome {
        self.outcome(now, Duration::ZERO, "dropped by a fault".to_owned())
    }

    /// What is noted for a delivery that somebody took by hand.
    pub fn taken(&self, now: Timestamp) -> DeliveryOutcome {
        DeliveryOutcome { status_code: 200, ..self.outcome(now, Duration::ZERO, "taken by hand".to_owned()) }
    }

    pub async fn send(&self, clients: &Clients, now: Timestamp) -> DeliveryOutcome {
        let client = if self.insecure_ssl { &clients.trusting } else { &clients.checking };
        let mut request = client.post(&self.url).timeout(self.timeout);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let started = Instant::now();
        match request.body(self.body.clone()).send().await {
            Ok(response) => self.answered(response, now, started).await,
            Err(error) => self.outcome(now, started.elapsed(), failure(&error)),
        }
    }

    async fn answered(&self, mut response: reqwest::Response, now: Timestamp, started: Instant) -> DeliveryOutcome {
        let code = response.status();
        let headers: serde_json::Map<String, Value> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
            .collect();
        let mut body = Vec::new();
        let mut status =
            if code.is_success() { "OK".to_owned() } else { format!("Invalid HTTP Response: {}", code.as_u16()) };
        while body.len() < KEPT_ANSWER_BYTES {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => {
                    status = failure(&error);
                    break;
                }
            }
        }
        body.truncate(KEPT_ANSWER_BYTES);
        DeliveryOutcome {
            status_code: code.as_u16(),
            response_headers: Value::Object(headers),
            response_body: String::from_utf8_lossy(&body).into_owned(),
            ..self.outcome(now, started.elapsed(), status)
        }
    }

    /// How it ended without an answer.
    fn outcome(&self, at: Timestamp, duration: Duration, status: String) -> DeliveryOutcome {
        let headers: serde_json::Map<String, Value> =
            self.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
        DeliveryOutcome {
            at,
            duration_ms: duration.as_millis().try_into().unwrap_or(u64::MAX),
            status,
            status_code: 0,
            url: self.url.clone(),
            request_headers: Value::Object(headers),
            response_headers: json!({}),
            response_body: String::new(),
        }
    }
}

fn failure(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "timed out".to_owned()
    } else if error.is_connect() {
        "failed to connect to host".to_owned()
    } else if error.is_builder() {
        "invalid URL".to_owned()
    } else {
        "the connection was closed without an answer".to_owned()
    }
}
