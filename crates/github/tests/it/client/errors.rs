use std::time::{Duration, Instant};

use github::{Class, Client, Error, Executed};
use merge_train_core::ids::PrNumber;
use serde_json::json;

use super::{TOKEN, at, pull, repo, repo_with, settings, widgets};
use crate::server::Reply;

#[tokio::test]
async fn each_status_has_its_class() {
    for (status, message, class) in [
        (400, "Bad", Class::Permanent),
        (403, "Resource not accessible by integration", Class::Forbidden),
        (404, "Not Found", Class::NotFound),
        (409, "Conflict", Class::Conflict),
        (410, "Gone", Class::NotFound),
        (451, "Blocked", Class::Forbidden),
        (422, "Validation Failed", Class::Permanent),
    ] {
        let (server, repo) = repo(move |_| Reply::error(status, message)).await;
        let error = repo.settings().await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert_eq!(server.sent().len(), 1, "{status} is not repeated");
        assert!(error.to_string().contains("GET /api/v3/repos/acme/widgets"), "{error}");
        assert!(!format!("{error:?} {error}").contains(TOKEN));
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told() {
    let errors = json!({"message": "Validation Failed", "errors": [
        {"resource": "PullRequest", "field": "base", "code": "invalid"}, {"message": "There are no new commits"}, "odd"]});
    let (_server, repo) = repo(move |_| Reply::json(422, &errors)).await;
    let error = repo.retarget(PrNumber::new(1), &"main".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().ends_with("Validation Failed (base: invalid; There are no new commits; odd)"), "{error}");
}

#[tokio::test]
async fn a_secondary_limit_is_not_a_missing_permission() {
    let slow = [
        Reply::error(403, "You have exceeded a secondary rate limit. Please wait a few minutes"),
        Reply::error(429, "Too many requests"),
        Reply::error(403, "Forbidden").with("retry-after", "120"),
    ];
    for reply in slow {
        let reply = std::sync::Mutex::new(Some(reply));
        let (server, repo) = repo_with(
            |config| config.limits.patience = Duration::from_secs(30),
            move |_| reply.lock().unwrap().take().unwrap_or_else(|| Reply::ok(&settings())),
        )
        .await;
        let error = repo.settings().await.unwrap_err();
        assert!(matches!(error, Error::RateLimited { .. }), "{error}");
        assert!(error.retry_after() >= Some(Duration::from_secs(59)), "{error:?}");
        assert!(matches!(repo.settings().await, Err(Error::RateLimited { .. })), "and the next call is not even sent");
        assert_eq!(server.sent().len(), 1);
    }
}

#[tokio::test]
async fn a_write_is_repeated_after_a_limit() {
    let (server, repo) = repo(|sent| match sent.nth {
        0 => Reply::error(429, "slow down").with("retry-after", "0"),
        1 => Reply::error(403, "You have exceeded a secondary rate limit").with("retry-after", "0"),
        _ => Reply::ok(&pull(1, "open", "2026-01-01T00:00:00Z")),
    })
    .await;
    repo.retarget(PrNumber::new(1), &"main".parse().unwrap()).await.unwrap();
    assert_eq!(server.count(&format!("PATCH {}", at("/pulls/1"))), 3);
}

#[tokio::test]
async fn a_write_is_never_repeated_when_its_answer_was_lost() {
    type Loss = fn() -> Reply;
    let losses: [Loss; 4] = [
        || Reply::error(500, "oops"),
        || Reply::error(503, "unavailable").with("retry-after", "0"),
        || Reply::Truncated,
        || Reply::Hang,
    ];
    for loss in losses {
        let impatient = |config: &mut github::Config| config.timeouts.request = Duration::from_millis(300);
        let (server, repo) = repo_with(impatient, move |_| loss()).await;
        let error = repo.create_comment(PrNumber::new(1), "hello").await.unwrap_err();
        assert_eq!((error.class(), error.executed()), (Class::Transient, Executed::Perhaps), "{error}");
        assert_eq!(server.sent().len(), 1);
    }
}

#[tokio::test]
async fn a_read_is_repeated_when_its_answer_was_lost() {
    let (server, repo) = repo(|sent| match sent.nth {
        0 => Reply::Truncated,
        1 => Reply::error(502, "bad gateway"),
        _ => Reply::ok(&settings()),
    })
    .await;
    repo.settings().await.unwrap();
    assert_eq!(server.sent().len(), 3);
    assert_eq!(repo.client().stats()[0].retries, 2);
}

#[tokio::test]
async fn an_answer_that_ends_in_the_middle_is_a_failure_for_now_and_one_of_another_shape_for_good() {
    let (_server, repo) = repo(|sent| match sent.nth {
        0 => Reply::Answer { status: 200, headers: vec![], body: r#"{"id": 1, "full_na"#.to_owned() },
        _ => Reply::ok(&json!({"id": "one"})),
    })
    .await;
    assert_eq!(repo.settings().await.unwrap_err().class(), Class::Transient);
    let error = repo.settings().await.unwrap_err();
    assert!(error.class() == Class::Permanent && error.to_string().contains("at id"), "{error}");
}

#[tokio::test]
async fn a_github_that_cannot_be_reached_has_done_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut config = github::Config::new(github::Auth::Token(github::Secret::new(TOKEN)));
    config.api_url = format!("http://{address}");
    config.limits.backoff = Duration::from_millis(1);
    let repo = Client::new(&config).unwrap().repo(&widgets());
    let error = repo.create_comment(PrNumber::new(1), "hello").await.unwrap_err();
    assert_eq!((error.class(), error.executed()), (Class::Transient, Executed::No), "{error}");
    assert_eq!(repo.client().stats()[0].calls.transient, 4, "so even a write may be tried again");
}

#[tokio::test]
async fn the_circuit_opens_after_failures_and_closes_with_a_probe() {
    let (server, repo) = repo_with(
        |config| {
            config.limits.circuit_failures = 3;
            config.limits.retries = 0;
            config.limits.circuit_pause = Duration::from_millis(200);
        },
        |sent| if sent.nth < 3 { Reply::error(503, "down") } else { Reply::ok(&settings()) },
    )
    .await;
    for _ in 0..3 {
        repo.settings().await.unwrap_err();
    }
    let refused = repo.settings().await.unwrap_err();
    assert_eq!((refused.class(), refused.executed()), (Class::Transient, Executed::No), "{refused}");
    assert_eq!(server.sent().len(), 3, "a GitHub that is down is left alone");
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(refused) = repo.settings().await {
        assert!(Instant::now() < deadline, "{refused}");
        tokio::task::yield_now().await;
    }
    assert_eq!(server.sent().len(), 4, "one call found out that it is back");
    assert_eq!(repo.client().stats()[0].circuit, github::CircuitState::Closed);
}
