//! What is said about a commit: the rollup and its check runs.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, SimpleObject, Union};

use super::commit::Commit;
use super::connection::{Paging, Slice, connection};
use super::enums::{CheckAnnotationLevel, CheckConclusionState, CheckRunState, CheckStatusState, StatusState};
use super::repository::Repository;
use super::scalars::{DateTime, Uri, database_id, int};
use super::status::StatusContext;
use super::suite::CheckSuite;
use super::{Ask, Failure, Result};
use crate::http::Scope;
use crate::rollup::{self, RollupState};
use crate::world::{self, Id, Key, NodeKind, RunStatus, decode_node_id, named_node_id, node_id};
use crate::{policy, pulls};

#[derive(Clone, Union)]
pub enum StatusCheckRollupContext {
    CheckRun(CheckRun),
    StatusContext(StatusContext),
}

impl StatusCheckRollupContext {
    pub fn new(repo: &Repository, context: rollup::Context<'_>) -> Self {
        match context {
            rollup::Context::Run(run) => Self::CheckRun(CheckRun::new(repo, run)),
            rollup::Context::Status(status) => Self::StatusContext(StatusContext::new(repo, status)),
        }
    }

    fn key(&self) -> u64 {
        match self {
            Self::CheckRun(run) => run.run.id,
            Self::StatusContext(status) => status.status.id,
        }
    }
}

#[derive(Clone)]
pub struct StatusCheckRollup {
    commit: Commit,
    state: RollupState,
    contexts: Vec<StatusCheckRollupContext>,
}

impl StatusCheckRollup {
    /// None where nothing is said about the commit.
    pub fn of(ctx: &Context<'_>, commit: &Commit) -> Result<Option<Self>> {
        commit.repo.check(ctx, Scope::Checks)?;
        Ok(ctx.look(|world| {
            let contexts = rollup::contexts(world, commit.repo.id, &commit.sha);
            let state = rollup::state(&contexts)?;
            let contexts =
                contexts.into_iter().map(|context| StatusCheckRollupContext::new(&commit.repo, context)).collect();
            Some(Self { commit: commit.clone(), state, contexts })
        }))
    }
}

#[Object]
impl StatusCheckRollup {
    async fn commit(&self) -> Option<&Commit> {
        Some(&self.commit)
    }

    async fn contexts(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<StatusCheckRollupContextConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        StatusCheckRollupContextConnection::new(&paging, self.contexts.clone())
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::StatusCheckRollup, self.commit.repo.id, &self.commit.sha))
    }

    async fn state(&self) -> StatusState {
        self.state.into()
    }
}

/// The page, and all of them to count.
pub struct StatusCheckRollupContextConnection {
    page: Slice<StatusCheckRollupContext>,
    all: Vec<StatusCheckRollupContext>,
}

impl StatusCheckRollupContextConnection {
    pub fn new(paging: &Paging, all: Vec<StatusCheckRollupContext>) -> Result<Self> {
        Ok(Self { page: paging.of(all.clone(), StatusCheckRollupContext::key)?, all })
    }

    fn runs(&self) -> impl Iterator<Item = &CheckRun> {
        self.all.iter().filter_map(|context| match context {
            StatusCheckRollupContext::CheckRun(run) => Some(run),
            StatusCheckRollupContext::StatusContext(_) => None,
        })
    }

    fn statuses(&self) -> impl Iterator<Item = &StatusContext> {
        self.all.iter().filter_map(|context| match context {
            StatusCheckRollupContext::StatusContext(status) => Some(status),
            StatusCheckRollupContext::CheckRun(_) => None,
        })
    }
}

#[Object]
impl StatusCheckRollupContextConnection {
    async fn check_run_count(&self) -> i32 {
        int(self.runs().count())
    }

    async fn check_run_counts_by_state(&self) -> Option<Vec<CheckRunStateCount>> {
        let mut counts: Vec<CheckRunStateCount> = Vec::new();
        for run in self.runs() {
            let state = run.summary();
            match counts.iter_mut().find(|count| count.state == state) {
                Some(count) => count.count += 1,
                None => counts.push(CheckRunStateCount { count: 1, state }),
            }
        }
        Some(counts)
    }

