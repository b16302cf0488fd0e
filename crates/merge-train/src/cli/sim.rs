//! `merge-train sim`: the simulator, which is a program of its own (docs/decisions/0021).

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin};

const PROGRAM: &str = "github-sim";

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Arguments of `github-sim`: `merge-train sim --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Becomes the simulator. Returns only if that fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let program = program()?;
    let error = command(&program).args(&args.arguments).exec();
    Err(error).with_context(|| format!("{} did not start", program.display()))
}

#[expect(clippy::disallowed_methods, reason = "the one door to the simulator")]
fn command(program: &Path) -> std::process::Command {
    std::process::Command::new(program)
}

/// The simulator that was built or installed with this program, else the first on the `PATH`.
fn program() -> anyhow::Result<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file()).ok_or_else(|| {
        anyhow!(
            "{PROGRAM} is neither next to merge-train nor on the PATH: the simulator is a separate program. To install \
             it: cargo install --locked --path crates/github-sim"
        )
    })
}

/// A simulator that runs as a child of this process, and ends with it however it ends.
pub struct Simulator {
    child: Child,
    /// Its end tells the simulator to stop.
    stdin: ChildStdin,
    /// What `sim.json` says.
    pub description: Value,
}

impl Simulator {
    pub async fn start(data: &Path, listen: std::net::SocketAddr) -> anyhow::Result<Self> {
        let mut command = command(&program()?);
        command.arg("--stop-with-stdin").arg("--listen").arg(listen.to_string()).arg("--data").arg(data);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        // Ctrl-C is for whoever started it: the simulator goes last.
        let mut child = command.process_group(0).kill_on_drop(true).spawn().context("it did not start")?;
        let stdin = child.stdin.take().context("its standard input is piped")?;
        let (stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let mut lines = BufReader::new(stdout.context("its standard output is piped")?).lines();
        if lines.next_line().await?.is_none() {
            let mut said = String::new();
            if let Some(stderr) = &mut stderr {
                stderr.read_to_string(&mut said).await?;
            }
            bail!("{}", said.trim().trim_start_matches("error: "));
        }
        // If nobody read on, its next line would block it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        if let Some(mut stderr) = stderr {
            tokio::spawn(async move { tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await });
        }
        let description = std::fs::read(data.join("sim.json")).context("it did not report its address")?;
        let description = serde_json::from_slice(&description).context("its description of itself is not JSON")?;
        Ok(Self { child, stdin, description })
    }

    pub async fn stop(mut self) -> io::Result<()> {
        drop(self.stdin);
        self.child.wait().await.map(drop)
    }
}

/// Resolves at Ctrl-C or SIGTERM.
pub async fn stop_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
