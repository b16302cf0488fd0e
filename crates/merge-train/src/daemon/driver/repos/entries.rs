//! Entries of the inbox: reading them, and surviving what they do to us.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use merge_train_core::ids::DeliveryId;
use merge_train_core::inbox::Source;
use merge_train_core::repo::{
    self, DeliveryOutcome, Event, Input, Plan, RepoState, Request, Settings, commands, mirror,
};
use serde_json::{Value, json};
use store::{Entry, Outcome, Settlement};

use super::InboxInput;
use crate::daemon::driver::StoredRefusal;
use crate::daemon::stored_request;

/// A delivery that took the whole process down so often is put aside. High, since those beside it count as well, and so
/// does every time that somebody kills the process.
const MOST_ATTEMPTS: u32 = 25;

/// Reads an entry. What cannot be read is an input too: it ends as failed, in its place in the order.
pub(super) fn read(entry: Entry) -> InboxInput {
    let settles = Settlement { entry: entry.id, outcome: Outcome::Failed { error: String::new() } };
    let input = if entry.attempts > MOST_ATTEMPTS {
        unusable(&entry, format!("gave up after {MOST_ATTEMPTS} attempts: the process died each time"))
    } else {
        let parsed = caught(|| parse(&entry)).unwrap_or_else(Err);
        parsed.unwrap_or_else(|reason| unusable(&entry, reason))
    };
    InboxInput { input, settles: Some(settles) }
}

fn parse(entry: &Entry) -> Result<Input, String> {
    let asked = |request: serde_json::Result<Request>| {
        let request = request.map_err(|error| format!("no such request: {error}"))?;
        Ok(Input::Asked { key: entry.key.clone(), request })
    };
    // Whoever has it from a comment has GitHub for a source. What GitHub itself sends is never such a body, and that is signed.
    if entry.label == stored_request::IN_BODY {
        return asked(stored_request::from_body(&entry.body));
    }
    match entry.source {
        Source::GithubWebhook => {
            let delivery = github::webhook::parse(&entry.label, delivery_id(entry), &entry.body);
            let delivery = delivery.map_err(|error| error.to_string())?;
            Ok(Input::Delivery { delivery, hash: entry.hash.clone(), received_at: entry.received_at })
        }
        Source::Api | Source::Scheduler => asked(stored_request::from_label(&entry.label)),
        Source::Slack => Err(format!("this instance does not work on {}", entry.source.as_str())),
    }
}

fn unusable(entry: &Entry, reason: String) -> Input {
    Input::Unusable { id: delivery_id(entry), event: entry.label.clone(), received_at: entry.received_at, reason }
}

/// GitHub's name for the delivery; for what did not come from GitHub, one of ours.
fn delivery_id(entry: &Entry) -> DeliveryId {
    let id = entry.key.as_str().strip_prefix("github:").and_then(|id| DeliveryId::parse(id).ok());
    id.unwrap_or_else(|| DeliveryId::parse(format!("entry-{}", entry.id.0)).expect("digits and a dash"))
}

/// Decides, and says how the entry ended. A decision that panics is one delivery's misfortune, not the repository's.
pub(super) fn decide(
    state: &RepoState,
    input: Input,
    settles: Option<Settlement>,
    settings: &Settings,
    now: Timestamp,
) -> (Plan, Option<Settlement>) {
    let plan = match (caught(|| repo::decide(state, &input, settings, now)), &input) {
        (Ok(plan), _) => plan,
        (Err(reason), Input::Delivery { delivery, received_at, .. }) => {
            let unusable = Input::Unusable {
                id: delivery.id.clone(),
                event: delivery.event.clone(),
                received_at: *received_at,
                reason: format!("it could not be handled: {reason}"),
            };
            repo::decide(state, &unusable, settings, now)
        }
        (Err(reason), _) => {
            tracing::error!(reason, ?input, "an input could not be decided on");
            Plan::default()
        }
    };
    let settles = settles.map(|settlement| Settlement { outcome: outcome(&plan), ..settlement });
    (plan, settles)
}

/// What a repetition is told.
fn outcome(plan: &Plan) -> Outcome {
    let told = plan.events.iter().find_map(|event| match event {
        Event::Mirror(mirror::Event::DeliveryProcessed { outcome: DeliveryOutcome::Failed { reason }, .. }) => {
            Some(Outcome::Failed { error: reason.clone() })
        }
        Event::Mirror(mirror::Event::DeliveryProcessed { delivery, outcome, .. }) => {
            let mut response = json!({ "status": "processed", "delivery": delivery });
            if let (Some(all), Ok(Value::Object(more))) = (response.as_object_mut(), serde_json::to_value(outcome)) {
                all.extend(more);
            }
            Some(Outcome::Completed { response, run_id: None })
        }
        Event::Commands(commands::Event::RequestProcessed { key, request, outcome, refusal }) => {
            let mut response = json!({ "status": "processed", "key": key, "request": request, "outcome": outcome });
            if let Some(detail) = refusal {
                response["refused"] = json!(StoredRefusal { code: "CONFLICT".to_owned(), detail: detail.clone() });
            }
            Some(Outcome::Completed { response, run_id: None })
        }
        _ => None,
    });
    told.unwrap_or_else(|| Outcome::Failed { error: "nothing could be decided on it".to_owned() })
}

fn caught<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    // What is read inside is only read, so nothing is left half changed.
    catch_unwind(AssertUnwindSafe(what)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a word".to_owned())
    })
}
