//! The state as files: what `state export` writes and `state import` reads.
//!
//! ```text
//! DIR/owner/repo/generation            N
//! DIR/owner/repo/snapshot.N.json       the state at the beginning of generation N
//! DIR/owner/repo/events.N.log          the events since, one JSON object a line
//! DIR/owner/repo/spool/ID.json         what came in and is not settled
//! DIR/.runs/ID/…                       the same for a run, and its tenant
//! DIR/SHA256SUMS                       what each of these files holds
//! ```

mod log;
mod read;
mod snapshot;
mod spool;
mod sums;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

use merge_train_core::ids::StreamId;

use crate::{ImportedStream, NewEvent, Store};

pub use read::read;
pub use write::export;

const GENERATION: &str = "generation";
const TENANT: &str = "tenant";
const SPOOL: &str = "spool";
const RUNS: &str = ".runs";

fn snapshot_file(generation: u64) -> String {
    format!("snapshot.{generation}.json")
}

fn log_file(generation: u64) -> String {
    format!("events.{generation}.log")
}

/// Where a stream lies in an export.
fn folder(stream: &StreamId) -> PathBuf {
    match stream {
        // As it is kept: GitHub's names are the same in any case, those of files may not be.
        StreamId::Repo(repo) => PathBuf::from(repo.owner().to_ascii_lowercase()).join(repo.name().to_ascii_lowercase()),
        StreamId::Run(run) => Path::new(RUNS).join(run.as_str()),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} is not empty; an export needs an empty directory", dir.display())]
    NotEmpty { dir: PathBuf },

    /// Nothing was imported.
    #[error("{place}: {reason}")]
    Malformed { place: Place, reason: String },

    #[error("{}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    #[error(transparent)]
    Store(#[from] crate::Error),
}

/// A file, and a line in it where that says more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

fn malformed(file: &Path, line: Option<usize>, reason: impl fmt::Display) -> Error {
    Error::Malformed { place: Place { file: file.to_owned(), line }, reason: reason.to_string() }
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::File { path: path.to_owned(), source }
}

/// Something in an export that was put right in reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub place: Place,
    pub reason: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// An export that was read and found good.
#[derive(Debug, Clone)]
pub struct Parsed {
    pub streams: Vec<ImportedStream>,
    pub warnings: Vec<Warning>,
}

/// What an export or an import was about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub streams: usize,
    pub events: usize,
    pub entries: usize,
    pub warnings: Vec<Warning>,
}

/// Reads all of an export, and only then brings it in, all or nothing; with one more event at the end of each stream that `last`
/// has one for.
pub async fn import(
    store: &dyn Store,
    dir: &Path,
    last: impl Fn(&StreamId) -> Option<NewEvent>,
) -> Result<Summary, Error> {
    let Parsed { mut streams, warnings } = read(dir)?;
    let summary = Summary {
        streams: streams.len(),
        events: streams.iter().map(|stream| stream.events.len()).sum(),
        entries: streams.iter().map(|stream| stream.entries.len()).sum(),
        warnings,
    };
    for stream in &mut streams {
        stream.events.extend(last(&stream.stream));
    }
    store.import(streams).await?;
    Ok(summary)
}
