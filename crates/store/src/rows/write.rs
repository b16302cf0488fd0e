//! Writing rows, with the events that cause them.

use serde::Serialize;

use super::{Row, Run, RunStatus};
use crate::db::{Conn, Query, corrupt, micros, sql};
use crate::error::{Error, Result};

/// Refuses with `RunEnded` what would change the state of a run that has ended.
pub async fn check(conn: &mut Conn<'_>, rows: &[Row]) -> Result<()> {
    let mut before: Vec<(&Run, Option<RunStatus>)> = Vec::new();
    for run in rows.iter().filter_map(|row| if let Row::Run(run) = row { Some(run) } else { None }) {
        // A batch may tell of several states of one run: the last one counts.
        let earlier = before.iter().rev().find(|(it, _)| it.id == run.id && it.tenant_id == run.tenant_id);
        let status = match earlier {
            Some((earlier, _)) => Some(earlier.status),
            None => status_of(conn, run).await?,
        };
        if let Some(status) = status.filter(|status| status.is_terminal() && *status != run.status) {
            return Err(Error::RunEnded { run: run.id.clone(), status: status.as_str().to_owned() });
        }
        before.push((run, status));
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
    Ok(match row {
        Row::Run(run) => sql("INSERT INTO runs (tenant, id, repo, status, created_at, last_heartbeat_at, data) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, id) DO UPDATE SET repo = excluded.repo, \
             status = excluded.status, created_at = excluded.created_at, \
             last_heartbeat_at = excluded.last_heartbeat_at, data = excluded.data")
        .text(run.tenant_id.as_str())
        .text(run.id.as_str())
        .text(run.repo_id.to_ascii_lowercase())
        .text(run.status.as_str())
        .int(micros(run.created_at))
        .int(micros(run.last_heartbeat_at.unwrap_or(run.created_at))),
        Row::Step(step) => sql("INSERT INTO steps (tenant, run, id, position, data) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, run, id) DO UPDATE SET position = excluded.position, data = excluded.data")
        .text(step.tenant_id.as_str())
        .text(step.run_id.as_str())
        .text(step.step_id.as_str())
        .int(i64::from(step.position)),
        Row::Checkpoint(checkpoint) => {
            sql("INSERT INTO checkpoints (tenant, run, id, at, data) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, run, id) DO UPDATE SET at = excluded.at, data = excluded.data")
            .text(checkpoint.tenant_id.as_str())
            .text(checkpoint.run_id.as_str())
            .text(checkpoint.id.as_str())
            .int(micros(checkpoint.timestamp))
        }
        Row::Workspace(_) | Row::Session(_) | Row::Transition(_) => ratchet(row),
    }
    .text(json(row)?))
}

fn ratchet(row: &Row) -> Query {
    match row {
        Row::Workspace(workspace) => sql("INSERT INTO workspaces (tenant, id, repo, data) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (tenant, id) DO UPDATE SET repo = excluded.repo, data = excluded.data")
        .text(workspace.tenant_id.as_str())
        .text(workspace.id.as_str())
        .text(workspace.repo_id.to_string().to_ascii_lowercase()),
        Row::Session(session) => {
            sql("INSERT INTO sessions (tenant, id, workspace, started_at, data) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, id) DO UPDATE SET workspace = excluded.workspace, \
             started_at = excluded.started_at, data = excluded.data")
            .text(session.tenant_id.as_str())
            .text(session.id.as_str())
            .text(session.workspace_id.as_str())
            .int(micros(session.started_at))
        }
        Row::Transition(transition) => {
            sql("INSERT INTO transitions (tenant, id, workspace, created_at, data) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, id) DO NOTHING")
            .text(transition.tenant_id.as_str())
            .text(transition.id.as_str())
            .text(transition.workspace_id.as_str())
            .int(micros(transition.created_at))
        }
        Row::Run(_) | Row::Step(_) | Row::Checkpoint(_) => unreachable!("these have statements of their own"),
    }
}

fn json(row: &Row) -> Result<String> {
    fn text(value: &impl Serialize) -> Result<String> {
        serde_json::to_string(value).map_err(|error| corrupt(format!("a row cannot be written as JSON: {error}")))
    }
    match row {
        Row::Run(it) => text(it),
        Row::Step(it) => text(it),
        Row::Checkpoint(it) => text(it),
        Row::Workspace(it) => text(it),
        Row::Session(it) => text(it),
        Row::Transition(it) => text(it),
    }
}
