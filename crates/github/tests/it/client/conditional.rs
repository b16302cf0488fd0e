use super::{at, repo, settings};
use crate::server::Reply;

#[tokio::test]
async fn what_has_not_changed_is_served_from_memory() {
    let (server, repo) = repo(|sent| match (sent.header("if-none-match"), sent.nth) {
        (Some("\"v1\""), 1) => Reply::Answer { status: 304, headers: vec![], body: String::new() },
        (Some("\"v1\""), _) => {
            let mut changed = settings();
            changed["default_branch"] = "trunk".into();
            Reply::ok(&changed).with("etag", "\"v2\"")
        }
        _ => Reply::ok(&settings()).with("etag", "\"v1\""),
    })
    .await;
    let first = repo.settings().await.unwrap();
    assert_eq!(repo.settings().await.unwrap(), first);
    assert_eq!(repo.settings().await.unwrap().default_branch.as_str(), "trunk", "what has changed is not");
    assert_eq!(server.count(&format!("GET {}", at(""))), 3);
    let calls = &repo_stats(&repo)[0].calls;
    assert_eq!((calls.answered, calls.not_modified), (2, 1));
}

#[tokio::test]
async fn the_budget_is_read_from_the_headers() {
    let (_server, repo) = repo(|_| {
        let reset = jiff::Timestamp::now().as_second() + 600;
        Reply::ok(&settings())
            .with("x-ratelimit-limit", "5000")
            .with("x-ratelimit-remaining", "4321")
            .with("x-ratelimit-resource", "core")
            .with("x-ratelimit-reset", reset.to_string())
    })
    .await;
    repo.settings().await.unwrap();
    let stats = repo_stats(&repo);
    let core = stats[0].core.as_ref().unwrap();
    assert_eq!((stats[0].name.as_str(), core.limit, core.remaining), ("token", 5000, 4321));
    assert!((590..=601).contains(&core.resets_in.as_secs()), "{core:?}");
}

fn repo_stats(repo: &github::Repo) -> Vec<github::GovernorStats> {
    repo.client().stats()
}
