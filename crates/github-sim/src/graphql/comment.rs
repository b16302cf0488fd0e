//! Comments on issues and pull requests, and what every kind of comment has in common.

use std::sync::Arc;

use async_graphql::Context;
use jiff::Timestamp;

use super::connection::{Paging, connection};
use super::enums::IssueCommentOrder;
use super::issue::Issue;
use super::pull::PullRequest;
use super::repository::Repository;
use super::{Ask, Failure, Result};
use crate::http::Scope;
use crate::world::{self, Id, NodeKind, ReactionSubject, World};

/// Something somebody wrote.
pub struct Remark<'a> {
    pub repo: &'a Repository,
    pub kind: NodeKind,
    pub id: Id,
    pub author: Id,
    pub body: &'a str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub edited_at: Option<Timestamp>,
    /// Who made the last edit.
    pub editor: Option<Id>,
    pub published_at: Option<Timestamp>,
    /// Where it is: `/pull/7#issuecomment-8`.
    pub path: String,
    /// What reactions to it are to; a review cannot be reacted to here.
    pub subject: Option<ReactionSubject>,
    pub scope: Scope,
}

/// A type with the fields that every kind of comment has, from its `remark()`, and its own.
macro_rules! remark {
    ($type:ident { $($own:tt)* }) => {
        #[async_graphql::Object]
        impl $type {
            async fn author(&self, ctx: &Context<'_>) -> Option<$crate::graphql::actor::Actor> {
                ctx.look(|world| Some($crate::graphql::actor::Actor::new(world, self.remark().author)))
            }

            async fn author_association(
                &self,
                ctx: &Context<'_>,
            ) -> $crate::graphql::enums::CommentAuthorAssociation {
                let remark = self.remark();
                ctx.look(|world| $crate::present::author_association(world, remark.repo.id, remark.author).into())
            }

            async fn body(&self) -> &str {
                self.remark().body
            }

            #[graphql(name = "bodyHTML")]
            async fn body_html(&self) -> $crate::graphql::scalars::Html {
                let remark = self.remark();
                $crate::graphql::text::html(remark.body, remark.repo.full_name())
            }

            async fn body_text(&self) -> String {
                $crate::graphql::text::plain(self.remark().body)
            }

            async fn created_at(&self) -> $crate::graphql::scalars::DateTime {
                $crate::graphql::scalars::DateTime(self.remark().created_at)
            }

            async fn created_via_email(&self) -> bool {
                false
            }

            pub async fn database_id(&self) -> Option<i32> {
                $crate::graphql::scalars::database_id(self.remark().id)
            }

            async fn editor(&self, ctx: &Context<'_>) -> Option<$crate::graphql::actor::Actor> {
                let editor = self.remark().editor?;
                ctx.look(|world| Some($crate::graphql::actor::Actor::new(world, editor)))
            }

            async fn full_database_id(&self) -> Option<$crate::graphql::scalars::BigInt> {
                Some($crate::graphql::scalars::BigInt(self.remark().id.to_string()))
            }

            pub async fn id(&self) -> async_graphql::ID {
                let remark = self.remark();
                async_graphql::ID($crate::world::node_id(remark.kind, remark.repo.id, remark.id))
            }

            async fn includes_created_edit(&self) -> bool {
                self.remark().edited_at.is_some()
            }

            async fn is_minimized(&self) -> bool {
                false
            }

            async fn last_edited_at(&self) -> Option<$crate::graphql::scalars::DateTime> {
                self.remark().edited_at.map($crate::graphql::scalars::DateTime)
            }

            async fn minimized_reason(&self) -> Option<String> {
                None
            }

            async fn published_at(&self) -> Option<$crate::graphql::scalars::DateTime> {
                self.remark().published_at.map($crate::graphql::scalars::DateTime)
            }

            pub async fn reaction_groups(
                &self,
                ctx: &Context<'_>,
            ) -> Option<Vec<$crate::graphql::reaction::ReactionGroup>> {
                let remark = self.remark();
                Some($crate::graphql::reaction::groups(ctx, remark.repo, remark.subject))
            }

            pub async fn reactions(
                &self,
                ctx: &Context<'_>,
                after: Option<String>,
                before: Option<String>,
                content: Option<$crate::graphql::enums::ReactionContent>,
                first: Option<i32>,
                last: Option<i32>,
                order_by: Option<$crate::graphql::enums::ReactionOrder>,
            ) -> Result<$crate::graphql::reaction::ReactionConnection> {
                let paging = Paging::new(ctx, after, before, first, last)?;
                let remark = self.remark();
                $crate::graphql::reaction::reactions(ctx, &paging, remark.repo, remark.subject, content, order_by)
            }

            async fn repository(&self) -> &Repository {
                self.remark().repo
            }

            async fn resource_path(&self) -> $crate::graphql::scalars::Uri {
                let remark = self.remark();
                $crate::graphql::scalars::Uri(remark.repo.path(remark.path))
            }

            async fn updated_at(&self) -> $crate::graphql::scalars::DateTime {
                $crate::graphql::scalars::DateTime(self.remark().updated_at)
            }

            async fn url(&self, ctx: &Context<'_>) -> $crate::graphql::scalars::Uri {
                let remark = self.remark();
                remark.repo.url_of(ctx, remark.path)
            }

            async fn viewer_can_delete(&self, ctx: &Context<'_>) -> bool {
                self.remark().may_be_changed(ctx)
            }

            pub async fn viewer_can_react(&self, ctx: &Context<'_>) -> bool {
                self.remark().subject.is_some() && ctx.caller().actor().is_ok()
            }

            async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
                self.remark().may_be_changed(ctx)
            }

            async fn viewer_did_author(&self, ctx: &Context<'_>) -> bool {
                $crate::graphql::issue::is_viewer(ctx, self.remark().author)
            }

            $($own)*
        }
    };
}
pub(super) use remark;

