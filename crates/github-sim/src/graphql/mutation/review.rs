//! Reviews and review threads.

use async_graphql::{Context, ID, InputObject, Object};

use super::{change, input, locate, locate_pull, payload, permit, permit_author};
use crate::graphql::connection::Member;
use crate::graphql::enums::{DiffSide, PullRequestReviewEvent};
use crate::graphql::pull::PullRequest;
use crate::graphql::repository::Repository;
use crate::graphql::review::{
    PullRequestReview, PullRequestReviewComment, PullRequestReviewEdge, PullRequestReviewThread,
};
use crate::graphql::scalars::Oid;
use crate::graphql::{Ask, Failure, Result};
use crate::http::{Level, Scope};
use crate::reviews::{self, NewComment, NewReview, Place, ReviewedDiff, Verdict};
use crate::world::{Id, NodeKind, ReviewState};

#[derive(Default)]
pub struct ReviewMutation;

#[Object]
impl ReviewMutation {
    async fn add_pull_request_review(
        &self,
        ctx: &Context<'_>,
        input: AddPullRequestReviewInput,
    ) -> Result<Option<AddPullRequestReviewPayload>> {
        let pull = locate_pull(ctx, &input.pull_request_id)?;
        let actor = permit(ctx, &pull.repo, Scope::PullRequests, Level::Participate)?;
        let verdict = input.event.map(verdict).transpose()?;
        let drafts = drafts(input.comments.unwrap_or_default(), input.threads.unwrap_or_default());
        let commit = input.commit_oid.map_or_else(|| pull.pull.head_sha.clone(), |oid| oid.0);
        let comments = place(ctx, &pull, &commit, drafts).await?;
        let new = NewReview { body: input.body.unwrap_or_default(), commit, comments };
        let (repo, number) = (pull.repo.id, pull.pull.number);
        let id = change(ctx, |world| match verdict {
            Some(verdict) => reviews::give(world, actor, repo, number, new, verdict),
            None => reviews::begin(world, actor, repo, number, new),
        })?;
        let review = ctx.look(|world| PullRequestReview::load(world, ctx.caller(), &pull.repo, id));
        Ok(Some(AddPullRequestReviewPayload {
            client_mutation_id: input.client_mutation_id,
            pull_request_review: review.clone(),
            review_edge: review.map(|item| PullRequestReviewEdge(Member::alone(item, id))),
        }))
    }

    async fn add_pull_request_review_thread_reply(
        &self,
        ctx: &Context<'_>,
        input: AddPullRequestReviewThreadReplyInput,
    ) -> Result<Option<AddPullRequestReviewThreadReplyPayload>> {
        let (repo, thread) = locate_thread(ctx, &input.pull_request_review_thread_id)?;
        let actor = permit(ctx, &repo, Scope::PullRequests, Level::Participate)?;
        let id = change(ctx, |world| reviews::reply(world, actor, repo.id, thread, &input.body))?;
        Ok(Some(AddPullRequestReviewThreadReplyPayload {
            client_mutation_id: input.client_mutation_id,
            comment: ctx.look(|world| PullRequestReviewComment::load(world, &repo, id)),
        }))
    }

    async fn dismiss_pull_request_review(
        &self,
        ctx: &Context<'_>,
        input: DismissPullRequestReviewInput,
    ) -> Result<Option<DismissPullRequestReviewPayload>> {
        let review = locate_review(ctx, &input.pull_request_review_id)?;
        let actor = permit(ctx, &review.repo, Scope::PullRequests, Level::Write)?;
        let (repo, id) = (&review.repo, review.review.id);
        change(ctx, |world| reviews::dismiss(world, actor, repo.id, id, &input.message))?;
        Ok(Some(DismissPullRequestReviewPayload {
            client_mutation_id: input.client_mutation_id,
            pull_request_review: ctx.look(|world| PullRequestReview::load(world, ctx.caller(), repo, id)),
        }))
    }

