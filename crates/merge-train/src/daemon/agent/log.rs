//! What a command writes: a file that somebody may read while it grows, and its last lines for an error.
//!
//! **Invariant:** neither shows what the mask hides.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::super::telemetry::redact::{Mask, MaskedStream};

/// The most that an error quotes.
const TAIL_BYTES: usize = 2048;
/// How much before it is looked at as well: the end of a credential is not recognised without its beginning.
const MARGIN_BYTES: usize = 8192;

/// The last of what a command wrote.
#[derive(Debug, Default)]
pub struct LogTail {
    bytes: Vec<u8>,
    mask: Mask,
}

/// What merge-train itself has to say in a log.
pub type LogNotices = mpsc::Receiver<String>;

/// For a log in which merge-train says nothing.
pub fn no_notices() -> LogNotices {
    mpsc::channel(1).1
}

/// Reads to the end, so that the command is never kept waiting, and keeps what comes first; notices are kept in any case.
/// A log that cannot be written is no reason for a command to fail.
pub async fn keep(pipe: impl AsyncRead + Unpin, path: PathBuf, limit: u64, mask: Mask, notices: LogNotices) -> LogTail {
    let (mut pipe, mut notices) = (pipe, notices);
    let mut tail = LogTail { bytes: Vec::new(), mask: mask.clone() };
    let mut log = BoundedLog::open(&path, limit, mask).await;
    let mut chunk = vec![0; 64 * 1024];
    let (mut prints, mut listens) = (true, true);
    while prints || listens {
        let added = tokio::select! {
            // What was printed before a notice stands before it.
            biased;
            read = pipe.read(&mut chunk), if prints => match (read, &mut log) {
                (Ok(count @ 1..), log) => {
                    tail.push(&chunk[..count]);
                    if let Ok(log) = log { log.add(&chunk[..count]).await } else { Ok(()) }
                }
                _ => {
                    prints = false;
                    Ok(())
                }
            },
            notice = notices.recv(), if listens => match (notice, &mut log) {
                (Some(notice), log) => {
                    tail.note(&notice);
                    if let Ok(log) = log { log.note(&notice).await } else { Ok(()) }
                }
                (None, _) => {
                    listens = false;
                    Ok(())
                }
            },
        };
        if let Err(error) = added {
            log = Err(error);
        }
    }
    let kept = match log {
        Ok(mut open) => open.let_go().await,
        Err(error) => Err(error),
    };
    if let Err(error) = kept {
        tracing::warn!(log = %path.display(), %error, "the log of a command could not be written");
    }
    tail
}

struct BoundedLog {
    file: File,
    masked: MaskedStream,
    limit: u64,
    written: u64,
    /// Whether the last line has an end.
    is_at_line_start: bool,
}

impl BoundedLog {
    async fn open(path: &Path, limit: u64, mask: Mask) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            tokio::fs::create_dir_all(folder).await?;
        }
        let file = tokio::fs::OpenOptions::new().create(true).append(true).open(path).await?;
        Ok(Self { file, masked: MaskedStream::new(mask), limit, written: 0, is_at_line_start: true })
    }

    async fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written > self.limit {
            return Ok(());
        }
        let ready = self.masked.push(bytes);
        self.write(&ready).await
    }

    /// Writes what was held back.
    async fn let_go(&mut self) -> io::Result<()> {
        let rest = self.masked.rest();
        self.write(&rest).await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written > self.limit {
            return Ok(());
        }
        let room = usize::try_from(self.limit - self.written).unwrap_or(usize::MAX);
        self.written += bytes.len() as u64;
        let kept = &bytes[..bytes.len().min(room)];
        self.file.write_all(kept).await?;
        self.is_at_line_start = kept.last().map_or(self.is_at_line_start, |last| *last == b'\n');
        if bytes.len() > room {
            let line = format!("\n[merge-train: more than {} bytes; the rest was dropped]\n", self.limit);
            self.file.write_all(line.as_bytes()).await?;
            self.is_at_line_start = true;
        }
        // A file of the runtime tells of an error with the next call: this one is for the bytes above.
        self.file.flush().await
    }

    /// Adds a line whatever the limit is.
    async fn note(&mut self, notice: &str) -> io::Result<()> {
        self.let_go().await?;
        self.file.write_all(line(notice, self.is_at_line_start).as_bytes()).await?;
        self.is_at_line_start = true;
        self.file.flush().await
    }
}

impl LogTail {
    fn push(&mut self, bytes: &[u8]) {
        const KEPT: usize = TAIL_BYTES + MARGIN_BYTES;
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        self.bytes.drain(..self.bytes.len().saturating_sub(KEPT));
    }

    fn note(&mut self, notice: &str) {
        let line = line(notice, matches!(self.bytes.last(), None | Some(b'\n')));
        self.push(line.as_bytes());
    }

    /// The last lines as text that is safe on a terminal and in a comment. Empty if nothing was written.
    pub fn text(&self) -> String {
        let shown = self.mask.hide(&self.bytes);
        let text: String = String::from_utf8_lossy(&shown).trim().chars().map(harmless).collect();
        let mut start = text.len().saturating_sub(TAIL_BYTES);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text[start..].to_owned()
    }
}

/// A notice as a line of its own.
fn line(notice: &str, is_at_line_start: bool) -> String {
    let before = if is_at_line_start { "" } else { "\n" };
    format!("{before}[merge-train: {notice}]\n")
}

/// No control characters but the ends of lines, and nothing that turns the direction of what follows.
pub fn harmless(c: char) -> char {
    match c {
        '\n' => c,
        '\t' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '?',
        c if c.is_control() => '?',
        c => c,
    }
}
