//! `/api/v1/repos/{owner}/{repo}/settings`: how a repository is treated, and who says so.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use jiff::Timestamp;
use merge_train_core::ids::RepoId;
use merge_train_core::repo::settings::{FILE, SettingInForce, SettingsFileProblem as Mistake};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::App;
use super::access::require;
use super::address::{PathParameters, RepositoryPath};
use super::openapi::ReadingOne;
use super::problem::Problem;
use super::trains::known;
use crate::config::Role;

/// The settings of a repository.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = RepoSettings)]
pub struct RepoSettingsDocument {
    pub repo: RepoId,
    /// Every setting that a repository may set for itself.
    pub settings: Vec<SettingInForce>,
    pub file: SettingsFileDocument,
}

/// A repository's own settings file.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = SettingsFile)]
pub struct SettingsFileDocument {
    /// Its path on the default branch.
    pub path: String,
    pub status: SettingsFileStatus,
    /// The commit at which it was read.
    pub head_sha: Option<String>,
    /// When it was read.
    pub read_at: Option<Timestamp>,
    /// What is wrong with it.
    pub problems: Vec<Mistake>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingsFileStatus {
    /// Nobody has looked yet.
    Unknown,
    /// There is none.
    Absent,
    Valid,
    /// Something is wrong with it: the last settings that were valid stay in force.
    Invalid,
}

/// The settings in force for a repository, and where they come from
///
/// The operator's settings, with those that the repository sets for itself within the operator's limits.
#[utoipa::path(
    get,
    path = "/api/v1/repos/{owner}/{repo}/settings",
    operation_id = "show_repo_settings",
    tag = "repositories",
    params(RepositoryPath),
    responses((status = 200, description = "The settings and where they come from.", body = RepoSettingsDocument), ReadingOne)
)]
pub async fn show(
    State(app): State<Arc<App>>,
    PathParameters(repository): PathParameters<RepositoryPath>,
    headers: HeaderMap,
) -> Result<Json<RepoSettingsDocument>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let state = known(&app, &repo).await?;
    let read = state.own_file();
    let status = match read {
        None => SettingsFileStatus::Unknown,
        Some(read) if !read.problems.is_empty() => SettingsFileStatus::Invalid,
        Some(read) if read.blob.is_none() => SettingsFileStatus::Absent,
        Some(_) => SettingsFileStatus::Valid,
    };
    let file = SettingsFileDocument {
        path: FILE.to_owned(),
        status,
        head_sha: read.map(|read| read.head_sha.to_string()),
        read_at: read.map(|read| read.at),
        problems: read.map(|read| read.problems.clone()).unwrap_or_default(),
    };
    Ok(Json(RepoSettingsDocument { settings: state.shown_settings(&app.settings), repo, file }))
}
