//! A text that is never printed: tokens, keys, passwords.

use std::fmt;

use serde::Deserialize;

/// How a secret is shown, wherever it would be shown.
pub const HIDDEN: &str = "***";

/// A value that no log line, error or debug print shows. Only [`Secret::expose`] gives it away.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for whoever has to send it or compare with it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_by_nothing_but_expose() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:#?}", Some(&secret)), "*** *** Some(\n    ***,\n)");
        assert_eq!(secret.expose(), "hunter2");
    }
}
