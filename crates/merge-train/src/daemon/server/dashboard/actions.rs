//! What somebody presses: asked of the API, in their name, as any other client would.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Form, State};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::html;
use merge_train_core::ids::{PrNumber, RepoId};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::address::PageAddress;
use super::{DashboardPage, DashboardVisitor, go_to, guard, layout, sign_in};
use crate::daemon::server::{self, App};

/// How much of an answer is read: all that the API says to an order.
const ANSWER_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
pub struct ActionForm {
    token: String,
    order: DashboardAction,
    /// The page that it was pressed on.
    back: String,
    repo: Option<RepoId>,
    pr: Option<PrNumber>,
    run: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DashboardAction {
    StartTrain,
    StopTrain,
    RatchetOn,
    RatchetOff,
    Approve,
    Reject,
    Cancel,
    Resume,
}

impl ActionForm {
    /// What the API is asked; none where the form does not say what it is about.
    fn request(&self) -> Option<(Method, String, Value)> {
        let reason = self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let why = json!({ "reason": reason });
        let pull = || Some((self.repo.as_ref()?, self.pr?));
        // What a path is made of is checked where it is read: a run's name has no slash in it.
        let run = || {
            self.run
                .as_deref()
                .filter(|run| run.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)))
        };
        let of_train = |what: &str| {
            let (repo, pr) = pull()?;
            Some((Method::POST, format!("/api/v1/repos/{repo}/trains/{pr}/{what}"), json!({})))
        };
        let of_ratchet = |enabled: bool| {
            let (repo, pr) = pull()?;
            Some((Method::PUT, format!("/api/v1/workspaces/{repo}/{pr}/ratchet"), json!({ "enabled": enabled })))
        };
        let of_run = |what: &str, body: Value| Some((Method::POST, format!("/api/v1/runs/{}/{what}", run()?), body));
        match self.order {
            DashboardAction::StartTrain => of_train("start"),
            DashboardAction::StopTrain => of_train("stop"),
            DashboardAction::RatchetOn => of_ratchet(true),
            DashboardAction::RatchetOff => of_ratchet(false),
            DashboardAction::Approve => of_run("approve", why),
            DashboardAction::Reject => of_run("reject", why),
            DashboardAction::Cancel => of_run("cancel", why),
            DashboardAction::Resume => of_run("resume", json!({})),
        }
    }
}

pub async fn submit(State(app): State<Arc<App>>, headers: HeaderMap, Form(form): Form<ActionForm>) -> Response {
    let Some((visitor, _)) = DashboardVisitor::of(&app, &headers) else {
        return go_to(&sign_in::address(&form.back));
    };
    let back =
        PageAddress::read(form.back.split('?').next().unwrap_or_default(), "").map_or("/", |_| form.back.as_str());
    if !visitor.session.has_token(&form.token) {
        let why = "This page is older than your session, so nothing was done. Go back, reload and try again.";
        return refusal(&app, &visitor, StatusCode::FORBIDDEN, why, back);
    }
    let Some((method, path, body)) = form.request() else {
        return refusal(&app, &visitor, StatusCode::BAD_REQUEST, "The form is incomplete.", back);
    };
    let mut request = Request::new(Body::from(body.to_string()));
    (*request.method_mut(), *request.headers_mut()) = (method, visitor.session.headers());
    request.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    match path.parse() {
        Ok(uri) => *request.uri_mut() = uri,
        Err(_) => {
            return refusal(&app, &visitor, StatusCode::BAD_REQUEST, "The form is incomplete.", back);
        }
    }
    let Ok(answer) = server::api(app.clone()).oneshot(request).await;
    let status = answer.status();
    if status.is_success() {
        return go_to(back);
    }
    let told = axum::body::to_bytes(answer.into_body(), ANSWER_BYTES).await.unwrap_or_default();
    let told: Value = serde_json::from_slice(&told).unwrap_or_default();
    refusal(&app, &visitor, status, told["detail"].as_str().unwrap_or("Refused."), back)
}

fn refusal(app: &App, visitor: &DashboardVisitor<'_>, status: StatusCode, why: &str, back: &str) -> Response {
    let body = html! {
        h1 { "Not done" }
        p.notice.bad role="alert" { (why) }
        p { a href=(back) { "Back" } }
    };
    guard((status, layout::page(app, visitor, None, &DashboardPage::new("Not done", body))).into_response())
}
