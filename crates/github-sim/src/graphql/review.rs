//! Reviews, review comments and their threads.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::actor::User;
use super::comment::{Remark, remark};
use super::commit::Commit;
use super::connection::{Paging, connection};
use super::enums::{
    DiffSide, PullRequestReviewCommentState, PullRequestReviewState, PullRequestReviewThreadSubjectType,
};
use super::issue::is_viewer;
use super::pull::PullRequest;
use super::repository::Repository;
use super::scalars::{DateTime, int};
use super::{Ask, Failure, Result};
use crate::http::{Caller, Level, Scope};
use crate::reviews::is_shown;
use crate::world::{self, AccountKind, Id, NodeKind, ReactionSubject, ReviewState, World, node_id};

/// The pull request that something belongs to. It cannot be gone: pull requests are never deleted.
async fn pull_of(ctx: &Context<'_>, repo: &Repository, number: u64) -> Result<PullRequest> {
    let found = PullRequest::settled(ctx, repo, &[number]).await?.pop();
    found.ok_or_else(|| Failure::not_found("Could not resolve to a PullRequest."))
}

/// A pending review is its author's alone.
fn sees(caller: &Caller, review: &world::Review) -> bool {
    review.state != ReviewState::Pending || caller.actor().is_ok_and(|actor| actor == review.author)
}

#[derive(Clone)]
pub struct PullRequestReview {
    pub repo: Repository,
    pub review: Arc<world::Review>,
}

impl PullRequestReview {
    /// Not one that the caller may not see.
    pub fn load(world: &World, caller: &Caller, repo: &Repository, id: Id) -> Option<Self> {
        let review = world.reviews.get(repo.id, id).filter(|review| sees(caller, review))?;
        Some(Self { repo: repo.clone(), review: Arc::new(review.clone()) })
    }

    /// Those of a pull request that the caller may see, as they were submitted, pending ones last.
    pub fn all(ctx: &Context<'_>, repo: &Repository, number: u64) -> Vec<Self> {
        let mut found: Vec<Self> = ctx.look(|world| {
            let all = world.reviews.within(repo.id).filter(|review| review.number == number);
            let seen = all.filter(|review| sees(ctx.caller(), review));
            seen.map(|review| Self { repo: repo.clone(), review: Arc::new(review.clone()) }).collect()
        });
        found.sort_by_key(|one| (one.review.submitted_at.is_none(), one.review.submitted_at, one.review.id));
        found
    }

    /// The last of each reviewer among those that `count`.
    pub fn latest(mut all: Vec<Self>, count: impl Fn(&world::Review) -> bool) -> Vec<Self> {
        all.retain(|one| count(&one.review));
        let mut latest: Vec<Self> = Vec::new();
        for review in all {
            latest.retain(|known| known.review.author != review.review.author);
            latest.push(review);
        }
        latest
    }

    pub fn key(&self) -> u64 {
        self.review.id
    }

    pub fn remark(&self) -> Remark<'_> {
        let review = &self.review;
        Remark {
            repo: &self.repo,
            kind: NodeKind::Review,
            id: review.id,
            author: review.author,
            body: &review.body,
            created_at: review.created_at,
            updated_at: review.updated_at,
            edited_at: review.edited.map(|(at, _)| at),
            editor: review.edited.map(|(_, by)| by),
            published_at: review.submitted_at,
            path: format!("/pull/{}#pullrequestreview-{}", review.number, review.id),
            subject: None,
            scope: Scope::PullRequests,
        }
    }
}

remark!(PullRequestReview {
    async fn author_can_push_to_repository(&self, ctx: &Context<'_>) -> bool {
        ctx.look(|world| {
            world.account(self.review.author).kind == AccountKind::Bot
                || crate::http::role_of(world, &self.repo, self.review.author)
                    .is_some_and(|role| role >= world::RepoRole::Write)
        })
    }

    async fn comments(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<PullRequestReviewCommentConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        review_comments(ctx, &paging, &self.repo, |comment| comment.review == self.review.id)
    }

    async fn commit(&self) -> Option<Commit> {
        Some(Commit::new(&self.repo, &self.review.commit))
    }

    async fn pull_request(&self, ctx: &Context<'_>) -> Result<PullRequest> {
        pull_of(ctx, &self.repo, self.review.number).await
    }

    async fn state(&self) -> PullRequestReviewState {
        self.review.state.into()
    }

    async fn submitted_at(&self) -> Option<DateTime> {
        self.review.submitted_at.map(DateTime)
    }
});

