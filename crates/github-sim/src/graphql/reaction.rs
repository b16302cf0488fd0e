//! Reactions, and what can be reacted to.

use std::sync::Arc;

use async_graphql::{Context, ID, Interface, Object};

use super::actor::User;
use super::comment::IssueComment;
use super::connection::{PageInfo, Paging, Slice, connection};
use super::enums::{ReactionContent, ReactionOrder};
use super::issue::{Issue, is_viewer};
use super::pull::PullRequest;
use super::repository::Repository;
use super::review::{PullRequestReview, PullRequestReviewComment};
use super::scalars::{DateTime, database_id, int};
use super::{Ask, Failure, Result};
use crate::world::{self, NodeKind, ReactionSubject, World, node_id};

#[derive(Clone, Interface)]
#[graphql(
    field(name = "database_id", ty = "Option<i32>"),
    field(name = "id", ty = "ID"),
    field(name = "reaction_groups", ty = "Option<Vec<ReactionGroup>>"),
    field(
        name = "reactions",
        ty = "ReactionConnection",
        arg(name = "after", ty = "Option<String>"),
        arg(name = "before", ty = "Option<String>"),
        arg(name = "content", ty = "Option<ReactionContent>"),
        arg(name = "first", ty = "Option<i32>"),
        arg(name = "last", ty = "Option<i32>"),
        arg(name = "order_by", ty = "Option<ReactionOrder>")
    ),
    field(name = "viewer_can_react", ty = "bool")
)]
pub enum Reactable {
    Issue(Issue),
    PullRequest(PullRequest),
    IssueComment(IssueComment),
    PullRequestReview(PullRequestReview),
    PullRequestReviewComment(PullRequestReviewComment),
}

impl Reactable {
    pub fn find(world: &World, repo: &Repository, subject: ReactionSubject) -> Option<Self> {
        match subject {
            ReactionSubject::Issue(number) => match PullRequest::load(world, repo, number) {
                Some(pull) => Some(Self::PullRequest(pull)),
                None => Issue::load(world, repo, number).map(Self::Issue),
            },
            ReactionSubject::Comment(id) => IssueComment::load(world, repo, id).map(Self::IssueComment),
            ReactionSubject::ReviewComment(id) => {
                PullRequestReviewComment::load(world, repo, id).map(Self::PullRequestReviewComment)
            }
        }
    }
}

/// All reactions to something, in the order they were given.
fn all(ctx: &Context<'_>, repo: &Repository, subject: ReactionSubject) -> Vec<Reaction> {
    ctx.look(|world| {
        let given = world.reactions.within(repo.id).filter(|reaction| reaction.subject == subject);
        given.map(|reaction| Reaction::new(repo, reaction)).collect()
    })
}

pub fn reactions(
    ctx: &Context<'_>,
    paging: &Paging,
    repo: &Repository,
    subject: Option<ReactionSubject>,
    content: Option<ReactionContent>,
    order_by: Option<ReactionOrder>,
) -> Result<ReactionConnection> {
    let mut given = subject.map(|subject| all(ctx, repo, subject)).unwrap_or_default();
    given.retain(|reaction| content.is_none_or(|content| reaction.reaction.content == content.as_str()));
    if let Some(order) = order_by {
        order.direction.arrange(&mut given);
    }
    Ok(ReactionConnection(paging.of(given, |reaction| reaction.reaction.id)?))
}

/// One group for each way to react, in GitHub's order, also where nobody did.
pub fn groups(ctx: &Context<'_>, repo: &Repository, subject: Option<ReactionSubject>) -> Vec<ReactionGroup> {
    let given = subject.map(|subject| all(ctx, repo, subject)).unwrap_or_default();
    let group = |content: ReactionContent| ReactionGroup {
        content,
        given: given.iter().filter(|reaction| reaction.reaction.content == content.as_str()).cloned().collect(),
    };
    ReactionContent::ALL.into_iter().map(group).collect()
}

#[derive(Clone)]
pub struct Reaction {
    repo: Repository,
    reaction: Arc<world::Reaction>,
}

impl Reaction {
    pub fn new(repo: &Repository, reaction: &world::Reaction) -> Self {
        Self { repo: repo.clone(), reaction: Arc::new(reaction.clone()) }
    }
}

#[Object]
impl Reaction {
    async fn content(&self) -> ReactionContent {
        self.reaction.content.as_str().into()
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.reaction.created_at)
    }

    async fn database_id(&self) -> Option<i32> {
        database_id(self.reaction.id)
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Reaction, self.repo.id, self.reaction.id))
    }

    async fn reactable(&self, ctx: &Context<'_>) -> Result<Reactable> {
        ctx.look(|world| Reactable::find(world, &self.repo, self.reaction.subject))
            .ok_or_else(|| Failure::not_found("Could not resolve to a Reactable."))
    }

    async fn user(&self, ctx: &Context<'_>) -> Option<User> {
        ctx.look(|world| Some(User::new(world, self.reaction.user)))
    }
}

connection!(ReactionConnection, ReactionEdge, Reaction, {
    async fn viewer_has_reacted(&self, ctx: &Context<'_>) -> bool {
        self.0.items().any(|reaction| is_viewer(ctx, reaction.reaction.user))
    }
});

#[derive(Clone)]
pub struct ReactionGroup {
    content: ReactionContent,
    given: Vec<Reaction>,
}

#[Object]
impl ReactionGroup {
    async fn content(&self) -> ReactionContent {
        self.content
    }

    async fn created_at(&self) -> Option<DateTime> {
        self.given.first().map(|reaction| DateTime(reaction.reaction.created_at))
    }

    async fn users(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<ReactingUserConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let users = ctx.look(|world| self.given.iter().map(|one| User::new(world, one.reaction.user)).collect());
        Ok(ReactingUserConnection(paging.of(users, |user: &User| user.0.id)?))
    }

    async fn viewer_has_reacted(&self, ctx: &Context<'_>) -> bool {
        self.given.iter().any(|reaction| is_viewer(ctx, reaction.reaction.user))
    }
}

pub struct ReactingUserConnection(Slice<User>);

#[Object]
impl ReactingUserConnection {
    async fn nodes(&self) -> Option<Vec<Option<&User>>> {
        Some(self.0.items().map(Some).collect())
    }

    async fn page_info(&self) -> PageInfo {
        self.0.page_info()
    }

    async fn total_count(&self) -> i32 {
        int(self.0.total)
    }
}
