//! `merge-train runs logs`: what the commands of a run print.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use merge_train_core::ids::RunId;
use merge_train_core::workflow::RunStatus;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{OutputFormat, RunArgument, lookup, print_json, read, say};
use crate::cli::remote::DaemonClient;
use crate::terminal::{harmless, line};

/// How often is looked for what was added.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    named: RunArgument,
    /// Only the output of this step.
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Follow the output until the run has ended.
    #[arg(long, short)]
    follow: bool,
}

#[derive(Deserialize)]
struct Logs {
    status: RunStatus,
    logs: Vec<Log>,
}

#[derive(Serialize, Deserialize)]
struct Log {
    name: String,
    step: String,
    attempt: u32,
    bytes: u64,
}

pub async fn run(daemon: &DaemonClient, args: &Args, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let run = read(&lookup::find(daemon, &args.named.run).await?)?.id;
    let mut reader = LogReader { daemon, run, printer: LogPrinter::new(format, args.follow), read: BTreeMap::new() };
    loop {
        let Logs { status, logs } = reader.list().await?;
        let is_over = !args.follow || status.is_terminal();
        let is_meant = |log: &&Log| args.step.as_ref().is_none_or(|step| log.step == *step);
        let meant: Vec<&Log> = logs.iter().filter(is_meant).collect();
        if is_over && meant.is_empty() && reader.read.is_empty() {
            return nothing(&reader.run, &logs, args.step.as_deref(), format);
        }
        let several = meant.len() > 1;
        for log in meant {
            reader.go_on(log, several).await?;
        }
        if is_over {
            reader.printer.end(&reader.run, &logs)?;
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn nothing(run: &RunId, logs: &[Log], step: Option<&str>, format: OutputFormat) -> anyhow::Result<ExitCode> {
    if let (Some(step), false) = (step, logs.is_empty()) {
        let mut steps: Vec<&str> = logs.iter().map(|log| log.step.as_str()).collect();
        steps.dedup();
        anyhow::bail!("{run} has no log for step {step:?}; it has logs for: {}", steps.join(", "));
    }
    match format {
        OutputFormat::Json => print_json(&json!({ "run": run, "logs": [] }))?,
        OutputFormat::Text => eprintln!("{run} has no output, or its output is on another instance."),
    }
    Ok(ExitCode::SUCCESS)
}

struct LogReader<'a> {
    daemon: &'a DaemonClient,
    run: RunId,
    printer: LogPrinter,
    /// How much of each log was read.
    read: BTreeMap<String, u64>,
}

impl LogReader<'_> {
    async fn list(&self) -> anyhow::Result<Logs> {
        Ok(self.daemon.get(&format!("/api/v1/runs/{}/logs", self.run)).await?)
    }

    /// Tells what was added to a log since the last look.
    async fn go_on(&mut self, log: &Log, several: bool) -> anyhow::Result<()> {
        let from = self.read.entry(log.name.clone()).or_default();
        if *from > 0 && log.bytes <= *from {
            return self.printer.pause(&log.name);
        }
        let path = format!("/api/v1/runs/{}/logs/{}?from={from}", self.run, escaped(&log.name));
        let added = self.daemon.bytes(&path).await?;
        *from += added.len() as u64;
        self.printer.add(log, &added, several)
    }
}

/// A name as a part of an address.
fn escaped(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

/// What was told so far, and how.
struct LogPrinter {
    output: LogOutput,
    /// The log that is being told.
    current: Option<String>,
    /// What of it is not told yet: a line that has not ended.
    held: Vec<u8>,
    /// All of each, for whoever reads it at once.
    whole: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogOutput {
    /// As the command wrote it.
    Raw,
    /// Without what a terminal would obey.
    Terminal,
    /// A line of JSON for each piece.
    Pieces,
    /// One document at the end.
    Document,
}

impl LogPrinter {
    fn new(format: OutputFormat, follows: bool) -> Self {
        let output = match format {
            OutputFormat::Json if follows => LogOutput::Pieces,
            OutputFormat::Json => LogOutput::Document,
            OutputFormat::Text if io::stdout().is_terminal() => LogOutput::Terminal,
            OutputFormat::Text => LogOutput::Raw,
        };
        Self { output, current: None, held: Vec::new(), whole: BTreeMap::new() }
    }

    fn add(&mut self, log: &Log, added: &[u8], several: bool) -> anyhow::Result<()> {
        if self.output == LogOutput::Document {
            self.whole.entry(log.name.clone()).or_default().extend_from_slice(added);
            return Ok(());
        }
        if added.is_empty() {
            return Ok(());
        }
        if self.current.as_ref() != Some(&log.name) {
            self.flush()?;
            let is_first = self.current.replace(log.name.clone()).is_none();
            if self.output != LogOutput::Pieces && (several || !is_first) {
                let gap = if is_first { "" } else { "\n" };
                say(&format!("{gap}==> {}, attempt {} <==\n", line(&log.step), log.attempt))?;
            }
        }
        match self.output {
            LogOutput::Raw => put(added),
            LogOutput::Terminal | LogOutput::Pieces => {
                self.held.extend_from_slice(added);
                // What a terminal would obey, and what is no letter before its last byte came, ends with its line.
                let end = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let lines: Vec<u8> = self.held.drain(..end).collect();
                self.tell(&lines)
            }
            LogOutput::Document => Ok(()),
        }
    }

    /// Nothing came for a while: somebody may wait for the rest of a line.
    fn pause(&mut self, name: &str) -> anyhow::Result<()> {
        if self.current.as_deref() == Some(name) { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let rest = std::mem::take(&mut self.held);
        self.tell(&rest)
    }

    fn tell(&self, bytes: &[u8]) -> anyhow::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(bytes);
        match self.output {
            LogOutput::Pieces => say(&format!("{}\n", json!({ "log": self.current, "text": text }))),
            _ => say(&harmless(&text)),
        }
    }

    fn end(&mut self, run: &RunId, logs: &[Log]) -> anyhow::Result<()> {
        self.flush()?;
        if self.output != LogOutput::Document {
            return Ok(());
        }
        let text = |log: &Log| Some(String::from_utf8_lossy(self.whole.get(&log.name)?).into_owned());
        let with_text = |log: &Log| {
            let Log { name, step, attempt, bytes } = log;
            text(log)
                .map(|text| json!({ "name": name, "step": step, "attempt": attempt, "bytes": bytes, "text": text }))
        };
        print_json(&json!({ "run": run, "logs": logs.iter().filter_map(with_text).collect::<Vec<_>>() }))
    }
}

fn put(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).context("nobody reads what is told")
}
