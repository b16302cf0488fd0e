//! The fields of a repository.

use async_graphql::{Context, ID, Object};

use super::Repository;
use crate::graphql::actor::{RepositoryOwner, UserConnection};
use crate::graphql::connection::{Paging, Slice};
use crate::graphql::enums::{
    IssueOrder, IssueState, LabelOrder, MergeCommitMessage, MergeCommitTitle, OrderDirection, PullRequestMergeMethod,
    PullRequestState, RefOrder, RepositoryPermission, RepositoryVisibility, SquashMergeCommitMessage,
    SquashMergeCommitTitle,
};
use crate::graphql::issue::{
    Issue, IssueConnection, IssueOrPullRequest, LABELS_AS_CREATED, Label, LabelConnection, has_label, sort,
    sort_labels, users,
};
use crate::graphql::never::{MilestoneConnection, ProjectConnection, ProjectV2Connection};
use crate::graphql::protection::{BranchProtectionRule, BranchProtectionRuleConnection};
use crate::graphql::pull::{PullFilter, PullRequest, PullRequestConnection};
use crate::graphql::scalars::{DateTime, GitSshRemote, Oid, Uri, database_id, int};
use crate::graphql::tree::{GitObject, Ref, RefConnection};
use crate::graphql::{Ask, Failure, Result};
use crate::http::Scope;
use crate::world::{self, AccountKind, NodeKind, RepoRole, World, node_id};

#[Object]
impl Repository {
    async fn allow_update_branch(&self) -> bool {
        self.0.repo.allow_update_branch
    }

