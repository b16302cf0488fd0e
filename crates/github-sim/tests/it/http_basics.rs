//! What every endpoint has in common.

use crate::support::World;

#[tokio::test]
async fn an_unknown_route_is_a_404_with_github_s_body() {
    let world = World::new().await;
    let answer = world.octocat.get("/no/such/thing").await.expect(404);
    assert_eq!(answer.json["message"], "Not Found");
    assert!(!answer.header("x-github-request-id").is_empty());
    world.finish().await;
}
