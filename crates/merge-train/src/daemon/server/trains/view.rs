//! A train as the API shows it.

use jiff::Timestamp;
use merge_train_core::ids::{BranchName, PrNumber, RepoId, RunId, Sha};
use merge_train_core::repo::RepoState;
use merge_train_core::repo::trains::status::{self, StackRow, WaitReason};
use merge_train_core::repo::trains::{TrainError, TrainRecord, TrainState};
use merge_train_core::workflow::RunStatus;
use serde::Serialize;
use utoipa::ToSchema;

/// A train, what it waits for, and the progress of its pull requests.
#[derive(Serialize, ToSchema)]
#[schema(as = Train)]
pub struct TrainDocument {
    repo: RepoId,
    /// The pull request it started at, which names the train.
    root: PrNumber,
    /// The page of its root on GitHub.
    url: String,
    state: TrainState,
    /// The run of this train, until it has ended.
    run_id: Option<RunId>,
    run_state: RunStatus,
    /// The pull request it works on now.
    current_pr: PrNumber,
    phase: &'static str,
    started_at: Timestamp,
    stopped_at: Option<Timestamp>,
    why: Option<WaitReason>,
    error: Option<TrainError>,
    stack: Vec<TrainMemberDocument>,
    status_comment_url: Option<String>,
    /// The same as in the status comment.
    #[schema(value_type = Object)]
    record: TrainRecord,
}

/// A pull request of a train.
#[derive(Serialize, ToSchema)]
#[schema(as = Car)]
struct TrainMemberDocument {
    pr: PrNumber,
    /// What it is called.
    title: String,
    branch: BranchName,
    /// The pull request it was stacked on; none for the root.
    predecessor: Option<PrNumber>,
    standing: TrainMemberState,
    merge_commit: Option<Sha>,
}

/// The state of a pull request.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Standing)]
enum TrainMemberState {
    Open,
    Draft,
    Landed,
    Closed,
}

pub fn shown(web_url: &str, repo: &RepoId, state: &RepoState, train: &TrainRecord) -> TrainDocument {
    let root = train.original_root_pr;
    let view = state.train_view(root);
    let page = |pr: PrNumber| format!("{web_url}/{repo}/pull/{pr}");
    TrainDocument {
        repo: repo.clone(),
        root,
        url: page(root),
        state: train.state,
        run_id: state.run_id_of(train, repo),
        run_state: train.state.as_run(),
        current_pr: train.current_pr,
        phase: train.cascade_phase.name(),
        started_at: train.started_at,
        stopped_at: train.stopped_at,
        why: state.why(root),
        error: train.error.clone(),
        stack: view.iter().flat_map(|view| &view.stack).map(|row| car(state, row)).collect(),
        status_comment_url: train.status_comment_id.map(|comment| format!("{}#issuecomment-{comment}", page(root))),
        record: train.clone(),
    }
}

fn car(state: &RepoState, row: &StackRow) -> TrainMemberDocument {
    let (standing, merge_commit) = match &row.standing {
        status::StackRowState::Open => (TrainMemberState::Open, None),
        status::StackRowState::Draft => (TrainMemberState::Draft, None),
        status::StackRowState::Landed(commit) => (TrainMemberState::Landed, commit.clone()),
        status::StackRowState::Closed => (TrainMemberState::Closed, None),
    };
    let title = state.pr(row.pr).map(|pull| pull.title.clone()).unwrap_or_default();
    TrainMemberDocument {
        pr: row.pr,
        title,
        branch: row.branch.clone(),
        predecessor: row.predecessor,
        standing,
        merge_commit,
    }
}
