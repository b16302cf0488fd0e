//! A git server over HTTP that wants a token, and that can be told to fail.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::AsyncWriteExt;

/// The token that opens the server's repositories.
pub const TOKEN: &str = "ghs_PlantedTokenThatMustNotBeSeen0123456789";

/// How a request for objects says so.
const FETCH: &[u8] = b"command=fetch";

/// What the server does instead of answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Status(u16),
    /// Does the work and loses the answer.
    LostAnswer,
    /// Takes the request and never answers.
    Silence,
}

/// Serves every repository below a folder under `/{owner}/{name}.git`.
pub struct Server {
    url: String,
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    root: PathBuf,
    /// For requests whose path ends so.
    faults: Mutex<Vec<(&'static str, Fault)>>,
    worked: Mutex<Duration>,
}

impl Server {
    pub fn start(root: &Path) -> Self {
        let shared = Arc::new(Shared { root: root.to_owned(), faults: Mutex::default(), worked: Mutex::default() });
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let router = Router::new().fallback(serve).with_state(state);
                tokio::select! {
                    served = async { axum::serve(listener, router).await } => served.expect("the server runs"),
                    _ = stopped => {}
                }
            });
        });
        Self { url, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// What the addresses of its repositories begin with.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Fails every request whose path ends with `path`, until told otherwise. That of one that asks for objects, and not only
    /// where refs are, ends with `?fetch`.
    pub fn fail(&self, path: &'static str, fault: Fault) {
        self.shared.faults.lock().expect("nobody panicked").push((path, fault));
    }

    /// How long git worked for it, so far.
    pub fn worked(&self) -> Duration {
        *self.shared.worked.lock().expect("nobody panicked")
    }

    pub fn mend(&self) {
        self.shared.faults.lock().expect("nobody panicked").clear();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the whole request");
    let brings_objects = body.windows(FETCH.len()).any(|window| window == FETCH);
    let path = format!("{}{}", parts.uri.path(), if brings_objects { "?fetch" } else { "" });
    let fault = {
        let faults = shared.faults.lock().expect("nobody panicked");
        faults.iter().find(|(end, _)| path.ends_with(end)).map(|(_, fault)| *fault)
    };
    let expected = format!("Basic {}", STANDARD.encode(format!("x-access-token:{TOKEN}")));
    let authorized =
        parts.headers.get(header::AUTHORIZATION).is_some_and(|found| found.as_bytes() == expected.as_bytes());
    if !authorized {
        return Response::builder()
            .status(StatusCode::UNAUTHORIZED)
            .header(header::WWW_AUTHENTICATE, "Basic realm=\"git\"")
            .body(Body::empty())
            .expect("an answer");
    }
    match fault {
        Some(Fault::Status(status)) => {
            Response::builder().status(status).body(Body::from("not today")).expect("an answer")
        }
        Some(Fault::Silence) => std::future::pending().await,
        Some(Fault::LostAnswer) => {
            let _ = back_end(&shared, &parts, &body).await;
            Response::builder().status(502).body(Body::empty()).expect("an answer")
        }
        None => back_end(&shared, &parts, &body).await,
    }
}

/// Git's own CGI program.
async fn back_end(shared: &Shared, parts: &Parts, body: &[u8]) -> Response<Body> {
    let text =
        |headers: &HeaderMap, name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let start = Instant::now();
    let mut child = tokio::process::Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("HOME", "/nonexistent"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
        .env("GIT_PROJECT_ROOT", &shared.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "somebody")
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or(""))
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("CONTENT_TYPE", text(&parts.headers, "content-type"))
        .env("HTTP_CONTENT_ENCODING", text(&parts.headers, "content-encoding"))
        .env("GIT_PROTOCOL", text(&parts.headers, "git-protocol"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .expect("git starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let feed = async move {
        let _ = stdin.write_all(body).await;
        drop(stdin);
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), feed);
    *shared.worked.lock().expect("nobody panicked") += start.elapsed();
    answer(&output.expect("git ends").stdout)
}

fn answer(output: &[u8]) -> Response<Body> {
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").expect("headers");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let mut response = Response::builder();
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(": ").expect("a header");
        response = match name {
            "Status" => {
                response.status(value.split(' ').next().and_then(|code| code.parse::<u16>().ok()).expect("a status"))
            }
            _ => response.header(name, value),
        };
    }
    response.body(Body::from(output[end + 4..].to_vec())).expect("an answer")
}
