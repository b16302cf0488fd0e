//! Opening, reading, listing and editing pull requests.

use serde_json::json;

use crate::support::World;

#[tokio::test]
async fn a_pull_request_is_opened_and_read_back() {
    let world = World::new().await;
    let clone = world.repo("r").await;
    let number = world.pull(&clone, "feature", "main").await;
    let answer = world.octocat.get(&format!("/repos/octocat/r/pulls/{number}")).await.expect(200);
    let head = clone.git(&["rev-parse", "feature"]).await;
    assert_eq!(answer.json["head"]["sha"], head);
    assert_eq!(answer.json["head"]["label"], "octocat:feature");
    assert_eq!(answer.json["mergeable"], true);
    assert_eq!(answer.json["mergeable_state"], "clean");
    assert_eq!(answer.json["commits"], 1);
    assert_eq!(answer.json["changed_files"], 1);
    assert_eq!(answer.json["additions"], 1);
    let _ = json!({});
    world.finish().await;
}
