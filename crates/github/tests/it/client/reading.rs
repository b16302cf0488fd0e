use github::{Enforcement, Error, Permission, Reaction};
use merge_train_core::facts::ReviewState;
use merge_train_core::ids::{CommentId, PrNumber, UserId};
use serde_json::{Value, json};

use super::{at, repo, settings};
use crate::server::Reply;

fn comment(id: u64) -> Value {
    json!({"id": id, "user": {"id": 9, "login": "mona"}, "body": "hi", "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z", "issue_url": "https://x/repos/acme/widgets/issues/4"})
}

#[tokio::test]
async fn requests_carry_what_github_asks_for() {
    let (server, repo) = repo(|_| Reply::ok(&settings())).await;
    let settings = repo.settings().await.unwrap();
    assert_eq!((settings.allow_squash_merge, settings.allow_rebase_merge), (Some(true), Some(false)));
    assert_eq!(settings.squash_merge_commit_message, None);
    let sent = &server.sent()[0];
    assert_eq!(sent.bearer(), super::TOKEN);
    assert!(sent.header("user-agent").unwrap().starts_with("merge-train/"));
    assert_eq!(sent.header("accept"), Some("application/vnd.github+json"));
    assert_eq!(sent.header("x-github-api-version"), Some("2022-11-28"));
}

#[tokio::test]
async fn comments_are_listed_written_changed_and_deleted() {
    let (server, repo) = repo(|sent| match sent.method.as_str() {
        "DELETE" => Reply::Answer { status: 204, headers: vec![], body: String::new() },
        "POST" => Reply::json(201, &comment(8)),
        "GET" if sent.path.ends_with("/comments/404") => Reply::error(404, "Not Found"),
        "GET" if sent.path.ends_with("comments") => Reply::ok(&json!([comment(7), comment(8)])),
        _ => Reply::ok(&comment(7)),
    })
    .await;
    let all = repo.comments(PrNumber::new(4)).await.unwrap();
    assert_eq!(
        (all.len(), all[0].pr, all[0].author, all[0].login.as_str()),
        (2, PrNumber::new(4), UserId::new(9), "mona")
    );
    assert_eq!(repo.create_comment(PrNumber::new(4), "hello").await.unwrap().id, CommentId::new(8));
    assert_eq!(repo.update_comment(CommentId::new(7), "again").await.unwrap().pr, PrNumber::new(4));
    assert_eq!(repo.comment(CommentId::new(7)).await.unwrap().unwrap().body, "hi");
    assert_eq!(repo.comment(CommentId::new(404)).await.unwrap(), None);
    repo.delete_comment(CommentId::new(7)).await.unwrap();
    let since = "2026-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(repo.comments_since(since).await.unwrap()[0].pr, PrNumber::new(4));
    let names: Vec<_> = server.sent().iter().map(|sent| format!("{} {}", sent.name(), sent.body["body"])).collect();
    assert_eq!(
        names,
        [
            format!("GET {} null", at("/issues/4/comments")),
            format!("POST {} \"hello\"", at("/issues/4/comments")),
            format!("PATCH {} \"again\"", at("/issues/comments/7")),
            format!("GET {} null", at("/issues/comments/7")),
            format!("GET {} null", at("/issues/comments/404")),
            format!("DELETE {} null", at("/issues/comments/7")),
            format!("GET {} null", at("/issues/comments")),
        ]
    );
}

#[tokio::test]
async fn reactions_are_given_and_read() {
    let (server, repo) = repo(|sent| match sent.method.as_str() {
        "POST" => Reply::json(201, &json!({"id": 1, "content": "+1", "user": null})),
        _ => Reply::ok(
            &json!([{"id": 1, "content": "+1", "user": {"id": 9}}, {"id": 2, "content": "eyes", "user": null}]),
        ),
    })
    .await;
    repo.react(CommentId::new(7), Reaction::ThumbsUp).await.unwrap();
    assert_eq!(server.sent()[0].body, json!({"content": "+1"}));
    let given = repo.reactions(CommentId::new(7)).await.unwrap();
    assert_eq!((given[0].by, given[1].reaction), (UserId::new(9), Reaction::Eyes));
}

#[tokio::test]
async fn a_permission_is_the_role_where_the_old_name_says_less() {
    for (reply, expected) in [
        ((200, json!({"permission": "admin", "role_name": "admin"})), Permission::Admin),
        ((200, json!({"permission": "write", "role_name": "maintain"})), Permission::Maintain),
        ((200, json!({"permission": "read", "role_name": "triage"})), Permission::Triage),
        ((200, json!({"permission": "write", "role_name": "release-captain"})), Permission::Write),
        ((200, json!({"permission": "none"})), Permission::None),
        ((404, json!({"message": "Not Found"})), Permission::None),
    ] {
        let (_server, repo) = repo(move |_| Reply::json(reply.0, &reply.1)).await;
        assert_eq!(repo.permission("mona").await.unwrap(), expected);
    }
    assert!(Permission::Maintain > Permission::Write);
}

