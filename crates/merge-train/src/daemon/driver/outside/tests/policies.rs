//! The rules of a repository, from everywhere GitHub keeps them.

use std::collections::BTreeSet;

use merge_train_core::repo::trains::{MergePolicy, StaleApprovals};
use merge_train_core::repo::{Answer, Effect, EffectFailure, EffectFailureKind, trains};
use reqwest::Method;
use serde_json::{Value, json};

use super::World;
use super::world::branch;

async fn policy(world: &World) -> Result<MergePolicy, EffectFailure> {
    match world.perform(Effect::Trains(trains::Effect::ReadPolicy { default: branch("main") })).await? {
        Answer::Policy(policy) => Ok(policy),
        other => panic!("{other:?}"),
    }
}

fn names(names: &[&str]) -> Option<BTreeSet<String>> {
    Some(names.iter().map(ToString::to_string).collect())
}

async fn protect(world: &World, dismiss: bool, contexts: &[&str]) {
    world
        .in_repo(Method::PUT, "/branches/main/protection", json!({
            "required_status_checks": { "strict": false, "contexts": contexts }, "enforce_admins": false,
            "required_pull_request_reviews": { "dismiss_stale_reviews": dismiss, "required_approving_review_count": 1 },
            "restrictions": null,
        }))
        .await;
}

async fn ruleset(world: &World, enforcement: &str) {
    let pull_request = json!({ "dismiss_stale_reviews_on_push": true, "require_code_owner_review": false,
        "require_last_push_approval": false, "required_approving_review_count": 1,
        "required_review_thread_resolution": false });
    let checks =
        json!({ "strict_required_status_checks_policy": false, "required_status_checks": [{ "context": "lint" }] });
    world
        .in_repo(
            Method::POST,
            "/rulesets",
            json!({
                "name": enforcement, "target": "branch", "enforcement": enforcement,
                "conditions": { "ref_name": { "include": ["~DEFAULT_BRANCH"], "exclude": [] } },
                "rules": [{ "type": "pull_request", "parameters": pull_request },
                    { "type": "required_status_checks", "parameters": checks }],
            }),
        )
        .await;
}

async fn without_administration(world: &World) {
    let app = world.control(Method::GET, "/app", Value::Null).await;
    let mut permissions = app["permissions"].clone();
    permissions.as_object_mut().unwrap().remove("administration");
    world.control(Method::PATCH, "/app", json!({ "permissions": permissions })).await;
}

#[tokio::test]
async fn a_branch_without_rules_keeps_approvals_and_asks_for_no_checks() {
    let world = World::new().await;
    let policy = policy(&world).await.unwrap();
    assert_eq!((policy.stale_approvals, policy.required_checks), (StaleApprovals::Kept, names(&[])));
    assert!(policy.methods.allow_squash_merge && !policy.methods.allow_merge_commit);
    world.finish().await;
}

#[tokio::test]
async fn protection_and_rulesets_add_up() {
    let world = World::new().await;
    protect(&world, false, &["test"]).await;
    ruleset(&world, "disabled").await;
    let found = policy(&world).await.unwrap();
    assert_eq!((found.stale_approvals, found.required_checks), (StaleApprovals::Kept, names(&["test"])));
    ruleset(&world, "active").await;
    let found = policy(&world).await.unwrap();
    assert_eq!((found.stale_approvals, found.required_checks), (StaleApprovals::Dismissed, names(&["lint", "test"])));
    world.finish().await;
}

#[tokio::test]
async fn dismissal_is_found_in_the_protection_too() {
    let world = World::new().await;
    protect(&world, true, &[]).await;
    assert_eq!(policy(&world).await.unwrap().stale_approvals, StaleApprovals::Dismissed);
    world.finish().await;
}

#[tokio::test]
async fn what_the_app_may_not_see_is_not_taken_for_absent() {
    let world = World::new().await;
    without_administration(&world).await;
    let found = policy(&world).await.unwrap();
    assert_eq!((found.stale_approvals, found.required_checks), (StaleApprovals::Unverified, None));
    ruleset(&world, "active").await;
    let found = policy(&world).await.unwrap();
    assert_eq!((found.stale_approvals, found.required_checks), (StaleApprovals::Dismissed, names(&["lint"])));
    world.finish().await;
}

#[tokio::test]
async fn an_older_server_is_asked_for_its_rulesets_one_by_one() {
    let world = World::new().await;
    ruleset(&world, "active").await;
    ruleset(&world, "disabled").await;
    world
        .fault(json!({ "match": { "path": "*/rules/branches/*" }, "kind": "status", "status": 404, "count": null }))
        .await;
    let found = policy(&world).await.unwrap();
    assert_eq!((found.stale_approvals, found.required_checks), (StaleApprovals::Dismissed, names(&["lint"])));
    world.fault(json!({ "match": { "path": "*/rulesets*" }, "kind": "status", "status": 404, "count": null })).await;
    let found = policy(&world).await.unwrap();
    assert_eq!((found.stale_approvals, found.required_checks), (StaleApprovals::Kept, names(&[])));
    world.finish().await;
}

#[tokio::test]
async fn a_server_that_fails_says_nothing_about_the_rules() {
    let world = World::new().await;
    world.fault(json!({ "match": { "path": "*/protection" }, "kind": "status", "status": 502, "count": null })).await;
    assert_eq!(policy(&world).await.unwrap_err().kind, EffectFailureKind::Transient);
    world.finish().await;
}
