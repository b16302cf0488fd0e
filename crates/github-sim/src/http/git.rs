//! git over HTTP: permissions and push rules here, everything else by git's own back end.

use std::fmt::Write as _;
use std::io::Write as _;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;
use tokio_util::io::ReaderStream;

use super::access::{Level, Scope, may, readable_repo};
use super::caller::{Caller, authenticate};
use super::pipeline::{afterwards, instead, strike_git};
use super::{ApiError, Path};
use crate::git::{SmartHttpRequest, parse_receive_commands};
use crate::world::{Id, Repo};
use crate::{Sim, policy, push};

/// A push may be far larger than an API call.
const PUSH_LIMIT_BYTES: u64 = 2 * 1024 * 1024 * 1024;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/{owner}/{repo}/info/refs", get(git))
        .route("/{owner}/{repo}/git-upload-pack", post(git))
        .route("/{owner}/{repo}/git-receive-pack", post(git))
}

async fn git(State(sim): State<Sim>, Path((owner, name)): Path<(String, String)>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    sim.calls().count(&method, &git_template(&path), &path);
    let fault = strike_git(&sim, &method, &path);
    if let Some(answer) = instead(&sim, fault.as_ref()).await {
        return answer;
    }
    let response = match serve(&sim, &owner, &name, request).await {
        Ok(response) => response,
        Err(error) => plain(&error),
    };
    if fault.is_none() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    afterwards(Response::from_parts(parts, Body::from(bytes.clone())), bytes, fault.as_ref()).await
}

fn git_template(path: &str) -> String {
    let service = path.rsplit('/').next().unwrap_or_default();
    if service == "refs" {
        "/{owner}/{repo}.git/info/refs".into()
    } else {
        format!("/{{owner}}/{{repo}}.git/{service}")
    }
}

async fn serve(sim: &Sim, owner: &str, name: &str, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let (service_path, query) = (service_path(&parts), parts.uri.query().unwrap_or_default());
    let is_push = service_path == "git-receive-pack" || query.contains("service=git-receive-pack");
    let caller = sim.read(|world| authenticate(world, &parts.headers))?;
    let (repo, actor) = sim.read(|world| {
        let found = readable_repo(world, &caller, owner, name);
        // git asks again with credentials only when told to.
        let repo = match found {
            Err(_) if matches!(caller, Caller::Anonymous) => return Err(ApiError::requires_authentication()),
            found => found?.clone(),
        };
        if is_push {
            if matches!(caller, Caller::Anonymous) {
                return Err(ApiError::requires_authentication());
            }
            may(world, &caller, &repo, Scope::Contents, Level::Write)?;
        } else {
            may(world, &caller, &repo, Scope::Contents, Level::Read)?;
        }
        Ok((repo, caller.actor().ok()))
    })?;
    let spooled = spool(body).await?;
    match actor {
        Some(actor) if service_path == "git-receive-pack" => {
            let work = {
                let (sim, repo) = (sim.clone(), repo.clone());
                async move { receive(&sim, &repo, &caller, actor, smart_request(&parts, &spooled)).await }
            };
            // What git has taken has to be taken in, whether or not the one who pushed still listens.
            sim.finish(work).await
        }
        _ => {
            let answer = sim.git(repo.id).smart_http(smart_request(&parts, &spooled)).await?;
            let (status, headers) = (answer.status, answer.headers);
            // The process travels with the stream: it ends when the client has read everything or has gone.
            let child = answer.child;
            let stream = ReaderStream::new(answer.body).map(move |chunk| {
                let _ = &child;
                chunk
            });
            Ok(respond(status, &headers, Body::from_stream(stream)))
        }
    }
}

/// `info/refs`, `git-upload-pack` or `git-receive-pack`.
fn service_path(parts: &Parts) -> &str {
    match parts.uri.path() {
        path if path.ends_with("/info/refs") => "info/refs",
        path => path.rsplit('/').next().unwrap_or_default(),
    }
}

fn smart_request<'a>(parts: &'a Parts, spooled: &'a tempfile::NamedTempFile) -> SmartHttpRequest<'a> {
    let header = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    SmartHttpRequest {
        method: parts.method.as_str(),
        service_path: service_path(parts),
        query: parts.uri.query().unwrap_or_default(),
        content_type: header(CONTENT_TYPE),
        content_encoding: header(CONTENT_ENCODING),
        protocol: header(HeaderName::from_static("git-protocol")),
        user: "sim",
        body: (parts.method == Method::POST).then(|| spooled.path()),
        push_rules: None,
    }
}

/// A push: the rules are decided before git looks at it, what it changed is taken in after.
async fn receive(
    sim: &Sim,
    repo: &Repo,
    caller: &Caller,
    actor: Id,
    mut http: SmartHttpRequest<'_>,
) -> Result<Response, ApiError> {
    let guard = sim.lock(repo.id).await;
    let head = match http.body {
        Some(path) => read_commands(path, http.content_encoding).await?,
        None => Vec::new(),
    };
    let commands = parse_receive_commands(&head);
    let rules = sim.read(|world| {
        let mut lines = String::new();
        for rule in policy::push_rules(world, repo, caller, &commands) {
            let _ = writeln!(
                lines,
                "{} {} {}",
                rule.when.as_str(),
                rule.ref_name,
                rule.message.replace('\\', "\\\\").replace('\n', "\\n")
            );
        }
        lines
    });
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(rules.as_bytes())?;
    http.push_rules = Some(file.path());
    let (status, headers, body) = sim.git(repo.id).smart_http(http).await?.finish().await?;
    push::take_in(sim, &guard, actor).await?;
    Ok(respond(status, &headers, Body::from(body)))
}

/// The first kilobytes of the body, unpacked if need be: the commands stand there.
async fn read_commands(path: &std::path::Path, encoding: &str) -> Result<Vec<u8>, ApiError> {
    const ENOUGH: u64 = 1 << 20;
    use tokio::io::AsyncReadExt;
    let mut head = Vec::new();
    if encoding == "gzip" {
        // git compresses only small bodies, so the whole of it is at hand; gzip itself unpacks it.
        let output = tokio::process::Command::new("gzip").arg("-dc").stdin(std::fs::File::open(path)?).output().await?;
        return Ok(output.stdout);
    }
    tokio::fs::File::open(path).await?.take(ENOUGH).read_to_end(&mut head).await?;
    Ok(head)
}

async fn spool(body: Body) -> Result<tempfile::NamedTempFile, ApiError> {
    let mut file = tempfile::NamedTempFile::new()?;
    let mut stream = body.into_data_stream();
    let mut length = 0_u64;
    while let Some(chunk) = stream.next().await {
        let chunk: Bytes = chunk.map_err(|_| ApiError::bad_request("the request ended early"))?;
        length += chunk.len() as u64;
        if length > PUSH_LIMIT_BYTES {
            return Err(ApiError::too_large());
        }
        file.write_all(&chunk)?;
    }
    file.flush()?;
    Ok(file)
}

fn respond(status: u16, headers: &[(String, String)], body: Body) -> Response {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_str()), HeaderValue::from_str(value)) {
            map.insert(name, value);
        }
    }
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = map;
    response
}

/// git shows plain text to people, and asks for a password at a 401.
fn plain(error: &ApiError) -> Response {
    let message = match error.status {
        StatusCode::NOT_FOUND => "Repository not found.".to_owned(),
        StatusCode::FORBIDDEN => format!("Permission denied: {}", error.message),
        _ => error.message.clone(),
    };
    let mut response = (error.status, message).into_response();
    if error.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"GitHub\""));
    }
    response
}
