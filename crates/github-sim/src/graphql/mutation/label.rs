//! Labels.

use async_graphql::{Context, ID, Interface, Object};

use super::{change, input, locate_issue, payload, permit};
use crate::conversation::labels;
use crate::graphql::enums::LabelOrder;
use crate::graphql::issue::{Issue, LABELS_AS_CREATED, LabelConnection};
use crate::graphql::pull::PullRequest;
use crate::graphql::repository::Repository;
use crate::graphql::{Ask, Failure, Result};
use crate::http::Level;
use crate::world::{Id, Key, NodeKind, decode_node_id};

#[derive(Default)]
pub struct LabelMutation;

#[derive(Clone, Interface)]
#[graphql(field(
    name = "labels",
    ty = "Option<LabelConnection>",
    arg(name = "after", ty = "Option<String>"),
    arg(name = "before", ty = "Option<String>"),
    arg(name = "first", ty = "Option<i32>"),
    arg(name = "last", ty = "Option<i32>"),
    arg(name = "order_by", ty = "Option<LabelOrder>", default_with = "Some(LABELS_AS_CREATED)")
))]
enum Labelable {
    Issue(Issue),
    PullRequest(PullRequest),
}

#[Object]
impl LabelMutation {
    async fn add_labels_to_labelable(
        &self,
        ctx: &Context<'_>,
        input: AddLabelsToLabelableInput,
    ) -> Result<Option<AddLabelsToLabelablePayload>> {
        let (repo, number, scope) = locate_issue(ctx, &input.labelable_id)?;
        let actor = permit(ctx, &repo, scope, Level::Triage)?;
        let ids = in_repository(ctx, &repo, &input.label_ids)?;
        change(ctx, |world| labels::add(world, actor, repo.id, number, &ids))?;
        Ok(Some(AddLabelsToLabelablePayload {
            client_mutation_id: input.client_mutation_id,
            labelable: labelable(ctx, &repo, number),
        }))
    }

    async fn remove_labels_from_labelable(
        &self,
        ctx: &Context<'_>,
        input: RemoveLabelsFromLabelableInput,
    ) -> Result<Option<RemoveLabelsFromLabelablePayload>> {
        let (repo, number, scope) = locate_issue(ctx, &input.labelable_id)?;
        let actor = permit(ctx, &repo, scope, Level::Triage)?;
        let ids = in_repository(ctx, &repo, &input.label_ids)?;
        change(ctx, |world| {
            let carried = world.issues.get(repo.id, number).map(|issue| issue.labels.clone()).unwrap_or_default();
            let gone: Vec<Id> = ids.into_iter().filter(|id| carried.contains(id)).collect();
            labels::remove(world, actor, repo.id, number, &gone)
        })?;
        Ok(Some(RemoveLabelsFromLabelablePayload {
            client_mutation_id: input.client_mutation_id,
            labelable: labelable(ctx, &repo, number),
        }))
    }
}

input!(AddLabelsToLabelableInput { label_ids: Vec<ID>, labelable_id: ID });
payload!(AddLabelsToLabelablePayload { labelable: Labelable });
input!(RemoveLabelsFromLabelableInput { label_ids: Vec<ID>, labelable_id: ID });
payload!(RemoveLabelsFromLabelablePayload { labelable: Labelable });

/// The labels of this repository that the node ids lead to.
pub fn in_repository(ctx: &Context<'_>, repo: &Repository, ids: &[ID]) -> Result<Vec<Id>> {
    let label = |id: &ID| match decode_node_id(id) {
        Some((NodeKind::Label, Key { scope, id: label }))
            if scope == repo.id && ctx.look(|world| world.labels.get(scope, label).is_some()) =>
        {
            Ok(label)
        }
        _ => Err(Failure::no_such_node(id)),
    };
    ids.iter().map(label).collect()
}

fn labelable(ctx: &Context<'_>, repo: &Repository, number: u64) -> Option<Labelable> {
    ctx.look(|world| match PullRequest::load(world, repo, number) {
        Some(pull) => Some(Labelable::PullRequest(pull)),
        None => Issue::load(world, repo, number).map(Labelable::Issue),
    })
}
