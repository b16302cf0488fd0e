//! The board: everything that is going on, by who has the next move.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use merge_train_core::ids::RepoId;
use merge_train_core::repo::ratchet::{BoardColumn, OutcomeKind, WorkspaceStatus};
use merge_train_core::repo::trains::status::WaitParty;
use merge_train_core::repo::{FIXER, TRAIN, current_pull};
use merge_train_core::workflow::{Run, RunStatus};
use serde::Deserialize as _;
use store::{RunQuery, rows};

use super::address::PageAddress;
use super::layout::{Tone, badge, prose, run_words, since};
use super::{DashboardPage, DashboardVisitor};
use crate::daemon::server::App;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::workspaces::view;

/// So many cards stand in a column, and so many runs of each state are looked at for it.
const CARDS: usize = 40;
/// How long what has ended stays on the board.
const LANDED: SignedDuration = SignedDuration::from_hours(24);
const FAILED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Who has the next move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Person,
    Train,
    Others,
    Nobody,
}

impl Owner {
    const ALL: [Self; 4] = [Self::Person, Self::Train, Self::Others, Self::Nobody];

    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Person => ("person", "Needs a person", "Blocked until someone acts."),
            Self::Train => ("train", "merge-train is working", "Nobody needs to do anything."),
            Self::Others => ("others", "Waiting for CI or GitHub", "Continues by itself."),
            Self::Nobody => ("nobody", "Done or ready", "Landed in the last day, or ready to land."),
        }
    }
}

struct Card {
    owner: Owner,
    kind: &'static str,
    subject: String,
    title: String,
    to: PageAddress,
    tone: Tone,
    word: String,
    detail: Option<String>,
    at: Timestamp,
}

pub async fn render(
    app: &App,
    visitor: &DashboardVisitor<'_>,
    repo: Option<&RepoId>,
) -> Result<DashboardPage, Problem> {
    let mut cards = runs(app, visitor, repo).await?;
    cards.extend(workspaces(app, visitor, repo).await?);
    cards.sort_by_key(|card| std::cmp::Reverse(card.at));
    let repos: BTreeSet<&str> = cards.iter().filter_map(|card| card.subject.split('#').next()).collect();
    let title = repo.map_or_else(|| "Board".to_owned(), |repo| format!("Board of {repo}"));
    let body = html! {
        div.heading {
            h1 { (title) }
            form.filter method="get" action="/" {
                label { "Repository " input name="repo" list="repos" value=[repo] placeholder="all" autocomplete="off"; }
                datalist id="repos" { @for repo in repos.iter().take(200) { option value=(repo) {} } }
                button { "Show" }
                @if repo.is_some() { a href="/" { "All" } }
            }
        }
        @if cards.is_empty() { (nothing(app)) }
        div.board {
            @for owner in Owner::ALL { (column(owner, &cards, visitor.now)) }
        }
    };
    Ok(DashboardPage::new(title, body))
}

fn nothing(app: &App) -> Markup {
    html! {
        p.notice {
            "Nothing here yet. Comment " code { "@merge-train start" } " on a pull request on "
            a.outside href=(app.web_url) rel="noreferrer" { (app.web_url) } " to land it, or "
            code { "@merge-train ratchet on" } " to have it fixed when it breaks."
        }
    }
}

fn column(owner: Owner, cards: &[Card], now: Timestamp) -> Markup {
    let (id, heading, hint) = owner.words();
    let own: Vec<&Card> = cards.iter().filter(|card| card.owner == owner).collect();
    html! {
        section class={ "column " (id) } id={ "column-" (id) } aria-labelledby={ "heading-" (id) } {
            h2 id={ "heading-" (id) } { (heading) " " span.count { (own.len().min(CARDS)) @if own.len() > CARDS { "+" } } }
            p.muted { (hint) }
            ul.cards {
                @for card in own.iter().take(CARDS) { li { (shown(card, now)) } }
            }
            @if own.len() > CARDS { p.muted { "The newest " (CARDS) " of them; " a href="/runs" { "all runs" } "." } }
        }
    }
}

fn shown(card: &Card, now: Timestamp) -> Markup {
    let Card { kind, subject, title, to, tone, word, detail, at, .. } = card;
    html! {
        article.card id={ "card-" (kind) "-" (subject) } {
            p.meta { span.kind { (kind) } " " span.subject { (subject) } }
            h3 { a href=(to) { @if title.is_empty() { (subject) } @else { (title) } } }
            p { (badge(*tone, word)) " " (since(*at, now)) }
            @if let Some(detail) = detail { p.detail { (prose(detail)) } }
        }
    }
}

async fn runs(app: &App, visitor: &DashboardVisitor<'_>, repo: Option<&RepoId>) -> Result<Vec<Card>, Problem> {
    let statuses = [
        RunStatus::AwaitingApproval,
        RunStatus::WaitingExternal,
        RunStatus::Running,
        RunStatus::Pending,
        RunStatus::Completed,
        RunStatus::Failed,
    ];
    let queries = statuses.map(|status| RunQuery {
        tenant: visitor.tenant().cloned(),
        status: Some(status),
        repo: repo.cloned(),
        except: Some(FIXER.to_owned()),
        limit: CARDS + 1,
        ..RunQuery::default()
    });
    let mut cards = Vec::new();
    let mut newest: BTreeSet<(String, String)> = BTreeSet::new();
    for (status, runs) in statuses.into_iter().zip(app.store.runs_of_each(&queries).await?) {
        for run in runs {
            // Of a train that failed and was started again, only the new one counts.
            let is_first = newest.insert((run.repo_id.clone(), format!("{}{}", run.kind, run.pr_id)));
            if is_first || !status.is_terminal() {
                cards.extend(of_run(&run, visitor.now));
            }
        }
    }
    Ok(cards)
}

