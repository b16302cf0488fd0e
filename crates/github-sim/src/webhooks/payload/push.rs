//! Refs that moved, appeared or went.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use serde_json::{Value, json};

use super::{organization_of, repository};
use crate::git::{CommitFiles, RefChange, Signature};
use crate::people;
use crate::webhooks::emit::PushFacts;
use crate::world::{Id, Repo, World};

const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

pub fn push(world: &World, repo: &Repo, pusher: Id, push: &PushFacts) -> Value {
    let pusher = world.account(pusher);
    let commits: Vec<Value> = push.commits.iter().map(|pushed| commit(world, repo, pushed)).collect();
    json!({
        "ref": push.change.name,
        "before": push.change.old.as_deref().unwrap_or(NO_COMMIT),
        "after": push.change.new.as_deref().unwrap_or(NO_COMMIT),
        "repository": pushed_repository(world, repo),
        "pusher": { "name": pusher.login, "email": pusher.commit_email() },
        "created": push.change.old.is_none(),
        "deleted": push.change.new.is_none(),
        "forced": push.forced,
        "base_ref": base_ref(world, repo, &push.change),
        "compare": compare(world, repo, &push.change),
        "commits": commits,
        "head_commit": push.head.as_ref().map(|head| commit(world, repo, head)),
    })
}

/// `create` and `delete`.
pub fn ref_changed(ref_name: &str, created_in: Option<&Repo>) -> Value {
    let (kind, name) = match ref_name.strip_prefix("refs/tags/") {
        Some(tag) => ("tag", tag),
        None => ("branch", ref_name.strip_prefix("refs/heads/").unwrap_or(ref_name)),
    };
    let mut payload = json!({ "ref": name, "ref_type": kind });
    if let Some(repo) = created_in {
        payload["master_branch"] = repo.default_branch.as_str().into();
        payload["description"] = repo.description.as_deref().into();
    }
    payload["pusher_type"] = "user".into();
    payload
}

/// In a push, and only there, GitHub writes some times as numbers and has a few members more.
fn pushed_repository(world: &World, repo: &Repo) -> Value {
    let mut value = repository(world, repo);
    value["created_at"] = repo.created_at.as_second().into();
    value["pushed_at"] = repo.pushed_at.as_second().into();
    value["stargazers"] = 0.into();
    value["master_branch"] = repo.default_branch.as_str().into();
    let owner = world.account(repo.owner);
    value["owner"]["name"] = owner.login.as_str().into();
    value["owner"]["email"] = owner.email.as_deref().into();
    if let Some(owner) = organization_of(world, repo) {
        value["organization"] = owner.login.as_str().into();
    }
    value
}

/// The branch that a new ref starts at.
fn base_ref(world: &World, repo: &Repo, change: &RefChange) -> Option<String> {
    let (None, Some(at)) = (&change.old, &change.new) else { return None };
    let same =
        |(name, sha): &(&String, &String)| **name != change.name && *sha == at && name.starts_with("refs/heads/");
    let default = format!("refs/heads/{}", repo.default_branch);
    let refs = &world.refs(repo.id).refs;
    let first = refs.get_key_value(&default).into_iter().chain(refs).find(same);
    first.map(|(name, _)| name.clone())
}

fn compare(world: &World, repo: &Repo, change: &RefChange) -> String {
    let short = |sha: &Option<String>| sha.as_deref().unwrap_or(NO_COMMIT)[..12].to_owned();
    let range = match &change.old {
        None => change.branch().or_else(|| change.tag()).unwrap_or(&change.name).to_owned(),
        Some(_) => format!("{}...{}", short(&change.old), short(&change.new)),
    };
    world.urls.web(format!("/{}/compare/{range}", world.full_name(repo)))
}

fn commit(world: &World, repo: &Repo, pushed: &CommitFiles) -> Value {
    let commit = &pushed.commit;
    json!({
        "id": commit.sha,
        "tree_id": commit.tree,
        "distinct": true,
        "message": commit.message,
        "timestamp": local_time(&commit.committer),
        "url": world.urls.web(format!("/{}/commit/{}", world.full_name(repo), commit.sha)),
        "author": person(world, &commit.author),
        "committer": person(world, &commit.committer),
        "added": pushed.added,
        "removed": pushed.removed,
        "modified": pushed.modified,
    })
}

/// A commit's author with the account behind the address, if there is one.
fn person(world: &World, signature: &Signature) -> Value {
    let mut value = json!({ "name": signature.name, "email": signature.email });
    if let Some(account) = people::account_by_email(world, &signature.email) {
        value["username"] = account.login.as_str().into();
    }
    value
}

/// In the time zone it was written in, as GitHub shows it.
fn local_time(signature: &Signature) -> String {
    let time = Timestamp::from_second(signature.seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    let zone = TimeZone::fixed(offset(&signature.offset).unwrap_or(Offset::UTC));
    time.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// `+0230`.
fn offset(text: &str) -> Option<Offset> {
    let (hours, minutes) = text.get(1..)?.split_at_checked(2)?;
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Offset::from_seconds(if text.starts_with('-') { -seconds } else { seconds }).ok()
}