connection!(PullRequestReviewConnection, PullRequestReviewEdge, PullRequestReview);

#[derive(Clone)]
pub struct PullRequestReviewComment {
    pub repo: Repository,
    pub comment: Arc<world::ReviewComment>,
}

impl PullRequestReviewComment {
    pub fn load(world: &World, repo: &Repository, id: Id) -> Option<Self> {
        let comment = world.review_comments.get(repo.id, id)?;
        Some(Self { repo: repo.clone(), comment: Arc::new(comment.clone()) })
    }

    /// Not one of somebody else's pending review.
    pub fn seen(world: &World, caller: &Caller, repo: &Repository, id: Id) -> Option<Self> {
        let own = |author| caller.actor().is_ok_and(|actor| actor == author);
        Self::load(world, repo, id).filter(|one| is_shown(world, &one.comment) || own(one.comment.author))
    }

    pub fn remark(&self) -> Remark<'_> {
        let comment = &self.comment;
        Remark {
            repo: &self.repo,
            kind: NodeKind::ReviewComment,
            id: comment.id,
            author: comment.author,
            body: &comment.body,
            created_at: comment.created_at,
            updated_at: comment.updated_at,
            edited_at: (comment.updated_at > comment.created_at).then_some(comment.updated_at),
            editor: (comment.updated_at > comment.created_at).then_some(comment.author),
            published_at: Some(comment.created_at),
            path: format!("/pull/{}#discussion_r{}", comment.number, comment.id),
            subject: Some(ReactionSubject::ReviewComment(comment.id)),
            scope: Scope::PullRequests,
        }
    }
}

remark!(PullRequestReviewComment {
    async fn commit(&self) -> Option<Commit> {
        Some(Commit::new(&self.repo, &self.comment.commit))
    }

    async fn diff_hunk(&self) -> &str {
        &self.comment.diff_hunk
    }

    async fn drafted_at(&self) -> DateTime {
        DateTime(self.comment.created_at)
    }

    async fn line(&self) -> Option<i32> {
        self.comment.line.map(int)
    }

    async fn original_commit(&self) -> Option<Commit> {
        Some(Commit::new(&self.repo, &self.comment.original_commit))
    }

    async fn original_line(&self) -> Option<i32> {
        self.comment.original_line.map(int)
    }

    async fn original_start_line(&self) -> Option<i32> {
        self.comment.original_start_line.map(int)
    }

    async fn outdated(&self) -> bool {
        self.comment.line.is_none() && self.comment.original_line.is_some()
    }

    async fn path(&self) -> &str {
        &self.comment.path
    }

    async fn pull_request(&self, ctx: &Context<'_>) -> Result<PullRequest> {
        pull_of(ctx, &self.repo, self.comment.number).await
    }

    async fn pull_request_review(&self, ctx: &Context<'_>) -> Option<PullRequestReview> {
        ctx.look(|world| PullRequestReview::load(world, ctx.caller(), &self.repo, self.comment.review))
    }

    async fn reply_to(&self, ctx: &Context<'_>) -> Option<PullRequestReviewComment> {
        let to = self.comment.in_reply_to?;
        ctx.look(|world| PullRequestReviewComment::load(world, &self.repo, to))
    }

    async fn start_line(&self) -> Option<i32> {
        self.comment.start_line.map(int)
    }

    async fn state(&self, ctx: &Context<'_>) -> PullRequestReviewCommentState {
        if ctx.look(|world| is_shown(world, &self.comment)) {
            PullRequestReviewCommentState::Submitted
        } else {
            PullRequestReviewCommentState::Pending
        }
    }

    async fn subject_type(&self) -> PullRequestReviewThreadSubjectType {
        self.comment.subject_type.as_str().into()
    }
});

connection!(PullRequestReviewCommentConnection, PullRequestReviewCommentEdge, PullRequestReviewComment);

/// Those that are `among` what is asked for and that the caller may see.
fn review_comments(
    ctx: &Context<'_>,
    paging: &Paging,
    repo: &Repository,
    among: impl Fn(&world::ReviewComment) -> bool,
) -> Result<PullRequestReviewCommentConnection> {
    ctx.look(|world| {
        let found: Vec<&world::ReviewComment> = world
            .review_comments
            .within(repo.id)
            .filter(|comment| among(comment) && (is_shown(world, comment) || is_viewer(ctx, comment.author)))
            .collect();
        let page = paging.of(found, |comment| comment.id)?;
        Ok(PullRequestReviewCommentConnection(
            page.filter_map(|comment| PullRequestReviewComment::load(world, repo, comment.id)),
        ))
    })
}

