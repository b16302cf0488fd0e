//! Repositories: finding them, and what a caller may do there.

mod fields;

use std::ops::Deref;
use std::sync::Arc;

use async_graphql::Context;

use super::connection::{Paging, connection};
use super::enums::RepositoryVisibility;
use super::scalars::Uri;
use super::{Ask, Failure, Result};
use crate::http::{Caller, Level, Scope, may, readable_repo, role_of};
use crate::world::{Account, AccountKind, Id, Repo, RepoRole, World};

#[derive(Clone)]
pub struct Repository(Arc<Loaded>);

struct Loaded {
    repo: Repo,
    full_name: String,
}

impl Deref for Repository {
    type Target = Repo;

    fn deref(&self) -> &Repo {
        &self.0.repo
    }
}

impl Repository {
    pub fn new(world: &World, repo: &Repo) -> Self {
        Self(Arc::new(Loaded { repo: repo.clone(), full_name: world.full_name(repo) }))
    }

    /// None for what the caller may not see.
    pub fn seen(world: &World, caller: &Caller, id: Id) -> Option<Self> {
        let repo = world.repo(id)?;
        let owner = &world.account(repo.owner).login;
        readable_repo(world, caller, owner, &repo.name).ok().map(|repo| Self::new(world, repo))
    }

    pub fn named(ctx: &Context<'_>, owner: &str, name: &str) -> Result<Self> {
        ctx.look(|world| readable_repo(world, ctx.caller(), owner, name).map(|repo| Self::new(world, repo))).map_err(
            |_| Failure::not_found(format!("Could not resolve to a Repository with the name '{owner}/{name}'.")),
        )
    }

    pub fn full_name(&self) -> &str {
        &self.0.full_name
    }

    /// The address of something in it: `/pull/7`.
    pub fn path(&self, rest: impl std::fmt::Display) -> String {
        format!("/{}{rest}", self.full_name())
    }

    pub fn url_of(&self, ctx: &Context<'_>, rest: impl std::fmt::Display) -> Uri {
        Uri(ctx.sim().urls().web(self.path(rest)))
    }

    /// Whether the caller may do that much here.
    pub fn allows(&self, ctx: &Context<'_>, scope: Scope, level: Level) -> bool {
        ctx.look(|world| may(world, ctx.caller(), self, scope, level)).is_ok()
    }

    pub fn check(&self, ctx: &Context<'_>, scope: Scope) -> Result<()> {
        Ok(ctx.look(|world| may(world, ctx.caller(), self, scope, Level::Read))?)
    }

    /// Who may do at least that much here, by login.
    fn people(&self, ctx: &Context<'_>, query: Option<&str>, least: RepoRole) -> Vec<Id> {
        let query = query.unwrap_or_default().to_lowercase();
        ctx.look(|world| {
            let people = world.accounts.all().filter(|one| one.kind == AccountKind::User);
            let mut able: Vec<&Account> = people
                .filter(|one| one.login.to_lowercase().contains(&query))
                .filter(|one| role_of(world, self, one.id).is_some_and(|role| role >= least))
                .collect();
            able.sort_by(|a, b| a.login.cmp(&b.login));
            able.into_iter().map(|one| one.id).collect()
        })
    }

    fn role(&self, ctx: &Context<'_>) -> Option<RepoRole> {
        match ctx.caller() {
            Caller::User { user } => ctx.look(|world| role_of(world, self, *user)),
            _ => None,
        }
    }
}

connection!(RepositoryConnection, RepositoryEdge, Repository);

pub fn repositories_of(
    ctx: &Context<'_>,
    owner: Id,
    paging: &Paging,
    is_archived: Option<bool>,
    is_fork: Option<bool>,
    visibility: Option<RepositoryVisibility>,
) -> Result<RepositoryConnection> {
    let private = visibility.map(|visibility| visibility == RepositoryVisibility::Private);
    let repos = ctx.look(|world| {
        let all = world.repos.all().filter(|repo| {
            repo.owner == owner
                && is_archived.is_none_or(|archived| repo.archived == archived)
                && is_fork.is_none_or(|fork| repo.parent.is_some() == fork)
                && private.is_none_or(|private| repo.private == private)
        });
        all.filter_map(|repo| Repository::seen(world, ctx.caller(), repo.id)).collect()
    });
    Ok(RepositoryConnection(paging.of(repos, |repo: &Repository| repo.0.repo.id)?))
}
