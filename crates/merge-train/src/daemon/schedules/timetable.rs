//! When a schedule's slots are: a cron pattern, read on the clocks of a time zone.
//!
//! A pattern that names its hours (`30 2 * * *`) has a slot for each time that it names, however the clocks are changed: a
//! time that happens twice counts when it comes first, and what falls into an hour that is left out comes right after it.
//! One that goes by every hour (`*/10 * * * *`) goes by the hours that really pass.

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// From here on it is tried whether a pattern ever comes. Before any leap day that could be its only one.
const BEGINNING: DateTime = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);

#[derive(Debug, Clone)]
pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
    hours: Hours,
}

/// How a pattern says at which hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hours {
    Named,
    Every,
}

/// Reads five fields, or a nickname such as `@daily`. Or says what is wrong with them, to end a sentence.
pub fn pattern(text: &str) -> Result<Cron, String> {
    let fields = text.split_whitespace().count();
    if fields != 5 && !text.trim_start().starts_with('@') {
        return Err(format!(
            "it has {fields} {}, not five: minute, hour, day of the month, month, day of the week",
            if fields == 1 { "field" } else { "fields" }
        ));
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(text).map_err(|error| match error {
        _ if text.trim_start().starts_with('@') => {
            "the only names are @hourly, @daily, @weekly, @monthly and @yearly".to_owned()
        }
        CronError::InvalidPattern(why) | CronError::IllegalCharacters(why) | CronError::ComponentError(why) => why,
        other => other.to_string(),
    })?;
    match cron.find_next_occurrence(&BEGINNING, true) {
        Ok(_) => Ok(cron),
        Err(_) => Err("there is no such day".to_owned()),
    }
}

/// A time zone by its name in the IANA's database.
pub fn time_zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

impl Timetable {
    pub fn new(cron: Cron, zone: TimeZone) -> Self {
        let hours = if cron.pattern.hours.from_wildcard { Hours::Every } else { Hours::Named };
        Self { cron, zone, hours }
    }

    /// The first slot after this moment. None at the end of time.
    pub fn after(&self, at: Timestamp) -> Option<Timestamp> {
        let here = at.to_zoned(self.zone.clone());
        match self.hours {
            Hours::Every => self.cron.find_next_occurrence(&here, false).ok().map(|slot| slot.timestamp()),
            Hours::Named => {
                let mut clock = here.datetime();
                loop {
                    clock = self.cron.find_next_occurrence(&clock, false).ok()?;
                    // Where an hour happens again, its slots are over.
                    if let Some(slot) = self.moment(clock).filter(|slot| *slot > at) {
                        return Some(slot);
                    }
                }
            }
        }
    }

    /// All slots after one moment and not after another, oldest first.
    pub fn between(&self, after: Timestamp, until: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.after(after), |slot| self.after(*slot)).take_while(move |slot| *slot <= until)
    }

    /// When the clock first shows this time; the end of the gap where it never does.
    fn moment(&self, clock: DateTime) -> Option<Timestamp> {
        let found = self.zone.to_ambiguous_timestamp(clock);
        let first = found.earlier().ok()?;
        match found.offset() {
            AmbiguousOffset::Gap { .. } => self.zone.following(first).next().map(|change| change.timestamp()),
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => Some(first),
        }
    }
}

#[cfg(test)]
mod tests;
