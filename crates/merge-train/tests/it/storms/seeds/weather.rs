//! What goes wrong, how often.

use std::collections::BTreeMap;

use fastrand::Rng;
use reqwest::Method;
use serde_json::{Value, json};

use crate::storms::support::{Repo, Yard};

/// All that can go wrong, more or less often.
pub fn over(repo: &Repo, seed: u64) -> Value {
    let mut rng = Rng::with_seed(seed);
    let name = repo.name();
    let mut faults = Vec::new();
    let mut add = |rng: &mut Rng, about: (&str, String), share: f64, fault: Value| {
        let often = share * (0.5 + rng.f64());
        let (what, of) = about;
        faults.push(with(fault, json!({ what: of, "probability": often })));
    };
    let webhook = || ("repository", name.clone());
    add(&mut rng, webhook(), 0.08, json!({ "kind": "drop_webhook" }));
    add(&mut rng, webhook(), 0.08, json!({ "kind": "duplicate_webhook" }));
    add(&mut rng, webhook(), 0.08, json!({ "kind": "reorder_webhook" }));
    let ms = rng.u64(300..3_000);
    add(&mut rng, webhook(), 0.08, json!({ "kind": "delay_webhook", "ms": ms }));
    let (ms, mode) = (rng.u64(300..2_500), if rng.bool() { "stale" } else { "unknown" });
    add(&mut rng, webhook(), 0.5, json!({ "kind": "lag_merge_state", "ms": ms, "mode": mode }));
    let ms = rng.u64(500..3_000);
    add(&mut rng, webhook(), 0.5, json!({ "kind": "lag_merge_commit_sha", "ms": ms }));
    let api = || ("path", format!("/repos/{name}*"));
    for status in [500, 502, 503] {
        add(&mut rng, api(), 0.02, json!({ "kind": "status", "status": status }));
    }
    add(&mut rng, api(), 0.02, json!({ "kind": "status", "status": 429, "retry_after": 1 }));
    add(&mut rng, api(), 0.04, json!({ "kind": "lose_response" }));
    add(&mut rng, api(), 0.01, json!({ "kind": "truncate" }));
    add(&mut rng, api(), 0.01, json!({ "kind": "timeout", "ms": 400 }));
    add(&mut rng, api(), 0.04, json!({ "kind": "delay", "ms": 300 }));
    let git = || ("path", format!("/{name}.git/*"));
    add(&mut rng, git(), 0.03, json!({ "kind": "status", "status": 503 }));
    add(&mut rng, git(), 0.04, json!({ "kind": "lose_response" }));
    add(&mut rng, git(), 0.03, json!({ "kind": "delay", "ms": 500 }));
    // These name no repository.
    let graphql = || ("path", "*graphql".to_owned());
    add(&mut rng, graphql(), 0.03, json!({ "kind": "status", "status": 502 }));
    add(&mut rng, graphql(), 0.01, json!({ "kind": "status", "status": 429, "retry_after": 1 }));
    add(&mut rng, graphql(), 0.03, json!({ "kind": "lose_response" }));
    add(&mut rng, graphql(), 0.01, json!({ "kind": "truncate" }));
    let tokens = ("path", "/app/installations/*".to_owned());
    add(&mut rng, tokens, 0.03, json!({ "kind": "status", "status": 503 }));
    faults.into()
}

/// For ever, on these occasions.
fn with(mut fault: Value, occasions: Value) -> Value {
    fault["count"] = Value::Null;
    fault["match"] = occasions;
    fault
}

/// Ends the bad weather, and tells what went wrong how often.
pub async fn clear(yard: &Yard) -> BTreeMap<String, u64> {
    let all = yard.control(Method::GET, "/faults", Value::Null).await;
    yard.control(Method::DELETE, "/faults", Value::Null).await;
    let mut struck = BTreeMap::new();
    for fault in all.as_array().expect("a list") {
        let status = fault.get("status").map(|status| format!(" {status}")).unwrap_or_default();
        let name = format!("{}{status}", fault["kind"].as_str().expect("a kind"));
        *struck.entry(name).or_default() += fault["struck"].as_u64().expect("a number");
    }
    struck
}
