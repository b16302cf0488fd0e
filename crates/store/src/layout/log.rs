//! The lines of `events.N.log`.

use std::path::Path;

use jiff::Timestamp;
use merge_train_core::ids::StreamId;
use merge_train_core::repo::RecordedEvent;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Error, Place, Warning, malformed};
use crate::stream::{NewEvent, StoredEvent};

/// An event as its line, newline included.
pub fn line(event: &StoredEvent) -> String {
    let data = event.data.trim();
    // White space between the values may hold a newline, which would make two lines of it.
    let data = if data.contains(['\n', '\r']) { one_line(data) } else { data.to_owned() };
    let rest = data.strip_prefix('{').unwrap_or(&data).trim_start();
    format!("{{\"seq\":{},\"ts\":\"{}\",{rest}\n", event.seq, event.ts)
}

fn one_line(data: &str) -> String {
    serde_json::from_str::<Value>(data).map_or_else(|_| data.replace(['\n', '\r'], " "), |value| value.to_string())
}

/// What is read of a log.
pub struct Log<'a> {
    pub stream: &'a StreamId,
    pub file: &'a Path,
    pub events: &'a mut Vec<NewEvent>,
    pub warnings: &'a mut Vec<Warning>,
    /// What the next event must have.
    pub next_seq: u64,
}

impl Log<'_> {
    /// Reads from a byte on; what comes next in the sequence.
    pub fn read(&mut self, content: &[u8], position: u64) -> Result<u64, Error> {
        let position =
            usize::try_from(position).ok().filter(|position| *position <= content.len()).ok_or_else(|| {
                malformed(
                    self.file,
                    None,
                    format!("it has {} bytes, and is to be read from {position} on", content.len()),
                )
            })?;
        if position > 0 && content[position - 1] != b'\n' {
            return Err(malformed(self.file, None, format!("byte {position} is not the beginning of a line")));
        }
        let mut number = content[..position].iter().filter(|byte| **byte == b'\n').count();
        let mut lines = content[position..].split_inclusive(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            number += 1;
            let is_last = lines.peek().is_none();
            self.read_line(line, number, if is_last { At::End } else { At::Middle })?;
        }
        Ok(self.next_seq)
    }

    fn read_line(&mut self, line: &[u8], number: usize, at: At) -> Result<(), Error> {
        let whole = line.strip_suffix(b"\n");
        // Torn: it has no end, or, where somebody gave it one, it is a beginning and nothing else.
        let mut is_torn = whole.is_none();
        let text = std::str::from_utf8(whole.unwrap_or(line)).map_err(|error| error.to_string());
        let value = text.and_then(|text| {
            let value = serde_json::from_str::<Map<String, Value>>(text).map_err(|error| {
                is_torn |= error.is_eof();
                error.to_string()
            })?;
            Ok((text, value))
        });
        let (text, value) = match value {
            Ok(parsed) => parsed,
            Err(reason) if is_torn && at == At::End => {
                self.cut(number, &reason);
                return Ok(());
            }
            Err(reason) => return Err(self.refuse(number, reason)),
        };
        let head: Head = self.check(text).map_err(|reason| self.refuse(number, reason))?;
        if head.seq != self.next_seq {
            return Err(self.refuse(number, format!("event {} where {} should be", head.seq, self.next_seq)));
        }
        self.next_seq += 1;
        self.events.push(NewEvent { ts: head.ts, data: data(text, value) });
        Ok(())
    }

    /// A write that a crash cut short was never acknowledged.
    fn cut(&mut self, number: usize, reason: &str) {
        let place = Place { file: self.file.to_owned(), line: Some(number) };
        let reason = format!("the last line is not whole and was left out ({reason})");
        tracing::warn!(file = %self.file.display(), line = number, "{reason}");
        self.warnings.push(Warning { place, reason });
    }

    fn refuse(&self, number: usize, reason: impl std::fmt::Display) -> Error {
        malformed(self.file, Some(number), reason)
    }

    fn check(&self, text: &str) -> Result<Head, String> {
        let head = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if let StreamId::Repo(_) = self.stream {
            serde_json::from_str::<RecordedEvent>(text).map_err(|error| error.to_string())?;
        }
        Ok(head)
    }
}

/// Where in the log a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Middle,
    End,
}

#[derive(Deserialize)]
struct Head {
    seq: u64,
    ts: Timestamp,
    #[serde(rename = "type")]
    _type: String,
}

/// An event without its place in the stream; to the byte as it was where the line has our form.
fn data(text: &str, mut value: Map<String, Value>) -> String {
    if let Some(rest) = after_head(text) {
        return format!("{{{rest}");
    }
    value.shift_remove("seq");
    value.shift_remove("ts");
    Value::Object(value).to_string()
}

fn after_head(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("{\"seq\":")?.trim_start_matches(|c: char| c.is_ascii_digit());
    let (_, rest) = rest.strip_prefix(",\"ts\":\"")?.split_once("\",")?;
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_the_event_it_was_made_of() {
        let data = r#"{"type":"x","text":"caf\u00e9","n":1.50}"#;
        let event = StoredEvent { seq: 7, ts: "2024-01-15T10:00:00Z".parse().unwrap(), data: data.to_owned() };
        let text = line(&event);
        assert_eq!(
            text,
            "{\"seq\":7,\"ts\":\"2024-01-15T10:00:00Z\",\"type\":\"x\",\"text\":\"caf\\u00e9\",\"n\":1.50}\n"
        );
        assert_eq!(super::data(text.trim_end(), Map::new()), data);
    }

    #[test]
    fn an_event_is_one_line_however_it_was_written() {
        let data = "{\n  \"type\": \"x\"\r\n}".to_owned();
        let event = StoredEvent { seq: 1, ts: "2024-01-15T10:00:00Z".parse().unwrap(), data };
        assert_eq!(line(&event), "{\"seq\":1,\"ts\":\"2024-01-15T10:00:00Z\",\"type\":\"x\"}\n");
    }

    #[test]
    fn another_order_of_the_members_is_understood() {
        let text = r#"{"type":"x","ts":"2024-01-15T10:00:00Z","seq":1,"n":2}"#;
        assert_eq!(data(text, serde_json::from_str(text).unwrap()), r#"{"type":"x","n":2}"#);
    }
}
