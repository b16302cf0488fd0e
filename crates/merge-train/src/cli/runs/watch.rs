//! `merge-train runs watch`: what happens to a run, until it ends, whatever becomes of the connection meanwhile.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use merge_train_core::backoff::ExponentialBackoff;
use merge_train_core::ids::RunId;
use merge_train_core::workflow::{Run, RunStatus};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{OutputFormat, lookup, read, say};
use crate::cli::remote::{DaemonClient, Error, ServerSentEvent};
use crate::clock;
use crate::narration::RunNarrator;
use crate::terminal::{DIM, Ink, Live, line, took};

/// How the end of a run shows in the exit code.
const FAILED: u8 = 1;
const CANCELLED: u8 = 2;
/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Between two attempts to connect.
const RECONNECT: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_millis(200), Duration::from_secs(5));
/// How often the state of a run is redrawn.
const TICK: Duration = Duration::from_secs(1);
/// A daemon that was away for so long does not just start again.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

pub async fn run(daemon: &DaemonClient, meant: &RunId, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let run = read(&lookup::find(daemon, meant).await?)?;
    follow(daemon, run, format).await
}

/// Tells what happens until the run ends, or somebody has heard enough.
pub async fn follow(daemon: &DaemonClient, run: Run, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let mut watch = RunWatcher::of(daemon, run, format);
    tokio::select! {
        ended = watch.until_the_end() => Ok(exit_code(ended?)),
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(INTERRUPTED)),
    }
}

fn exit_code(status: RunStatus) -> ExitCode {
    match status {
        RunStatus::Failed => ExitCode::from(FAILED),
        RunStatus::Cancelled => ExitCode::from(CANCELLED),
        _ => ExitCode::SUCCESS,
    }
}

struct RunWatcher<'a> {
    daemon: &'a DaemonClient,
    run: Run,
    format: OutputFormat,
    narrator: RunNarrator,
    /// The last event that was told, as the daemon names it.
    heard: Option<String>,
    failures: u32,
    lost_at: Option<Instant>,
    /// How it stands, below what happened; only on a terminal.
    live: Option<Live>,
}

impl<'a> RunWatcher<'a> {
    fn of(daemon: &'a DaemonClient, run: Run, format: OutputFormat) -> Self {
        let live = Live::on_stdout().filter(|_| format == OutputFormat::Text);
        Self { daemon, run, format, narrator: RunNarrator::default(), heard: None, failures: 0, lost_at: None, live }
    }

    async fn until_the_end(&mut self) -> anyhow::Result<RunStatus> {
        let path = format!("/api/v1/runs/{}/watch", self.run.id);
        loop {
            match self.listen(&path).await {
                Ok(Some(end)) => return Ok(end),
                // A daemon that stops says so by saying no more.
                Ok(None) => {}
                Err(ConnectionEnd::Daemon(error)) if error.may_pass() => {
                    let lost_at = *self.lost_at.get_or_insert_with(Instant::now);
                    if lost_at.elapsed() >= PATIENCE {
                        return Err(error.into());
                    }
                }
                Err(ConnectionEnd::Daemon(error)) => return Err(error.into()),
                Err(ConnectionEnd::Here(error)) => return Err(error),
            }
            self.wait().await;
        }
    }

    /// Tells what one connection brings; none where it ends before the run does.
    async fn listen(&mut self, path: &str) -> Result<Option<RunStatus>, ConnectionEnd> {
        let mut events = self.daemon.watch(path, self.heard.as_deref()).await?;
        self.lost_at = None;
        let mut tick = tokio::time::interval(TICK);
        loop {
            let event = tokio::select! {
                event = events.next() => event?,
                _ = tick.tick(), if self.live.is_some() => {
                    self.refresh()?;
                    continue;
                }
            };
            let Some(event) = event else { return Ok(None) };
            self.failures = 0;
            let end = self.take(event)?;
            if end.is_some() {
                return Ok(end);
            }
        }
    }

