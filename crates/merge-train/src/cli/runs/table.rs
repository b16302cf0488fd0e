//! Runs, a row for each.

use jiff::Timestamp;
use merge_train_core::workflow::{Run, RunStatus, StepStatus};

use crate::terminal::{CYAN, Cell, DIM, GREEN, Ink, PLAIN, RED, YELLOW, ago, columns, line, took};

/// Whatever is asked of a run, this is how it looks in one row.
pub fn overview(runs: &[Run], ink: Ink, now: Timestamp) -> String {
    let headings = ["RUN", "TYPE", "STATUS", "FOR", "STEP", "STARTED", "TOOK"];
    let rows = runs.iter().map(|run| {
        let status = Cell::coloured(colour(run.status), run.status.as_str());
        let took = run.duration_ms.map(took).unwrap_or_default();
        [
            run.id.as_str().into(),
            line(&run.kind).into(),
            status,
            subject(run).into(),
            step(run).into(),
            ago(run.created_at, now).into(),
            took.into(),
        ]
    });
    columns(headings, rows.collect(), ink).into_iter().map(|line| line + "\n").collect()
}

/// What a run is about: a pull request, a repository, or whose it is.
pub fn subject(run: &Run) -> String {
    match (run.repo_id.as_str(), run.pr_id.as_str()) {
        ("", _) => run.tenant_id.to_string(),
        (repo, "") => line(repo),
        (repo, pr) => format!("{}#{}", line(repo), line(pr)),
    }
}

fn step(run: &Run) -> String {
    match &run.current_step {
        _ if is_winding_up(run) => "(being cancelled)".to_owned(),
        Some(step) if !run.status.is_terminal() => line(step),
        Some(_) | None => String::new(),
    }
}

/// Whether somebody cancelled it, and it is not over yet.
pub fn is_winding_up(run: &Run) -> bool {
    run.cancellation.is_some() && !run.status.is_terminal()
}

pub fn colour(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Pending | RunStatus::Cancelled => DIM,
        RunStatus::Running => CYAN,
        RunStatus::AwaitingApproval | RunStatus::WaitingExternal => YELLOW,
        RunStatus::Completed => GREEN,
        RunStatus::Failed => RED,
    }
}

pub fn step_cell(status: StepStatus, run: RunStatus) -> Cell {
    let (name, colour) = match status {
        // Nothing ended it but the end of the run.
        StepStatus::Running if run.is_terminal() => ("cut off", DIM),
        StepStatus::Pending => ("pending", DIM),
        StepStatus::Running => ("running", CYAN),
        StepStatus::Completed => ("completed", PLAIN),
        StepStatus::Failed => ("failed", RED),
        StepStatus::Skipped => ("skipped", DIM),
    };
    Cell::coloured(colour, name)
}
