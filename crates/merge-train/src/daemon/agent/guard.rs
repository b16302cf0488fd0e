//! `merge-train agent-guard`: a process that stands between the daemon and one command, and outlives both.
//!
//! It starts the command, says how it ended, and ends whatever is left of it. It does not trust the daemon to live: the end of
//! the socket on its standard input is the end of the daemon, and of the command.

#[cfg(target_os = "linux")]
mod cover;
#[cfg(target_os = "linux")]
mod privileges;
mod process_tree;
mod seal;
#[cfg(target_os = "linux")]
mod sealed_paths;
mod system_calls;
mod usage_limits;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use merge_train_core::backoff::ExponentialBackoff;
use rustix::process::{Pid, Resource, Rlimit, WaitOptions, WaitStatus, getrlimit, setrlimit, setsid, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::ChildStdin;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use super::guard_protocol::{ExceededLimit, GuardOrder, GuardReport, StartRefusal};
use process_tree::ProcessTree;
use seal::{Sealing, StartedCommand};
use usage_limits::UsageChecks;

/// How this program is told that it is to be a guard.
pub const SUBCOMMAND: &str = "agent-guard";
/// How long to wait for the death of what was killed before it is killed again, at first and at most: what comes to light when
/// its parent dies is found the next time.
const AGAIN: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_millis(5), Duration::from_secs(1));

/// Whether this process is to be a guard. Asked before anything else is set up: every step of a workflow waits for it.
pub fn is_asked_for() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == SUBCOMMAND)
}

/// The whole life of a guard.
pub fn run() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(stand())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: `merge-train {SUBCOMMAND}` is internal: only the daemon starts it: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn stand() -> io::Result<()> {
    super::privacy::close_to_others();
    // Groups do not reach beyond their session: whatever group a process of the command is in, none but its own are in it.
    setsid()?;
    let socket = Socket::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    let (orders, mut reports) = UnixStream::from_std(socket)?.into_split();
    let mut orders = BufReader::new(orders);
    let Some((order, input)) = GuardOrder::receive(&mut orders).await? else { return Ok(()) };
    limit(Resource::Fsize, order.file_bytes)?;
    limit(Resource::Core, 0)?;
    // Before the start, so that no death is missed.
    let signals = Signals::new()?;
    let reach = process_tree::TreeVisibility::claim();
    let (looks, grace) = (UsageChecks::of(&order), Duration::from_millis(order.grace_ms));
    let StartedCommand { mut child, sealing, unfiltered } = match start(order) {
        Ok(started) => started,
        Err(error) => {
            GuardReport::Refused(why(&error)).send(&mut reports).await;
            return Ok(());
        }
    };
    let killer = match sealing {
        Sealing::NotAskedFor => None,
        Sealing::Sealed(killer) => killer,
        Sealing::Unavailable(why) => {
            GuardReport::Unsealed(why).send(&mut reports).await;
            None
        }
    };
    if let Some(why) = unfiltered {
        GuardReport::Unfiltered(why.to_owned()).send(&mut reports).await;
    }
    if let Some(stdin) = child.stdin.take() {
        feed(stdin, input)?;
    }
    let command = Pid::from_raw(child.id().cast_signed()).expect("a process has a number above 0");
    let (tree, reports) = (ProcessTree::new(reach, command, killer), Some(reports));
    Watch { command, tree, grace, phase: Phase::Running, looks, orders, reports, signals }.keep().await;
    Ok(())
}

/// No more than `most` for this process and all that come of it.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

fn start(order: GuardOrder) -> io::Result<StartedCommand> {
    let Some(seal) = order.seal else {
        return Ok(StartedCommand { child: spawn(&order.command)?, sealing: Sealing::NotAskedFor, unfiltered: None });
    };
    let open = |what: &str, why: &str| eprintln!("[merge-train: {what}: {why}]");
    seal::start_sealed(seal, move || spawn(&order.command), open)
}

#[expect(clippy::disallowed_methods, reason = "the one door for commands; the guard reaps what it starts")]
fn spawn(command: &[String]) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    Command::new(program).args(arguments).stdin(Stdio::piped()).process_group(0).spawn()
}

fn why(error: &io::Error) -> StartRefusal {
    match error.kind() {
        io::ErrorKind::NotFound => StartRefusal::NotFound,
        io::ErrorKind::PermissionDenied => StartRefusal::NotExecutable,
        _ => StartRefusal::Other(error.to_string()),
    }
}

