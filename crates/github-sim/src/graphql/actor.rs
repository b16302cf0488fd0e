//! Who acts: users, bots, organizations.

use std::sync::Arc;

use async_graphql::{Context, ID, Interface, Object};

use super::connection::{Paging, connection};
use super::enums::RepositoryVisibility;
use super::never::Mannequin;
use super::repository::{Repository, RepositoryConnection, repositories_of};
use super::scalars::{DateTime, Uri, database_id};
use super::{Ask, Result};
use crate::world::{Account, AccountKind, Id, NodeKind, World, node_id};

#[derive(Clone, Interface)]
#[graphql(
    field(name = "avatar_url", ty = "Uri", arg(name = "size", ty = "Option<i32>")),
    field(name = "login", ty = "String"),
    field(name = "resource_path", ty = "Uri"),
    field(name = "url", ty = "Uri")
)]
pub enum Actor {
    User(User),
    Bot(Bot),
    Organization(Organization),
    Mannequin(Mannequin),
}

impl Actor {
    pub fn new(world: &World, id: Id) -> Self {
        let account = Arc::new(world.account(id).clone());
        match account.kind {
            AccountKind::User => Self::User(User(account)),
            AccountKind::Bot => Self::Bot(Bot(account)),
            AccountKind::Organization => Self::Organization(Organization(account)),
        }
    }
}

#[derive(Clone, Interface)]
#[graphql(
    field(name = "avatar_url", ty = "Uri", arg(name = "size", ty = "Option<i32>")),
    field(name = "id", ty = "ID"),
    field(name = "login", ty = "String"),
    field(
        name = "repository",
        ty = "Option<Repository>",
        arg(name = "follow_renames", ty = "Option<bool>", default_with = "Some(true)"),
        arg(name = "name", ty = "String")
    ),
    field(name = "resource_path", ty = "Uri"),
    field(name = "url", ty = "Uri")
)]
pub enum RepositoryOwner {
    User(User),
    Organization(Organization),
}

impl RepositoryOwner {
    pub fn new(world: &World, id: Id) -> Self {
        let account = Arc::new(world.account(id).clone());
        match account.kind {
            AccountKind::Organization => Self::Organization(Organization(account)),
            _ => Self::User(User(account)),
        }
    }
}

fn avatar(ctx: &Context<'_>, account: &Account) -> Uri {
    Uri(ctx.sim().urls().web(format!("/avatars/u/{}?v=4", account.id)))
}

fn profile_path(account: &Account) -> String {
    match account.login.strip_suffix("[bot]") {
        Some(slug) => format!("/apps/{slug}"),
        None => format!("/{}", account.login),
    }
}

#[derive(Clone)]
pub struct User(pub Arc<Account>);

impl User {
    pub fn new(world: &World, id: Id) -> Self {
        Self(Arc::new(world.account(id).clone()))
    }
}

#[Object]
impl User {
    pub async fn avatar_url(&self, ctx: &Context<'_>, size: Option<i32>) -> Uri {
        let _ = size;
        avatar(ctx, &self.0)
    }

    async fn bio(&self) -> Option<String> {
        None
    }

    async fn company(&self) -> Option<String> {
        None
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.0.id)
    }

    async fn email(&self) -> String {
        self.0.email.clone().unwrap_or_default()
    }

    pub async fn id(&self) -> ID {
        let kind = if self.0.kind == AccountKind::Bot { NodeKind::Bot } else { NodeKind::User };
        ID(node_id(kind, 0, self.0.id))
    }

    async fn is_site_admin(&self) -> bool {
        self.0.site_admin
    }

    async fn is_viewer(&self, ctx: &Context<'_>) -> bool {
        ctx.caller().actor().is_ok_and(|actor| actor == self.0.id)
    }

    async fn location(&self) -> Option<String> {
        None
    }

    pub async fn login(&self) -> String {
        self.0.login.clone()
    }

    async fn name(&self) -> Option<String> {
        self.0.name.clone()
    }

    async fn organizations(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<OrganizationConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let mine = ctx.look(|world| {
            let all = world.accounts.all().filter(|account| account.members.contains_key(&self.0.id));
            all.map(|account| Organization(Arc::new(account.clone()))).collect()
        });
        Ok(OrganizationConnection(paging.of(mine, |one: &Organization| one.0.id)?))
    }

    async fn repositories(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        is_archived: Option<bool>,
        is_fork: Option<bool>,
        visibility: Option<RepositoryVisibility>,
    ) -> Result<RepositoryConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        repositories_of(ctx, self.0.id, &paging, is_archived, is_fork, visibility)
    }

    pub async fn repository(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(true)")] follow_renames: Option<bool>,
        name: String,
    ) -> Result<Option<Repository>> {
        let _ = follow_renames;
        Repository::named(ctx, &self.0.login, &name).map(Some)
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(profile_path(&self.0))
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        Uri(ctx.sim().urls().web(profile_path(&self.0)))
    }
}

#[derive(Clone)]
pub struct Bot(pub Arc<Account>);

#[Object]
impl Bot {
    pub async fn avatar_url(&self, ctx: &Context<'_>, size: Option<i32>) -> Uri {
        let _ = size;
        avatar(ctx, &self.0)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.0.id)
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Bot, 0, self.0.id))
    }

    /// Without the `[bot]` that REST adds.
    pub async fn login(&self) -> String {
        self.0.login.trim_end_matches("[bot]").to_owned()
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(profile_path(&self.0))
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        Uri(ctx.sim().urls().web(profile_path(&self.0)))
    }
}

#[derive(Clone)]
pub struct Organization(pub Arc<Account>);

#[Object]
impl Organization {
    pub async fn avatar_url(&self, ctx: &Context<'_>, size: Option<i32>) -> Uri {
        let _ = size;
        avatar(ctx, &self.0)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.0.id)
    }

    async fn description(&self) -> Option<String> {
        None
    }

    async fn email(&self) -> Option<String> {
        self.0.email.clone()
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Organization, 0, self.0.id))
    }

    pub async fn login(&self) -> String {
        self.0.login.clone()
    }

    async fn name(&self) -> Option<String> {
        self.0.name.clone()
    }

    async fn repositories(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        is_archived: Option<bool>,
        is_fork: Option<bool>,
        visibility: Option<RepositoryVisibility>,
    ) -> Result<RepositoryConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        repositories_of(ctx, self.0.id, &paging, is_archived, is_fork, visibility)
    }

    pub async fn repository(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(true)")] follow_renames: Option<bool>,
        name: String,
    ) -> Result<Option<Repository>> {
        let _ = follow_renames;
        Repository::named(ctx, &self.0.login, &name).map(Some)
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(profile_path(&self.0))
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        Uri(ctx.sim().urls().web(profile_path(&self.0)))
    }

    async fn viewer_is_a_member(&self, ctx: &Context<'_>) -> bool {
        ctx.caller().actor().is_ok_and(|actor| self.0.members.contains_key(&actor))
    }
}

connection!(UserConnection, UserEdge, User);
connection!(OrganizationConnection, OrganizationEdge, Organization);
