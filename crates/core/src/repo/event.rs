//! The events of a repository's stream. Their JSON is an interface: it is the exported log.
//!
//! Each feature says in its own `event.rs` what can happen to it. In JSON an event is flat: its `type` is the name of a variant
//! of one feature, and no two features have variants of one name.

mod parts;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{commands, mirror, outbox, ratchet, settings, trains};

pub(in crate::repo) use parts::is_default;
pub use parts::{
    Attribution, CiReport, CommandOutcome, CommentRef, DeliveryOutcome, FetchReason, PrStateName, PushDetail, ReadKind,
    RequestOutcome, StatusCommentPart, SyncReason, TrainTraces,
};

/// An event with its place in the stream: a line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedEvent {
    pub seq: u64,
    pub ts: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

macro_rules! events_of_features {
    ($($feature:ident($event:ty)),+ $(,)?) => {
        /// Something that happened.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Event {
            $($feature($event)),+
        }

        $(impl From<$event> for Event {
            fn from(event: $event) -> Self {
                Self::$feature(event)
            }
        })+

        /// The names of all types, each with the way to read an event of it.
        fn all_types() -> impl Iterator<Item = (&'static str, Read)> {
            let types = std::iter::empty::<(&'static str, Read)>();
            $(let types = types.chain(type_names::<$event>().iter().map(|name| {
                let read: Read = |value| <$event>::deserialize(value).map(Event::$feature);
                (*name, read)
            }));)+
            types
        }
    };
}

events_of_features! {
    Mirror(mirror::Event),
    Trains(trains::Event),
    Settings(settings::Event),
    Commands(commands::Event),
    Outbox(outbox::Event),
    Ratchet(ratchet::Event),
}

type Read = fn(Value) -> Result<Event, serde_json::Error>;

static TYPES: LazyLock<BTreeMap<&'static str, Read>> = LazyLock::new(|| all_types().collect());
static TYPE_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| TYPES.keys().copied().collect());

/// Which feature an event is of, its type tells; so that what is wrong with one can be told, too.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = value.get("type").ok_or_else(|| D::Error::missing_field("type"))?;
        let name = name.as_str().ok_or_else(|| D::Error::custom("the `type` of an event is no text"))?;
        let read = TYPES.get(name).ok_or_else(|| D::Error::unknown_variant(name, &TYPE_NAMES))?;
        read(value).map_err(D::Error::custom)
    }
}

/// The names that serde knows the variants of an enum by that is told apart by `type`. It lists them to whoever asks for one that
/// does not exist.
fn type_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let nameless = MapDeserializer::new([("type", "")].into_iter());
    match T::deserialize(nameless) {
        Err(Refused::Unknown { known }) => known,
        Ok(_) | Err(Refused::Otherwise) => unreachable!("no variant is without a name"),
    }
}

/// What serde says of an event that it cannot read.
#[derive(Debug)]
enum Refused {
    Unknown { known: &'static [&'static str] },
    Otherwise,
}

impl serde::de::Error for Refused {
    fn custom<T: Display>(_: T) -> Self {
        Self::Otherwise
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Self::Unknown { known }
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("not an event")
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_features_have_events_of_one_name() {
        assert_eq!(all_types().count(), TYPES.len());
    }
}
