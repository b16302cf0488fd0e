//! Every exchange as a line of JSON, for whoever wants to look at or check the traffic.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use parking_lot::Mutex;
use serde_json::{Value, json};

pub struct Recorder {
    file: Mutex<File>,
}

impl Recorder {
    pub fn create(path: &Path) -> std::io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Self { file: Mutex::new(file) })
    }

    pub fn rest(&self, method: &str, path: &str, template: Option<&str>, status: u16, body: &[u8]) {
        let body = serde_json::from_slice(body).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body)));
        self.line(&json!({ "kind": "rest", "method": method, "path": path, "template": template, "status": status, "body": body }));
    }

    pub fn webhook(&self, event: &str, payload: &Value) {
        self.line(&json!({ "kind": "webhook", "event": event, "payload": payload }));
    }

    fn line(&self, value: &Value) {
        if let Err(error) = writeln!(self.file.lock(), "{value}") {
            tracing::warn!(%error, "an exchange could not be recorded");
        }
    }
}
