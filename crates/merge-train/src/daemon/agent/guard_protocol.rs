//! What the daemon and the guard say to each other, on a socket of which each holds one end.
//!
//! First comes the order: a line of JSON, and the input as it is. Everything after it asks for the end of the command;
//! the end of the stream is the end of the daemon. The guard answers with one report of how it went, and before it, where a
//! command could not be sealed off, or not all of it, with one of that.

use std::ffi::OsString;
use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest line that announces an order: the kernel takes no longer command either.
const LONGEST_LINE: u64 = 8 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub struct GuardOrder {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The longest file that the command may write.
    pub file_bytes: u64,
    /// How much memory all that comes of the command may have together.
    pub memory_bytes: Option<u64>,
    /// How many processes may come of the command at once.
    pub processes: Option<u32>,
    pub grace_ms: u64,
    /// What is kept from the command; nothing is without.
    pub seal: Option<Seal>,
    /// How much input follows.
    pub input_bytes: u64,
}

/// What a command may not touch. Paths need not be text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seal {
    pub sealed: Vec<OsString>,
    /// What it may touch all the same.
    pub own: OsString,
    pub unix_sockets: UnixSockets,
}

/// Whether a command may make UNIX sockets. Who can connect one reaches whatever of the same user listens: an agent with
/// keys, a container runtime, a service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnixSockets {
    Refused,
    Allowed,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardReport {
    /// The command is started all the same, and this is why it could not be sealed off.
    Unsealed(String),
    /// It is started all the same, and this is why calls that it may not make are not refused to it.
    Unfiltered(String),
    Refused(StartRefusal),
    Exited(i32),
    Killed(i32),
    /// It took too much, and all of it was killed.
    Over(ExceededLimit),
}

/// Of what a command took too much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceededLimit {
    Memory,
    Processes,
}

/// Why a command could not be started.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartRefusal {
    NotFound,
    NotExecutable,
    Other(String),
}

impl GuardOrder {
    pub async fn send(&self, input: &[u8], to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        to.write_all(&line(self)).await?;
        to.write_all(input).await
    }

    /// The order and its input. Both are read before anything is started: a command that does not read its input must not
    /// keep a later word of the daemon from being heard. None: the daemon was gone before it had said all.
    pub async fn receive(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<(Self, Vec<u8>)>> {
        let mut text = String::new();
        (&mut *from).take(LONGEST_LINE).read_line(&mut text).await?;
        if text.is_empty() {
            return Ok(None);
        }
        let order: Self = serde_json::from_str(&text)?;
        let mut input = Vec::new();
        let count = from.take(order.input_bytes).read_to_end(&mut input).await?;
        Ok((count as u64 == order.input_bytes).then_some((order, input)))
    }
}

impl GuardReport {
    pub async fn send(&self, to: &mut (impl AsyncWrite + Unpin)) {
        // Without a daemon nobody is left to be told.
        let _ = to.write_all(&line(self)).await;
    }

    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("texts and numbers are JSON");
    line.push(b'\n');
    line
}
