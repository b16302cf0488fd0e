//! The daemon's end of a guard.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::failure::Failure;
use super::order::{Order, Report};
use super::{INHERITED, Task, guard, session};

/// How long what was killed may take to be gone. It is a matter of milliseconds, but for a process that waits for a disk.
const PATIENCE: Duration = Duration::from_secs(30);
/// Any word asks for the end.
const END: &[u8] = b"end\n";

/// How a command ended by itself.
pub enum Ended {
    Exited(i32),
    Killed(i32),
}

/// A guard that runs. Dropped, it loses the daemon, and kills the command at once.
pub struct Guarded {
    guard: Child,
    orders: OwnedWriteHalf,
    reports: Lines<BufReader<OwnedReadHalf>>,
    progress: Progress,
}

#[derive(Clone, Copy)]
enum Progress {
    /// Not all of the order is with the guard.
    Ordering,
    Ordered,
}

impl Guarded {
    pub fn start(program: &Path, task: &Task<'_>) -> Result<(Self, ChildStdout, ChildStderr), Failure> {
        let cannot = |error| Failure::Guard { guard: program.to_owned(), error };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(cannot)?;
        ours.set_nonblocking(true).map_err(cannot)?;
        let (reports, orders) = UnixStream::from_std(ours).map_err(cannot)?.into_split();
        let inherited = INHERITED.iter().filter_map(|key| Some((key, std::env::var_os(key)?)));
        let mut guard = Command::new(program)
            .arg0("merge-train")
            .arg(guard::SUBCOMMAND)
            .env_clear()
            .envs(inherited)
            .envs(task.environment.iter().map(|(key, value)| (key, value)))
            .current_dir(task.folder)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let stdout = guard.stdout.take().expect("it was asked for");
        let stderr = guard.stderr.take().expect("it was asked for");
        let reports = BufReader::new(reports).lines();
        Ok((Self { guard, orders, reports, progress: Progress::Ordering }, stdout, stderr))
    }

    /// Has the command started, and waits for its end. What it left may still run. Called off, it can be asked to end.
    pub async fn ended(&mut self, task: &Task<'_>) -> Result<Ended, Failure> {
        let input = serde_json::to_vec(task.input).expect("a JSON value is JSON");
        let order = Order {
            command: task.program.command.clone(),
            file_bytes: task.limits.disk_bytes,
            grace_ms: u64::try_from(task.limits.grace.as_millis()).unwrap_or(u64::MAX),
            input_bytes: input.len() as u64,
        };
        order.send(&input, &mut self.orders).await.map_err(|_| Failure::lost())?;
        self.progress = Progress::Ordered;
        let line = self.reports.next_line().await.ok().flatten();
        match line.as_deref().and_then(Report::parse) {
            Some(Report::Exited(code)) => Ok(Ended::Exited(code)),
            Some(Report::Killed(signal)) => Ok(Ended::Killed(signal)),
            Some(Report::Refused(refusal)) => Err(Failure::Refused(refusal)),
            None => Err(Failure::lost()),
        }
    }

    /// Asks the command, and all that it started, to end, and has it killed after its grace.
    pub async fn ask_to_end(&mut self) {
        let _ = match self.progress {
            // In the middle of an order a word would be taken for a part of it.
            Progress::Ordering => self.orders.shutdown().await,
            _ => self.orders.write_all(END).await,
        };
    }

    /// Until nothing of the command is left; the guard goes last.
    pub async fn gone(mut self, grace: Duration) {
        // The guard made itself the head of a session, which has its number.
        let session = self.guard.id();
        match tokio::time::timeout(grace.saturating_add(PATIENCE), self.guard.wait()).await {
            Ok(Ok(status)) if status.success() => {}
            Ok(_) => {
                tracing::error!("the guard of a command was killed: what left its session may still run");
                if let Some(session) = session {
                    let _ = tokio::task::spawn_blocking(move || session::end(session)).await;
                }
            }
            Err(_) => tracing::error!("a command was killed, and something of it still runs: it may wait for a disk"),
        }
    }
}
