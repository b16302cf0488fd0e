//! `merge-train session`: a program that somebody works with on a pull request, while the ratchet keeps out of the way.

mod activity;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior};

use crate::cli::plan::target::PullRequestArgument;
use crate::cli::remote::{DaemonAccess, DaemonClient, Error};
use crate::telemetry;
use activity::{ActivityMonitor, ProgramState};

/// How often a session gives signs of life that could not be opened yet.
const UNKNOWN_HEARTBEAT: Duration = Duration::from_secs(30);
/// How often at most is looked at what the program does.
const SHORTEST_LOOK: Duration = Duration::from_millis(200);
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// Whoever wants to go home does not wait longer for the daemon.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub struct Args {
    /// The pull request you work on.
    #[arg(value_name = "OWNER/REPO#N")]
    target: PullRequestArgument,
    /// After this many minutes without CPU use by the program and its children, the session is idle, and fixers may start.
    #[arg(long, value_name = "MINS", default_value_t = 10.0, value_parser = minutes)]
    idle_after: f64,
    /// The session's name (default: a generated one).
    #[arg(long, value_name = "ID", value_parser = name)]
    id: Option<String>,
    /// Run the program even if the daemon is unreachable or refuses; the session is opened once possible.
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    access: DaemonAccess,
    /// The program and its arguments, after `--`.
    #[arg(value_name = "CMD", last = true, required = true)]
    command: Vec<OsString>,
}

fn minutes(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|minutes: &f64| minutes.is_finite() && (0.01..=1440.0).contains(minutes));
    read.ok_or_else(|| "write a number of minutes, 0.01–1440".to_owned())
}

fn name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = (1..=128).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with('.');
    is_name.then(|| text.to_owned()).ok_or_else(|| "write letters, digits, dashes, dots and underscores".to_owned())
}

/// Exits as the program does.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let id = args.id.unwrap_or_else(|| format!("cli-{:032x}", fastrand::u128(..)));
    let daemon = args.access.daemon()?;
    let mut session = Session { daemon, target: args.target, id, heartbeat: UNKNOWN_HEARTBEAT, is_open: false };
    match session.open(ProgramState::Working).await {
        Ok(()) => {}
        Err(error) if args.anyway => eprintln!("warning: could not open a session: {error}"),
        Err(error) => {
            let PullRequestArgument { repo, pull } = &session.target;
            let told = format!(
                "could not open a session of {repo}#{pull}, so nothing was run; --anyway runs the program anyway"
            );
            return Err(anyhow::Error::new(error).context(told));
        }
    }
    let mut child = match session.start(&args.command) {
        Ok(child) => child,
        Err(error) => {
            let (code, why) = match error.kind() {
                io::ErrorKind::NotFound => (127, "there is no such program".to_owned()),
                _ => (126, error.to_string()),
            };
            session.end(Some(code)).await;
            eprintln!("error: {} cannot be run: {why}", args.command[0].to_string_lossy());
            return Ok(ExitCode::from(u8::try_from(code)?));
        }
    };
    let idle_after = Duration::from_secs_f64(args.idle_after * 60.0);
    let status = session.attend(&mut child, idle_after).await?;
    let code = exit_code(status);
    session.end(Some(code)).await;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// As a shell says it.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// What the daemon says of a session that it opened.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    heartbeat_secs: u64,
}

struct Session {
    daemon: DaemonClient,
    target: PullRequestArgument,
    id: String,
    heartbeat: Duration,
    is_open: bool,
}

impl Session {
    async fn open(&mut self, program_state: ProgramState) -> Result<(), Error> {
        let body = json!({ "id": self.id, "idle": program_state == ProgramState::Nothing });
        let opened = self.daemon.post::<Opened>(&self.path(""), &request_id(), &body).await?.body;
        self.heartbeat = Duration::from_secs(opened.heartbeat_secs.max(1));
        self.is_open = true;
        Ok(())
    }

