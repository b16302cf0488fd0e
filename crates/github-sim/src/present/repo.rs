//! Repositories.

use serde_json::{Value, json};

use super::user::{merge, simple_user};
use crate::http::{Caller, iso, role_of};
use crate::world::{AccountKind, IssueState, NodeKind, Repo, RepoRole, World, node_id};

/// `minimal-repository`.
pub fn minimal_repo(world: &World, repo: &Repo) -> Value {
    let full_name = world.full_name(repo);
    let api = |path: &str| world.urls.api(format!("/repos/{full_name}{path}"));
    let html = world.urls.web(format!("/{full_name}"));
    let mut value = json!({
        "id": repo.id,
        "node_id": node_id(NodeKind::Repository, 0, repo.id),
        "name": repo.name,
        "full_name": full_name,
        "private": repo.private,
        "owner": simple_user(world, repo.owner),
        "html_url": html,
        "description": repo.description,
        "fork": repo.parent.is_some(),
        "url": api(""),
    });
    let links = [
        ("archive_url", "/{archive_format}{/ref}"),
        ("assignees_url", "/assignees{/user}"),
        ("blobs_url", "/git/blobs{/sha}"),
        ("branches_url", "/branches{/branch}"),
        ("collaborators_url", "/collaborators{/collaborator}"),
        ("comments_url", "/comments{/number}"),
        ("commits_url", "/commits{/sha}"),
        ("compare_url", "/compare/{base}...{head}"),
        ("contents_url", "/contents/{+path}"),
        ("contributors_url", "/contributors"),
        ("deployments_url", "/deployments"),
        ("downloads_url", "/downloads"),
        ("events_url", "/events"),
        ("forks_url", "/forks"),
        ("git_commits_url", "/git/commits{/sha}"),
        ("git_refs_url", "/git/refs{/sha}"),
        ("git_tags_url", "/git/tags{/sha}"),
        ("hooks_url", "/hooks"),
        ("issue_comment_url", "/issues/comments{/number}"),
        ("issue_events_url", "/issues/events{/number}"),
        ("issues_url", "/issues{/number}"),
        ("keys_url", "/keys{/key_id}"),
        ("labels_url", "/labels{/name}"),
        ("languages_url", "/languages"),
        ("merges_url", "/merges"),
        ("milestones_url", "/milestones{/number}"),
        ("notifications_url", "/notifications{?since,all,participating}"),
        ("pulls_url", "/pulls{/number}"),
        ("releases_url", "/releases{/id}"),
        ("stargazers_url", "/stargazers"),
        ("statuses_url", "/statuses/{sha}"),
        ("subscribers_url", "/subscribers"),
        ("subscription_url", "/subscription"),
        ("tags_url", "/tags"),
        ("teams_url", "/teams"),
        ("trees_url", "/git/trees{/sha}"),
    ];
    for (name, path) in links {
        value[name] = api(path).into();
    }
    value
}

/// `repository`, as it stands in pull requests and lists.
pub fn repo(world: &World, repo: &Repo) -> Value {
    let full_name = world.full_name(repo);
    let html = world.urls.web(format!("/{full_name}"));
    let host = world.urls.web.split("://").nth(1).unwrap_or_default();
    let open_issues = world.issues.within(repo.id).filter(|issue| issue.state == IssueState::Open).count();
    let forks = world.repos.all().filter(|other| other.parent == Some(repo.id)).count();
    let mut value = minimal_repo(world, repo);
    let more = json!({
        "git_url": format!("git://{host}/{full_name}.git"),
        "ssh_url": format!("git@{host}:{full_name}.git"),
        "clone_url": format!("{html}.git"),
        "svn_url": html,
        "mirror_url": null,
        "homepage": repo.homepage,
        "language": null,
        "forks_count": forks,
        "forks": forks,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "size": 0,
        "default_branch": repo.default_branch,
        "open_issues_count": open_issues,
        "open_issues": open_issues,
        "is_template": false,
        "topics": repo.topics,
        "has_issues": repo.has_issues,
        "has_projects": false,
        "has_wiki": false,
        "has_pages": false,
        "has_downloads": true,
        "has_discussions": false,
        "archived": repo.archived,
        "disabled": false,
        "visibility": if repo.private { "private" } else { "public" },
        "pushed_at": iso(repo.pushed_at),
        "created_at": iso(repo.created_at),
        "updated_at": iso(repo.updated_at),
        "allow_forking": true,
        "web_commit_signoff_required": repo.web_commit_signoff_required,
        "license": null,
    });
    merge(&mut value, more);
    value
}

/// `full-repository`, what `GET /repos/{owner}/{repo}` answers to this caller.
pub fn full_repo(world: &World, caller: &Caller, repo_doc: &Repo) -> Value {
    let mut value = repo(world, repo_doc);
    merge(&mut value, merge_settings(repo_doc));
    merge(&mut value, json!({ "network_count": 0, "subscribers_count": 0 }));
    add_permissions(world, caller, repo_doc, &mut value);
    let owner = world.account(repo_doc.owner);
    if owner.kind == AccountKind::Organization {
        value["organization"] = simple_user(world, owner.id);
    }
    if let Some(parent) = repo_doc.parent.and_then(|id| world.repo(id)) {
        value["parent"] = repo(world, parent);
        value["source"] = repo(world, parent);
    }
    value
}

/// `repository` with what the caller may do, as lists of repositories show it.
pub fn listed_repo(world: &World, caller: &Caller, repo_doc: &Repo) -> Value {
    let mut value = repo(world, repo_doc);
    add_permissions(world, caller, repo_doc, &mut value);
    value
}

fn add_permissions(world: &World, caller: &Caller, repo: &Repo, value: &mut Value) {
    let role = match caller {
        Caller::User { user } => role_of(world, repo, *user),
        _ => None,
    };
    if let Some(role) = role {
        value["permissions"] = permissions(role);
    }
}

/// How it merges.
pub fn merge_settings(repo: &Repo) -> Value {
    json!({
        "allow_merge_commit": repo.allow_merge_commit,
        "allow_squash_merge": repo.allow_squash_merge,
        "allow_rebase_merge": repo.allow_rebase_merge,
        "allow_auto_merge": repo.allow_auto_merge,
        "allow_update_branch": repo.allow_update_branch,
        "delete_branch_on_merge": repo.delete_branch_on_merge,
        "use_squash_pr_title_as_default": repo.squash_merge_commit_title == crate::world::SquashTitle::PrTitle,
        "squash_merge_commit_title": repo.squash_merge_commit_title,
        "squash_merge_commit_message": repo.squash_merge_commit_message,
        "merge_commit_title": repo.merge_commit_title,
        "merge_commit_message": repo.merge_commit_message,
    })
}

pub fn permissions(role: RepoRole) -> Value {
    json!({
        "admin": role >= RepoRole::Admin,
        "maintain": role >= RepoRole::Maintain,
        "push": role >= RepoRole::Write,
        "triage": role >= RepoRole::Triage,
        "pull": true,
    })
}
