//! `spool/ID.json`: what came in and is not settled.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use serde::{Deserialize, Serialize};

use super::{Error, malformed};
use crate::inbox::{Arrival, Entry, Priority, Route};

/// The longest name that is written out; file systems end at 255 bytes.
const LONGEST_NAME: usize = 180;

#[derive(Serialize, Deserialize)]
struct Spooled {
    /// The place in the order of arrival.
    index: usize,
    key: Key,
    source: Source,
    tenant: TenantId,
    label: String,
    priority: Urgency,
    received_at: Timestamp,
    request_hash: RequestHash,
    #[serde(flatten)]
    body: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Urgency {
    Normal,
    Stop,
}

/// Text where it is text, so that it can be read and searched.
#[derive(Serialize, Deserialize)]
enum Body {
    #[serde(rename = "body")]
    Text(String),
    #[serde(rename = "body_base64")]
    Bytes(String),
}

/// The name and the content of an entry's file.
pub fn to_file(entry: &Entry, tenant: &TenantId, index: usize) -> (String, String) {
    let body = match std::str::from_utf8(&entry.body) {
        Ok(text) => Body::Text(text.to_owned()),
        Err(_) => Body::Bytes(BASE64.encode(&entry.body)),
    };
    let spooled = Spooled {
        index,
        key: entry.key.clone(),
        source: entry.source,
        tenant: entry.tenant.clone(),
        label: entry.label.clone(),
        priority: if entry.priority == Priority::Stop { Urgency::Stop } else { Urgency::Normal },
        received_at: entry.received_at,
        request_hash: entry.hash.clone(),
        body,
    };
    let text = serde_json::to_string_pretty(&spooled).expect("names, numbers and texts can always be written as JSON");
    (file_name(entry, tenant), text + "\n")
}

fn file_name(entry: &Entry, tenant: &TenantId) -> String {
    let key = entry.key.as_str();
    let key = key.strip_prefix("github:").unwrap_or(key);
    // A key is unique within its tenant only.
    let own = if entry.tenant == *tenant { String::new() } else { format!("{}/", entry.tenant) };
    format!("{}.json", safe(&format!("{own}{key}")))
}

/// A name that no file system minds and that leads nowhere else. Different names stay different.
fn safe(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for (place, byte) in name.bytes().enumerate() {
        match byte {
            b'.' if place == 0 => safe.push_str("%2E"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => safe.push(char::from(byte)),
            _ => safe.push_str(&format!("%{byte:02X}")),
        }
    }
    if safe.len() > LONGEST_NAME {
        let hash = RequestHash::of(name.as_bytes());
        safe.truncate(LONGEST_NAME - 65);
        safe = format!("{safe}-{}", hash.as_str());
    }
    safe
}

/// An entry, and its place in the order of arrival.
pub fn read(file: &Path, text: &str, stream: &StreamId) -> Result<(usize, Arrival), Error> {
    let spooled: Spooled = serde_json::from_str(text).map_err(|error| malformed(file, Some(error.line()), error))?;
    let body = match spooled.body {
        Body::Text(text) => text.into_bytes(),
        Body::Bytes(text) => BASE64.decode(text).map_err(|error| malformed(file, None, error))?,
    };
    let priority = match spooled.priority {
        Urgency::Normal => Priority::Normal,
        Urgency::Stop => Priority::Stop,
    };
    let arrival = Arrival {
        tenant: spooled.tenant,
        key: spooled.key,
        source: spooled.source,
        hash: spooled.request_hash,
        received_at: spooled.received_at,
        route: Route::Stream { stream: stream.clone(), priority, label: spooled.label, body },
    };
    Ok((spooled.index, arrival))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_and_is_not_too_long() {
        assert_eq!(safe("1234-abcd"), "1234-abcd");
        assert_eq!(safe("api:cli:../../x"), "api%3Acli%3A..%2F..%2Fx");
        assert_eq!(safe(".."), "%2E.");
        let (long, other) = (safe(&"x:".repeat(300)), safe(&("x:".repeat(300) + "y")));
        assert!(long.len() <= LONGEST_NAME && long != other);
    }
}
