//! Server-sent events: what the daemon tells as it happens.
//!
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use std::collections::VecDeque;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::Error;

pub const MEDIA_TYPE: &str = "text/event-stream";
/// What is longer is no event of a daemon: it holds a run, and what a command of a run may write is bounded.
const LONGEST_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSentEvent {
    pub name: String,
    /// What to say after the connection was lost. Not every event has one.
    pub id: Option<String>,
    pub data: String,
}

/// Events of one connection.
pub struct EventStream {
    response: Response,
    url: String,
    reader: EventParser,
    heard: VecDeque<ServerSentEvent>,
}

impl EventStream {
    pub(super) fn of(response: Response, url: &str) -> Result<Self, Error> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with(MEDIA_TYPE)) {
            return Err(Error::NoDaemon { url: url.to_owned() });
        }
        Ok(Self { response, url: url.to_owned(), reader: EventParser::default(), heard: VecDeque::new() })
    }

    /// The next one, once there is; none when the daemon says no more.
    pub async fn next(&mut self) -> Result<Option<ServerSentEvent>, Error> {
        loop {
            if let Some(event) = self.heard.pop_front() {
                return Ok(Some(event));
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|source| Error::Unreachable { url: self.url.clone(), source })? {
                None => return Ok(None),
                Some(bytes) => self.heard.extend(self.reader.feed(&bytes)),
            }
            if self.reader.waiting_bytes() > LONGEST_BYTES {
                return Err(Error::NoDaemon { url: self.url.clone() });
            }
        }
    }
}

/// Makes events of bytes, wherever those are cut.
#[derive(Default)]
struct EventParser {
    /// A line that has not ended.
    line: Vec<u8>,
    name: String,
    id: Option<String>,
    data: String,
}

impl EventParser {
    fn feed(&mut self, bytes: &[u8]) -> Vec<ServerSentEvent> {
        let mut events = Vec::new();
        let mut rest = bytes;
        // The daemon ends lines so, and what stands before it may make `\r\n` of that; nobody ends them with `\r` alone.
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned();
            events.extend(self.take(&line));
        }
        self.line.extend_from_slice(rest);
        events
    }

    fn take(&mut self, line: &str) -> Option<ServerSentEvent> {
        if line.is_empty() {
            return self.end();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "id" => self.id = Some(value.to_owned()),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            // Without a field: a sign of life.
            _ => {}
        }
        None
    }

    /// An empty line ends an event; without data it is none.
    fn end(&mut self) -> Option<ServerSentEvent> {
        let Self { name, id, data, .. } = std::mem::take(self);
        let data = data.strip_suffix('\n')?.to_owned();
        let name = if name.is_empty() { "message".to_owned() } else { name };
        Some(ServerSentEvent { name, id, data })
    }

    fn waiting_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, id: Option<&str>, data: &str) -> ServerSentEvent {
        ServerSentEvent { name: name.to_owned(), id: id.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn events_are_read_wherever_the_bytes_are_cut() {
        let text = "id: 3\nevent: step_started\ndata: {\"é\":1}\n\n: still here\n\nevent:run\r\ndata:a\r\ndata: b\r\n\r\ndata\n\nid: 9\n\n";
        let expected =
            [event("step_started", Some("3"), "{\"é\":1}"), event("run", None, "a\nb"), event("message", None, "")];
        for length in 1..=text.len() {
            let mut reader = EventParser::default();
            let events: Vec<ServerSentEvent> =
                text.as_bytes().chunks(length).flat_map(|chunk| reader.feed(chunk)).collect();
            assert_eq!(events, expected, "in pieces of {length}");
        }
    }

    #[test]
    fn what_has_not_ended_is_no_event() {
        let mut reader = EventParser::default();
        assert_eq!(reader.feed(b"event: run\ndata: half"), []);
        assert_eq!(reader.waiting_bytes(), "data: half".len());
        assert_eq!(reader.feed(b" of it\n\n"), [event("run", None, "half of it")]);
        assert_eq!(reader.waiting_bytes(), 0);
    }
}
