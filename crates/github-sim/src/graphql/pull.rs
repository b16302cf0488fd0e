//! Pull requests.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, SelectionField};

use super::actor::{Actor, RepositoryOwner, UserConnection};
use super::connection::{Paging, connection};
use super::enums::{
    CommentAuthorAssociation, IssueOrder, LabelOrder, MergeStateStatus, MergeableState, PullRequestReviewDecision,
    PullRequestState,
};
use super::issue::{LABELS_AS_CREATED, LabelConnection, has_label, is_viewer, labels, sort, users};
use super::repository::Repository;
use super::scalars::{BigInt, DateTime, Html, Oid, Uri, database_id, int};
use super::{Ask, Result, text};
use crate::http::{Level, Scope};
use crate::present::author_association;
use crate::pulls;
use crate::world::{self, IssueState, NodeKind, World, node_id};

#[derive(Clone)]
pub struct PullRequest {
    pub repo: Repository,
    pub pull: Arc<world::Pull>,
    pub issue: Arc<world::Issue>,
}

/// What cannot be answered without having asked git.
const ASK_GIT: &[&str] = &[
    "additions",
    "canBeRebased",
    "changedFiles",
    "commits",
    "deletions",
    "files",
    "mergeStateStatus",
    "mergeable",
    "potentialMergeCommit",
    "viewerCanMergeAsAdmin",
];

impl PullRequest {
    pub fn load(world: &World, repo: &Repository, number: u64) -> Option<Self> {
        let (pull, issue) = (world.pulls.get(repo.id, number)?, world.issues.get(repo.id, number)?);
        Some(Self { repo: repo.clone(), pull: Arc::new(pull.clone()), issue: Arc::new(issue.clone()) })
    }

    /// Those of the numbers that exist. If the query needs it, git was asked about all of them together.
    pub async fn settled(ctx: &Context<'_>, repo: &Repository, numbers: &[u64]) -> Result<Vec<Self>> {
        repo.check(ctx, Scope::PullRequests)?;
        if ctx.field().selection_set().any(|field| needs_git(&field)) {
            let known: Vec<u64> = ctx.look(|world| {
                numbers.iter().copied().filter(|number| world.pulls.get(repo.id, *number).is_some()).collect()
            });
            pulls::settle(ctx.sim(), repo.id, &known).await?;
        }
        Ok(ctx.look(|world| numbers.iter().filter_map(|number| Self::load(world, repo, *number)).collect()))
    }

    pub fn state(&self) -> PullRequestState {
        match (&self.pull.merged, self.issue.state) {
            (Some(_), _) => PullRequestState::Merged,
            (None, IssueState::Open) => PullRequestState::Open,
            (None, IssueState::Closed) => PullRequestState::Closed,
        }
    }

    pub fn path(&self) -> String {
        format!("/pull/{}", self.pull.number)
    }

    fn body_markdown(&self) -> &str {
        self.issue.body.as_deref().unwrap_or_default()
    }
}

fn needs_git(field: &SelectionField<'_>) -> bool {
    ASK_GIT.contains(&field.name()) || field.selection_set().any(|inner| needs_git(&inner))
}

#[Object]
impl PullRequest {
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

    async fn base_ref_name(&self) -> &str {
        &self.pull.base_ref
    }

    async fn base_ref_oid(&self) -> Oid {
        Oid(self.pull.base_sha.clone())
    }

    async fn base_repository(&self) -> Option<&Repository> {
        Some(&self.repo)
    }

    async fn body(&self) -> &str {
        self.body_markdown()
    }

    #[graphql(name = "bodyHTML")]
    async fn body_html(&self) -> Html {
        text::html(self.body_markdown(), self.repo.full_name())
    }

    async fn body_text(&self) -> String {
        text::plain(self.body_markdown())
    }

