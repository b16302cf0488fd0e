//! `merge-train runs approve`, `reject`, `cancel` and `resume`: what somebody wants of a run.

use std::io;
use std::process::ExitCode;

use merge_train_core::ids::RunId;
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::{Run, RunStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Form, new_id, print_json, read, say, table, which};
use crate::cli::remote::{Daemon, Progress};
use crate::clock;
use crate::terminal::{Ink, line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Approve,
    Reject,
    Cancel,
    Resume,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Result {
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
    daemon: &Daemon,
    meant: &RunId,
    wish: Wish,
    reason: Option<String>,
    form: Form,
) -> anyhow::Result<ExitCode> {
    let before = read(&which::find(daemon, meant).await?)?;
    let path = format!("/api/v1/runs/{}/{}", before.id, wish.verb());
    let taken = daemon.post::<Value>(&path, &new_id(), &json!({ "reason": reason })).await?;
    let after = read(&taken.body)?;
    let result = wish.result(&before, &after, taken.progress);
    if form == Form::Json {
        print_json(&json!({ "result": result, "run": taken.body }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let state = table::overview(std::slice::from_ref(&after), Ink::of(&io::stdout()), clock::now());
    say(&format!("{}\n\n{state}", sentence(result, &before)))?;
    if !after.status.is_terminal() {
        say(&format!("\nTo follow it: merge-train runs watch {}\n", after.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Wish {
    /// What the API calls it.
    fn verb(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Cancel => "cancel",
            Self::Resume => "resume",
        }
    }

    fn result(self, before: &Run, after: &Run, progress: Progress) -> Result {
        let stood_at_gate = before.status == RunStatus::AwaitingApproval;
        let stands_there = stood_at_gate && after.status == before.status && after.current_step == before.current_step;
        match self {
            _ if progress == Progress::UnderWay => Result::Pending,
            // A train thinks about it first.
            Self::Approve | Self::Reject | Self::Resume if stands_there && before.kind == TRAIN => Result::Pending,
            Self::Approve | Self::Resume if stands_there => Result::Noted,
            Self::Approve => Result::Approved,
            Self::Resume if stood_at_gate => Result::Approved,
            Self::Resume => Result::Resumed,
            Self::Reject => Result::Rejected,
            Self::Cancel if after.status.is_terminal() => Result::Cancelled,
            Self::Cancel => Result::Cancelling,
        }
    }
}

fn sentence(result: Result, before: &Run) -> String {
    let id = &before.id;
    let gate = match before.current_step.as_deref() {
        _ if before.kind == FIXER => "the push".to_owned(),
        Some(step) => format!("step {}", line(step)),
        None => "the gate".to_owned(),
    };
    let event = before.last_transition.as_ref().and_then(|context| context.external_event.as_ref());
    match (result, event) {
        (Result::Approved, _) => format!("{gate} of {id} is approved."),
        (Result::Noted, _) => format!("Your approval of {gate} of {id} is recorded; others have to approve as well."),
        (Result::Rejected, _) => format!("{gate} of {id} is rejected, which ends the run."),
        (Result::Cancelled, _) => format!("{id} is cancelled."),
        (Result::Cancelling, _) => format!("{id} is being cancelled: merge-train stops it and undoes its steps."),
        (Result::Resumed, Some(event)) if before.status == RunStatus::WaitingExternal && before.kind != TRAIN => {
            format!("{id} continues without the event {}.", line(&event.event_type))
        }
        (Result::Resumed, _) => format!("{id} continues now."),
        (Result::Pending, _) => format!("Accepted; {id} handles it soon."),
    }
}

#[cfg(test)]
mod tests;
