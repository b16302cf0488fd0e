//! Lists: all repositories, one owner's, one repository's pull requests.

use axum::extract::State;
use maud::{Markup, html};

use super::PageError;
use super::layout::{page, time};
use super::pull::state_badge;
use crate::Sim;
use crate::http::{ApiError, Path};
use crate::world::{IssueState, Repo, World};

/// Everything there is.
pub fn index(sim: &Sim) -> Markup {
    let api = sim.urls().api("");
    sim.read(|world| {
        let repos: Vec<&Repo> = world.repos.all().collect();
        page("Repositories", html! {
            h1 { "Repositories" }
            (repo_rows(world, &repos))
            @if repos.is_empty() {
                p { "No repositories yet. Create one with a token from " code { "sim.json" } ":" }
                pre { code {
                    "curl -H \"Authorization: Bearer $TOKEN\" " (api) "/user/repos -d '{\"name\":\"hello\",\"auto_init\":true}'"
                } }
            }
            p class="muted" { "REST at " code { (api) } ", GraphQL at " code { (sim.urls().graphql()) } ", control at " code { (sim.urls().control()) } }
        })
    })
}

pub async fn owner(State(sim): State<Sim>, Path(owner): Path<String>) -> Result<Markup, PageError> {
    sim.read(|world| {
        let account = world.account_named(&owner).ok_or_else(ApiError::not_found)?;
        let repos: Vec<&Repo> = world.repos.all().filter(|repo| repo.owner == account.id).collect();
        Ok(page(
            &account.login,
            html! {
                h1 { (account.login) }
                (repo_rows(world, &repos))
                @if repos.is_empty() { p { "No repositories." } }
            },
        ))
    })
}

pub async fn repo(State(sim): State<Sim>, Path((owner, name)): Path<(String, String)>) -> Result<Markup, PageError> {
    sim.read(|world| {
        let repo = world.repo_named(&owner, &name).ok_or_else(ApiError::not_found)?;
        let full_name = world.full_name(repo);
        let tip = world.branch(repo.id, &repo.default_branch);
        Ok(page(
            &full_name,
            html! {
                h1 { (full_name) }
                @if let Some(text) = &repo.description { p { (text) } }
                p class="muted" {
                    code { (repo.default_branch) }
                    @if let Some(sha) = tip { " at " code { (super::layout::short(sha)) } }
                    " · " code { "git clone " (world.urls.web(format!("/{full_name}.git"))) }
                }
                (issue_rows(world, repo, IssueState::Open, "Open"))
                (issue_rows(world, repo, IssueState::Closed, "Closed"))
            },
        ))
    })
}

fn repo_rows(world: &World, repos: &[&Repo]) -> Markup {
    html! {
        @if !repos.is_empty() {
            ul class="rows" {
                @for repo in repos {
                    @let open = world.issues.within(repo.id).filter(|issue| issue.state == IssueState::Open).count();
                    li {
                        a href={ "/" (world.full_name(repo)) } { (world.full_name(repo)) }
                        @if repo.private { span class="tag" { "private" } }
                        @if repo.parent.is_some() { span class="tag" { "fork" } }
                        span class="end" { (open) " open" }
                    }
                }
            }
        }
    }
}

fn issue_rows(world: &World, repo: &Repo, state: IssueState, heading: &str) -> Markup {
    let issues: Vec<_> = world.issues.within(repo.id).rev().filter(|issue| issue.state == state).collect();
    html! {
        h2 { (heading) " " span class="muted" { (issues.len()) } }
        @if issues.is_empty() { p class="muted" { "None." } }
        @else {
            ul class="rows" {
                @for issue in issues {
                    @let pull = world.pulls.get(repo.id, issue.number);
                    @let kind = if pull.is_some() { "pull" } else { "issues" };
                    li {
                        (state_badge(issue, pull))
                        a href={ "/" (world.full_name(repo)) "/" (kind) "/" (issue.number) } { (issue.title) }
                        span class="muted" { "#" (issue.number) " by " (world.account(issue.author).login) }
                        @if let Some(pull) = pull { span class="muted" { code { (pull.base_ref) } " ← " code { (pull.head_ref) } } }
                        span class="end" { (time(issue.updated_at)) }
                    }
                }
            }
        }
    }
}