    /// Redraws the state.
    fn refresh(&mut self) -> anyhow::Result<()> {
        let standing = standing(&self.run, clock::now());
        let Some(live) = &mut self.live else { return Ok(()) };
        say(&live.draw(&Ink::of(&io::stdout()).paint(DIM, &standing)))
    }

    /// A line of what happened, which stays.
    fn tell(&mut self, told: &str) -> anyhow::Result<()> {
        let erased = self.live.as_mut().map(Live::erase).unwrap_or_default();
        say(&erased)?;
        tell(told)
    }

    /// Tells an event; gives the end of the run, if it is the last.
    fn take(&mut self, event: ServerSentEvent) -> anyhow::Result<Option<RunStatus>> {
        let data: Value =
            serde_json::from_str(&event.data).context("the daemon has a different version than this command")?;
        if self.format == OutputFormat::Json {
            tell(&as_line(&event.name, event.id.as_deref(), &data))?;
        }
        self.heard = event.id.or(self.heard.take());
        if event.name == "run" {
            return self.see(read(&data)?);
        }
        if self.format == OutputFormat::Text
            && let Some(told) = self.narrator.tell(&self.run.kind, &data)
        {
            self.tell(&told)?;
            self.refresh()?;
        }
        Ok(None)
    }

    /// The run as a whole, which comes after what happened to it.
    fn see(&mut self, run: Run) -> anyhow::Result<Option<RunStatus>> {
        let end = Some(run.status).filter(|status| status.is_terminal());
        if self.format == OutputFormat::Text {
            let last = end.map(|_| last_words(&run));
            let told: Vec<String> = self.narrator.see(&run).into_iter().chain(last).collect();
            told.iter().try_for_each(|told| self.tell(told))?;
        }
        self.run = run;
        if end.is_none() {
            self.refresh()?;
        }
        Ok(end)
    }

    async fn wait(&mut self) {
        // What is said now stays above what is drawn again.
        let _ = say(&self.live.as_mut().map(Live::erase).unwrap_or_default());
        if self.failures == 0 && io::stderr().is_terminal() {
            eprintln!("Lost the connection to the daemon; reconnecting …");
        }
        tokio::time::sleep(RECONNECT.delay(self.failures)).await;
        self.failures += 1;
    }
}

/// Why a connection ended that should not have.
enum ConnectionEnd {
    Daemon(Error),
    Here(anyhow::Error),
}

impl From<Error> for ConnectionEnd {
    fn from(error: Error) -> Self {
        Self::Daemon(error)
    }
}

impl From<anyhow::Error> for ConnectionEnd {
    fn from(error: anyhow::Error) -> Self {
        Self::Here(error)
    }
}

/// An event for programs. Its name is beside what it says: a run has a `type` of its own.
pub fn as_line(name: &str, id: Option<&str>, data: &Value) -> String {
    json!({ "event": name, "id": id, "data": data }).to_string()
}

pub fn tell(told: &str) -> anyhow::Result<()> {
    say(&format!("{told}\n"))
}

/// How it stands, in a line.
fn standing(run: &Run, now: jiff::Timestamp) -> String {
    let since = u64::try_from(now.duration_since(run.created_at).as_millis()).unwrap_or_default();
    let step = run.current_step.as_ref().map(|step| format!(" · {}", line(step))).unwrap_or_default();
    format!("{}{step} · {}", run.status, took(since))
}

fn last_words(run: &Run) -> String {
    let after = run.duration_ms.map(|millis| format!(" after {}", took(millis))).unwrap_or_default();
    let cancelled = run.cancellation.as_ref().and_then(|it| it.reason.as_ref());
    let why = run.error.as_ref().or(cancelled).map(|why| format!(": {}", line(why))).unwrap_or_default();
    format!("{} {}{after}{why}", run.id, run.status)
}
