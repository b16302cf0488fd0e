//! The pages on this machine: one that leads to GitHub, and the one that GitHub leads back to.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use github::NewApp;
use maud::{DOCTYPE, Markup, html};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;

/// What is asked of GitHub, and who waits for the answer.
pub struct PendingAppCreation {
    /// Where the proposal is posted to.
    pub action: String,
    pub manifest: Value,
    /// What GitHub hands back: whoever does not have it was not sent by us.
    pub state: String,
    pub api_url: String,
    /// The hosts by which the pages may be asked for: no other name may be made to lead here.
    pub hosts: [String; 2],
    /// None once the app is made.
    pub waiting: Mutex<Option<oneshot::Sender<NewApp>>>,
}

#[derive(Deserialize)]
struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
}

pub fn routes(creation: Arc<PendingAppCreation>) -> Router {
    Router::new()
        .route("/", get(begin))
        .route("/made", get(made))
        .layer(middleware::from_fn_with_state(creation.clone(), only_by_own_name))
        .with_state(creation)
}

async fn only_by_own_name(
    State(creation): State<Arc<PendingAppCreation>>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if creation.hosts.iter().any(|own| own == host) {
        return next.run(request).await;
    }
    (StatusCode::MISDIRECTED_REQUEST, "This page is only for this machine.").into_response()
}

async fn begin(State(creation): State<Arc<PendingAppCreation>>) -> Response {
    let list = |value: &Value| -> Vec<String> {
        let named = value.as_object().into_iter().flatten();
        named.map(|(name, level)| format!("{name}: {}", level.as_str().unwrap_or_default())).collect()
    };
    let name = creation.manifest["name"].as_str().unwrap_or_default();
    let body = html! {
        h1 { "Create a GitHub App for merge-train" }
        p { "GitHub shows you what the app asks for, and creates it when you confirm. You can change its name, " strong { (name) } ", there." }
        ul { @for permission in list(&creation.manifest["default_permissions"]) { li { code { (permission) } } } }
        form method="post" action=(creation.action) {
            input type="hidden" name="manifest" value=(creation.manifest.to_string());
            button type="submit" autofocus { "Continue on GitHub" }
        }
    };
    shown(StatusCode::OK, &body)
}

async fn made(State(creation): State<Arc<PendingAppCreation>>, Query(returned): Query<CallbackQuery>) -> Response {
    let again = || html! { p { a href="/" { "Begin again" } } };
    let (Some(code), Some(state)) = (returned.code, returned.state) else {
        let body = html! { h1 { "No app was created" } p { "This address lacks the code or the state that GitHub sends." } (again()) };
        return shown(StatusCode::BAD_REQUEST, &body);
    };
    if state != creation.state {
        let body = html! { h1 { "No app was created" } p { "This answer does not belong to the request from this page." } (again()) };
        return shown(StatusCode::BAD_REQUEST, &body);
    }
    let Some(waiting) = creation.waiting.lock().take() else {
        let body = html! { h1 { "The app already exists" } p { "The terminal shows what to do next." } };
        return shown(StatusCode::CONFLICT, &body);
    };
    match github::convert_manifest(&creation.api_url, &code).await {
        Ok(new) => {
            let body = html! {
                h1 { (new.app.name) " is made" }
                p { a href=(new.app.install_url()) { "Install it on your repositories" } ", and go back to the terminal." }
            };
            // Whoever waited has given up if this fails, and says so.
            let _ = waiting.send(new);
            shown(StatusCode::OK, &body)
        }
        Err(error) => {
            *creation.waiting.lock() = Some(waiting);
            let body = html! { h1 { "GitHub did not create the app" } p { (error.to_string()) } (again()) };
            shown(StatusCode::BAD_GATEWAY, &body)
        }
    }
}

fn shown(status: StatusCode, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "merge-train" }
                style { "body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }" }
            }
            body { (body) }
        }
    };
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    let headers =
        [("content-security-policy", policy), ("cache-control", "no-store"), ("referrer-policy", "no-referrer")];
    (status, headers, Html(page.into_string())).into_response()
}
