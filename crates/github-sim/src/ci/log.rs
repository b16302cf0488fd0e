//! What a job prints, line by line with the time, as GitHub's logs have it. Bounded: the beginning is kept, and the end,
//! which is where failures are explained.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;

use super::commands;
use crate::world::Annotation;

const HEAD_LIMIT_BYTES: usize = 1024 * 1024;
const TAIL_LIMIT_BYTES: usize = 3 * 1024 * 1024;
/// A longer line is broken: what is printed without line ends must not fill the memory.
const LINE_LIMIT_BYTES: usize = 64 * 1024;
/// GitHub shows this many annotations of each level of one step.
const ANNOTATIONS_PER_LEVEL: usize = 10;
/// How many of the last lines the summary quotes, and how much of each.
const QUOTED_LINES: usize = 20;
const QUOTED_LINE_CHARS: usize = 500;

pub struct Log {
    file: File,
    head_bytes: usize,
    tail: Vec<u8>,
    lines: u64,
    lines_left_out: u64,
    unfinished: Vec<u8>,
    last: std::collections::VecDeque<String>,
    pub annotations: Vec<Annotation>,
}

impl Log {
    pub fn create(path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            head_bytes: 0,
            tail: Vec::new(),
            lines: 0,
            lines_left_out: 0,
            unfinished: Vec::new(),
            last: std::collections::VecDeque::new(),
            annotations: Vec::new(),
        })
    }

    /// What the command printed.
    pub fn printed(&mut self, bytes: &[u8], now: Timestamp) -> std::io::Result<()> {
        let stamp = stamp(now);
        let mut chunk = Vec::with_capacity(bytes.len() * 2);
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(&rest[..at]);
            self.end_line(&stamp, &mut chunk);
            rest = &rest[at + 1..];
        }
        self.unfinished.extend_from_slice(rest);
        while self.unfinished.len() > LINE_LIMIT_BYTES {
            let more = self.unfinished.split_off(LINE_LIMIT_BYTES);
            self.end_line(&stamp, &mut chunk);
            self.unfinished = more;
        }
        self.keep(&chunk)
    }

    /// A line of the simulator's own.
    pub fn note(&mut self, line: &str, now: Timestamp) -> std::io::Result<()> {
        self.lines += 1;
        self.keep(format!("{} {line}\n", stamp(now)).as_bytes())
    }

    /// Writes what is not written yet.
    pub fn finish(&mut self, now: Timestamp) -> std::io::Result<()> {
        if !self.unfinished.is_empty() {
            let mut chunk = Vec::new();
            self.end_line(&stamp(now), &mut chunk);
            self.keep(&chunk)?;
        }
        if self.lines_left_out > 0 {
            writeln!(self.file, "… {} lines are left out here …", self.lines_left_out)?;
        }
        self.file.write_all(&self.tail)?;
        self.tail.clear();
        self.file.flush()
    }

    pub fn line_count(&self) -> u64 {
        self.lines
    }

    /// The last lines the command printed.
    pub fn quoted(&self) -> String {
        self.last.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn end_line(&mut self, stamp: &str, into: &mut Vec<u8>) {
        self.lines += 1;
        let line = self.unfinished.strip_suffix(b"\r").unwrap_or(&self.unfinished);
        into.extend_from_slice(stamp.as_bytes());
        into.push(b' ');
        let asked = if line.trim_ascii_start().starts_with(b"::") {
            commands::parse(&String::from_utf8_lossy(line), self.lines)
        } else {
            None
        };
        match asked {
            Some(annotation) => {
                into.extend_from_slice(commands::shown(&annotation).as_bytes());
                let level = |other: &&Annotation| other.annotation_level == annotation.annotation_level;
                if self.annotations.iter().filter(level).count() < ANNOTATIONS_PER_LEVEL {
                    self.annotations.push(annotation);
                }
            }
            None => into.extend_from_slice(line),
        }
        into.push(b'\n');
        let quoted = String::from_utf8_lossy(&line[..line.len().min(QUOTED_LINE_CHARS)]).into_owned();
        self.last.push_back(quoted);
        if self.last.len() > QUOTED_LINES {
            self.last.pop_front();
        }
        self.unfinished.clear();
    }

    fn keep(&mut self, lines: &[u8]) -> std::io::Result<()> {
        let room = if self.tail.is_empty() { HEAD_LIMIT_BYTES.saturating_sub(self.head_bytes) } else { 0 };
        // The head ends with a whole line.
        let head = if lines.len() <= room {
            lines.len()
        } else {
            lines[..room].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        };
        self.file.write_all(&lines[..head])?;
        self.head_bytes += head;
        self.tail.extend_from_slice(&lines[head..]);
        // Cut only when it is twice too long, so that not every line moves all others.
        if self.tail.len() > 2 * TAIL_LIMIT_BYTES {
            let from = self.tail.len() - TAIL_LIMIT_BYTES;
            let cut =
                self.tail[from..].iter().position(|byte| *byte == b'\n').map_or(self.tail.len(), |at| from + at + 1);
            self.lines_left_out += self.tail[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
            self.tail.drain(..cut);
        }
        Ok(())
    }
}

fn stamp(now: Timestamp) -> String {
    // GitHub has seven digits.
    now.strftime("%Y-%m-%dT%H:%M:%S%.6f0Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(chunks: &[&[u8]]) -> (Log, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = Log::create(file.path()).unwrap();
        for chunk in chunks {
            log.printed(chunk, Timestamp::UNIX_EPOCH).unwrap();
        }
        log.finish(Timestamp::UNIX_EPOCH).unwrap();
        let text = String::from_utf8(std::fs::read(file.path()).unwrap()).unwrap();
        (log, text)
    }

    #[test]
    fn every_line_carries_the_time_however_it_comes_in() {
        let (_, text) = logged(&[b"one\nt", b"wo\r\n", b"three"]);
        let stamp = "1970-01-01T00:00:00.0000000Z";
        assert_eq!(text, format!("{stamp} one\n{stamp} two\n{stamp} three\n"));
    }

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let line = [b'x'; 99].iter().copied().chain([b'\n']).collect::<Vec<u8>>();
        let block = line.repeat(1000);
        let mut chunks: Vec<&[u8]> = vec![b"first\n"];
        chunks.extend(std::iter::repeat_n(block.as_slice(), 200));
        chunks.push(b"last\n");
        let (log, text) = logged(&chunks);
        assert!(text.len() < HEAD_LIMIT_BYTES + 2 * TAIL_LIMIT_BYTES + 1000, "{}", text.len());
        assert!(text.contains(" first\n") && text.ends_with(" last\n") && text.contains("lines are left out here"));
        assert_eq!(log.line_count(), 200_002);
        assert!(log.quoted().ends_with("\nlast"));
    }

    #[test]
    fn a_line_without_end_is_broken() {
        let (log, text) = logged(&[&[b'x'; 3 * LINE_LIMIT_BYTES]]);
        assert_eq!(log.line_count(), 3);
        assert!(text.len() > 3 * LINE_LIMIT_BYTES);
    }

    #[test]
    fn annotations_are_taken_from_the_lines_up_to_ten_of_a_level() {
        let errors = "::error file=a,line=1::x\n".repeat(12);
        let (log, text) = logged(&[errors.as_bytes(), b"::warning::y\n"]);
        assert_eq!(log.annotations.len(), 11);
        assert!(text.contains("##[error]x") && text.contains("##[warning]y"));
    }
}
