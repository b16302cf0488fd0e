//! The fields of a pull request.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::timeline::{PullRequestTimelineItemsConnection, PullRequestTimelineItemsItemType};
use super::{
    PullRequest, PullRequestChangedFileConnection, PullRequestCommit, PullRequestCommitConnection, ReviewRequest,
    ReviewRequestConnection,
};
use crate::graphql::actor::{Actor, RepositoryOwner, UserConnection};
use crate::graphql::check::StatusCheckRollup;
use crate::graphql::comment::{IssueCommentConnection, comments};
use crate::graphql::commit::Commit;
use crate::graphql::connection::{Paging, Slice};
use crate::graphql::enums::{
    CommentAuthorAssociation, IssueCommentOrder, LabelOrder, MergeStateStatus, MergeableState,
    PullRequestReviewDecision, PullRequestReviewState, PullRequestState, ReactionContent, ReactionOrder,
};
use crate::graphql::issue::{Issue, IssueConnection, LABELS_AS_CREATED, LabelConnection, is_viewer, labels, users};
use crate::graphql::never::{
    AutoMergeRequest, MergeQueueEntry, Milestone, ProjectCardConnection, ProjectV2ItemConnection,
};
use crate::graphql::reaction::{self, ReactionConnection, ReactionGroup};
use crate::graphql::repository::Repository;
use crate::graphql::review::{
    PullRequestReview, PullRequestReviewConnection, PullRequestReviewThread, PullRequestReviewThreadConnection,
};
use crate::graphql::scalars::{BigInt, DateTime, Html, Oid, Uri, database_id, int};
use crate::graphql::tree::Ref;
use crate::graphql::{Ask, Result, text};
use crate::http::{Level, Scope, role_of};
use crate::present::author_association;
use crate::world::{self, IssueState, NodeKind, PullFacts, PullSize, ReactionSubject, RepoRole, ReviewState, node_id};
use crate::{policy, pulls};

impl PullRequest {
    fn facts(&self, ctx: &Context<'_>) -> Option<Arc<PullFacts>> {
        ctx.look(|world| pulls::facts(world, &self.pull).cloned())
    }

    pub fn size(&self, ctx: &Context<'_>) -> PullSize {
        self.facts(ctx).map_or(self.pull.size, |facts| facts.size)
    }
}

#[Object]
impl PullRequest {
    async fn additions(&self, ctx: &Context<'_>) -> i32 {
        int(self.size(ctx).additions)
    }

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

    async fn auto_merge_request(&self) -> Option<AutoMergeRequest> {
        None
    }

    async fn base_ref(&self, ctx: &Context<'_>) -> Option<Ref> {
        Ref::branch(ctx, &self.repo, &self.pull.base_ref)
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
        self.issue.body.as_deref().unwrap_or_default()
    }

    #[graphql(name = "bodyHTML")]
    async fn body_html(&self) -> Html {
        text::html(self.issue.body.as_deref().unwrap_or_default(), self.repo.full_name())
    }

    async fn body_text(&self) -> String {
        text::plain(self.issue.body.as_deref().unwrap_or_default())
    }

    async fn can_be_rebased(&self, ctx: &Context<'_>) -> bool {
        self.repo.allow_rebase_merge && ctx.look(|world| pulls::merge_state(world, &self.pull).mergeable) == Some(true)
    }

