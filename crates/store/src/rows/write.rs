//! Writing rows, with the events that cause them.

use std::collections::HashMap;

use jiff::Timestamp;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::{FIXER, TRAIN, landing};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Checkpoint, Row, Run, RunStatus, RunStep, Session, Transition, Workspace};
use crate::db::{Conn, Query, Record, Script, cell, corrupt, int, micros, sql};
use crate::error::{Error, Result};

fn runs(rows: &[Row]) -> impl Iterator<Item = &Run> {
    rows.iter().filter_map(|row| if let Row::Run(run) = row { Some(run.as_ref()) } else { None })
}

/// Asks for these runs, as they are. Not for those alone that have ended: there are many of these, and by their index the
/// database would look for them.
pub fn known(conn: &Conn<'_>, rows: &[Row]) -> Query {
    let (tenant, id, table, lock) = (cell(0), cell(1), conn.table_of(1), conn.for_update());
    let named = Value::from_iter(runs(rows).map(|run| json!([run.tenant_id, run.id])));
    sql(format!("SELECT status, data FROM runs WHERE (tenant, id) IN (SELECT {tenant}, {id} FROM {table}){lock}"))
        .text(named.to_string())
}

/// Refuses with `RunEnded` what would change how a run ended. A batch may tell of several states of one run.
pub fn check(rows: &[Row], known: &[Record]) -> Result<()> {
    let mut ended = Vec::new();
    for row in known {
        let status: RunStatus = row.text(0).and_then(|text| read(&text))?;
        if status.is_terminal() {
            ended.push(row.json::<Run>(1)?);
        }
    }
    let mut ended: HashMap<_, &Run> = ended.iter().map(|run| ((&run.tenant_id, &run.id), run)).collect();
    for run in runs(rows) {
        let name = (&run.tenant_id, &run.id);
        if let Some(end) = ended.get(&name).filter(|end| end_of(end) != end_of(run)) {
            return Err(Error::RunEnded { run: run.id.clone(), status: end.status.as_str().to_owned() });
        }
        if run.status.is_terminal() {
            ended.insert(name, run);
        }
    }
    Ok(())
}

pub(super) fn read(text: &str) -> Result<RunStatus> {
    let status = RunStatus::ALL.into_iter().find(|status| status.as_str() == text);
    status.ok_or_else(|| corrupt(format!("{text:?} is not the status of a run")))
}

/// What never changes of a run that has ended; the rest is about it, not of it.
fn end_of(run: &Run) -> impl PartialEq + use<'_> {
    let Run { status, result, error, cancellation, compensation_log, completed_at, duration_ms, .. } = run;
    (status, result, error, cancellation, compensation_log, completed_at, duration_ms)
}

pub fn write(script: &mut Script, rows: &[Row]) -> Result<()> {
    for row in rows {
        script.add(upsert(row)?);
        if let Row::Step(step) = row
            && let Some((pr, at)) = landing(step)
        {
            script.add(upsert_landing(step, pr, at));
        }
    }
    Ok(())
}

fn upsert(row: &Row) -> Result<Query> {
    match row {
        Row::Run(run) => upsert_run(run),
        Row::Step(step) => upsert_step(step),
        Row::Checkpoint(checkpoint) => upsert_checkpoint(checkpoint),
        Row::Workspace(workspace) => upsert_workspace(workspace),
        Row::Session(session) => upsert_session(session),
        Row::Transition(transition) => insert_transition(transition),
    }
}

fn written(row: &impl Serialize) -> Result<String> {
    serde_json::to_string(row).map_err(|error| corrupt(format!("a row cannot be written as JSON: {error}")))
}

