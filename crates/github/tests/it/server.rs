//! A server with scripted answers that remembers what it was sent.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

/// A request, as it arrived.
#[derive(Debug, Clone)]
pub struct Sent {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: Value,
    /// How many with the same method and path came before.
    pub nth: usize,
}

impl Sent {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The token of `Authorization: Bearer`.
    pub fn bearer(&self) -> &str {
        self.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What the server does about a request.
pub enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Nothing, for ever.
    Hang,
    /// Half of an answer, then the connection breaks.
    Truncated,
}

impl Reply {
    pub fn json(status: u16, body: &Value) -> Self {
        Self::Answer { status, headers: vec![], body: body.to_string() }
    }

    pub fn ok(body: &Value) -> Self {
        Self::json(200, body)
    }

    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, &serde_json::json!({ "message": message }))
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }
}

pub struct Server {
    pub url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub async fn start(script: impl Fn(&Sent) -> Reply + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let sent: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let (script, counts) = (Arc::new(script), Arc::new(Mutex::new(HashMap::new())));
        let remembered = Arc::clone(&sent);
        let serve = move |request: Request| {
            let (script, counts, sent) = (Arc::clone(&script), Arc::clone(&counts), Arc::clone(&remembered));
            async move {
                let request = arrived(request, &counts).await;
                sent.lock().push(request.clone());
                answer(script(&request)).await
            }
        };
        let app = axum::Router::new().fallback(serve);
        let task =
            tokio::spawn(async move { axum::serve(listener, app).await.expect("it serves until it is dropped") });
        Self { url, sent, task }
    }

    /// All requests so far.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().clone()
    }

    /// How many requests there were to this method and path.
    pub fn count(&self, name: &str) -> usize {
        self.sent.lock().iter().filter(|sent| sent.name() == name).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn arrived(request: Request, counts: &Mutex<HashMap<String, usize>>) -> Sent {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("the client sends all it announced");
    let mut sent = Sent {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        nth: 0,
    };
    let mut counts = counts.lock();
    let count = counts.entry(sent.name()).or_default();
    sent.nth = *count;
    *count += 1;
    sent
}

async fn answer(reply: Reply) -> Response<Body> {
    match reply {
        Reply::Answer { status, headers, body } => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("the script has valid headers")
        }
        Reply::Hang => std::future::pending().await,
        Reply::Truncated => {
            let parts = [Ok(Bytes::from_static(b"{\"id\": 1, ")), Err(std::io::Error::other("gone"))];
            let body = Body::from_stream(futures_util::stream::iter(parts));
            Response::builder().header("content-length", "1000").body(body).expect("its headers are valid")
        }
    }
}
