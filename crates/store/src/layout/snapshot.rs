//! `snapshot.N.json`.

use std::path::Path;

use jiff::Timestamp;
use merge_train_core::ids::StreamId;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Error, malformed};
use crate::stream::Snapshot;

/// The only version of the schema there is.
const VERSION: u64 = 1;

/// A snapshot as its file. Where it stands is what the store says, not what it says itself.
pub fn to_json(snapshot: &Snapshot, generation: u64) -> Result<String, serde_json::Error> {
    let mut value: Map<String, Value> = serde_json::from_str(&snapshot.data)?;
    value.insert("snapshot_at".to_owned(), snapshot.taken_at.to_string().into());
    value.insert("log_generation".to_owned(), generation.into());
    value.insert("log_position".to_owned(), 0.into());
    value.insert("next_seq".to_owned(), snapshot.next_seq.into());
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

/// A snapshot, and the byte of the log that it stands before.
pub struct Read {
    pub snapshot: Snapshot,
    pub log_position: u64,
}

pub fn read(file: &Path, text: &str, stream: &StreamId, generation: u64) -> Result<Read, Error> {
    #[derive(Deserialize)]
    struct Head {
        schema_version: Option<u64>,
        snapshot_at: Timestamp,
        log_generation: u64,
        log_position: u64,
        next_seq: u64,
    }
    let broken = |error: serde_json::Error| malformed(file, Some(error.line()), error);
    let value: Value = serde_json::from_str(text).map_err(broken)?;
    let head: Head = serde_json::from_str(text).map_err(broken)?;
    if head.schema_version.is_some_and(|version| version != VERSION) {
        return Err(malformed(
            file,
            None,
            format!("its schema_version is not {VERSION}: a newer merge-train wrote it"),
        ));
    }
    if head.log_generation != generation {
        let reason = format!("its log_generation is {}, and it is the snapshot of {generation}", head.log_generation);
        return Err(malformed(file, None, reason));
    }
    if head.next_seq == 0 {
        return Err(malformed(file, None, "its next_seq is 0, and events are counted from 1"));
    }
    if let StreamId::Repo(_) = stream {
        serde_json::from_str::<merge_train_core::repo::Snapshot>(text).map_err(broken)?;
    }
    let snapshot = Snapshot { next_seq: head.next_seq, taken_at: head.snapshot_at, data: value.to_string() };
    Ok(Read { snapshot, log_position: head.log_position })
}
