//! Statuses: what was reported about a commit the older way.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::actor::Actor;
use super::check::{PullNamed, StatusCheckRollupContext, StatusCheckRollupContextConnection, is_required};
use super::commit::Commit;
use super::connection::Paging;
use super::enums::StatusState;
use super::repository::Repository;
use super::scalars::{DateTime, Uri};
use super::{Ask, Result};
use crate::rollup::{self, RollupState};
use crate::world::{self, NodeKind, named_node_id, node_id};

#[derive(Clone)]
pub struct Status {
    commit: Commit,
    state: RollupState,
    contexts: Vec<StatusContext>,
}

impl Status {
    pub fn of(ctx: &Context<'_>, commit: &Commit) -> Option<Self> {
        ctx.look(|world| {
            let mut statuses = rollup::contexts(world, commit.repo.id, &commit.sha);
            statuses.retain(|context| matches!(context, rollup::Context::Status(_)));
            let state = rollup::state(&statuses)?;
            let contexts = statuses.iter().filter_map(|context| match context {
                rollup::Context::Status(status) => Some(StatusContext::new(&commit.repo, status)),
                rollup::Context::Run(_) => None,
            });
            Some(Self { commit: commit.clone(), state, contexts: contexts.collect() })
        })
    }
}

#[Object]
impl Status {
    async fn combined_contexts(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<StatusCheckRollupContextConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let all = ctx.look(|world| {
            let all = rollup::contexts(world, self.commit.repo.id, &self.commit.sha);
            all.into_iter().map(|context| StatusCheckRollupContext::new(&self.commit.repo, context)).collect()
        });
        StatusCheckRollupContextConnection::new(&paging, all)
    }

    async fn commit(&self) -> Option<&Commit> {
        Some(&self.commit)
    }

    async fn context(&self, name: String) -> Option<&StatusContext> {
        self.contexts.iter().find(|context| context.status.context == name)
    }

    async fn contexts(&self) -> &[StatusContext] {
        &self.contexts
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::Status, self.commit.repo.id, &self.commit.sha))
    }

    async fn state(&self) -> StatusState {
        self.state.into()
    }
}

#[derive(Clone)]
pub struct StatusContext {
    repo: Repository,
    pub status: Arc<world::CommitStatus>,
}

impl StatusContext {
    pub fn new(repo: &Repository, status: &world::CommitStatus) -> Self {
        Self { repo: repo.clone(), status: Arc::new(status.clone()) }
    }

    pub fn state(&self) -> StatusState {
        rollup::Context::Status(&self.status).state().into()
    }
}

#[Object]
impl StatusContext {
    async fn commit(&self) -> Option<Commit> {
        Some(Commit::new(&self.repo, &self.status.sha))
    }

    async fn context(&self) -> &str {
        &self.status.context
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.status.created_at)
    }

    async fn creator(&self, ctx: &Context<'_>) -> Option<Actor> {
        ctx.look(|world| Some(Actor::new(world, self.status.creator)))
    }

    async fn description(&self) -> Option<&str> {
        self.status.description.as_deref()
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::StatusContext, self.repo.id, self.status.id))
    }

    async fn is_required(
        &self,
        ctx: &Context<'_>,
        pull_request_id: Option<ID>,
        pull_request_number: Option<i32>,
    ) -> Result<bool> {
        let pull = PullNamed::new(pull_request_id, pull_request_number)?;
        is_required(ctx, &self.repo, &pull, &self.status.context, None)
    }

    #[graphql(name = "state")]
    async fn graphql_state(&self) -> StatusState {
        self.state()
    }

    async fn target_url(&self) -> Option<Uri> {
        self.status.target_url.clone().filter(|url| !url.is_empty()).map(Uri)
    }
}
