//! A train: its stack, how far each pull request is, why it does not move, what is to come and what happened.

mod steps;

use maud::{Markup, html};
use merge_train_core::facts::{CheckConclusion, ReviewDecision};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::trains::{TrainRecord, TrainState};
use merge_train_core::repo::{CachedPr, PrState, RecordedEvent, RepoState, TRAIN};
use merge_train_core::workflow::{Run, RunStatus};
use store::RunQuery;

use self::steps::CascadeStepRow;
use super::address::PageAddress;
use super::graph::{self, Node};
use super::layout::{Button, Tone, at_github, badge, between, moment, prose, run_badge, since};
use super::{DashboardPage, DashboardVisitor, run};
use crate::config::Role;
use crate::daemon::driver;
use crate::daemon::server::App;
use crate::daemon::server::access::require;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::runs::events;
use crate::daemon::server::trains::{known, no_such_pull};

/// Among so many of the newest trains of a repository the last one of a pull request is looked for.
const LOOKED_THROUGH: usize = 500;

pub async fn render(
    app: &App,
    visitor: &DashboardVisitor<'_>,
    repo: &RepoId,
    pr: PrNumber,
) -> Result<DashboardPage, Problem> {
    require(&app.api_keys, &visitor.session.headers(), Role::Viewer, &repo.tenant())?;
    let state = known(app, repo).await?;
    let pull = state.pr(pr).ok_or_else(|| no_such_pull(repo, pr))?;
    let train = state.train_of(pr).and_then(|root| state.active_trains().get(&root));
    let root = train.map_or(pr, |train| train.original_root_pr);
    let last = last_run(app, repo, root).await?;
    let own = stack(&state, train, last.as_ref(), pr);
    let stack = with_parts(&state, &own);
    let events = match &last {
        Some(run) => recorded(app, run).await?,
        None => Vec::new(),
    };
    let back = PageAddress::Train { repo: repo.clone(), root };
    let title = state.pr(root).map(|pull| pull.title.as_str()).filter(|title| !title.is_empty());
    let heading = title.map_or_else(|| format!("Train of {repo}#{root}"), str::to_owned);
    let why = state.why(root).filter(|_| train.is_some());
    let error = train.and_then(|train| train.error.as_ref()).map(|error| error.message.clone());
    let rows = steps::of(&own, &stack, &state, &events);
    let body = html! {
        p.crumbs { a href="/" { "Board" } " / " a href=(PageAddress::Board { repo: Some(repo.clone()) }) { (repo) } " / train of #" (root) }
        div.heading { h1 { (heading) } (standing(train, last.as_ref())) }
        @if let Some(why) = &why {
            section.notice.waiting id="why" aria-label="Why not yet" {
                p { strong { "Why not yet: " } (prose(&why.blocker)) }
                p { strong { "Who can change that: " } (prose(&why.who)) }
                p { strong { "What happens next: " } (prose(&why.next)) }
                p.muted { "Since " (since(why.since, visitor.now)) }
            }
        }
        @if let Some(error) = &error { section.notice.bad role="alert" { p { strong { "What went wrong: " } (prose(error)) } } }
        (graph::draw(state.default_branch().map_or("default branch", |branch| branch.as_str()), &nodes(&state, repo, train, &stack)))
        (orders(visitor, train, last.as_ref(), repo, root, pull, &back))
        section { h2 { "Pull requests" } (table(app, repo, &state, train, &stack)) }
        section { h2 { "Plan and progress" } (plan(&rows)) }
        section { h2 { "What happened" }
            @match &last {
                Some(last) => {
                    p.muted { "As a run: " a href=(PageAddress::Run { id: last.id.to_string() }) { (last.id) } }
                    (run::timeline(app, last, visitor.now).await?)
                }
                None => { p.muted { "Not started yet. Comment " code { "@merge-train start" } " on #" (root) ", or press the button." } }
            }
        }
    };
    Ok(DashboardPage::new(heading, body))
}

/// The run of the train that there is, or was last.
async fn last_run(app: &App, repo: &RepoId, root: PrNumber) -> Result<Option<Run>, Problem> {
    let query = RunQuery {
        tenant: Some(repo.tenant()),
        repo: Some(repo.clone()),
        kind: Some(TRAIN.to_owned()),
        limit: LOOKED_THROUGH,
        ..RunQuery::default()
    };
    let pr = root.to_string();
    Ok(app.store.runs(&query).await?.into_iter().find(|run| run.pr_id == pr))
}

async fn recorded(app: &App, run: &Run) -> Result<Vec<RecordedEvent>, Problem> {
    Ok(events::happened(app, run).await?.iter().filter_map(|event| driver::recorded(event).ok()).collect())
}