    async fn checks_resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path() + "/checks"))
    }

    async fn checks_url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path() + "/checks")
    }

    async fn closed(&self) -> bool {
        self.issue.state == IssueState::Closed
    }

    async fn closed_at(&self) -> Option<DateTime> {
        self.issue.closed_at.map(DateTime)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.issue.created_at)
    }

    async fn created_via_email(&self) -> bool {
        false
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.pull.id)
    }

    async fn full_database_id(&self) -> Option<BigInt> {
        Some(BigInt(self.pull.id.to_string()))
    }

    async fn head_ref_name(&self) -> &str {
        &self.pull.head_ref
    }

    async fn head_ref_oid(&self) -> Oid {
        Oid(self.pull.head_sha.clone())
    }

    async fn head_repository(&self, ctx: &Context<'_>) -> Option<Repository> {
        let head = self.pull.head_repo?;
        ctx.look(|world| Repository::seen(world, ctx.caller(), head))
    }

    async fn head_repository_owner(&self, ctx: &Context<'_>) -> Option<RepositoryOwner> {
        let head = self.pull.head_repo?;
        ctx.look(|world| world.repo(head).map(|repo| RepositoryOwner::new(world, repo.owner)))
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::PullRequest, self.repo.id, self.pull.number))
    }

    async fn is_cross_repository(&self) -> bool {
        self.pull.is_fork()
    }

    async fn is_draft(&self) -> bool {
        self.pull.draft
    }

    async fn is_in_merge_queue(&self) -> bool {
        false
    }

    async fn is_merge_queue_enabled(&self) -> bool {
        false
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

    async fn maintainer_can_modify(&self) -> bool {
        self.pull.maintainer_can_modify
    }

    async fn merge_state_status(&self, ctx: &Context<'_>) -> MergeStateStatus {
        ctx.look(|world| pulls::merge_state(world, &self.pull).status.into())
    }

    async fn mergeable(&self, ctx: &Context<'_>) -> MergeableState {
        ctx.look(|world| pulls::merge_state(world, &self.pull).mergeable.into())
    }

    async fn merged(&self) -> bool {
        self.pull.merged.is_some()
    }

    async fn merged_at(&self) -> Option<DateTime> {
        self.pull.merged.as_ref().map(|merged| DateTime(merged.at))
    }

    async fn merged_by(&self, ctx: &Context<'_>) -> Option<Actor> {
        let by = self.pull.merged.as_ref()?.by;
        ctx.look(|world| Some(Actor::new(world, by)))
    }

    async fn number(&self) -> i32 {
        int(self.pull.number)
    }

    async fn permalink(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn published_at(&self) -> Option<DateTime> {
        Some(DateTime(self.issue.created_at))
    }

    pub async fn repository(&self) -> &Repository {
        &self.repo
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    async fn review_decision(&self, ctx: &Context<'_>) -> Option<PullRequestReviewDecision> {
        ctx.look(|world| pulls::review_decision(world, &self.pull).map(Into::into))
    }

    #[graphql(name = "state")]
    async fn graphql_state(&self) -> PullRequestState {
        self.state()
    }

    async fn title(&self) -> &str {
        &self.issue.title
    }

    #[graphql(name = "titleHTML")]
    async fn title_html(&self) -> Html {
        text::escaped(&self.issue.title)
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.issue.updated_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author) || self.repo.allows(ctx, Scope::PullRequests, Level::Write)
    }

    async fn viewer_did_author(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author)
    }
}

connection!(PullRequestConnection, PullRequestEdge, PullRequest);

/// The arguments that every list of pull requests takes.
pub struct PullFilter {
    pub base_ref_name: Option<String>,
    pub head_ref_name: Option<String>,
    pub labels: Option<Vec<String>>,
    pub states: Option<Vec<PullRequestState>>,
    pub order_by: Option<IssueOrder>,
}

impl PullFilter {
    /// The page of a repository's pull requests that match and are `among` those asked for.
    pub async fn page(
        &self,
        ctx: &Context<'_>,
        repo: &Repository,
        paging: &Paging,
        among: impl Fn(&PullRequest) -> bool,
    ) -> Result<PullRequestConnection> {
        repo.check(ctx, Scope::PullRequests)?;
        let slice = ctx.look(|world| {
            let all = world.pulls.within(repo.id).filter_map(|pull| PullRequest::load(world, repo, pull.number));
            let mut found: Vec<PullRequest> = all.filter(|pull| self.accepts(world, pull) && among(pull)).collect();
            sort(world, &mut found, self.order_by, |pull| &pull.issue);
            paging.of(found.into_iter().map(|pull| pull.pull.number).collect(), |number| *number)
        })?;
        let numbers: Vec<u64> = slice.items().copied().collect();
        let mut pulls = PullRequest::settled(ctx, repo, &numbers).await?;
        Ok(PullRequestConnection(slice.filter_map(|number| {
            let at = pulls.iter().position(|pull| pull.pull.number == number)?;
            Some(pulls.swap_remove(at))
        })))
    }

    fn accepts(&self, world: &World, pull: &PullRequest) -> bool {
        self.base_ref_name.as_ref().is_none_or(|name| pull.pull.base_ref == *name)
            && self.head_ref_name.as_ref().is_none_or(|name| pull.pull.head_ref == *name)
            && self.states.as_ref().is_none_or(|states| states.contains(&pull.state()))
            && self.labels.as_ref().is_none_or(|names| has_label(world, &pull.issue, names))
    }
}
