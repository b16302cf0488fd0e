//! Changes. Each finds what it is about, asks whether the caller may, and calls what REST calls.

mod comment;
mod label;
mod pull;
mod review;

use async_graphql::{Context, ID, MergedObject};

use super::issue::is_viewer;
use super::pull::PullRequest;
use super::repository::Repository;
use super::{Ask, Failure, Result};
use crate::http::{ApiError, Caller, Level, Scope, may};
use crate::world::{Id, Key, NodeKind, World, decode_node_id};

#[derive(Default, MergedObject)]
pub struct Mutation(pull::PullMutation, review::ReviewMutation, comment::CommentMutation, label::LabelMutation);

/// The input of a mutation. All have a `clientMutationId`, which comes back with the answer.
macro_rules! input {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(async_graphql::InputObject)]
        struct $name {
            client_mutation_id: Option<String>,
            $($(#[$attribute])* $field: $type,)*
        }
    };
}

/// The answer of a mutation.
macro_rules! payload {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        #[derive(async_graphql::SimpleObject)]
        struct $name {
            client_mutation_id: Option<String>,
            $($field: Option<$type>,)*
        }
    };
}
use {input, payload};

/// The repository and the key that a node id of one of these kinds leads to.
fn locate(ctx: &Context<'_>, id: &ID, kinds: &[NodeKind]) -> Result<(Repository, NodeKind, Id)> {
    let missing = || Failure::no_such_node(id);
    let (kind, Key { scope, id: key }) =
        decode_node_id(id).filter(|(kind, _)| kinds.contains(kind)).ok_or_else(missing)?;
    let repo = ctx.look(|world| Repository::seen(world, ctx.caller(), scope)).ok_or_else(missing)?;
    Ok((repo, kind, key))
}

/// The pull request that a node id leads to.
fn locate_pull(ctx: &Context<'_>, id: &ID) -> Result<PullRequest> {
    let (repo, _, number) = locate(ctx, id, &[NodeKind::PullRequest])?;
    ctx.look(|world| PullRequest::load(world, &repo, number)).ok_or_else(|| Failure::no_such_node(id))
}

/// The repository and number of the issue or pull request that a node id leads to, and the permission it is about.
fn locate_issue(ctx: &Context<'_>, id: &ID) -> Result<(Repository, u64, Scope)> {
    let (repo, kind, number) = locate(ctx, id, &[NodeKind::Issue, NodeKind::PullRequest])?;
    let is_pull = kind == NodeKind::PullRequest;
    let found = ctx.look(|world| world.issues.get(repo.id, number).map(|issue| issue.is_pull));
    if found != Some(is_pull) {
        return Err(Failure::no_such_node(id));
    }
    Ok((repo, number, if is_pull { Scope::PullRequests } else { Scope::Issues }))
}

/// The account that acts, if the caller may do that much. The refusal names the mutation asked for.
fn permit(ctx: &Context<'_>, repo: &Repository, scope: Scope, level: Level) -> Result<Id> {
    ctx.look(|world| {
        if may(world, ctx.caller(), repo, scope, level).is_err() {
            return Err(forbidden(ctx, world));
        }
        if repo.archived {
            return Err(Failure::unprocessable("Repository was archived so is read-only."));
        }
        Ok(ctx.caller().actor()?)
    })
}

/// The same for what its author may do whatever rights they have else.
fn permit_author(ctx: &Context<'_>, repo: &Repository, scope: Scope, author: Id, others: Level) -> Result<Id> {
    permit(ctx, repo, scope, if is_viewer(ctx, author) { Level::Participate } else { others })
}

fn forbidden(ctx: &Context<'_>, world: &World) -> Failure {
    let message = match ctx.caller() {
        Caller::User { user } => {
            let name = ctx.item.node.name.node.as_str();
            let mutation = name[..1].to_uppercase() + &name[1..];
            let login = &world.account(*user).login;
            format!("{login} does not have the correct permissions to execute `{mutation}`")
        }
        _ => "Resource not accessible by integration".into(),
    };
    Failure::new("FORBIDDEN", message)
}

fn change<R>(ctx: &Context<'_>, change: impl FnOnce(&mut World) -> std::result::Result<R, ApiError>) -> Result<R> {
    Ok(ctx.sim().write(change)?)
}
