//! Small things about a repository: tags, topics, languages, contributors.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Scope};
use crate::world::{Id, NodeKind, Repo, named_node_id};
use crate::{Sim, people, present};

const MOST_TOPICS: usize = 20;
const LONGEST_TOPIC: usize = 50;

fn readable(sim: &Sim, caller: &Caller, owner: &str, name: &str, scope: Scope) -> Result<Repo, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, scope, Level::Read).cloned())
}

pub async fn tags(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name, Scope::Contents)?;
    let tags = sim.git(repo.id).tag_refs().await?;
    Ok(sim.read(|world| {
        let api = |path: String| world.urls.api(format!("/repos/{}{path}", world.full_name(&repo)));
        page.of(&tags, |tag| {
            json!({
                "name": tag.name,
                "zipball_url": api(format!("/zipball/refs/tags/{}", tag.name)),
                "tarball_url": api(format!("/tarball/refs/tags/{}", tag.name)),
                "commit": { "sha": tag.commit, "url": api(format!("/commits/{}", tag.commit)) },
                "node_id": named_node_id(NodeKind::Ref, repo.id, &format!("refs/tags/{}", tag.name)),
            })
        })
    }))
}

pub async fn topics(State(sim): State<Sim>, caller: Caller, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name, Scope::Metadata)?;
    Ok(http::json(200, &json!({ "names": repo.topics })))
}

#[derive(Deserialize)]
pub struct Topics {
    names: Vec<String>,
}

pub async fn set_topics(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(topics): Body<Topics>,
) -> ApiResult {
    let fits = |topic: &String| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=LONGEST_TOPIC).contains(&topic.len()) && topic.bytes().all(allowed) && !topic.starts_with('-')
    };
    if topics.names.len() > MOST_TOPICS || !topics.names.iter().all(fits) {
        return Err(ApiError::validation("Repository", "topics", "invalid"));
    }
    sim.write(|world| {
        let id = http::repo(world, &caller, &owner, &name, Scope::Administration, Level::Admin)?.id;
        let repo = world.repos.edit(0, id).expect("found in this transaction");
        repo.topics = topics.names;
        Ok(http::json(200, &json!({ "names": repo.topics })))
    })
}

/// The simulator does not look into files, so it knows of no language.
pub async fn languages(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> ApiResult {
    readable(&sim, &caller, &owner, &name, Scope::Metadata)?;
    Ok(http::json(200, &json!({})))
}

pub async fn contributors(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name, Scope::Metadata)?;
    let Some(tip) = sim.read(|world| world.branch(repo.id, &repo.default_branch).cloned()) else {
        return Ok(http::no_content());
    };
    let authors = sim.git(repo.id).authors(&tip).await?;
    Ok(sim.read(|world| {
        let mut known: Vec<(Id, u64)> = Vec::new();
        for (email, _, commits) in &authors {
            let Some(account) = people::account_by_email(world, email) else { continue };
            match known.iter_mut().find(|(id, _)| *id == account.id) {
                Some((_, sum)) => *sum += commits,
                None => known.push((account.id, *commits)),
            }
        }
        known.sort_by_key(|(id, commits)| (std::cmp::Reverse(*commits), *id));
        page.of(&known, |(id, commits)| {
            let mut value: Value = present::simple_user(world, *id);
            value["contributions"] = (*commits).into();
            value
        })
    }))
}
