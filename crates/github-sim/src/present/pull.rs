//! Pull requests.

use serde_json::{Value, json};

use super::user::{merge, simple_user};
use super::{author_association, labels_of, repo as present_repo};
use crate::http::iso;
use crate::pulls::{self, MergeState};
use crate::reviews;
use crate::world::{Id, Issue, IssueState, Mergeability, NodeKind, Pull, ReviewComment, Stack, World, node_id};

/// `pull-request-simple`, as it stands in lists.
pub fn simple_pull(world: &World, pull: &Pull) -> Value {
    let issue = world.issues.get(pull.repo, pull.number).expect("every pull request has its conversation side");
    let repo = world.repo(pull.repo).expect("a pull request goes with its repository");
    let full_name = world.full_name(repo);
    let number = pull.number;
    let api = world.urls.api(format!("/repos/{full_name}/pulls/{number}"));
    let issue_api = world.urls.api(format!("/repos/{full_name}/issues/{number}"));
    let html = world.urls.web(format!("/{full_name}/pull/{number}"));
    let mut value = json!({
        "url": api,
        "id": pull.id,
        "node_id": node_id(NodeKind::PullRequest, pull.repo, number),
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "issue_url": issue_api,
        "number": number,
        "state": state(issue),
        "locked": issue.locked,
        "title": issue.title,
        "user": simple_user(world, issue.author),
        "body": issue.body,
        "created_at": iso(issue.created_at),
        "updated_at": iso(issue.updated_at),
        "closed_at": issue.closed_at.map(iso),
        "merged_at": pull.merged.as_ref().map(|merged| iso(merged.at)),
        "merge_commit_sha": merge_commit_sha(world, pull),
        "assignee": issue.assignees.first().map(|id| simple_user(world, *id)),
        "assignees": issue.assignees.iter().map(|id| simple_user(world, *id)).collect::<Vec<_>>(),
        "requested_reviewers": pull.requested_reviewers.iter().map(|id| simple_user(world, *id)).collect::<Vec<_>>(),
        "requested_teams": [],
        "labels": labels_of(world, issue),
        "milestone": null,
        "draft": pull.draft,
        "head": head(world, pull),
        "base": end(world, Some(pull.repo), &world.account(repo.owner).login, &pull.base_ref, &pull.base_sha),
        "author_association": author_association(world, pull.repo, issue.author),
        "auto_merge": null,
        "active_lock_reason": null,
    });
    merge(&mut value, links(world, &full_name, pull));
    if let Some(stack) = pulls::stack_of(world, pull) {
        value["stack"] = stack_place(world, stack, pull);
    }
    value
}

fn links(world: &World, full_name: &str, pull: &Pull) -> Value {
    let number = pull.number;
    let api = world.urls.api(format!("/repos/{full_name}/pulls/{number}"));
    let issue_api = world.urls.api(format!("/repos/{full_name}/issues/{number}"));
    let html = world.urls.web(format!("/{full_name}/pull/{number}"));
    let statuses = world.urls.api(format!("/repos/{full_name}/statuses/{}", pull.head_sha));
    let review_comment = world.urls.api(format!("/repos/{full_name}/pulls/comments{{/number}}"));
    json!({
        "commits_url": format!("{api}/commits"),
        "review_comments_url": format!("{api}/comments"),
        "review_comment_url": review_comment,
        "comments_url": format!("{issue_api}/comments"),
        "statuses_url": statuses,
        "_links": {
            "self": { "href": api },
            "html": { "href": html },
            "issue": { "href": issue_api },
            "comments": { "href": format!("{issue_api}/comments") },
            "review_comments": { "href": format!("{api}/comments") },
            "review_comment": { "href": review_comment },
            "commits": { "href": format!("{api}/commits") },
            "statuses": { "href": statuses },
        },
    })
}

