//! Merging pull requests, at once and in the background.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;
use serde_json::json;

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path, Scope};
use crate::pulls::{self, AsyncRequest, MergeRequest, Words};
use crate::world::{Id, MergeMethod};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/merge", get(is_merged).put(merge))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/merge-async", axum::routing::put(merge_async))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/merge-async/{uuid}", get(async_result))
}

type At = Path<(String, String, u64)>;

fn repo_id(sim: &Sim, caller: &Caller, owner: &str, name: &str, scope: Scope, level: Level) -> Result<Id, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, scope, level).map(|repo| repo.id))
}

async fn is_merged(State(sim): State<Sim>, caller: Caller, Path((owner, name, number)): At) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    let merged = sim.read(|world| pulls::find(world, repo, number).map(|(pull, _)| pull.merged.is_some()))?;
    if merged { Ok(http::no_content()) } else { Err(ApiError::not_found()) }
}

#[derive(Deserialize)]
struct Merge {
    commit_title: Option<String>,
    commit_message: Option<String>,
    sha: Option<String>,
    merge_method: Option<MergeMethod>,
    merge_action: Option<Action>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Default,
    DirectMerge,
    MergeQueue,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::DirectMerge => "direct_merge",
            Self::MergeQueue => "merge_queue",
        }
    }
}

impl Merge {
    /// An empty title or message counts as none.
    fn words(&mut self) -> Words {
        let given = |text: &mut Option<String>| text.take().filter(|text| !text.is_empty());
        Words { title: given(&mut self.commit_title), message: self.commit_message.take() }
    }
}

async fn merge(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(mut body): Body<Merge>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::Contents, Level::Write)?;
    let request =
        MergeRequest { method: body.merge_method.unwrap_or(MergeMethod::Merge), words: body.words(), sha: body.sha };
    let sha = pulls::merge(&sim, &caller, repo, number, request).await?;
    Ok(http::json(200, &json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" })))
}

async fn merge_async(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(mut body): Body<Merge>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::Contents, Level::Write)?;
    let request = AsyncRequest {
        method: body.merge_method,
        action: body.merge_action.unwrap_or(Action::Default).as_str().to_owned(),
        words: body.words(),
        sha: body.sha,
    };
    let answer = sim.write(|world| pulls::request_async_merge(world, &caller, repo, number, request))?;
    Ok(http::json(answer.code, &answer.body))
}

async fn async_result(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, uuid)): Path<(String, String, u64, String)>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Scope::PullRequests, Level::Read)?;
    let answer = sim.read(|world| pulls::async_result(world, repo, number, &uuid))?;
    Ok(http::json(answer.code, &answer.body))
}
