use std::time::Duration;

use github::{Class, Error};
use merge_train_core::ids::PrNumber;
use serde_json::json;

use super::{repo, repo_with};
use crate::server::Reply;

fn numbers(range: std::ops::RangeInclusive<u64>) -> Vec<PrNumber> {
    range.map(PrNumber::new).collect()
}

#[tokio::test]
async fn graphql_errors_have_their_classes() {
    for (kind, path, class) in [
        ("NOT_FOUND", json!(["repository"]), Class::NotFound),
        ("FORBIDDEN", json!(["repository"]), Class::Forbidden),
        ("FORBIDDEN", json!(["repository", "pullRequest"]), Class::Forbidden),
        ("RATE_LIMITED", json!([]), Class::Transient),
        ("undefinedField", json!(["query"]), Class::Permanent),
    ] {
        let body = json!({"data": null, "errors": [{"type": kind, "path": path, "message": "no"}]});
        let (server, repo) =
            repo_with(|config| config.limits.patience = Duration::from_secs(30), move |_| Reply::ok(&body)).await;
        let error = repo.review_threads(PrNumber::new(1)).await.unwrap_err();
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
            {"fullDatabaseId": "5000000000", "body": "why?", "createdAt": "2026-01-01T00:00:00Z",
             "updatedAt": "2026-01-01T00:00:00Z", "viewerDidAuthor": false, "url": "u", "author": null}]}})
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
