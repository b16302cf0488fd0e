//! Pull requests: opening, reading, listing, editing.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use serde::Deserialize;
use serde_json::json;

use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope, may};
use crate::pulls::{self, Edit, NewPull};
use crate::world::{Id, IssueState, Pull, World};
use crate::{Sim, present};

/// GitHub lists no more of a pull request's commits.
const MOST_COMMITS: u64 = 250;
/// GitHub lists no more of a pull request's files.
const MOST_FILES: usize = 3000;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/pulls", get(list).post(create))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}", get(show).patch(update))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/commits", get(commits))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/files", get(files))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/update-branch", put(update_branch))
        .route(
            "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
            get(reviewers).post(request_reviewers).delete(withdraw_reviewers),
        )
}

type At = Path<(String, String, u64)>;

fn repo_id(sim: &Sim, caller: &Caller, owner: &str, name: &str, scope: Scope, level: Level) -> Result<Id, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, scope, level).map(|repo| repo.id))
}

#[derive(Deserialize)]
struct Filter {
    state: Option<String>,
    head: Option<String>,
    base: Option<String>,
    sort: Option<String>,
    direction: Option<String>,
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
    Query(filter): Query<Filter>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    sim.read(|world| {
        let mut found: Vec<&Pull> = world.pulls.within(repo).filter(|pull| filter.fits(world, pull)).collect();
        filter.sort(world, &mut found);
        Ok(page.of(&found, |pull| present::simple_pull(world, pull)))
    })
}

impl Filter {
    fn fits(&self, world: &World, pull: &Pull) -> bool {
        let state = match self.state.as_deref() {
            Some("all") => true,
            Some("closed") => !pulls::is_open(world, pull),
            _ => pulls::is_open(world, pull),
        };
        // Without an owner GitHub takes no notice of the head.
        let head = self
            .head
            .as_deref()
            .and_then(|head| head.split_once(':'))
            .is_none_or(|(owner, branch)| pull.head_owner.eq_ignore_ascii_case(owner) && pull.head_ref == branch);
        state && head && self.base.as_deref().is_none_or(|base| base == pull.base_ref)
    }

    fn sort(&self, world: &World, pulls: &mut [&Pull]) {
        let issue = |pull: &Pull| world.issues.get(pull.repo, pull.number);
        let sort = self.sort.as_deref().unwrap_or("created");
        match sort {
            "updated" => pulls.sort_by_key(|pull| (issue(pull).map(|issue| issue.updated_at), pull.number)),
            "popularity" => pulls.sort_by_key(|pull| {
                let comments = world.comments.within(pull.repo).filter(|comment| comment.number == pull.number);
                (comments.count(), pull.number)
            }),
            // The longest open first, so by age.
            _ => pulls.sort_by_key(|pull| (issue(pull).map(|issue| issue.created_at), pull.number)),
        }
        let descending = match self.direction.as_deref() {
            Some(direction) => direction == "desc",
            None => sort == "created",
        };
        if descending {
            pulls.reverse();
        }
    }
}

#[derive(Deserialize)]
struct Create {
    title: Option<String>,
    head: String,
    head_repo: Option<String>,
    base: String,
    body: Option<String>,
    draft: Option<bool>,
    maintainer_can_modify: Option<bool>,
    issue: Option<u64>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(body): Body<Create>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Participate)?;
    if body.issue.is_none() && body.title.as_deref().is_none_or(|title| title.trim().is_empty()) {
        return Err(ApiError::validation("PullRequest", "title", "missing_field"));
    }
    let new = NewPull {
        title: body.title,
        body: body.body,
        head: body.head,
        head_repo: body.head_repo,
        base: body.base,
        draft: body.draft.unwrap_or(false),
        maintainer_can_modify: body.maintainer_can_modify.unwrap_or(true),
        issue: body.issue,
    };
    let number = pulls::open(&sim, &caller, repo, new).await?;
    respond(&sim, repo, number, 201)
}

