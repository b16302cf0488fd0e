//! Opening a pull request.

use crate::http::{ApiError, Caller, Level, Scope, may};
use crate::webhooks::emit::{self, PullAction};
use crate::world::{Id, Issue, IssueState, Pull, PullSize, Repo, Sha, World};
use crate::{RepoGuard, Sim, ci};

/// What is asked for.
pub struct NewPull {
    pub title: Option<String>,
    pub body: Option<String>,
    /// `branch` or `owner:branch`.
    pub head: String,
    /// The name of the head's repository, when its owner has several of the same network.
    pub head_repo: Option<String>,
    pub base: String,
    pub draft: bool,
    pub maintainer_can_modify: bool,
    /// Turn this issue into the pull request.
    pub issue: Option<u64>,
}

/// Where it comes from and where it wants to go.
struct Ends {
    head_repo: Id,
    head_owner: String,
    head_ref: String,
    head_sha: Sha,
    base_sha: Sha,
}

/// Opens it; its number.
pub async fn open(sim: &Sim, caller: &Caller, repo: Id, new: NewPull) -> Result<u64, ApiError> {
    let actor = caller.actor()?;
    let head_repo = sim.read(|world| ends(world, caller, repo, &new).map(|ends| ends.head_repo))?;
    let _guards = lock_both(sim, repo, head_repo).await;
    // Only now do the branches stand still.
    let ends = sim.read(|world| ends(world, caller, repo, &new))?;
    let git = sim.git(repo);
    git.fetch_from(&sim.git(ends.head_repo), &ends.head_sha).await?;
    check_history(sim, repo, &new, &ends).await?;
    let size = super::size(&git, &ends.base_sha, &ends.head_sha).await?;
    let number = sim.write(|world| match new.issue {
        Some(number) => convertible_issue(world, repo, number).map(|()| number),
        None => Ok(world.next_number(repo)),
    })?;
    // Whoever hears of the pull request can fetch it at once.
    git.set_ref(&format!("refs/pull/{number}/head"), &ends.head_sha).await?;
    sim.write(|world| {
        store(world, actor, repo, number, new, (ends, size));
        Ok(number)
    })
}

/// In the order of their ids: two that wait for each other would wait for ever.
pub async fn lock_both(sim: &Sim, repo: Id, other: Id) -> Vec<RepoGuard> {
    let mut ids = vec![repo, other];
    ids.sort_unstable();
    ids.dedup();
    let mut guards = Vec::new();
    for id in ids {
        guards.push(sim.lock(id).await);
    }
    guards
}

fn ends(world: &World, caller: &Caller, repo: Id, new: &NewPull) -> Result<Ends, ApiError> {
    let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
    let base_sha =
        world.branch(repo.id, &new.base).ok_or_else(|| ApiError::validation("PullRequest", "base", "invalid"))?.clone();
    let invalid_head = || ApiError::validation("PullRequest", "head", "invalid");
    let (owner, head_ref) = match new.head.split_once(':') {
        Some((owner, branch)) => (owner, branch),
        None => (world.account(repo.owner).login.as_str(), new.head.as_str()),
    };
    let head_repo = find_head_repo(world, repo, owner, new.head_repo.as_deref()).ok_or_else(invalid_head)?;
    let head_sha = world.branch(head_repo.id, head_ref).ok_or_else(invalid_head)?.clone();
    // An app needs no more than the right to open pull requests.
    let is_person = matches!(caller, Caller::User { .. });
    if is_person && head_repo.id == repo.id && may(world, caller, repo, Scope::Contents, Level::Write).is_err() {
        return Err(ApiError::validation_message("PullRequest", "must be a collaborator"));
    }
    if let Some(known) = open_between(world, repo.id, head_repo.id, head_ref, &new.base) {
        let label = format!("{}:{}", known.head_owner, known.head_ref);
        return Err(ApiError::validation_message("PullRequest", format!("A pull request already exists for {label}.")));
    }
    Ok(Ends {
        head_repo: head_repo.id,
        head_owner: world.account(head_repo.owner).login.clone(),
        head_ref: head_ref.to_owned(),
        head_sha,
        base_sha,
    })
}

