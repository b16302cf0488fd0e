//! What a setting's value may be.

use std::net::SocketAddr;

use merge_train_core::ids::{RepoId, TenantId};
use merge_train_core::repo::trains::message::MessageTemplate;
use serde_json::Value;
use toml::de::DeValue;
use tracing_subscriber::EnvFilter;
use url::Url;

use merge_train_core::secret::HIDDEN;

use crate::daemon::schedules::timetable;
use github::is_this_machine;

/// The kinds of value. Each says in one place what it takes, from the file and from the environment alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Text,
    Path,
    HttpUrl,
    /// It may hold a password, and so is a secret.
    DatabaseUrl,
    Address,
    Choice(&'static [&'static str]),
    /// One of them, or a list.
    Choices(&'static [&'static str]),
    Integer {
        min: u64,
        max: u64,
    },
    /// So many minutes, or a part of one; never fewer than [`LEAST_MINUTES`].
    Minutes {
        max: u64,
    },
    Flag,
    LogFilter,
    Secret,
    /// One secret, or a list of them.
    Secrets,
    /// An address that whoever knows it can use, and so a secret.
    SecretUrl,
    /// Whoever gets it wrong may have written the key itself, and so it is a secret.
    Sha256,
    Tenant,
    /// A tenant, or `*`.
    Tenants,
    /// A text, or a list of them.
    Texts,
    /// How a commit's message is made.
    Template,
    /// A table of anything, for others to read.
    Table,
    /// A repository, as `owner/name`.
    Repo,
    /// When something happens, again and again.
    Cron,
    TimeZone,
}

/// The largest number that TOML can write: no limit.
pub const LARGEST: u64 = i64::MAX as u64;

/// A little more than half a second: whoever waits less asks all the time.
const LEAST_MINUTES: f64 = 0.01;
const MINUTE_MS: f64 = 60_000.0;

/// A value as somebody wrote it.
#[derive(Clone)]
pub enum WrittenValue {
    /// In quotes: a text and nothing else.
    Quoted(String),
    /// From the environment, which knows only texts: it may stand for a number.
    Bare(String),
    Integer(String),
    Decimal(String),
    Flag(bool),
    List(Vec<WrittenValue>),
    Table(Vec<(String, WrittenValue)>),
    /// Something no setting takes: its name in TOML.
    Other(&'static str),
}

/// How a value shows in a message. A secret does not.
enum ShownValue {
    Text(String),
    Type(&'static str),
}

impl ValueKind {
    /// Whether a message must not show the value.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::DatabaseUrl | Self::Secret | Self::Secrets | Self::SecretUrl | Self::Sha256)
    }

    /// Whether whoever reads the value can make use of it. Of a digest nobody can.
    pub fn reveals(self) -> bool {
        self.is_secret() && self != Self::Sha256
    }

    /// What is taken, to end the sentence "it must be".
    pub fn allowed(self) -> String {
        match self {
            Self::Text => "a text that is not empty".into(),
            Self::Path => "a path".into(),
            Self::HttpUrl => "a URL that begins with http:// or https://, without user or password".into(),
            Self::DatabaseUrl => "a URL that begins with postgres:// or postgresql://".into(),
            Self::Address => "an IP address and a port, such as 0.0.0.0:8080".into(),
            Self::Choice(choices) => format!("one of {}", choices.join(", ")),
            Self::Choices(choices) => format!("one of {}, or a list of them", choices.join(", ")),
            Self::SecretUrl => "a URL that begins with https://, or with http:// on this machine".into(),
            Self::Integer { min, max } if max == LARGEST => format!("a whole number, {min} or more"),
            Self::Integer { min, max } => format!("a whole number, {min}–{max}"),
            Self::Minutes { max } => format!("a number of minutes, {LEAST_MINUTES}–{max}"),
            Self::Flag => "true or false".into(),
            Self::LogFilter => "a level (error, warn, info, debug, trace), or target=level separated by commas".into(),
            Self::Secret => "a secret that is not empty".into(),
            Self::Secrets => "a secret that is not empty, or a list of them".into(),
            Self::Sha256 => {
                "the SHA-256 of the key and not the key: 64 hexadecimal digits, from `printf %s \"$KEY\" | sha256sum`"
                    .into()
            }
            Self::Tenant => "the owner of repositories".into(),
            Self::Tenants => "the owner of repositories, or * for all".into(),
            Self::Texts => "a text that is not empty, or a list of them".into(),
            Self::Table => "a table".into(),
            Self::Repo => "a repository, such as octocat/hello-world".into(),
            Self::Cron => {
                "five fields (minute, hour, day of the month, month, day of the week), or a name such as @daily".into()
            }
            Self::TimeZone => "the name of a time zone, such as Europe/Berlin or UTC".into(),
            Self::Template => "a text, with placeholders such as {title}".into(),
        }
    }