impl Remark<'_> {
    /// By who wrote it, and by who may write to the repository.
    pub fn may_be_changed(&self, ctx: &Context<'_>) -> bool {
        super::issue::is_viewer(ctx, self.author) || self.repo.allows(ctx, self.scope, crate::http::Level::Write)
    }
}

#[derive(Clone)]
pub struct IssueComment {
    pub repo: Repository,
    pub comment: Arc<world::Comment>,
    on_pull: bool,
}

impl IssueComment {
    pub fn load(world: &World, repo: &Repository, id: Id) -> Option<Self> {
        let comment = Arc::new(world.comments.get(repo.id, id)?.clone());
        let on_pull = world.pulls.get(repo.id, comment.number).is_some();
        Some(Self { repo: repo.clone(), comment, on_pull })
    }

    pub fn remark(&self) -> Remark<'_> {
        let comment = &self.comment;
        let (kind, scope) = if self.on_pull { ("pull", Scope::PullRequests) } else { ("issues", Scope::Issues) };
        Remark {
            repo: &self.repo,
            kind: NodeKind::IssueComment,
            id: comment.id,
            author: comment.author,
            body: &comment.body,
            created_at: comment.created_at,
            updated_at: comment.updated_at,
            edited_at: comment.editor.map(|_| comment.updated_at),
            editor: comment.editor,
            published_at: Some(comment.created_at),
            path: format!("/{kind}/{}#issuecomment-{}", comment.number, comment.id),
            subject: Some(ReactionSubject::Comment(comment.id)),
            scope,
        }
    }
}

remark!(IssueComment {
    async fn issue(&self, ctx: &Context<'_>) -> Result<Issue> {
        ctx.look(|world| Issue::load_any(world, &self.repo, self.comment.number))
            .ok_or_else(|| Failure::not_found("Could not resolve to an Issue."))
    }

    async fn pull_request(&self, ctx: &Context<'_>) -> Result<Option<PullRequest>> {
        if !self.on_pull {
            return Ok(None);
        }
        Ok(PullRequest::settled(ctx, &self.repo, &[self.comment.number]).await?.pop())
    }
});

connection!(IssueCommentConnection, IssueCommentEdge, IssueComment);

/// The comments on an issue or pull request.
pub fn comments(
    ctx: &Context<'_>,
    paging: &Paging,
    repo: &Repository,
    number: u64,
    order_by: Option<IssueCommentOrder>,
) -> Result<IssueCommentConnection> {
    ctx.look(|world| {
        let mut found: Vec<&world::Comment> =
            world.comments.within(repo.id).filter(|comment| comment.number == number).collect();
        if let Some(order) = order_by {
            found.sort_by_key(|comment| (comment.updated_at, comment.id));
            order.direction.arrange(&mut found);
        }
        let page = paging.of(found, |comment| comment.id)?;
        Ok(IssueCommentConnection(page.filter_map(|comment| IssueComment::load(world, repo, comment.id))))
    })
}
