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

use super::guard_protocol::{ExceededLimit, GuardOrder, GuardReport, StartRefusal};
use super::{guard, session};

/// How long what was killed may take to be gone. It is a matter of milliseconds, but for a process that waits for a disk.
const PATIENCE: Duration = Duration::from_secs(30);
/// Any word asks for the end.
const END: &[u8] = b"end\n";

/// How a command ended, as its guard tells it.
pub enum GuardedExit {
    Refused(StartRefusal),
    Exited(i32),
    Killed(i32),
    Over(ExceededLimit),
    /// The guard was ended by something else.
    Lost,
}

/// What a process prints to: standard output and standard error.
pub type CommandOutputs = (OwnedFd, OwnedFd);

/// A guard that runs. Dropped, it loses the daemon, and kills the command at once.
pub struct GuardProcess {
    guard: Child,
    orders: OwnedWriteHalf,
    reports: Lines<BufReader<OwnedReadHalf>>,
    progress: OrderProgress,
}

#[derive(Clone, Copy)]
enum OrderProgress {
    /// Not all of the order is with the guard.
    Ordering,
    Ordered,
}

impl GuardProcess {
    pub fn start(
        program: &Path,
        folder: &Path,
        environment: Vec<(OsString, OsString)>,
        (stdout, stderr): CommandOutputs,
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
        Ok(Self { guard, orders, reports: BufReader::new(reports).lines(), progress: OrderProgress::Ordering })
    }

    /// Has the command started, and waits for its end. What it left may still run. Called off, it can be asked to end.
    pub async fn ended(&mut self, order: GuardOrder, input: &[u8]) -> GuardedExit {
        if order.send(input, &mut self.orders).await.is_err() {
            return GuardedExit::Lost;
        }
        self.progress = OrderProgress::Ordered;
        loop {
            let line = self.reports.next_line().await.ok().flatten();
            return match line.as_deref().and_then(GuardReport::parse) {
                Some(GuardReport::Unsealed(why)) => {
                    warn_of_unsealed(&why);
                    continue;
                }
                Some(GuardReport::Unfiltered(why)) => {
                    warn_of_unfiltered(&why);
                    continue;
                }
                Some(GuardReport::Refused(refusal)) => GuardedExit::Refused(refusal),
                Some(GuardReport::Exited(code)) => GuardedExit::Exited(code),
                Some(GuardReport::Killed(signal)) => GuardedExit::Killed(signal),
                Some(GuardReport::Over(exceeded)) => GuardedExit::Over(exceeded),
                None => GuardedExit::Lost,
            };
        }
    }

    /// Asks the command, and all that it started, to end, and has it killed after its grace.
    pub async fn ask_to_end(&mut self) {
        let _ = match self.progress {
            // In the middle of an order a word would be taken for a part of it.
            OrderProgress::Ordering => self.orders.shutdown().await,
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