fn upsert_run(run: &Run) -> Result<Query> {
    // What a run is about, and when it began, stays: each column that is named has its indices written again.
    let query = "INSERT INTO runs (tenant, id, repo, kind, status, created_at, last_heartbeat_at, completed_at, \
                 duration_ms, outcome, waited, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
                 ON CONFLICT (tenant, id) DO UPDATE SET status = excluded.status, \
                 last_heartbeat_at = excluded.last_heartbeat_at, completed_at = excluded.completed_at, \
                 duration_ms = excluded.duration_ms, outcome = excluded.outcome, waited = excluded.waited, \
                 data = excluded.data";
    let query = sql(query)
        .text(run.tenant_id.as_str())
        .text(run.id.as_str())
        .text(run.repo_id.to_ascii_lowercase())
        .text(run.kind.as_str())
        .text(run.status.as_str())
        .int(micros(run.created_at))
        .int(micros(run.last_heartbeat_at.unwrap_or(run.created_at)))
        .opt_int(run.completed_at.map(micros))
        .opt_int(run.duration_ms.map(int))
        .opt_text(outcome(run))
        .opt_text(waited(run));
    Ok(query.text(written(run)?))
}

/// Why a fixer ended that has: one that pushed and one that gave up have both completed.
fn outcome(run: &Run) -> Option<&str> {
    let result = run.result.as_ref().filter(|_| run.kind == FIXER && run.completed_at.is_some())?;
    result.get("outcome")?.as_str()
}

/// For how many milliseconds a train that has ended waited for whom.
fn waited(run: &Run) -> Option<String> {
    let result = run.result.as_ref().filter(|_| run.kind == TRAIN && run.completed_at.is_some())?;
    let waited = result.get("waited")?.as_object().filter(|waited| !waited.is_empty())?;
    waited.values().all(Value::is_u64).then(|| Value::Object(waited.clone()).to_string())
}

fn upsert_landing(step: &RunStep, pr: PrNumber, at: Timestamp) -> Query {
    let query = "INSERT INTO landings (tenant, run, pr, at) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (tenant, run, pr) DO UPDATE SET at = excluded.at";
    sql(query).text(step.tenant_id.as_str()).text(step.run_id.as_str()).int(int(pr.get())).int(micros(at))
}

fn upsert_step(step: &RunStep) -> Result<Query> {
    let query = "INSERT INTO steps (tenant, run, id, position, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, run, id) DO UPDATE SET position = excluded.position, data = excluded.data";
    let query = sql(query)
        .text(step.tenant_id.as_str())
        .text(step.run_id.as_str())
        .text(step.step_id.as_str())
        .int(i64::from(step.position));
    Ok(query.text(written(step)?))
}

fn upsert_checkpoint(checkpoint: &Checkpoint) -> Result<Query> {
    let query = "INSERT INTO checkpoints (tenant, run, id, at, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, run, id) DO UPDATE SET at = excluded.at, data = excluded.data";
    let query = sql(query)
        .text(checkpoint.tenant_id.as_str())
        .text(checkpoint.run_id.as_str())
        .text(checkpoint.id.as_str())
        .int(micros(checkpoint.timestamp));
    Ok(query.text(written(checkpoint)?))
}

fn upsert_workspace(workspace: &Workspace) -> Result<Query> {
    let query = "INSERT INTO workspaces (tenant, id, repo, archived_at, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, id) DO UPDATE SET repo = excluded.repo, archived_at = excluded.archived_at, \
                 data = excluded.data";
    let query = sql(query)
        .text(workspace.tenant_id.as_str())
        .text(workspace.id.as_str())
        .text(workspace.repo_id.to_string().to_ascii_lowercase())
        .opt_int(workspace.archived_at.map(micros));
    Ok(query.text(written(workspace)?))
}

fn upsert_session(session: &Session) -> Result<Query> {
    let query = "INSERT INTO sessions (tenant, id, workspace, started_at, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, id) DO UPDATE SET workspace = excluded.workspace, \
                 started_at = excluded.started_at, data = excluded.data";
    let query = sql(query)
        .text(session.tenant_id.as_str())
        .text(session.id.as_str())
        .text(session.workspace_id.as_str())
        .int(micros(session.started_at));
    Ok(query.text(written(session)?))
}

/// What was decided stays as it was told.
fn insert_transition(transition: &Transition) -> Result<Query> {
    let query = "INSERT INTO transitions (tenant, id, workspace, created_at, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, id) DO NOTHING";
    let query = sql(query)
        .text(transition.tenant_id.as_str())
        .text(transition.id.as_str())
        .text(transition.workspace_id.as_str())
        .int(micros(transition.created_at));
    Ok(query.text(written(transition)?))
}