/// `pull-request`, what `GET /repos/{owner}/{repo}/pulls/{pull_number}` answers. Settle it first.
pub fn pull(world: &World, pull: &Pull) -> Value {
    let MergeState { status, mergeable } = pulls::merge_state(world, pull);
    let facts = pulls::facts(world, pull);
    let size = facts.map_or(pull.size, |facts| facts.size);
    let rebaseable = facts
        .filter(|_| mergeable.is_some())
        .map(|facts| matches!(facts.mergeability, Mergeability::Clean { .. }) && mergeable == Some(true));
    let of_pull = |number: u64| number == pull.number;
    let shown = |comment: &&ReviewComment| of_pull(comment.number) && reviews::is_shown(world, comment);
    let mut value = simple_pull(world, pull);
    let more = json!({
        "merged": pull.merged.is_some(),
        "mergeable": mergeable,
        "rebaseable": rebaseable,
        "mergeable_state": status.to_ascii_lowercase(),
        "merged_by": pull.merged.as_ref().map(|merged| simple_user(world, merged.by)),
        "comments": world.comments.within(pull.repo).filter(|comment| of_pull(comment.number)).count(),
        "review_comments": world.review_comments.within(pull.repo).filter(shown).count(),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": size.commits,
        "additions": size.additions,
        "deletions": size.deletions,
        "changed_files": size.changed_files,
    });
    merge(&mut value, more);
    value
}

fn state(issue: &Issue) -> &'static str {
    match issue.state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    }
}

/// The test merge while it is open, the commit it landed as once it is merged.
fn merge_commit_sha(world: &World, pull: &Pull) -> Option<String> {
    match &pull.merged {
        Some(merged) => (merged.sha_visible_at <= world.now).then(|| merged.sha.clone()),
        None if pull.stale_merge_state.as_ref().is_some_and(|stale| stale.until > world.now) => None,
        None => pulls::facts(world, pull).and_then(|facts| facts.test_merge.clone()),
    }
}

fn head(world: &World, pull: &Pull) -> Value {
    end(world, pull.head_repo, &pull.head_owner, &pull.head_ref, &pull.head_sha)
}

fn end(world: &World, repo: Option<Id>, owner: &str, name: &str, sha: &str) -> Value {
    let repo = repo.and_then(|id| world.repo(id));
    let user = repo.map(|repo| repo.owner).or_else(|| world.account_named(owner).map(|account| account.id));
    json!({
        "label": format!("{owner}:{name}"),
        "ref": name,
        "sha": sha,
        "user": user.map(|id| simple_user(world, id)),
        "repo": repo.map(|repo| present_repo(world, repo)),
    })
}

/// `pull-request-minimal`, as checks and workflow runs list it.
pub fn minimal_pull(world: &World, pull: &Pull) -> Value {
    let minimal_end = |repo: Option<Id>, name: &str, sha: &str| {
        let repo = repo.and_then(|id| world.repo(id));
        json!({
            "ref": name,
            "sha": sha,
            "repo": repo.map(|repo| json!({
                "id": repo.id,
                "url": world.urls.api(format!("/repos/{}", world.full_name(repo))),
                "name": repo.name,
            })),
        })
    };
    let repo = world.repo(pull.repo).expect("a pull request goes with its repository");
    json!({
        "id": pull.id,
        "number": pull.number,
        "url": world.urls.api(format!("/repos/{}/pulls/{}", world.full_name(repo), pull.number)),
        "head": minimal_end(pull.head_repo, &pull.head_ref, &pull.head_sha),
        "base": minimal_end(Some(pull.repo), &pull.base_ref, &pull.base_sha),
    })
}

/// `pull-request-stack`: where a pull request stands in its stack.
fn stack_place(world: &World, stack: &Stack, pull: &Pull) -> Value {
    json!({
        "id": stack.id,
        "number": stack.number,
        "base": { "ref": stack.base_ref, "sha": world.branch(stack.repo, &stack.base_ref).cloned().unwrap_or_default() },
        "position": stack.pulls.iter().position(|number| *number == pull.number).map(|at| at + 1),
        "size": stack.pulls.len(),
    })
}