fn respond(sim: &Sim, repo: Id, number: u64, status: u16) -> ApiResult {
    sim.read(|world| {
        let (pull, _) = pulls::find(world, repo, number)?;
        Ok(http::json(status, &present::pull(world, pull)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    headers: HeaderMap,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    pulls::settle(&sim, repo, &[number]).await?;
    let wants = |kind: &str| {
        let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        accepted.any(|media| media.contains("vnd.github") && media.contains(kind))
    };
    if wants("diff") || wants("patch") {
        let (git, ends) = (sim.git(repo), sim.read(|world| ends(world, repo, number))?);
        let (kind, text) = if wants("diff") {
            ("diff", git.diff_text(&ends.merge_base, &ends.head).await?)
        } else {
            ("patch", git.patch_text(&ends.base, &ends.head).await?)
        };
        return Ok(plain(kind, text));
    }
    respond(&sim, repo, number, 200)
}

fn plain(kind: &str, text: String) -> Response {
    ([(CONTENT_TYPE, format!("application/vnd.github.{kind}; charset=utf-8"))], text).into_response()
}

/// The commits a pull request goes from and to. Settle it first.
struct Ends {
    base: String,
    head: String,
    merge_base: String,
}

fn ends(world: &World, repo: Id, number: u64) -> Result<Ends, ApiError> {
    let (pull, _) = pulls::find(world, repo, number)?;
    let base = pulls::base_commit(world, pull).clone();
    let merge_base = pulls::facts(world, pull).and_then(|facts| facts.merge_base.clone());
    Ok(Ends { merge_base: merge_base.unwrap_or_else(|| base.clone()), base, head: pull.head_sha.clone() })
}

#[derive(Deserialize)]
struct Update {
    title: Option<String>,
    #[serde(default, deserialize_with = "given")]
    body: Option<Option<String>>,
    state: Option<String>,
    base: Option<String>,
    maintainer_can_modify: Option<bool>,
}

/// Tells a field that is `null` from one that is not there.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(body): Body<Update>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Participate)?;
    let actor = caller.actor()?;
    sim.read(|world| {
        let (_, issue) = pulls::find(world, repo, number)?;
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let only_state = body.title.is_none() && body.body.is_none() && body.base.is_none();
        let level = if only_state { Level::Triage } else { Level::Write };
        if issue.author == actor { Ok(()) } else { may(world, &caller, repo, Scope::PullRequests, level) }
    })?;
    let state = match body.state.as_deref() {
        None => None,
        Some("open") => Some(IssueState::Open),
        Some("closed") => Some(IssueState::Closed),
        Some(_) => return Err(ApiError::validation("PullRequest", "state", "invalid")),
    };
    let edit = Edit {
        title: body.title,
        body: body.body,
        state,
        base: body.base,
        maintainer_can_modify: body.maintainer_can_modify,
    };
    pulls::edit(&sim, actor, repo, number, edit).await?;
    pulls::settle(&sim, repo, &[number]).await?;
    respond(&sim, repo, number, 200)
}

async fn commits(State(sim): State<Sim>, caller: Caller, Path((owner, name, number)): At, page: Page) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    let Ends { base, head, .. } = sim.read(|world| ends(world, repo, number))?;
    let mut commits = sim.git(repo).commits(&[&head, &format!("^{base}")], Some(MOST_COMMITS), 0).await?;
    commits.reverse();
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        Ok(page.of(&commits, |commit| present::commit(world, repo, commit)))
    })
}

async fn files(State(sim): State<Sim>, caller: Caller, Path((owner, name, number)): At, page: Page) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    pulls::settle(&sim, repo, &[number]).await?;
    let Ends { merge_base, head, .. } = sim.read(|world| ends(world, repo, number))?;
    let mut files = sim.git(repo).changed_files(Some(&merge_base), &head).await?;
    files.truncate(MOST_FILES);
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        Ok(page.of(&files, |file| present::diff_entry(world, repo, &head, file)))
    })
}

#[derive(Deserialize)]
struct UpdateBranch {
    expected_head_sha: Option<String>,
}

async fn update_branch(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(body): Body<UpdateBranch>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Participate)?;
    pulls::update_branch(&sim, &caller, repo, number, body.expected_head_sha.as_deref()).await?;
    let url = sim.read(|world| {
        let full_name = world.repo(repo).map(|repo| world.full_name(repo)).unwrap_or_default();
        world.urls.web(format!("/repos/{full_name}/pulls/{number}"))
    });
    Ok(http::json(202, &json!({ "message": "Updating pull request branch.", "url": url })))
}

async fn reviewers(State(sim): State<Sim>, caller: Caller, Path((owner, name, number)): At) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    sim.read(|world| {
        let (pull, _) = pulls::find(world, repo, number)?;
        let users: Vec<_> = pull.requested_reviewers.iter().map(|id| present::simple_user(world, *id)).collect();
        Ok(http::json(200, &json!({ "users": users, "teams": [] })))
    })
}

#[derive(Deserialize)]
struct Reviewers {
    #[serde(default)]
    reviewers: Vec<String>,
}

async fn request_reviewers(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(body): Body<Reviewers>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Triage)?;
    let actor = caller.actor()?;
    sim.write(|world| {
        pulls::request_reviewers(world, actor, repo, number, &body.reviewers)?;
        let (pull, _) = pulls::find(world, repo, number)?;
        Ok(http::json(201, &present::simple_pull(world, pull)))
    })
}

async fn withdraw_reviewers(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(body): Body<Reviewers>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Triage)?;
    let actor = caller.actor()?;
    sim.write(|world| {
        pulls::withdraw_reviewers(world, actor, repo, number, &body.reviewers)?;
        let (pull, _) = pulls::find(world, repo, number)?;
        Ok(http::json(200, &present::simple_pull(world, pull)))
    })
}
