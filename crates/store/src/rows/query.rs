//! Asking for rows. Whose they are is part of every question.

use jiff::Timestamp;
use merge_train_core::ids::{RepoId, RunId, TenantId};
use serde::de::DeserializeOwned;

use super::{Checkpoint, Run, RunQuery, RunStatus, RunStep, Session, Transition, Workspace};
use crate::db::{Conn, Query, Script, ask, int, micros, sql};
use crate::error::Result;

async fn one<T: DeserializeOwned>(query: Query, conn: &mut Conn<'_>) -> Result<Option<T>> {
    query.first(conn).await?.map(|row| row.json(0)).transpose()
}

async fn many<T: DeserializeOwned>(query: Query, conn: &mut Conn<'_>) -> Result<Vec<T>> {
    query.all(conn).await?.iter().map(|row| row.json(0)).collect()
}

pub(crate) const RUN_OF_WHOMEVER: &str = "SELECT data FROM runs WHERE id = $1";

pub async fn run(conn: &mut Conn<'_>, tenant: Option<&TenantId>, id: &RunId) -> Result<Option<Run>> {
    let query = match tenant {
        Some(tenant) => {
            sql("SELECT data FROM runs WHERE tenant = $1 AND id = $2").text(tenant.as_str()).text(id.as_str())
        }
        None => sql(RUN_OF_WHOMEVER).text(id.as_str()),
    };
    one(query, conn).await
}

/// The statement for a list of runs: only what is asked for is in it, so that it can use the index made for it.
pub(crate) fn runs_statement(query: &RunQuery) -> Query {
    let mut wanted = Vec::new();
    let mut count = 0;
    let mut next = || {
        count += 1;
        count
    };
    if query.tenant.is_some() {
        wanted.push(format!("tenant = ${}", next()));
    }
    if query.status.is_some() {
        wanted.push(format!("status = ${}", next()));
    }
    if query.repo.is_some() {
        wanted.push(format!("repo = ${}", next()));
    }
    if query.kind.is_some() {
        wanted.push(format!("kind = ${}", next()));
    }
    if query.except.is_some() {
        wanted.push(format!("kind <> ${}", next()));
    }
    if query.after.is_some() {
        wanted.push(format!("(created_at, id) < (${}, ${})", next(), next()));
    }
    let filter = if wanted.is_empty() { String::new() } else { format!("WHERE {}", wanted.join(" AND ")) };
    let mut statement =
        sql(format!("SELECT data FROM runs {filter} ORDER BY created_at DESC, id DESC LIMIT ${}", next()));
    if let Some(tenant) = &query.tenant {
        statement = statement.text(tenant.as_str());
    }
    if let Some(status) = query.status {
        statement = statement.text(status.as_str());
    }
    if let Some(repo) = &query.repo {
        statement = statement.text(repo.to_string().to_ascii_lowercase());
    }
    if let Some(kind) = &query.kind {
        statement = statement.text(kind.as_str());
    }
    if let Some(except) = &query.except {
        statement = statement.text(except.as_str());
    }
    if let Some(after) = &query.after {
        statement = statement.int(micros(after.created_at)).text(after.id.as_str());
    }
    statement.int(int(query.limit))
}

pub async fn runs(conn: &mut Conn<'_>, query: &RunQuery) -> Result<Vec<Run>> {
    many(runs_statement(query), conn).await
}

pub async fn runs_of_each(conn: &mut Conn<'_>, queries: &[RunQuery]) -> Result<Vec<Vec<Run>>> {
    let mut script = Script::default();
    for query in queries {
        script.add(runs_statement(query));
    }
    let answers = script.answers(conn).await?;
    answers.iter().map(|rows| rows.iter().map(|row| row.json(0)).collect()).collect()
}

pub(crate) const STALE: &str =
    "SELECT data FROM runs WHERE status = 'running' AND last_heartbeat_at < $1 ORDER BY last_heartbeat_at LIMIT $2";

pub async fn stale_runs(conn: &mut Conn<'_>, before: Timestamp, limit: usize) -> Result<Vec<Run>> {
    many(sql(STALE).int(micros(before)).int(int(limit)), conn).await
}

pub(crate) const SINCE: &str = "SELECT data, last_heartbeat_at FROM runs WHERE status = $1 AND last_heartbeat_at >= $2 \
     AND ($3 IS NULL OR tenant = $3) ORDER BY last_heartbeat_at LIMIT $4";

