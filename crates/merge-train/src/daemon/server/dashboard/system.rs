//! How the daemon itself is: what waits, who owns what, what GitHub still allows.

use std::collections::BTreeMap;

use github::{CircuitState, GovernorStats};
use maud::{Markup, html};
use store::{Busiest, RunStatus, StreamInfo};

use super::layout::{Tone, badge, run_badge};
use super::{DashboardPage, DashboardVisitor};
use crate::daemon::server::App;
use crate::daemon::server::problem::Problem;
use crate::terminal::took;

/// So many streams are listed: those with the most to do.
const STREAMS: usize = 50;

pub async fn render(app: &App, visitor: &DashboardVisitor<'_>) -> Result<DashboardPage, Problem> {
    let Busiest { streams, count, repos, owned, unsettled } = app.store.busiest(visitor.tenant(), STREAMS).await?;
    let mut by_status: BTreeMap<String, (RunStatus, u64)> = BTreeMap::new();
    for (tenant, status, count) in app.store.active_runs().await? {
        if visitor.tenant().is_none_or(|own| *own == tenant) {
            by_status.entry(status.to_string()).or_insert((status, 0)).1 += count;
        }
    }
    let troubles = app.health.troubles();
    let body = html! {
        div.heading { h1 { "System" } @if troubles.is_empty() { (badge(Tone::Good, "ready")) } @else { (badge(Tone::Bad, "not ready")) } }
        @for trouble in &troubles { p.notice.bad role="alert" { (trouble) } }
        dl.facts {
            dt { "Version" } dd { (env!("CARGO_PKG_VERSION")) }
            dt { "Repositories" } dd { (repos) }
            dt { "Workers on this instance" } dd { (app.driver.workers()) }
            dt { "Streams with an owner" } dd { (owned) " of " (count) }
            dt { "Events stored and not yet handled" } dd { (unsettled) }
            dt { "Memory of requests in progress" } dd { (app.budget.in_flight() >> 10) " KiB" }
            dt { "Runs that have not ended" } dd {
                @if by_status.is_empty() { "none" }
                @for (status, count) in by_status.values() { (run_badge(*status)) " " (count) " " }
            }
        }
        section { h2 { "GitHub" } (github(app, visitor)) }
        section { h2 { "Streams" }
            p.muted { "A stream is the log of a repository or a run. Its owner is the instance that works on it." }
            (table(&streams, count))
        }
    };
    Ok(DashboardPage::new("System", body))
}

/// How it stands with each account at GitHub, for whoever may see everybody's: what is left of one, and how much is asked through
/// it, tells what others do.
pub fn accounts(app: &App, visitor: &DashboardVisitor<'_>) -> Option<Vec<GovernorStats>> {
    visitor.tenant().is_none().then(|| app.github.stats())
}

/// What those who may not see them are told.
pub fn not_theirs() -> Markup {
    html! { p.muted { "GitHub's limits are shared by all tenants; only a key for all tenants shows them." } }
}

fn github(app: &App, visitor: &DashboardVisitor<'_>) -> Markup {
    let Some(stats) = accounts(app, visitor) else { return not_theirs() };
    html! {
        @if stats.is_empty() { p.muted { "No calls to GitHub yet." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Accounts on GitHub" { table {
                thead { tr { th { "Account" } th { "State" } th { "REST" } th { "GraphQL" } th { "In flight" } th { "Waiting" } th { "Answered" } th { "From cache" } th { "Failed" } } }
                tbody {
                    @for it in &stats {
                        tr {
                            td { (it.name) }
                            td {
                                @if it.circuit != CircuitState::Closed { (badge(Tone::Bad, "GitHub is down")) }
                                @else if let Some(blocked) = it.blocked_for { (badge(Tone::Attention, &format!("held back for {}", took(u64::try_from(blocked.as_millis()).unwrap_or_default())))) }
                                @else { (badge(Tone::Good, "open")) }
                            }
                            td { (budget(it.core.as_ref())) }
                            td { (budget(it.graphql.as_ref())) }
                            td { (it.in_flight) }
                            td { (it.waiting) }
                            td { (it.calls.answered) }
                            td { (it.calls.not_modified) }
                            td { (it.calls.transient + it.calls.permanent + it.calls.rate_limited + it.refused) }
                        }
                    }
                }
            } }
        }
    }
}

/// What is left of a limit.
pub fn budget(budget: Option<&github::BudgetStats>) -> Markup {
    html! {
        @match budget {
            Some(budget) => {
                meter min="0" max=(budget.limit) low=(budget.limit / 5) value=(budget.remaining) aria-label="Remaining \
                     limit" {}
                " " (budget.remaining) " of " (budget.limit)
                br; small.muted { "resets in " (took(u64::try_from(budget.resets_in.as_millis()).unwrap_or_default())) }
            }
            None => { span.muted { "no calls yet" } }
        }
    }
}

fn table(streams: &[StreamInfo], count: u64) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Streams" { table {
            thead { tr { th { "Stream" } th { "Unsettled" } th { "Events" } th { "Generation" } th { "Owner" } } }
            tbody {
                @for it in streams {
                    tr {
                        td { (it.stream) }
                        td { (it.unsettled) }
                        td { (it.next_seq.saturating_sub(1)) }
                        td { (it.generation) }
                        td { @if let Some(owner) = &it.owner { (owner) } @else { span.muted { "nobody" } } }
                    }
                }
            }
        } }
        @if count > streams.len() as u64 { p.muted { "The " (streams.len()) " with the most to do, of " (count) "." } }
    }
}
