//! GitHub's own scalars.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use jiff::Timestamp;

use crate::git::Signature;
use crate::http::iso;

macro_rules! string_scalar {
    ($($(#[$doc:meta])* $name:ident = $graphql:literal),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub String);

        #[Scalar(name = $graphql)]
        impl ScalarType for $name {
            fn parse(value: Value) -> InputValueResult<Self> {
                match value {
                    Value::String(text) => Ok(Self(text)),
                    other => Err(InputValueError::expected_type(other)),
                }
            }

            fn to_value(&self) -> Value {
                Value::String(self.0.clone())
            }
        }
    )*};
}

string_scalar! {
    Uri = "URI",
    Oid = "GitObjectID",
    Html = "HTML",
    Base64 = "Base64String",
    BigInt = "BigInt",
    GitSshRemote = "GitSSHRemote",
    /// A time with the offset it was written in.
    GitTimestamp = "GitTimestamp",
}

impl From<&Signature> for GitTimestamp {
    fn from(signature: &Signature) -> Self {
        let time = Timestamp::from_second(signature.seconds).unwrap_or_default();
        let offset = signature.offset.parse::<i32>().unwrap_or_default();
        let seconds = (offset / 100 * 60 + offset % 100) * 60;
        let text = match jiff::tz::Offset::from_seconds(seconds) {
            Ok(offset) if seconds != 0 => {
                time.to_zoned(offset.to_time_zone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
            }
            _ => iso(time),
        };
        Self(text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime(pub Timestamp);

#[Scalar]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        match value {
            Value::String(text) => Ok(Self(text.parse()?)),
            other => Err(InputValueError::expected_type(other)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(iso(self.0))
    }
}

/// GitHub's `Int` has 32 bits.
pub fn int(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// A `databaseId`: null when it does not fit.
pub fn database_id(id: u64) -> Option<i32> {
    id.try_into().ok()
}
