//! What an address names: a repository, a train, a run.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use merge_train_core::ids::{PrNumber, RepoId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::problem::Problem;

/// The largest number that every client reads as it is written.
pub const LARGEST_NUMBER: u64 = (1 << 53) - 1;

/// The parameters of an address. What cannot be read is a problem, in the words of all others.
pub struct PathParameters<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(named)| Self(named)).map_err(|error| Problem::bad_request(error.body_text()))
    }
}

/// A repository.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RepositoryPath {
    /// The account that the repository belongs to.
    #[param(pattern = r"^[A-Za-z0-9_\[\]-][A-Za-z0-9._\[\]-]{0,99}$", example = "octocat")]
    owner: String,
    /// The repository's name, without its owner.
    #[param(
        pattern = r"^([A-Za-z0-9_-][A-Za-z0-9._-]{0,99}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}|\.\.[A-Za-z0-9._-]{1,98})$",
        example = "hello"
    )]
    repo: String,
}

impl RepositoryPath {
    pub fn id(&self) -> Result<RepoId, Problem> {
        RepoId::new(&self.owner, &self.repo).map_err(|error| Problem::bad_request(error.to_string()))
    }
}

/// A pull request.
#[derive(Deserialize)]
pub struct PullRequestPath {
    #[serde(flatten)]
    pub repository: RepositoryPath,
    #[serde(flatten)]
    pub number: PullRequestNumberPath,
}

/// Which pull request of its repository it is.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PullRequestNumberPath {
    /// The number of the pull request.
    #[param(value_type = u64, minimum = 1, maximum = 9_007_199_254_740_991_u64, example = 7)]
    pr: String,
}

impl PullRequestNumberPath {
    pub fn id(&self) -> Result<PrNumber, Problem> {
        let text = self.pr.as_str();
        let is_written_plainly = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| is_written_plainly && (1..=LARGEST_NUMBER).contains(number));
        number.map(PrNumber::new).ok_or_else(|| {
            let text: String = text.chars().take(40).collect();
            Problem::bad_request(format!("{text:?} is not a pull request number; write it without the #, such as 12"))
        })
    }
}

/// A run.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RunPath {
    /// The id of the run.
    #[param(pattern = "^[A-Za-z0-9._-]{1,64}$", example = "run-3f9c1e7a5b2d4c6e8f0a1b2c")]
    pub id: String,
}