    async fn changed_files(&self, ctx: &Context<'_>) -> i32 {
        int(self.size(ctx).changed_files)
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

    async fn closing_issues_references(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<IssueConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        paging.of(Vec::new(), |issue: &Issue| issue.issue.number).map(|page| Some(IssueConnection(page)))
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
        comments(ctx, &paging, &self.repo, self.pull.number, order_by)
    }

    async fn commits(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<PullRequestCommitConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        PullRequestCommit::page(ctx, self, &paging).await
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

    async fn deletions(&self, ctx: &Context<'_>) -> i32 {
        int(self.size(ctx).deletions)
    }

    async fn files(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<PullRequestChangedFileConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        PullRequestChangedFileConnection::page(ctx, self, &paging).await.map(Some)
    }

    async fn full_database_id(&self) -> Option<BigInt> {
        Some(BigInt(self.pull.id.to_string()))
    }

    /// Null when the branch is gone.
    async fn head_ref(&self, ctx: &Context<'_>) -> Option<Ref> {
        let head = self.pull.head_repo?;
        let repo = ctx.look(|world| Repository::seen(world, ctx.caller(), head))?;
        Ref::branch(ctx, &repo, &self.pull.head_ref)
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

    async fn includes_created_edit(&self) -> bool {
        false
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

    async fn latest_opinionated_reviews(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        #[graphql(default_with = "Some(false)")] writers_only: Option<bool>,
    ) -> Result<Option<PullRequestReviewConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let opinion = |state| !matches!(state, ReviewState::Commented | ReviewState::Pending);
        let writes = |reviewer| {
            ctx.look(|world| role_of(world, &self.repo, reviewer).is_some_and(|role| role >= RepoRole::Write))
        };
        let all = PullRequestReview::all(ctx, &self.repo, self.pull.number);
        let latest = PullRequestReview::latest(all, |review| {
            opinion(review.state) && (writers_only != Some(true) || writes(review.author))
        });
        Ok(Some(PullRequestReviewConnection(paging.of(latest, PullRequestReview::key)?)))
    }

    async fn latest_reviews(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<PullRequestReviewConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let all = PullRequestReview::all(ctx, &self.repo, self.pull.number);
        let requested = |review: &world::Review| self.pull.requested_reviewers.contains(&review.author);
        let latest =
            PullRequestReview::latest(all, |review| review.state != ReviewState::Pending && !requested(review));
        Ok(Some(PullRequestReviewConnection(paging.of(latest, PullRequestReview::key)?)))
    }

    async fn locked(&self) -> bool {
        self.issue.locked
    }

    async fn maintainer_can_modify(&self) -> bool {
        self.pull.maintainer_can_modify
    }

    async fn merge_commit(&self, ctx: &Context<'_>) -> Option<Commit> {
        let merged = self.pull.merged.as_ref()?;
        ctx.look(|world| merged.sha_visible_at <= world.now).then(|| Commit::new(&self.repo, &merged.sha))
    }

    async fn merge_queue_entry(&self) -> Option<MergeQueueEntry> {
        None
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

    async fn milestone(&self) -> Option<Milestone> {
        None
    }

    async fn number(&self) -> i32 {
        int(self.pull.number)
    }

    async fn participants(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<UserConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let mut who = vec![self.issue.author];
        ctx.look(|world| {
            let comments = world.comments.within(self.repo.id).filter(|one| one.number == self.pull.number);
            who.extend(comments.map(|comment| comment.author));
            let reviews = world.reviews.within(self.repo.id).filter(|one| one.number == self.pull.number);
            who.extend(reviews.filter(|review| review.submitted_at.is_some()).map(|review| review.author));
        });
        let mut seen = BTreeSet::new();
        who.retain(|one| seen.insert(*one));
        users(ctx, &paging, &who)
    }

    async fn permalink(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn potential_merge_commit(&self, ctx: &Context<'_>) -> Option<Commit> {
        let test = self.facts(ctx).filter(|_| self.state() == PullRequestState::Open)?.test_merge.clone()?;
        Some(Commit::new(&self.repo, test))
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

    async fn published_at(&self) -> Option<DateTime> {
        Some(DateTime(self.issue.created_at))
    }

    pub async fn reaction_groups(&self, ctx: &Context<'_>) -> Option<Vec<ReactionGroup>> {
        Some(reaction::groups(ctx, &self.repo, Some(ReactionSubject::Issue(self.pull.number))))
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

    async fn review_decision(&self, ctx: &Context<'_>) -> Option<PullRequestReviewDecision> {
        ctx.look(|world| pulls::review_decision(world, &self.pull).map(Into::into))
    }

    async fn review_requests(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<ReviewRequestConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let requests: Vec<ReviewRequest> =
            self.pull.requested_reviewers.iter().map(|reviewer| ReviewRequest::new(self, *reviewer)).collect();
        Ok(Some(ReviewRequestConnection(paging.of(requests, ReviewRequest::key)?)))
    }

    async fn review_threads(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<PullRequestReviewThreadConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let threads = PullRequestReviewThread::all(ctx, &self.repo, self.pull.number);
        Ok(PullRequestReviewThreadConnection(paging.of(threads, PullRequestReviewThread::key)?))
    }

    async fn reviews(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        author: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        states: Option<Vec<PullRequestReviewState>>,
    ) -> Result<Option<PullRequestReviewConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let wrote = |id, login: &str| ctx.look(|world| world.account(id).login.eq_ignore_ascii_case(login));
        let mut all = PullRequestReview::all(ctx, &self.repo, self.pull.number);
        all.retain(|one| {
            states.as_ref().is_none_or(|states| states.contains(&one.review.state.into()))
                && author.as_ref().is_none_or(|login| wrote(one.review.author, login))
        });
        Ok(Some(PullRequestReviewConnection(paging.of(all, PullRequestReview::key)?)))
    }

    #[graphql(name = "state")]
    async fn graphql_state(&self) -> PullRequestState {
        self.state()
    }

    async fn status_check_rollup(&self, ctx: &Context<'_>) -> Result<Option<StatusCheckRollup>> {
        StatusCheckRollup::of(ctx, &Commit::new(&self.repo, &self.pull.head_sha))
    }

    /// Force-pushes are the only items that are kept.
    #[allow(clippy::too_many_arguments, reason = "as GitHub has them")]
    async fn timeline_items(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        item_types: Option<Vec<PullRequestTimelineItemsItemType>>,
    ) -> Result<PullRequestTimelineItemsConnection> {
        let wants = |wanted| item_types.as_ref().is_none_or(|types| types.contains(&wanted));
        let paging = Paging::new(ctx, after, before, first, last)?;
        match wants(PullRequestTimelineItemsItemType::HeadRefForcePushedEvent) {
            true => PullRequestTimelineItemsConnection::force_pushes(ctx, self, &paging),
            false => Ok(PullRequestTimelineItemsConnection(Slice::none())),
        }
    }

    async fn title(&self) -> &str {
        &self.issue.title
    }

    #[graphql(name = "titleHTML")]
    async fn title_html(&self) -> Html {
        text::escaped(&self.issue.title)
    }

    async fn total_comments_count(&self, ctx: &Context<'_>) -> Option<i32> {
        let on_diff = |world: &world::World, comment: &world::ReviewComment| {
            comment.number == self.pull.number && crate::reviews::is_shown(world, comment)
        };
        ctx.look(|world| {
            let said = world.comments.within(self.repo.id).filter(|one| one.number == self.pull.number).count();
            Some(int(said + world.review_comments.within(self.repo.id).filter(|one| on_diff(world, one)).count()))
        })
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.issue.updated_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn viewer_can_close(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author) || self.repo.allows(ctx, Scope::PullRequests, Level::Write)
    }

    async fn viewer_can_delete_head_ref(&self, ctx: &Context<'_>) -> bool {
        !self.pull.is_fork() && self.repo.allows(ctx, Scope::Contents, Level::Write)
    }

    async fn viewer_can_disable_auto_merge(&self) -> bool {
        false
    }

    async fn viewer_can_enable_auto_merge(&self) -> bool {
        false
    }

    async fn viewer_can_merge_as_admin(&self, ctx: &Context<'_>) -> bool {
        ctx.look(|world| {
            let branch = pulls::rules_branch(world, &self.pull);
            policy::for_branch(world, &self.repo, branch).protected
                && policy::for_merge(world, &self.repo, ctx.caller(), branch).is_empty()
        })
    }

    pub async fn viewer_can_react(&self, ctx: &Context<'_>) -> bool {
        ctx.caller().actor().is_ok()
    }

    async fn viewer_can_reopen(&self, ctx: &Context<'_>) -> bool {
        self.pull.merged.is_none()
            && (is_viewer(ctx, self.issue.author) || self.repo.allows(ctx, Scope::PullRequests, Level::Write))
    }

    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author) || self.repo.allows(ctx, Scope::PullRequests, Level::Write)
    }

    async fn viewer_can_update_branch(&self, ctx: &Context<'_>) -> bool {
        let behind = self.facts(ctx).is_some_and(|facts| facts.behind_by > 0);
        behind && self.state() == PullRequestState::Open && self.repo.allows(ctx, Scope::Contents, Level::Write)
    }

    async fn viewer_did_author(&self, ctx: &Context<'_>) -> bool {
        is_viewer(ctx, self.issue.author)
    }

    async fn viewer_latest_review(&self, ctx: &Context<'_>) -> Option<PullRequestReview> {
        let all = PullRequestReview::all(ctx, &self.repo, self.pull.number);
        all.into_iter().rev().find(|one| is_viewer(ctx, one.review.author))
    }
}
