//! Webhooks and what was sent to them.

use serde_json::{Value, json};

use crate::http::iso;
use crate::world::{AppWebhook, Delivery, DeliveryTarget, Hook, World};

/// What stands in place of a secret.
const HIDDEN: &str = "********";

/// `hook`, a repository's.
pub fn hook(world: &World, hook: &Hook) -> Value {
    let full_name = world.repo(hook.repo).map(|repo| world.full_name(repo)).unwrap_or_default();
    let url = world.urls.api(format!("/repos/{full_name}/hooks/{}", hook.id));
    let config = AppWebhook {
        url: Some(hook.url.clone()),
        secret: hook.secret.clone(),
        content_type: hook.content_type.clone(),
        insecure_ssl: hook.insecure_ssl.clone(),
    };
    json!({
        "type": "Repository",
        "id": hook.id,
        "name": "web",
        "active": hook.active,
        "events": hook.events,
        "config": webhook_config(&config),
        "updated_at": iso(hook.updated_at),
        "created_at": iso(hook.created_at),
        "url": url,
        "test_url": format!("{url}/test"),
        "ping_url": format!("{url}/pings"),
        "deliveries_url": format!("{url}/deliveries"),
        "last_response": last_response(world, hook),
    })
}

fn last_response(world: &World, hook: &Hook) -> Value {
    let target = DeliveryTarget::Hook { repo: hook.repo, hook: hook.id };
    let sent = world.deliveries.within(0).rev().filter(|delivery| delivery.target == target);
    match sent.filter_map(|delivery| delivery.outcome.as_ref()).next() {
        None => json!({ "code": null, "status": "unused", "message": null }),
        Some(outcome) => json!({
            "code": outcome.status_code,
            "status": if outcome.status == "OK" { "active" } else { "misconfigured" },
            "message": outcome.status,
        }),
    }
}

/// `webhook-config`. A secret is never shown.
pub fn webhook_config(config: &AppWebhook) -> Value {
    let mut value = json!({ "content_type": config.content_type, "insecure_ssl": config.insecure_ssl });
    if config.secret.is_some() {
        value["secret"] = HIDDEN.into();
    }
    value["url"] = config.url.as_deref().unwrap_or_default().into();
    value
}

/// `hook-delivery-item`; null for one that was not sent yet, which no list shows.
pub fn delivery_item(delivery: &Delivery) -> Value {
    let Some(outcome) = &delivery.outcome else { return Value::Null };
    json!({
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": outcome.at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        "redelivery": delivery.redelivery,
        "duration": outcome.duration_ms as f64 / 1000.0,
        "status": outcome.status,
        "status_code": outcome.status_code,
        "event": delivery.event,
        "action": delivery.action,
        "installation_id": delivery.installation,
        "repository_id": delivery.repo,
        "throttled_at": null,
    })
}

/// `hook-delivery`: with what was sent and what was answered.
pub fn delivery(delivery: &Delivery) -> Value {
    let mut value = delivery_item(delivery);
    if let Some(outcome) = &delivery.outcome {
        value["url"] = outcome.url.as_str().into();
        value["request"] = json!({ "headers": outcome.request_headers, "payload": delivery.payload });
        value["response"] = json!({ "headers": outcome.response_headers, "payload": outcome.response_body });
    }
    value
}
