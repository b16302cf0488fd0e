//! What somebody typed, as an answer may repeat it.

use std::fmt;

use crate::markdown::code_span;

/// The most characters that an answer repeats.
const LONGEST: usize = 40;

/// The beginning of what somebody typed, on one line. Shown, it is code in Markdown: it mentions nobody and links
/// nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedInput(String);

impl QuotedInput {
    pub(super) fn of(words: &[&str]) -> Self {
        let text = words.join(" ");
        match text.char_indices().nth(LONGEST) {
            None => Self(text),
            Some(_) => Self(text.chars().take(LONGEST - 1).chain(['…']).collect()),
        }
    }

    /// The bare text, for whoever makes it code: it can hold any character but the ends of lines.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QuotedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&code_span(&self.0))
    }
}