/// What has landed of it, and what is still to: each after what it stands on.
fn stack(state: &RepoState, train: Option<&TrainRecord>, last: Option<&Run>, pr: PrNumber) -> Vec<PrNumber> {
    if let Some(view) = train.and_then(|train| state.train_view(train.original_root_pr)) {
        return view.stack.iter().map(|row| row.pr).collect();
    }
    let landed = last.and_then(|run| run.result.as_ref()?.get("landed")?.as_array().cloned()).unwrap_or_default();
    let mut all: Vec<PrNumber> = landed.iter().filter_map(|number| number.as_u64().map(PrNumber::new)).collect();
    let root = state.path_from_root(pr).and_then(|path| path.first().copied()).unwrap_or(pr);
    for member in state.stack_above(root) {
        if !all.contains(&member.pull) {
            all.push(member.pull);
        }
    }
    all
}

/// The same with what others have landed of it: where a train parts, each part goes on as one of its own.
fn with_parts(state: &RepoState, stack: &[PrNumber]) -> Vec<PrNumber> {
    let mut all = stack.to_vec();
    let mut at = 0;
    while let Some(below) = all.get(at).copied() {
        let is_above =
            |pull: &CachedPr| pull.predecessor == Some(below) && matches!(pull.state, PrState::Merged { .. });
        let above = state.prs().iter().filter(|(_, pull)| is_above(pull));
        let more: Vec<PrNumber> = above.map(|(pr, _)| *pr).filter(|pr| !all.contains(pr)).collect();
        all.extend(more);
        at += 1;
    }
    all
}

fn nodes(state: &RepoState, repo: &RepoId, train: Option<&TrainRecord>, stack: &[PrNumber]) -> Vec<Node> {
    let node = |pr: &PrNumber| {
        let pull = state.pr(*pr)?;
        let (tone, word) = place(state, train, *pr, pull);
        Some(Node {
            pr: *pr,
            title: pull.title.clone(),
            on: pull.predecessor.filter(|below| stack.contains(below)),
            word,
            tone,
            is_current: train.is_some_and(|train| train.current_pr == *pr),
            to: PageAddress::Workspace { repo: repo.clone(), pr: *pr }.to_string(),
        })
    };
    stack.iter().filter_map(node).collect()
}

/// How far a pull request is.
fn place(state: &RepoState, train: Option<&TrainRecord>, pr: PrNumber, pull: &CachedPr) -> (Tone, String) {
    match &pull.state {
        PrState::Merged { .. } => return (Tone::Good, "landed".to_owned()),
        PrState::Closed { .. } => return (Tone::Bad, "closed".to_owned()),
        PrState::Open => {}
    }
    let Some(train) = train.filter(|train| train.current_pr == pr) else {
        let (failed, pending, passed) = checks(pull);
        return match (failed, pending, passed) {
            (0, 0, 0) => (Tone::Quiet, "queued".to_owned()),
            (0, 0, _) => (Tone::Quiet, "queued, checks passed".to_owned()),
            (0, ..) => (Tone::Waiting, "queued, CI runs".to_owned()),
            _ => (Tone::Bad, "queued, checks failed".to_owned()),
        };
    };
    let phase = train.cascade_phase.name().replace('_', " ");
    match train.state {
        TrainState::Running => (Tone::Busy, phase),
        TrainState::WaitingCi if state.why(train.original_root_pr).is_some_and(|why| why.party.is_person()) => {
            (Tone::Attention, "needs a person".to_owned())
        }
        TrainState::WaitingCi => (Tone::Waiting, "waits".to_owned()),
        TrainState::NeedsManualReview => (Tone::Attention, format!("needs review: {phase}")),
        TrainState::Stopped => (Tone::Quiet, format!("stopped: {phase}")),
        TrainState::Aborted => (Tone::Bad, format!("aborted: {phase}")),
    }
}

/// How many have failed, are under way, and have passed.
fn checks(pull: &CachedPr) -> (usize, usize, usize) {
    let count = |verdict| pull.ci.checks.values().filter(|check| check.verdict == verdict).count();
    (count(CheckConclusion::Failed), count(CheckConclusion::Pending), count(CheckConclusion::Passed))
}