    /// The value in the form the typed sections are made of, or the end of a sentence that begins with the setting's
    /// name.
    pub fn accept(self, written: &WrittenValue) -> Result<Value, String> {
        if let (Self::Template, WrittenValue::Quoted(text) | WrittenValue::Bare(text)) = (self, written) {
            MessageTemplate::parse(text).map_err(|unknown| format!("is not a valid template: {unknown}"))?;
        }
        if let (Self::Cron, WrittenValue::Quoted(text) | WrittenValue::Bare(text)) = (self, written)
            && !text.trim().is_empty()
        {
            timetable::pattern(text).map_err(|why| format!("is {text:?}, which is not a cron pattern: {why}"))?;
        }
        self.value(written).ok_or_else(|| {
            let shown = match ShownValue::of(written) {
                ShownValue::Text(text) if text.is_empty() => "empty".to_owned(),
                // A URL that is refused for the password in it is not the place to show it.
                ShownValue::Text(text) if self.is_secret() || text.contains('@') => HIDDEN.to_owned(),
                ShownValue::Text(text) => text,
                ShownValue::Type(name) => name.to_owned(),
            };
            format!("is {shown}; it must be {}", self.allowed())
        })
    }

    fn value(self, written: &WrittenValue) -> Option<Value> {
        match (self, written) {
            (Self::Secrets | Self::Texts | Self::Choices(_), WrittenValue::List(items)) => self.list(items),
            (Self::Secrets | Self::Texts | Self::Choices(_), WrittenValue::Bare(text)) if text.starts_with('[') => {
                self.list(&array(text)?)
            }
            (Self::Secrets | Self::Texts | Self::Choices(_), one) => self.list(std::slice::from_ref(one)),
            (Self::Integer { min, max }, WrittenValue::Integer(text) | WrittenValue::Bare(text)) => {
                let number: u64 = text.parse().ok()?;
                (min..=max).contains(&number).then(|| number.into())
            }
            (
                Self::Minutes { max },
                WrittenValue::Integer(text) | WrittenValue::Decimal(text) | WrittenValue::Bare(text),
            ) => {
                let minutes: f64 = text.parse().ok()?;
                // In whole milliseconds, which is what they are read as.
                (LEAST_MINUTES..=max as f64).contains(&minutes).then(|| ((minutes * MINUTE_MS).round() as u64).into())
            }
            (Self::Flag, WrittenValue::Flag(flag)) => Some((*flag).into()),
            (Self::Flag, WrittenValue::Bare(text)) => text.parse::<bool>().ok().map(Value::from),
            (Self::Table, table @ WrittenValue::Table(_)) => Some(table.json()),
            (Self::Integer { .. } | Self::Minutes { .. } | Self::Flag | Self::Table, _) => None,
            (_, WrittenValue::Quoted(text) | WrittenValue::Bare(text)) => self.text(text).map(Value::from),
            _ => None,
        }
    }

    fn list(self, items: &[WrittenValue]) -> Option<Value> {
        let one = match self {
            Self::Secrets => Self::Secret,
            Self::Choices(choices) => Self::Choice(choices),
            _ => Self::Text,
        };
        let values: Option<Vec<Value>> = items.iter().map(|item| one.value(item)).collect();
        values.filter(|values| !values.is_empty()).map(Value::from)
    }

