//! What is wrong with a configuration, and where.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no configuration to work with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not there, not ours to read, or no text.
    #[error("the configuration {} cannot be read: check the path and its permissions", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// All that is wrong, not the first only: a person fixes it in one go.
    #[error("{}", list(.0))]
    Invalid(Vec<ConfigProblem>),
}

/// One thing to fix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigProblem {
    pub place: ValueSource,
    pub text: String,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueSource {
    /// In the file; line and column count from 1.
    File { path: PathBuf, line: usize, column: usize },
    /// In the environment.
    Variable(String),
    /// Nowhere: it is missing, or has its default.
    Nowhere,
}

impl ConfigProblem {
    pub fn new(place: ValueSource, text: impl Into<String>) -> Self {
        Self { place, text: text.into() }
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Nowhere => f.write_str("configuration"),
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// `Ok` when there is nothing to fix; otherwise everything, in the order in which a person meets it.
pub fn none_of(mut problems: Vec<ConfigProblem>) -> Result<(), Error> {
    problems.sort();
    problems.dedup();
    if problems.is_empty() { Ok(()) } else { Err(Error::Invalid(problems)) }
}

fn list(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ConfigProblem::to_string).collect();
    lines.join("\n")
}
