//! Repositories: made, read, changed, forked, deleted.

use serde_json::json;

use crate::support::World;

#[tokio::test]
async fn a_new_repository_has_github_s_defaults() {
    let world = World::new().await;
    let new = json!({ "name": "hello", "description": "A greeting" });
    let made = world.octocat.post("/user/repos", new).await.expect(201).json;
    assert_eq!(made["full_name"], "octocat/hello");
    for (field, value) in [
        ("private", json!(false)),
        ("default_branch", json!("main")),
        ("description", json!("A greeting")),
        ("has_issues", json!(true)),
        ("allow_merge_commit", json!(true)),
        ("allow_squash_merge", json!(true)),
        ("allow_rebase_merge", json!(true)),
        ("delete_branch_on_merge", json!(false)),
        ("squash_merge_commit_title", json!("COMMIT_OR_PR_TITLE")),
        ("squash_merge_commit_message", json!("COMMIT_MESSAGES")),
        ("merge_commit_title", json!("MERGE_MESSAGE")),
        ("merge_commit_message", json!("PR_TITLE")),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    let read = world.octocat.get("/repos/octocat/hello").await.expect(200).json;
    assert_eq!(read, made);
    assert_eq!(read["permissions"]["admin"], true);
    world.finish().await;
}

#[tokio::test]
async fn of_two_creations_of_one_name_at_the_same_time_one_succeeds() {
    let world = World::new().await;
    let new = json!({ "name": "twice", "auto_init": true });
    let (first, second) =
        tokio::join!(world.octocat.post("/user/repos", new.clone()), world.octocat.post("/user/repos", new));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 422]);
    let refused = if first.status == 422 { first } else { second };
    assert_eq!(refused.json["errors"][0]["message"], "name already exists on this account");
    world.octocat.post("/user/repos", json!({ "name": "TWICE" })).await.expect(422);
    world.finish().await;
}