    /// A text in the one form in which it is used: an address without the slash at its end, a digest in lower case.
    fn text(self, text: &str) -> Option<String> {
        let given = || (!text.trim().is_empty()).then(|| text.to_owned());
        match self {
            Self::HttpUrl => {
                let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()))?;
                let open = url.username().is_empty() && url.password().is_none() && url.has_host();
                let plain = url.query().is_none() && url.fragment().is_none();
                (open && plain).then(|| text.trim_end_matches('/').to_owned())
            }
            Self::DatabaseUrl => {
                let url = Url::parse(text).ok()?;
                ["postgres", "postgresql"].contains(&url.scheme()).then(|| text.to_owned())
            }
            // Nobody listens in on what stays on this machine.
            Self::SecretUrl => {
                let url = Url::parse(text).ok()?;
                let is_safe = match url.scheme() {
                    "https" => url.has_host(),
                    "http" => url.host().is_some_and(is_this_machine),
                    _ => false,
                };
                is_safe.then(|| text.to_owned())
            }
            Self::Address => text.parse::<SocketAddr>().ok().map(|address| address.to_string()),
            Self::Choice(choices) => choices.contains(&text).then(|| text.to_owned()),
            Self::LogFilter => EnvFilter::try_new(text).ok().and_then(|_| given()),
            Self::Sha256 => {
                let digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                digest.then(|| text.to_ascii_lowercase())
            }
            Self::Tenants if text == "*" => given(),
            Self::Tenant | Self::Tenants => {
                text.to_ascii_lowercase().parse::<TenantId>().ok().map(|tenant| tenant.to_string())
            }
            Self::Repo => text.parse::<RepoId>().ok().map(|repo| repo.to_string()),
            Self::TimeZone => timetable::time_zone(text).and_then(|_| given()),
            _ => given(),
        }
    }
}

impl ShownValue {
    fn of(written: &WrittenValue) -> Self {
        match written {
            WrittenValue::Quoted(text) | WrittenValue::Bare(text) if text.is_empty() => Self::Text(String::new()),
            WrittenValue::Quoted(text) | WrittenValue::Bare(text) => Self::Text(format!("{text:?}")),
            WrittenValue::Integer(text) | WrittenValue::Decimal(text) => Self::Text(text.clone()),
            WrittenValue::Flag(flag) => Self::Text(flag.to_string()),
            WrittenValue::List(items) if items.is_empty() => Self::Text(String::new()),
            WrittenValue::List(_) => Self::Type("a list"),
            WrittenValue::Table(_) => Self::Type("a table"),
            WrittenValue::Other(name) => Self::Type(name),
        }
    }
}

impl WrittenValue {
    /// What TOML says, with `text` making of each text what it stands for.
    pub fn from_toml<E>(value: &DeValue<'_>, text: &mut impl FnMut(&str) -> Result<Self, E>) -> Result<Self, E> {
        Ok(match value {
            DeValue::String(value) => text(value)?,
            DeValue::Integer(value) => {
                let number = i128::from_str_radix(value.as_str(), value.radix());
                Self::Integer(number.map_or_else(|_| value.as_str().to_owned(), |number| number.to_string()))
            }
            DeValue::Boolean(flag) => Self::Flag(*flag),
            DeValue::Array(items) => {
                let items: Result<Vec<Self>, E> =
                    items.iter().map(|item| Self::from_toml(item.get_ref(), text)).collect();
                Self::List(items?)
            }
            DeValue::Float(value) => Self::Decimal(value.as_str().to_owned()),
            DeValue::Datetime(_) => Self::Other("a date"),
            DeValue::Table(table) => {
                let entries: Result<Vec<_>, E> = table
                    .iter()
                    .map(|(key, value)| Ok((key.get_ref().to_string(), Self::from_toml(value.get_ref(), text)?)))
                    .collect();
                Self::Table(entries?)
            }
        })
    }

    /// As it stands, whatever it is for.
    fn json(&self) -> Value {
        match self {
            Self::Quoted(text) | Self::Bare(text) => text.as_str().into(),
            Self::Integer(text) | Self::Decimal(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            Self::Flag(flag) => (*flag).into(),
            Self::List(items) => items.iter().map(Self::json).collect(),
            Self::Table(entries) => entries.iter().map(|(key, value)| (key.clone(), value.json())).collect(),
            Self::Other(_) => Value::Null,
        }
    }
}

/// A list in the environment is written as in the file.
fn array(text: &str) -> Option<Vec<WrittenValue>> {
    let value = DeValue::parse(text).ok()?;
    let quoted = |text: &str| Ok::<_, std::convert::Infallible>(WrittenValue::Quoted(text.to_owned()));
    match WrittenValue::from_toml(value.get_ref(), &mut { quoted }) {
        Ok(WrittenValue::List(items)) => Some(items),
        _ => None,
    }
}
