//! Rulesets.

use serde_json::{Value, json};

use crate::support::World;

fn ruleset(name: &str, include: &str) -> Value {
    json!({
        "name": name,
        "target": "branch",
        "enforcement": "active",
        "conditions": { "ref_name": { "include": [include], "exclude": [] } },
        "rules": [
            { "type": "deletion" },
            { "type": "required_status_checks", "parameters": {
                "strict_required_status_checks_policy": true,
                "required_status_checks": [{ "context": "ci" }],
            } },
        ],
    })
}

#[tokio::test]
async fn rulesets_are_made_listed_read_changed_and_deleted() {
    let world = World::new().await;
    world.repo("ruled").await;
    let path = "/repos/octocat/ruled/rulesets";
    let mut body = ruleset("main rules", "~DEFAULT_BRANCH");
    body["bypass_actors"] = json!([{ "actor_id": 5, "actor_type": "RepositoryRole" }]);
    let made = world.octocat.post(path, body).await.expect(201).json;
    assert_eq!((&made["enforcement"], &made["source"]), (&json!("active"), &json!("octocat/ruled")));
    assert_eq!(made["bypass_actors"][0]["bypass_mode"], "always");
    let one = format!("{path}/{}", made["id"]);
    assert_eq!(world.octocat.get(&one).await.expect(200).json, made);
    let listed = world.octocat.get(&format!("{path}?includes_parents=true")).await.expect(200).json;
    assert_eq!(listed[0]["name"], "main rules");
    assert!(listed[0].get("rules").is_none() && listed[0].get("conditions").is_none());
    let stranger = world.user("stranger").await;
    let seen = stranger.get(&one).await.expect(200).json;
    assert!(seen.get("rules").is_some() && seen.get("bypass_actors").is_none());
    stranger.post(path, ruleset("mine", "~ALL")).await.expect(403);
    stranger.delete(&one).await.expect(403);
    let changed = world.octocat.put(&one, json!({ "enforcement": "evaluate" })).await.expect(200).json;
    assert_eq!((&changed["enforcement"], &changed["rules"]), (&json!("evaluate"), &made["rules"]));
    world.octocat.delete(&one).await.expect(204);
    world.octocat.get(&one).await.expect(404);
    world.octocat.put(&one, json!({})).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_no_ruleset() {
    let world = World::new().await;
    world.repo("odd").await;
    let path = "/repos/octocat/odd/rulesets";
    world.octocat.post(path, ruleset("taken", "~ALL")).await.expect(201);
    for (field, bad) in [
        ("name", json!(null)),
        ("name", json!("taken")),
        ("enforcement", json!("sometimes")),
        ("enforcement", json!(null)),
        ("target", json!("commit")),
        ("conditions", json!({ "ref_name": { "include": ["main"], "exclude": [] } })),
        ("rules", json!([{ "type": "unheard_of" }])),
        ("rules", json!([{ "type": "pull_request", "parameters": {} }])),
        ("rules", json!([{ "type": "update" }, { "type": "update" }])),
        ("bypass_actors", json!([{ "actor_id": 1, "actor_type": "Friend" }])),
    ] {
        let mut body = ruleset("fine", "~ALL");
        body[field] = bad.clone();
        let answer = world.octocat.post(path, body).await;
        assert_eq!(answer.status, 422, "{field} {bad}: {}", answer.text);
    }
    assert_eq!(world.octocat.get(path).await.expect(200).json.as_array().unwrap().len(), 1);
    world.finish().await;
}

#[tokio::test]
async fn the_rules_of_a_branch_come_from_every_active_ruleset_that_names_it() {
    let world = World::new().await;
    world.repo("named").await;
    let path = "/repos/octocat/named/rulesets";
    let first = world.octocat.post(path, ruleset("first", "refs/heads/release/*")).await.expect(201).json;
    let mut second = ruleset("second", "~ALL");
    second["rules"] = json!([{ "type": "non_fast_forward" }]);
    second["conditions"]["ref_name"]["exclude"] = json!(["refs/heads/free/**"]);
    world.octocat.post(path, second).await.expect(201);
    for (name, enforcement) in [("off", "disabled"), ("trial", "evaluate")] {
        let mut other = ruleset(name, "~ALL");
        other["enforcement"] = json!(enforcement);
        world.octocat.post(path, other).await.expect(201);
    }
    let mut tags = ruleset("tags", "~ALL");
    tags["target"] = json!("tag");
    world.octocat.post(path, tags).await.expect(201);
    let rules = async |branch: &str| world.octocat.get(&format!("/repos/octocat/named/rules/branches/{branch}")).await;
    let kinds = async |branch: &str| {
        let list = rules(branch).await.expect(200).json;
        list.as_array().unwrap().iter().map(|rule| rule["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds("main").await, ["non_fast_forward"]);
    assert_eq!(kinds("release/1").await, ["deletion", "required_status_checks", "non_fast_forward"]);
    assert_eq!(kinds("free/as/air").await, Vec::<String>::new());
    let shown = rules("release/1").await.json;
    assert_eq!((&shown[0]["ruleset_id"], &shown[0]["ruleset_source_type"]), (&first["id"], &json!("Repository")));
    assert_eq!(shown[0]["ruleset_source"], "octocat/named");
    let page = rules("release/1?per_page=1").await.expect(200);
    assert!(page.header("link").contains("rel=\"last\""));
    world.finish().await;
}
