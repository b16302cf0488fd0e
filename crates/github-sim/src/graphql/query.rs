//! The root of all queries.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, SimpleObject};

use super::actor::{Organization, RepositoryOwner, User};
use super::connection::Paging;
use super::enums::SearchType;
use super::node::{Node, find};
use super::repository::Repository;
use super::scalars::{DateTime, int};
use super::search::{SearchResultItemConnection, search};
use super::{Ask, Failure, Result};
use crate::world::AccountKind;

pub struct Query;

#[Object]
impl Query {
    async fn node(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Node>> {
        find(ctx, &id).await.map(Some)
    }

    async fn nodes(&self, ctx: &Context<'_>, ids: Vec<ID>) -> Result<Vec<Option<Node>>> {
        let mut nodes = Vec::new();
        for id in &ids {
            match find(ctx, id).await {
                Ok(node) => nodes.push(Some(node)),
                Err(failure) => {
                    let error = async_graphql::Error::from(failure).into_server_error(ctx.item.pos);
                    ctx.add_error(ctx.set_error_path(error));
                    nodes.push(None);
                }
            }
        }
        Ok(nodes)
    }

    async fn organization(&self, ctx: &Context<'_>, login: String) -> Result<Option<Organization>> {
        let found = ctx.look(|world| {
            let account = world.account_named(&login).filter(|one| one.kind == AccountKind::Organization)?;
            Some(Organization(Arc::new(account.clone())))
        });
        found.map(Some).ok_or_else(|| {
            Failure::not_found(format!("Could not resolve to an Organization with the login of '{login}'."))
        })
    }

    async fn rate_limit(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(false)")] dry_run: Option<bool>,
    ) -> Option<RateLimit> {
        let _ = dry_run;
        let (settings, now) = ctx.look(|world| (world.settings().clone(), world.now));
        let key = ctx.caller().rate_key();
        let (Ok(budget) | Err(budget)) = ctx.sim().rate_limits().take(&key, "graphql", &settings, now, 0);
        let cost = ctx.asked().cost;
        Some(RateLimit {
            cost: int(cost.points()),
            limit: int(budget.limit),
            node_count: int(cost.nodes),
            remaining: int(budget.remaining()),
            reset_at: DateTime(jiff::Timestamp::from_second(budget.resets_at).unwrap_or(now)),
            used: int(budget.used),
        })
    }

    /// Never null: what gives a client the schema through a field.
    async fn relay(&self) -> Query {
        Query
    }

    async fn repository(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(true)")] follow_renames: Option<bool>,
        name: String,
        owner: String,
    ) -> Result<Option<Repository>> {
        let _ = follow_renames;
        Repository::named(ctx, &owner, &name).map(Some)
    }

    async fn repository_owner(&self, ctx: &Context<'_>, login: String) -> Option<RepositoryOwner> {
        ctx.look(|world| {
            let account = world.account_named(&login).filter(|one| one.kind != AccountKind::Bot)?;
            Some(RepositoryOwner::new(world, account.id))
        })
    }

    async fn search(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        query: String,
        #[graphql(name = "type")] kind: SearchType,
    ) -> Result<SearchResultItemConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        search(ctx, &paging, kind, &query).await
    }

    async fn user(&self, ctx: &Context<'_>, login: String) -> Result<Option<User>> {
        let found = ctx.look(|world| {
            let account = world.account_named(&login).filter(|one| one.kind == AccountKind::User)?;
            Some(User::new(world, account.id))
        });
        found
            .map(Some)
            .ok_or_else(|| Failure::not_found(format!("Could not resolve to a User with the login of '{login}'.")))
    }

    async fn viewer(&self, ctx: &Context<'_>) -> Result<User> {
        let actor = ctx.caller().actor()?;
        Ok(ctx.look(|world| User::new(world, actor)))
    }
}

#[derive(SimpleObject)]
struct RateLimit {
    cost: i32,
    limit: i32,
    node_count: i32,
    remaining: i32,
    reset_at: DateTime,
    used: i32,
}
