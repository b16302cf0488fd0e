//! Which slots of a schedule are to be ordered.

use jiff::{SignedDuration, Timestamp};
use merge_train_core::inbox::slot;
use serde::Deserialize;

use super::timetable::Timetable;

/// The most slots that are caught up: a downtime must not end in a flood.
pub const MOST_CAUGHT_UP: usize = 100;
/// What should have happened before that, nobody waits for any more.
pub const OLDEST_CAUGHT_UP: SignedDuration = SignedDuration::from_hours(7 * 24);
/// What is due at once beyond this comes with the next look.
const MOST_AT_ONCE: usize = 100;
/// Slots are minutes.
pub const GRANULARITY: SignedDuration = SignedDuration::from_mins(1);
/// The least time there is between before and after.
const A_MOMENT: SignedDuration = SignedDuration::from_nanos(1);
/// How far back the latest slot is looked for at first; then eight times as far, and again.
const FIRST_LOOK_BACK: SignedDuration = SignedDuration::from_hours(1);

/// What is done about slots that nobody was there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedSlotPolicy {
    Skip,
    /// The latest, once.
    Latest,
    /// Each, oldest first, within limits.
    All,
}

/// How far a schedule has come, and what time it is.
#[derive(Debug, Clone, Copy)]
pub struct SchedulePosition {
    /// The last slot that was dealt with.
    pub done: Timestamp,
    /// Since when somebody is there. What came in the same minute is not missed.
    pub since: Timestamp,
    pub now: Timestamp,
}

/// The slots whose time has come and that are not dealt with, oldest first. What came since somebody is there is never left
/// out, however late it is by now.
pub fn due(timetable: &Timetable, missed: MissedSlotPolicy, moment: SchedulePosition) -> Vec<Timestamp> {
    let SchedulePosition { done, since, now } = moment;
    let absent_until = slot(since, GRANULARITY) - A_MOMENT;
    let mut slots = match missed {
        MissedSlotPolicy::Skip => Vec::new(),
        MissedSlotPolicy::Latest => latest(timetable, done, absent_until.min(now)).into_iter().collect(),
        MissedSlotPolicy::All => {
            // A slot that is just so old still counts.
            let too_old = now.checked_sub(OLDEST_CAUGHT_UP + A_MOMENT).unwrap_or(Timestamp::MIN);
            let all: Vec<_> = timetable.between(done.max(too_old), absent_until.min(now)).collect();
            all[all.len().saturating_sub(MOST_CAUGHT_UP)..].to_vec()
        }
    };
    slots.extend(timetable.between(done.max(absent_until), now).take(MOST_AT_ONCE));
    slots
}

