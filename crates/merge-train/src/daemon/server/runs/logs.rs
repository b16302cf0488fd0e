//! What the commands of a run print: which logs there are, and each of them, as it grows if need be.
//!
//! Logs are files of the instance that ran the command; another instance has none to show.

use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use merge_train_core::ids::RunId;
use merge_train_core::workflow::{Run, RunStatus};
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use utoipa::{IntoParams, ToSchema};

use super::known;
use crate::config::Role;
use crate::daemon::server::App;
use crate::daemon::server::address::{LARGEST_NUMBER, PathParameters, RunPath};
use crate::daemon::server::openapi::ReadingOne;
use crate::daemon::server::problem::Problem;

/// How often is looked for what was added.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How much is sent at once.
const PIECE: usize = 64 << 10;
const SUFFIX: &str = ".log";

/// The logs of a run.
#[derive(Serialize, ToSchema)]
#[schema(as = RunLogs)]
pub struct RunLogsDocument {
    run: RunId,
    /// The state of the run: until it has ended, more may follow.
    status: RunStatus,
    /// The most recently written one comes last.
    logs: Vec<RunLogDocument>,
}

/// The output of one attempt of a step.
#[derive(Serialize, ToSchema)]
#[schema(as = RunLog)]
pub struct RunLogDocument {
    /// Its name in requests.
    #[schema(example = "fix-1.log")]
    pub name: String,
    pub step: String,
    #[schema(minimum = 1)]
    pub attempt: u32,
    /// How long it is now.
    pub bytes: u64,
    #[serde(skip)]
    written_at: SystemTime,
}

/// The logs of a run on this instance
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}/logs",
    operation_id = "list_logs",
    tag = "runs",
    params(RunPath),
    responses((status = 200, description = "The whole list.", body = RunLogsDocument), ReadingOne)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
) -> Result<Json<RunLogsDocument>, Problem> {
    let (run, _) = known(&app, &headers, &one.id, Role::Viewer).await?;
    let logs = found(&folder(&app, &run.id)).await.map_err(|error| unreadable(&error))?;
    Ok(Json(RunLogsDocument { run: run.id, status: run.status, logs }))
}

/// Which log of its run it is.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct LogNamePath {
    /// The name of the log.
    #[param(example = "fix-1.log")]
    name: String,
}

#[derive(Deserialize)]
pub struct RunLogPath {
    #[serde(flatten)]
    one: RunPath,
    #[serde(flatten)]
    name: LogNamePath,
}

/// Which part of a log.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogRangeQuery {
    /// From which byte on.
    #[param(nullable = false, minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    from: Option<u64>,
    /// `true`: keep sending what is added until the run has ended.
    #[param(nullable = false)]
    follow: Option<bool>,
}

/// A log of a run, as its command wrote it
///
/// Do not trust it: it may contain terminal control codes.
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}/logs/{name}",
    operation_id = "show_log",
    tag = "runs",
    params(RunPath, LogNamePath, LogRangeQuery),
    responses((status = 200, description = "The log.", body = String, content_type = "text/plain"), ReadingOne)
)]
pub async fn show(
    State(app): State<Arc<App>>,
    PathParameters(RunLogPath { one, name }): PathParameters<RunLogPath>,
    part: Result<Query<LogRangeQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (run, _) = known(&app, &headers, &one.id, Role::Viewer).await?;
    let Query(LogRangeQuery { from, follow }) =
        part.map_err(|error| Problem::bad_request(format!("{}; a log takes `from` and `follow`", error.body_text())))?;
    let from = from.unwrap_or(0);
    if from > LARGEST_NUMBER {
        return Err(Problem::bad_request(format!("from is {from}; it must be a whole number, 0–{LARGEST_NUMBER}")));
    }
    let folder = folder(&app, &run.id);
    // Only what was listed is opened: a name is never made a path of.
    let logs = found(&folder).await.map_err(|error| unreadable(&error))?;
    let log = logs.into_iter().find(|log| log.name == name.name).ok_or_else(|| nothing(&run))?;
    let mut file = File::open(folder.join(&log.name)).await.map_err(|error| unreadable(&error))?;
    // Where nothing is yet, it goes on at the end.
    let length = file.metadata().await.map_err(|error| unreadable(&error))?.len();
    file.seek(SeekFrom::Start(from.min(length))).await.map_err(|error| unreadable(&error))?;
    let reading = LogReading { app, run, file, follows: follow.unwrap_or(false), is_over: false };
    let pieces = stream::unfold(reading, |mut reading| async move {
        let piece = reading.next().await?;
        Some((piece, reading))
    });
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

struct LogReading {
    app: Arc<App>,
    run: Run,
    file: File,
    follows: bool,
    is_over: bool,
}

impl LogReading {
    /// The next piece, once there is one; none at the end.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let mut piece = vec![0; PIECE];
            match self.file.read(&mut piece).await {
                Ok(0) => {}
                Ok(count) => {
                    piece.truncate(count);
                    return Some(Ok(piece.into()));
                }
                Err(error) => return Some(Err(error)),
            }
            if !self.follows || self.is_over {
                return None;
            }
            tokio::select! {
                () = self.app.health.stopped() => return None,
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
            // Before the last look: whatever was written until it ended is read then.
            let run = self.app.store.run(Some(&self.run.tenant_id), &self.run.id).await.ok().flatten();
            self.is_over = run.is_none_or(|run| run.status.is_terminal());
        }
    }
}

