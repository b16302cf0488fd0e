//! What the daemon says about itself: log lines on standard error, and metrics.

mod json;
pub mod metrics;
pub mod redact;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::{LogFormat, LogSettings};
use json::JsonLines;
use redact::RedactingWriter;

/// Why nothing can be logged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the log filter {filter:?} cannot be read; write a level, or target=level separated by commas")]
    Filter { filter: String, source: ParseError },
    #[error("logging was set up already")]
    Twice(#[source] TryInitError),
}

/// Begins to log, for as long as the process lives. Call it once, before anything is worth telling.
pub fn init(log: &LogSettings) -> Result<(), Error> {
    let filter = filter(log)?;
    let shape = Shape::of(log.format, io::stderr().is_terminal());
    let json = (shape == Shape::Json).then(|| JsonLines::new(RedactingWriter::new(io::stderr)));
    let text = (shape != Shape::Json)
        .then(|| fmt::layer().with_ansi(shape == Shape::Coloured).with_writer(RedactingWriter::new(io::stderr)));
    tracing_subscriber::registry().with(filter).with(json).with(text).try_init().map_err(Error::Twice)
}

/// The same into a file, as a person reads it.
pub fn init_file(log: &LogSettings, file: File) -> Result<(), Error> {
    let filter = filter(log)?;
    let text = fmt::layer().with_ansi(false).with_writer(RedactingWriter::new(Mutex::new(file)));
    tracing_subscriber::registry().with(filter).with(text).try_init().map_err(Error::Twice)
}

fn filter(log: &LogSettings) -> Result<EnvFilter, Error> {
    EnvFilter::try_new(&log.filter).map_err(|source| Error::Filter { filter: log.filter.clone(), source })
}

/// For commands that read no configuration: warnings, as a person reads them, or what `RUST_LOG` asks for.
pub fn init_plain() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(RedactingWriter::new(io::stderr)).init();
}

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Json,
    Plain,
    Coloured,
}

impl Shape {
    fn of(format: LogFormat, on_terminal: bool) -> Self {
        match (format, on_terminal) {
            (LogFormat::Json, _) | (LogFormat::Auto, false) => Self::Json,
            (LogFormat::Text, false) => Self::Plain,
            (LogFormat::Text | LogFormat::Auto, true) => Self::Coloured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_for_people_on_a_terminal_and_for_programs_elsewhere() {
        for (format, on_terminal, expected) in [
            (LogFormat::Auto, true, Shape::Coloured),
            (LogFormat::Auto, false, Shape::Json),
            (LogFormat::Text, true, Shape::Coloured),
            (LogFormat::Text, false, Shape::Plain),
            (LogFormat::Json, true, Shape::Json),
            (LogFormat::Json, false, Shape::Json),
        ] {
            assert_eq!(Shape::of(format, on_terminal), expected, "{format:?}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_told() {
        let error = init(&LogSettings { format: LogFormat::Json, filter: "a=b=c".into() }).expect_err("no filter");
        assert!(error.to_string().starts_with("the log filter \"a=b=c\" cannot be read"), "{error}");
    }
}