    async fn resolve_review_thread(
        &self,
        ctx: &Context<'_>,
        input: ResolveReviewThreadInput,
    ) -> Result<Option<ResolveReviewThreadPayload>> {
        let thread = set_resolved(ctx, &input.thread_id, true)?;
        Ok(Some(ResolveReviewThreadPayload { client_mutation_id: input.client_mutation_id, thread }))
    }

    async fn submit_pull_request_review(
        &self,
        ctx: &Context<'_>,
        input: SubmitPullRequestReviewInput,
    ) -> Result<Option<SubmitPullRequestReviewPayload>> {
        let review = match (&input.pull_request_review_id, &input.pull_request_id) {
            (Some(id), _) => locate_review(ctx, id)?,
            (None, Some(id)) => pending_review(ctx, &locate_pull(ctx, id)?)?,
            (None, None) => return Err(Failure::unprocessable("A pull request or a pull request review is required.")),
        };
        let actor = permit(ctx, &review.repo, Scope::PullRequests, Level::Participate)?;
        if actor != review.review.author {
            return Err(ctx.look(|world| super::forbidden(ctx, world)));
        }
        let (repo, id, verdict) = (&review.repo, review.review.id, verdict(input.event)?);
        change(ctx, |world| reviews::submit(world, actor, repo.id, id, verdict, input.body.as_deref()))?;
        Ok(Some(SubmitPullRequestReviewPayload {
            client_mutation_id: input.client_mutation_id,
            pull_request_review: ctx.look(|world| PullRequestReview::load(world, ctx.caller(), repo, id)),
        }))
    }

    async fn unresolve_review_thread(
        &self,
        ctx: &Context<'_>,
        input: UnresolveReviewThreadInput,
    ) -> Result<Option<UnresolveReviewThreadPayload>> {
        let thread = set_resolved(ctx, &input.thread_id, false)?;
        Ok(Some(UnresolveReviewThreadPayload { client_mutation_id: input.client_mutation_id, thread }))
    }
}

input!(AddPullRequestReviewInput {
    body: Option<String>,
    comments: Option<Vec<Option<DraftPullRequestReviewComment>>>,
    #[graphql(name = "commitOID")]
    commit_oid: Option<Oid>,
    event: Option<PullRequestReviewEvent>,
    pull_request_id: ID,
    threads: Option<Vec<Option<DraftPullRequestReviewThread>>>,
});
payload!(AddPullRequestReviewPayload { pull_request_review: PullRequestReview, review_edge: PullRequestReviewEdge });
input!(AddPullRequestReviewThreadReplyInput {
    body: String,
    pull_request_review_id: Option<ID>,
    pull_request_review_thread_id: ID,
});
payload!(AddPullRequestReviewThreadReplyPayload { comment: PullRequestReviewComment });
input!(DismissPullRequestReviewInput { message: String, pull_request_review_id: ID });
payload!(DismissPullRequestReviewPayload { pull_request_review: PullRequestReview });
input!(ResolveReviewThreadInput { thread_id: ID });
payload!(ResolveReviewThreadPayload { thread: PullRequestReviewThread });
input!(SubmitPullRequestReviewInput {
    body: Option<String>,
    event: PullRequestReviewEvent,
    pull_request_id: Option<ID>,
    pull_request_review_id: Option<ID>,
});
payload!(SubmitPullRequestReviewPayload { pull_request_review: PullRequestReview });
input!(UnresolveReviewThreadInput { thread_id: ID });
payload!(UnresolveReviewThreadPayload { thread: PullRequestReviewThread });

#[derive(InputObject)]
struct DraftPullRequestReviewComment {
    body: String,
    path: String,
    position: i32,
}

#[derive(InputObject)]
struct DraftPullRequestReviewThread {
    body: String,
    line: i32,
    path: String,
    #[graphql(default_with = "Some(DiffSide::Right)")]
    side: Option<DiffSide>,
    start_line: Option<i32>,
    #[graphql(default_with = "Some(DiffSide::Right)")]
    start_side: Option<DiffSide>,
}

