//! The timeline of a pull request, as far as clients ask for it: that somebody forced its branch elsewhere.

use async_graphql::{Context, Enum, ID, Object, Union};

use super::PullRequest;
use crate::graphql::actor::Actor;
use crate::graphql::commit::Commit;
use crate::graphql::connection::{Paging, Slice, connection};
use crate::graphql::scalars::DateTime;
use crate::graphql::{Ask, Result};
use crate::world::{IssueEvent, NodeKind, node_id};

#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestTimelineItemsItemType {
    HeadRefForcePushedEvent,
}

#[derive(Clone)]
pub struct HeadRefForcePushedEvent {
    pull: PullRequest,
    event: IssueEvent,
}

impl HeadRefForcePushedEvent {
    fn commit(&self, key: &str) -> Option<Commit> {
        self.event.details[key].as_str().map(|sha| Commit::new(&self.pull.repo, sha))
    }
}

#[Object]
impl HeadRefForcePushedEvent {
    async fn actor(&self, ctx: &Context<'_>) -> Option<Actor> {
        Some(ctx.look(|world| Actor::new(world, self.event.actor)))
    }

    async fn after_commit(&self) -> Option<Commit> {
        self.commit("commit_id")
    }

    async fn before_commit(&self) -> Option<Commit> {
        self.commit("before")
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.event.created_at)
    }

    async fn id(&self) -> ID {
        ID(node_id(NodeKind::IssueEvent, self.event.repo, self.event.id))
    }

    async fn pull_request(&self) -> &PullRequest {
        &self.pull
    }
}

#[derive(Clone, Union)]
pub enum PullRequestTimelineItems {
    HeadRefForcePushedEvent(HeadRefForcePushedEvent),
}

connection!(PullRequestTimelineItemsConnection, PullRequestTimelineItemsEdge, PullRequestTimelineItems);

impl PullRequestTimelineItemsConnection {
    /// Oldest first.
    pub fn force_pushes(ctx: &Context<'_>, pull: &PullRequest, paging: &Paging) -> Result<Self> {
        let forced: Vec<IssueEvent> = ctx.look(|world| {
            let events = world.issue_events.within(pull.repo.id);
            let own = events.filter(|event| event.number == pull.pull.number && event.event == "head_ref_force_pushed");
            own.cloned().collect()
        });
        let page: Slice<IssueEvent> = paging.of(forced, |event| event.id)?;
        let item = |event| HeadRefForcePushedEvent { pull: pull.clone(), event };
        Ok(Self(page.filter_map(|event| Some(PullRequestTimelineItems::HeadRefForcePushedEvent(item(event))))))
    }
}
