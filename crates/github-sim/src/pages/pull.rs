//! A pull request (or an issue) as a page, with a box to comment as any user.

use axum::Form;
use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;

use super::PageError;
use super::layout::{page, person, short, time};
use super::timeline::timeline;
use crate::git::{CommitObject, FileChange};
use crate::http::{ApiError, Caller, Level, Path, Scope, repo as repo_for};
use crate::rollup::{self, Context, RollupState};
use crate::world::{AccountKind, CheckRun, Id, Issue, IssueState, Pull, Repo, RunStatus, World};
use crate::{Sim, conversation, pulls};

/// More commits than anyone reads on one page.
const SHOWN_COMMITS: u64 = 100;

pub async fn show(
    State(sim): State<Sim>,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> Result<Markup, PageError> {
    let (repo, pull) = find(&sim, &owner, &name, number)?;
    let mut commits = Vec::new();
    if let Some(pull) = &pull {
        pulls::settle(&sim, repo, &[number]).await?;
        let git = sim.git(repo);
        let left_out = format!("^{}", pull.base_sha);
        commits = git.commits(&[&pull.head_sha, &left_out], Some(SHOWN_COMMITS), 0).await?;
        commits.reverse();
    }
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let issue = world.issues.get(repo.id, number).ok_or_else(ApiError::not_found)?;
        let pull = world.pulls.get(repo.id, number);
        Ok(page(&format!("{} #{number}", issue.title), html! {
            (heading(world, repo, issue, pull))
            @if let Some(pull) = pull { (readiness(world, repo, pull)) (checks(world, repo, pull)) (commit_rows(&commits)) }
            h2 { "Conversation" }
            (timeline(world, repo, issue))
            (comment_box(world))
        }))
    })
}

fn find(sim: &Sim, owner: &str, name: &str, number: u64) -> Result<(Id, Option<Pull>), ApiError> {
    sim.read(|world| {
        let repo = world.repo_named(owner, name).ok_or_else(ApiError::not_found)?;
        world.issues.get(repo.id, number).ok_or_else(ApiError::not_found)?;
        Ok((repo.id, world.pulls.get(repo.id, number).cloned()))
    })
}

fn heading(world: &World, repo: &Repo, issue: &Issue, pull: Option<&Pull>) -> Markup {
    let full_name = world.full_name(repo);
    html! {
        p class="muted" { a href={ "/" (full_name) } { (full_name) } }
        h1 { (issue.title) " " small { "#" (issue.number) } }
        p {
            (state_badge(issue, pull)) " " (person(world.account(issue.author)))
            @if let Some(pull) = pull {
                " wants to merge " code { (pull.head_ref) } " into " code { (pull.base_ref) }
                @if pull.is_fork() { " " span class="tag" { "from a fork of " (pull.head_owner) } }
                @if let Some(merged) = &pull.merged { " · merged as " code { (short(&merged.sha)) } " by " (world.account(merged.by).login) }
                " · " a href={ "/" (full_name) "/pull/" (issue.number) "/files" } { "Files changed" }
            }
        }
        @if !issue.labels.is_empty() {
            p { @for label in issue.labels.iter().filter_map(|id| world.labels.get(repo.id, *id)) { span class="tag" { (label.name) } " " } }
        }
    }
}

pub fn state_badge(issue: &Issue, pull: Option<&Pull>) -> Markup {
    let (class, word) = match (pull, issue.state) {
        (Some(Pull { merged: Some(_), .. }), _) => ("merged", "Merged"),
        (_, IssueState::Closed) => ("closed", "Closed"),
        (Some(Pull { draft: true, .. }), IssueState::Open) => ("draft", "Draft"),
        (_, IssueState::Open) => ("open", "Open"),
    };
    html! { span class={ "state " (class) } { (word) } }
}

/// What GitHub would say beside the merge button.
fn readiness(world: &World, repo: &Repo, pull: &Pull) -> Markup {
    let open = world.issues.get(repo.id, pull.number).is_some_and(|issue| issue.state == IssueState::Open);
    if !open {
        return html! {};
    }
    let state = pulls::merge_state(world, pull);
    let (class, words) = match state.status {
        "CLEAN" => ("ok", "Ready to merge."),
        "HAS_HOOKS" => ("ok", "Ready to merge; a pre-receive hook will run."),
        "UNSTABLE" => ("wait", "Can be merged, but not all checks have passed."),
        "BLOCKED" => ("bad", "Blocked: something required is missing."),
        "BEHIND" => ("wait", "The branch is behind its base."),
        "DIRTY" => ("bad", "The branch conflicts with its base."),
        "DRAFT" => ("wait", "A draft cannot be merged."),
        _ => ("muted", "Not known yet."),
    };
    html! {
        p {
            span class=(class) { strong { (state.status) } " " (words) }
            @if let Some(decision) = pulls::review_decision(world, pull) {
                " · " span class="muted" { "Reviews: " (decision.to_lowercase().replace('_', " ")) }
            }
        }
    }
}