#[tokio::test]
async fn no_protection_is_told_from_not_being_allowed_to_see_it() {
    let (server, repo) = repo(|sent| match sent.nth {
        0 => Reply::error(404, "Branch not protected"),
        1 => Reply::error(403, "Resource not accessible by integration"),
        2 => Reply::error(404, "Not Found"),
        3 => Reply::error(403, "Upgrade to GitHub Pro or make this repository public to enable this feature."),
        _ => Reply::ok(&json!({"required_pull_request_reviews": {"dismiss_stale_reviews": true},
            "required_status_checks": {"strict": true, "contexts": ["test"]}})),
    })
    .await;
    let branch = "release/1.0".parse().unwrap();
    assert_eq!(repo.branch_protection(&branch).await.unwrap(), None);
    assert!(matches!(repo.branch_protection(&branch).await, Err(Error::Forbidden { .. })));
    assert!(matches!(repo.branch_protection(&branch).await, Err(Error::NotFound { .. })));
    assert_eq!(repo.branch_protection(&branch).await.unwrap(), None, "a plan without protection has none");
    let protection = repo.branch_protection(&branch).await.unwrap().unwrap();
    assert!(protection.required_pull_request_reviews.unwrap().dismiss_stale_reviews);
    assert_eq!(server.sent()[0].path, at("/branches/release%2F1.0/protection"));
}