pub async fn runs_since(
    conn: &mut Conn<'_>,
    tenant: Option<&TenantId>,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Run>> {
    let question = |status: RunStatus| {
        let query = sql(SINCE).text(status.as_str()).int(micros(since));
        query.opt_text(tenant.map(TenantId::as_str)).int(int(limit))
    };
    let mut found = Vec::new();
    let mut horizon = i64::MAX;
    for rows in ask(conn, RunStatus::ALL.map(question)).await? {
        for row in &rows {
            found.push((row.int(1)?, row.json::<Run>(0)?));
        }
        if let Some(last) = rows.last().filter(|_| rows.len() == limit) {
            horizon = horizon.min(last.int(1)?);
        }
    }
    found.retain(|(at, _)| *at <= horizon);
    found.sort_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, run)| run).collect())
}

pub async fn active_runs(conn: &mut Conn<'_>) -> Result<Vec<(TenantId, RunStatus, u64)>> {
    let mut active = Vec::new();
    for status in RunStatus::ALL.into_iter().filter(|status| !status.is_terminal()) {
        let query = sql("SELECT tenant, count(*) FROM runs WHERE status = $1 GROUP BY tenant ORDER BY tenant");
        for row in query.text(status.as_str()).all(conn).await? {
            active.push((row.parsed(0)?, status, row.count(1)?));
        }
    }
    Ok(active)
}

pub async fn steps(conn: &mut Conn<'_>, tenant: &TenantId, run: &RunId) -> Result<Vec<RunStep>> {
    let query = sql("SELECT data FROM steps WHERE tenant = $1 AND run = $2 ORDER BY position, id");
    many(query.text(tenant.as_str()).text(run.as_str()), conn).await
}

pub async fn checkpoints(conn: &mut Conn<'_>, tenant: &TenantId, run: &RunId) -> Result<Vec<Checkpoint>> {
    let query = sql("SELECT data FROM checkpoints WHERE tenant = $1 AND run = $2 ORDER BY at, id");
    many(query.text(tenant.as_str()).text(run.as_str()), conn).await
}

pub async fn workspaces(conn: &mut Conn<'_>, tenant: Option<&TenantId>) -> Result<Vec<Workspace>> {
    match tenant {
        Some(tenant) => {
            let query = sql("SELECT data FROM workspaces WHERE tenant = $1 ORDER BY id");
            many(query.text(tenant.as_str()), conn).await
        }
        None => many(sql("SELECT data FROM workspaces ORDER BY tenant, id"), conn).await,
    }
}

pub(crate) const OPEN_WORKSPACES: &str = "SELECT data FROM workspaces WHERE archived_at IS NULL \
     AND ($1 IS NULL OR tenant = $1) AND ($2 IS NULL OR repo = $2) ORDER BY tenant, id";

pub async fn open_workspaces(
    conn: &mut Conn<'_>,
    tenant: Option<&TenantId>,
    repo: Option<&RepoId>,
) -> Result<Vec<Workspace>> {
    let repo = repo.map(|repo| repo.to_string().to_ascii_lowercase());
    many(sql(OPEN_WORKSPACES).opt_text(tenant.map(TenantId::as_str)).opt_text(repo), conn).await
}

pub async fn workspace(conn: &mut Conn<'_>, tenant: &TenantId, id: &str) -> Result<Option<Workspace>> {
    let query = sql("SELECT data FROM workspaces WHERE tenant = $1 AND id = $2");
    one(query.text(tenant.as_str()).text(id), conn).await
}

pub async fn sessions(conn: &mut Conn<'_>, tenant: &TenantId, workspace: &str) -> Result<Vec<Session>> {
    let query = sql("SELECT data FROM sessions WHERE tenant = $1 AND workspace = $2 ORDER BY started_at DESC, id DESC");
    many(query.text(tenant.as_str()).text(workspace), conn).await
}

pub(crate) const TRANSITIONS: &str = "SELECT data FROM transitions WHERE tenant = $1 AND workspace = $2 \
                                      ORDER BY created_at DESC, id DESC LIMIT $3";

pub async fn transitions(
    conn: &mut Conn<'_>,
    tenant: &TenantId,
    workspace: &str,
    limit: usize,
) -> Result<Vec<Transition>> {
    many(sql(TRANSITIONS).text(tenant.as_str()).text(workspace).int(int(limit)), conn).await
}
