//! A train as the API shows it.

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::RepoState;
use merge_train_core::train::TrainRecord;
use merge_train_core::train::status::{Row, Standing};
use serde_json::{Value, json};

/// A train, what it waits for and how far each of its pull requests is.
pub fn shown(web_url: &str, repo: &RepoId, state: &RepoState, train: &TrainRecord) -> Value {
    let root = train.original_root_pr;
    let view = state.train_view(root);
    let stack: Vec<Value> = view.iter().flat_map(|view| &view.stack).map(row).collect();
    let page = |pr: PrNumber| format!("{web_url}/{repo}/pull/{pr}");
    json!({
        "repo": repo,
        "root": root,
        "url": page(root),
        "state": train.state,
        "run_id": state.run_id_of(train, repo),
        "run_state": train.state.as_run(),
        "current_pr": train.current_pr,
        "phase": train.cascade_phase.name(),
        "started_at": train.started_at,
        "stopped_at": train.stopped_at,
        "why": state.why(root),
        "error": train.error,
        "stack": stack,
        "status_comment_url": train.status_comment_id.map(|comment| format!("{}#issuecomment-{comment}", page(root))),
        "record": train,
    })
}

fn row(row: &Row) -> Value {
    let (standing, merge_commit) = match &row.standing {
        Standing::Open => ("open", None),
        Standing::Draft => ("draft", None),
        Standing::Landed(commit) => ("landed", commit.as_ref()),
        Standing::Closed => ("closed", None),
    };
    json!({
        "pr": row.pr,
        "branch": row.branch,
        "predecessor": row.predecessor,
        "standing": standing,
        "merge_commit": merge_commit,
    })
}
