//! Comments and reactions.

use async_graphql::{Context, ID, Object};

use super::{change, input, locate, locate_issue, payload, permit, permit_author};
use crate::conversation::{self, reactions};
use crate::graphql::comment::{IssueComment, IssueCommentEdge};
use crate::graphql::connection::Member;
use crate::graphql::enums::ReactionContent;
use crate::graphql::node::{Node, find};
use crate::graphql::reaction::{Reactable, Reaction, ReactionGroup, groups};
use crate::graphql::repository::Repository;
use crate::graphql::{Ask, Failure, Result};
use crate::http::{Level, Scope};
use crate::world::{self, Id, NodeKind, ReactionSubject};

#[derive(Default)]
pub struct CommentMutation;

#[Object]
impl CommentMutation {
    async fn add_comment(&self, ctx: &Context<'_>, input: AddCommentInput) -> Result<Option<AddCommentPayload>> {
        let (repo, number, scope) = locate_issue(ctx, &input.subject_id)?;
        let actor = permit(ctx, &repo, scope, Level::Participate)?;
        let via_app = ctx.caller().via_app();
        let id = change(ctx, |world| conversation::add_comment(world, actor, via_app, repo.id, number, &input.body))?;
        let comment = ctx.look(|world| IssueComment::load(world, &repo, id));
        Ok(Some(AddCommentPayload {
            client_mutation_id: input.client_mutation_id,
            comment_edge: comment.map(|item| IssueCommentEdge(Member::alone(item, id))),
            subject: Some(find(ctx, &input.subject_id).await?),
        }))
    }

    async fn add_reaction(&self, ctx: &Context<'_>, input: AddReactionInput) -> Result<Option<AddReactionPayload>> {
        let (repo, subject, scope) = locate_subject(ctx, &input.subject_id)?;
        let actor = permit(ctx, &repo, scope, Level::Participate)?;
        let reaction = change(ctx, |world| {
            let (id, _) = reactions::react(world, actor, repo.id, subject, input.content.as_str())?;
            Ok(world.reactions.get(repo.id, id).map(|reaction| Reaction::new(&repo, reaction)))
        })?;
        Ok(Some(AddReactionPayload {
            client_mutation_id: input.client_mutation_id,
            reaction,
            reaction_groups: Some(groups(ctx, &repo, Some(subject))),
            subject: ctx.look(|world| Reactable::find(world, &repo, subject)),
        }))
    }

    async fn delete_issue_comment(
        &self,
        ctx: &Context<'_>,
        input: DeleteIssueCommentInput,
    ) -> Result<Option<DeleteIssueCommentPayload>> {
        let (repo, actor, id) = changeable_comment(ctx, &input.id)?;
        change(ctx, |world| conversation::delete_comment(world, actor, repo.id, id))?;
        Ok(Some(DeleteIssueCommentPayload { client_mutation_id: input.client_mutation_id }))
    }

    async fn remove_reaction(
        &self,
        ctx: &Context<'_>,
        input: RemoveReactionInput,
    ) -> Result<Option<RemoveReactionPayload>> {
        let (repo, subject, scope) = locate_subject(ctx, &input.subject_id)?;
        let actor = permit(ctx, &repo, scope, Level::Participate)?;
        let mine = |reaction: &world::Reaction| {
            reaction.subject == subject && reaction.user == actor && reaction.content == input.content.as_str()
        };
        let reaction = change(ctx, |world| {
            let found = world.reactions.within(repo.id).find(|reaction| mine(reaction)).map(|reaction| reaction.id);
            let gone = found.and_then(|id| world.reactions.remove(repo.id, id));
            Ok(gone.map(|reaction| Reaction::new(&repo, &reaction)))
        })?;
        Ok(Some(RemoveReactionPayload {
            client_mutation_id: input.client_mutation_id,
            reaction,
            reaction_groups: Some(groups(ctx, &repo, Some(subject))),
            subject: ctx.look(|world| Reactable::find(world, &repo, subject)),
        }))
    }

    async fn update_issue_comment(
        &self,
        ctx: &Context<'_>,
        input: UpdateIssueCommentInput,
    ) -> Result<Option<UpdateIssueCommentPayload>> {
        let (repo, actor, id) = changeable_comment(ctx, &input.id)?;
        change(ctx, |world| conversation::edit_comment(world, actor, repo.id, id, &input.body))?;
        Ok(Some(UpdateIssueCommentPayload {
            client_mutation_id: input.client_mutation_id,
            issue_comment: ctx.look(|world| IssueComment::load(world, &repo, id)),
        }))
    }
}

input!(AddCommentInput { body: String, subject_id: ID });
payload!(AddCommentPayload { comment_edge: IssueCommentEdge, subject: Node });
input!(AddReactionInput { content: ReactionContent, subject_id: ID });
payload!(AddReactionPayload { reaction: Reaction, reaction_groups: Vec<ReactionGroup>, subject: Reactable });
input!(DeleteIssueCommentInput { id: ID });
payload!(DeleteIssueCommentPayload {});
input!(RemoveReactionInput { content: ReactionContent, subject_id: ID });
payload!(RemoveReactionPayload { reaction: Reaction, reaction_groups: Vec<ReactionGroup>, subject: Reactable });
input!(UpdateIssueCommentInput { body: String, id: ID });
payload!(UpdateIssueCommentPayload { issue_comment: IssueComment });

/// The comment's repository, who acts, and the comment, if the caller may change it.
fn changeable_comment(ctx: &Context<'_>, id: &ID) -> Result<(Repository, Id, Id)> {
    let (repo, _, key) = locate(ctx, id, &[NodeKind::IssueComment])?;
    let comment = ctx.look(|world| IssueComment::load(world, &repo, key));
    let comment = comment.ok_or_else(|| Failure::no_such_node(id))?;
    let remark = comment.remark();
    let actor = permit_author(ctx, &repo, remark.scope, remark.author, Level::Write)?;
    Ok((repo, actor, key))
}

/// What a reaction is to.
fn locate_subject(ctx: &Context<'_>, id: &ID) -> Result<(Repository, ReactionSubject, Scope)> {
    let kinds = [NodeKind::Issue, NodeKind::PullRequest, NodeKind::IssueComment, NodeKind::ReviewComment];
    let (repo, kind, key) = locate(ctx, id, &kinds)?;
    let (subject, scope) = match kind {
        NodeKind::IssueComment => {
            let comment = ctx.look(|world| IssueComment::load(world, &repo, key));
            let scope = comment.ok_or_else(|| Failure::no_such_node(id))?.remark().scope;
            (ReactionSubject::Comment(key), scope)
        }
        NodeKind::ReviewComment => (ReactionSubject::ReviewComment(key), Scope::PullRequests),
        _ => {
            let (_, number, scope) = locate_issue(ctx, id)?;
            (ReactionSubject::Issue(number), scope)
        }
    };
    if ctx.look(|world| Reactable::find(world, &repo, subject).is_none()) {
        return Err(Failure::no_such_node(id));
    }
    Ok((repo, subject, scope))
}