    async fn edges(&self) -> Option<Vec<Option<StatusCheckRollupContextEdge>>> {
        let edge = |member: &super::connection::Member<StatusCheckRollupContext>| StatusCheckRollupContextEdge {
            cursor: member.cursor.clone(),
            node: Some(member.item.clone()),
        };
        Some(self.page.members.iter().map(|member| Some(edge(member))).collect())
    }

    async fn nodes(&self) -> Option<Vec<Option<&StatusCheckRollupContext>>> {
        Some(self.page.items().map(Some).collect())
    }

    async fn page_info(&self) -> super::connection::PageInfo {
        self.page.page_info()
    }

    async fn status_context_count(&self) -> i32 {
        int(self.statuses().count())
    }

    async fn status_context_counts_by_state(&self) -> Option<Vec<StatusContextStateCount>> {
        let mut counts: Vec<StatusContextStateCount> = Vec::new();
        for status in self.statuses() {
            let state = status.state();
            match counts.iter_mut().find(|count| count.state == state) {
                Some(count) => count.count += 1,
                None => counts.push(StatusContextStateCount { count: 1, state }),
            }
        }
        Some(counts)
    }

    async fn total_count(&self) -> i32 {
        int(self.page.total)
    }
}

#[derive(SimpleObject)]
struct StatusCheckRollupContextEdge {
    cursor: String,
    node: Option<StatusCheckRollupContext>,
}

#[derive(SimpleObject)]
struct CheckRunStateCount {
    count: i32,
    state: CheckRunState,
}

#[derive(SimpleObject)]
struct StatusContextStateCount {
    count: i32,
    state: StatusState,
}

#[derive(Clone)]
pub struct CheckRun {
    repo: Repository,
    run: Arc<world::CheckRun>,
}

impl CheckRun {
    pub fn new(repo: &Repository, run: &world::CheckRun) -> Self {
        Self { repo: repo.clone(), run: Arc::new(run.clone()) }
    }

    fn path(&self) -> String {
        format!("/runs/{}", self.run.id)
    }

    /// Status and conclusion in one.
    fn summary(&self) -> CheckRunState {
        use world::RunConclusion as Conclusion;
        match (self.run.status, self.run.conclusion) {
            (RunStatus::Completed, None) => CheckRunState::Completed,
            (RunStatus::Completed, Some(conclusion)) => match conclusion {
                Conclusion::ActionRequired => CheckRunState::ActionRequired,
                Conclusion::Cancelled => CheckRunState::Cancelled,
                Conclusion::Failure => CheckRunState::Failure,
                Conclusion::Neutral => CheckRunState::Neutral,
                Conclusion::Success => CheckRunState::Success,
                Conclusion::Skipped => CheckRunState::Skipped,
                Conclusion::Stale => CheckRunState::Stale,
                Conclusion::TimedOut => CheckRunState::TimedOut,
                Conclusion::StartupFailure => CheckRunState::StartupFailure,
            },
            (RunStatus::InProgress, _) => CheckRunState::InProgress,
            (RunStatus::Waiting, _) => CheckRunState::Waiting,
            (RunStatus::Pending, _) => CheckRunState::Pending,
            (RunStatus::Queued | RunStatus::Requested, _) => CheckRunState::Queued,
        }
    }
}

#[Object]
impl CheckRun {
    async fn annotations(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<CheckAnnotationConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let all: Vec<(u64, CheckAnnotation)> = (0..)
            .zip(self.run.output.annotations.iter().cloned())
            .map(|(at, annotation)| (at, CheckAnnotation { run: self.clone(), annotation }))
            .collect();
        let page = paging.of(all, |(at, _)| *at)?;
        Ok(Some(CheckAnnotationConnection(page.filter_map(|(_, annotation)| Some(annotation)))))
    }

    async fn check_suite(&self, ctx: &Context<'_>) -> Result<CheckSuite> {
        ctx.look(|world| CheckSuite::find(world, &self.repo, self.run.suite))
            .ok_or_else(|| Failure::not_found("Could not resolve to a CheckSuite."))
    }

    async fn completed_at(&self) -> Option<DateTime> {
        self.run.completed_at.map(DateTime)
    }

    async fn conclusion(&self) -> Option<CheckConclusionState> {
        self.run.conclusion.map(Into::into)
    }

    async fn database_id(&self) -> Option<i32> {
        database_id(self.run.id)
    }

    async fn details_url(&self) -> Option<Uri> {
        self.run.details_url.clone().map(Uri)
    }

    async fn external_id(&self) -> Option<&str> {
        Some(&self.run.external_id)
    }

