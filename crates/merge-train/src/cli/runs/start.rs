//! `merge-train runs start`.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use clap::builder::NonEmptyStringValueParser;
use merge_train_core::ids::{RepoId, TenantId};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{OutputFormat, new_id, print_json, read, say, watch};
use crate::cli::remote::{DaemonClient, Error, RequestNovelty, ResponseProgress};
use crate::daemon::workflow;
use crate::terminal::line;

/// How long a run is waited for that is to be followed.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub struct Args {
    /// The workflow, one of the configuration's [[workflows]].
    #[arg(value_name = "WORKFLOW", value_parser = NonEmptyStringValueParser::new())]
    workflow: String,
    /// An input; the value is parsed as JSON if possible, otherwise as text. Overrides --inputs.
    #[arg(short, long = "input", value_name = "KEY=VALUE")]
    input: Vec<Input>,
    /// All inputs as a JSON object: the object itself, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON|@FILE|-")]
    inputs: Option<Inputs>,
    /// The repository that the run is for.
    #[arg(long, value_name = "OWNER/REPO")]
    repo: Option<RepoId>,
    /// The pull request that the run is for.
    #[arg(long, value_name = "N", requires = "repo", value_parser = clap::value_parser!(u64).range(1..))]
    pr: Option<u64>,
    /// The tenant of the run, if neither the repository nor the API key determines it.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<TenantId>,
    /// Follow the run until it ends, like `runs watch`.
    #[arg(long)]
    watch: bool,
    /// Start it only once: a second start with the same ID returns the first run.
    #[arg(long, value_name = "IDEMPOTENCY_KEY", value_parser = NonEmptyStringValueParser::new())]
    id: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Input {
    key: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Inputs {
    Given(Map<String, Value>),
    File(PathBuf),
    StandardInput,
}

/// What stands there is no input, or no inputs.
#[derive(Debug, thiserror::Error)]
enum InvalidInput {
    #[error("write KEY=VALUE, such as pr=12 or 'note=some words'")]
    NoInput,
    #[error("the inputs must be a JSON object, such as '{{\"pr\": 12}}': {0}")]
    NoInputs(serde_json::Error),
}

pub async fn run(daemon: &DaemonClient, args: Args, format: OutputFormat) -> anyhow::Result<ExitCode> {
    let mut inputs = args.inputs.map(Inputs::read).transpose()?.unwrap_or_default();
    inputs.extend(args.input.into_iter().map(|Input { key, value }| (key, value)));
    let wanted = json!({
        "workflow": args.workflow,
        "inputs": inputs,
        "repo": args.repo,
        "pr": args.pr,
        "tenant": args.tenant,
    });
    let response = daemon.post::<Value>("/api/v1/runs", &args.id.unwrap_or_else(new_id), &wanted).await?;
    let id = response.body["id"].as_str().context("the daemon has a different version than this command")?;
    match (format, args.watch) {
        (OutputFormat::Json, false) => print_json(&response.body)?,
        (OutputFormat::Json, true) => watch::tell(&watch::as_line("run", None, &response.body))?,
        (OutputFormat::Text, is_watched) => {
            let (id, workflow) = (line(id), line(&args.workflow));
            let how = match (response.novelty, response.progress) {
                (RequestNovelty::Again, _) => "was already started with the same id",
                (RequestNovelty::First, ResponseProgress::Done) => "has started",
                (RequestNovelty::First, ResponseProgress::UnderWay) => "was accepted and will start soon",
            };
            say(&format!("{id}\n{workflow} {how}.\n"))?;
            if !is_watched {
                say(&format!("To follow it: merge-train runs watch {id}\n"))?;
            }
        }
    }
    if !args.watch {
        return Ok(ExitCode::SUCCESS);
    }
    watch::follow(daemon, read(&begun(daemon, id).await?)?, format).await
}

/// The run, once it is there: what was only taken in is not yet.
async fn begun(daemon: &DaemonClient, id: &str) -> Result<Value, Error> {
    let since = Instant::now();
    loop {
        match daemon.get(&format!("/api/v1/runs/{id}")).await {
            Err(error) if error.is_no_such_run() && since.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            found => return found,
        }
    }
}

impl FromStr for Input {
    type Err = InvalidInput;

    fn from_str(text: &str) -> Result<Self, InvalidInput> {
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or(InvalidInput::NoInput)?;
        Ok(Self { key: key.to_owned(), value: workflow::value(value.to_owned()) })
    }
}

impl FromStr for Inputs {
    type Err = InvalidInput;

    fn from_str(text: &str) -> Result<Self, InvalidInput> {
        match (text, text.strip_prefix('@')) {
            ("-", _) => Ok(Self::StandardInput),
            (_, Some(path)) => Ok(Self::File(path.into())),
            (json, None) => serde_json::from_str(json).map(Self::Given).map_err(InvalidInput::NoInputs),
        }
    }
}

impl Inputs {
    fn read(self) -> anyhow::Result<Map<String, Value>> {
        let text = match self {
            Self::Given(inputs) => return Ok(inputs),
            Self::File(path) => {
                std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?
            }
            Self::StandardInput => {
                let mut text = String::new();
                io::stdin().lock().read_to_string(&mut text).context("standard input cannot be read")?;
                text
            }
        };
        Ok(serde_json::from_str(&text).map_err(InvalidInput::NoInputs)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_input_is_json_if_it_can_be_read_so_and_else_text() {
        for (text, key, value) in [
            ("pr=12", "pr", json!(12)),
            ("note=some words", "note", json!("some words")),
            ("note=\"12\"", "note", json!("12")),
            ("ok=true", "ok", json!(true)),
            ("list=[1, 2]", "list", json!([1, 2])),
            ("sum=a=b", "sum", json!("a=b")),
            ("empty=", "empty", json!("")),
        ] {
            let read: Input = text.parse().expect(text);
            assert_eq!(read, Input { key: key.to_owned(), value }, "{text}");
        }
        for text in ["", "pr", "=12"] {
            let told = text.parse::<Input>().expect_err(text).to_string();
            assert!(told.contains("KEY=VALUE"), "{told}");
        }
    }

    #[test]
    fn all_inputs_are_an_object_or_where_one_is() {
        let given = json!({ "pr": 12 }).as_object().cloned().expect("an object");
        assert_eq!("{\"pr\": 12}".parse::<Inputs>().expect("JSON"), Inputs::Given(given));
        assert_eq!("@in.json".parse::<Inputs>().expect("a file"), Inputs::File("in.json".into()));
        assert_eq!("-".parse::<Inputs>().expect("a dash"), Inputs::StandardInput);
        for text in ["", "12", "[1]", "{"] {
            let told = text.parse::<Inputs>().expect_err(text).to_string();
            assert!(told.contains("must be a JSON object, such as '{\"pr\": 12}'"), "{told}");
        }
    }
}
