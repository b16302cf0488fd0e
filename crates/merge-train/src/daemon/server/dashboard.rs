//! The dashboard: pages for people, rendered here, and kept up to date while somebody looks at them.
//!
//! A page is a function of the state (`render`). The same function answers a request and feeds a browser that stays
//! (`live`), so that nothing is shown in two ways. What somebody presses goes to the API, as what any other client sends.

mod actions;
mod address;
mod assets;
mod board;
mod graph;
mod insights;
mod layout;
mod live;
mod plot;
mod run;
mod runs;
pub mod session;
mod sign_in;
mod system;
mod train;
mod workspace;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use maud::{Markup, html};

use self::address::PageAddress;
use self::session::DashboardSession;
use super::App;
use super::problem::Problem;
use crate::clock;
use crate::config::{Role, Tenants};
use merge_train_core::ids::TenantId;
use merge_train_core::workflow::Run;

/// Nothing from elsewhere is loaded, nothing that stands in a page is run, and no other page may hold one of these.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub fn router() -> Router<Arc<App>> {
    let mut router = Router::new();
    for path in PageAddress::PATHS {
        router = router.route(path, get(show));
    }
    router
        .route("/live", get(live::watch))
        .route("/orders", post(actions::submit))
        .route("/sign-in", get(sign_in::show).post(sign_in::enter))
        .route("/sign-out", post(sign_in::leave))
        .route("/assets/{name}", get(assets::show))
}

/// The path of the page that tells most of a run.
pub fn page_of(run: &Run) -> String {
    run::address(run).to_string()
}

/// What every page is sent with.
pub fn guard(mut response: Response) -> Response {
    let is_page =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if is_page {
        for (name, value) in [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "same-origin"),
            (header::CACHE_CONTROL, "no-store"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

/// Somebody who looks at a page.
pub struct DashboardVisitor<'a> {
    pub session: DashboardSession<'a>,
    pub now: Timestamp,
}

impl<'a> DashboardVisitor<'a> {
    /// Whoever has signed in; else, where visitors are welcome, one of them, to whom a cookie is to be given.
    fn of(app: &'a App, headers: &HeaderMap) -> Option<(Self, bool)> {
        let now = clock::now();
        if let Some(session) = DashboardSession::of(&app.api_keys, headers) {
            return Some((Self { session, now }, false));
        }
        let nobody = app.api_keys.iter().find(|key| Some(&key.name) == app.anonymous.as_ref())?;
        Some((Self { session: DashboardSession::open(nobody), now }, true))
    }

    /// Whose data they may see; none for everybody's.
    fn tenant(&self) -> Option<&TenantId> {
        match &self.session.key.tenant {
            Tenants::All => None,
            Tenants::One(tenant) => Some(tenant),
        }
    }

    /// Whether they may change something.
    fn may_operate(&self) -> bool {
        self.session.key.role >= Role::Operator
    }
}

/// What stands on a page.
pub struct DashboardPage {
    title: String,
    body: Markup,
}

impl DashboardPage {
    fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body }
    }
}

async fn show(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let Some((visitor, is_new)) = DashboardVisitor::of(&app, &headers) else {
        let to = uri.path_and_query().map_or("/", |to| to.as_str());
        return Redirect::to(&sign_in::address(to)).into_response();
    };
    let mut response = match page(&app, &visitor, &uri).await {
        Ok((address, page)) => layout::page(&app, &visitor, Some(&address), &page).into_response(),
        Err(problem) => refusal(&app, &visitor, &problem),
    };
    if is_new {
        response.headers_mut().append(header::SET_COOKIE, visitor.session.cookie(is_secure(&app)));
    }
    guard(response)
}

async fn page(app: &App, visitor: &DashboardVisitor<'_>, uri: &Uri) -> Result<(PageAddress, DashboardPage), Problem> {
    let address = PageAddress::read(uri.path(), uri.query().unwrap_or_default())
        .ok_or_else(|| Problem::not_found("Page not found."))?;
    let page = render(app, visitor, &address).await?;
    Ok((address, page))
}

/// What is to be seen there now.
async fn render(app: &App, visitor: &DashboardVisitor<'_>, address: &PageAddress) -> Result<DashboardPage, Problem> {
    match address {
        PageAddress::Board { repo } => board::render(app, visitor, repo.as_ref()).await,
        PageAddress::Train { repo, root } => train::render(app, visitor, repo, *root).await,
        PageAddress::Runs(which) => runs::render(app, visitor, which).await,
        PageAddress::Run { id } => Box::pin(run::render(app, visitor, id)).await,
        PageAddress::Workspace { repo, pr } => workspace::render(app, visitor, repo, *pr).await,
        PageAddress::Insights => insights::render(app, visitor).await,
        PageAddress::System => system::render(app, visitor).await,
    }
}

/// A page that says why there is none.
fn refusal(app: &App, visitor: &DashboardVisitor<'_>, problem: &Problem) -> Response {
    let title = problem.status().canonical_reason().unwrap_or("Error");
    let body = html! {
        h1 { (title) }
        p { (problem.detail()) }
        p { a href="/" { "Back to the board" } }
    };
    (problem.status(), layout::page(app, visitor, None, &DashboardPage::new(title, body))).into_response()
}

/// What is told of an address where there is nothing: people get a page.
pub async fn nothing_there(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_for_people = accepts.contains("text/html") && !uri.path().starts_with("/api/");
    match DashboardVisitor::of(&app, &headers).filter(|_| is_for_people) {
        Some((visitor, _)) => guard(refusal(&app, &visitor, &Problem::not_found("Page not found."))),
        None => Problem::not_found("there is nothing at this address").into_response(),
    }
}

/// Whether the world reaches this server over HTTPS.
fn is_secure(app: &App) -> bool {
    app.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
}

/// See other: what was sent is done, and there is something to look at.
fn go_to(address: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response()
}
