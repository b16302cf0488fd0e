use merge_train_core::facts::PullState;
use serde_json::{Value, json};

use super::{at, pull, repo, settings};
use crate::server::{Reply, Sent};

fn closed(number: u64, updated_at: &str) -> Value {
    let mut pull = pull(number, "closed", updated_at);
    pull["closed_at"] = updated_at.into();
    pull
}

fn comment(id: &str, body: &str, created_at: &str) -> Value {
    json!({"fullDatabaseId": id, "body": body, "createdAt": created_at, "updatedAt": created_at,
        "author": {"login": "mona", "databaseId": 9}})
}

/// Number 1 has a few comments, number 2 more than fit.
fn repository(sent: &Sent) -> Reply {
    if sent.path == "/api/graphql" && sent.body["variables"]["after"] == "behind the hundredth" {
        let rest = json!([comment("8", "@merge-train start", "2026-01-02T00:00:00Z")]);
        return Reply::ok(&json!({"data": {"repository": {
            "p0": {"comments": {"pageInfo": {"hasNextPage": false, "endCursor": "the end"}, "nodes": rest}},
        }}}));
    }
    if sent.path == "/api/graphql" {
        let few = json!([
            comment("5000000002", "@Merge-Train predecessor #2", "2026-01-03T00:00:00Z"),
            comment("7", "just talk", "2026-01-01T00:00:00Z"),
            {"fullDatabaseId": "9", "body": "@merge-train stop", "createdAt": "2026-01-01T00:00:00Z",
                "updatedAt": "2026-01-01T00:00:00Z", "author": {"login": "imported"}},
            {"fullDatabaseId": "10", "body": "@merge-train stop", "createdAt": "2026-01-04T00:00:00Z",
                "updatedAt": "2026-01-04T00:00:00Z", "author": null},
        ]);
        return Reply::ok(&json!({"data": {"repository": {
            "p0": {"number": 1, "comments": {"pageInfo": {"hasNextPage": false}, "nodes": few}},
            "p1": {"number": 2, "comments": {
                "pageInfo": {"hasNextPage": true, "endCursor": "behind the hundredth"}, "nodes": []}},
        }}}));
    }
    if sent.path == "/api/v3/user" {
        return Reply::ok(&json!({"id": 77, "login": "trains"}));
    }
    match sent.path.strip_prefix(&at("")).expect("only this repository is asked about") {
        "" => Reply::ok(&settings()),
        "/issues/2/comments" => {
            Reply::ok(&json!([{"id": 8, "user": {"id": 9, "login": "octo"}, "body": "@merge-train start",
            "created_at": "2026-01-02T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z"}]))
        }
        "/pulls" if sent.query.contains("state=open") => {
            let open = |number| pull(number, "open", "2026-01-01T00:00:00Z");
            Reply::ok(&json!([open(1), open(2), open(5)]))
        }
        "/pulls" => Reply::ok(&json!([
            closed(5, "2026-01-05T00:00:00Z"),
            closed(3, "2026-01-04T00:00:00Z"),
            closed(4, "2025-01-01T00:00:00Z"),
        ]))
        .with("link", "<http://nowhere.invalid/pulls?page=2>; rel=\"next\""),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_survey_brings_the_open_the_lately_closed_and_what_was_said_to_the_bot() {
    let (server, repo) = repo(repository).await;
    let facts = repo.survey("2026-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    assert_eq!(facts.default_branch.as_str(), "main");
    let pulls: Vec<_> = facts.pulls.iter().map(|pull| (pull.number.get(), pull.state == PullState::Open)).collect();
    assert_eq!(pulls, [(1, true), (2, true), (5, false), (3, false)], "5 was closed between the two lists");
    let comments: Vec<_> =
        facts.comments.iter().map(|comment| (comment.id.get(), comment.pr.get(), comment.author.get())).collect();
    assert_eq!(comments, [(8, 2, 9), (5_000_000_002, 1, 9), (10, 1, 10137)], "oldest first, and only to the bot");
    let logins: Vec<_> = facts.comments.iter().map(|comment| comment.login.as_str()).collect();
    assert_eq!(logins, ["mona", "mona", ""]);
    assert_eq!(facts.bot.get(), 77);
    assert_eq!(server.sent().len(), 6, "no page behind the cut-off, no call for each pull request");
    repo.survey("2026-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    assert_eq!(
        server.sent().iter().filter(|sent| sent.path.ends_with("/user")).count(),
        1,
        "who we are does not change"
    );
}

#[tokio::test]
async fn a_github_whose_graphql_knows_less_is_asked_by_rest() {
    let (server, repo) = repo(|sent| match sent.path.as_str() {
        "/api/graphql" => {
            Reply::ok(&json!({"errors": [{"type": "undefinedField", "path": ["query"], "message": "no such field"}]}))
        }
        path if path == at("/issues/1/comments") || path == at("/issues/5/comments") => Reply::ok(&json!([])),
        _ => repository(sent),
    })
    .await;
    let facts = repo.survey("2026-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    assert_eq!(facts.comments.len(), 1);
    assert_eq!(server.sent().iter().filter(|sent| sent.path.ends_with("/comments")).count(), 2);
}
