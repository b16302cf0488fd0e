//! The daemon's end of a guard.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::Once;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::guard_protocol::{Excess, Order, Refusal, Report};
use super::{guard, session};

/// How long what was killed may take to be gone. It is a matter of milliseconds, but for a process that waits for a disk.
const PATIENCE: Duration = Duration::from_secs(30);
/// Any word asks for the end.
const END: &[u8] = b"end\n";

/// How a command ended, as its guard tells it.
pub enum Ended {
    Refused(Refusal),
    Exited(i32),
    Killed(i32),
    Over(Excess),
    /// The guard was ended by something else.
    Lost,
}

/// What a process prints to: standard output and standard error.
pub type Outputs = (OwnedFd, OwnedFd);

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
    pub fn start(
        program: &Path,
        folder: &Path,
        environment: Vec<(OsString, OsString)>,
        (stdout, stderr): Outputs,
    ) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (reports, orders) = UnixStream::from_std(ours)?.into_split();
        let guard = Command::new(program)
            .arg0("merge-train")
            .arg(guard::SUBCOMMAND)
            .env_clear()
            .envs(environment)
            .current_dir(folder)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(stdout))
            .stderr(Stdio::from(stderr))
            .spawn()?;
        Ok(Self { guard, orders, reports: BufReader::new(reports).lines(), progress: Progress::Ordering })
    }

    /// Has the command started, and waits for its end. What it left may still run. Called off, it can be asked to end.
    pub async fn ended(&mut self, order: Order, input: &[u8]) -> Ended {
        if order.send(input, &mut self.orders).await.is_err() {
            return Ended::Lost;
        }
        self.progress = Progress::Ordered;
        loop {
            let line = self.reports.next_line().await.ok().flatten();
            return match line.as_deref().and_then(Report::parse) {
                Some(Report::Unsealed(why)) => {
                    warn_of_unsealed(&why);
                    continue;
                }
                Some(Report::Unfiltered(why)) => {
                    warn_of_unfiltered(&why);
                    continue;
                }
                Some(Report::Refused(refusal)) => Ended::Refused(refusal),
                Some(Report::Exited(code)) => Ended::Exited(code),
                Some(Report::Killed(signal)) => Ended::Killed(signal),
                Some(Report::Over(excess)) => Ended::Over(excess),
                None => Ended::Lost,
            };
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

/// Once: it is a matter of the machine, and the log of each command says it as well.
fn warn_of_unsealed(why: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            why,
            "fixers are not sealed off: they can read and change whatever the user of the daemon can, its database, \
             clones and keys as well; use a kernel with Landlock (Linux 5.19 or newer), or let the daemon have no fixers"
        );
    });
}

/// The same of calls that should be refused.
fn warn_of_unfiltered(why: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            why,
            "fixers can connect to whatever of the daemon's user listens on a UNIX socket: an agent with keys, a container runtime; \
             let none of these run as that user, or use a kernel with seccomp on x86-64, arm64 or riscv64"
        );
    });
}
