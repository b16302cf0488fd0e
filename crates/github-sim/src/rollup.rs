//! All that is said about a commit, the newest of each, and what it adds up to.

use std::collections::BTreeMap;

use crate::world::{CheckRun, CommitStatus, Id, RequiredCheck, RunConclusion, RunStatus, StatusState, World};

#[derive(Clone, Copy)]
pub enum Context<'w> {
    Run(&'w CheckRun),
    Status(&'w CommitStatus),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RollupState {
    Success,
    Expected,
    Pending,
    Error,
    Failure,
}

/// The newest check run of each app and name, and the newest status of each context, in the order they first appeared.
pub fn contexts<'w>(world: &'w World, repo: Id, sha: &str) -> Vec<Context<'w>> {
    let mut runs: BTreeMap<(Id, &str), &CheckRun> = BTreeMap::new();
    for run in world.check_runs.within(repo).filter(|run| run.head_sha == sha) {
        runs.insert((run.app, &run.name), run);
    }
    let mut statuses: BTreeMap<&str, &CommitStatus> = BTreeMap::new();
    for status in world.statuses.within(repo).filter(|status| status.sha == sha) {
        statuses.insert(&status.context, status);
    }
    let mut all: Vec<Context<'w>> =
        runs.into_values().map(Context::Run).chain(statuses.into_values().map(Context::Status)).collect();
    all.sort_by_key(Context::id);
    all
}

/// None when nothing is said about the commit.
pub fn state(contexts: &[Context<'_>]) -> Option<RollupState> {
    contexts.iter().map(Context::state).max()
}

impl Context<'_> {
    pub fn id(&self) -> Id {
        match self {
            Self::Run(run) => run.id,
            Self::Status(status) => status.id,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Run(run) => &run.name,
            Self::Status(status) => &status.context,
        }
    }

    pub fn state(&self) -> RollupState {
        match self {
            Self::Run(run) => match (run.status, run.conclusion) {
                (RunStatus::Completed, Some(conclusion)) if conclusion.passes() => RollupState::Success,
                (RunStatus::Completed, Some(RunConclusion::Stale)) => RollupState::Expected,
                (RunStatus::Completed, _) => RollupState::Failure,
                _ => RollupState::Pending,
            },
            Self::Status(status) => match status.state {
                StatusState::Success => RollupState::Success,
                StatusState::Pending => RollupState::Pending,
                StatusState::Failure => RollupState::Failure,
                StatusState::Error => RollupState::Error,
            },
        }
    }

    /// Whether this is that required check, passed.
    pub fn satisfies(&self, required: &RequiredCheck) -> bool {
        let right_app = match (self, required.app_id) {
            (_, None) => true,
            (Self::Run(run), Some(app)) => run.app == app,
            (Self::Status(_), Some(_)) => true,
        };
        right_app && self.name() == required.context && self.state() == RollupState::Success
    }
}
