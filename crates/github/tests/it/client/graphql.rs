use std::time::Duration;

use github::{Class, Error};
use merge_train_core::facts::MergeState;
use merge_train_core::ids::PrNumber;
use serde_json::{Map, Value, json};

use super::{repo, repo_with};
use crate::server::{Reply, Sent};

fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<PrNumber> {
    range.map(PrNumber::new).collect()
}

/// Answers for every alias by the variable of the same number; number 13 does not exist.
fn states(sent: &Sent) -> Reply {
    let (mut pulls, mut errors) = (Map::new(), Vec::new());
    for (name, number) in sent.body["variables"].as_object().expect("a query has variables") {
        let Some(index) = name.strip_prefix('n').filter(|index| index.parse::<u64>().is_ok()) else { continue };
        let alias = format!("p{index}");
        if number == 13 {
            errors.push(json!({"type": "NOT_FOUND", "path": ["repository", alias], "message": "Could not resolve"}));
            pulls.insert(alias, Value::Null);
        } else {
            let facts = json!({"number": number, "headRefOid": "aaaa", "mergeStateStatus": "CLEAN", "isDraft": false});
            pulls.insert(alias, facts);
        }
    }
    Reply::ok(&json!({"data": {"repository": pulls}, "errors": errors}))
}

#[tokio::test]
async fn merge_states_are_asked_for_fifty_at_a_time_and_a_missing_one_does_not_matter() {
    let (server, repo) = repo(states).await;
    let answer = repo.merge_states(&numbers(1..=120)).await.unwrap();
    assert_eq!((answer.found.len(), answer.missing.as_slice()), (119, &[PrNumber::new(13)][..]));
    assert_eq!((answer.found[0].number, answer.found[0].state), (PrNumber::new(1), MergeState::Clean));
    let sent = server.sent();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|sent| sent.path == "/api/graphql" && sent.method == "POST"));
    let variables = sent[2].body["variables"].as_object().unwrap();
    assert_eq!((variables.len(), &variables["owner"], &variables["n19"]), (22, &json!("acme"), &json!(120)));
    assert!(!sent[2].body["query"].as_str().unwrap().contains("120"), "numbers travel as variables");
}

#[tokio::test]
async fn a_merge_state_that_is_not_known_is_unknown() {
    let (_server, repo) = repo(|_| {
        let facts = json!({"number": 1, "headRefOid": "aaaa", "mergeStateStatus": "PONDERING", "isDraft": true});
        Reply::ok(&json!({"data": {"repository": {"p0": facts}}}))
    })
    .await;
    let answer = repo.merge_states(&numbers(1..=1)).await.unwrap();
    assert_eq!((answer.found[0].state, answer.found[0].draft), (MergeState::Unknown, true));
    assert!(repo.merge_states(&[]).await.unwrap().found.is_empty());
}

#[tokio::test]
async fn graphql_errors_have_their_classes() {
    for (kind, path, class) in [
        ("NOT_FOUND", json!(["repository"]), Class::NotFound),
        ("FORBIDDEN", json!(["repository"]), Class::Forbidden),
        ("FORBIDDEN", json!(["repository", "p0"]), Class::Forbidden),
        ("RATE_LIMITED", json!([]), Class::Transient),
        ("undefinedField", json!(["query"]), Class::Permanent),
    ] {
        let body = json!({"data": null, "errors": [{"type": kind, "path": path, "message": "no"}]});
        let (server, repo) =
            repo_with(|config| config.limits.patience = Duration::from_secs(30), move |_| Reply::ok(&body)).await;
        let error = repo.merge_states(&numbers(1..=1)).await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert_eq!(matches!(error, Error::RateLimited { .. }), kind == "RATE_LIMITED", "{error:?}");
        assert_eq!(server.sent().len(), 1);
    }
}

#[tokio::test]
async fn a_used_up_graphql_budget_leaves_rest_alone() {
    let reset = jiff::Timestamp::now().as_second() + 1800;
    let (_server, repo) = repo(move |sent| match sent.path.as_str() {
        "/api/graphql" => {
            let body = json!({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]});
            Reply::ok(&body)
                .with("x-ratelimit-limit", "5000")
                .with("x-ratelimit-remaining", "0")
                .with("x-ratelimit-resource", "graphql")
                .with("x-ratelimit-reset", reset.to_string())
        }
        _ => Reply::ok(&super::settings()),
    })
    .await;
    let error = repo.merge_states(&numbers(1..=1)).await.unwrap_err();
    assert!(error.retry_after() > Some(Duration::from_secs(1700)), "{error:?}");
    repo.settings().await.unwrap();
    assert_eq!(repo.client().stats()[0].graphql.as_ref().unwrap().remaining, 0);
}

#[tokio::test]
async fn review_threads_are_read_page_by_page() {
    let thread = |id: &str, resolved: bool| {
        json!({"id": id, "isResolved": resolved, "isOutdated": false, "path": "a.c", "line": 3, "comments": {"nodes": [
            {"fullDatabaseId": "5000000000", "body": "why?", "createdAt": "2026-01-01T00:00:00Z", "url": "u", "author": null}]}})
    };
    let (server, repo) = repo(move |sent| {
        let last = sent.body["variables"]["after"] == "c1";
        let page = json!({"hasNextPage": !last, "endCursor": "c1"});
        let nodes = if last { json!([thread("t2", true)]) } else { json!([thread("t1", false)]) };
        Reply::ok(
            &json!({"data": {"repository": {"pullRequest": {"reviewThreads": {"pageInfo": page, "nodes": nodes}}}}}),
        )
    })
    .await;
    let threads = repo.review_threads(PrNumber::new(1)).await.unwrap();
    assert_eq!(threads.iter().map(|thread| thread.is_resolved).collect::<Vec<_>>(), [false, true]);
    assert_eq!(threads[0].comments[0].full_database_id.as_deref(), Some("5000000000"));
    assert_eq!(server.sent().len(), 2);
}
