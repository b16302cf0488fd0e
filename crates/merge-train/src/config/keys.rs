//! API keys: who holds one, whose data it opens, and what may be done with it.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::{hmac, rand};
use merge_train_core::ids::{InvalidName, TenantId};
use merge_train_core::secret::HIDDEN;
use serde::Deserialize;

/// `[[api_keys]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    pub name: String,
    pub tenant: Tenants,
    pub role: Role,
    sha256: KeyDigest,
}

/// Whose data a key opens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Tenants {
    All,
    One(TenantId),
}

/// What a key may do; each role may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Viewer,
    Operator,
    Admin,
}

impl Role {
    /// As it is written in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// The SHA-256 of a key, in lower-case hexadecimal.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
struct KeyDigest(String);

impl ApiKey {
    /// A key that nobody holds, for visitors without one.
    pub fn of_nobody(name: &str, role: Role) -> Self {
        let mut digest = [0; 32];
        rand::fill(&mut digest).expect("the system has random numbers");
        Self { name: name.to_owned(), tenant: Tenants::All, role, sha256: KeyDigest(hex::encode(digest)) }
    }

    /// What only somebody who knows the digest of the key can say of a text.
    pub fn seal(&self, text: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.sha256.0.as_bytes());
        hex::encode(hmac::sign(&key, text.as_bytes()))
    }

    /// Whether somebody who presents `key` holds this key.
    pub fn opens_with(&self, key: &str) -> bool {
        is_same(&sha256_of(key), &self.sha256.0)
    }
}

/// As a key stands in the configuration.
pub fn sha256_of(key: &str) -> String {
    hex::encode(digest(&SHA256, key.as_bytes()))
}

/// Every byte is compared, so that the time taken tells nothing.
pub fn is_same(left: &str, right: &str) -> bool {
    left.len() == right.len() && left.bytes().zip(right.bytes()).fold(0, |all, (left, right)| all | (left ^ right)) == 0
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Tenants {
    /// Whether the data of this tenant is among it.
    pub fn includes(&self, tenant: &TenantId) -> bool {
        match self {
            Self::All => true,
            Self::One(own) => own == tenant,
        }
    }
}

impl TryFrom<String> for Tenants {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        if text == "*" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}
