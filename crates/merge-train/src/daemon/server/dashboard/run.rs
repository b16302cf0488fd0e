//! One run: its steps over time, what they printed and left behind, and what a person is asked.

use jiff::Timestamp;
use maud::{Markup, html};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::{Checkpoint, Run, RunStatus, RunStep, StepStatus};

use super::address::PageAddress;
use super::layout::{Button, at_github, between, diff, json, moment, prose, run_badge, since, step_badge};
use super::{DashboardPage, DashboardVisitor, plot};
use crate::config::Role;
use crate::daemon::server::App;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::runs::{events, known, logs};
use crate::narration::{self, RunNarrator};
use crate::terminal::{harmless, took};

/// How much of the end of a log is shown at first.
const TAIL_BYTES: u64 = 64 << 10;

/// What a run is called: what its pull request is, or its workflow.
pub fn title(run: &Run) -> String {
    let title = run.result.as_ref().and_then(|result| result.get("title")?.as_str()).unwrap_or_default();
    match (title, run.pr_id.as_str()) {
        ("", "") => run.kind.clone(),
        ("", pr) => format!("{} of #{pr}", run.kind),
        (title, _) => title.to_owned(),
    }
}

/// The page that tells most of it.
pub fn address(run: &Run) -> PageAddress {
    let pull = || Some((run.repo_id.parse::<RepoId>().ok()?, run.pr_id.parse().ok().map(PrNumber::new)?));
    match pull().filter(|_| run.kind == TRAIN) {
        Some((repo, root)) => PageAddress::Train { repo, root },
        None => PageAddress::Run { id: run.id.to_string() },
    }
}

pub async fn render(app: &App, visitor: &DashboardVisitor<'_>, id: &str) -> Result<DashboardPage, Problem> {
    let (run, _) = known(app, &visitor.session.headers(), id, Role::Viewer).await?;
    let steps = app.store.steps(&run.tenant_id, &run.id).await?;
    let checkpoints = app.store.checkpoints(&run.tenant_id, &run.id).await?;
    let back = PageAddress::Run { id: run.id.to_string() };
    let body = html! {
        p.crumbs { a href="/runs" { "Runs" } " / " (run.id) }
        div.heading { h1 { (title(&run)) } (run_badge(run.status)) }
        (facts(app, visitor, &run))
        (asked(visitor, &run, &back))
        @if let Some(error) = &run.error { p.notice.bad role="alert" { (prose(error)) } }
        (orders(visitor, &run, &back))
        section { h2 { "Steps" } (waterfall(&run, &steps, visitor.now)) }
        (printed(app, &run).await)
        section { h2 { "What happened" } (timeline(app, &run, visitor.now).await?) }
        @if !checkpoints.is_empty() { section { h2 { "Checkpoints" } (left(&checkpoints)) } }
        @if let Some(result) = &run.result { section { details { summary { "Result" } (json(result)) } } }
    };
    Ok(DashboardPage::new(title(&run), body))
}

fn facts(app: &App, visitor: &DashboardVisitor<'_>, run: &Run) -> Markup {
    let pull = run.repo_id.parse::<RepoId>().ok().zip(run.pr_id.parse().ok().map(PrNumber::new));
    html! {
        dl.facts {
            dt { "Type" } dd { (run.kind) }
            dt { "About" } dd {
                (run.repo_id)
                @if !run.pr_id.is_empty() { " " (at_github(app, &run.repo_id, &run.pr_id)) }
                @match pull {
                    Some((repo, root)) if run.kind == TRAIN => { " · " a href=(PageAddress::Train { repo, root }) { "its train" } }
                    Some((repo, pr)) if run.kind == FIXER => { " · " a href=(PageAddress::Workspace { repo, pr }) { "its workspace" } }
                    _ => {}
                }
            }
            dt { "Started" } dd {
                (moment(run.created_at)) " " (narration::from(&run.trigger))
                @if let Some(who) = &run.trigger.user_id { " by " (who) }
            }
            @if let Some(end) = run.completed_at { dt { "Ended" } dd { (moment(end)) ", after " (between(run.created_at, end)) } }
            @else { dt { "Changed" } dd { (since(run.updated_at, visitor.now)) } }
            @if run.resume_count > 0 { dt { "Resumed" } dd { (run.resume_count) " times" } }
        }
    }
}

/// What waits for somebody's decision, with what is to be decided on.
fn asked(visitor: &DashboardVisitor<'_>, run: &Run, back: &PageAddress) -> Markup {
    if run.status != RunStatus::AwaitingApproval {
        return html! {};
    }
    let approval = run.last_transition.as_ref().and_then(|context| context.approval.as_ref());
    let result = run.result.as_ref();
    let change = result.and_then(|result| result.get("diff")?.as_str());
    let fields = || vec![("run", run.id.to_string())];
    html! {
        section.approval aria-label="Approval" {
            h2 { "Waiting for approval" @if let Some(approval) = approval { ": " (approval.action) } }
            @if let Some(reason) = approval.and_then(|approval| approval.reason.as_ref()) {
                p { @if run.kind == FIXER { "Because " (prose(reason)) "." } @else { (prose(reason)) } }
            }
            @if let Some(change) = change { (diff(change)) }
            @if visitor.may_operate() {
                div.orders {
                    (Button::new("approve", "Approve", fields()).class("primary").asks("Note", false).show(visitor, back))
                    (Button::new("reject", "Reject", fields()).class("danger").asks("Reason", true).show(visitor, back))
                }
            } @else { p.muted { "Your API key is read-only." } }
        }
    }
}