fn checks(world: &World, repo: &Repo, pull: &Pull) -> Markup {
    let contexts = rollup::contexts(world, repo.id, &pull.head_sha);
    html! {
        @if !contexts.is_empty() {
            h2 { "Checks" }
            ul class="rows" {
                @for context in &contexts {
                    @let (class, words) = words_of(context);
                    li {
                        span class=(class) { (mark(context.state())) }
                        @match context {
                            Context::Run(run) => { a href={ "/" (world.full_name(repo)) "/runs/" (run.id) } { (run.name) } }
                            Context::Status(status) => {
                                (status.context) " " span class="muted" { (status.description.as_deref().unwrap_or_default()) }
                            }
                        }
                        span class={ "end " (class) } { (words) }
                    }
                }
            }
        }
    }
}

fn mark(state: RollupState) -> &'static str {
    match state {
        RollupState::Success => "✓",
        RollupState::Failure | RollupState::Error => "✗",
        RollupState::Pending | RollupState::Expected => "●",
    }
}

fn words_of(context: &Context<'_>) -> (&'static str, String) {
    match context {
        Context::Run(run) => run_words(run),
        Context::Status(status) => (class_of(context.state()), format!("{:?}", status.state).to_lowercase()),
    }
}

/// The colour and the words for a check run.
pub fn run_words(run: &CheckRun) -> (&'static str, String) {
    let words = match (run.status, run.conclusion) {
        (RunStatus::Completed, Some(conclusion)) => serde_json::to_value(conclusion),
        (status, _) => serde_json::to_value(status),
    };
    let words = words.ok().and_then(|value| value.as_str().map(|word| word.replace('_', " "))).unwrap_or_default();
    (class_of(Context::Run(run).state()), words)
}

fn class_of(state: RollupState) -> &'static str {
    match state {
        RollupState::Success => "ok",
        RollupState::Failure | RollupState::Error => "bad",
        RollupState::Pending | RollupState::Expected => "wait",
    }
}

fn commit_rows(commits: &[CommitObject]) -> Markup {
    html! {
        @if !commits.is_empty() {
            h2 { "Commits " span class="muted" { (commits.len()) } }
            ul class="rows" {
                @for commit in commits {
                    li { span { (commit.title()) } span class="end" { (commit.author.name) " " code { (short(&commit.sha)) } } }
                }
            }
        }
    }
}

fn comment_box(world: &World) -> Markup {
    let people = world.accounts.within(0).filter(|account| account.kind == AccountKind::User);
    html! {
        form method="post" {
            label { "Comment as " select name="user" { @for account in people { option { (account.login) } } } }
            label { span class="muted" { "Markdown" } textarea name="body" required placeholder="Leave a comment" {} }
            button { "Comment" }
        }
    }
}

#[derive(Deserialize)]
pub struct NewComment {
    user: String,
    body: String,
}

pub async fn comment(
    State(sim): State<Sim>,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Form(new): Form<NewComment>,
) -> Result<Redirect, PageError> {
    let id = sim.write(|world| {
        let user = world.account_named(&new.user).ok_or_else(ApiError::not_found)?;
        if user.kind != AccountKind::User {
            return Err(ApiError::forbidden("Only people comment here; a bot uses its token."));
        }
        let user = user.id;
        // Exactly what that person could do through the API.
        let repo = repo_for(world, &Caller::User { user }, &owner, &name, Scope::Issues, Level::Participate)?.id;
        // Browsers send line ends as CRLF.
        conversation::add_comment(world, user, None, repo, number, &new.body.replace("\r\n", "\n"))
    })?;
    Ok(Redirect::to(&format!("/{owner}/{name}/pull/{number}#issuecomment-{id}")))
}

pub async fn files(
    State(sim): State<Sim>,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> Result<Markup, PageError> {
    let (repo, pull) = find(&sim, &owner, &name, number)?;
    let pull = pull.ok_or_else(ApiError::not_found)?;
    let git = sim.git(repo);
    let base = git.merge_base(&pull.base_sha, &pull.head_sha).await?;
    let changes = git.changed_files(base.as_deref(), &pull.head_sha).await?;
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let issue = world.issues.get(repo.id, number).ok_or_else(ApiError::not_found)?;
        Ok(page(&format!("Files of #{number}"), html! {
            (heading(world, repo, issue, Some(&pull)))
            p { a href={ "/" (world.full_name(repo)) "/pull/" (number) } { "Conversation" } " · updated " (time(issue.updated_at)) }
            @for change in &changes { (file(change)) }
        }))
    })
}

fn file(change: &FileChange) -> Markup {
    html! {
        article {
            h3 {
                strong { (change.path) } " " (change.status.as_str())
                " " span class="add" { "+" (change.additions) } " " span class="del" { "−" (change.deletions) }
            }
            @if let Some(patch) = &change.patch {
                pre { code {
                    @for line in patch.lines() {
                        @if line.starts_with('+') { span class="add" { (line) } "\n" }
                        @else if line.starts_with('-') { span class="del" { (line) } "\n" }
                        @else { (line) "\n" }
                    }
                } }
            }
        }
    }
}
