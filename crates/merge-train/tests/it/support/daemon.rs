//! The daemon, as a process of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{Database, PATIENCE, http};

pub const SECRET: &str = "a secret for tests";
pub const KEY: &str = "a key for tests";

/// How a daemon is to be started, as often as one likes.
#[derive(Clone)]
pub struct Setup {
    dir: PathBuf,
    database: Database,
    github: String,
    signing: String,
    secrets: Vec<String>,
    more: String,
    has_keys: bool,
    /// What the process is started through, such as a shell that sets limits.
    through: Vec<String>,
}

impl Setup {
    /// State in `dir`, and a GitHub that is not there.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            database: Database::Sqlite,
            github: "[github]\napi_url = \"http://127.0.0.1:9/api/v3\"\ngraphql_url = \"http://127.0.0.1:9/graphql\"\ntoken = \"x\"\n"
                .to_owned(),
            signing: "signing = \"off\"".to_owned(),
            secrets: vec![SECRET.to_owned()],
            more: String::new(),
            has_keys: true,
            through: Vec::new(),
        }
    }

    pub fn database(mut self, database: Database) -> Self {
        self.database = database;
        self
    }

    /// The `[github]` section.
    pub fn github(mut self, section: String) -> Self {
        self.github = section;
        self
    }

    /// What `[git]` says of signing.
    pub fn signing(mut self, settings: &str) -> Self {
        self.signing = settings.to_owned();
        self
    }

    pub fn secrets(mut self, secrets: &[&str]) -> Self {
        self.secrets = secrets.iter().map(|&secret| secret.to_owned()).collect();
        self
    }

    /// Sections besides.
    pub fn more(mut self, sections: &str) -> Self {
        self.more.push_str(sections);
        self
    }

    /// Nobody may use the API.
    pub fn without_keys(mut self) -> Self {
        self.has_keys = false;
        self
    }

    pub fn through(mut self, program: &[&str]) -> Self {
        self.through = program.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Where everything of it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn state_dir(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// Where clones are made.
    pub fn clones(&self) -> PathBuf {
        self.dir.join("repos")
    }

    pub fn config(&self) -> PathBuf {
        self.dir.join("merge-train.toml")
    }

    fn write_config(&self) {
        let keys = [("all", "*", "operator"), ("viewer", "*", "viewer"), ("stranger", "stranger", "admin")];
        let keys: String = keys
            .iter()
            .filter(|_| self.has_keys)
            .map(|(name, tenant, role)| {
                let digest = if *name == "all" { hex(KEY) } else { hex(&format!("{KEY} {name}")) };
                format!(
                    "[[api_keys]]\nname = \"{name}\"\ntenant = \"{tenant}\"\nrole = \"{role}\"\nsha256 = \"{digest}\"\n"
                )
            })
            .collect();
        let state = match &self.database {
            Database::Sqlite => "state_dir = \"state\"".to_owned(),
            Database::Postgres(url) => format!("database_url = \"{url}\""),
        };
        let text = format!(
            "{}\n[git]\nclone_base_dir = \"repos\"\n{}\n[state]\n{state}\n[server]\nbind_address = \"127.0.0.1:0\"\nwebhook_secret = {:?}\n{}\n{keys}",
            self.github, self.signing, self.secrets, self.more
        );
        std::fs::write(self.config(), text).expect("the configuration is written");
        std::fs::set_permissions(self.config(), std::fs::Permissions::from_mode(0o600)).expect("a mode");
    }

    /// The program with other words than `serve`, on the same configuration.
    pub fn command(&self, words: &[&str]) -> Command {
        self.write_config();
        let mut line = self.through.clone();
        line.push(env!("CARGO_BIN_EXE_merge-train").to_owned());
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).args(words).arg("--config").arg(self.config());
        command.stdin(Stdio::null()).kill_on_drop(true).env_remove("RUST_LOG").current_dir(&self.dir);
        command
    }

    pub async fn start(&self) -> Daemon {
        let mut command = self.command(&["serve"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let errors = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let kept = errors.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let mut kept = kept.lock().expect("not poisoned");
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("it starts in time").expect("text");
        let Some(first) = first else { panic!("it ended at once: {}", errors.lock().expect("not poisoned")) };
        let url = first.split_whitespace().last().expect("an address").to_owned();
        Daemon { child, url, http: http(), errors }
    }
}

pub fn hex(text: &str) -> String {
    hex::encode(digest(&SHA256, text.as_bytes()))
}

pub struct Daemon {
    child: Child,
    pub url: String,
    pub http: reqwest::Client,
    errors: Arc<Mutex<String>>,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// No warning, no chance to tidy up.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    /// Asks it to stop, and waits until it has.
    pub async fn stop(mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).expect("a pid")).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends in time").expect("a status")
    }

    /// All that it logged so far.
    pub fn log(&self) -> String {
        self.errors.lock().expect("not poisoned").clone()
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.get_with(path, KEY).await
    }

    pub async fn get_with(&self, path: &str, key: &str) -> (u16, Value) {
        let response = self.http.get(format!("{}{path}", self.url)).bearer_auth(key).send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// What is known of a repository.
    pub async fn state(&self, repo: &str) -> Value {
        let (status, state) = self.get(&format!("/api/v1/repos/{repo}/state?events=1000")).await;
        if status == 200 { state } else { Value::Null }
    }
}