/// Writes the input and closes the pipe, beside everything else: the command may read it late, or never.
fn feed(stdin: std::process::ChildStdin, input: Vec<u8>) -> io::Result<()> {
    let mut stdin = ChildStdin::from_std(stdin)?;
    tokio::spawn(async move { stdin.write_all(&input).await });
    Ok(())
}

/// What the guard is told by the kernel.
struct Signals {
    death: Signal,
    /// An end that somebody else wishes: a service manager that stops every process of the daemon.
    end: [Signal; 3],
}

impl Signals {
    fn new() -> io::Result<Self> {
        let end = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
        Ok(Self { death: signal(SignalKind::child())?, end })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    /// Everything was asked to end.
    Asked {
        kill_at: Instant,
    },
    Killing {
        times: u32,
    },
}

/// A command that runs, or what is left of it.
struct Watch {
    command: Pid,
    tree: ProcessTree,
    grace: Duration,
    phase: Phase,
    looks: UsageChecks,
    orders: BufReader<OwnedReadHalf>,
    /// Until the one report of how it went is sent.
    reports: Option<OwnedWriteHalf>,
    signals: Signals,
}

impl Watch {
    /// Until nothing is left.
    async fn keep(mut self) {
        loop {
            if let Some(exceeded) = self.wait().await {
                self.phase = Phase::Killing { times: 0 };
                self.tree.kill();
                self.report(GuardReport::Over(exceeded)).await;
            }
            let (ended, left) = self.reap();
            if let Some(status) = ended {
                // At once: what it left may take its time, but its outcome is known.
                self.report(report(status)).await;
                self.ask();
            }
            if !left {
                return;
            }
            match self.phase {
                Phase::Running => {}
                // What was being started when everything was asked comes to light when its parent dies.
                Phase::Asked { .. } => self.tree.terminate_orphans(),
                Phase::Killing { .. } => self.tree.kill(),
            }
        }
    }

    async fn report(&mut self, report: GuardReport) {
        if let Some(mut reports) = self.reports.take() {
            report.send(&mut reports).await;
        }
    }

    /// Until something may have changed. What is there too much of, if that is it.
    async fn wait(&mut self) -> Option<ExceededLimit> {
        let mut word = [0; 1];
        let phase = self.phase;
        let listens = !matches!(phase, Phase::Killing { .. });
        let [terminate, interrupt, hangup] = &mut self.signals.end;
        tokio::select! {
            _ = self.signals.death.recv() => {}
            said = self.orders.read(&mut word), if listens => match said {
                Ok(1..) => self.ask(),
                _ => self.phase = Phase::Killing { times: 0 },
            },
            _ = terminate.recv() => self.ask(),
            _ = interrupt.recv() => self.ask(),
            _ = hangup.recv() => self.ask(),
            next = over(phase) => self.phase = next,
            exceeded = self.looks.exceeded(), if listens => return Some(exceeded),
        }
        None
    }

    /// Asks everything to end, once.
    fn ask(&mut self) {
        if self.phase == Phase::Running {
            self.tree.terminate();
            self.phase = Phase::Asked { kill_at: Instant::now() + self.grace };
        }
    }

    /// Buries the dead: how the command ended, if it was among them, and whether anything lives.
    fn reap(&self) -> (Option<WaitStatus>, bool) {
        let mut ended = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => ended = Some(status),
                Ok(Some(_)) => {}
                Ok(None) => return (ended, true),
                Err(_) => return (ended, self.tree.has_strays()),
            }
        }
    }
}

/// Waits until the time of a phase is over, for the one that follows.
async fn over(phase: Phase) -> Phase {
    match phase {
        Phase::Running => std::future::pending().await,
        Phase::Asked { kill_at } => {
            tokio::time::sleep_until(kill_at).await;
            Phase::Killing { times: 0 }
        }
        Phase::Killing { times } => {
            tokio::time::sleep(AGAIN.delay(times)).await;
            Phase::Killing { times: times + 1 }
        }
    }
}

fn report(status: WaitStatus) -> GuardReport {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => GuardReport::Exited(code),
        (None, signal) => GuardReport::Killed(signal.unwrap_or_default()),
    }
}
