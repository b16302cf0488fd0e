//! What git has to say before the consequences of a movement can be drawn.

use std::collections::HashSet;

use super::{Cause, reviews};
use crate::git::{GitRepo, MOST_PUSHED_COMMITS, RefChange};
use crate::http::ApiError;
use crate::webhooks::emit::PushFacts;
use crate::world::{Id, Pull, PullSize, Sha, World};
use crate::{RepoGuard, Sim, faults, policy, pulls};

pub struct Prepared {
    pub pushes: Vec<PushFacts>,
    pub heads: Vec<HeadMove>,
    pub landed: Vec<LandedByPush>,
}

/// An open pull request whose head branch moved.
pub struct HeadMove {
    pub repo: Id,
    pub number: u64,
    pub before: Sha,
    pub after: Sha,
    /// Whether it now proposes something else than before, as far as anyone asked.
    pub changed: bool,
    pub lines: Vec<reviews::LineMove>,
    pub size: PullSize,
}

/// An open pull request whose head its base branch now contains.
pub struct LandedByPush {
    pub number: u64,
    pub onto: Option<Sha>,
    pub sha: Sha,
}

pub async fn prepare(
    sim: &Sim,
    guard: &RepoGuard,
    changes: Vec<RefChange>,
    cause: &Cause,
) -> Result<Prepared, ApiError> {
    let git = sim.git(guard.repo());
    let mut landed = Vec::new();
    let mut heads = Vec::new();
    for change in &changes {
        landed.extend(landed_by(sim, &git, change, cause).await?);
        heads.extend(head_moves(sim, guard.repo(), change).await?);
    }
    let known: HashSet<Sha> = sim.read(|world| world.refs(guard.repo()).refs.values().cloned().collect());
    let mut pushes = Vec::new();
    for change in changes {
        pushes.push(push_facts(&git, change, &known).await?);
    }
    Ok(Prepared { pushes, heads, landed })
}

async fn push_facts(git: &GitRepo, change: RefChange, known: &HashSet<Sha>) -> Result<PushFacts, ApiError> {
    let Some(new) = &change.new else {
        return Ok(PushFacts { change, commits: Vec::new(), head: None, forced: false });
    };
    let mut revisions = vec![new.clone()];
    match &change.old {
        Some(old) => revisions.push(format!("^{old}")),
        // What every other ref already had is not new with this one.
        None => revisions.extend(known.iter().map(|sha| format!("^{sha}"))),
    }
    let revisions: Vec<&str> = revisions.iter().map(String::as_str).collect();
    if change.tag().is_some() && !git.leads_to_commit(new).await? {
        // A tag may name a tree or a blob, which brings no commits.
        return Ok(PushFacts { change, commits: Vec::new(), head: None, forced: false });
    }
    let commits = git.pushed_commits(&revisions, MOST_PUSHED_COMMITS).await?;
    let head = match commits.last() {
        Some(last) if last.commit.sha == *new => Some(last.clone()),
        _ => git.pushed_commits(&[new], 1).await?.pop(),
    };
    let forced = match &change.old {
        Some(old) if change.branch().is_some() => !git.is_ancestor(old, new).await?,
        _ => false,
    };
    Ok(PushFacts { commits, head, forced, change })
}

/// The open pull requests that a branch is the base of.
pub fn based_on<'w>(world: &'w World, repo: Id, branch: &'w str) -> impl Iterator<Item = &'w Pull> {
    world.pulls.within(repo).filter(move |pull| pull.base_ref == branch && pulls::is_open(world, pull))
}

/// The pull requests, in whatever repository, that a branch is the head of.
pub fn headed_by<'w>(world: &'w World, repo: Id, branch: &'w str) -> impl Iterator<Item = &'w Pull> {
    world.pulls.all().filter(move |pull| pull.head_repo == Some(repo) && pull.head_ref == branch)
}

