//! Changes. Each finds what it is about, asks whether the caller may, and calls what REST calls.

mod pull;

use async_graphql::{Context, ID, MergedObject};

use super::pull::PullRequest;
use super::repository::Repository;
use super::{Ask, Failure, Result};
use crate::http::{ApiError, Caller, Level, Scope, may};
use crate::world::{Id, Key, NodeKind, World, decode_node_id};

#[derive(Default, MergedObject)]
pub struct Mutation(pull::PullMutation);

/// The repository and the key that a node id of this kind leads to.
fn locate(ctx: &Context<'_>, id: &ID, kinds: &[NodeKind]) -> Result<(Repository, NodeKind, Id)> {
    let (kind, Key { scope, id: key }) =
        decode_node_id(id).filter(|(kind, _)| kinds.contains(kind)).ok_or_else(|| Failure::no_such_node(id))?;
    let repo =
        ctx.look(|world| Repository::seen(world, ctx.caller(), scope)).ok_or_else(|| Failure::no_such_node(id))?;
    Ok((repo, kind, key))
}

/// The pull request that a node id leads to.
fn locate_pull(ctx: &Context<'_>, id: &ID) -> Result<PullRequest> {
    let (repo, _, number) = locate(ctx, id, &[NodeKind::PullRequest])?;
    ctx.look(|world| PullRequest::load(world, &repo, number)).ok_or_else(|| Failure::no_such_node(id))
}

/// The account that acts, if the caller may do that much. The refusal names the field asked for.
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
