//! Branch protection and rulesets.

use serde_json::{Value, json};

use super::{app, simple_user};
use crate::http::{encode, iso};
use crate::world::{
    NodeKind, Protection, Repo, RequiredReviews, RequiredStatusChecks, Restrictions, Ruleset, World, node_id,
};

/// Where a branch's protection is.
pub fn url(world: &World, repo: &Repo, branch: &str) -> String {
    world.urls.api(format!("/repos/{}/branches/{}/protection", world.full_name(repo), encode(branch)))
}

/// `branch-protection`.
pub fn protection(world: &World, repo: &Repo, branch: &str, protection: &Protection) -> Value {
    let url = url(world, repo, branch);
    let enabled = |on: bool| json!({ "enabled": on });
    let mut value = json!({ "url": url });
    if let Some(checks) = &protection.required_status_checks {
        value["required_status_checks"] = required_status_checks(world, repo, branch, checks);
    }
    if let Some(restrictions) = &protection.restrictions {
        value["restrictions"] = self::restrictions(world, repo, branch, restrictions);
    }
    if let Some(reviews) = &protection.required_reviews {
        value["required_pull_request_reviews"] = required_reviews(world, repo, branch, reviews);
    }
    value["required_signatures"] = required_signatures(world, repo, branch, protection);
    value["enforce_admins"] = enforce_admins(world, repo, branch, protection);
    value["required_linear_history"] = enabled(protection.required_linear_history);
    value["allow_force_pushes"] = enabled(protection.allow_force_pushes);
    value["allow_deletions"] = enabled(protection.allow_deletions);
    value["block_creations"] = enabled(protection.block_creations);
    value["required_conversation_resolution"] = enabled(protection.required_conversation_resolution);
    value["lock_branch"] = enabled(protection.lock_branch);
    value["allow_fork_syncing"] = enabled(protection.allow_fork_syncing);
    value
}

/// `status-check-policy`.
pub fn required_status_checks(world: &World, repo: &Repo, branch: &str, checks: &RequiredStatusChecks) -> Value {
    let url = format!("{}/required_status_checks", url(world, repo, branch));
    let contexts: Vec<&str> = checks.checks.iter().map(|check| check.context.as_str()).collect();
    json!({
        "url": url,
        "strict": checks.strict,
        "contexts": contexts,
        "contexts_url": format!("{url}/contexts"),
        "checks": checks.checks.iter().map(|check| json!({ "context": check.context, "app_id": check.app_id })).collect::<Vec<_>>(),
    })
}

/// `protected-branch-pull-request-review`.
pub fn required_reviews(world: &World, repo: &Repo, branch: &str, reviews: &RequiredReviews) -> Value {
    json!({
        "url": format!("{}/required_pull_request_reviews", url(world, repo, branch)),
        "dismiss_stale_reviews": reviews.dismiss_stale_reviews,
        "require_code_owner_reviews": reviews.require_code_owner_reviews,
        "require_last_push_approval": reviews.require_last_push_approval,
        "required_approving_review_count": reviews.required_approving_review_count,
    })
}

/// `protected-branch-admin-enforced`.
pub fn enforce_admins(world: &World, repo: &Repo, branch: &str, protection: &Protection) -> Value {
    json!({ "url": format!("{}/enforce_admins", url(world, repo, branch)), "enabled": protection.enforce_admins })
}

pub fn required_signatures(world: &World, repo: &Repo, branch: &str, protection: &Protection) -> Value {
    json!({
        "url": format!("{}/required_signatures", url(world, repo, branch)),
        "enabled": protection.required_signatures,
    })
}

/// `branch-restriction-policy`.
pub fn restrictions(world: &World, repo: &Repo, branch: &str, restrictions: &Restrictions) -> Value {
    let url = format!("{}/restrictions", url(world, repo, branch));
    // Of an app's permissions GitHub shows these here.
    const SHOWN: [&str; 4] = ["metadata", "contents", "issues", "single_file"];
    let apps = restrictions.apps.iter().filter_map(|id| world.apps.get(0, *id)).map(|found| {
        let mut value = app(world, found);
        value["description"] = found.description.clone().unwrap_or_default().into();
        value["permissions"] = found
            .permissions
            .iter()
            .filter(|(name, _)| SHOWN.contains(&name.as_str()))
            .map(|(k, v)| (k.clone(), v.clone().into()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        value
    });
    json!({
        "url": url,
        "users_url": format!("{url}/users"),
        "teams_url": format!("{url}/teams"),
        "apps_url": format!("{url}/apps"),
        "users": restrictions.users.iter().map(|user| simple_user(world, *user)).collect::<Vec<_>>(),
        "teams": [],
        "apps": apps.collect::<Vec<_>>(),
    })
}

/// `repository-ruleset` as the list shows it: without rules, conditions and who may bypass it.
pub fn listed_ruleset(world: &World, repo: &Repo, ruleset: &Ruleset) -> Value {
    let full_name = world.full_name(repo);
    json!({
        "id": ruleset.id,
        "name": ruleset.name,
        "target": ruleset.target,
        "source_type": "Repository",
        "source": full_name,
        "enforcement": ruleset.enforcement,
        "node_id": node_id(NodeKind::Ruleset, repo.id, ruleset.id),
        "_links": {
            "self": { "href": world.urls.api(format!("/repos/{full_name}/rulesets/{}", ruleset.id)) },
            "html": { "href": world.urls.web(format!("/{full_name}/rules/{}", ruleset.id)) },
        },
        "created_at": iso(ruleset.created_at),
        "updated_at": iso(ruleset.updated_at),
    })
}

/// `repository-ruleset`, whole; only who may change it sees who may bypass it.
pub fn ruleset(world: &World, repo: &Repo, ruleset: &Ruleset, may_change: bool) -> Value {
    let mut value = listed_ruleset(world, repo, ruleset);
    value["conditions"] = match ruleset.target.as_str() {
        "push" => Value::Null,
        _ => json!({ "ref_name": { "include": ruleset.include, "exclude": ruleset.exclude } }),
    };
    value["rules"] = ruleset.rules.clone().into();
    if may_change {
        value["bypass_actors"] = ruleset.bypass_actors.clone().into();
    }
    value
}
