//! The program as a process, and browsers that ask it for pages.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::StreamExt as _;
use merge_train_core::inbox::InboxPolicy;
use reqwest::{StatusCode, header};
use store::{Owner, Postgres, Sqlite, Store, postgres, sqlite};
use test_support::postgres::fresh_database_on;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// One key for all tenants, and one for the first.
pub const EVERYBODY: &str = "a key for everybody";
pub const ONE_TENANT: &str = "a key for one tenant";

/// Where the state is.
pub struct Place {
    dir: tempfile::TempDir,
    database_url: Option<String>,
}

impl Place {
    pub fn sqlite() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder"), database_url: None }
    }

    /// A database of its own on that server.
    pub async fn postgres(server: &str) -> Self {
        Self { database_url: Some(fresh_database_on(server).await), ..Self::sqlite() }
    }

    pub fn name(&self) -> &'static str {
        if self.database_url.is_some() { "PostgreSQL" } else { "SQLite" }
    }

    pub fn run_folders(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    pub async fn open(&self) -> store::Result<Arc<dyn Store>> {
        let (policy, owner) = (InboxPolicy::default(), Owner("population".to_owned()));
        Ok(match &self.database_url {
            Some(url) => {
                let options = postgres::Options { url: url.clone(), policy, owner, connections: 16 };
                Arc::new(Postgres::connect(options).await?)
            }
            None => {
                let dir = self.dir.path().join("state");
                Arc::new(Sqlite::open(sqlite::Options { dir, group: 256, policy, max_bytes: None, owner }).await?)
            }
        })
    }

    /// GitHub cannot be reached: trains wait, and nothing but the pages is measured.
    fn configuration(&self) -> PathBuf {
        let hex = |key: &str| hex::encode(digest(&SHA256, key.as_bytes()));
        let state = match &self.database_url {
            Some(url) => format!("database_url = \"{url}\""),
            None => "state_dir = \"state\"".to_owned(),
        };
        let text = format!(
            "[github]\napi_url = \"http://127.0.0.1:9/api/v3\"\ngraphql_url = \"http://127.0.0.1:9/graphql\"\n\
             git_url = \"http://127.0.0.1:9\"\ntoken = \"x\"\n[git]\nsigning = \"off\"\n[state]\n{state}\n\
             [log]\nfilter = \"off\"\n[runs]\nwork_dir = \"runs\"\n\
             [server]\nbind_address = \"127.0.0.1:0\"\nwebhook_secret = \"a secret for measuring\"\n\
             [[api_keys]]\nname = \"everybody\"\ntenant = \"*\"\nrole = \"admin\"\nsha256 = \"{}\"\n\
             [[api_keys]]\nname = \"one\"\ntenant = \"{}\"\nrole = \"operator\"\nsha256 = \"{}\"\n",
            hex(EVERYBODY),
            super::population::TENANT,
            hex(ONE_TENANT),
        );
        let path = self.dir.path().join("merge-train.toml");
        std::fs::write(&path, text).expect("the configuration is written");
        path
    }
}

pub struct Daemon {
    child: Child,
    pub url: String,
    /// From the start of the process until it says that it is ready.
    pub ready_after: Duration,
}

impl Daemon {
    pub async fn start(place: &Place) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
        command.arg("serve").arg("--config").arg(place.configuration()).stdin(Stdio::null()).kill_on_drop(true);
        let began = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the daemon starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = lines.next_line().await.expect("text").expect("it listens");
        let url = first.rsplit(' ').next().expect("an address").to_owned();
        let http = client();
        loop {
            let answer = http.get(format!("{url}/readyz")).send().await.expect("an answer");
            if answer.status() == StatusCode::OK {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it does not become ready");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Self { child, url, ready_after: began.elapsed() }
    }

    /// What it has in memory, in MiB; none where the system does not tell.
    pub fn resident_mib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(Path::new("/proc").join(self.child.id()?.to_string()).join("status"));
        let status = status.ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib >> 10)
    }

    pub async fn stop(mut self) {
        self.child.kill().await.expect("killed");
    }
}

fn client() -> reqwest::Client {
    let policy = reqwest::redirect::Policy::none();
    reqwest::Client::builder().no_proxy().redirect(policy).build().expect("a client")
}

/// Somebody who has signed in.
#[derive(Clone)]
pub struct Browser {
    http: reqwest::Client,
    url: String,
    cookie: String,
}

impl Browser {
    pub async fn sign_in(daemon: &Daemon, key: &str) -> Self {
        let (http, url) = (client(), daemon.url.clone());
        let body = format!("key={}&to=%2F", key.replace(' ', "+"));
        let form =
            http.post(format!("{url}/sign-in")).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = form.body(body).send().await.expect("an answer");
        let cookie = answer.headers().get(header::SET_COOKIE).expect("a cookie").to_str().expect("text");
        let cookie = cookie.split(';').next().expect("a cookie").to_owned();
        Self { http, url, cookie }
    }

    /// Asks for a page; how long it took to the last byte, and how many there were.
    pub async fn look(&self, page: &str) -> (Duration, usize) {
        let request = self.http.get(format!("{}{page}", self.url));
        let request = request.header(header::ACCEPT, "text/html").header(header::COOKIE, &self.cookie);
        let began = Instant::now();
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        if page.starts_with("/live") {
            let bytes = first_event(answer).await;
            return (began.elapsed(), bytes);
        }
        let body = answer.bytes().await.expect("a page");
        assert_eq!(status, StatusCode::OK, "{page}: {}", String::from_utf8_lossy(&body));
        (began.elapsed(), body.len())
    }
}

/// How long the first event of a stream is.
async fn first_event(answer: reqwest::Response) -> usize {
    assert_eq!(answer.status(), StatusCode::OK);
    let (mut stream, mut heard) = (answer.bytes_stream(), Vec::new());
    while !heard.ends_with(b"\n\n") {
        heard.extend(stream.next().await.expect("an event").expect("bytes"));
    }
    heard.len()
}
