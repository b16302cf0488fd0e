//! `/_sim/logs`: what jobs printed, where the API's redirects lead.

use std::io::{self, Cursor, Write};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use axum::routing::get;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::http::{ApiError, ApiResult, Path};
use crate::world::Id;
use crate::{Sim, checks};

pub fn routes() -> Router<Sim> {
    Router::new().route("/logs/{job_id}", get(of_job)).route("/logs/{repo_id}/{run_id}/{archive}", get(of_attempt))
}

async fn of_job(State(sim): State<Sim>, Path(job): Path<Id>) -> ApiResult {
    match tokio::fs::read(sim.log_path(job)).await {
        Ok(text) => Ok(respond(text, "text/plain; charset=utf-8")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ApiError::not_found()),
        Err(error) => Err(error.into()),
    }
}

/// A zip archive with a file for each job, as GitHub names them.
async fn of_attempt(State(sim): State<Sim>, Path((repo, run, archive)): Path<(Id, Id, String)>) -> ApiResult {
    let attempt =
        archive.strip_suffix(".zip").and_then(|number| number.parse().ok()).ok_or_else(ApiError::not_found)?;
    let jobs: Vec<(Id, String)> = sim.read(|world| {
        checks::jobs_of(world, repo, run, attempt).into_iter().map(|job| (job.id, job.name.clone())).collect()
    });
    let mut files = Vec::new();
    for (at, (id, name)) in jobs.into_iter().enumerate() {
        // A job that has not begun has printed nothing.
        let text = tokio::fs::read(sim.log_path(id)).await.unwrap_or_default();
        files.push((format!("{at}_{}.txt", name.replace(['/', '\\', ':'], "")), text));
    }
    if files.is_empty() {
        return Err(ApiError::not_found());
    }
    Ok(respond(zipped(&files)?, "application/zip"))
}

/// These files as they are: what is on this machine need not be compressed.
fn zipped(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let stored = SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(name, stored)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn respond(body: Vec<u8>, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use zip::ZipArchive;

    use super::*;

    #[test]
    fn an_archive_has_its_files_in_order() {
        let files = [("0_b.txt".to_owned(), b"one".to_vec()), ("1_é.txt".to_owned(), Vec::new())];
        let mut archive = ZipArchive::new(Cursor::new(zipped(&files).unwrap())).unwrap();
        let mut read = |at| {
            let mut file = archive.by_index(at).unwrap();
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            (file.name().unwrap().into_owned(), content)
        };
        assert_eq!([read(0), read(1)], files);
    }
}
