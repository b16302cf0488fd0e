//! A pull request as the ratchet sees it: where it stands, what was decided, who is at work, and the switch.

use maud::{Markup, html};
use merge_train_core::ids::{PrNumber, RepoId, RunId};
use merge_train_core::repo::ratchet::{OutcomeKind, WorkspaceStatus};
use store::rows::{self, SessionKind, SessionStatus};

use super::address::PageAddress;
use super::layout::{Button, Tone, at_github, badge, between, moment, prose, since};
use super::{DashboardPage, DashboardVisitor, run};
use crate::config::Role;
use crate::daemon::server::App;
use crate::daemon::server::access::require;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::trains::{known, no_such_pull};
use crate::daemon::server::workspaces::{row, view};

/// So many decisions and sessions are shown.
const SHOWN: usize = 50;

/// A state in a word or two.
pub fn words(status: WorkspaceStatus) -> (Tone, &'static str) {
    match status {
        WorkspaceStatus::New => (Tone::Quiet, "new"),
        WorkspaceStatus::FixingCi => (Tone::Busy, "mending CI"),
        WorkspaceStatus::FixingReview => (Tone::Busy, "addressing review"),
        WorkspaceStatus::WaitingForCi => (Tone::Waiting, "waiting for CI"),
        WorkspaceStatus::WaitingForTrain => (Tone::Waiting, "waiting for the train"),
        WorkspaceStatus::PausedUserWorking => (Tone::Quiet, "user working"),
        WorkspaceStatus::PausedNoPr => (Tone::Quiet, "no pull request"),
        WorkspaceStatus::PausedPrNotOpen => (Tone::Quiet, "closed"),
        WorkspaceStatus::PausedDisabled => (Tone::Quiet, "off"),
        WorkspaceStatus::PausedWaitConflictOnly => (Tone::Attention, "conflicts"),
        WorkspaceStatus::PausedWaitHumanReview => (Tone::Attention, "waits for review"),
        WorkspaceStatus::PausedDone => (Tone::Good, "all green"),
        WorkspaceStatus::PausedAttentionTerminalFailed => (Tone::Bad, "attempts used up"),
        WorkspaceStatus::PausedAttentionStaleCiTimeout => (Tone::Bad, "CI not starting"),
        WorkspaceStatus::PausedAttentionNoPush => (Tone::Bad, "fixer pushed nothing"),
        WorkspaceStatus::PausedAttentionPushApproval => (Tone::Attention, "push needs approval"),
        WorkspaceStatus::PausedAttentionDailyBudget => (Tone::Attention, "daily budget used up"),
        WorkspaceStatus::PausedAttentionNoFixer => (Tone::Attention, "no fixer configured"),
    }
}

