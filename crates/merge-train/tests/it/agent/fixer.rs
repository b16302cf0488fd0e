//! A fixer's folder, the daemon's state beside it, and everything that is needed to run the one and keep it from the other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use merge_train_core::workflow::Program;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::agent::world::{PATIENCE, until};
use merge_train::agent::fixer::{FixerCommand, FixerRunResult, run_fixer_guarded_by};
use merge_train::agent::{ResourceLimits, UnixSockets};

pub struct Fixer {
    /// `state` in it is the daemon's, and `state/fixers/7` in that is the fixer's.
    pub root: TempDir,
    pub command: Vec<String>,
    pub prompt: Vec<u8>,
    pub timeout: Duration,
    pub environment: Vec<(String, String)>,
    pub inherited: Vec<String>,
    pub sealed: Vec<PathBuf>,
    pub unix_sockets: UnixSockets,
    pub limits: ResourceLimits,
    pub stop: CancellationToken,
}

impl Fixer {
    /// One that is a script of `/bin/sh`.
    pub fn with_script(script: &str) -> Self {
        Self::with_command(&["/bin/sh", "-c", script])
    }

    /// One that is a script of Python.
    pub fn with_python(script: &str) -> Self {
        Self::with_command(&["python3", "-c", script])
    }

    pub fn with_command(command: &[&str]) -> Self {
        // Not below /tmp: where rules seal it off, a folder with something sealed in it takes nothing new.
        Self::below(env!("CARGO_TARGET_TMPDIR"), command)
    }

    /// One whose folder, and the daemon's, are in another.
    pub fn below(folder: impl AsRef<Path>, command: &[&str]) -> Self {
        let root = tempfile::tempdir_in(folder).expect("a folder");
        let state = root.path().join("state");
        for folder in ["keys", "fixers/6", "fixers/7/checkout", "fixers/7/home", "fixers/7/tmp"] {
            std::fs::create_dir_all(state.join(folder)).expect("it is made");
        }
        std::fs::write(state.join("keys/github"), "the key").expect("it is written");
        std::fs::write(state.join("fixers/6/log"), "of another").expect("it is written");
        std::fs::write(root.path().join("merge-train.toml"), "token = 'the token'").expect("it is written");
        Self {
            sealed: vec![state, root.path().join("merge-train.toml")],
            root,
            command: command.iter().map(ToString::to_string).collect(),
            prompt: Vec::new(),
            timeout: PATIENCE,
            environment: Vec::new(),
            inherited: Vec::new(),
            unix_sockets: UnixSockets::Refused,
            limits: ResourceLimits { grace: Duration::from_millis(200), ..ResourceLimits::default() },
            stop: CancellationToken::new(),
        }
    }

    pub fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub fn own(&self) -> PathBuf {
        self.state().join("fixers/7")
    }

    pub fn checkout(&self) -> PathBuf {
        self.own().join("checkout")
    }

    fn log(&self) -> PathBuf {
        self.state().join("logs/7.log")
    }

    /// Runs it; whatever it does, that has an end.
    pub async fn watch(&self) -> FixerRunResult {
        let timeout_ms = u64::try_from(self.timeout.as_millis()).expect("not for ever");
        let program = Program { command: self.command.clone(), timeout_ms };
        let (folder, own, log) = (self.checkout(), self.own(), self.log());
        let command = FixerCommand {
            program: &program,
            input: &self.prompt,
            folder: &folder,
            own: &own,
            log: &log,
            environment: &self.environment,
            inherited: &self.inherited,
            sealed: &self.sealed,
            unix_sockets: self.unix_sockets,
            limits: self.limits,
        };
        let guard = Path::new(env!("CARGO_BIN_EXE_merge-train"));
        let watching = run_fixer_guarded_by(guard, command, self.stop.clone());
        tokio::time::timeout(PATIENCE * 2, watching).await.expect("an end")
    }

    /// What the log holds; nothing, if there is none yet.
    pub fn logged(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log()).unwrap_or_default()).into_owned()
    }

    /// The numbers that the fixer wrote to a file of its checkout, once there are so many.
    pub async fn numbers_in(&self, file: &str, count: usize) -> Vec<u32> {
        let path = self.checkout().join(file);
        let read = || {
            let text = std::fs::read_to_string(&path).ok()?;
            let numbers: Vec<u32> = text.strip_suffix('\n')?.lines().filter_map(|line| line.parse().ok()).collect();
            (numbers.len() >= count).then_some(numbers)
        };
        until(file, read).await
    }
}