    /// A sign of life. A session that the daemon does not know any more is opened again.
    async fn give_sign(&mut self, program_state: ProgramState) -> Result<(), Error> {
        if !self.is_open {
            return self.open(program_state).await;
        }
        let state = if program_state == ProgramState::Nothing { "idle" } else { "working" };
        let path = self.path(&format!("/{}/heartbeat", self.id));
        match self.daemon.post::<Value>(&path, &request_id(), &json!({ "state": state })).await {
            Err(error) if error.is_no_such_session() => {
                self.is_open = false;
                self.open(program_state).await
            }
            heard => heard.map(drop),
        }
    }

    async fn end(&self, exit_code: Option<i32>) {
        if !self.is_open {
            return;
        }
        let (path, id, body) =
            (self.path(&format!("/{}/end", self.id)), request_id(), json!({ "exitCode": exit_code }));
        let ended = tokio::time::timeout(PATIENCE_AT_THE_END, self.daemon.post::<Value>(&path, &id, &body)).await;
        let heard = ended.is_ok_and(|ended| match ended {
            Ok(_) => true,
            Err(error) => error.is_no_such_session(),
        });
        if !heard {
            eprintln!("warning: could not tell the daemon that the session is over; the session times out by itself");
        }
    }

    fn path(&self, rest: &str) -> String {
        let PullRequestArgument { repo, pull } = &self.target;
        format!("/api/v1/workspaces/{repo}/{pull}/sessions{rest}")
    }

    fn start(&self, command: &[OsString]) -> io::Result<Child> {
        let PullRequestArgument { repo, pull } = &self.target;
        #[expect(clippy::disallowed_methods, reason = "the program is whatever the user says: this is its door")]
        let program = std::process::Command::new(&command[0]);
        let mut program = Command::from(program);
        program.args(&command[1..]);
        program.env("MERGE_TRAIN_SESSION_ID", &self.id).env("MERGE_TRAIN_WORKSPACE", format!("{repo}#{pull}"));
        program.spawn()
    }

    /// Gives signs of life until the program ends, and passes on what it is told.
    ///
    /// Nothing is printed meanwhile: the terminal is the program's.
    async fn attend(&mut self, child: &mut Child, idle_after: Duration) -> anyhow::Result<ExitStatus> {
        let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).context("it has ended already")?;
        let mut activity = ActivityMonitor::of(pid, idle_after);
        let mut looks = tokio::time::interval(look_every(self.heartbeat, idle_after));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut signals = SignalReceiver::new()?;
        let heartbeat = self.heartbeat;
        let signs = async {
            let mut told = ProgramState::Working;
            let mut next_sign = Instant::now() + heartbeat;
            loop {
                looks.tick().await;
                let program_state = activity.look();
                if program_state != told || Instant::now() >= next_sign {
                    // The daemon may be away for a while; the next sign tells it all that it missed.
                    if self.give_sign(program_state).await.is_ok() {
                        told = program_state;
                    }
                    next_sign = Instant::now() + self.heartbeat;
                }
            }
        };
        let attended = async {
            loop {
                tokio::select! {
                    ended = child.wait() => return ended,
                    signal_number = signals.next() => pass_on(pid, signal_number),
                }
            }
        };
        tokio::select! {
            ended = attended => ended.context("how the program ended cannot be known"),
            () = signs => unreachable!("it goes on for as long as the program does"),
        }
    }
}

/// Often enough for signs of life to be in time, and for what is idle to be found so in time.
fn look_every(heartbeat: Duration, idle_after: Duration) -> Duration {
    (heartbeat / 2).min(idle_after / 4).clamp(SHORTEST_LOOK, LONGEST_LOOK)
}

fn request_id() -> String {
    format!("cli-{:032x}", fastrand::u128(..))
}

/// What this process is asked to do, which is meant for the program.
struct SignalReceiver {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
}

impl SignalReceiver {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.hang_up.recv() => Signal::HUP,
            _ = self.quit.recv() => Signal::QUIT,
        }
    }
}

/// A key at the terminal reaches the program as well: told twice, some programs end at once.
fn pass_on(pid: Pid, signal_number: Signal) {
    let is_of_a_key = matches!(signal_number, Signal::INT | Signal::QUIT);
    let in_front = rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp());
    if !(is_of_a_key && in_front) {
        let _ = rustix::process::kill_process(pid, signal_number);
    }
}
