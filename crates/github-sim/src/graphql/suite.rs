//! Check suites, the apps that run them, and the workflow runs behind them.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object};

use super::check::{CheckRun, CheckRunConnection};
use super::commit::{CheckSuiteFilter, Commit};
use super::connection::{Paging, connection};
use super::enums::{CheckConclusionState, CheckRunType, CheckStatusState, WorkflowState};
use super::repository::Repository;
use super::scalars::{DateTime, Uri, database_id, int};
use super::tree::Ref;
use super::{Ask, Failure, Result};
use crate::checks;
use crate::world::{self, Id, NodeKind, World, node_id};

#[derive(Clone)]
pub struct CheckSuite {
    repo: Repository,
    suite: Arc<world::CheckSuite>,
}

impl CheckSuite {
    pub fn find(world: &World, repo: &Repository, id: Id) -> Option<Self> {
        let suite = Arc::new(world.check_suites.get(repo.id, id)?.clone());
        Some(Self { repo: repo.clone(), suite })
    }

    fn path(&self) -> String {
        format!("/commit/{}/checks", self.suite.head_sha)
    }
}

/// The suites of a commit.
pub fn suites_of(
    ctx: &Context<'_>,
    paging: &Paging,
    commit: &Commit,
    filter: Option<&CheckSuiteFilter>,
) -> Result<CheckSuiteConnection> {
    let repo = &commit.repo;
    let wanted = |world: &World, suite: &world::CheckSuite| {
        let app = filter.and_then(|filter| filter.app_id);
        let name = filter.and_then(|filter| filter.check_name.as_deref());
        suite.head_sha == commit.sha
            && app.is_none_or(|app| u64::try_from(app) == Ok(suite.app))
            && name.is_none_or(|name| checks::latest_runs(world, suite).iter().any(|run| run.name == name))
    };
    ctx.look(|world| {
        let suites = world.check_suites.within(repo.id).filter(|suite| wanted(world, suite));
        let suites = suites.map(|suite| CheckSuite { repo: repo.clone(), suite: Arc::new(suite.clone()) }).collect();
        Ok(CheckSuiteConnection(paging.of(suites, |suite: &CheckSuite| suite.suite.id)?))
    })
}

#[derive(InputObject)]
struct CheckRunFilter {
    app_id: Option<i32>,
    check_name: Option<String>,
    check_type: Option<CheckRunType>,
    conclusions: Option<Vec<CheckConclusionState>>,
    status: Option<CheckStatusState>,
    statuses: Option<Vec<CheckStatusState>>,
}

impl CheckRunFilter {
    fn accepts(&self, run: &world::CheckRun) -> bool {
        let status: CheckStatusState = run.status.into();
        self.app_id.is_none_or(|app| u64::try_from(app) == Ok(run.app))
            && self.check_name.as_ref().is_none_or(|name| run.name == *name)
            && self.status.is_none_or(|wanted| status == wanted)
            && self.statuses.as_ref().is_none_or(|wanted| wanted.contains(&status))
            && self
                .conclusions
                .as_ref()
                .is_none_or(|wanted| run.conclusion.is_some_and(|it| wanted.contains(&it.into())))
    }
}

#[Object]
impl CheckSuite {
    async fn app(&self, ctx: &Context<'_>) -> Option<App> {
        ctx.look(|world| App::find(world, self.suite.app))
    }

    async fn branch(&self, ctx: &Context<'_>) -> Option<Ref> {
        Ref::branch(ctx, &self.repo, self.suite.head_branch.as_deref()?)
    }

    async fn check_runs(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        filter_by: Option<CheckRunFilter>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<CheckRunConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let every = filter_by.as_ref().is_some_and(|filter| filter.check_type == Some(CheckRunType::All));
        ctx.look(|world| {
            let runs: Vec<&world::CheckRun> = if every {
                world.check_runs.within(self.repo.id).filter(|run| run.suite == self.suite.id).collect()
            } else {
                checks::latest_runs(world, &self.suite)
            };
            let runs = runs.into_iter().filter(|run| filter_by.as_ref().is_none_or(|filter| filter.accepts(run)));
            let page = paging.of(runs.collect(), |run| run.id)?;
            Ok(Some(CheckRunConnection(page.filter_map(|run| Some(CheckRun::new(&self.repo, run))))))
        })
    }

