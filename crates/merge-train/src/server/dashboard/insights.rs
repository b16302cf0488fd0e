//! What came of it all: how much landed, how long it took and where the time went, from the runs that there were.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::run::{Run, RunStatus};
use merge_train_core::train::status::Party;
use serde::Deserialize as _;
use serde_json::Value;
use store::{RunCursor, RunQuery};

use super::{Page, Visitor, plot, system};
use crate::server::App;
use crate::server::problem::Problem;
use crate::terminal::took;

const DAYS: i64 = 30;
/// So many runs of a kind are counted, and so many are read at once.
const MOST: usize = 5_000;
const AT_ONCE: usize = 1_000;

pub async fn render(app: &App, visitor: &Visitor<'_>) -> Result<Page, Problem> {
    let since = visitor.now - SignedDuration::from_hours(24 * DAYS);
    let trains = ended(app, visitor, TRAIN, RunStatus::Completed, since).await?;
    let aborted = ended(app, visitor, TRAIN, RunStatus::Failed, since).await?.len();
    let pushed = ended(app, visitor, FIXER, RunStatus::Completed, since).await?;
    let in_vain = ended(app, visitor, FIXER, RunStatus::Failed, since).await?;
    let sum = Sum::of(&trains);
    let landed: u64 = sum.landed.values().sum();
    let body = html! {
        div.heading { h1 { "Insights" } p.muted { "The last " (DAYS) " days" } }
        dl.figures {
            div { dt { "Pull requests landed" } dd id="landed" { (landed) } }
            div { dt { "Trains arrived" } dd { (trains.len()) } }
            div { dt { "Trains aborted" } dd { (aborted) } }
            div { dt { "Start to landed, p50" } dd { (sum.lead(0.5)) } }
            div { dt { "Start to landed, p95" } dd { (sum.lead(0.95)) } }
        }
        section { h2 { "Landed per day" } (plot::columns("Pull requests landed on each day (UTC)", &sum.by_day(visitor.now))) }
        section { h2 { "Where the time went" }
            @if trains.is_empty() { p.muted { "No train has arrived yet." } }
            @else { (plot::parts("How long trains waited for whom", &sum.parts())) }
        }
        section { h2 { "Fixers" } (fixers(&pushed, &in_vain)) }
        section { h2 { "GitHub's limits" } (limits(app)) }
    };
    Ok(Page::new("Insights", body))
}

/// The runs of a kind that ended like this since then, as far as they can be counted.
async fn ended(
    app: &App,
    visitor: &Visitor<'_>,
    kind: &str,
    status: RunStatus,
    since: Timestamp,
) -> Result<Vec<Run>, Problem> {
    let mut all: Vec<Run> = Vec::new();
    while all.len() < MOST {
        let query = RunQuery {
            tenant: visitor.tenant().cloned(),
            status: Some(status),
            kind: Some(kind.to_owned()),
            after: all.last().map(RunCursor::after),
            limit: AT_ONCE,
            ..RunQuery::default()
        };
        let page = app.store.runs(&query).await?;
        let is_last = page.len() < AT_ONCE || page.last().is_some_and(|run| run.created_at < since);
        all.extend(page.into_iter().filter(|run| run.completed_at.is_some_and(|end| end >= since)));
        if is_last {
            break;
        }
    }
    Ok(all)
}

#[derive(Default)]
struct Sum {
    /// By the day on which they ended.
    landed: BTreeMap<String, u64>,
    /// How long trains took, the shortest first.
    took: Vec<u64>,
    waited: BTreeMap<Party, u64>,
}

impl Sum {
    fn of(trains: &[Run]) -> Self {
        let mut sum = Self::default();
        for run in trains {
            let result = |name: &str| run.result.as_ref().and_then(|result| result.get(name));
            let landed = result("landed").and_then(Value::as_array).map_or(0, |landed| landed.len() as u64);
            if let Some(end) = run.completed_at {
                *sum.landed.entry(day(end)).or_default() += landed;
            }
            sum.took.extend(run.duration_ms);
            for (party, millis) in result("waited").and_then(Value::as_object).into_iter().flatten() {
                let Ok(party) = Party::deserialize(&Value::from(party.as_str())) else { continue };
                *sum.waited.entry(party).or_default() += millis.as_u64().unwrap_or_default();
            }
        }
        sum.took.sort_unstable();
        sum
    }

    /// What so large a part of the trains took no longer than.
    fn lead(&self, part: f64) -> String {
        let rank = (self.took.len() as f64 * part).ceil() as usize;
        self.took.get(rank.saturating_sub(1)).map_or_else(|| "—".to_owned(), |millis| took(*millis))
    }

    fn by_day(&self, now: Timestamp) -> Vec<(String, u64)> {
        let days = (0..DAYS).rev().map(|ago| now - SignedDuration::from_hours(24 * ago));
        days.map(|at| (at.strftime("%b %-d").to_string(), self.landed.get(&day(at)).copied().unwrap_or_default()))
            .collect()
    }

    fn parts(&self) -> Vec<(&'static str, &'static str, f64, String)> {
        let of = |parties: &[Party]| parties.iter().filter_map(|party| self.waited.get(party)).sum::<u64>();
        let (ci, review) = (of(&[Party::Ci]), of(&[Party::Reviewer]));
        let (authors, fixers, github) =
            (of(&[Party::Author, Party::Maintainer]), of(&[Party::Fixer]), of(&[Party::Github]));
        let whole: u64 = self.took.iter().sum();
        let own = whole.saturating_sub(ci + review + authors + fixers + github);
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
}

fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

fn fixers(pushed: &[Run], in_vain: &[Run]) -> Markup {
    let all = pushed.len() + in_vain.len();
    let mut times: Vec<u64> = pushed.iter().filter_map(|run| run.duration_ms).collect();
    times.sort_unstable();
    html! {
        @if all == 0 { p.muted { "No fixer was sent." } }
        @else {
            (plot::parts("Fixers that pushed, and those that did not", &[
                ("pushed", "good", pushed.len() as f64, pushed.len().to_string()),
                ("did not push", "bad", in_vain.len() as f64, in_vain.len().to_string()),
            ]))
            @if let Some(half) = times.get(times.len() / 2) { p { "Half of those that pushed took no longer than " strong { (took(*half)) } "." } }
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
