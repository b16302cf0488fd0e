//! Pull requests: drafts, state, merging.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::super::issue::is_viewer;
use super::super::pull::PullRequest;
use super::super::{Ask, Result};
use super::{change, locate_pull, permit};
use crate::http::{Level, Scope};
use crate::pulls;

#[derive(Default)]
pub struct PullMutation;

#[Object]
impl PullMutation {
    async fn convert_pull_request_to_draft(
        &self,
        ctx: &Context<'_>,
        input: ConvertPullRequestToDraftInput,
    ) -> Result<Option<ConvertPullRequestToDraftPayload>> {
        let pull_request = set_draft(ctx, &input.pull_request_id, true).await?;
        Ok(Some(ConvertPullRequestToDraftPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }

    async fn mark_pull_request_ready_for_review(
        &self,
        ctx: &Context<'_>,
        input: MarkPullRequestReadyForReviewInput,
    ) -> Result<Option<MarkPullRequestReadyForReviewPayload>> {
        let pull_request = set_draft(ctx, &input.pull_request_id, false).await?;
        Ok(Some(MarkPullRequestReadyForReviewPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }
}

#[derive(InputObject)]
struct ConvertPullRequestToDraftInput {
    client_mutation_id: Option<String>,
    pull_request_id: ID,
}

#[derive(SimpleObject)]
struct ConvertPullRequestToDraftPayload {
    client_mutation_id: Option<String>,
    pull_request: Option<PullRequest>,
}

#[derive(InputObject)]
struct MarkPullRequestReadyForReviewInput {
    client_mutation_id: Option<String>,
    pull_request_id: ID,
}

#[derive(SimpleObject)]
struct MarkPullRequestReadyForReviewPayload {
    client_mutation_id: Option<String>,
    pull_request: Option<PullRequest>,
}

/// The author may, whatever rights they have else.
async fn set_draft(ctx: &Context<'_>, id: &ID, draft: bool) -> Result<Option<PullRequest>> {
    let pull = locate_pull(ctx, id)?;
    let level = if is_viewer(ctx, pull.issue.author) { Level::Participate } else { Level::Write };
    let actor = permit(ctx, &pull.repo, Scope::PullRequests, level)?;
    let (repo, number) = (pull.repo.id, pull.pull.number);
    change(ctx, |world| pulls::set_draft(world, actor, repo, number, draft))?;
    Ok(PullRequest::settled(ctx, &pull.repo, &[number]).await?.pop())
}