/// The last slot after one moment and not after another, found without going through all of them.
fn latest(timetable: &Timetable, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
    let mut look_back = FIRST_LOOK_BACK;
    loop {
        let from = until.checked_sub(look_back).map_or(after, |from| from.max(after));
        match timetable.between(from, until).last() {
            Some(slot) => return Some(slot),
            None if from <= after => return None,
            None => look_back = look_back.checked_mul(8)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::schedules::timetable::{pattern, time_zone};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn timetable(cron: &str) -> Timetable {
        Timetable::new(pattern(cron).unwrap(), time_zone("UTC").unwrap())
    }

    /// What is due of a schedule, as texts.
    fn told(cron: &str, missed: MissedSlotPolicy, done: &str, since: &str, now: &str) -> Vec<String> {
        let moment = SchedulePosition { done: at(done), since: at(since), now: at(now) };
        due(&timetable(cron), missed, moment).iter().map(Timestamp::to_string).collect()
    }

    const HOURLY: &str = "0 * * * *";

    #[test]
    fn a_slot_is_due_from_its_first_moment_on_and_once() {
        let due = |done: &str, now: &str| told(HOURLY, MissedSlotPolicy::Skip, done, "2026-01-01T09:30:00Z", now);
        assert_eq!(due("2026-01-01T09:00:00Z", "2026-01-01T09:59:59.999Z"), [""; 0]);
        assert_eq!(due("2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z"), ["2026-01-01T10:00:00Z"]);
        assert_eq!(due("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"), [""; 0]);
        assert_eq!(due("2026-01-01T10:00:00Z", "2026-01-01T10:59:00Z"), [""; 0]);
    }

    #[test]
    fn after_a_downtime_each_policy_catches_up_its_own() {
        let due = |missed| told(HOURLY, missed, "2026-01-01T05:00:00Z", "2026-01-01T09:30:00Z", "2026-01-01T09:30:00Z");
        assert_eq!(due(MissedSlotPolicy::Skip), [""; 0]);
        assert_eq!(due(MissedSlotPolicy::Latest), ["2026-01-01T09:00:00Z"]);
        let all = ["2026-01-01T06:00:00Z", "2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"];
        assert_eq!(due(MissedSlotPolicy::All), all);
    }

    #[test]
    fn what_came_while_somebody_was_there_is_never_left_out() {
        // The database was away from before ten until after twelve.
        for missed in [MissedSlotPolicy::Skip, MissedSlotPolicy::Latest, MissedSlotPolicy::All] {
            let due = told(HOURLY, missed, "2026-01-01T09:00:00Z", "2026-01-01T09:30:00Z", "2026-01-01T12:10:00Z");
            assert_eq!(due, ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"], "{missed:?}");
        }
        // And with it, what was missed before.
        let due = |missed| told(HOURLY, missed, "2026-01-01T05:00:00Z", "2026-01-01T07:30:00Z", "2026-01-01T08:10:00Z");
        assert_eq!(due(MissedSlotPolicy::Skip), ["2026-01-01T08:00:00Z"]);
        assert_eq!(due(MissedSlotPolicy::Latest), ["2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z"]);
        assert_eq!(
            due(MissedSlotPolicy::All),
            ["2026-01-01T06:00:00Z", "2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z"]
        );
    }

    #[test]
    fn whoever_starts_within_the_minute_of_a_slot_is_in_time() {
        let due =
            |since: &str| told(HOURLY, MissedSlotPolicy::Skip, "2026-01-01T09:00:00Z", since, "2026-01-01T10:01:30Z");
        assert_eq!(due("2026-01-01T10:00:59Z"), ["2026-01-01T10:00:00Z"]);
        assert_eq!(due("2026-01-01T10:01:00Z"), [""; 0]);
    }

    #[test]
    fn of_a_long_downtime_all_has_its_limits() {
        let due = |cron: &str, done: &str| {
            told(cron, MissedSlotPolicy::All, done, "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z")
        };
        let minutes = due("* * * * *", "2026-01-31T00:00:00Z");
        // The last hundred; the hundred and first is the minute in which somebody came.
        assert_eq!(minutes.len(), MOST_CAUGHT_UP + 1);
        assert_eq!((minutes[0].as_str(), minutes[100].as_str()), ("2026-01-31T10:20:00Z", "2026-01-31T12:00:00Z"));
        assert!(minutes.is_sorted());
        let days = due("0 12 * * *", "2025-06-01T12:00:00Z");
        assert_eq!((days[0].as_str(), days.len()), ("2026-01-24T12:00:00Z", 8), "exactly seven days old, and today's");
        assert_eq!(due("59 11 24 1 *", "2025-06-01T12:00:00Z"), [""; 0], "a minute older");
    }

    #[test]
    fn the_latest_is_found_however_long_ago_it_was() {
        let latest = |cron: &str, done: &str| {
            told(cron, MissedSlotPolicy::Latest, done, "2026-01-31T12:30:30Z", "2026-01-31T12:30:30Z")
        };
        assert_eq!(latest("* * * * *", "2020-01-01T00:00:00Z"), ["2026-01-31T12:29:00Z", "2026-01-31T12:30:00Z"]);
        assert_eq!(latest("@weekly", "2020-01-01T00:00:00Z"), ["2026-01-25T00:00:00Z"]);
        assert_eq!(latest("@yearly", "2020-01-01T00:00:00Z"), ["2026-01-01T00:00:00Z"]);
        assert_eq!(latest("0 0 29 2 *", "2020-01-01T00:00:00Z"), ["2024-02-29T00:00:00Z"]);
        assert_eq!(latest("0 0 29 2 *", "2024-02-29T00:00:00Z"), [""; 0]);
    }

    #[test]
    fn what_is_too_much_for_one_look_comes_with_the_next() {
        let look = |done: &str| {
            told("* * * * *", MissedSlotPolicy::Skip, done, "2026-01-01T00:00:30Z", "2026-01-01T03:20:00Z")
        };
        let first = look("2026-01-01T00:00:30Z");
        assert_eq!((first.len(), first[99].as_str()), (100, "2026-01-01T01:40:00Z"));
        let second = look(&first[99]);
        assert_eq!((second.len(), second[99].as_str()), (100, "2026-01-01T03:20:00Z"));
        assert_eq!(look(&second[99]), [""; 0]);
    }

    #[test]
    fn a_clock_that_was_put_back_makes_nothing_due() {
        for missed in [MissedSlotPolicy::Skip, MissedSlotPolicy::Latest, MissedSlotPolicy::All] {
            let due = told(HOURLY, missed, "2026-01-01T12:00:00Z", "2026-01-01T11:30:00Z", "2026-01-01T09:30:00Z");
            assert_eq!(due, [""; 0], "{missed:?}");
        }
    }
}
