//! Branches and refs.

use serde_json::{Value, json};

use super::{commit, protection};
use crate::git::CommitObject;
use crate::http::encode;
use crate::policy;
use crate::world::{NodeKind, Repo, World, named_node_id};

/// `short-branch`, as lists show it.
pub fn short_branch(world: &World, repo: &Repo, branch: &str, sha: &str) -> Value {
    let full_name = world.full_name(repo);
    json!({
        "name": branch,
        "commit": { "sha": sha, "url": world.urls.api(format!("/repos/{full_name}/commits/{sha}")) },
        "protected": policy::for_branch(world, repo, branch).protected,
        "protection": summary(world, repo, branch),
        "protection_url": protection::url(world, repo, branch),
    })
}

/// `branch-with-protection`.
pub fn branch(world: &World, repo: &Repo, branch: &str, tip: &CommitObject) -> Value {
    let full_name = world.full_name(repo);
    json!({
        "name": branch,
        "commit": commit(world, repo, tip),
        "_links": {
            "self": world.urls.api(format!("/repos/{full_name}/branches/{}", encode(branch))),
            "html": world.urls.web(format!("/{full_name}/tree/{branch}")),
        },
        "protected": policy::for_branch(world, repo, branch).protected,
        "protection": summary(world, repo, branch),
        "protection_url": protection::url(world, repo, branch),
    })
}

/// What everyone who sees the branch may know of its protection.
fn summary(world: &World, repo: &Repo, branch: &str) -> Value {
    let policy = policy::for_branch(world, repo, branch);
    let contexts: Vec<&str> = policy.required_checks.iter().map(|check| check.context.as_str()).collect();
    let checks: Vec<Value> = policy
        .required_checks
        .iter()
        .map(|check| json!({ "context": check.context, "app_id": check.app_id }))
        .collect();
    let level = match (contexts.is_empty(), policy.binds_admins) {
        (true, _) => "off",
        (false, true) => "everyone",
        (false, false) => "non_admins",
    };
    json!({
        "enabled": policy.protected,
        "required_status_checks": { "enforcement_level": level, "contexts": contexts, "checks": checks },
    })
}

/// `git-ref`.
pub fn git_ref(world: &World, repo: &Repo, name: &str, sha: &str, kind: &str) -> Value {
    let api = |path: String| world.urls.api(format!("/repos/{}/git{path}", world.full_name(repo)));
    json!({
        "ref": name,
        "node_id": named_node_id(NodeKind::Ref, repo.id, name),
        "url": api(format!("/{name}")),
        "object": { "sha": sha, "type": kind, "url": api(format!("/{kind}s/{sha}")) },
    })
}
