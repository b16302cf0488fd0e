//! An answer from GitHub that arrived in full.

use bytes::Bytes;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

use crate::error::{CallName, Error, Executed};

/// An answer that arrived in full.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub call: CallName,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(&self.body);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let (path, reason) = (error.path().to_string(), error.into_inner());
            if reason.is_eof() {
                Error::transient(&self.call, "the answer ends in the middle", Executed::Perhaps)
            } else {
                let reason: String = reason.to_string().chars().take(200).collect();
                Error::permanent(&self.call, format!("the answer is not what GitHub documents, at {path}: {reason}"))
            }
        })
    }

    /// What GitHub says about it, for a person.
    pub(crate) fn message(&self) -> String {
        #[derive(Default, serde::Deserialize)]
        struct Said {
            #[serde(default)]
            message: String,
        }
        let Said { message } = serde_json::from_slice(&self.body).unwrap_or_default();
        if message.is_empty() { format!("status {}", self.status) } else { message }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