async fn landed_by(sim: &Sim, git: &GitRepo, change: &RefChange, cause: &Cause) -> Result<Vec<LandedByPush>, ApiError> {
    let (Some(branch), Some(new)) = (change.branch(), &change.new) else { return Ok(Vec::new()) };
    let lands = |number: u64| cause.landings.iter().any(|landing| landing.number == number);
    let waiting: Vec<(u64, Sha)> = sim.read(|world| {
        based_on(world, git.id(), branch)
            .filter(|pull| !lands(pull.number))
            .map(|pull| (pull.number, pull.head_sha.clone()))
            .collect()
    });
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let new_commits: HashSet<Sha> = git.new_commits(change.old.as_deref(), new).await?.into_iter().collect();
    let mut landed = Vec::new();
    for (number, head) in waiting.into_iter().filter(|(_, head)| new_commits.contains(head)) {
        let sha = merge_of(git, change, &head).await?;
        landed.push(LandedByPush { number, onto: change.old.clone(), sha });
    }
    Ok(landed)
}

/// The merge commit that brought a head in; the head itself when it was fast-forwarded to.
async fn merge_of(git: &GitRepo, change: &RefChange, head: &str) -> Result<Sha, ApiError> {
    let Some(new) = &change.new else { return Ok(head.to_owned()) };
    let out = format!("^{head}");
    let above = git.commits(&[new, &out], None, 0).await?;
    let merge = above
        .into_iter()
        .rev()
        .find(|commit| commit.parents.len() > 1 && commit.parents.iter().skip(1).any(|parent| parent == head));
    Ok(merge.map_or_else(|| head.to_owned(), |commit| commit.sha))
}

async fn head_moves(sim: &Sim, repo: Id, change: &RefChange) -> Result<Vec<HeadMove>, ApiError> {
    let (Some(branch), Some(after)) = (change.branch(), &change.new) else { return Ok(Vec::new()) };
    let open: Vec<Pull> = sim.read(|world| {
        headed_by(world, repo, branch)
            .filter(|pull| pulls::is_open(world, pull) && pull.head_sha != *after)
            .cloned()
            .collect()
    });
    let mut moves = Vec::new();
    for pull in open {
        let git = sim.git(pull.repo);
        git.fetch_from(&sim.git(repo), after).await?;
        git.set_ref(&format!("refs/pull/{}/head", pull.number), after).await?;
        if sim.read(|world| world.settings().merge_state_lag_ms > 0 || faults::any(world, faults::Occasion::Push)) {
            // What will be shown in the meantime has to be known.
            pulls::settle(sim, pull.repo, &[pull.number]).await?;
        }
        let changed = changes_what_was_approved(sim, &git, &pull, after).await?;
        let lines = reviews::line_moves(sim, &git, &pull, after).await?;
        let base = sim.read(|world| pulls::base_commit(world, &pull).clone());
        let size = pulls::size(&git, &base, after).await?;
        moves.push(HeadMove {
            repo: pull.repo,
            number: pull.number,
            before: pull.head_sha,
            after: after.clone(),
            changed,
            lines,
            size,
        });
    }
    Ok(moves)
}

/// Merging the base in leaves the approved change as it is; anything else is new to its reviewers.
async fn changes_what_was_approved(sim: &Sim, git: &GitRepo, pull: &Pull, after: &str) -> Result<bool, ApiError> {
    let base = sim.read(|world| {
        let repo = world.repo(pull.repo)?;
        let asked = policy::for_branch(world, repo, pulls::rules_branch(world, pull)).dismiss_stale_reviews
            && reviews::approvals(world, pull).next().is_some();
        asked.then(|| world.branch(pull.repo, &pull.base_ref).cloned()).flatten()
    });
    let Some(base) = base else { return Ok(false) };
    let (old_base, new_base) = (git.merge_base(&base, &pull.head_sha).await?, git.merge_base(&base, after).await?);
    let (Some(old_base), Some(new_base)) = (old_base, new_base) else { return Ok(true) };
    let old = git.diff_fingerprint(&old_base, &pull.head_sha).await?;
    Ok(old != git.diff_fingerprint(&new_base, after).await?)
}
