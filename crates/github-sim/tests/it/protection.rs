//! Branches and their protection.

use serde_json::{Value, json};

use crate::support::World;

fn unprotected() -> Value {
    json!({ "required_status_checks": null, "enforce_admins": null, "required_pull_request_reviews": null, "restrictions": null })
}

#[tokio::test]
async fn branches_are_listed_read_and_told_apart_by_protection() {
    let world = World::new().await;
    let clone = world.repo("many").await;
    let head = clone.git(&["rev-parse", "HEAD"]).await;
    for branch in ["feature/x", "other"] {
        clone.git(&["push", "-q", "origin", &format!("main:refs/heads/{branch}")]).await;
    }
    let at = |path: &str| format!("/repos/octocat/many/branches{path}");
    world.octocat.put(&at("/feature%2Fx/protection"), unprotected()).await.expect(200);
    let names = async |query: &str| {
        let list = world.octocat.get(&at(query)).await.expect(200).json;
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["feature/x", "main", "other"]);
    assert_eq!(names("?protected=true").await, ["feature/x"]);
    assert_eq!(names("?protected=false").await, ["main", "other"]);
    assert_eq!(names("?per_page=1&page=2").await, ["main"]);
    for name in ["feature/x", "feature%2Fx"] {
        let branch = world.octocat.get(&at(&format!("/{name}"))).await.expect(200).json;
        assert_eq!((&branch["name"], &branch["protected"]), (&json!("feature/x"), &json!(true)));
        assert_eq!(branch["commit"]["sha"], head.as_str());
    }
    let answer = world.octocat.get(&at("/nowhere")).await.expect(404);
    assert_eq!(answer.json["message"], "Branch not found");
    world.finish().await;
}

#[tokio::test]
async fn protection_is_set_read_and_taken_away() {
    let world = World::new().await;
    world.repo("guarded").await;
    let path = "/repos/octocat/guarded/branches/main/protection";
    assert_eq!(world.octocat.get(path).await.expect(404).json["message"], "Branch not protected");
    assert_eq!(world.octocat.delete(path).await.expect(404).json["message"], "Branch not protected");
    let rules = json!({
        "required_status_checks": { "strict": true, "checks": [{ "context": "ci", "app_id": -1 }, { "context": "lint", "app_id": 15368 }] },
        "enforce_admins": true,
        "required_pull_request_reviews": { "dismiss_stale_reviews": true, "required_approving_review_count": 2 },
        "restrictions": { "users": ["octocat"], "teams": [], "apps": ["merge-train"] },
        "required_linear_history": true,
        "allow_force_pushes": true,
    });
    let set = world.octocat.put(path, rules).await.expect(200).json;
    assert_eq!(set, world.octocat.get(path).await.expect(200).json);
    assert_eq!(set["required_status_checks"]["checks"][0], json!({ "context": "ci", "app_id": null }));
    assert_eq!(set["required_status_checks"]["contexts"], json!(["ci", "lint"]));
    assert_eq!(set["required_pull_request_reviews"]["required_approving_review_count"], 2);
    assert_eq!(
        (&set["restrictions"]["users"][0]["login"], &set["restrictions"]["apps"][0]["slug"]),
        (&json!("octocat"), &json!("merge-train"))
    );
    assert_eq!((&set["enforce_admins"]["enabled"], &set["allow_deletions"]["enabled"]), (&json!(true), &json!(false)));
    for needed in ["required_status_checks", "enforce_admins", "required_pull_request_reviews", "restrictions"] {
        let mut body = unprotected();
        body.as_object_mut().unwrap().remove(needed);
        let answer = world.octocat.put(path, body).await.expect(422);
        assert!(
            answer.json["message"].as_str().unwrap().contains(&format!("\"{needed}\" wasn't supplied.")),
            "{}",
            answer.text
        );
    }
    for (part, bad) in [
        ("required_status_checks", json!({ "strict": "yes" })),
        ("required_pull_request_reviews", json!({ "required_approving_review_count": 7 })),
        ("restrictions", json!({ "users": ["nobody"], "teams": [] })),
        ("enforce_admins", json!("yes")),
    ] {
        let mut body = unprotected();
        body[part] = bad;
        world.octocat.put(path, body).await.expect(422);
    }
    assert_eq!(set, world.octocat.get(path).await.expect(200).json, "what was refused changed something");
    world.octocat.delete(path).await.expect(204);
    world.octocat.get(path).await.expect(404);
    let answer =
        world.octocat.put("/repos/octocat/guarded/branches/nowhere/protection", unprotected()).await.expect(404);
    assert_eq!(answer.json["message"], "Branch not found");
    world.finish().await;
}

