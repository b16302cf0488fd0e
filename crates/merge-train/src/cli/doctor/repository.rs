//! A repository: whether its settings and the rules of its default branch let a train land.

use github::{BranchProtection, BranchRule, Class, Error, Repo};
use merge_train_core::ids::{BranchName, RepoId};
use merge_train_core::repo::trains::check_merge_method_preflight;

use super::Finding;
use super::github::{GithubConnection, PATIENCE};

const CHECK: &str = "repository";

pub async fn lets_land(contact: &GithubConnection, name: &RepoId) -> Finding {
    let repo = contact.client.repo(name);
    match tokio::time::timeout(PATIENCE, look(&repo, name)).await {
        Ok(finding) => finding,
        Err(_) => {
            let found = format!("GitHub did not answer about {name} within {} s", PATIENCE.as_secs());
            Finding::failed(CHECK, found, "run it again when GitHub answers")
        }
    }
}

async fn look(repo: &Repo, name: &RepoId) -> Finding {
    let settings = match repo.settings().await {
        Ok(settings) => settings,
        Err(error) => {
            let fix = "check the name, and that the app is installed there or the token may see it";
            return Finding::failed(CHECK, format!("{name}: {error}"), fix);
        }
    };
    let at = |what: &str| format!("{name}: {what}");
    if settings.archived {
        return Finding::failed(CHECK, at("it is archived, so nothing can land"), "unarchive it");
    }
    let Some(methods) = settings.merge_methods() else {
        let fix = "grant contents: write, or use a token that may push";
        return Finding::failed(CHECK, at("GitHub does not show which merge methods it allows"), fix);
    };
    if let Err(refusal) = check_merge_method_preflight(&methods) {
        let fix = format!(
            "in the repository settings under Pull Requests, allow only squash merging, or run: gh api -X PATCH \
             repos/{name} -F allow_squash_merge=true -F allow_merge_commit=false -F allow_rebase_merge=false"
        );
        return Finding::failed(CHECK, at(refusal.reason()), fix);
    }
    rules(repo, &settings.default_branch, name).await
}

async fn rules(repo: &Repo, default: &BranchName, name: &RepoId) -> Finding {
    let (protection, rules) = tokio::join!(repo.branch_protection(default), repo.branch_rules(default));
    let is_hidden = |error: &Error| matches!(error.class(), Class::Forbidden | Class::NotFound);
    let (protection, rules) = match (protection, rules) {
        (Ok(protection), Ok(rules)) => (protection, rules),
        (Err(error), _) | (_, Err(error)) if is_hidden(&error) => {
            let found = format!("{name}: GitHub does not show the rules of {default}; a rule may block a train");
            return Finding::warning(CHECK, found, "grant the app administration: read");
        }
        (Err(error), _) | (_, Err(error)) => {
            return Finding::failed(CHECK, format!("{name}: {error}"), "run it again when GitHub answers");
        }
    };
    let at = |what: &str| format!("{name}, {default}: {what}");
    match obstacles(protection.as_ref(), &rules).as_slice() {
        [] => Finding::ok(CHECK, at("only squash merging, and no rule that blocks a train")),
        obstacles => {
            let found: Vec<String> = obstacles.iter().map(|obstacle| at(obstacle.found)).collect();
            let fixes: Vec<&str> = obstacles.iter().map(|obstacle| obstacle.fix).collect();
            let judged =
                if obstacles.iter().any(|obstacle| obstacle.is_final) { Finding::failed } else { Finding::warning };
            judged(CHECK, found.join("\n"), fixes.join("; "))
        }
    }
}

/// A rule that a train cannot satisfy, or not without people.
struct BranchRuleProblem {
    found: &'static str,
    fix: &'static str,
    is_final: bool,
}

fn obstacles(protection: Option<&BranchProtection>, rules: &[BranchRule]) -> Vec<BranchRuleProblem> {
    let reviews = protection.and_then(|protection| protection.required_pull_request_reviews.as_ref());
    let has = |kind: &str| rules.iter().any(|rule| rule.kind == kind);
    let asks = |parameter: &str| rules.iter().any(|rule| rule.parameters[parameter] == true);
    let dismisses = reviews.is_some_and(|reviews| reviews.dismiss_stale_reviews)
        || rules.iter().any(BranchRule::dismisses_stale_reviews);
    let wants_last_approved =
        reviews.is_some_and(|reviews| reviews.require_last_push_approval) || asks("require_last_push_approval");
    let is_locked = protection.is_some_and(|protection| protection.lock_branch.enabled);
    let all = [
        (
            dismisses,
            "a push dismisses approvals, and every train pushes",
            "switch off \"Dismiss stale pull request approvals\"",
            true,
        ),
        (
            has("merge_queue"),
            "pull requests land through GitHub's merge queue only",
            "switch off \"Require merge queue\" for it",
            true,
        ),
        (is_locked, "it is locked, so nothing can land", "switch off \"Lock branch\"", true),
        (
            has("update"),
            "only those who may bypass the rule can update it",
            "add the app to the ruleset's bypass list",
            false,
        ),
        (
            wants_last_approved,
            "each pull request needs a new approval after merge-train's push",
            "switch off \"Require approval of the most recent reviewable push\"",
            false,
        ),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there.map(|(_, found, fix, is_final)| BranchRuleProblem { found, fix, is_final }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(protection: Value, rules: Value) -> Vec<(&'static str, bool)> {
        let protection: Option<BranchProtection> = serde_json::from_value(protection).expect("protection");
        let rules: Vec<BranchRule> = serde_json::from_value(rules).expect("rules");
        obstacles(protection.as_ref(), &rules).iter().map(|obstacle| (obstacle.found, obstacle.is_final)).collect()
    }

    #[test]
    fn a_rule_that_no_train_can_satisfy_is_a_failure_and_one_for_people_a_warning() {
        for (protection, rules, word, is_final) in [
            (json!({ "lock_branch": { "enabled": true } }), json!([]), "locked", true),
            (Value::Null, json!([{ "type": "merge_queue" }]), "merge queue", true),
            (Value::Null, json!([{ "type": "update" }]), "bypass", false),
            (
                Value::Null,
                json!([{ "type": "pull_request", "parameters": { "dismiss_stale_reviews_on_push": true } }]),
                "dismisses approvals",
                true,
            ),
            (
                Value::Null,
                json!([{ "type": "pull_request", "parameters": { "require_last_push_approval": true } }]),
                "new approval",
                false,
            ),
        ] {
            let found = found(protection, rules);
            assert!(matches!(found.as_slice(), [(said, it)] if said.contains(word) && *it == is_final), "{found:?}");
        }
        let harmless = json!([{ "type": "required_linear_history" }, { "type": "required_status_checks" }]);
        assert_eq!(found(json!({ "required_status_checks": { "contexts": ["build"] } }), harmless), []);
    }
}