/// The repository of the same network that belongs to `owner`.
fn find_head_repo<'w>(world: &'w World, base: &'w Repo, owner: &str, name: Option<&str>) -> Option<&'w Repo> {
    let owner = world.account_named(owner)?.id;
    let name = name.map(|name| name.rsplit('/').next().unwrap_or(name));
    if owner == base.owner && name.is_none_or(|name| name.eq_ignore_ascii_case(&base.name)) {
        return Some(base);
    }
    let root = |repo: &Repo| repo.parent.unwrap_or(repo.id);
    world.repos.all().find(|repo| {
        repo.owner == owner && root(repo) == root(base) && name.is_none_or(|name| name.eq_ignore_ascii_case(&repo.name))
    })
}

/// The open pull request with these two branches.
pub fn open_between<'w>(world: &'w World, repo: Id, head_repo: Id, head_ref: &str, base_ref: &str) -> Option<&'w Pull> {
    world.pulls.within(repo).find(|pull| {
        pull.head_repo == Some(head_repo)
            && pull.head_ref == head_ref
            && pull.base_ref == base_ref
            && super::is_open(world, pull)
    })
}

async fn check_history(sim: &Sim, repo: Id, new: &NewPull, ends: &Ends) -> Result<(), ApiError> {
    let git = sim.git(repo);
    if git.merge_base(&ends.base_sha, &ends.head_sha).await?.is_none() {
        let message = format!("The {} branch has no history in common with {}", ends.head_ref, new.base);
        return Err(ApiError::validation_message("PullRequest", message));
    }
    let (ahead, _) = git.ahead_behind(&ends.head_sha, &ends.base_sha).await?;
    if ahead == 0 {
        let message = format!("No commits between {} and {}", new.base, new.head);
        return Err(ApiError::validation_message("PullRequest", message));
    }
    Ok(())
}

fn convertible_issue(world: &World, repo: Id, number: u64) -> Result<(), ApiError> {
    match world.issues.get(repo, number) {
        Some(issue) if !issue.is_pull && issue.state == IssueState::Open => Ok(()),
        _ => Err(ApiError::validation("PullRequest", "issue", "invalid")),
    }
}

fn store(world: &mut World, actor: Id, repo: Id, number: u64, new: NewPull, (ends, size): (Ends, PullSize)) {
    let (id, now) = (world.next_id(), world.now);
    if let Some(issue) = world.issues.edit(repo, number) {
        issue.is_pull = true;
        issue.updated_at = now;
    } else {
        world.issues.insert(Issue {
            repo,
            number,
            id: 0,
            title: new.title.unwrap_or_default(),
            body: new.body,
            author: actor,
            state: IssueState::Open,
            state_reason: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            locked: false,
            is_pull: true,
            created_at: now,
            updated_at: now,
            closed_at: None,
            closed_by: None,
        });
        let issue_id = world.next_id();
        world.issues.edit(repo, number).expect("just inserted").id = issue_id;
    }
    let Ends { head_repo, head_owner, head_ref, head_sha, base_sha } = ends;
    world.pulls.insert(Pull {
        repo,
        number,
        id,
        head_repo: Some(head_repo),
        head_owner,
        head_ref: head_ref.clone(),
        head_sha: head_sha.clone(),
        base_ref: new.base,
        base_sha,
        last_pusher: Some(actor),
        draft: new.draft,
        merged: None,
        requested_reviewers: Vec::new(),
        maintainer_can_modify: new.maintainer_can_modify && head_repo != repo,
        stale_merge_state: None,
        size,
    });
    emit::pull_request(world, repo, number, actor, PullAction::Opened);
    // Checks that were not run for the branch, being a fork's or one without CI, run for its pull request.
    ci::enqueue_for_pull(world, repo, number, actor);
}