#[tokio::test]
async fn each_part_of_a_protection_has_its_own_address() {
    let world = World::new().await;
    world.repo("parts").await;
    let at = |part: &str| format!("/repos/octocat/parts/branches/main/protection{part}");
    world.octocat.patch(&at("/required_status_checks"), json!({ "strict": true })).await.expect(404);
    world.octocat.put(&at(""), unprotected()).await.expect(200);

    let answer = world.octocat.get(&at("/required_status_checks")).await.expect(404);
    assert_eq!(answer.json["message"], "Required status checks not enabled");
    let checks = json!({ "strict": true, "contexts": ["ci"] });
    let checks = world.octocat.patch(&at("/required_status_checks"), checks).await.expect(200).json;
    assert_eq!((&checks["strict"], &checks["contexts"]), (&json!(true), &json!(["ci"])));
    let contexts = at("/required_status_checks/contexts");
    let added = world.octocat.post(&contexts, json!({ "contexts": ["lint", "ci"] })).await.expect(200).json;
    assert_eq!(added, json!(["ci", "lint"]));
    let removed = world.octocat.send("DELETE", &contexts, Some(json!(["ci"]))).await.expect(200).json;
    assert_eq!(removed, json!(["lint"]));
    assert_eq!(world.octocat.put(&contexts, json!(["a", "b"])).await.expect(200).json, json!(["a", "b"]));
    assert_eq!(world.octocat.get(&contexts).await.expect(200).json, json!(["a", "b"]));
    world.octocat.post(&contexts, json!({ "contexts": 1 })).await.expect(422);
    world.octocat.delete(&at("/required_status_checks")).await.expect(204);
    world.octocat.get(&contexts).await.expect(404);

    let reviews = at("/required_pull_request_reviews");
    world.octocat.get(&reviews).await.expect(404);
    let set = world.octocat.patch(&reviews, json!({ "dismiss_stale_reviews": true })).await.expect(200).json;
    assert_eq!((&set["dismiss_stale_reviews"], &set["required_approving_review_count"]), (&json!(true), &json!(1)));
    world.octocat.delete(&reviews).await.expect(204);
    world.octocat.delete(&reviews).await.expect(404);

    let admins = at("/enforce_admins");
    assert_eq!(world.octocat.get(&admins).await.expect(200).json["enabled"], false);
    assert_eq!(world.octocat.post(&admins, json!({})).await.expect(200).json["enabled"], true);
    world.octocat.delete(&admins).await.expect(204);
    assert_eq!(world.octocat.get(&admins).await.expect(200).json["enabled"], false);
    world.octocat.get(&at("/restrictions")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_renamed_branch_keeps_its_protection_and_its_pull_requests() {
    let world = World::new().await;
    let clone = world.repo("renamed").await;
    let number = world.pull(&clone, "topic", "main").await;
    world.octocat.put("/repos/octocat/renamed/branches/main/protection", unprotected()).await.expect(200);
    let rename = "/repos/octocat/renamed/branches/main/rename";
    world.octocat.post(rename, json!({ "new_name": "a b" })).await.expect(422);
    world.octocat.post(rename, json!({ "new_name": "topic" })).await.expect(422);
    let renamed = world.octocat.post(rename, json!({ "new_name": "trunk" })).await.expect(201).json;
    assert_eq!((&renamed["name"], &renamed["protected"]), (&json!("trunk"), &json!(true)));
    let repo = world.octocat.get("/repos/octocat/renamed").await.expect(200).json;
    assert_eq!(repo["default_branch"], "trunk");
    let pull = world.octocat.get(&format!("/repos/octocat/renamed/pulls/{number}")).await.expect(200).json;
    assert_eq!((&pull["base"]["ref"], &pull["state"]), (&json!("trunk"), &json!("open")));
    world.octocat.get("/repos/octocat/renamed/branches/main").await.expect(404);
    assert_eq!(world.clone_of("octocat", "renamed").await.git(&["branch", "--show-current"]).await, "trunk");
    world.finish().await;
}
