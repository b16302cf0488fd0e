//! A new repository, empty or with a first commit.

use std::collections::BTreeMap;

use axum::extract::State;
use serde::Deserialize;
use serde_json::json;

use super::settings::RepoSettings;
use crate::git::RefChange;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path};
use crate::world::{
    Account, AccountKind, Id, MergeMessage, MergeTitle, OrgRole, Repo, RepoRefs, RepoRole, SquashMessage, SquashTitle,
    World,
};
use crate::{Sim, people, present, push, setup};

const DEFAULT_BRANCH: &str = "main";
const LONGEST_NAME: usize = 100;

#[derive(Deserialize)]
pub struct NewRepo {
    name: String,
    #[serde(default)]
    auto_init: bool,
    #[serde(flatten)]
    settings: RepoSettings,
}

pub async fn for_user(State(sim): State<Sim>, caller: Caller, Body(new): Body<NewRepo>) -> ApiResult {
    let user = sim.read(|world| caller.user(world).map(|user| user.id))?;
    create(&sim, &caller, user, user, new).await
}

pub async fn for_org(
    State(sim): State<Sim>,
    caller: Caller,
    Path(org): Path<String>,
    Body(new): Body<NewRepo>,
) -> ApiResult {
    let (owner, actor) = sim.read(|world| {
        let org = world
            .account_named(&org)
            .filter(|account| account.kind == AccountKind::Organization)
            .ok_or_else(ApiError::not_found)?;
        may_create_in(org, &caller)?;
        Ok::<_, ApiError>((org.id, caller.actor()?))
    })?;
    create(&sim, &caller, owner, actor, new).await
}

fn may_create_in(org: &Account, caller: &Caller) -> Result<(), ApiError> {
    match caller {
        Caller::Installation { account, permissions, .. } => {
            let administers = permissions.get("administration").is_some_and(|level| level == "write");
            if *account == org.id && administers {
                return Ok(());
            }
            Err(ApiError::forbidden("Resource not accessible by integration"))
        }
        Caller::User { user } if org.members.contains_key(user) => Ok(()),
        Caller::User { .. } => {
            Err(ApiError::forbidden("You need admin access to the organization before adding a repository to it."))
        }
        _ => Err(ApiError::requires_authentication()),
    }
}

async fn create(sim: &Sim, caller: &Caller, owner: Id, actor: Id, new: NewRepo) -> ApiResult {
    let name = checked_name(&new.name)?;
    let (id, mut repo) = sim.write(|world| {
        refuse_taken(world, owner, &name)?;
        let id = world.next_id();
        Ok((id, blank(world, id, owner, name)))
    })?;
    new.settings.apply(&mut repo)?;
    let stored = store(sim, owner, actor, repo, new.auto_init).await;
    if stored.is_err() {
        // The folder's name was never used before and nobody knows of it, so nothing is lost.
        sim.git(id).delete().await?;
    }
    stored?;
    sim.read(|world| {
        let repo = world.repo(id).ok_or_else(ApiError::not_found)?;
        Ok(http::json(201, &present::full_repo(world, caller, repo)))
    })
}

/// git first: what stands in the world has a repository behind it.
async fn store(sim: &Sim, owner: Id, actor: Id, repo: Repo, auto_init: bool) -> Result<(), ApiError> {
    let id = repo.id;
    let git = sim.git(id);
    let guard = sim.lock(id).await;
    git.init(&repo.default_branch).await?;
    let first = if auto_init { Some(first_commit(sim, &repo, actor).await?) } else { None };
    let branch = format!("refs/heads/{}", repo.default_branch);
    sim.write(|world| {
        // Again, because another creation may have been faster.
        refuse_taken(world, owner, &repo.name)?;
        insert(world, repo, actor);
        Ok(())
    })?;
    if let Some(sha) = first {
        let change = RefChange { name: branch, old: None, new: Some(sha) };
        if let Err(error) = push::update(sim, &guard, actor, vec![change]).await {
            sim.write(|world| {
                world.repos.remove(0, id);
                world.refs.remove(0, id);
                Ok(())
            })?;
            return Err(error);
        }
    }
    Ok(())
}

