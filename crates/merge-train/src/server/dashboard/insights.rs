//! What came of it all: how much landed, how long it took and where the time went, from the runs that there were.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::run::RunStatus;
use merge_train_core::train::status::Party;
use serde::Deserialize as _;
use serde_json::Value;
use store::rows::Endings;

use super::{Page, Visitor, plot, system};
use crate::server::App;
use crate::server::problem::Problem;
use crate::terminal::took;

const DAYS: i64 = 30;

pub async fn render(app: &App, visitor: &Visitor<'_>) -> Result<Page, Problem> {
    let since = visitor.now - SignedDuration::from_hours(24 * DAYS);
    let trains = app.store.endings(visitor.tenant(), TRAIN, since).await?;
    let fixes = app.store.endings(visitor.tenant(), FIXER, since).await?;
    let (arrived, aborted) = (trains.count(RunStatus::Completed), trains.count(RunStatus::Failed));
    let landed: u64 = trains.landed.values().sum();
    let body = html! {
        div.heading { h1 { "Insights" } p.muted { "The last " (DAYS) " days" } }
        dl.figures {
            div { dt { "Pull requests landed" } dd id="landed" { (landed) } }
            div { dt { "Trains arrived" } dd { (arrived) } }
            div { dt { "Trains aborted" } dd { (aborted) } }
            div { dt { "Start to landed, p50" } dd { (lead(trains.p50_ms)) } }
            div { dt { "Start to landed, p95" } dd { (lead(trains.p95_ms)) } }
        }
        section { h2 { "Landed per day" } (plot::columns("Pull requests landed on each day (UTC)", &by_day(&trains, visitor.now))) }
        section { h2 { "Where the time went" }
            @if arrived == 0 { p.muted { "No train has arrived yet." } }
            @else { (plot::parts("How long trains waited for whom", &parts(&trains))) }
        }
        section { h2 { "Fixers" } (fixers(&fixes)) }
        section { h2 { "GitHub's limits" } (limits(app)) }
    };
    Ok(Page::new("Insights", body))
}

fn lead(millis: Option<u64>) -> String {
    millis.map_or_else(|| "—".to_owned(), took)
}

fn by_day(trains: &Endings, now: Timestamp) -> Vec<(String, u64)> {
    let days = (0..DAYS).rev().map(|ago| now - SignedDuration::from_hours(24 * ago));
    days.map(|at| {
        let landed = trains.landed.get(&Endings::day(at)).copied().unwrap_or_default();
        (at.strftime("%b %-d").to_string(), landed)
    })
    .collect()
}

fn parts(trains: &Endings) -> Vec<(&'static str, &'static str, f64, String)> {
    let waited = trains
        .waited_ms
        .iter()
        .filter_map(|(party, millis)| Some((Party::deserialize(&Value::from(party.as_str())).ok()?, *millis)));
    let waited: Vec<(Party, u64)> = waited.collect();
    let of = |parties: &[Party]| -> u64 {
        waited.iter().filter(|(party, _)| parties.contains(party)).map(|(_, millis)| millis).sum()
    };
    let (ci, review) = (of(&[Party::Ci]), of(&[Party::Reviewer]));
    let (authors, fixers, github) =
        (of(&[Party::Author, Party::Maintainer]), of(&[Party::Fixer]), of(&[Party::Github]));
    let own = trains.took_ms.saturating_sub(ci + review + authors + fixers + github);
    [
        ("CI", "ci", ci),
        ("Review", "review", review),
        ("Authors and maintainers", "people", authors),
        ("Fixers", "fixers", fixers),
        ("GitHub", "github", github),
        ("merge-train", "own", own),
    ]
    .map(|(name, class, millis)| (name, class, millis as f64, took(millis)))
    .into()
}

fn fixers(fixes: &Endings) -> Markup {
    let (pushed, in_vain) = (fixes.count(RunStatus::Completed), fixes.count(RunStatus::Failed));
    html! {
        @if pushed + in_vain == 0 { p.muted { "No fixer was sent." } }
        @else {
            (plot::parts("Fixers that pushed, and those that did not", &[
                ("pushed", "good", pushed as f64, pushed.to_string()),
                ("did not push", "bad", in_vain as f64, in_vain.to_string()),
            ]))
            @if let Some(half) = fixes.p50_ms { p { "Half of those that pushed took no longer than " strong { (took(half)) } "." } }
        }
    }
}

fn limits(app: &App) -> Markup {
    let stats = app.github.stats();
    html! {
        @if stats.is_empty() { p.muted { "GitHub was not asked anything yet." } }
        @for it in &stats {
            p { strong { (it.name) } }
            dl.facts { dt { "REST" } dd { (system::budget(it.core.as_ref())) } dt { "GraphQL" } dd { (system::budget(it.graphql.as_ref())) } }
        }
    }
}