#[derive(Clone)]
pub struct PullRequestReviewThread {
    repo: Repository,
    thread: Arc<world::ReviewThread>,
    /// The comment that began it, which knows where it stands.
    first: Arc<world::ReviewComment>,
}

impl PullRequestReviewThread {
    /// Not one of which the caller may see no comment.
    pub fn load(world: &World, caller: &Caller, repo: &Repository, id: Id) -> Option<Self> {
        let thread = world.review_threads.get(repo.id, id)?;
        let first = world.review_comments.within(repo.id).find(|comment| comment.thread == id)?;
        let own = caller.actor().is_ok_and(|actor| actor == first.author);
        (own || is_shown(world, first)).then(|| Self {
            repo: repo.clone(),
            thread: Arc::new(thread.clone()),
            first: Arc::new(first.clone()),
        })
    }

    pub fn all(ctx: &Context<'_>, repo: &Repository, number: u64) -> Vec<Self> {
        ctx.look(|world| {
            let threads = world.review_threads.within(repo.id).filter(|thread| thread.number == number);
            threads.filter_map(|thread| Self::load(world, ctx.caller(), repo, thread.id)).collect()
        })
    }

    pub fn key(&self) -> u64 {
        self.thread.id
    }

    fn may_be_resolved(&self, ctx: &Context<'_>) -> bool {
        let author = ctx.look(|world| world.issues.get(self.repo.id, self.thread.number).map(|issue| issue.author));
        author.is_some_and(|author| is_viewer(ctx, author)) || self.repo.allows(ctx, Scope::PullRequests, Level::Write)
    }
}

#[Object]
impl PullRequestReviewThread {
    async fn comments(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        skip: Option<i32>,
    ) -> Result<PullRequestReviewCommentConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?.skipping(skip);
        review_comments(ctx, &paging, &self.repo, |comment| comment.thread == self.thread.id)
    }

    async fn diff_side(&self) -> DiffSide {
        self.thread.side.into()
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::ReviewThread, self.repo.id, self.thread.id))
    }

    async fn is_collapsed(&self) -> bool {
        self.thread.resolved_by.is_some() || self.thread.outdated
    }

    async fn is_outdated(&self) -> bool {
        self.thread.outdated
    }

    async fn is_resolved(&self) -> bool {
        self.thread.resolved_by.is_some()
    }

    async fn line(&self) -> Option<i32> {
        self.thread.line.map(int)
    }

    async fn original_line(&self) -> Option<i32> {
        self.thread.original_line.map(int)
    }

    async fn original_start_line(&self) -> Option<i32> {
        self.first.original_start_line.map(int)
    }

    async fn path(&self) -> &str {
        &self.thread.path
    }

    async fn pull_request(&self, ctx: &Context<'_>) -> Result<PullRequest> {
        pull_of(ctx, &self.repo, self.thread.number).await
    }

    async fn repository(&self) -> &Repository {
        &self.repo
    }

    async fn resolved_by(&self, ctx: &Context<'_>) -> Option<User> {
        let by = self.thread.resolved_by?;
        ctx.look(|world| Some(User::new(world, by)))
    }

    async fn start_diff_side(&self) -> Option<DiffSide> {
        self.first.start_side.map(Into::into)
    }

    async fn start_line(&self) -> Option<i32> {
        self.first.start_line.map(int)
    }

    async fn subject_type(&self) -> PullRequestReviewThreadSubjectType {
        self.first.subject_type.as_str().into()
    }

    async fn viewer_can_reply(&self, ctx: &Context<'_>) -> bool {
        self.repo.allows(ctx, Scope::PullRequests, Level::Participate)
    }

    async fn viewer_can_resolve(&self, ctx: &Context<'_>) -> bool {
        self.thread.resolved_by.is_none() && self.may_be_resolved(ctx)
    }

    async fn viewer_can_unresolve(&self, ctx: &Context<'_>) -> bool {
        self.thread.resolved_by.is_some() && self.may_be_resolved(ctx)
    }
}

connection!(PullRequestReviewThreadConnection, PullRequestReviewThreadEdge, PullRequestReviewThread);
