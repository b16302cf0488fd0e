//! What came of it all: how much landed, how long it took and where the time went, from the runs that there were.

use jiff::Timestamp;
use maud::{Markup, html};
use merge_train_core::repo::ratchet::WorkspaceReason;
use merge_train_core::repo::trains::status::WaitParty;
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::RunStatus;
use serde::Deserialize as _;
use serde_json::Value;
use store::rows::{Endings, Lead};

use super::{DashboardPage, DashboardVisitor, plot, system};
use crate::daemon::server::App;
use crate::daemon::server::problem::Problem;
use crate::terminal::took;

const DAYS: i64 = 30;
const DAY_S: i64 = 24 * 60 * 60;

pub async fn render(app: &App, visitor: &DashboardVisitor<'_>) -> Result<DashboardPage, Problem> {
    let days = days(visitor.now);
    let since = days.first().copied().unwrap_or(visitor.now);
    let landed = app.store.landed(visitor.tenant(), since).await?;
    let trains = app.store.endings(visitor.tenant(), TRAIN, since).await?;
    let fixes = app.store.endings(visitor.tenant(), FIXER, since).await?;
    let (arrived, aborted) = (trains.count(RunStatus::Completed), trains.count(RunStatus::Failed));
    let name = |day: &Timestamp| day.strftime("%b %-d").to_string();
    let on = |day: &Timestamp| landed.get(&Endings::day(*day)).copied().unwrap_or_default();
    let by_day: Vec<(String, u64)> = days.iter().map(|day| (name(day), on(day))).collect();
    let body = html! {
        div.heading { h1 { "Insights" } p.muted { "The last " (DAYS) " days" } }
        dl.figures {
            div { dt { "Pull requests landed" } dd id="landed" { (landed.values().sum::<u64>()) } }
            div { dt { "Trains completed" } dd { (arrived) } }
            div { dt { "Trains aborted" } dd { (aborted) } }
            div { dt { "Start to landed, p50" } dd { (lead(trains.lead.map(|lead| lead.p50_ms))) } }
            div { dt { "Start to landed, p95" } dd { (lead(trains.lead.map(|lead| lead.p95_ms))) } }
        }
        div.plots {
            section { h2 { "Landed per day" } (plot::columns("Pull requests landed on each day (UTC)", &by_day)) }
            section { h2 { "From start to landed" }
                @if trains.lead_by_day.is_empty() { p.muted { "No train has completed yet." } }
                @else { (plot::lines("Duration of the trains that completed on each day (UTC)", &days.iter().map(name).collect::<Vec<_>>(), &leads(&trains, &days))) }
            }
        }
        section { h2 { "Where the time went" }
            @if arrived == 0 { p.muted { "No train has completed yet." } }
            @else { (plot::parts("How long trains waited, and for whom", &parts(&trains))) }
        }
        section { h2 { "Fixers" } (fixers(&fixes)) }
        section { h2 { "GitHub's limits" } (limits(app, visitor)) }
    };
    Ok(DashboardPage::new("Insights", body))
}

/// When each of the days began, by UTC, the last being today.
fn days(now: Timestamp) -> Vec<Timestamp> {
    let today = now.as_second().div_euclid(DAY_S);
    (today - DAYS + 1..=today).filter_map(|day| Timestamp::from_second(day * DAY_S).ok()).collect()
}

fn lead(millis: Option<u64>) -> String {
    millis.map_or_else(|| "—".to_owned(), took)
}

fn leads(trains: &Endings, days: &[Timestamp]) -> Vec<plot::PlotSeries> {
    let line = |name, class, of: fn(&Lead) -> u64| {
        let values = days.iter().map(|day| trains.lead_by_day.get(&Endings::day(*day)).map(of)).collect();
        plot::PlotSeries { name, class, values }
    };
    vec![line("p50", "busy", |lead| lead.p50_ms), line("p95", "attention", |lead| lead.p95_ms)]
}

fn parts(trains: &Endings) -> Vec<(&'static str, &'static str, f64, String)> {
    let waited = trains
        .waited_ms
        .iter()
        .filter_map(|(party, millis)| Some((WaitParty::deserialize(&Value::from(party.as_str())).ok()?, *millis)));
    let waited: Vec<(WaitParty, u64)> = waited.collect();
    let of = |parties: &[WaitParty]| -> u64 {
        waited.iter().filter(|(party, _)| parties.contains(party)).map(|(_, millis)| millis).sum()
    };
    let (ci, review) = (of(&[WaitParty::Ci]), of(&[WaitParty::Reviewer]));
    let (authors, fixers, github) =
        (of(&[WaitParty::Author, WaitParty::Maintainer]), of(&[WaitParty::Fixer]), of(&[WaitParty::Github]));
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
    let (pushed, gave_up) = (fixes.of(WorkspaceReason::FixerPushed), fixes.of(WorkspaceReason::FixerGaveUp));
    let failed = fixes.count(RunStatus::Failed);
    html! {
        @if pushed + gave_up + failed == 0 { p.muted { "No fixer has run." } }
        @else {
            (plot::parts("Fixers that pushed, and fixers that did not", &[
                ("pushed", "good", pushed as f64, pushed.to_string()),
                ("ended without a push", "quiet", gave_up as f64, gave_up.to_string()),
                ("failed", "bad", failed as f64, failed.to_string()),
            ]))
            @if let Some(lead) = fixes.lead { p { "Median time of the fixers that pushed: " strong { (took(lead.p50_ms)) } "." } }
        }
    }
}

fn limits(app: &App, visitor: &DashboardVisitor<'_>) -> Markup {
    let Some(stats) = system::accounts(app, visitor) else { return system::not_theirs() };
    html! {
        @if stats.is_empty() { p.muted { "No calls to GitHub yet." } }
        @for it in &stats {
            p { strong { (it.name) } }
            dl.facts { dt { "REST" } dd { (system::budget(it.core.as_ref())) } dt { "GraphQL" } dd { (system::budget(it.graphql.as_ref())) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_are_whole_and_the_last_is_today() {
        let days = days("2026-03-01T13:14:15Z".parse().unwrap());
        let ends = [days[0], days[days.len() - 1]].map(|day| day.to_string());
        assert_eq!((days.len(), ends), (30, ["2026-01-31T00:00:00Z", "2026-03-01T00:00:00Z"].map(str::to_owned)));
    }

    #[test]
    fn a_fixer_that_gave_up_is_not_counted_as_one_that_pushed() {
        let outcomes = [("FIXER_PUSHED", 1), ("FIXER_GAVE_UP", 2), ("FIXER_FAILED", 3)];
        let fixes = Endings {
            ended: [(RunStatus::Completed, 3), (RunStatus::Failed, 3), (RunStatus::Cancelled, 9)].into(),
            outcomes: outcomes.map(|(outcome, count)| (outcome.to_owned(), count)).into(),
            ..Endings::default()
        };
        let shown = fixers(&fixes).into_string();
        for told in
            ["pushed <strong>1</strong>", "ended without a push <strong>2</strong>", "failed <strong>3</strong>"]
        {
            assert!(shown.contains(told), "{told}: {shown}");
        }
        assert!(shown.contains("17 %") && shown.contains("33 %") && shown.contains("50 %"), "{shown}");
    }
}
