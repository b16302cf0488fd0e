//! The demo's daemon: the one that `serve` runs, in this process.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, anyhow};
use aws_lc_rs::digest::{SHA256, digest};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::api;
use super::stack::{FIXER, GUARDED};
use crate::config::{Config, Environment};
use crate::daemon;
use crate::daemon::agent;
use crate::telemetry;

/// It has nothing to finish that anybody would miss.
const STOP_DEADLINE: Duration = Duration::from_secs(5);
/// How much of the log is told when it dies.
const LAST_LINES: usize = 15;

type Running = Pin<Box<dyn Future<Output = anyhow::Result<()>>>>;

/// A daemon that is the simulator's app.
pub struct DemoDaemon {
    running: Running,
    stopping: CancellationToken,
    pub config: PathBuf,
    pub log: PathBuf,
    pub access: DemoDaemonApi,
}

/// Where it is, and the key to it.
#[derive(Clone)]
pub struct DemoDaemonApi {
    pub url: String,
    pub key: String,
    http: reqwest::Client,
}

impl DemoDaemon {
    /// Starts it with everything that it keeps in this folder.
    pub async fn start(folder: &Path, github: &Value, listen: SocketAddr) -> anyhow::Result<Self> {
        let key = new_key()?;
        let (file, log) = (folder.join("merge-train.toml"), folder.join("merge-train.log"));
        // In a folder of its own: what is beside the daemon's things is sealed off from fixers.
        let fixer = folder.join("fixer/fix.sh");
        fs::create_dir(folder.join("fixer"))
            .and_then(|()| fs::write(&fixer, FIXER))
            .context("no room for the fixer")?;
        fs::write(&file, configuration(github, &key, &fixer, listen))
            .context("no room for the demo's configuration")?;
        // Settings in the environment are for another daemon.
        let config = Config::load(Some(&file), &Environment::default())?;
        telemetry::init_file(&config.log, File::create(&log).context("no room for the daemon's log")?)?;
        agent::privacy::close_to_others();
        let (stopping, (listening, address)) = (CancellationToken::new(), oneshot::channel::<SocketAddr>());
        let stop = stopping.clone().cancelled_owned().map(|()| Ok("the demo"));
        let mut running: Running = Box::pin({
            let file = file.clone();
            let tell = |address| {
                let _ = listening.send(address);
            };
            async move { daemon::run(config, Some(&file), tell, stop).await }
        });
        let address = tokio::select! {
            address = address => address.context("it did not report its address")?,
            ended = &mut running => return Err(death(ended, &log).context("the daemon did not start")),
        };
        let access = DemoDaemonApi { url: format!("http://{address}"), key, http: api::client()? };
        Ok(Self { running, stopping, config: file, log, access })
    }

    /// Waits until it ends, which it should not; what to say of that.
    pub async fn died(&mut self) -> anyhow::Error {
        death(self.running.as_mut().await, &self.log)
    }

    /// Asks it to stop, and waits until it has.
    pub async fn stop(self) {
        self.stopping.cancel();
        let _ = tokio::time::timeout(STOP_DEADLINE, self.running).await;
    }
}

/// How it ended, with its last words.
fn death(ended: anyhow::Result<()>, log: &Path) -> anyhow::Error {
    let how = ended.err().unwrap_or_else(|| anyhow!("unexpectedly"));
    anyhow!("the daemon has ended: {how:#}; {}", last_words(log))
}

impl DemoDaemonApi {
    /// What is at a path of its API.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        api::send(&self.http, "GET", &format!("{}{path}", self.url), &self.key, Value::Null).await
    }

    /// Has its API do something that needs no more words.
    pub async fn post(&self, path: &str) -> anyhow::Result<Value> {
        api::send(&self.http, "POST", &format!("{}{path}", self.url), &self.key, json!({})).await
    }
}

/// What a daemon must know of this GitHub. Its visitors need no key, and its one fixer is the demo's own and asks for nothing.
fn configuration(github: &Value, key: &str, fixer: &Path, listen: SocketAddr) -> String {
    let app = &github["app"];
    format!(
        "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\napp_id = {}\nprivate_key_path = {}\n\n\
         [git]\nclone_base_dir = \"repos\"\nsigning = \"off\"\n\n\
         [state]\nstate_dir = \"state\"\n\n\
         [server]\nbind_address = \"{listen}\"\nanonymous = \"operator_and_fixers\"\nwebhook_secret = {}\n\n\
         [log]\nformat = \"text\"\n\n\
         [runs]\nwork_dir = \"runs\"\n\n\
         [ratchet]\nenabled = true\nheartbeat_secs = 5\ngrace_mins = 0.1\napprove_pushes = [\"{GUARDED}\"]\n\n\
         [ratchet.fixer]\ncommand = [\"sh\", {}]\n\n\
         [[api_keys]]\nname = \"demo\"\ntenant = \"*\"\nrole = \"operator\"\nsha256 = \"{}\"\n",
        github["api_url"],
        github["graphql_url"],
        github["git_url"],
        app["id"],
        app["private_key_path"],
        app["webhook_secret"],
        json!(fixer),
        hex::encode(digest(&SHA256, key.as_bytes()))
    )
}

fn new_key() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| anyhow!("this machine has no random numbers for a key"))?;
    Ok(hex::encode(bytes))
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    match &lines[lines.len().saturating_sub(LAST_LINES)..] {
        [] => "it said nothing".to_owned(),
        last => format!("the end of its log:\n{}", last.join("\n")),
    }
}