fn verdict(event: PullRequestReviewEvent) -> Result<Verdict> {
    match event {
        PullRequestReviewEvent::Approve => Ok(Verdict::Approve),
        PullRequestReviewEvent::Comment => Ok(Verdict::Comment),
        PullRequestReviewEvent::RequestChanges => Ok(Verdict::RequestChanges),
        PullRequestReviewEvent::Dismiss => Err(Failure::unprocessable("Can not dismiss a pending pull request review")),
    }
}

/// Where each comment is to stand, and what it says.
fn drafts(
    comments: Vec<Option<DraftPullRequestReviewComment>>,
    threads: Vec<Option<DraftPullRequestReviewThread>>,
) -> Vec<(Place, String)> {
    let number = |number: i32| u64::try_from(number).ok();
    let comments = comments
        .into_iter()
        .flatten()
        .map(|draft| (Place { path: draft.path, position: number(draft.position), ..Place::default() }, draft.body));
    let threads = threads.into_iter().flatten().map(|draft| {
        let place = Place {
            path: draft.path,
            line: number(draft.line),
            side: draft.side.map(Into::into),
            start_line: draft.start_line.and_then(number),
            start_side: draft.start_line.and(draft.start_side).map(Into::into),
            ..Place::default()
        };
        (place, draft.body)
    });
    comments.chain(threads).collect()
}

async fn place(
    ctx: &Context<'_>,
    pull: &PullRequest,
    commit: &str,
    drafts: Vec<(Place, String)>,
) -> Result<Vec<NewComment>> {
    if drafts.is_empty() && commit == pull.pull.head_sha {
        return Ok(Vec::new());
    }
    let diff = ReviewedDiff::of(ctx.sim(), &pull.pull, commit).await?;
    let diff = diff.ok_or_else(|| Failure::unprocessable("commitOID is not part of the pull request"))?;
    let place = |(place, body): (Place, String)| {
        let spot = reviews::find_place(&diff.files, &place).map_err(reviews::unresolved)?;
        Ok(NewComment { spot, body })
    };
    drafts.into_iter().map(place).collect()
}

fn locate_review(ctx: &Context<'_>, id: &ID) -> Result<PullRequestReview> {
    let (repo, _, key) = locate(ctx, id, &[NodeKind::Review])?;
    ctx.look(|world| PullRequestReview::load(world, ctx.caller(), &repo, key)).ok_or_else(|| Failure::no_such_node(id))
}

/// The review that the caller has begun and not submitted.
fn pending_review(ctx: &Context<'_>, pull: &PullRequest) -> Result<PullRequestReview> {
    let mut all = PullRequestReview::all(ctx, &pull.repo, pull.pull.number).into_iter();
    all.find(|one| one.review.state == ReviewState::Pending)
        .ok_or_else(|| Failure::not_found("Could not find a pending review for the pull request."))
}

fn locate_thread(ctx: &Context<'_>, id: &ID) -> Result<(Repository, Id)> {
    let (repo, _, key) = locate(ctx, id, &[NodeKind::ReviewThread])?;
    let found = ctx.look(|world| PullRequestReviewThread::load(world, ctx.caller(), &repo, key));
    found.map(|_| (repo, key)).ok_or_else(|| Failure::no_such_node(id))
}

fn set_resolved(ctx: &Context<'_>, id: &ID, resolved: bool) -> Result<Option<PullRequestReviewThread>> {
    let (repo, thread) = locate_thread(ctx, id)?;
    let author = ctx.look(|world| {
        let number = world.review_threads.get(repo.id, thread)?.number;
        world.issues.get(repo.id, number).map(|issue| issue.author)
    });
    let author = author.ok_or_else(|| Failure::no_such_node(id))?;
    let actor = permit_author(ctx, &repo, Scope::PullRequests, author, Level::Write)?;
    change(ctx, |world| reviews::set_resolved(world, actor, repo.id, thread, resolved))?;
    Ok(ctx.look(|world| PullRequestReviewThread::load(world, ctx.caller(), &repo, thread)))
}
