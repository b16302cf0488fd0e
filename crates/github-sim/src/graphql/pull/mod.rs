//! Pull requests: finding, filtering and listing them.

mod fields;
mod parts;
mod timeline;

pub use parts::{
    PullRequestChangedFileConnection, PullRequestCommit, PullRequestCommitConnection, ReviewRequest,
    ReviewRequestConnection,
};

use std::sync::Arc;

use async_graphql::{Context, SelectionField};

use super::connection::{Paging, connection};
use super::enums::{IssueOrder, PullRequestState};
use super::issue::{has_label, sort};
use super::repository::Repository;
use super::{Ask, Result};
use crate::http::Scope;
use crate::pulls;
use crate::world::{self, IssueState, World};

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
    "viewerCanUpdateBranch",
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
}

fn needs_git(field: &SelectionField<'_>) -> bool {
    ASK_GIT.contains(&field.name()) || field.selection_set().any(|inner| needs_git(&inner))
}

connection!(PullRequestConnection, PullRequestEdge, PullRequest);

/// The arguments that every list of pull requests takes.
#[derive(Default)]
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
