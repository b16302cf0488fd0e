//! Names and numbers, parsed once at the edge. `Display` prints the bare value; the text around it adds the `#`.

mod stream;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

pub use stream::StreamId;

/// Why a text is not the name it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}")]
pub struct InvalidName {
    what: &'static str,
    text: String,
}

impl InvalidName {
    fn new(what: &'static str, text: &str) -> Self {
        // An error travels into logs and answers: it must not carry a megabyte of somebody's input.
        Self { what, text: text.chars().take(80).collect() }
    }
}

/// Reads a number, also from a text: as the key of a map in JSON it is one.
struct Number;

impl serde::de::Visitor<'_> for Number {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<u64, E> {
        text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

/// A number that GitHub gave to something.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
        #[serde(transparent)]
        $(#[$doc])*
        pub struct $name(u64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Number).map(Self)
            }
        }

        impl $name {
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

number! {
    /// A pull request's number in its repository.
    #[schema(example = 7)]
    PrNumber
}
number! {
    /// A comment of the conversation of a pull request.
    CommentId
}
number! {
    /// A user of GitHub; unlike a login, it never changes.
    UserId
}
number! {
    /// The installation of the app on one account.
    InstallationId
}
number! {
    /// A check suite.
    CheckSuiteId
}

/// A text of a known form, checked when it is made.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $what:literal, $valid:expr) => {
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(try_from = "String", into = "String")]
        $(#[$doc])*
        pub struct $name(String);

        impl $name {
            pub fn parse(text: impl Into<String>) -> Result<Self, InvalidName> {
                let text = text.into();
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text)) } else { Err(InvalidName::new($what, &text)) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::parse(text)
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }
    };
}

text! {
    /// The SHA of a git object. Only its form is checked, so that it is safe to pass to git; it may not exist.
    Sha, "a commit's SHA: 4 to 64 letters and digits",
    |text| (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
text! {
    /// A branch, without `refs/heads/`.
    BranchName, "a branch name: 1 to 255 bytes, as git allows it",
    |text| {
        (1..=255).contains(&text.len())
            && !text.starts_with(['-', '/', '.'])
            && !text.ends_with(['/', '.'])
            && !text.contains("..") && !text.contains("//") && !text.contains("@{") && !text.contains("/.")
            && text != "@" && !text.split('/').any(|part| part.ends_with(".lock"))
            && !text.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
    }
}
text! {
    /// The id that GitHub gave to one delivery of a webhook.
    DeliveryId, "a delivery id: 1 to 128 letters, digits, dashes, dots or underscores",
    |text| is_token(text, 128)
}
text! {
    /// The id of a run.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", example = "run-3f9c1e7a5b2d4c6e8f0a1b2c")]
    RunId, "a run id: 1 to 64 letters, digits, dashes, dots or underscores",
    |text| is_token(text, 64)
}
text! {
    /// The owner of the repository, in lower case (GitHub logins never differ only in case).
    #[schema(pattern = r"^[a-z0-9_\[\]-][a-z0-9._\[\]-]{0,99}$", example = "octocat")]
    TenantId, "a tenant: the owner of a repository, in lower case",
    |text| is_owner(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

impl TenantId {
    /// Of what concerns no owner in particular: a `ping` of the app. No account can have this name.
    pub fn nobody() -> Self {
        Self("-".to_owned())
    }
}

fn is_token(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_owner(text: &str) -> bool {
    // Enterprise accounts carry an underscore and a short code; apps end in `[bot]`.
    (1..=100).contains(&text.len())
        && !text.starts_with('.')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_[].".contains(&byte))
}

fn is_repo_name(text: &str) -> bool {
    is_token(text, 100) && text != "." && text != ".."
}

/// A repository. GitHub compares its names without regard to case, and so do we.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoId {
    owner: String,
    name: String,
}

impl RepoId {
    pub fn new(owner: &str, name: &str) -> Result<Self, InvalidName> {
        if is_owner(owner) && is_repo_name(name) {
            Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
        } else {
            Err(InvalidName::new("a repository: OWNER/NAME", &format!("{owner}/{name}")))
        }
    }

    /// The owner, as GitHub spells it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name without the owner, as GitHub spells it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn tenant(&self) -> TenantId {
        TenantId(self.owner.to_ascii_lowercase())
    }

    fn key(&self) -> String {
        format!("{}/{}", self.owner, self.name).to_ascii_lowercase()
    }
}

impl PartialSchema for RepoId {
    fn schema() -> RefOr<Schema> {
        // A name of its own may begin with dots, but not be nothing else.
        let owner = r"[A-Za-z0-9_\[\]-][A-Za-z0-9._\[\]-]{0,99}";
        let name = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}|\.\.[A-Za-z0-9._-]{1,98}";
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("A repository: `owner/name`."))
            .pattern(Some(format!("^{owner}/({name})$")))
            .examples(["octocat/hello"])
            .into()
    }
}

impl ToSchema for RepoId {}

impl PartialEq for RepoId {
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl Eq for RepoId {}

impl std::hash::Hash for RepoId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for RepoId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RepoId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl FromStr for RepoId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match text.split_once('/') {
            Some((owner, name)) => Self::new(owner, name),
            None => Err(InvalidName::new("a repository: OWNER/NAME", text)),
        }
    }
}

impl TryFrom<String> for RepoId {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<RepoId> for String {
    fn from(repo: RepoId) -> String {
        repo.to_string()
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl fmt::Debug for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_the_same_in_any_case() {
        let spelled: RepoId = "Acme/Widgets".parse().unwrap();
        assert_eq!(spelled, "acme/widgets".parse().unwrap());
        assert_eq!(spelled.to_string(), "Acme/Widgets");
        assert_eq!(spelled.tenant().as_str(), "acme");
    }

    #[test]
    fn names_that_could_leave_their_folder_are_refused() {
        for text in ["..", "a/..", "../b", "a/b/c", "a", "/b", "a/", "a/.", "a b/c", "a/b\n"] {
            assert!(text.parse::<RepoId>().is_err(), "{text:?}");
        }
        for text in [
            "", "-x", "a..b", "a b", "a\u{7}", "/a", "a/", "a~1", "x@{1}", "@", ".a", "a/.b", "a.lock", "a.lock/b",
            "a:b", "a\\b",
        ] {
            assert!(BranchName::parse(text).is_err(), "{text:?}");
        }
        for text in ["feature/one", "tobi's-branch", "release-1.0", "ünïcode"] {
            assert!(BranchName::parse(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_number_prints_bare() {
        assert_eq!(format!("#{}", PrNumber::new(5)), "#5");
    }
}
