use github::Error;
use serde_json::json;

use super::{at, repo};
use crate::server::{Reply, Server};

fn text(body: impl Into<String>) -> Reply {
    Reply::Answer { status: 200, headers: vec![("content-type", "text/plain".to_owned())], body: body.into() }
}

#[tokio::test]
async fn a_log_is_fetched_from_where_it_is_kept_without_the_token() {
    let storage = Server::start(|_| text("first\nsecond\nthe error\n")).await;
    let location = format!("{}/logs/5?sig=abc", storage.url);
    let (server, repo) = repo(move |_| Reply::json(302, &json!({})).with("location", location.clone())).await;
    let log = repo.job_log(5, 1 << 20).await.unwrap();
    assert_eq!((log.text.as_str(), log.truncated), ("first\nsecond\nthe error\n", false));
    assert!(server.sent()[0].header("authorization").is_some() && server.sent()[0].path == at("/actions/jobs/5/logs"));
    let there = &storage.sent()[0];
    assert_eq!((there.query.as_str(), there.header("authorization")), ("sig=abc", None));
}

#[tokio::test]
async fn only_the_end_of_a_long_log_is_kept_from_a_full_line_on() {
    let storage = Server::start(|_| {
        let lines: Vec<String> = (0..100_000).map(|line| format!("ünïcode line {line}\n")).collect();
        text(lines.concat())
    })
    .await;
    let location = format!("{}/x", storage.url);
    let (_server, repo) = repo(move |_| Reply::json(302, &json!({})).with("location", location.clone())).await;
    let log = repo.job_log(5, 1000).await.unwrap();
    assert!(log.truncated && log.text.len() <= 1000 && log.text.len() > 900);
    assert!(log.text.starts_with("ünïcode line 999") && log.text.ends_with("line 99999\n"), "{}", log.text);
}

#[tokio::test]
async fn of_a_log_that_ends_in_one_long_line_the_end_of_that_line_is_kept() {
    for end in ["", "\n", "\nexit 1\n"] {
        let storage = Server::start(move |_| text(format!("begin\n{}the reason{end}", "ü".repeat(9000)))).await;
        let location = format!("{}/x", storage.url);
        let (_server, repo) = repo(move |_| Reply::json(302, &json!({})).with("location", location.clone())).await;
        let log = repo.job_log(5, 1000 + end.len() % 2).await.unwrap();
        assert!(log.truncated && log.text.len() > 900, "{end:?}: {}", log.text);
        assert!(log.text.starts_with('ü') && log.text.ends_with(&format!("the reason{end}")), "{end:?}: {}", log.text);
    }
}

#[tokio::test]
async fn a_log_that_expired_is_gone_and_one_in_a_strange_place_is_not_fetched() {
    let (_server, missing) = repo(|_| Reply::error(404, "Not Found")).await;
    assert!(matches!(missing.job_log(5, 10).await, Err(Error::NotFound { .. })));
    let storage = Server::start(|_| Reply::error(404, "")).await;
    let location = format!("{}/x", storage.url);
    let (_server, expired) = repo(move |_| Reply::json(302, &json!({})).with("location", location.clone())).await;
    assert!(matches!(expired.job_log(5, 10).await, Err(Error::Gone { .. })));
    let (_server, strange) = repo(|_| Reply::json(302, &json!({})).with("location", "file:///etc/passwd")).await;
    assert!(matches!(strange.job_log(5, 10).await, Err(Error::Permanent { .. })));
}
