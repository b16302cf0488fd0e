//! Issues, labels, and what issues and pull requests have in common.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Union};

use super::actor::{Actor, User, UserConnection};
use super::comment::{IssueCommentConnection, comments};
use super::connection::{Paging, Slice, connection};
use super::enums::{
    CommentAuthorAssociation, IssueCommentOrder, IssueOrder, IssueOrderField, IssueState, IssueStateReason, LabelOrder,
    LabelOrderField, OrderDirection, ReactionContent, ReactionOrder,
};
use super::never::{Milestone, ProjectCardConnection, ProjectV2ItemConnection};
use super::pull::PullRequest;
use super::reaction::{self, ReactionConnection, ReactionGroup};
use super::repository::Repository;
use super::scalars::{BigInt, DateTime, Html, Uri, database_id, int};
use super::{Ask, Result, text};
use crate::http::{Level, Scope};
use crate::present::author_association;
use crate::world::{self, Id, NodeKind, ReactionSubject, World, node_id};

#[derive(Clone, Union)]
pub enum IssueOrPullRequest {
    Issue(Issue),
    PullRequest(PullRequest),
}

#[derive(Clone)]
pub struct Issue {
    pub repo: Repository,
    pub issue: Arc<world::Issue>,
}

impl Issue {
    pub fn load(world: &World, repo: &Repository, number: u64) -> Option<Self> {
        let issue = world.issues.get(repo.id, number).filter(|issue| !issue.is_pull)?;
        Some(Self { repo: repo.clone(), issue: Arc::new(issue.clone()) })
    }

    /// Also a pull request, as the issue that it is.
    pub fn load_any(world: &World, repo: &Repository, number: u64) -> Option<Self> {
        let issue = world.issues.get(repo.id, number)?;
        Some(Self { repo: repo.clone(), issue: Arc::new(issue.clone()) })
    }

    fn path(&self) -> String {
        format!("/issues/{}", self.issue.number)
    }
}

#[Object]
impl Issue {
    async fn assignees(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<UserConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        users(ctx, &paging, &self.issue.assignees)
    }

    async fn author(&self, ctx: &Context<'_>) -> Option<Actor> {
        ctx.look(|world| Some(Actor::new(world, self.issue.author)))
    }

    async fn author_association(&self, ctx: &Context<'_>) -> CommentAuthorAssociation {
        ctx.look(|world| author_association(world, self.repo.id, self.issue.author).into())
    }

    async fn body(&self) -> &str {
        self.issue.body.as_deref().unwrap_or_default()
    }

    #[graphql(name = "bodyHTML")]
    async fn body_html(&self) -> Html {
        text::html(self.issue.body.as_deref().unwrap_or_default(), self.repo.full_name())
    }

    async fn body_text(&self) -> String {
        text::plain(self.issue.body.as_deref().unwrap_or_default())
    }

    async fn closed(&self) -> bool {
        self.issue.state == world::IssueState::Closed
    }

    async fn closed_at(&self) -> Option<DateTime> {
        self.issue.closed_at.map(DateTime)
    }

    async fn comments(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        order_by: Option<IssueCommentOrder>,
    ) -> Result<IssueCommentConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        comments(ctx, &paging, &self.repo, self.issue.number, order_by)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.issue.created_at)
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.issue.id)
    }

    async fn full_database_id(&self) -> Option<BigInt> {
        Some(BigInt(self.issue.id.to_string()))
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Issue, self.repo.id, self.issue.number))
    }

    async fn is_pinned(&self) -> Option<bool> {
        Some(false)
    }

    pub async fn labels(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        #[graphql(default_with = "Some(LABELS_AS_CREATED)")] order_by: Option<LabelOrder>,
    ) -> Result<Option<LabelConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        labels(ctx, &paging, &self.repo, &self.issue, order_by).map(Some)
    }

    async fn locked(&self) -> bool {
        self.issue.locked
    }

    async fn milestone(&self) -> Option<Milestone> {
        None
    }

    async fn number(&self) -> i32 {
        int(self.issue.number)
    }

    async fn project_cards(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<ProjectCardConnection> {
        Paging::new(ctx, after, before, first, last)?;
        Ok(ProjectCardConnection(Slice::none()))
    }

    async fn project_items(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<ProjectV2ItemConnection> {
        Paging::new(ctx, after, before, first, last)?;
        Ok(ProjectV2ItemConnection(Slice::none()))
    }

    pub async fn reaction_groups(&self, ctx: &Context<'_>) -> Option<Vec<ReactionGroup>> {
        Some(reaction::groups(ctx, &self.repo, Some(ReactionSubject::Issue(self.issue.number))))
    }

    pub async fn reactions(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        content: Option<ReactionContent>,
        first: Option<i32>,
        last: Option<i32>,
        order_by: Option<ReactionOrder>,
    ) -> Result<ReactionConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let subject = Some(ReactionSubject::Issue(self.issue.number));
        reaction::reactions(ctx, &paging, &self.repo, subject, content, order_by)
    }

    pub async fn repository(&self) -> &Repository {
        &self.repo
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    async fn state(&self) -> IssueState {
        self.issue.state.into()
    }

    async fn state_reason(&self) -> Option<IssueStateReason> {
        match self.issue.state_reason.as_deref()? {
            "completed" => Some(IssueStateReason::Completed),
            "not_planned" => Some(IssueStateReason::NotPlanned),
            "reopened" => Some(IssueStateReason::Reopened),
            _ => None,
        }
    }

    async fn title(&self) -> &str {
        &self.issue.title
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.issue.updated_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    pub async fn viewer_can_react(&self, ctx: &Context<'_>) -> bool {
        ctx.caller().actor().is_ok()
    }

    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author) || self.repo.allows(ctx, Scope::Issues, Level::Triage)
    }

    async fn viewer_did_author(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author)
    }
}

