//! `merge-train runs show`.

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use merge_train_core::ids::RunId;
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::{Run, RunState, RunStep, StepKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::detail::{self, RunDetail};
use super::{OutputFormat, lookup, print_json, read, say};
use crate::cli::remote::DaemonClient;
use crate::clock;
use crate::narration::TimedRunEvent;
use crate::terminal::Ink;

#[derive(Deserialize)]
struct Steps {
    steps: Vec<Value>,
}

pub async fn run(daemon: &DaemonClient, meant: &RunId, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let mut shown = lookup::find(daemon, meant).await?;
    let run = read(&shown)?;
    let run_state = run_state(daemon, &run).await?;
    let Steps { steps } = daemon.get(&format!("/api/v1/runs/{}/steps", run.id)).await?;
    if format == OutputFormat::Json {
        if let Some(gate) = run_state.as_ref().and_then(gate) {
            shown["gate"] = gate;
        }
        shown["steps"] = json!(steps);
        print_json(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let steps: Result<Vec<RunStep>, _> = steps.into_iter().map(serde_json::from_value).collect();
    let steps = steps.context("the daemon has a different version than this command")?;
    say(&detail::text(&RunDetail { run, steps, run_state }, Ink::of(&io::stdout()), clock::now()))?;
    Ok(ExitCode::SUCCESS)
}

/// What the run's events add up to. They know more than the run shows: who may decide, until when, and what is to come.
async fn run_state(daemon: &DaemonClient, run: &Run) -> anyhow::Result<Option<RunState>> {
    // The log of a train, or of a fixer, is that of its repository.
    if [TRAIN, FIXER].contains(&run.kind.as_str()) {
        return Ok(None);
    }
    let events: Vec<Value> = daemon.list(&format!("/api/v1/runs/{}/events", run.id), "events").await?;
    let read: Option<Vec<TimedRunEvent>> = events.into_iter().map(|event| serde_json::from_value(event).ok()).collect();
    let run_state = RunState::replay(read.iter().flatten().map(|happened| (&happened.event, happened.ts)));
    // It may have gone on meanwhile; then this is about something else.
    Ok(run_state.filter(|run_state| run_state.status == run.status))
}

/// The gate that a run stands at, for programs.
fn gate(run_state: &RunState) -> Option<Value> {
    let StepKind::Approval(gate) = &run_state.plan(run_state.position).filter(|_| run_state.status.can_resume())?.kind
    else {
        return None;
    };
    let said = run_state.decisions.iter();
    let said = said.map(|it| json!({ "by": it.by, "decision": it.decision, "reason": it.reason, "at": it.at }));
    Some(json!({
        "by": gate.by,
        "need": gate.need,
        "expiresAt": run_state.expires_at,
        "onExpiry": gate.on_expiry,
        "decisions": said.collect::<Vec<_>>(),
    }))
}
