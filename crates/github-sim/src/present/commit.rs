//! Commits and what changed in them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::user::{simple_user, web_flow};
use crate::git::{CommitObject, FileChange, Signature};
use crate::http::{encode, iso};
use crate::people;
use crate::world::{NodeKind, Repo, World, named_node_id};

/// `commit`, as lists and comparisons show it.
pub fn commit(world: &World, repo: &Repo, commit: &CommitObject) -> Value {
    let full_name = world.full_name(repo);
    let api = |path: String| world.urls.api(format!("/repos/{full_name}{path}"));
    let sha = &commit.sha;
    json!({
        "sha": sha,
        "node_id": named_node_id(NodeKind::Commit, repo.id, sha),
        "commit": {
            "author": git_user(&commit.author),
            "committer": git_user(&commit.committer),
            "message": commit.message,
            "tree": { "sha": commit.tree, "url": api(format!("/git/trees/{}", commit.tree)) },
            "url": api(format!("/git/commits/{sha}")),
            "comment_count": 0,
            "verification": unsigned(),
        },
        "url": api(format!("/commits/{sha}")),
        "html_url": world.urls.web(format!("/{full_name}/commit/{sha}")),
        "comments_url": api(format!("/commits/{sha}/comments")),
        "author": user_of(world, &commit.author),
        "committer": user_of(world, &commit.committer),
        "parents": commit.parents.iter().map(|parent| json!({
            "sha": parent,
            "url": api(format!("/commits/{parent}")),
            "html_url": world.urls.web(format!("/{full_name}/commit/{parent}")),
        })).collect::<Vec<_>>(),
    })
}

/// `commit` with `stats` over all of `files`, as a single commit is answered; `shown` of the files are on this page.
pub fn commit_with_files(
    world: &World,
    repo: &Repo,
    commit_object: &CommitObject,
    files: &[FileChange],
    shown: &[FileChange],
) -> Value {
    let (additions, deletions) =
        files.iter().fold((0, 0), |(plus, minus), file| (plus + file.additions, minus + file.deletions));
    let mut value = commit(world, repo, commit_object);
    value["stats"] = json!({ "total": additions + deletions, "additions": additions, "deletions": deletions });
    value["files"] = shown.iter().map(|file| diff_entry(world, repo, &commit_object.sha, file)).collect();
    value
}

/// `git-commit`, the commit as git has it.
pub fn git_commit(world: &World, repo: &Repo, commit: &CommitObject) -> Value {
    let full_name = world.full_name(repo);
    let api = |path: String| world.urls.api(format!("/repos/{full_name}/git{path}"));
    let sha = &commit.sha;
    json!({
        "sha": sha,
        "node_id": named_node_id(NodeKind::Commit, repo.id, sha),
        "url": api(format!("/commits/{sha}")),
        "html_url": world.urls.web(format!("/{full_name}/commit/{sha}")),
        "author": git_user(&commit.author),
        "committer": git_user(&commit.committer),
        "tree": { "sha": commit.tree, "url": api(format!("/trees/{}", commit.tree)) },
        "message": commit.message,
        "parents": commit.parents.iter().map(|parent| json!({
            "sha": parent,
            "url": api(format!("/commits/{parent}")),
            "html_url": world.urls.web(format!("/{full_name}/commit/{parent}")),
        })).collect::<Vec<_>>(),
        "verification": unsigned(),
    })
}

/// `simple-commit`, as check suites and workflow runs carry it.
pub fn simple_commit(commit: &CommitObject) -> Value {
    json!({
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": date(&commit.committer),
        "author": { "name": commit.author.name, "email": commit.author.email },
        "committer": { "name": commit.committer.name, "email": commit.committer.email },
    })
}

/// `diff-entry`: a file that changed, as it is at the commit `at`.
pub fn diff_entry(world: &World, repo: &Repo, at: &str, file: &FileChange) -> Value {
    let full_name = world.full_name(repo);
    let path = encode(&file.path);
    let mut value = json!({
        "sha": file.blob,
        "filename": file.path,
        "status": file.status.as_str(),
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": world.urls.web(format!("/{full_name}/blob/{at}/{path}")),
        "raw_url": world.urls.web(format!("/{full_name}/raw/{at}/{path}")),
        "contents_url": world.urls.api(format!("/repos/{full_name}/contents/{path}?ref={at}")),
    });
    if let Some(patch) = &file.patch {
        value["patch"] = patch.as_str().into();
    }
    if let Some(previous) = &file.previous_path {
        value["previous_filename"] = previous.as_str().into();
    }
    value
}

/// The account behind a signature, or null.
fn user_of(world: &World, signature: &Signature) -> Value {
    match people::account_by_email(world, &signature.email) {
        Some(account) => simple_user(world, account.id),
        None if signature.email == people::GITHUB_EMAIL => web_flow(world),
        None => Value::Null,
    }
}

/// `{name, email, date}`.
pub fn git_user(signature: &Signature) -> Value {
    json!({ "name": signature.name, "email": signature.email, "date": date(signature) })
}

fn date(signature: &Signature) -> String {
    iso(Timestamp::from_second(signature.seconds).unwrap_or(Timestamp::UNIX_EPOCH))
}

pub fn unsigned() -> Value {
    json!({ "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null })
}
