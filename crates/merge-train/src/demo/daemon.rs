//! The demo's daemon: this program as `serve`, in a process of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, anyhow};
use aws_lc_rs::digest::{SHA256, digest};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::api;
use super::stack::{FIXER, GUARDED};

const START_DEADLINE: Duration = Duration::from_secs(30);
/// It has nothing to finish that anybody would miss.
const STOP_DEADLINE: Duration = Duration::from_secs(5);
/// How much of the log is told when it dies.
const LAST_LINES: usize = 15;
/// All that the daemon gets to see of the environment: settings in it are for another one, and no proxy reaches the simulator.
const ENVIRONMENT: &[&str] = &["HOME", "PATH", "RUST_LOG", "TMPDIR"];

/// A daemon that is the simulator's app.
pub struct Daemon {
    child: Child,
    /// Kept open: a closed one would break its next word.
    _stdout: Lines<BufReader<ChildStdout>>,
    pub config: PathBuf,
    pub log: PathBuf,
    pub access: Access,
}

/// Where it is, and the key to it.
#[derive(Clone)]
pub struct Access {
    pub url: String,
    pub key: String,
    http: reqwest::Client,
}

impl Daemon {
    /// Starts it with everything that it keeps in this folder.
    pub async fn start(folder: &Path, github: &Value) -> anyhow::Result<Self> {
        let key = new_key()?;
        let (config, log) = (folder.join("merge-train.toml"), folder.join("merge-train.log"));
        // In a folder of its own: what is beside the daemon's things is sealed off from fixers.
        let fixer = folder.join("fixer/fix.sh");
        fs::create_dir(folder.join("fixer"))
            .and_then(|()| fs::write(&fixer, FIXER))
            .context("no room for the fixer")?;
        let configured = configuration(github, &key, &fixer);
        fs::write(&config, configured).context("no room for the demo's configuration")?;
        let errors = File::create(&log).context("no room for the daemon's log")?;
        let mut command = Command::new(std::env::current_exe().context("this program's file cannot be found")?);
        command.arg("serve").arg("--config").arg(&config).current_dir(folder).kill_on_drop(true);
        let environment = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.env_clear().envs(environment);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let first = tokio::time::timeout(START_DEADLINE, stdout.next_line()).await;
        let first = first.ok().and_then(Result::ok).flatten();
        let url = first.as_deref().and_then(|line| line.split_whitespace().last());
        let Some(url) = url.map(str::to_owned) else {
            return Err(anyhow!("the daemon did not start; {}", last_words(&log)));
        };
        let access = Access { url, key, http: api::client()? };
        Ok(Self { child, _stdout: stdout, config, log, access })
    }

    /// Waits until it ends, which it should not; what to say of that.
    pub async fn died(&mut self) -> anyhow::Error {
        match self.child.wait().await {
            Ok(status) => anyhow!("the daemon has ended ({status}); {}", last_words(&self.log)),
            Err(error) => anyhow!(error).context("nobody can tell whether the daemon still runs"),
        }
    }

    /// Asks it to stop, and sees to it that it has.
    pub async fn stop(mut self) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let Some(pid) = pid else { return };
        // It may have ended this moment, by the same Ctrl-C.
        let _ = kill_process(pid, Signal::TERM);
        if tokio::time::timeout(STOP_DEADLINE, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

impl Access {
    /// What is at a path of its API.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        api::send(&self.http, "GET", &format!("{}{path}", self.url), &self.key, Value::Null).await
    }

    /// Has its API do something that needs no more words.
    pub async fn post(&self, path: &str) -> anyhow::Result<Value> {
        api::send(&self.http, "POST", &format!("{}{path}", self.url), &self.key, json!({})).await
    }
}

/// What a daemon must know of this GitHub.
fn configuration(github: &Value, key: &str, fixer: &Path) -> String {
    let app = &github["app"];
    format!(
        "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\napp_id = {}\nprivate_key_path = {}\n\n\
         [git]\nclone_base_dir = \"repos\"\nsigning = \"off\"\n\n\
         [state]\nstate_dir = \"state\"\n\n\
         [server]\nbind_address = \"127.0.0.1:0\"\nanonymous = \"operator\"\nwebhook_secret = {}\n\n\
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
        hex(digest(&SHA256, key.as_bytes()).as_ref())
    )
}

fn new_key() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| anyhow!("this machine has no random numbers for a key"))?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    match &lines[lines.len().saturating_sub(LAST_LINES)..] {
        [] => "it said nothing".to_owned(),
        last => format!("its last words:\n{}", last.join("\n")),
    }
}