connection!(IssueConnection, IssueEdge, Issue);

#[derive(Clone)]
pub struct Label {
    repo: Repository,
    label: Arc<world::Label>,
}

impl Label {
    pub fn new(repo: &Repository, label: &world::Label) -> Self {
        Self { repo: repo.clone(), label: Arc::new(label.clone()) }
    }

    pub fn key(&self) -> u64 {
        self.label.id
    }
}

#[Object]
impl Label {
    async fn color(&self) -> &str {
        &self.label.color
    }

    async fn description(&self) -> Option<&str> {
        self.label.description.as_deref()
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Label, self.repo.id, self.label.id))
    }

    async fn is_default(&self) -> bool {
        false
    }

    async fn name(&self) -> &str {
        &self.label.name
    }

    pub async fn repository(&self) -> &Repository {
        &self.repo
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(format!("/labels/{}", self.label.name)))
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, format!("/labels/{}", self.label.name))
    }
}

connection!(LabelConnection, LabelEdge, Label);

pub const LABELS_AS_CREATED: LabelOrder =
    LabelOrder { field: LabelOrderField::CreatedAt, direction: OrderDirection::Asc };

pub fn labels(
    ctx: &Context<'_>,
    paging: &Paging,
    repo: &Repository,
    issue: &world::Issue,
    order_by: Option<LabelOrder>,
) -> Result<LabelConnection> {
    let mut labels: Vec<Label> = ctx.look(|world| {
        let known = issue.labels.iter().filter_map(|id| world.labels.get(repo.id, *id));
        known.map(|label| Label::new(repo, label)).collect()
    });
    sort_labels(&mut labels, order_by);
    Ok(LabelConnection(paging.of(labels, Label::key)?))
}

pub fn sort_labels(labels: &mut [Label], order_by: Option<LabelOrder>) {
    let order = order_by.unwrap_or(LABELS_AS_CREATED);
    match order.field {
        LabelOrderField::CreatedAt => labels.sort_by_key(Label::key),
        LabelOrderField::Name => labels.sort_by_key(|label| label.label.name.to_lowercase()),
    }
    order.direction.arrange(labels);
}

/// Whether it carries one of these labels.
pub fn has_label(world: &World, issue: &world::Issue, names: &[String]) -> bool {
    let carried = issue.labels.iter().filter_map(|id| world.labels.get(issue.repo, *id));
    let carried: Vec<&str> = carried.map(|label| label.name.as_str()).collect();
    names.iter().any(|name| carried.iter().any(|label| label.eq_ignore_ascii_case(name)))
}

/// Sorts a list that is in the order of creation.
pub fn sort<T>(world: &World, items: &mut [T], order_by: Option<IssueOrder>, issue: impl Fn(&T) -> &world::Issue) {
    let Some(order) = order_by else { return };
    match order.field {
        IssueOrderField::CreatedAt => items.sort_by_key(|item| (issue(item).created_at, issue(item).number)),
        IssueOrderField::UpdatedAt => items.sort_by_key(|item| (issue(item).updated_at, issue(item).number)),
        IssueOrderField::Comments => items.sort_by_cached_key(|item| {
            let issue = issue(item);
            (world.comments.within(issue.repo).filter(|comment| comment.number == issue.number).count(), issue.number)
        }),
    }
    order.direction.arrange(items);
}

pub fn users(ctx: &Context<'_>, paging: &Paging, ids: &[Id]) -> Result<UserConnection> {
    let users = ctx.look(|world| ids.iter().map(|id| User::new(world, *id)).collect());
    Ok(UserConnection(paging.of(users, |user: &User| user.0.id)?))
}

pub fn is_viewer(ctx: &Context<'_>, user: Id) -> bool {
    ctx.caller().actor().is_ok_and(|actor| actor == user)
}