#[tokio::test]
async fn rulesets_are_read_with_their_enforcement_and_their_rules() {
    let rule = json!({"type": "pull_request", "ruleset_id": 3, "parameters": {"dismiss_stale_reviews_on_push": true}});
    let checks = json!({"type": "required_status_checks",
        "parameters": {"required_status_checks": [{"context": "test"}, {"context": "lint"}]}});
    let (_server, repo) = repo(move |sent| match sent.path.rsplit('/').next() {
        Some("main") => Reply::ok(&json!([rule, checks, {"type": "deletion"}])),
        Some("rulesets") => Reply::ok(&json!([{"id": 3, "name": "r", "target": "branch", "enforcement": "evaluate"}])),
        _ => Reply::ok(&json!({"id": 3, "name": "r", "target": "branch", "enforcement": "disabled", "rules": [rule],
            "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}}})),
    })
    .await;
    let rules = repo.branch_rules(&"main".parse().unwrap()).await.unwrap();
    assert_eq!(rules.iter().map(github::BranchRule::dismisses_stale_reviews).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(rules[1].required_checks(), ["test", "lint"]);
    assert_eq!(repo.rulesets().await.unwrap()[0].enforcement, Enforcement::Evaluate);
    let ruleset = repo.ruleset(3).await.unwrap().unwrap();
    assert_eq!((ruleset.enforcement, ruleset.rules.len()), (Enforcement::Disabled, 1));
}

#[tokio::test]
async fn checks_statuses_and_reviews_of_a_commit_are_read() {
    let (_server, repo) = repo(|sent| match sent.path.rsplit('/').next().unwrap() {
        "check-runs" => {
            Reply::ok(&json!({"total_count": 1, "check_runs": [{"id": 5, "name": "test", "head_sha": "aaaa",
            "status": "completed", "conclusion": "startup_failure", "output": {"title": null, "summary": "s"},
            "app": {"id": 1, "slug": "ci"}, "check_suite": {"id": 6}}]}))
        }
        "check-suites" => Reply::ok(&json!({"total_count": 1, "check_suites": [{"id": 6, "head_sha": "aaaa",
            "head_branch": null, "status": "completed", "conclusion": "stale", "app": null}]})),
        "status" => Reply::ok(&json!({"state": "pending", "sha": "aaaa", "statuses": []})),
        "statuses" => Reply::ok(&json!([{"context": "ci", "state": "error", "description": null}])),
        "annotations" => Reply::ok(&json!([{"path": "a.c", "start_line": 3, "end_line": 3,
            "annotation_level": "failure", "title": null, "message": "no"}])),
        "reviews" => Reply::ok(&json!([{"id": 1, "user": null, "state": "CHANGES_REQUESTED", "commit_id": "aaaa",
            "body": "", "submitted_at": "2026-01-01T00:00:00Z"}])),
        "comments" => Reply::ok(&json!([{"id": 2, "pull_request_review_id": 1, "user": {"id": 9}, "path": "a.c",
            "line": null, "body": "why", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}])),
        other => panic!("{other}"),
    })
    .await;
    let commit = "aaaa".parse().unwrap();
    let run = repo.check_runs(&commit).await.unwrap().remove(0);
    assert_eq!((run.conclusion.as_deref(), run.check_suite.unwrap().id.get()), (Some("startup_failure"), 6));
    assert_eq!(repo.check_suites(&commit).await.unwrap()[0].conclusion.as_deref(), Some("stale"));
    assert_eq!(repo.combined_status(&commit).await.unwrap().state, "pending");
    assert_eq!(repo.statuses(&commit).await.unwrap()[0].state, "error");
    assert_eq!(repo.annotations(5).await.unwrap()[0].start_line, 3);
    assert_eq!(repo.reviews(PrNumber::new(1)).await.unwrap()[0].state, ReviewState::ChangesRequested);
    assert_eq!(repo.review_comments(PrNumber::new(1)).await.unwrap()[0].line, None);
}

#[tokio::test]
async fn branches_and_commits_are_found_or_not() {
    let (server, repo) = repo(|sent| match sent.path.rsplit('/').next().unwrap() {
        "one" => Reply::ok(&json!({"ref": "refs/heads/feature/one", "object": {"type": "commit", "sha": "aaaa"}})),
        "aaaa" => {
            Reply::ok(&json!({"sha": "aaaa", "tree": {"sha": "7ree"}, "parents": [{"sha": "bbbb"}], "message": "m"}))
        }
        _ => Reply::error(404, "Not Found"),
    })
    .await;
    let sha = "aaaa".parse().unwrap();
    assert_eq!(repo.branch_head(&"feature/one".parse().unwrap()).await.unwrap(), Some("aaaa".parse().unwrap()));
    assert_eq!(server.sent()[0].path, at("/git/ref/heads/feature/one"));
    assert_eq!(repo.branch_head(&"gone".parse().unwrap()).await.unwrap(), None);
    let commit = repo.commit(&sha).await.unwrap().unwrap();
    assert_eq!((commit.tree.as_str(), commit.parents.len()), ("7ree", 1));
    assert_eq!(repo.commit(&"cccc".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn runs_that_failed_are_told_from_those_that_were_replaced() {
    let run = |id: u64, name: &str, status: &str, conclusion: Value| {
        json!({"id": id, "name": name, "head_sha": "aaaa", "status": status, "conclusion": conclusion,
            "output": {"title": null, "summary": null}, "app": {"id": 1, "slug": "github-actions"}})
    };
    let runs = json!([
        run(1, "passed", "completed", "success".into()),
        run(2, "skipped", "completed", "skipped".into()),
        run(3, "neutral", "completed", "neutral".into()),
        run(4, "red", "completed", "failure".into()),
        run(5, "slow", "completed", "timed_out".into()),
        run(6, "asked", "completed", "action_required".into()),
        run(7, "waits", "queued", Value::Null),
        run(8, "cancelled", "completed", "cancelled".into()),
        run(9, "replaced", "completed", "cancelled".into()),
        run(10, "replaced", "in_progress", Value::Null),
        run(11, "both", "completed", "cancelled".into()),
        run(12, "both", "completed", "failure".into()),
    ]);
    let (_server, repo) = repo(move |_| Reply::ok(&json!({"total_count": 12, "check_runs": runs}))).await;
    let failed = repo.failed_runs(&"aaaa".parse().unwrap()).await.unwrap();
    assert_eq!(failed.iter().map(|run| run.id).collect::<Vec<_>>(), [4, 5, 6, 8, 12]);
    assert!(failed[0].has_a_log());
}

#[tokio::test]
async fn labels_are_read_in_lists_and_of_a_single_pull_request() {
    let (_server, repo) = repo(|sent| {
        let state = if sent.query.contains("state=closed") { "closed" } else { "open" };
        let mut one = super::pull(1, state, "2026-01-01T00:00:00Z");
        one["labels"] = json!([{"id": 4, "name": "ratchet", "color": "fff"}]);
        if sent.path.ends_with("/pulls/1") { Reply::ok(&one) } else { Reply::ok(&json!([one])) }
    })
    .await;
    let single = repo.pull(PrNumber::new(1)).await.unwrap().facts;
    let open = repo.open_pulls().await.unwrap().remove(0);
    let closed = repo.closed_pulls("2020-01-01T00:00:00Z".parse().unwrap()).await.unwrap().remove(0);
    for pull in [single, open, closed] {
        assert_eq!(pull.labels.iter().map(String::as_str).collect::<Vec<_>>(), ["ratchet"]);
    }
}
