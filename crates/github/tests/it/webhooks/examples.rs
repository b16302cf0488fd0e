use std::collections::BTreeMap;

use github::webhook::{glance, parse};
use merge_train_core::facts::{Delivery, WebhookEvent};
use merge_train_core::ids::DeliveryId;
use proptest::prelude::*;
use serde_json::Value;

use super::published;

fn delivery() -> DeliveryId {
    DeliveryId::parse("72d3162e-cc78-11e3-81ab-4c9367dc0958").expect("an id of GitHub's form")
}

fn read(event: &str, payload: &Value) -> Delivery {
    let body = serde_json::to_vec(payload).expect("JSON can be written");
    parse(event, delivery(), &body).unwrap_or_else(|error| panic!("{error}\n{payload}"))
}

/// What an example may become, by its event.
fn fits(event: &str, payload: &Value, happening: &WebhookEvent) -> bool {
    match (event, happening) {
        ("pull_request", WebhookEvent::Pull(pull)) => payload["number"] == pull.number.get(),
        ("issue_comment", WebhookEvent::Comment(..)) => !payload["issue"]["pull_request"].is_null(),
        ("issue_comment", WebhookEvent::Other) => payload["issue"]["pull_request"].is_null(),
        ("check_suite", WebhookEvent::CheckSuite(suite)) => payload["check_suite"]["id"] == suite.id.get(),
        ("check_run", WebhookEvent::CheckRun { head_sha, .. }) => payload["check_run"]["head_sha"] == head_sha.as_str(),
        ("status", WebhookEvent::Status { sha, context, .. }) => {
            payload["sha"] == sha.as_str() && payload["context"] == *context
        }
        ("pull_request_review", WebhookEvent::Review { pull, .. }) => {
            payload["pull_request"]["number"] == pull.number.get()
        }
        ("pull_request_review_comment" | "pull_request_review_thread", WebhookEvent::ReviewTalk { pr }) => {
            payload["pull_request"]["number"] == pr.get()
        }
        ("push", WebhookEvent::Push { branch, .. }) => payload["ref"] == format!("refs/heads/{branch}"),
        ("push", WebhookEvent::Other) => {
            payload["deleted"] == true || payload["ref"].as_str().is_some_and(|name| name.starts_with("refs/tags/"))
        }
        ("ping", WebhookEvent::Ping) | ("installation" | "installation_repositories", WebhookEvent::Installation) => {
            true
        }
        (known, _) if KNOWN.contains(&known) => false,
        (_, other) => *other == WebhookEvent::Other,
    }
}

const KNOWN: [&str; 12] = [
    "pull_request",
    "issue_comment",
    "check_suite",
    "check_run",
    "status",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "ping",
    "installation",
    "installation_repositories",
];

#[test]
fn every_example_of_every_event_becomes_what_its_event_promises() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for family in published::examples() {
        for payload in &family.examples {
            let delivery = read(&family.name, payload);
            assert!(fits(&family.name, payload, &delivery.happening), "{}: {:?}", family.name, delivery.happening);
            assert_eq!(delivery.action.as_deref(), payload["action"].as_str());
            assert_eq!(
                delivery.repo.map(|repo| repo.to_string()).as_deref(),
                payload["repository"]["full_name"].as_str()
            );
            *seen.entry(family.name.clone()).or_default() += 1;
        }
    }
    for event in KNOWN.iter().chain(&["repository"]) {
        assert!(seen.contains_key(*event), "there is no example of {event}");
    }
    assert!(seen.values().sum::<usize>() > 300, "{seen:?}");
}

#[test]
fn a_glance_agrees_with_the_full_reading() {
    for family in published::examples() {
        for payload in &family.examples {
            let body = serde_json::to_vec(payload).unwrap();
            let glance = glance(&family.name, &body).unwrap();
            let delivery = read(&family.name, payload);
            assert_eq!(glance.repo, delivery.repo);
            assert_eq!(glance.tenant.is_some(), owner_is_named(payload), "{}", family.name);
            let written = match &delivery.happening {
                WebhookEvent::Comment(_, comment) if delivery.action.as_deref() != Some("deleted") => Some(comment),
                _ => None,
            };
            assert_eq!(glance.comment.as_ref().map(|seen| seen.pr), written.map(|comment| comment.pr));
            assert_eq!(glance.comment.map(|seen| seen.body.into_owned()), written.map(|comment| comment.body.clone()));
        }
    }
}

fn owner_is_named(payload: &Value) -> bool {
    ["/repository/full_name", "/installation/account/login", "/organization/login"]
        .iter()
        .any(|pointer| payload.pointer(pointer).is_some())
}

proptest! {
    #[test]
    fn damaged_payloads_are_refused_or_read_but_never_panic(
        pick in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        thread_local! {
            static BODIES: Vec<(String, Vec<u8>)> = published::examples()
                .into_iter()
                .flat_map(|family| {
                    let name = family.name;
                    family.examples.into_iter().map(move |payload| (name.clone(), serde_json::to_vec(&payload).unwrap()))
                })
                .collect();
        }
        BODIES.with(|bodies| {
            let (event, body) = pick.get(bodies);
            let mut damaged = body.clone();
            for (at, byte) in &flips {
                let at = at.index(damaged.len());
                damaged[at] = *byte;
            }
            let _ = parse(event, delivery(), &damaged);
            let _ = glance(event, &damaged);
            damaged.truncate(cut.index(body.len()));
            assert!(parse(event, delivery(), &damaged).is_err(), "half a payload is not a payload");
            assert!(glance(event, &damaged).is_err());
        });
    }
}