pub fn folder(app: &App, run: &RunId) -> PathBuf {
    app.run_folders.join(run.as_str()).join("logs")
}

/// What is in a log from there on. The name is one that was found.
pub async fn part(app: &App, run: &RunId, name: &str, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(folder(app, run).join(name)).await?;
    file.seek(SeekFrom::Start(from)).await?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// The logs in a folder, in the order in which they were last written to.
pub async fn found(folder: &Path) -> io::Result<Vec<RunLogDocument>> {
    let mut logs = Vec::new();
    let mut entries = match tokio::fs::read_dir(folder).await {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(logs),
        Err(error) => return Err(error),
    };
    while let Some(entry) = entries.next_entry().await? {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some((step, attempt)) = parts(&name) else { continue };
        let (step, metadata) = (step.to_owned(), entry.metadata().await?);
        // Not what a link leads to.
        if metadata.is_file() {
            let written_at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            logs.push(RunLogDocument { step, attempt, bytes: metadata.len(), written_at, name });
        }
    }
    logs.sort_by(|left, right| (left.written_at, &left.name).cmp(&(right.written_at, &right.name)));
    Ok(logs)
}

/// The step and the attempt that the name of a log says.
fn parts(name: &str) -> Option<(&str, u32)> {
    let (step, attempt) = name.strip_suffix(SUFFIX)?.rsplit_once('-')?;
    Some((step, attempt.parse().ok()?))
}

fn nothing(run: &Run) -> Problem {
    let detail =
        format!("{} has no such log on this instance; GET /api/v1/runs/{}/logs lists its logs", run.id, run.id);
    Problem::new(StatusCode::NOT_FOUND, "NO_SUCH_LOG", detail)
}

fn unreadable(error: &io::Error) -> Problem {
    tracing::error!(%error, "a log could not be read");
    let detail = "the log could not be read; the daemon's log says why";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_log_says_its_step_and_attempt() {
        assert_eq!(parts("fix-1.log"), Some(("fix", 1)));
        assert_eq!(parts("ask-the-crowd-12.log"), Some(("ask-the-crowd", 12)));
        for name in ["fix.log", "fix-1", "fix-one.log", ".log", "-.log", "fix-1.log.gz"] {
            assert_eq!(parts(name), None, "{name}");
        }
    }

    #[tokio::test]
    async fn what_is_no_log_is_not_listed() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(found(&dir.path().join("none")).await.expect("nothing").is_empty());
        for name in ["b-1.log", "a-2.log", "notes.txt"] {
            std::fs::write(dir.path().join(name), name).expect("written");
        }
        std::fs::create_dir(dir.path().join("d-1.log")).expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("c-1.log")).expect("a link");
        let mut names: Vec<String> = found(dir.path()).await.expect("a list").into_iter().map(|log| log.name).collect();
        names.sort();
        assert_eq!(names, ["a-2.log", "b-1.log"]);
    }
}
