//! `merge-train status --watch`: the same look, again and again.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::target::ScopeArgument;
use super::{NO_SUCH_TRAIN, StatusReport, is_no_such_train};
use crate::cli::remote::{DaemonClient, Error};
use crate::cli::runs::say;
use crate::terminal::{self, Live};

const PAUSE: Duration = Duration::from_secs(2);
/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

pub async fn run(daemon: &DaemonClient, scope: Option<&ScopeArgument>, as_json: bool) -> anyhow::Result<ExitCode> {
    tokio::select! {
        ended = look_on(daemon, scope, as_json) => ended,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(INTERRUPTED)),
    }
}

async fn look_on(daemon: &DaemonClient, scope: Option<&ScopeArgument>, as_json: bool) -> anyhow::Result<ExitCode> {
    let mut live = Live::on_stdout().filter(|_| !as_json);
    let mut last: Option<Value> = None;
    loop {
        match StatusReport::of(daemon, scope).await {
            Ok(report) => {
                let is_news = last.as_ref() != Some(&report.json);
                if let Some(live) = &mut live {
                    // The window may be another than it was.
                    terminal::fit();
                    say(&live.draw(&report.text))?;
                } else if is_news && as_json {
                    say(&format!("{}\n", report.json))?;
                } else if is_news {
                    let gap = if last.is_some() { "\n" } else { "" };
                    say(&format!("{gap}{}", report.text))?;
                }
                last = Some(report.json);
            }
            Err(error) if is_no_such_train(&error) && last.is_some() => {
                eprintln!("The train has ended.");
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) if is_no_such_train(&error) => {
                eprintln!("error: {error}");
                return Ok(ExitCode::from(NO_SUCH_TRAIN));
            }
            // A daemon that was there a moment ago will be there again.
            Err(error) if last.is_some() && error.downcast_ref().is_some_and(Error::may_pass) => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