fn of_run(run: &Run, now: Timestamp) -> Option<Card> {
    let is_since = |span: SignedDuration| now.duration_since(run.updated_at) < span;
    let told = run.last_transition.as_ref().and_then(|context| context.metadata.as_ref());
    let party = told.and_then(|told| WaitParty::deserialize(told.get("party")?).ok());
    let owner = match run.status {
        RunStatus::AwaitingApproval => Owner::Person,
        RunStatus::WaitingExternal if party.is_some_and(WaitParty::is_person) => Owner::Person,
        RunStatus::WaitingExternal => Owner::Others,
        RunStatus::Pending | RunStatus::Running => Owner::Train,
        RunStatus::Completed if is_since(LANDED) => Owner::Nobody,
        RunStatus::Failed if is_since(FAILED) => Owner::Person,
        RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => return None,
    };
    let text = |name: &str| told.and_then(|told| told.get(name)?.as_str());
    let detail = match run.status {
        RunStatus::WaitingExternal => {
            text("blocker").map(|blocker| format!("{blocker} {}", text("who").unwrap_or_default()))
        }
        RunStatus::AwaitingApproval => {
            run.last_transition.as_ref().and_then(|context| context.approval.as_ref()?.reason.clone())
        }
        _ => run.error.clone().or_else(|| of_result(run)),
    };
    let (tone, word) = run_words(run.status);
    let is_train = run.kind == TRAIN;
    let (tone, word) = match run.status {
        RunStatus::Completed if is_train => (Tone::Good, "landed"),
        RunStatus::AwaitingApproval if is_train => (Tone::Attention, "needs manual review"),
        RunStatus::Failed if is_train => (Tone::Bad, "aborted"),
        _ => (tone, word),
    };
    let subject = if run.pr_id.is_empty() { run.repo_id.clone() } else { format!("{}#{}", run.repo_id, run.pr_id) };
    Some(Card {
        owner,
        kind: if is_train { "train" } else { "run" },
        title: super::run::title(run),
        to: super::run::address(run),
        subject,
        tone,
        word: word.to_owned(),
        detail,
        at: run.updated_at,
    })
}

/// How far a train is.
fn of_result(run: &Run) -> Option<String> {
    let landed = run.result.as_ref()?.get("landed")?.as_array()?.len();
    let at = current_pull(run).filter(|_| !run.status.is_terminal());
    let at = at.map(|pr| format!("at #{pr}"));
    let landed = match landed {
        0 => None,
        1 => Some("1 pull request landed".to_owned()),
        count => Some(format!("{count} pull requests landed")),
    };
    let all: Vec<String> = at.into_iter().chain(landed).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

async fn workspaces(app: &App, visitor: &DashboardVisitor<'_>, repo: Option<&RepoId>) -> Result<Vec<Card>, Problem> {
    let rows = app.store.open_workspaces(visitor.tenant(), repo).await?;
    Ok(rows.iter().filter_map(of_workspace).collect())
}

fn of_workspace(row: &rows::Workspace) -> Option<Card> {
    let pr = row.pr_number?;
    let status = view::status(row);
    let outcome = status.outcome_kind();
    let owner = match (outcome, status, row.kanban_column) {
        (
            _,
            WorkspaceStatus::PausedDisabled
            | WorkspaceStatus::PausedNoPr
            | WorkspaceStatus::PausedPrNotOpen
            | WorkspaceStatus::New,
            _,
        ) => return None,
        (Some(OutcomeKind::Attention), ..)
        | (_, WorkspaceStatus::PausedWaitHumanReview | WorkspaceStatus::PausedWaitConflictOnly, _) => Owner::Person,
        (Some(OutcomeKind::Success), ..) | (_, _, BoardColumn::Done) => Owner::Nobody,
        (_, _, BoardColumn::Working) => Owner::Train,
        (_, _, BoardColumn::Waiting) => Owner::Others,
    };
    let (tone, word) = super::workspace::words(status);
    Some(Card {
        owner,
        kind: "ratchet",
        subject: row.id.clone(),
        title: row.title.clone(),
        to: PageAddress::Workspace { repo: row.repo_id.clone(), pr },
        tone,
        word: word.to_owned(),
        detail: row.ratchet_state_detail.clone().or_else(|| row.ratchet_current_activity.clone()),
        at: row.ratchet_state_updated_at.unwrap_or(row.created_at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_says_how_many_there_are_up_to_what_it_shows() {
        let now = Timestamp::UNIX_EPOCH;
        let card = |number: usize| Card {
            owner: Owner::Train,
            kind: "train",
            subject: format!("acme/widgets#{number}"),
            title: String::new(),
            to: PageAddress::Insights,
            tone: Tone::Busy,
            word: "running".to_owned(),
            detail: None,
            at: now,
        };
        for (count, told, more) in [(0, "0", false), (CARDS, "40", false), (CARDS + 1, "40+", true)] {
            let cards: Vec<Card> = (0..count).map(card).collect();
            let shown = column(Owner::Train, &cards, now).into_string();
            assert!(shown.contains(&format!("<span class=\"count\">{told}</span>")), "{count}: {shown}");
            assert_eq!(shown.contains("The newest 40 of them"), more, "{count}");
            assert_eq!(shown.matches("<article").count(), count.min(CARDS));
        }
    }
}
