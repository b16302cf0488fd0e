//! A command as events, notes and states store it: the words that were typed, without the mention.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::words::understand;
use super::{AddressedLine, Command};

/// A command that was read from a comment, or from what was stored. It is stored as its words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StoredCommand {
    Known(Command),
    /// The words of another version, which knew other commands.
    Unknown(String),
}

/// Words that are not those of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such command")]
pub struct NoSuchCommand;

/// Reads what `Display` writes, and nothing else: the words are those of a command, not of a comment.
impl FromStr for Command {
    type Err = NoSuchCommand;

    fn from_str(words: &str) -> Result<Self, NoSuchCommand> {
        match understand(words) {
            AddressedLine::Command(command) if command.to_string() == words => Ok(command),
            AddressedLine::Command(_)
            | AddressedLine::Misused { .. }
            | AddressedLine::Unknown { .. }
            | AddressedLine::TooMany => Err(NoSuchCommand),
        }
    }
}

impl From<Command> for StoredCommand {
    fn from(command: Command) -> Self {
        Self::Known(command)
    }
}

impl From<String> for StoredCommand {
    fn from(words: String) -> Self {
        words.parse().map_or(Self::Unknown(words), Self::Known)
    }
}

impl From<StoredCommand> for String {
    fn from(command: StoredCommand) -> Self {
        match command {
            StoredCommand::Known(command) => command.to_string(),
            StoredCommand::Unknown(words) => words,
        }
    }
}

impl fmt::Display for StoredCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(command) => command.fmt(f),
            Self::Unknown(words) => f.write_str(words),
        }
    }
}
