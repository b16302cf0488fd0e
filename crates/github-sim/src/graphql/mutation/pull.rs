//! Pull requests: opening, changing, drafts, merging.

use async_graphql::{Context, ID, Object};

use super::{change, input, locate_pull, payload, permit, permit_author};
use crate::graphql::actor::{Actor, UserEdge};
use crate::graphql::enums::{PullRequestBranchUpdateMethod, PullRequestMergeMethod, PullRequestUpdateState};
use crate::graphql::pull::PullRequest;
use crate::graphql::scalars::Oid;
use crate::graphql::{Ask, Failure, Result};
use crate::http::{Level, Scope};
use crate::pulls::{self, Edit, MergeRequest, NewPull, Words};
use crate::world::{Id, IssueState, Key, NodeKind, decode_node_id};

#[derive(Default)]
pub struct PullMutation;

#[Object]
impl PullMutation {
    async fn close_pull_request(
        &self,
        ctx: &Context<'_>,
        input: ClosePullRequestInput,
    ) -> Result<Option<ClosePullRequestPayload>> {
        let pull_request = set_state(ctx, &input.pull_request_id, IssueState::Closed).await?;
        Ok(Some(ClosePullRequestPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }

    async fn convert_pull_request_to_draft(
        &self,
        ctx: &Context<'_>,
        input: ConvertPullRequestToDraftInput,
    ) -> Result<Option<ConvertPullRequestToDraftPayload>> {
        let pull_request = set_draft(ctx, &input.pull_request_id, true).await?;
        Ok(Some(ConvertPullRequestToDraftPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }

    async fn create_pull_request(
        &self,
        ctx: &Context<'_>,
        input: CreatePullRequestInput,
    ) -> Result<Option<CreatePullRequestPayload>> {
        let repo = locate_repo(ctx, &input.repository_id)?;
        permit(ctx, &repo, Scope::PullRequests, Level::Participate)?;
        let head_repo = input.head_repository_id.as_ref().map(|id| locate_repo(ctx, id)).transpose()?;
        let other = head_repo.filter(|head| head.id != repo.id);
        let head = match &other {
            Some(head) if !input.head_ref_name.contains(':') => {
                let owner = head.full_name().split('/').next().unwrap_or_default();
                format!("{owner}:{}", input.head_ref_name)
            }
            _ => input.head_ref_name,
        };
        let new = NewPull {
            title: Some(input.title),
            body: input.body,
            head,
            head_repo: other.map(|head| head.name.clone()),
            base: input.base_ref_name,
            draft: input.draft.unwrap_or_default(),
            maintainer_can_modify: input.maintainer_can_modify.unwrap_or(true),
            issue: None,
        };
        let number = pulls::open(ctx.sim(), ctx.caller(), repo.id, new).await?;
        let pull_request = PullRequest::settled(ctx, &repo, &[number]).await?.pop();
        Ok(Some(CreatePullRequestPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }

    /// The simulator merges when it is told to and never later.
    async fn enable_pull_request_auto_merge(
        &self,
        ctx: &Context<'_>,
        input: EnablePullRequestAutoMergeInput,
    ) -> Result<Option<EnablePullRequestAutoMergePayload>> {
        let pull = locate_pull(ctx, &input.pull_request_id)?;
        permit(ctx, &pull.repo, Scope::PullRequests, Level::Write)?;
        Err(Failure::unprocessable("Auto merge is not allowed for this repository"))
    }

    async fn mark_pull_request_ready_for_review(
        &self,
        ctx: &Context<'_>,
        input: MarkPullRequestReadyForReviewInput,
    ) -> Result<Option<MarkPullRequestReadyForReviewPayload>> {
        let pull_request = set_draft(ctx, &input.pull_request_id, false).await?;
        Ok(Some(MarkPullRequestReadyForReviewPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }

    async fn merge_pull_request(
        &self,
        ctx: &Context<'_>,
        input: MergePullRequestInput,
    ) -> Result<Option<MergePullRequestPayload>> {
        let pull = locate_pull(ctx, &input.pull_request_id)?;
        let actor = permit(ctx, &pull.repo, Scope::Contents, Level::Write)?;
        let request = MergeRequest {
            method: input.merge_method.unwrap_or(PullRequestMergeMethod::Merge).into(),
            sha: input.expected_head_oid.map(|oid| oid.0),
            words: Words { title: input.commit_headline, message: input.commit_body },
        };
        pulls::merge(ctx.sim(), ctx.caller(), pull.repo.id, pull.pull.number, request).await?;
        Ok(Some(MergePullRequestPayload {
            client_mutation_id: input.client_mutation_id,
            actor: acted(ctx, actor),
            pull_request: again(ctx, &pull).await?,
        }))
    }

    async fn reopen_pull_request(
        &self,
        ctx: &Context<'_>,
        input: ReopenPullRequestInput,
    ) -> Result<Option<ReopenPullRequestPayload>> {
        let pull_request = set_state(ctx, &input.pull_request_id, IssueState::Open).await?;
        Ok(Some(ReopenPullRequestPayload { client_mutation_id: input.client_mutation_id, pull_request }))
    }

    async fn request_reviews(
        &self,
        ctx: &Context<'_>,
        input: RequestReviewsInput,
    ) -> Result<Option<RequestReviewsPayload>> {
        let pull = locate_pull(ctx, &input.pull_request_id)?;
        let actor = permit_author(ctx, &pull.repo, Scope::PullRequests, pull.issue.author, Level::Triage)?;
        if input.team_ids.is_some_and(|teams| !teams.is_empty()) {
            return Err(Failure::not_found("Could not resolve to a Team."));
        }
        let wanted = logins(ctx, &input.user_ids.unwrap_or_default())?;
        let (repo, number) = (pull.repo.id, pull.pull.number);
        change(ctx, |world| {
            if input.union != Some(true) {
                let asked = pull.pull.requested_reviewers.iter().map(|id| world.account(*id).login.clone());
                let gone: Vec<String> = asked.filter(|login| !wanted.contains(login)).collect();
                pulls::withdraw_reviewers(world, actor, repo, number, &gone)?;
            }
            pulls::request_reviewers(world, actor, repo, number, &wanted)
        })?;
        Ok(Some(RequestReviewsPayload {
            client_mutation_id: input.client_mutation_id,
            actor: acted(ctx, actor),
            pull_request: again(ctx, &pull).await?,
            requested_reviewers_edge: None,
        }))
    }

    async fn update_pull_request(
        &self,
        ctx: &Context<'_>,
        input: UpdatePullRequestInput,
    ) -> Result<Option<UpdatePullRequestPayload>> {
        let pull = locate_pull(ctx, &input.pull_request_id)?;
        let only_state = input.title.is_none() && input.body.is_none() && input.base_ref_name.is_none();
        let level = if only_state { Level::Triage } else { Level::Write };
        let actor = permit_author(ctx, &pull.repo, Scope::PullRequests, pull.issue.author, level)?;
        let (repo, number) = (pull.repo.id, pull.pull.number);
        let labels =
            input.label_ids.as_deref().map(|ids| super::label::in_repository(ctx, &pull.repo, ids)).transpose()?;
        let assignees = input.assignee_ids.as_deref().map(|ids| accounts(ctx, ids)).transpose()?;
        let edit = Edit {
            title: input.title,
            body: input.body.map(Some),
            state: input.state.map(Into::into),
            base: input.base_ref_name,
            maintainer_can_modify: input.maintainer_can_modify,
        };
        pulls::edit(ctx.sim(), actor, repo, number, edit).await?;
        change(ctx, |world| {
            if let Some(labels) = &labels {
                crate::conversation::labels::set(world, actor, repo, number, labels)?;
            }
            if let Some(assignees) = &assignees {
                crate::conversation::set_assignees(world, actor, repo, number, assignees)?;
            }
            Ok(())
        })?;
        Ok(Some(UpdatePullRequestPayload {
            client_mutation_id: input.client_mutation_id,
            actor: acted(ctx, actor),
            pull_request: again(ctx, &pull).await?,
        }))
    }

    async fn update_pull_request_branch(
        &self,
        ctx: &Context<'_>,
        input: UpdatePullRequestBranchInput,
    ) -> Result<Option<UpdatePullRequestBranchPayload>> {
        let pull = locate_pull(ctx, &input.pull_request_id)?;
        permit(ctx, &pull.repo, Scope::PullRequests, Level::Participate)?;
        if input.update_method == Some(PullRequestBranchUpdateMethod::Rebase) {
            return Err(Failure::unprocessable("This branch can't be rebased"));
        }
        let expected = input.expected_head_oid.as_ref().map(|oid| oid.0.as_str());
        pulls::update_branch(ctx.sim(), ctx.caller(), pull.repo.id, pull.pull.number, expected).await?;
        Ok(Some(UpdatePullRequestBranchPayload {
            client_mutation_id: input.client_mutation_id,
            pull_request: again(ctx, &pull).await?,
        }))
    }
}

input!(ClosePullRequestInput { pull_request_id: ID });
payload!(ClosePullRequestPayload { pull_request: PullRequest });
input!(ConvertPullRequestToDraftInput { pull_request_id: ID });
payload!(ConvertPullRequestToDraftPayload { pull_request: PullRequest });
input!(CreatePullRequestInput {
    base_ref_name: String,
    body: Option<String>,
    #[graphql(default_with = "Some(false)")]
    draft: Option<bool>,
    head_ref_name: String,
    head_repository_id: Option<ID>,
    #[graphql(default_with = "Some(true)")]
    maintainer_can_modify: Option<bool>,
    repository_id: ID,
    title: String,
});
payload!(CreatePullRequestPayload { pull_request: PullRequest });
input!(EnablePullRequestAutoMergeInput { pull_request_id: ID });
payload!(EnablePullRequestAutoMergePayload { actor: Actor, pull_request: PullRequest });
input!(MarkPullRequestReadyForReviewInput { pull_request_id: ID });
payload!(MarkPullRequestReadyForReviewPayload { pull_request: PullRequest });
input!(MergePullRequestInput {
    commit_body: Option<String>,
    commit_headline: Option<String>,
    expected_head_oid: Option<Oid>,
    #[graphql(default_with = "Some(PullRequestMergeMethod::Merge)")]
    merge_method: Option<PullRequestMergeMethod>,
    pull_request_id: ID,
});
payload!(MergePullRequestPayload { actor: Actor, pull_request: PullRequest });
input!(ReopenPullRequestInput { pull_request_id: ID });
payload!(ReopenPullRequestPayload { pull_request: PullRequest });
input!(RequestReviewsInput {
    pull_request_id: ID,
    team_ids: Option<Vec<ID>>,
    #[graphql(default_with = "Some(false)")]
    union: Option<bool>,
    user_ids: Option<Vec<ID>>,
});
payload!(RequestReviewsPayload { actor: Actor, pull_request: PullRequest, requested_reviewers_edge: UserEdge });
input!(UpdatePullRequestInput {
    assignee_ids: Option<Vec<ID>>,
    base_ref_name: Option<String>,
    body: Option<String>,
    label_ids: Option<Vec<ID>>,
    maintainer_can_modify: Option<bool>,
    pull_request_id: ID,
    state: Option<PullRequestUpdateState>,
    title: Option<String>,
});
payload!(UpdatePullRequestPayload { actor: Actor, pull_request: PullRequest });
input!(UpdatePullRequestBranchInput {
    expected_head_oid: Option<Oid>,
    pull_request_id: ID,
    update_method: Option<PullRequestBranchUpdateMethod>,
});
payload!(UpdatePullRequestBranchPayload { pull_request: PullRequest });

fn acted(ctx: &Context<'_>, actor: Id) -> Option<Actor> {
    ctx.look(|world| Some(Actor::new(world, actor)))
}

/// The pull request as it is after the change.
async fn again(ctx: &Context<'_>, pull: &PullRequest) -> Result<Option<PullRequest>> {
    Ok(PullRequest::settled(ctx, &pull.repo, &[pull.pull.number]).await?.pop())
}

async fn set_draft(ctx: &Context<'_>, id: &ID, draft: bool) -> Result<Option<PullRequest>> {
    let pull = locate_pull(ctx, id)?;
    let actor = permit_author(ctx, &pull.repo, Scope::PullRequests, pull.issue.author, Level::Write)?;
    change(ctx, |world| pulls::set_draft(world, actor, pull.repo.id, pull.pull.number, draft))?;
    again(ctx, &pull).await
}

async fn set_state(ctx: &Context<'_>, id: &ID, state: IssueState) -> Result<Option<PullRequest>> {
    let pull = locate_pull(ctx, id)?;
    let actor = permit_author(ctx, &pull.repo, Scope::PullRequests, pull.issue.author, Level::Triage)?;
    let edit = Edit { state: Some(state), ..Edit::default() };
    pulls::edit(ctx.sim(), actor, pull.repo.id, pull.pull.number, edit).await?;
    again(ctx, &pull).await
}

fn locate_repo(ctx: &Context<'_>, id: &ID) -> Result<crate::graphql::repository::Repository> {
    let missing = || Failure::no_such_node(id);
    let Some((NodeKind::Repository, Key { id: repo, .. })) = decode_node_id(id) else { return Err(missing()) };
    ctx.look(|world| crate::graphql::repository::Repository::seen(world, ctx.caller(), repo)).ok_or_else(missing)
}

fn accounts(ctx: &Context<'_>, ids: &[ID]) -> Result<Vec<Id>> {
    let account = |id: &ID| match decode_node_id(id) {
        Some((NodeKind::User | NodeKind::Bot, Key { id: account, .. }))
            if ctx.look(|world| world.accounts.get(0, account).is_some()) =>
        {
            Ok(account)
        }
        _ => Err(Failure::no_such_node(id)),
    };
    ids.iter().map(account).collect()
}

fn logins(ctx: &Context<'_>, ids: &[ID]) -> Result<Vec<String>> {
    let accounts = accounts(ctx, ids)?;
    Ok(ctx.look(|world| accounts.into_iter().map(|id| world.account(id).login.clone()).collect()))
}
