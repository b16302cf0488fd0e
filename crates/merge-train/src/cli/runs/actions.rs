//! `merge-train runs approve`, `reject`, `cancel` and `resume`: what somebody wants of a run.

use std::io;
use std::process::ExitCode;

use merge_train_core::ids::RunId;
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::{Run, RunStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::{OutputFormat, lookup, new_id, print_json, read, say, table};
use crate::cli::remote::{DaemonClient, ResponseProgress};
use crate::clock;
use crate::terminal::{Ink, line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunAction {
    Approve,
    Reject,
    Cancel,
    Resume,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RunActionResult {
    Approved,
    /// Others have to approve as well.
    Noted,
    Rejected,
    Cancelled,
    /// It is stopped and undone, and will be cancelled then.
    Cancelling,
    Resumed,
    /// It was taken in, and takes longer than anybody waits here.
    Pending,
}

pub async fn run(
    daemon: &DaemonClient,
    meant: &RunId,
    action: RunAction,
    reason: Option<String>,
    format: OutputFormat,
) -> anyhow::Result<ExitCode> {
    let before = read(&lookup::find(daemon, meant).await?)?;
    let path = format!("/api/v1/runs/{}/{}", before.id, action.verb());
    let response = daemon.post::<Value>(&path, &new_id(), &json!({ "reason": reason })).await?;
    let after = read(&response.body)?;
    let result = action.result(&before, &after, response.progress);
    if format == OutputFormat::Json {
        print_json(&json!({ "result": result, "run": response.body }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let state = table::overview(std::slice::from_ref(&after), Ink::of(&io::stdout()), clock::now());
    say(&format!("{}\n\n{state}", sentence(result, &before)))?;
    if !after.status.is_terminal() {
        say(&format!("\nTo follow it: merge-train runs watch {}\n", after.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl RunAction {
    /// What the API calls it.
    fn verb(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Cancel => "cancel",
            Self::Resume => "resume",
        }
    }

    fn result(self, before: &Run, after: &Run, progress: ResponseProgress) -> RunActionResult {
        let stood_at_gate = before.status == RunStatus::AwaitingApproval;
        let stands_there = stood_at_gate && after.status == before.status && after.current_step == before.current_step;
        match self {
            _ if progress == ResponseProgress::UnderWay => RunActionResult::Pending,
            // A train thinks about it first.
            Self::Approve | Self::Reject | Self::Resume if stands_there && before.kind == TRAIN => {
                RunActionResult::Pending
            }
            Self::Approve | Self::Resume if stands_there => RunActionResult::Noted,
            Self::Approve => RunActionResult::Approved,
            Self::Resume if stood_at_gate => RunActionResult::Approved,
            Self::Resume => RunActionResult::Resumed,
            Self::Reject => RunActionResult::Rejected,
            Self::Cancel if after.status.is_terminal() => RunActionResult::Cancelled,
            Self::Cancel => RunActionResult::Cancelling,
        }
    }
}

fn sentence(result: RunActionResult, before: &Run) -> String {
    let id = &before.id;
    let gate = match before.current_step.as_deref() {
        _ if before.kind == FIXER => "the push".to_owned(),
        Some(step) => format!("step {}", line(step)),
        None => "the gate".to_owned(),
    };
    let event = before.last_transition.as_ref().and_then(|context| context.external_event.as_ref());
    match (result, event) {
        (RunActionResult::Approved, _) => format!("{gate} of {id} is approved."),
        (RunActionResult::Noted, _) => {
            format!("Your approval of {gate} of {id} is recorded; others have to approve as well.")
        }
        (RunActionResult::Rejected, _) => format!("{gate} of {id} is rejected, which ends the run."),
        (RunActionResult::Cancelled, _) => format!("{id} is cancelled."),
        (RunActionResult::Cancelling, _) => {
            format!("{id} is being cancelled: merge-train stops it and undoes its steps.")
        }
        (RunActionResult::Resumed, Some(event))
            if before.status == RunStatus::WaitingExternal && before.kind != TRAIN =>
        {
            format!("{id} continues without the event {}.", line(&event.event_type))
        }
        (RunActionResult::Resumed, _) => format!("{id} continues now."),
        (RunActionResult::Pending, _) => format!("Accepted; {id} handles it soon."),
    }
}

#[cfg(test)]
mod tests;