fn orders(visitor: &DashboardVisitor<'_>, run: &Run, back: &PageAddress) -> Markup {
    if !visitor.may_operate() {
        return html! {};
    }
    let fields = || vec![("run", run.id.to_string())];
    let may_resume = run.kind != FIXER && matches!(run.status, RunStatus::Failed | RunStatus::WaitingExternal);
    html! {
        div.orders {
            @if may_resume { (Button::new("resume", "Try again", fields()).show(visitor, back)) }
            @if !run.status.is_terminal() {
                (Button::new("cancel", "Cancel", fields()).class("danger").asks("Reason", false).show(visitor, back))
            }
        }
    }
}

/// Each step as a bar from its begin to its end.
fn waterfall(run: &Run, steps: &[RunStep], now: Timestamp) -> Markup {
    let end = run.completed_at.unwrap_or(now);
    let bar = |step: &RunStep| {
        Some(plot::TimeSpan {
            from: step.started_at?,
            to: step.completed_at.unwrap_or(if step.status == StepStatus::Pending { run.created_at } else { end }),
            class: match step.status {
                StepStatus::Completed => "good",
                StepStatus::Failed => "bad",
                StepStatus::Running => "busy",
                StepStatus::Pending | StepStatus::Skipped => "quiet",
            },
        })
    };
    html! {
        @if steps.is_empty() { p.muted { "None yet." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="Steps" { table.waterfall {
                thead { tr { th { "Step" } th { "State" } th { "Took" } th.bars { "From " (moment(run.created_at)) " to " (moment(end)) } } }
                tbody {
                    @for step in steps {
                        tr {
                            td { (step.step_id) br; small.muted { (step.agent) @if step.attempts > 1 { ", attempt " (step.attempts) } } }
                            td { (step_badge(step.status)) @if let Some(error) = &step.error { br; small { (prose(error)) } } }
                            td { @if let Some(millis) = step.duration_ms { (took(millis)) } }
                            td.bars { @if let Some(span) = bar(step) { (plot::bar(&span, run.created_at, end)) } }
                        }
                    }
                }
            } }
        }
    }
}

/// What its commands print, as they do.
pub async fn printed(app: &App, run: &Run) -> Markup {
    let logs = logs::found(&logs::folder(app, &run.id)).await.unwrap_or_default();
    let mut shown = Vec::new();
    for log in logs {
        let from = log.bytes.saturating_sub(TAIL_BYTES);
        let text = logs::part(app, &run.id, &log.name, from).await.unwrap_or_default();
        shown.push((log, from, text));
    }
    html! {
        @if !shown.is_empty() {
            section { h2 { "Logs" }
                @for (log, from, text) in shown.iter().rev() {
                    h3 { (log.step) @if log.attempt > 1 { ", attempt " (log.attempt) } }
                    @if *from > 0 { p.muted { "The last " (TAIL_BYTES >> 10) " KiB of " (log.bytes >> 10) "." } }
                    // What grows is read on by the page itself.
                    @let grows = !run.status.is_terminal();
                    pre.log id={ "log-" (log.name) } data-keep tabindex="0"
                        data-log=[grows.then(|| format!("/api/v1/runs/{}/logs/{}", run.id, log.name))]
                        data-from=[grows.then_some(from + text.len() as u64)] { (harmless(&String::from_utf8_lossy(text))) }
                }
            }
        }
    }
}

/// What happened, with how long it was before the next thing did.
pub async fn timeline(app: &App, run: &Run, now: Timestamp) -> Result<Markup, Problem> {
    let mut narrator = RunNarrator::default();
    let told: Vec<(Timestamp, String)> = events::happened(app, run)
        .await?
        .iter()
        .filter_map(|event| Some((event.ts, narrator.words(&run.kind, &events::json(event))?)))
        .collect();
    let ends = told.iter().skip(1).map(|(at, _)| *at).chain([run.completed_at.unwrap_or(now)]);
    Ok(html! {
        @if told.is_empty() { p.muted { "The log no longer has these events." } }
        ol.timeline {
            @for ((at, what), next) in told.iter().zip(ends) {
                li { (moment(*at)) " " span.what { (prose(what)) } " " small.muted { (between(*at, next)) } }
            }
        }
    })
}

fn left(checkpoints: &[Checkpoint]) -> Markup {
    html! {
        @for checkpoint in checkpoints {
            details {
                summary { (checkpoint.step_id) " " (step_badge(checkpoint.status)) " " (moment(checkpoint.timestamp)) }
                @if let Some(tokens) = &checkpoint.tokens_used { p { (tokens.input) " tokens in, " (tokens.output) " out" } }
                @if let Some(input) = &checkpoint.input { h4 { "Input" } (json(input)) }
                @if let Some(output) = &checkpoint.output { h4 { "Output" } (json(output)) }
                @if let Some(error) = &checkpoint.error { p.notice.bad { (prose(error)) } }
            }
        }
    }
}
