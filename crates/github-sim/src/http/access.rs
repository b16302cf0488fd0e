//! What a caller may do with a repository.

use super::{ApiError, Caller};
use crate::world::{AccountKind, Id, OrgRole, Repo, RepoRole, World};

/// The part of a repository that a permission is about; GitHub's names for an app's permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Metadata,
    Contents,
    Issues,
    PullRequests,
    Checks,
    Statuses,
    Actions,
    Administration,
    Webhooks,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Contents => "contents",
            Self::Issues => "issues",
            Self::PullRequests => "pull_requests",
            Self::Checks => "checks",
            Self::Statuses => "statuses",
            Self::Actions => "actions",
            Self::Administration => "administration",
            Self::Webhooks => "repository_hooks",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Read,
    /// Commenting and the like: whoever can read may, an app needs `write`.
    Participate,
    /// Labels, closing, requesting reviewers: `triage` for people, `write` for an app.
    Triage,
    Write,
    Admin,
}

/// The repository, if the caller may see it (404 otherwise) and may do that much with it (403 otherwise).
pub fn repo<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    scope: Scope,
    level: Level,
) -> Result<&'w Repo, ApiError> {
    let repo = readable_repo(world, caller, owner, name)?;
    if matches!(caller, Caller::Anonymous) && level > Level::Read {
        return Err(ApiError::requires_authentication());
    }
    may(world, caller, repo, scope, level)?;
    if repo.archived && level > Level::Read {
        return Err(ApiError::forbidden("Repository was archived so is read-only."));
    }
    Ok(repo)
}

pub fn readable_repo<'w>(world: &'w World, caller: &Caller, owner: &str, name: &str) -> Result<&'w Repo, ApiError> {
    let name = name.strip_suffix(".git").unwrap_or(name);
    let repo = world.repo_named(owner, name).ok_or_else(ApiError::not_found)?;
    let visible = match caller {
        Caller::Anonymous | Caller::App { .. } => !repo.private,
        Caller::User { user } => role_of(world, repo, *user).is_some(),
        Caller::Installation { .. } => !repo.private || installation_reaches(world, caller, repo),
    };
    if visible { Ok(repo) } else { Err(ApiError::not_found()) }
}

/// Whether the caller may do that much. People are told which right they lack, apps that they are one.
pub fn may(world: &World, caller: &Caller, repo: &Repo, scope: Scope, level: Level) -> Result<(), ApiError> {
    match caller {
        Caller::Installation { permissions, .. } => {
            let refusal = || ApiError::forbidden("Resource not accessible by integration");
            if !installation_reaches(world, caller, repo) {
                return if level == Level::Read && !repo.private { Ok(()) } else { Err(refusal()) };
            }
            let granted = permissions.get(scope.name()).map(String::as_str);
            let enough = match level {
                Level::Read => {
                    granted.is_some() || scope == Scope::Metadata || !repo.private && scope != Scope::Administration
                }
                _ => matches!(granted, Some("write" | "admin")),
            };
            if enough { Ok(()) } else { Err(refusal()) }
        }
        Caller::App { .. } => Err(ApiError::forbidden("Resource not accessible by integration")),
        Caller::Anonymous => {
            if level == Level::Read && scope != Scope::Administration && scope != Scope::Webhooks {
                Ok(())
            } else {
                Err(ApiError::requires_authentication())
            }
        }
        Caller::User { user } => {
            let role = role_of(world, repo, *user).ok_or_else(ApiError::not_found)?;
            let needed = match (scope, level) {
                (Scope::Administration | Scope::Webhooks, _) => RepoRole::Admin,
                (_, Level::Read | Level::Participate) => RepoRole::Read,
                (_, Level::Triage) => RepoRole::Triage,
                (_, Level::Write) => RepoRole::Write,
                (_, Level::Admin) => RepoRole::Admin,
            };
            if role >= needed {
                Ok(())
            } else if needed == RepoRole::Admin {
                // GitHub hides what only administrators may touch.
                Err(if level == Level::Read {
                    ApiError::not_found()
                } else {
                    ApiError::forbidden("Must have admin rights to Repository.")
                })
            } else {
                Err(ApiError::forbidden(match needed {
                    RepoRole::Triage => "Must have triage rights to Repository.",
                    _ => "Must have write rights to Repository.",
                }))
            }
        }
    }
}

/// A person's role; on a public repository everyone may at least read.
pub fn role_of(world: &World, repo: &Repo, user: Id) -> Option<RepoRole> {
    let owner = world.account(repo.owner);
    if repo.owner == user
        || owner.kind == AccountKind::Organization && owner.members.get(&user) == Some(&OrgRole::Admin)
    {
        return Some(RepoRole::Admin);
    }
    let through_org = owner.members.contains_key(&user).then_some(RepoRole::Read);
    let public = (!repo.private).then_some(RepoRole::Read);
    repo.collaborators.get(&user).copied().max(through_org).max(public)
}

fn installation_reaches(world: &World, caller: &Caller, repo: &Repo) -> bool {
    let Caller::Installation { installation, account, repositories, .. } = caller else { return false };
    let covers = world.installations.get(0, *installation).is_some_and(|found| found.covers(repo.id));
    *account == repo.owner && covers && repositories.as_ref().is_none_or(|repos| repos.contains(&repo.id))
}
