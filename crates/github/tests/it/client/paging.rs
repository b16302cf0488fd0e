use github::Error;
use serde_json::{Value, json};

use super::{Late, at, pull, repo, settings, widgets};
use crate::server::{Reply, Server};

#[tokio::test]
async fn all_pages_of_a_list_are_read() {
    let late = Late::default();
    let address = late.clone();
    let (server, repo) = repo(move |sent| {
        let page: u64 = sent.query.split("page=").last().unwrap().parse().unwrap();
        let first = if page > 10 { 1 } else { page };
        let pulls: Vec<Value> = (0..2).map(|n| pull(10 * first + n, "open", "2026-01-01T00:00:00Z")).collect();
        let reply = Reply::ok(&json!(pulls));
        let next = format!("<{}{}?per_page=100&page={}>", address.get(), at("/pulls"), first + 1);
        let last = format!("<{}{}?page=3>", address.get(), at("/pulls"));
        if first < 3 { reply.with("link", format!("{last}; rel=\"last\", {next}; rel=\"next\"")) } else { reply }
    })
    .await;
    late.set(&server.url);
    let pulls = repo.open_pulls().await.unwrap();
    assert_eq!(pulls.iter().map(|pull| pull.number.get()).collect::<Vec<_>>(), [10, 11, 20, 21, 30, 31]);
    assert!(server.sent()[0].query.contains("per_page=100") && server.sent()[0].query.contains("state=open"));
    assert_eq!(server.sent().len(), 3);
}

#[tokio::test]
async fn a_next_page_on_another_host_is_refused() {
    let thief = Server::start(|_| Reply::ok(&json!([]))).await;
    let next = format!("<{}/repos/acme/widgets/pulls?page=2>; rel=\"next\"", thief.url);
    let (_server, repo) = repo(move |_| Reply::ok(&json!([])).with("link", next.clone())).await;
    let error = repo.open_pulls().await.unwrap_err();
    assert!(matches!(error, Error::Permanent { .. }), "{error}");
    assert!(thief.sent().is_empty(), "the token stayed at home");
}

#[tokio::test]
async fn a_renamed_repository_is_followed_within_github_only() {
    let thief = Server::start(|_| Reply::ok(&settings())).await;
    let elsewhere = thief.url.clone();
    let moved = |to: String| Reply::error(301, "Moved Permanently").with("location", to);
    let (server, repo) = repo(move |sent| match sent.path.as_str() {
        "/api/v3/repositories/1" => Reply::ok(&settings()),
        path if path == at("") => moved("/api/v3/repositories/1".to_owned()),
        _ => moved(format!("{elsewhere}/here")),
    })
    .await;
    assert_eq!(repo.settings().await.unwrap().full_name, widgets());
    assert!(server.sent()[1].bearer().starts_with("ghp_"), "the same API gets the same token");
    let error = repo.open_pulls().await.unwrap_err();
    assert!(matches!(error, Error::Permanent { .. }), "{error}");
    assert!(thief.sent().is_empty());
}

#[tokio::test]
async fn a_list_that_leads_back_to_itself_comes_to_an_end() {
    let late = Late::default();
    let address = late.clone();
    let (server, repo) = repo(move |_| {
        Reply::ok(&json!([])).with("link", format!("<{}{}>; rel=\"next\"", address.get(), at("/rulesets")))
    })
    .await;
    late.set(&server.url);
    assert!(matches!(repo.rulesets().await, Err(Error::Permanent { .. })));
}
