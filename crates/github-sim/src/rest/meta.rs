//! About the API itself.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use crate::http::{self, ApiResult, Caller};
use crate::{Sim, pages, zen};

/// The newest GitHub Enterprise Server whose API this is; clients for one ask which they talk to.
const INSTALLED_VERSION: &str = "3.17.0";
const API_VERSION: &str = "2022-11-28";

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/", get(root))
        .route("/meta", get(meta))
        .route("/rate_limit", get(rate_limit))
        .route("/versions", get(versions))
        .route("/zen", get(say_zen))
}

/// The API's index, or for a browser the simulator's own.
async fn root(State(sim): State<Sim>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("text/html") {
        return pages::index(&sim).into_response();
    }
    let links = [
        ("current_user_url", "/user"),
        ("authorizations_url", "/authorizations"),
        ("code_search_url", "/search/code?q={query}{&page,per_page,sort,order}"),
        ("commit_search_url", "/search/commits?q={query}{&page,per_page,sort,order}"),
        ("emails_url", "/user/emails"),
        ("emojis_url", "/emojis"),
        ("events_url", "/events"),
        ("feeds_url", "/feeds"),
        ("followers_url", "/user/followers"),
        ("following_url", "/user/following{/target}"),
        ("gists_url", "/gists{/gist_id}"),
        ("issue_search_url", "/search/issues?q={query}{&page,per_page,sort,order}"),
        ("issues_url", "/issues"),
        ("keys_url", "/user/keys"),
        ("label_search_url", "/search/labels?q={query}&repository_id={repository_id}{&page,per_page}"),
        ("notifications_url", "/notifications"),
        ("organization_url", "/orgs/{org}"),
        ("organization_repositories_url", "/orgs/{org}/repos{?type,page,per_page,sort}"),
        ("organization_teams_url", "/orgs/{org}/teams"),
        ("public_gists_url", "/gists/public"),
        ("rate_limit_url", "/rate_limit"),
        ("repository_url", "/repos/{owner}/{repo}"),
        ("repository_search_url", "/search/repositories?q={query}{&page,per_page,sort,order}"),
        ("current_user_repositories_url", "/user/repos{?type,page,per_page,sort}"),
        ("starred_url", "/user/starred{/owner}{/repo}"),
        ("starred_gists_url", "/gists/starred"),
        ("user_url", "/users/{user}"),
        ("user_organizations_url", "/user/orgs"),
        ("user_repositories_url", "/users/{user}/repos{?type,page,per_page,sort}"),
        ("user_search_url", "/search/users?q={query}{&page,per_page,sort,order}"),
    ];
    let mut index: Value = links.iter().map(|(name, path)| ((*name).to_owned(), json!(sim.urls().api(path)))).collect();
    index["current_user_authorizations_html_url"] =
        sim.urls().web("/settings/connections/applications{/client_id}").into();
    http::json(200, &index)
}

async fn meta() -> ApiResult {
    let everywhere = json!(["127.0.0.0/8", "::1/128"]);
    Ok(http::json(
        200,
        &json!({
            "verifiable_password_authentication": false,
            "hooks": everywhere,
            "web": everywhere,
            "api": everywhere,
            "git": everywhere,
            "installed_version": INSTALLED_VERSION,
        }),
    ))
}

/// Asking costs nothing.
async fn rate_limit(State(sim): State<Sim>, caller: Caller) -> ApiResult {
    let (settings, now) = sim.read(|world| (world.settings().clone(), world.now));
    let budget = |resource: &'static str| {
        let budget = sim.rate_limits().look(&caller.rate_key(), resource, &settings, now);
        json!({
            "limit": budget.limit,
            "used": budget.used.min(budget.limit),
            "remaining": budget.remaining(),
            "reset": budget.resets_at,
        })
    };
    let core = budget("core");
    let body = json!({
        "resources": {
            "core": core,
            "search": budget("search"),
            "graphql": budget("graphql"),
            "integration_manifest": budget("integration_manifest"),
        },
        "rate": core,
    });
    Ok(http::json(200, &body))
}

async fn versions() -> ApiResult {
    Ok(http::json(200, &json!([API_VERSION])))
}

async fn say_zen(State(sim): State<Sim>) -> Response {
    ([(CONTENT_TYPE, "text/plain;charset=utf-8")], zen::line(sim.calls().serial())).into_response()
}