    async fn assignable_users(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        query: Option<String>,
    ) -> Result<UserConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        users(ctx, &paging, &self.people(ctx, query.as_deref(), RepoRole::Write))
    }

    async fn auto_merge_allowed(&self) -> bool {
        self.0.repo.allow_auto_merge
    }

    async fn branch_protection_rules(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<BranchProtectionRuleConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        self.check(ctx, Scope::Administration)?;
        let numbered: Vec<(u64, BranchProtectionRule)> = (0..).zip(BranchProtectionRule::all(self)).collect();
        let page = paging.of(numbered, |(number, _)| *number)?;
        Ok(BranchProtectionRuleConnection(page.filter_map(|(_, rule)| Some(rule))))
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.repo.created_at)
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.0.repo.id)
    }

    /// Null while nothing was pushed.
    async fn default_branch_ref(&self, ctx: &Context<'_>) -> Option<Ref> {
        Ref::branch(ctx, self, &self.0.repo.default_branch)
    }

    async fn delete_branch_on_merge(&self) -> bool {
        self.0.repo.delete_branch_on_merge
    }

    async fn description(&self) -> Option<&str> {
        self.0.repo.description.as_deref()
    }

    async fn disk_usage(&self) -> Option<i32> {
        Some(0)
    }

    async fn fork_count(&self, ctx: &Context<'_>) -> i32 {
        ctx.look(|world| int(world.repos.all().filter(|repo| repo.parent == Some(self.0.repo.id)).count()))
    }

    async fn forking_allowed(&self) -> bool {
        true
    }

    async fn has_discussions_enabled(&self) -> bool {
        false
    }

    async fn has_issues_enabled(&self) -> bool {
        self.0.repo.has_issues
    }

    async fn has_projects_enabled(&self) -> bool {
        false
    }

    async fn has_wiki_enabled(&self) -> bool {
        false
    }

    async fn homepage_url(&self) -> Option<Uri> {
        self.0.repo.homepage.clone().map(Uri)
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Repository, 0, self.0.repo.id))
    }

    async fn is_archived(&self) -> bool {
        self.0.repo.archived
    }

    async fn is_blank_issues_enabled(&self) -> bool {
        true
    }

    async fn is_disabled(&self) -> bool {
        false
    }

    async fn is_empty(&self, ctx: &Context<'_>) -> bool {
        ctx.look(|world| world.refs(self.0.repo.id).refs.is_empty())
    }

    async fn is_fork(&self) -> bool {
        self.0.repo.parent.is_some()
    }

    async fn is_in_organization(&self, ctx: &Context<'_>) -> bool {
        ctx.look(|world| world.account(self.0.repo.owner).kind == AccountKind::Organization)
    }

    async fn is_locked(&self) -> bool {
        false
    }

    async fn is_mirror(&self) -> bool {
        false
    }

    async fn is_private(&self) -> bool {
        self.0.repo.private
    }

    async fn is_security_policy_enabled(&self) -> Option<bool> {
        Some(false)
    }

    async fn is_template(&self) -> bool {
        false
    }

    async fn is_user_configuration_repository(&self) -> bool {
        false
    }

    async fn issue(&self, ctx: &Context<'_>, number: i32) -> Result<Option<Issue>> {
        self.check(ctx, Scope::Issues)?;
        let found = u64::try_from(number).ok().and_then(|number| ctx.look(|world| Issue::load(world, self, number)));
        found
            .map(Some)
            .ok_or_else(|| Failure::not_found(format!("Could not resolve to an Issue with the number of {number}.")))
    }

    async fn issue_or_pull_request(&self, ctx: &Context<'_>, number: i32) -> Result<Option<IssueOrPullRequest>> {
        let missing = || {
            Failure::not_found(format!("Could not resolve to an issue or pull request with the number of {number}."))
        };
        let at = u64::try_from(number).map_err(|_| missing())?;
        let found = match ctx.look(|world| Issue::load(world, self, at)) {
            Some(issue) => {
                self.check(ctx, Scope::Issues)?;
                Some(IssueOrPullRequest::Issue(issue))
            }
            None => PullRequest::settled(ctx, self, &[at]).await?.pop().map(IssueOrPullRequest::PullRequest),
        };
        found.map(Some).ok_or_else(missing)
    }

    async fn issues(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        labels: Option<Vec<String>>,
        last: Option<i32>,
        order_by: Option<IssueOrder>,
        states: Option<Vec<IssueState>>,
    ) -> Result<IssueConnection> {
        self.check(ctx, Scope::Issues)?;
        let paging = Paging::new(ctx, after, before, first, last)?;
        let wanted = |world: &World, issue: &world::Issue| {
            !issue.is_pull
                && states.as_ref().is_none_or(|states| states.contains(&issue.state.into()))
                && labels.as_ref().is_none_or(|names| has_label(world, issue, names))
        };
        ctx.look(|world| {
            let mut found: Vec<&world::Issue> =
                world.issues.within(self.0.repo.id).filter(|issue| wanted(world, issue)).collect();
            sort(world, &mut found, order_by, |issue| issue);
            let page = paging.of(found, |issue| issue.number)?;
            Ok(IssueConnection(page.filter_map(|issue| Issue::load(world, self, issue.number))))
        })
    }

    async fn label(&self, ctx: &Context<'_>, name: String) -> Option<Label> {
        ctx.look(|world| {
            let found = world.labels.within(self.0.repo.id).find(|label| label.name.eq_ignore_ascii_case(&name))?;
            Some(Label::new(self, found))
        })
    }

    pub async fn labels(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        #[graphql(default_with = "Some(LABELS_AS_CREATED)")] order_by: Option<LabelOrder>,
        query: Option<String>,
    ) -> Result<Option<LabelConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let query = query.unwrap_or_default().to_lowercase();
        let mut labels: Vec<Label> = ctx.look(|world| {
            let all = world.labels.within(self.0.repo.id).filter(|label| label.name.to_lowercase().contains(&query));
            all.map(|label| Label::new(self, label)).collect()
        });
        sort_labels(&mut labels, order_by);
        Ok(Some(LabelConnection(paging.of(labels, Label::key)?)))
    }

    async fn mentionable_users(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        query: Option<String>,
    ) -> Result<UserConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        users(ctx, &paging, &self.people(ctx, query.as_deref(), RepoRole::Read))
    }

    async fn merge_commit_allowed(&self) -> bool {
        self.0.repo.allow_merge_commit
    }

    async fn merge_commit_message(&self) -> MergeCommitMessage {
        self.0.repo.merge_commit_message.into()
    }

    async fn merge_commit_title(&self) -> MergeCommitTitle {
        self.0.repo.merge_commit_title.into()
    }

    async fn milestones(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<MilestoneConnection>> {
        Paging::new(ctx, after, before, first, last)?;
        Ok(Some(MilestoneConnection(Slice::none())))
    }

    async fn mirror_url(&self) -> Option<Uri> {
        None
    }

    async fn name(&self) -> &str {
        &self.0.repo.name
    }

    async fn name_with_owner(&self) -> &str {
        self.full_name()
    }

    async fn object(
        &self,
        ctx: &Context<'_>,
        expression: Option<String>,
        oid: Option<Oid>,
    ) -> Result<Option<GitObject>> {
        self.check(ctx, Scope::Contents)?;
        match (oid, expression) {
            (Some(oid), _) => GitObject::by_oid(ctx, self, &oid.0).await,
            (None, Some(expression)) => GitObject::by_expression(ctx, self, &expression).await,
            (None, None) => Ok(None),
        }
    }

    async fn owner(&self, ctx: &Context<'_>) -> RepositoryOwner {
        ctx.look(|world| RepositoryOwner::new(world, self.0.repo.owner))
    }

    async fn parent(&self, ctx: &Context<'_>) -> Option<Self> {
        let parent = self.0.repo.parent?;
        ctx.look(|world| Self::seen(world, ctx.caller(), parent))
    }

    async fn projects(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<ProjectConnection> {
        Paging::new(ctx, after, before, first, last)?;
        Ok(ProjectConnection(Slice::none()))
    }

    #[graphql(name = "projectsV2")]
    async fn projects_v2(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<ProjectV2Connection> {
        Paging::new(ctx, after, before, first, last)?;
        Ok(ProjectV2Connection(Slice::none()))
    }

    async fn pull_request(&self, ctx: &Context<'_>, number: i32) -> Result<Option<PullRequest>> {
        let at = u64::try_from(number).unwrap_or_default();
        PullRequest::settled(ctx, self, &[at]).await?.pop().map(Some).ok_or_else(|| {
            Failure::not_found(format!("Could not resolve to a PullRequest with the number of {number}."))
        })
    }

    async fn pull_requests(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        base_ref_name: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        head_ref_name: Option<String>,
        labels: Option<Vec<String>>,
        last: Option<i32>,
        order_by: Option<IssueOrder>,
        states: Option<Vec<PullRequestState>>,
    ) -> Result<PullRequestConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let filter = PullFilter { base_ref_name, head_ref_name, labels, states, order_by };
        filter.page(ctx, self, &paging, |_| true).await
    }

    async fn pushed_at(&self) -> Option<DateTime> {
        Some(DateTime(self.0.repo.pushed_at))
    }

    async fn rebase_merge_allowed(&self) -> bool {
        self.0.repo.allow_rebase_merge
    }

    #[graphql(name = "ref")]
    async fn one_ref(&self, ctx: &Context<'_>, qualified_name: String) -> Option<Ref> {
        Ref::find(ctx, self, &qualified_name)
    }

    async fn refs(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        direction: Option<OrderDirection>,
        first: Option<i32>,
        last: Option<i32>,
        order_by: Option<RefOrder>,
        query: Option<String>,
        ref_prefix: String,
    ) -> Result<Option<RefConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let mut refs = Ref::all(ctx, self, &ref_prefix, query.as_deref().unwrap_or_default());
        if let Some(direction) = order_by.map(|order| order.direction).or(direction) {
            direction.arrange(&mut refs);
        }
        Ok(Some(RefConnection(paging.of(refs, Ref::key)?)))
    }

    pub async fn resource_path(&self) -> Uri {
        Uri(self.path(""))
    }

    async fn squash_merge_allowed(&self) -> bool {
        self.0.repo.allow_squash_merge
    }

    async fn squash_merge_commit_message(&self) -> SquashMergeCommitMessage {
        self.0.repo.squash_merge_commit_message.into()
    }

    async fn squash_merge_commit_title(&self) -> SquashMergeCommitTitle {
        self.0.repo.squash_merge_commit_title.into()
    }

    async fn ssh_url(&self, ctx: &Context<'_>) -> GitSshRemote {
        let host = ctx.sim().urls().web.split("://").nth(1).unwrap_or_default().to_owned();
        GitSshRemote(format!("git@{host}:{}.git", self.full_name()))
    }

    async fn stargazer_count(&self) -> i32 {
        0
    }

    async fn template_repository(&self) -> Option<Self> {
        None
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.0.repo.updated_at)
    }

    pub async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.url_of(ctx, "")
    }

    async fn viewer_can_administer(&self, ctx: &Context<'_>) -> bool {
        self.role(ctx) == Some(RepoRole::Admin)
    }

    async fn viewer_default_commit_email(&self, ctx: &Context<'_>) -> Option<String> {
        ctx.look(|world| ctx.caller().user(world).ok().map(world::Account::commit_email))
    }

    async fn viewer_default_merge_method(&self) -> PullRequestMergeMethod {
        let repo = &self.0.repo;
        if repo.allow_merge_commit {
            PullRequestMergeMethod::Merge
        } else if repo.allow_squash_merge {
            PullRequestMergeMethod::Squash
        } else {
            PullRequestMergeMethod::Rebase
        }
    }

    async fn viewer_has_starred(&self) -> bool {
        false
    }

    /// Null for an app, which has permissions and no role.
    async fn viewer_permission(&self, ctx: &Context<'_>) -> Option<RepositoryPermission> {
        self.role(ctx).map(Into::into)
    }

    async fn visibility(&self) -> RepositoryVisibility {
        if self.0.repo.private { RepositoryVisibility::Private } else { RepositoryVisibility::Public }
    }

    async fn watchers(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<UserConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        users(ctx, &paging, &[])
    }

    async fn web_commit_signoff_required(&self) -> bool {
        self.0.repo.web_commit_signoff_required
    }
}