pub async fn render(
    app: &App,
    visitor: &DashboardVisitor<'_>,
    repo: &RepoId,
    pr: PrNumber,
) -> Result<DashboardPage, Problem> {
    require(&app.api_keys, &visitor.session.headers(), Role::Viewer, &repo.tenant())?;
    let state = known(app, repo).await?;
    let pull = state.pr(pr).ok_or_else(|| no_such_pull(repo, pr))?;
    let found = row(app, repo, pr).await?;
    let is_on = state.ratchet_is_on(pr, &app.settings);
    let status =
        found.as_ref().map_or(if is_on { WorkspaceStatus::New } else { WorkspaceStatus::PausedDisabled }, view::status);
    let (tone, word) = words(status);
    let heading = if pull.title.is_empty() { format!("{repo}#{pr}") } else { pull.title.clone() };
    let back = PageAddress::Workspace { repo: repo.clone(), pr };
    let root = state.train_of(pr);
    let fields = || vec![("repo", repo.to_string()), ("pr", pr.to_string())];
    let switch = if is_on {
        Button::new("ratchet_off", "Turn the ratchet off", fields())
    } else {
        Button::new("ratchet_on", "Turn the ratchet on", fields()).class("primary")
    };
    let may_begin_anew = is_on && status.outcome_kind() == Some(OutcomeKind::Attention);
    let body = html! {
        p.crumbs { a href="/" { "Board" } " / " a href=(PageAddress::Board { repo: Some(repo.clone()) }) { (repo) } " / #" (pr) }
        div.heading { h1 { (heading) } (badge(tone, word)) }
        @if let Some(detail) = found.as_ref().and_then(|row| row.ratchet_state_detail.as_ref()) { p.notice class=(tone.name()) { (prose(detail)) } }
        dl.facts {
            dt { "Pull request" } dd { (repo) " " (at_github(app, &repo.to_string(), &pr.to_string())) }
            @if let Some(branch) = &pull.head_ref { dt { "Branch" } dd { code { (branch) } } }
            dt { "Ratchet" } dd { (if is_on { "on" } else { "off" }) " · " code { (status.as_str()) } }
            @if let Some(row) = &found {
                @if let Some(activity) = &row.ratchet_current_activity { dt { "Now" } dd { (activity) } }
                dt { "Fix attempts in a row" } dd { (row.ratchet_consecutive_fixup_attempts) " of " (row.ratchet_max_fixup_attempts.unwrap_or(app.settings.ratchet.max_attempts)) }
                @if let Some(at) = row.ratchet_state_updated_at { dt { "Since" } dd { (since(at, visitor.now)) } }
                @if let Some(at) = row.ratchet_last_push_at { dt { "Last push" } dd { (since(at, visitor.now)) } }
            }
            @if let Some(root) = root { dt { "Train" } dd { a href=(PageAddress::Train { repo: repo.clone(), root }) { "the train of #" (root) } } }
        }
        @if visitor.may_operate() && pull.is_open() {
            div.orders {
                (switch.show(visitor, &back))
                @if may_begin_anew { (Button::new("ratchet_on", "Reset attempts", fields()).class("primary").show(visitor, &back)) }
            }
        }
        @if let Some(row) = &found { (history(app, visitor, row).await?) }
        @else { p.muted { "The ratchet has never handled this pull request." } }
    };
    Ok(DashboardPage::new(format!("{repo}#{pr}"), body))
}

async fn history(app: &App, visitor: &DashboardVisitor<'_>, row: &rows::Workspace) -> Result<Markup, Problem> {
    let transitions = app.store.transitions(&row.tenant_id, &row.id, SHOWN).await?;
    let sessions = app.store.sessions(&row.tenant_id, &row.id).await?;
    let fixer = match row.ratchet_active_session_id.as_ref().and_then(|id| RunId::parse(id).ok()) {
        Some(id) => app.store.run(Some(&row.tenant_id), &id).await?,
        None => None,
    };
    Ok(html! {
        @if let Some(fixer) = &fixer {
            p { "The fixer: " a href=(PageAddress::Run { id: fixer.id.to_string() }) { (fixer.id) } }
            (run::printed(app, fixer).await)
        }
        section { h2 { "Decisions" }
            @if transitions.is_empty() { p.muted { "None yet." } }
            ol.timeline {
                @for it in &transitions {
                    li { (moment(it.created_at)) " " strong { (it.action.as_str().replace('_', " ")) } " " span.what { (prose(&it.reason)) } }
                }
            }
        }
        section { h2 { "Sessions" }
            @if sessions.is_empty() { p.muted { "None yet." } }
            @else {
                div.wide tabindex="0" role="region" aria-label="Sessions" { table {
                    thead { tr { th { "Who" } th { "State" } th { "Started" } th { "Took" } } }
                    tbody { @for session in sessions.iter().take(SHOWN) { (at_work(row, session, visitor)) } }
                } }
            }
        }
    })
}

fn at_work(row: &rows::Workspace, session: &rows::Session, visitor: &DashboardVisitor<'_>) -> Markup {
    let name = session.id.strip_prefix(&row.id).map_or(session.id.as_str(), |own| own.trim_start_matches(':'));
    let (tone, word) = match session.status {
        SessionStatus::Running if session.working => (Tone::Busy, "working"),
        SessionStatus::Running => (Tone::Waiting, "idle"),
        SessionStatus::Completed => (Tone::Good, "done"),
        SessionStatus::Failed => (Tone::Bad, "failed"),
    };
    html! {
        tr {
            td {
                @match session.kind {
                    SessionKind::Ratchet => { "fixer " a href=(PageAddress::Run { id: session.id.clone() }) { (name) } }
                    SessionKind::User => { "person " (name) }
                }
            }
            td { (badge(tone, word)) @if let Some(error) = &session.error { br; small { (prose(error)) } } }
            td { (moment(session.started_at)) }
            td { (between(session.started_at, session.ended_at.unwrap_or(visitor.now))) }
        }
    }
}
