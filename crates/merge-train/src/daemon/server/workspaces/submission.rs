//! What somebody wants of a workspace: put into the inbox, where its repository's worker decides on it, and waited for.

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use merge_train_core::ids::{PrNumber, RepoId, StreamId};
use merge_train_core::inbox::{Key, Source};
use merge_train_core::repo::Request;
use serde::Serialize;
use serde_json::Map;
use store::{Admission, Priority};

use crate::config::ApiKey;
use crate::daemon::driver::Urgency;
use crate::daemon::failpoint;
use crate::daemon::run_orders::{OrderError, RequestProgress};
use crate::daemon::server::problem::Problem;
use crate::daemon::server::requests::{self, ApiRequest};
use crate::daemon::server::trains::{known, no_such_pull};
use crate::daemon::server::{App, idempotency, runs};

/// What came of it so far.
pub struct SubmissionResult {
    progress: RequestProgress,
    is_repeated: bool,
}

impl SubmissionResult {
    /// What whoever asked is told: with this status where it is done. Whoever sent it before is told so.
    pub fn tell(&self, done: StatusCode, shown: impl Serialize) -> Response {
        let status = if self.progress == RequestProgress::Done { done } else { StatusCode::ACCEPTED };
        let mut response = (status, Json(shown)).into_response();
        if self.is_repeated {
            response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        failpoint::answer("api", response)
    }
}

/// Why not.
pub enum SubmissionError {
    /// The repository's worker says so.
    Refused(String),
    Problem(Problem),
}

impl From<SubmissionError> for Problem {
    fn from(error: SubmissionError) -> Self {
        match error {
            SubmissionError::Refused(detail) => Self::conflict(detail),
            SubmissionError::Problem(problem) => problem,
        }
    }
}

impl From<Problem> for SubmissionError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Somebody who wants something of a repository.
pub struct RequestSubmission<'a> {
    pub app: &'a App,
    pub client: &'a ApiKey,
    pub repo: &'a RepoId,
    pub key: Key,
}

impl<'a> RequestSubmission<'a> {
    pub fn new(app: &'a App, client: &'a ApiKey, headers: &HeaderMap, repo: &'a RepoId) -> Result<Self, Problem> {
        Ok(Self { app, client, repo, key: requests::key(headers, &client.name)? })
    }

    /// Sees to it that there is such a pull request. A repetition gets what the first got, although that may be gone by now.
    pub async fn check_pull_request(&self, pr: PrNumber) -> Result<(), Problem> {
        if self.app.store.record(&self.repo.tenant(), &self.key).await?.is_some() {
            return Ok(());
        }
        let state = known(self.app, self.repo).await?;
        state.pr(pr).map(drop).ok_or_else(|| no_such_pull(self.repo, pr))
    }

    /// Puts it into the inbox, and waits a while for what comes of it.
    pub async fn submit(&self, request: Request, body: &[u8]) -> Result<SubmissionResult, SubmissionError> {
        let (app, tenant) = (self.app, self.repo.tenant());
        let asked = ApiRequest {
            client: &self.client.name,
            tenant: tenant.clone(),
            stream: StreamId::Repo(self.repo.clone()),
            request,
            priority: Priority::Normal,
            besides: Map::new(),
        };
        let admission = requests::take_in(app, &self.key, &asked, body).await?;
        let is_repeated = matches!(admission, Admission::InFlight { .. } | Admission::Replay { .. });
        idempotency::answer(Source::Api, &self.key, admission, &asked.besides)?;
        app.driver.wake(self.repo, Urgency::Usual);
        match app.orders.settled(&tenant, &self.key).await {
            Ok(progress) => Ok(SubmissionResult { progress, is_repeated }),
            Err(OrderError::Refused(refused)) => Err(SubmissionError::Refused(refused.detail)),
            Err(failed) => Err(SubmissionError::Problem(runs::told(app)(failed))),
        }
    }
}
