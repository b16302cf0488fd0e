//! Writing rows, with the events that cause them.

use serde::Serialize;

use super::{Checkpoint, Row, Run, RunStatus, Session, Step, Transition, Workspace};
use crate::db::{Conn, Query, corrupt, micros, sql};
use crate::error::{Error, Result};

/// Refuses with `RunEnded` what would change the state of a run that has ended.
pub async fn check(conn: &mut Conn<'_>, rows: &[Row]) -> Result<()> {
    let mut before: Vec<&Run> = Vec::new();
    for run in rows.iter().filter_map(|row| if let Row::Run(run) = row { Some(run) } else { None }) {
        // A batch may tell of several states of one run: the last one counts.
        let earlier = before.iter().rev().find(|it| it.id == run.id && it.tenant_id == run.tenant_id);
        let status = match earlier {
            Some(earlier) => Some(earlier.status),
            None => status_of(conn, run).await?,
        };
        if let Some(status) = status.filter(|status| status.is_terminal() && *status != run.status) {
            return Err(Error::RunEnded { run: run.id.clone(), status: status.as_str().to_owned() });
        }
        before.push(run);
    }
    Ok(())
}

async fn status_of(conn: &mut Conn<'_>, run: &Run) -> Result<Option<RunStatus>> {
    let lock = conn.for_update();
    let query = sql(format!("SELECT status FROM runs WHERE tenant = $1 AND id = $2{lock}"));
    let Some(row) = query.text(run.tenant_id.as_str()).text(run.id.as_str()).first(conn).await? else {
        return Ok(None);
    };
    let text = row.text(0)?;
    let status = RunStatus::ALL.into_iter().find(|status| status.as_str() == text);
    status.map(Some).ok_or_else(|| corrupt(format!("{text:?} is not the status of a run")))
}

pub async fn write(conn: &mut Conn<'_>, rows: &[Row]) -> Result<()> {
    for row in rows {
        upsert(row)?.execute(conn).await?;
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

fn json(row: &impl Serialize) -> Result<String> {
    serde_json::to_string(row).map_err(|error| corrupt(format!("a row cannot be written as JSON: {error}")))
}

fn upsert_run(run: &Run) -> Result<Query> {
    let query = "INSERT INTO runs (tenant, id, repo, kind, status, created_at, last_heartbeat_at, data) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant, id) DO UPDATE SET repo = excluded.repo, \
                 kind = excluded.kind, status = excluded.status, created_at = excluded.created_at, \
                 last_heartbeat_at = excluded.last_heartbeat_at, data = excluded.data";
    let query = sql(query)
        .text(run.tenant_id.as_str())
        .text(run.id.as_str())
        .text(run.repo_id.to_ascii_lowercase())
        .text(run.kind.as_str())
        .text(run.status.as_str())
        .int(micros(run.created_at))
        .int(micros(run.last_heartbeat_at.unwrap_or(run.created_at)));
    Ok(query.text(json(run)?))
}

fn upsert_step(step: &Step) -> Result<Query> {
    let query = "INSERT INTO steps (tenant, run, id, position, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, run, id) DO UPDATE SET position = excluded.position, data = excluded.data";
    let query = sql(query)
        .text(step.tenant_id.as_str())
        .text(step.run_id.as_str())
        .text(step.step_id.as_str())
        .int(i64::from(step.position));
    Ok(query.text(json(step)?))
}

fn upsert_checkpoint(checkpoint: &Checkpoint) -> Result<Query> {
    let query = "INSERT INTO checkpoints (tenant, run, id, at, data) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (tenant, run, id) DO UPDATE SET at = excluded.at, data = excluded.data";
    let query = sql(query)
        .text(checkpoint.tenant_id.as_str())
        .text(checkpoint.run_id.as_str())
        .text(checkpoint.id.as_str())
        .int(micros(checkpoint.timestamp));
    Ok(query.text(json(checkpoint)?))
}

fn upsert_workspace(workspace: &Workspace) -> Result<Query> {
    let query = "INSERT INTO workspaces (tenant, id, repo, data) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (tenant, id) DO UPDATE SET repo = excluded.repo, data = excluded.data";
    let query = sql(query)
        .text(workspace.tenant_id.as_str())
        .text(workspace.id.as_str())
        .text(workspace.repo_id.to_string().to_ascii_lowercase());
    Ok(query.text(json(workspace)?))
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
    Ok(query.text(json(session)?))
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
    Ok(query.text(json(transition)?))
}