    async fn commit(&self) -> Commit {
        Commit::new(&self.repo, &self.suite.head_sha)
    }

    async fn conclusion(&self) -> Option<CheckConclusionState> {
        self.suite.conclusion.map(Into::into)
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.suite.created_at)
    }

    async fn database_id(&self) -> Option<i32> {
        database_id(self.suite.id)
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::CheckSuite, self.repo.id, self.suite.id))
    }

    async fn repository(&self) -> &Repository {
        &self.repo
    }

    async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    async fn status(&self) -> CheckStatusState {
        self.suite.status.into()
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.suite.updated_at)
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn workflow_run(&self, ctx: &Context<'_>) -> Option<WorkflowRun> {
        ctx.look(|world| {
            let run = world.workflow_runs.within(self.repo.id).find(|run| run.suite == self.suite.id)?;
            Some(WorkflowRun { repo: self.repo.clone(), run: Arc::new(run.clone()) })
        })
    }
}

connection!(CheckSuiteConnection, CheckSuiteEdge, CheckSuite);

#[derive(Clone)]
pub struct WorkflowRun {
    repo: Repository,
    run: Arc<world::WorkflowRun>,
}

impl WorkflowRun {
    pub fn find(world: &World, repo: &Repository, id: Id) -> Option<Self> {
        let run = Arc::new(world.workflow_runs.get(repo.id, id)?.clone());
        Some(Self { repo: repo.clone(), run })
    }

    fn path(&self) -> String {
        format!("/actions/runs/{}", self.run.id)
    }
}

#[Object]
impl WorkflowRun {
    async fn check_suite(&self, ctx: &Context<'_>) -> Result<CheckSuite> {
        ctx.look(|world| CheckSuite::find(world, &self.repo, self.run.suite))
            .ok_or_else(|| Failure::not_found("Could not resolve to a CheckSuite."))
    }

    async fn created_at(&self) -> DateTime {
        DateTime(self.run.created_at)
    }

    async fn database_id(&self) -> Option<i32> {
        database_id(self.run.id)
    }

    async fn event(&self) -> &str {
        &self.run.event
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::WorkflowRun, self.repo.id, self.run.id))
    }

    async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    async fn run_number(&self) -> i32 {
        int(self.run.run_number)
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.run.updated_at)
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn workflow(&self) -> Workflow {
        Workflow(self.clone())
    }
}

/// The workflow that this run is one of.
#[derive(Clone)]
pub struct Workflow(WorkflowRun);

impl Workflow {
    fn path(&self) -> String {
        let file = self.0.run.path.rsplit('/').next().unwrap_or_default();
        format!("/actions/workflows/{file}")
    }
}

#[Object]
impl Workflow {
    async fn created_at(&self) -> DateTime {
        DateTime(self.0.repo.created_at)
    }

    async fn database_id(&self) -> Option<i32> {
        database_id(self.0.run.workflow_id)
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::Workflow, self.0.repo.id, self.0.run.workflow_id))
    }

    async fn name(&self) -> &str {
        &self.0.run.name
    }

    async fn resource_path(&self) -> Uri {
        Uri(self.0.repo.path(self.path()))
    }

    async fn state(&self) -> WorkflowState {
        WorkflowState::Active
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.0.repo.created_at)
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.0.repo.url_of(ctx, self.path())
    }
}

#[derive(Clone)]
pub struct App(Arc<world::App>);

impl App {
    pub fn find(world: &World, id: Id) -> Option<Self> {
        world.apps.get(0, id).map(|app| Self(Arc::new(app.clone())))
    }
}

#[Object]
impl App {
    async fn created_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    async fn database_id(&self) -> Option<i32> {
        database_id(self.0.id)
    }

    async fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::App, 0, self.0.id))
    }

    async fn logo_background_color(&self) -> &str {
        "ffffff"
    }

    async fn logo_url(&self, ctx: &Context<'_>, size: Option<i32>) -> Uri {
        let _ = size;
        Uri(ctx.sim().urls().web(format!("/avatars/u/{}?v=4", self.0.bot)))
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    async fn slug(&self) -> &str {
        &self.0.slug
    }

    async fn updated_at(&self) -> DateTime {
        DateTime(self.0.created_at)
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        Uri(ctx.sim().urls().web(format!("/apps/{}", self.0.slug)))
    }
}