fn standing(train: Option<&TrainRecord>, last: Option<&Run>) -> Markup {
    match (train.map(|train| train.state), last) {
        (Some(TrainState::Running), _) => badge(Tone::Busy, "running"),
        (Some(TrainState::WaitingCi), _) => badge(Tone::Waiting, "waiting"),
        (Some(TrainState::NeedsManualReview), _) => badge(Tone::Attention, "needs manual review"),
        (Some(TrainState::Stopped), _) => badge(Tone::Quiet, "stopped"),
        (Some(TrainState::Aborted), _) => badge(Tone::Bad, "aborted"),
        (None, Some(run)) if run.status == RunStatus::Completed => badge(Tone::Good, "landed"),
        (None, Some(run)) => run_badge(run.status),
        (None, None) => badge(Tone::Quiet, "not started"),
    }
}

fn orders(
    visitor: &DashboardVisitor<'_>,
    train: Option<&TrainRecord>,
    last: Option<&Run>,
    repo: &RepoId,
    root: PrNumber,
    pull: &CachedPr,
    back: &PageAddress,
) -> Markup {
    if !visitor.may_operate() {
        return html! {};
    }
    let fields = || vec![("repo", repo.to_string()), ("pr", root.to_string())];
    let is_under_way = train.is_some_and(|train| matches!(train.state, TrainState::Running | TrainState::WaitingCi));
    let may_start = !is_under_way && (train.is_some() || pull.is_open());
    let waits = train.is_some_and(|train| train.state == TrainState::WaitingCi);
    html! {
        div.orders {
            @if may_start { (Button::new("start_train", "Start", fields()).class("primary").show(visitor, back)) }
            @if let Some(run) = last.filter(|_| waits) {
                (Button::new("resume", "Retry now", vec![("run", run.id.to_string())]).show(visitor, back))
            }
            @if is_under_way { (Button::new("stop_train", "Stop", fields()).class("danger").show(visitor, back)) }
        }
    }
}

fn table(app: &App, repo: &RepoId, state: &RepoState, train: Option<&TrainRecord>, stack: &[PrNumber]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Pull requests" { table {
            thead { tr { th { "Pull request" } th { "Progress" } th { "Checks" } th { "Review" } th { "Branch" } th { "Stacked \
                 on" } } }
            tbody {
                @for (pr, pull) in stack.iter().filter_map(|pr| Some((*pr, state.pr(*pr)?))) {
                    @let (tone, word) = place(state, train, pr, pull);
                    tr {
                        td { (at_github(app, &repo.to_string(), &pr.to_string())) " " a href=(PageAddress::Workspace { repo: repo.clone(), pr }) { (if pull.title.is_empty() { "workspace" } else { &pull.title }) } }
                        td { (badge(tone, &word)) @if let PrState::Merged { merge_commit_sha: Some(sha), .. } = &pull.state { " " code { (sha.as_str().get(..10).unwrap_or_default()) } } }
                        td { (verdicts(pull)) }
                        td { @match pull.review {
                            Some(ReviewDecision::Approved) => (badge(Tone::Good, "approved")),
                            Some(ReviewDecision::ChangesRequested) => (badge(Tone::Bad, "changes requested")),
                            Some(ReviewDecision::ReviewRequired) => (badge(Tone::Attention, "required")),
                            None => { span.muted { "not required" } }
                        } }
                        td { @if let Some(branch) = &pull.head_ref { code { (branch) } } }
                        td { @match pull.predecessor { Some(below) => { "#" (below) }, None => { code { (pull.base_ref) } } } }
                    }
                }
            }
        } }
    }
}

fn verdicts(pull: &CachedPr) -> Markup {
    html! {
        @if pull.ci.checks.is_empty() { span.muted { "none" } }
        @for (name, check) in &pull.ci.checks {
            @let tone = match check.verdict { CheckConclusion::Passed => Tone::Good, CheckConclusion::Pending => Tone::Busy, CheckConclusion::Failed => Tone::Bad };
            @let word = match check.verdict { CheckConclusion::Passed => "passed", CheckConclusion::Pending => "running", CheckConclusion::Failed => "failed" };
            span class={ "badge " (tone.name()) } title=(word) { (name) " " (word) } " "
        }
    }
}

/// What is to be done, a step after the other, and when it was.
fn plan(rows: &[CascadeStepRow]) -> Markup {
    html! {
        @if rows.is_empty() { p.muted { "Nothing to land." } }
        @else {
            div.wide tabindex="0" role="region" aria-label="The plan" { table {
                thead { tr { th { "Step" } th { "Done" } th { "Took" } } }
                tbody {
                    @for row in rows {
                        tr {
                            td { (row.words) }
                            td { @match row.done { Some(at) => (moment(at)), None => { span.muted { (if row.begun.is_some() { "under way" } else { "to come" }) } } } }
                            td { @if let (Some(from), Some(to)) = (row.begun, row.done) { (between(from, to)) } }
                        }
                    }
                }
            } }
        }
    }
}
