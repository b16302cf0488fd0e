//! GraphQL as clients use it.

use serde_json::json;

use crate::support::World;

#[tokio::test]
async fn viewer_rate_limit_and_repository_answer() {
    let world = World::new().await;
    world.repo("demo").await;
    let data = world
        .octocat
        .graphql(
            "query($o: String!, $n: String!) { viewer { login isViewer } rateLimit { limit cost remaining used nodeCount resetAt }
               repository(owner: $o, name: $n) { id nameWithOwner isPrivate owner { __typename login ... on User { isSiteAdmin } } viewerPermission } }",
            json!({ "o": "octocat", "n": "demo" }),
        )
        .await;
    assert_eq!(data["viewer"], json!({ "login": "octocat", "isViewer": true }));
    assert_eq!(data["rateLimit"]["cost"], 1);
    let repository = &data["repository"];
    assert_eq!(repository["nameWithOwner"], "octocat/demo");
    assert_eq!(repository["owner"], json!({ "__typename": "User", "login": "octocat", "isSiteAdmin": true }));
    assert_eq!(repository["viewerPermission"], "ADMIN");
    let again = world
        .octocat
        .graphql(
            "query($id: ID!) { node(id: $id) { __typename id ... on Repository { name } } }",
            json!({ "id": repository["id"] }),
        )
        .await;
    assert_eq!(again["node"], json!({ "__typename": "Repository", "id": repository["id"], "name": "demo" }));
    world.finish().await;
}

#[tokio::test]
async fn what_cannot_be_seen_is_null_with_a_typed_error() {
    let world = World::new().await;
    let query = "{ viewer { login } missing: repository(owner: \"octocat\", name: \"no\") { id } }";
    let answer = world.octocat.graphql_raw(query, json!({})).await.expect(200);
    assert_eq!(answer.json["data"], json!({ "viewer": { "login": "octocat" }, "missing": null }));
    let error = &answer.json["errors"][0];
    assert_eq!(error["type"], "NOT_FOUND");
    assert_eq!(error["path"], json!(["missing"]));
    assert_eq!(error["message"], "Could not resolve to a Repository with the name 'octocat/no'.");
    assert_eq!(error["locations"][0], json!({ "line": 1, "column": 20 }));
    world.finish().await;
}

#[tokio::test]
async fn an_unknown_field_is_refused_in_github_s_words() {
    let world = World::new().await;
    let answer = world.octocat.graphql_raw("{ viewer { nope } }", json!({})).await.expect(200);
    assert!(answer.json.get("data").is_none(), "{}", answer.text);
    let error = &answer.json["errors"][0];
    assert_eq!(error["message"], "Field 'nope' doesn't exist on type 'User'");
    assert_eq!(error["extensions"]["code"], "undefinedField");
    world.finish().await;
}

#[tokio::test]
async fn bad_requests_are_refused_before_anything_runs() {
    let world = World::new().await;
    let anonymous = world.anonymous().graphql_raw("{ viewer { login } }", json!({})).await.expect(401);
    assert_eq!(anonymous.json["message"], "This endpoint requires you to be authenticated.");
    let wrong = world.with_token("x", "ghp_wrong").graphql_raw("{ viewer { login } }", json!({})).await.expect(401);
    assert_eq!(wrong.json["message"], "Bad credentials");
    world.octocat.post("/../graphql", json!({ "variables": {} })).await.expect(400);
    world.octocat.post("/../graphql", json!({ "query": "{ viewer { login } }", "variables": 7 })).await.expect(400);
    let deep = "{ viewer ".repeat(100_000);
    let answer = world.octocat.graphql_raw(&deep, json!({})).await.expect(200);
    assert_eq!(answer.json["errors"][0]["message"], "Query is nested too deeply.");
    let broken = world.octocat.graphql_raw("{ viewer {", json!({})).await.expect(200);
    assert!(broken.json["errors"][0]["message"].is_string() && broken.json.get("data").is_none(), "{}", broken.text);
    world.finish().await;
}

#[tokio::test]
async fn a_get_answers_with_the_schema() {
    let world = World::new().await;
    let answer = world.octocat.get("/../graphql").await.expect(200);
    let types = answer.json["data"]["__schema"]["types"].as_array().expect("types");
    assert!(types.iter().any(|one| one["name"] == "PullRequest"), "{}", answer.text);
    world.finish().await;
}
