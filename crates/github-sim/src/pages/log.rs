//! What a check printed.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};

use super::PageError;
use super::layout::{page, short};
use super::pull::run_words;
use crate::Sim;
use crate::http::{ApiError, Path};

/// More than anyone reads in a browser; the whole log is at the API.
const SHOWN_BYTES: usize = 512 * 1024;

/// A job is its check run.
pub async fn of_job(Path((owner, name, _, id)): Path<(String, String, u64, u64)>) -> Redirect {
    Redirect::to(&format!("/{owner}/{name}/runs/{id}"))
}

pub async fn show(
    State(sim): State<Sim>,
    Path((owner, name, id)): Path<(String, String, u64)>,
) -> Result<Markup, PageError> {
    let (full_name, run) = sim.read(|world| {
        let repo = world.repo_named(&owner, &name).ok_or_else(ApiError::not_found)?;
        let run = world.check_runs.get(repo.id, id).ok_or_else(ApiError::not_found)?;
        Ok::<_, ApiError>((world.full_name(repo), run.clone()))
    })?;
    let log = tokio::fs::read(sim.log_path(id)).await.unwrap_or_default();
    let tail = &log[log.len().saturating_sub(SHOWN_BYTES)..];
    let (class, words) = run_words(&run);
    Ok(page(
        &run.name,
        html! {
            h1 { (run.name) " " small class=(class) { (words) } }
            p class="muted" { a href={ "/" (full_name) } { (full_name) } " at " code { (short(&run.head_sha)) } }
            @if let Some(title) = &run.output.title { p { strong { (title) } } }
            @if let Some(summary) = &run.output.summary { div class="md" { (super::markdown::render(summary, &full_name)) } }
            @for note in &run.output.annotations {
                p { code { (note.path) ":" (note.start_line) } " " (note.annotation_level) ": " (note.message) }
            }
            h2 { "Log" }
            @if log.is_empty() { p class="muted" { "No output." } }
            @else {
                @if tail.len() < log.len() { p class="muted" { "The last " (tail.len() / 1024) " KiB of " (log.len() / 1024) "." } }
                pre { code { (String::from_utf8_lossy(tail)) } }
            }
        },
    ))
}
