//! A folder with a script in it, and everything that is needed to run it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use merge_train_core::workflow::{CommandOutput, Program};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::wait::within;
use tokio_util::sync::CancellationToken;

use merge_train::agent::{ResourceLimits, StepCommand, run_guarded_by};

/// Long enough for a machine under load.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    pub root: TempDir,
    pub command: Vec<String>,
    pub input: Value,
    pub timeout: Duration,
    pub environment: Vec<(String, String)>,
    pub limits: ResourceLimits,
    pub log: PathBuf,
    pub stop: CancellationToken,
}

impl World {
    /// One in which `/bin/sh` runs a script.
    pub fn with_script(script: &str) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("script");
        std::fs::write(&path, script).expect("it is written");
        let command = vec!["/bin/sh".to_owned(), path.to_str().expect("text").to_owned()];
        let log = root.path().join("logs/step.log");
        Self {
            root,
            command,
            input: json!({}),
            timeout: PATIENCE,
            environment: Vec::new(),
            limits: ResourceLimits { grace: Duration::from_millis(200), ..ResourceLimits::default() },
            log,
            stop: CancellationToken::new(),
        }
    }

    /// One with a command that is no script.
    pub fn with_command(command: &[&str]) -> Self {
        let command = command.iter().map(ToString::to_string).collect();
        Self { command, ..Self::with_script("") }
    }

    /// Where the command runs.
    pub fn folder(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Runs the command; whatever it does, that has an end.
    pub async fn run(&self) -> Result<CommandOutput, String> {
        let timeout_ms = u64::try_from(self.timeout.as_millis()).expect("not for ever");
        let program = Program { command: self.command.clone(), timeout_ms };
        let folder = self.folder();
        let task = StepCommand {
            program: &program,
            input: &self.input,
            folder: &folder,
            log: &self.log,
            environment: &self.environment,
            limits: self.limits,
        };
        let guard = Path::new(env!("CARGO_BIN_EXE_merge-train"));
        let running = run_guarded_by(guard, task, self.stop.clone());
        tokio::time::timeout(PATIENCE * 2, running).await.expect("an end")
    }

    pub async fn value(&self) -> Value {
        self.run().await.expect("an answer").value
    }

    pub async fn error(&self) -> String {
        self.run().await.expect_err("an error")
    }

    /// What the log holds.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a log")
    }

    /// The number that the command wrote to a file, once it has.
    pub async fn number_in(&self, file: &str) -> u32 {
        let path = self.folder().join(file);
        until(file, || std::fs::read_to_string(&path).ok()?.strip_suffix('\n')?.parse().ok()).await
    }
}

/// Waits until there is something.
pub async fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, || std::future::ready(found())).await.unwrap_or_else(|never| panic!("{never}"))
}

/// Whether a process runs: one that is dead and not buried does not.
pub fn lives(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name before it may hold anything, a parenthesis as well.
    !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X']))
}
