//! Repositories.

use std::ops::Deref;
use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::actor::RepositoryOwner;
use super::connection::{Paging, connection};
use super::enums::{
    IssueOrder, IssueState, LabelOrder, MergeCommitMessage, MergeCommitTitle, PullRequestMergeMethod, PullRequestState,
    RepositoryPermission, RepositoryVisibility, SquashMergeCommitMessage, SquashMergeCommitTitle,
};
use super::issue::{Issue, IssueConnection, IssueOrPullRequest, Label, LabelConnection};
use super::pull::{PullFilter, PullRequest, PullRequestConnection};
use super::scalars::{DateTime, GitSshRemote, Uri, database_id, int};
use super::{Ask, Failure, Result};
use crate::http::{Caller, Level, Scope, may, readable_repo, role_of};
use crate::world::{self, AccountKind, Id, NodeKind, Repo, RepoRole, World, node_id};

#[derive(Clone)]
pub struct Repository(Arc<Loaded>);

struct Loaded {
    repo: Repo,
    full_name: String,
}

impl Deref for Repository {
    type Target = Repo;

    fn deref(&self) -> &Repo {
        &self.0.repo
    }
}

impl Repository {
    pub fn new(world: &World, repo: &Repo) -> Self {
        Self(Arc::new(Loaded { repo: repo.clone(), full_name: world.full_name(repo) }))
    }

    /// None for what the caller may not see.
    pub fn seen(world: &World, caller: &Caller, id: Id) -> Option<Self> {
        let repo = world.repo(id)?;
        let owner = &world.account(repo.owner).login;
        readable_repo(world, caller, owner, &repo.name).ok().map(|repo| Self::new(world, repo))
    }

    pub fn named(ctx: &Context<'_>, owner: &str, name: &str) -> Result<Self> {
        ctx.look(|world| readable_repo(world, ctx.caller(), owner, name).map(|repo| Self::new(world, repo))).map_err(
            |_| Failure::not_found(format!("Could not resolve to a Repository with the name '{owner}/{name}'.")),
        )
    }

    pub fn full_name(&self) -> &str {
        &self.0.full_name
    }

    /// The address of something in it: `/pull/7`.
    pub fn path(&self, rest: impl std::fmt::Display) -> String {
        format!("/{}{rest}", self.full_name())
    }

    pub fn url_of(&self, ctx: &Context<'_>, rest: impl std::fmt::Display) -> Uri {
        Uri(ctx.sim().urls().web(self.path(rest)))
    }

    /// Whether the caller may do that much here.
    pub fn allows(&self, ctx: &Context<'_>, scope: Scope, level: Level) -> bool {
        ctx.look(|world| may(world, ctx.caller(), self, scope, level)).is_ok()
    }

    pub fn check(&self, ctx: &Context<'_>, scope: Scope) -> Result<()> {
        Ok(ctx.look(|world| may(world, ctx.caller(), self, scope, Level::Read))?)
    }

    fn role(&self, ctx: &Context<'_>) -> Option<RepoRole> {
        match ctx.caller() {
            Caller::User { user } => ctx.look(|world| role_of(world, self, *user)),
            _ => None,
        }
    }
}

#[Object]
impl Repository {
    async fn allow_update_branch(&self) -> bool {
        self.0.repo.allow_update_branch
    }

    async fn auto_merge_allowed(&self) -> bool {
        self.0.repo.allow_auto_merge
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.0.repo.created_at)
    }

    pub async fn database_id(&self) -> Option<i32> {
        database_id(self.0.repo.id)
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
                && labels.as_ref().is_none_or(|names| super::issue::has_label(world, issue, names))
        };
        ctx.look(|world| {
            let mut found: Vec<&world::Issue> =
                world.issues.within(self.0.repo.id).filter(|issue| wanted(world, issue)).collect();
            super::issue::sort(world, &mut found, order_by, |issue| issue);
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
        #[graphql(default_with = "Some(super::issue::LABELS_AS_CREATED)")] order_by: Option<LabelOrder>,
        query: Option<String>,
    ) -> Result<Option<LabelConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let query = query.unwrap_or_default().to_lowercase();
        let mut labels: Vec<Label> = ctx.look(|world| {
            let all = world.labels.within(self.0.repo.id).filter(|label| label.name.to_lowercase().contains(&query));
            all.map(|label| Label::new(self, label)).collect()
        });
        super::issue::sort_labels(&mut labels, order_by);
        Ok(Some(LabelConnection(paging.of(labels, Label::key)?)))
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

    async fn mirror_url(&self) -> Option<Uri> {
        None
    }

    async fn name(&self) -> &str {
        &self.0.repo.name
    }

    async fn name_with_owner(&self) -> &str {
        self.full_name()
    }

    async fn owner(&self, ctx: &Context<'_>) -> RepositoryOwner {
        ctx.look(|world| RepositoryOwner::new(world, self.0.repo.owner))
    }

    async fn parent(&self, ctx: &Context<'_>) -> Option<Self> {
        let parent = self.0.repo.parent?;
        ctx.look(|world| Self::seen(world, ctx.caller(), parent))
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

    async fn web_commit_signoff_required(&self) -> bool {
        self.0.repo.web_commit_signoff_required
    }
}

connection!(RepositoryConnection, RepositoryEdge, Repository);

pub fn repositories_of(
    ctx: &Context<'_>,
    owner: Id,
    paging: &Paging,
    is_archived: Option<bool>,
    is_fork: Option<bool>,
    visibility: Option<RepositoryVisibility>,
) -> Result<RepositoryConnection> {
    let private = visibility.map(|visibility| visibility == RepositoryVisibility::Private);
    let repos = ctx.look(|world| {
        let all = world.repos.all().filter(|repo| {
            repo.owner == owner
                && is_archived.is_none_or(|archived| repo.archived == archived)
                && is_fork.is_none_or(|fork| repo.parent.is_some() == fork)
                && private.is_none_or(|private| repo.private == private)
        });
        all.filter_map(|repo| Repository::seen(world, ctx.caller(), repo.id)).collect()
    });
    Ok(RepositoryConnection(paging.of(repos, |repo: &Repository| repo.0.repo.id)?))
}
