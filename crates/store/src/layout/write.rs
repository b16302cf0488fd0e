//! Writing an export.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use merge_train_core::ids::StreamId;

use super::{
    Error, GENERATION, SPOOL, Summary, TENANT, file_error, folder, log, log_file, snapshot, snapshot_file, spool, sums,
};
use crate::{Entry, Loaded, Since, Store, StreamInfo, TakeLimit, View};

/// What is held in memory of a stream's entries at a time.
const PAGE: TakeLimit = TakeLimit { entries: 500, bytes: 32 * 1024 * 1024 };

/// Writes all streams into a directory, which must be empty or not there. It appears whole or not at all.
pub async fn export(store: &dyn Store, dir: &Path) -> Result<Summary, Error> {
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file() {
        return Err(Error::NotEmpty { dir: dir.to_owned() });
    }
    let partial = Partial::beside(dir)?;
    let mut summary = Summary::default();
    // One moment for all: an entry is either waiting or in the events, and never both or neither.
    let mut view = store.view().await?;
    for info in view.streams(None).await? {
        let folder = partial.path.join(folder(&info.stream));
        fs::create_dir_all(&folder).map_err(file_error(&folder))?;
        summary.entries += write_spool(&mut view, &info, &folder).await?;
        let loaded = view.load(&info.stream, Since::Newest).await?;
        write_stream(&info, &loaded, &folder)?;
        summary.streams += 1;
        summary.events += loaded.events.len();
    }
    write(&partial.path.join(sums::FILE), sums::of(&partial.path)?.as_bytes())?;
    partial.become_whole(dir)?;
    Ok(summary)
}

fn write_stream(info: &StreamInfo, loaded: &Loaded, folder: &Path) -> Result<(), Error> {
    if let Some(snapshot) = &loaded.snapshot {
        let file = folder.join(snapshot_file(loaded.generation));
        let text = snapshot::to_json(snapshot, loaded.generation)
            .map_err(|error| crate::Error::Corrupt { reason: format!("the snapshot of {}: {error}", info.stream) })?;
        write(&file, text.as_bytes())?;
    }
    let lines: String = loaded.events.iter().map(log::line).collect();
    write(&folder.join(log_file(loaded.generation)), lines.as_bytes())?;
    if let StreamId::Run(_) = info.stream {
        write(&folder.join(TENANT), format!("{}\n", info.tenant).as_bytes())?;
    }
    write(&folder.join(GENERATION), format!("{}\n", loaded.generation).as_bytes())?;
    sync_dir(folder)
}

async fn write_spool(view: &mut View, info: &StreamInfo, folder: &Path) -> Result<usize, Error> {
    let dir = folder.join(SPOOL);
    let mut written = 0;
    let mut after = None;
    loop {
        let entries: Vec<Entry> = view.unsettled(&info.stream, after, PAGE).await?;
        let Some(last) = entries.last() else { break };
        after = Some(last.id);
        fs::create_dir_all(&dir).map_err(file_error(&dir))?;
        for entry in &entries {
            let (name, text) = spool::to_file(entry, &info.tenant, written);
            write(&dir.join(name), text.as_bytes())?;
            written += 1;
        }
    }
    if written > 0 {
        sync_dir(&dir)?;
    }
    Ok(written)
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().map_err(file_error(path))
}

fn sync_dir(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|dir| dir.sync_all()).map_err(file_error(path))
}

/// An export in the making, which is removed unless it becomes whole.
struct Partial {
    path: PathBuf,
}

impl Partial {
    fn beside(dir: &Path) -> Result<Self, Error> {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let path = dir.with_file_name(format!(".{name}.partial-{}", std::process::id()));
        // One that is left of a crash is of no use to anybody.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(file_error(&path))?;
        Ok(Self { path })
    }

    fn become_whole(self, dir: &Path) -> Result<(), Error> {
        sync_dir(&self.path)?;
        fs::rename(&self.path, dir).map_err(file_error(dir))?;
        match dir.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
            _ => sync_dir(Path::new(".")),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone already where it became whole.
        let _ = fs::remove_dir_all(&self.path);
    }
}