    pub async fn id(&self) -> ID {
        ID(node_id(NodeKind::CheckRun, self.repo.id, self.run.id))
    }

    async fn is_required(
        &self,
        ctx: &Context<'_>,
        pull_request_id: Option<ID>,
        pull_request_number: Option<i32>,
    ) -> Result<bool> {
        let pull = PullNamed::new(pull_request_id, pull_request_number)?;
        is_required(ctx, &self.repo, &pull, &self.run.name, Some(self.run.app))
    }

    async fn name(&self) -> &str {
        &self.run.name
    }

    async fn permalink(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn repository(&self) -> &Repository {
        &self.repo
    }

    async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    async fn started_at(&self) -> Option<DateTime> {
        self.run.started_at.map(DateTime)
    }

    async fn status(&self) -> CheckStatusState {
        self.run.status.into()
    }

    #[graphql(name = "summary")]
    async fn output_summary(&self) -> Option<&str> {
        self.run.output.summary.as_deref()
    }

    async fn text(&self) -> Option<&str> {
        self.run.output.text.as_deref()
    }

    async fn title(&self) -> Option<&str> {
        self.run.output.title.as_deref()
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }
}

connection!(CheckRunConnection, CheckRunEdge, CheckRun);

/// The pull request that a check is asked to be required for.
pub enum PullNamed {
    Id(ID),
    Number(i32),
}

impl PullNamed {
    pub fn new(id: Option<ID>, number: Option<i32>) -> Result<Self> {
        match (id, number) {
            (Some(id), _) => Ok(Self::Id(id)),
            (None, Some(number)) => Ok(Self::Number(number)),
            (None, None) => Err(Failure::unprocessable("A pull request ID or pull request number is required.")),
        }
    }
}

pub fn is_required(
    ctx: &Context<'_>,
    repo: &Repository,
    pull: &PullNamed,
    name: &str,
    app: Option<Id>,
) -> Result<bool> {
    let missing = || Failure::not_found("Could not resolve to a PullRequest.");
    let number = match pull {
        PullNamed::Number(number) => u64::try_from(*number).map_err(|_| missing())?,
        PullNamed::Id(id) => match decode_node_id(id) {
            Some((NodeKind::PullRequest, Key { scope, id })) if scope == repo.id => id,
            _ => return Err(missing()),
        },
    };
    ctx.look(|world| {
        let pull = world.pulls.get(repo.id, number).ok_or_else(missing)?;
        let required = policy::for_branch(world, repo, pulls::rules_branch(world, pull)).required_checks;
        Ok(required
            .iter()
            .any(|check| check.context == name && (check.app_id.is_none() || app.is_none() || check.app_id == app)))
    })
}

#[derive(Clone)]
pub struct CheckAnnotation {
    run: CheckRun,
    annotation: world::Annotation,
}

#[Object]
impl CheckAnnotation {
    async fn annotation_level(&self) -> Option<CheckAnnotationLevel> {
        Some(self.annotation.annotation_level.as_str().into())
    }

    async fn blob_url(&self, ctx: &Context<'_>) -> Uri {
        let CheckRun { repo, run } = &self.run;
        repo.url_of(ctx, format!("/blob/{}/{}", run.head_sha, self.annotation.path))
    }

    async fn location(&self) -> CheckAnnotationSpan {
        let annotation = &self.annotation;
        let position = |line, column: Option<u64>| CheckAnnotationPosition { line: int(line), column: column.map(int) };
        CheckAnnotationSpan {
            start: position(annotation.start_line, annotation.start_column),
            end: position(annotation.end_line, annotation.end_column),
        }
    }

    async fn message(&self) -> &str {
        &self.annotation.message
    }

    async fn path(&self) -> &str {
        &self.annotation.path
    }

    async fn raw_details(&self) -> Option<&str> {
        self.annotation.raw_details.as_deref()
    }

    async fn title(&self) -> Option<&str> {
        self.annotation.title.as_deref()
    }
}

#[derive(SimpleObject)]
struct CheckAnnotationSpan {
    end: CheckAnnotationPosition,
    start: CheckAnnotationPosition,
}

#[derive(SimpleObject)]
struct CheckAnnotationPosition {
    column: Option<i32>,
    line: i32,
}

connection!(CheckAnnotationConnection, CheckAnnotationEdge, CheckAnnotation);
