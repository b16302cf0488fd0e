//! Signing in with an API key, and out again.

use std::sync::Arc;

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{DashboardSession, no_cookie};
use super::{DashboardVisitor, go_to, guard, is_secure, layout};
use crate::daemon::server::App;

/// Where somebody wants to go who has to sign in first.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct ReturnQuery {
    to: String,
}

#[derive(Deserialize)]
pub struct SignInForm {
    key: String,
    #[serde(default)]
    to: String,
}

#[derive(Deserialize)]
pub struct SignOutForm {
    token: String,
}

/// The page for signing in, which leads on.
pub fn address(to: &str) -> String {
    format!("/sign-in?{}", serde_urlencoded::to_string([("to", to)]).unwrap_or_default())
}

pub async fn show(State(app): State<Arc<App>>, Query(ReturnQuery { to }): Query<ReturnQuery>) -> Response {
    guard(form(&app, &to, None).into_response())
}

pub async fn enter(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(SignInForm { key, to }): Form<SignInForm>,
) -> Response {
    if is_from_elsewhere(&headers) {
        return guard(
            (StatusCode::FORBIDDEN, form(&app, &to, Some("That form was not from this site."))).into_response(),
        );
    }
    let Some(key) = app.api_keys.iter().find(|known| known.opens_with(key.trim())) else {
        tracing::warn!(event = "sign_in_refused", "somebody tried to sign in with an API key that is not known");
        let refused = form(&app, &to, Some("Unknown API key."));
        return guard((StatusCode::UNAUTHORIZED, refused).into_response());
    };
    tracing::info!(event = "sign_in", client = key.name, "somebody signed in");
    let mut response = go_to(&local(&to));
    response.headers_mut().append(header::SET_COOKIE, DashboardSession::open(key).cookie(is_secure(&app)));
    response
}

pub async fn leave(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(SignOutForm { token }): Form<SignOutForm>,
) -> Response {
    let is_meant = DashboardVisitor::of(&app, &headers).is_some_and(|(visitor, _)| visitor.session.has_token(&token));
    let mut response = go_to("/");
    if is_meant {
        response.headers_mut().append(header::SET_COOKIE, no_cookie(is_secure(&app)));
    }
    response
}

/// Only to pages of this server.
fn local(to: &str) -> String {
    let is_local = to.starts_with('/') && !to.starts_with("//") && !to.contains(['\\', '\r', '\n']);
    if is_local && to.is_ascii() { to.to_owned() } else { "/".to_owned() }
}

/// What a browser says of where a form was.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
}

fn form(app: &App, to: &str, refused: Option<&str>) -> Markup {
    let has_keys = app.api_keys.iter().any(|key| Some(&key.name) != app.anonymous.as_ref());
    layout::outside(
        "Sign in",
        &html! {
            h1 { (layout::logo()) "merge-train" }
            @if let Some(refused) = refused { p.notice.bad role="alert" { (refused) } }
            @if has_keys {
                form.sign-in method="post" action="/sign-in" {
                    input type="hidden" name="to" value=(local(to));
                    label for="key" { "API key" }
                    input id="key" type="password" name="key" required autocomplete="current-password" autofocus;
                    button.primary { "Sign in" }
                }
                p.muted { "Ask the operator of this daemon for a key. Keys are configured under " code { "[[api_keys]]" } " in its configuration." }
            } @else {
                p { "No API key is configured yet, so nobody can sign in. Create one:" }
                pre { code { "openssl rand -hex 32 | tee key.txt | tr -d '\\n' | sha256sum" } }
                p { "Add the hash to the configuration, restart the daemon, and sign in with the contents of " code { "key.txt" } ":" }
                pre { code { "[[api_keys]]\nname = \"me\"\ntenant = \"*\"\nrole = \"operator\"\nsha256 = \"…\"" } }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere() {
        assert_eq!(local("/runs?status=failed"), "/runs?status=failed");
        for elsewhere in ["https://example.com", "//example.com", "/\\example.com", "", "/a\r\nb", "runs"] {
            assert_eq!(local(elsewhere), "/", "{elsewhere:?}");
        }
    }
}
