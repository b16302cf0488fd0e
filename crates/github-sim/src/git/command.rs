//! How git is started: pinned locale, no configuration but the repository's own, no hooks, no prompt, a deadline.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A git command that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(120);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("git could not be started or spoken to")]
    Io(#[from] std::io::Error),
    #[error("`git {command}` ended with {code}: {stderr}")]
    Failed { command: String, code: i32, stderr: String },
    #[error("`git {command}` took longer than {} s", DEADLINE.as_secs())]
    Deadline { command: String },
    #[error("`git {command}` printed unexpected output: {output}")]
    Unexpected { command: &'static str, output: String },
}

/// Who wrote or committed, and when, as git stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
    /// Seconds since the epoch.
    pub seconds: i64,
    /// `+0200`.
    pub offset: String,
}

impl Signature {
    pub fn utc(name: impl Into<String>, email: impl Into<String>, seconds: i64) -> Self {
        Self { name: name.into(), email: email.into(), seconds, offset: "+0000".into() }
    }
}

pub struct GitOutput {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl GitOutput {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

pub struct GitCommand {
    args: Vec<OsString>,
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl GitCommand {
    pub fn in_repository(dir: &Path) -> Self {
        Self::anywhere().env("GIT_DIR", dir)
    }

    /// For what makes a repository of its own.
    pub fn anywhere() -> Self {
        let mut command = base_command();
        command.args(["-c", "core.hooksPath=/dev/null"]);
        Self { args: Vec::new(), command, stdin: None }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs it; any exit code but 0 is an error.
    pub async fn run(self) -> Result<GitOutput, Error> {
        self.run_allowing(&[0]).await
    }

    /// Runs it; any exit code not in `codes` is an error.
    pub async fn run_allowing(self, codes: &[i32]) -> Result<GitOutput, Error> {
        let name = self.args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let output = tokio::time::timeout(DEADLINE, self.execute())
            .await
            .map_err(|_| Error::Deadline { command: name.clone() })??;
        if codes.contains(&output.code) {
            Ok(output)
        } else {
            Err(Error::Failed { command: name, code: output.code, stderr: output.stderr.trim().to_owned() })
        }
    }

    async fn execute(mut self) -> Result<GitOutput, Error> {
        self.command
            .args(&self.args)
            .stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn()?;
        let input = child.stdin.take().zip(self.stdin);
        let feed = async {
            if let Some((mut pipe, bytes)) = input {
                // git may end without reading all of it; its exit code tells more than the broken pipe.
                let _ = pipe.write_all(&bytes).await;
            }
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        let output = output?;
        Ok(GitOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Where git is. Found once: to start a program that has yet to be looked for in a PATH of its own, the whole of this process
/// is copied first, which takes longer than most of what git does.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|program| program.is_file());
    found.unwrap_or_else(|| "git".into())
});

/// The `git` program with an environment that nothing outside the simulator decides.
pub(super) fn base_command() -> Command {
    let mut command = Command::new(&*PROGRAM);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .kill_on_drop(true);
    command
}
