//! All runs, the newest first, and fewer of them for whoever says which.

use maud::{Markup, html};
use merge_train_core::ids::RepoId;
use merge_train_core::workflow::{Run, RunStatus};
use store::RunQuery;

use super::address::{PageAddress, RunListFilter};
use super::layout::{at_github, run_badge, since};
use super::{DashboardPage, DashboardVisitor, run};
use crate::daemon::server::App;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::runs::{cursor, read_cursor};
use crate::terminal::took;

const LENGTH: usize = 50;

pub async fn render(
    app: &App,
    visitor: &DashboardVisitor<'_>,
    which: &RunListFilter,
) -> Result<DashboardPage, Problem> {
    let repo = which.repo.as_deref().map(str::parse::<RepoId>).transpose();
    let repo = repo.map_err(|error| Problem::bad_request(error.to_string()))?;
    let query = RunQuery {
        tenant: visitor.tenant().cloned(),
        status: which.status(),
        repo,
        kind: which.kind.clone(),
        except: None,
        after: which.cursor.as_deref().map(read_cursor).transpose()?,
        limit: LENGTH + 1,
    };
    let mut runs = app.store.runs(&query).await?;
    let has_more = runs.len() > LENGTH;
    runs.truncate(LENGTH);
    let next = runs
        .last()
        .filter(|_| has_more)
        .map(|last| PageAddress::Runs(RunListFilter { cursor: Some(cursor(last)), ..which.clone() }));
    let body = html! {
        div.heading {
            h1 { "Runs" }
            (filter(app, which))
        }
        @if runs.is_empty() { p.notice { "No matching runs." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Runs" { table {
                thead { tr { th { "Run" } th { "State" } th { "About" } th { "Since" } th { "Took" } } }
                tbody { @for run in &runs { (row(app, visitor, run)) } }
            } }
        }
        @if which.cursor.is_some() { a href=(PageAddress::Runs(RunListFilter { cursor: None, ..which.clone() })) { "Newest runs" } " " }
        @if let Some(next) = next { a.next href=(next) rel="next" { "Older runs" } }
    };
    Ok(DashboardPage::new("Runs", body))
}

fn filter(app: &App, which: &RunListFilter) -> Markup {
    let kinds = ["train", "fixer"].into_iter().chain(app.orders.workflows.keys().map(String::as_str));
    html! {
        form.filter method="get" action="/runs" {
            label { "State "
                select name="status" {
                    option value="" { "all" }
                    @for status in RunStatus::ALL {
                        option value=(status) selected[which.status() == Some(status)] { (status.to_string().replace('_', " ")) }
                    }
                }
            }
            label { "Type "
                select name="type" {
                    option value="" { "all" }
                    @for kind in kinds { option value=(kind) selected[which.kind.as_deref() == Some(kind)] { (kind) } }
                }
            }
            label { "Repository " input name="repo" value=[which.repo.as_ref()] placeholder="all" autocomplete="off"; }
            button { "Show" }
        }
    }
}

fn row(app: &App, visitor: &DashboardVisitor<'_>, found: &Run) -> Markup {
    html! {
        tr id=(found.id) {
            td { a href=(PageAddress::Run { id: found.id.to_string() }) { (run::title(found)) } br; small.muted { (found.kind) } }
            td { (run_badge(found.status)) }
            td { (found.repo_id) @if !found.pr_id.is_empty() { " " (at_github(app, &found.repo_id, &found.pr_id)) } }
            td { (since(found.updated_at, visitor.now)) }
            td { @if let Some(millis) = found.duration_ms { (took(millis)) } }
        }
    }
}
