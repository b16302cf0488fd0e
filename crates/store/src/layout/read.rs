//! Reading an export: all of it, before anything is done with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use merge_train_core::ids::{RepoId, RunId, StreamId, TenantId};

use super::log::Log;
use super::{
    Error, GENERATION, Parsed, RUNS, SPOOL, TENANT, Warning, file_error, log_file, malformed, snapshot, snapshot_file,
    spool, sums,
};
use crate::inbox::Arrival;
use crate::whole::ImportedStream;

/// Reads an export and checks all of it. A last line that is not whole is left out with a warning; anything else that is
/// not as it should be is an error.
pub fn read(dir: &Path) -> Result<Parsed, Error> {
    sums::verify(dir)?;
    let mut streams = Vec::new();
    let mut warnings = Vec::new();
    let mut seen = BTreeSet::new();
    for owner in folders(dir)? {
        for folder in folders(&owner)? {
            let (stream, tenant) = name(&owner, &folder)?;
            if !seen.insert(stream.clone()) {
                return Err(malformed(&folder, None, format!("{stream} is here twice")));
            }
            streams.push(Folder { path: &folder, stream, tenant }.read(&mut warnings)?);
        }
    }
    Ok(Parsed { streams, warnings })
}

/// The folders in a folder, by name.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(file_error(dir))? {
        let path = entry.map_err(file_error(dir))?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn name(owner: &Path, folder: &Path) -> Result<(StreamId, TenantId), Error> {
    let text = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let (first, second) = (text(owner), text(folder));
    if first == RUNS {
        let run = RunId::parse(second).map_err(|error| malformed(folder, None, error))?;
        let file = folder.join(TENANT);
        let tenant = TenantId::parse(read_text(&file)?.trim()).map_err(|error| malformed(&file, Some(1), error))?;
        return Ok((StreamId::Run(run), tenant));
    }
    let repo = RepoId::new(&first, &second).map_err(|error| malformed(folder, None, error))?;
    let tenant = repo.tenant();
    Ok((StreamId::Repo(repo), tenant))
}

fn read_text(file: &Path) -> Result<String, Error> {
    match read_if_there(file)? {
        Some(bytes) => String::from_utf8(bytes).map_err(|error| malformed(file, None, error)),
        None => Err(malformed(file, None, "it is missing")),
    }
}

fn read_if_there(file: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(file)(error)),
    }
}

/// A stream's folder.
struct Folder<'a> {
    path: &'a Path,
    stream: StreamId,
    tenant: TenantId,
}

impl Folder<'_> {
    fn read(self, warnings: &mut Vec<Warning>) -> Result<ImportedStream, Error> {
        let current = self.generation()?;
        let (generation, read) = self.snapshot(current)?;
        let mut position = read.as_ref().map_or(0, |read| read.log_position);
        let mut next_seq = read.as_ref().map_or(1, |read| read.snapshot.next_seq);
        let mut events = Vec::new();
        // Both, where a crash came between the log of the new generation and its snapshot.
        for number in generation..=current {
            let file = self.path.join(log_file(number));
            if let Some(content) = read_if_there(&file)? {
                let mut log =
                    Log { stream: &self.stream, file: &file, events: &mut events, warnings: &mut *warnings, next_seq };
                next_seq = log.read(&content, position)?;
            } else if position > 0 {
                return Err(malformed(
                    &file,
                    None,
                    format!("it is missing, and is to be read from byte {position} on"),
                ));
            }
            position = 0;
        }
        let entries = self.entries()?;
        let snapshot = read.map(|read| read.snapshot);
        Ok(ImportedStream { stream: self.stream, tenant: self.tenant, generation, snapshot, events, entries })
    }

    fn generation(&self) -> Result<u64, Error> {
        let file = self.path.join(GENERATION);
        let text = read_text(&file)?;
        text.trim()
            .parse()
            .map_err(|_| malformed(&file, Some(1), format!("{:?} is not the number of a generation", text.trim())))
    }

    /// The newest snapshot and its generation: that of the current one, or where a crash left none, of the one before.
    /// The first generation needs none.
    fn snapshot(&self, current: u64) -> Result<(u64, Option<snapshot::Read>), Error> {
        for generation in [Some(current), current.checked_sub(1)].into_iter().flatten() {
            let file = self.path.join(snapshot_file(generation));
            if let Some(bytes) = read_if_there(&file)? {
                let text = String::from_utf8(bytes).map_err(|error| malformed(&file, None, error))?;
                return Ok((generation, Some(snapshot::read(&file, &text, &self.stream, generation)?)));
            }
        }
        let from_the_first_event = current == 0 || (current == 1 && self.path.join(log_file(0)).is_file());
        if from_the_first_event {
            Ok((0, None))
        } else {
            Err(malformed(&self.path.join(snapshot_file(current)), None, "it is missing"))
        }
    }

    fn entries(&self) -> Result<Vec<Arrival>, Error> {
        let dir = self.path.join(SPOOL);
        if !dir.is_dir() {
            return Ok(Vec::new());
        }
        let mut found: Vec<(usize, Arrival)> = Vec::new();
        for entry in fs::read_dir(&dir).map_err(file_error(&dir))? {
            let file = entry.map_err(file_error(&dir))?.path();
            // Markers say how far a delivery came: one that is done needs no doing.
            let done = file.with_extension("json.done").exists();
            if file.extension().is_some_and(|extension| extension == "json") && !done {
                found.push(spool::read(&file, &read_text(&file)?, &self.stream)?);
            }
        }
        found.sort_by(|(a, first), (b, second)| (a, &first.key).cmp(&(b, &second.key)));
        let mut keys = BTreeSet::new();
        if let Some((_, twin)) = found.iter().find(|(_, arrival)| !keys.insert((&arrival.tenant, &arrival.key))) {
            return Err(malformed(&dir, None, format!("{} is here twice", twin.key)));
        }
        Ok(found.into_iter().map(|(_, arrival)| arrival).collect())
    }
}