/// Puts a repository that git already holds into the world.
pub fn insert(world: &mut World, mut repo: Repo, actor: Id) {
    let (id, owner) = (repo.id, repo.owner);
    let account = world.account(owner);
    if account.kind == AccountKind::Organization && account.members.get(&actor) == Some(&OrgRole::Member) {
        repo.collaborators.insert(actor, RepoRole::Admin);
    }
    world.repos.insert(repo);
    world.refs.insert(RepoRefs { repo: id, refs: BTreeMap::new() });
    setup::ensure_installed(world, owner, actor);
}

async fn first_commit(sim: &Sim, repo: &Repo, actor: Id) -> Result<String, ApiError> {
    let git = sim.git(repo.id);
    let (author, committer) = sim.read(|world| (people::signature_of(world, actor), people::github_signature(world)));
    let description = repo.description.as_deref().map(|text| format!("\n{text}")).unwrap_or_default();
    let readme = git.write_blob(format!("# {}{description}\n", repo.name).as_bytes()).await?;
    let tree = git.write_tree(None, &[("README.md".into(), Some(("100644".into(), readme)))]).await?;
    Ok(git.write_commit(&tree, &[], &author, &committer, "Initial commit").await?)
}

/// A repository with GitHub's defaults, not yet in the world.
pub fn blank(world: &World, id: Id, owner: Id, name: String) -> Repo {
    Repo {
        id,
        owner,
        name,
        description: None,
        homepage: None,
        topics: Vec::new(),
        private: false,
        archived: false,
        default_branch: DEFAULT_BRANCH.into(),
        parent: None,
        collaborators: BTreeMap::new(),
        last_number: 0,
        allow_merge_commit: true,
        allow_squash_merge: true,
        allow_rebase_merge: true,
        allow_auto_merge: false,
        allow_update_branch: false,
        delete_branch_on_merge: false,
        squash_merge_commit_title: SquashTitle::CommitOrPrTitle,
        squash_merge_commit_message: SquashMessage::CommitMessages,
        merge_commit_title: MergeTitle::MergeMessage,
        merge_commit_message: MergeMessage::PrTitle,
        web_commit_signoff_required: false,
        has_issues: true,
        has_pre_receive_hook: false,
        protections: BTreeMap::new(),
        ci: None,
        created_at: world.now,
        updated_at: world.now,
        pushed_at: world.now,
    }
}

/// The name as GitHub would store it: what it does not allow becomes a hyphen.
pub fn checked_name(name: &str) -> Result<String, ApiError> {
    let refuse = |message: String| {
        let mut error = ApiError::unprocessable("Repository creation failed.");
        error.errors.push(json!({ "resource": "Repository", "code": "custom", "field": "name", "message": message }));
        error
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.trim().chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    let name = name.strip_suffix(".git").unwrap_or(&name).to_owned();
    match name.as_str() {
        "" => Err(refuse("name is too short (minimum is 1 character)".into())),
        "." | ".." => Err(refuse("name is reserved".into())),
        _ if name.len() > LONGEST_NAME => {
            Err(refuse(format!("name is too long (maximum is {LONGEST_NAME} characters)")))
        }
        _ => Ok(name),
    }
}

pub fn refuse_taken(world: &World, owner: Id, name: &str) -> Result<(), ApiError> {
    let taken = world.repos.all().any(|repo| repo.owner == owner && repo.name.eq_ignore_ascii_case(name));
    if !taken {
        return Ok(());
    }
    let mut error = ApiError::unprocessable("Repository creation failed.");
    error.errors.push(json!({
        "resource": "Repository", "code": "custom", "field": "name", "message": "name already exists on this account",
    }));
    Err(error)
}
