//! Errors of webhook payloads, with the path to the member that is wrong.

use serde::de::DeserializeOwned;

/// Why a payload is not what its event's name promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a payload of the event {event:?} cannot be read at {path}: {reason}")]
pub struct ParseError {
    pub event: String,
    /// Where in the JSON, as `pull_request.head.sha`; a dot for the whole.
    pub path: String,
    pub reason: String,
}

impl ParseError {
    pub(super) fn new(event: &str, path: &str, reason: &str) -> Self {
        // It travels into logs and answers: it must not carry a megabyte of somebody's input.
        let short = |text: &str| text.chars().take(200).collect();
        Self { event: short(event), path: short(path), reason: short(reason) }
    }
}

/// Reads a payload; the path to a mistake is searched only once there is one, because following it costs time.
pub(super) fn read<T: DeserializeOwned>(event: &str, body: &[u8]) -> Result<T, ParseError> {
    serde_json::from_slice(body).map_err(|error| {
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Err(found) => ParseError::new(event, &found.path().to_string(), &found.inner().to_string()),
            // Something after the end of the value.
            Ok(_) => ParseError::new(event, ".", &error.to_string()),
        }
    })
}
