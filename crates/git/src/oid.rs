//! The full name of a git object.

use std::fmt;
use std::str::FromStr;

use merge_train_core::ids::Sha;

/// The full name of an object, in lower-case hexadecimal: nothing that git could take for an option, a ref or a range.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid(String);

impl Oid {
    pub fn parse(text: impl Into<String>) -> Result<Self, NotAnOid> {
        let text = text.into();
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && matches!(text.len(), 40 | 64) {
            Ok(Self(text))
        } else {
            Err(NotAnOid(text.chars().take(80).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

/// Why a text does not name an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the full name of a git object: 40 or 64 hexadecimal digits")]
pub struct NotAnOid(String);

impl FromStr for Oid {
    type Err = NotAnOid;
    fn from_str(text: &str) -> Result<Self, NotAnOid> {
        Self::parse(text)
    }
}

impl TryFrom<&Sha> for Oid {
    type Error = NotAnOid;
    fn try_from(sha: &Sha) -> Result<Self, NotAnOid> {
        Self::parse(sha.as_str().to_ascii_lowercase())
    }
}

impl From<&Oid> for Sha {
    fn from(oid: &Oid) -> Self {
        Self::parse(oid.as_str()).expect("hexadecimal digits are letters and digits")
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({})", self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_hexadecimal_name_is_an_oid() {
        let sha1 = "a".repeat(40);
        let sha256 = "0".repeat(64);
        for text in [&sha1, &sha256] {
            assert_eq!(Oid::parse(text).unwrap().as_str(), text);
        }
        for text in ["", "HEAD", "main", "--all", "-x", "abc123", &"A".repeat(40), &"g".repeat(40), &"a".repeat(41)] {
            assert!(Oid::parse(text).is_err(), "{text}");
        }
    }
}
