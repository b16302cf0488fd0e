//! Slots, above all where the clocks are changed.

use jiff::{SignedDuration, Zoned};

use super::*;

fn timetable(cron: &str, zone: &str) -> Timetable {
    Timetable::new(pattern(cron).unwrap(), time_zone(zone).unwrap())
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The slots of a time, as the clocks of the place show them.
fn slots(cron: &str, zone: &str, after: &str, until: &str) -> Vec<String> {
    let shown = |slot: Timestamp| slot.to_zoned(time_zone(zone).unwrap()).strftime("%d %H:%M %Z").to_string();
    timetable(cron, zone).between(at(after), at(until)).map(shown).collect()
}

/// Around the night in which Berlin goes from 02:00 to 03:00.
fn spring(cron: &str) -> Vec<String> {
    slots(cron, "Europe/Berlin", "2026-03-28T00:00:00+01:00", "2026-03-30T23:59:00+02:00")
}

/// Around the night in which Berlin goes from 03:00 back to 02:00.
fn autumn(cron: &str) -> Vec<String> {
    slots(cron, "Europe/Berlin", "2026-10-24T00:00:00+02:00", "2026-10-26T23:59:00+01:00")
}

#[test]
fn slots_are_by_the_clocks_of_the_place() {
    let daily = slots("30 9 * * MON-FRI", "America/New_York", "2026-01-02T00:00:00Z", "2026-01-07T00:00:00Z");
    assert_eq!(daily, ["02 09:30 EST", "05 09:30 EST", "06 09:30 EST"]);
    let utc: Vec<_> =
        timetable("@daily", "UTC").between(at("2024-12-18T12:00:00Z"), at("2024-12-20T12:00:00Z")).collect();
    assert_eq!(utc, [at("2024-12-19T00:00:00Z"), at("2024-12-20T00:00:00Z")]);
}

#[test]
fn a_daily_slot_that_does_not_exist_comes_right_after_the_gap() {
    assert_eq!(spring("30 2 * * *"), ["28 02:30 CET", "29 03:00 CEST", "30 02:30 CEST"]);
    assert_eq!(spring("30 1 * * *"), ["28 01:30 CET", "29 01:30 CET", "30 01:30 CEST"]);
    assert_eq!(spring("0 3 * * *"), ["28 03:00 CET", "29 03:00 CEST", "30 03:00 CEST"]);
}

#[test]
fn several_slots_that_do_not_exist_come_once() {
    assert_eq!(spring("0,30 2 29 * *"), ["29 03:00 CEST"]);
    assert_eq!(spring("0 2,3,4 29 * *"), ["29 03:00 CEST", "29 04:00 CEST"]);
}

#[test]
fn a_daily_slot_in_the_hour_that_happens_twice_comes_once() {
    assert_eq!(autumn("30 2 * * *"), ["24 02:30 CEST", "25 02:30 CEST", "26 02:30 CET"]);
    assert_eq!(autumn("0 2,14 25 * *"), ["25 02:00 CEST", "25 14:00 CET"]);
    assert_eq!(autumn("*/30 2 25 * *"), ["25 02:00 CEST", "25 02:30 CEST"]);
    assert_eq!(autumn("0 3 * * *"), ["24 03:00 CEST", "25 03:00 CET", "26 03:00 CET"]);
}

#[test]
fn in_the_second_of_two_equal_hours_its_slot_is_over() {
    let daily = timetable("30 2 * * *", "Europe/Berlin");
    let tomorrow = Some(at("2026-10-26T02:30:00+01:00"));
    for now in ["2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+01:00"] {
        assert_eq!(daily.after(at(now)), tomorrow, "{now}");
    }
    assert_eq!(daily.after(at("2026-10-25T02:29:59.9+02:00")), Some(at("2026-10-25T02:30:00+02:00")));
}

#[test]
fn what_goes_by_every_hour_goes_by_the_hours_that_pass() {
    let night = |cron: &str, after: &str| -> Vec<String> {
        let from = at(after);
        let zone = time_zone("Europe/Berlin").unwrap();
        let slots = timetable(cron, "Europe/Berlin");
        let until = from + SignedDuration::from_hours(4);
        slots.between(from, until).map(|slot| slot.to_zoned(zone.clone()).strftime("%H:%M %Z").to_string()).collect()
    };
    let spring = night("0 * * * *", "2026-03-29T00:00:00+01:00");
    assert_eq!(spring, ["01:00 CET", "03:00 CEST", "04:00 CEST", "05:00 CEST"]);
    let autumn = night("0 * * * *", "2026-10-25T00:00:00+02:00");
    assert_eq!(autumn, ["01:00 CEST", "02:00 CEST", "02:00 CET", "03:00 CET"]);
    assert_eq!(night("@hourly", "2026-10-25T00:00:00+02:00"), autumn);
}

/// Zones whose clocks go forward and back: by an hour, at midnight, by half an hour.
const CHANGES: [(&str, &str); 8] = [
    ("Europe/Berlin", "2026-03-29T00:00:00Z"),
    ("Europe/Berlin", "2026-10-25T00:00:00Z"),
    ("America/New_York", "2026-03-08T06:00:00Z"),
    ("America/New_York", "2026-11-01T05:00:00Z"),
    ("America/Santiago", "2026-09-06T03:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T14:30:00Z"),
    ("America/Santiago", "2026-04-05T03:00:00Z"),
];

#[test]
fn every_minute_whose_clock_fits_is_a_slot_of_what_goes_by_every_hour() {
    for (zone, middle) in CHANGES {
        let (from, until) = (at(middle) - SignedDuration::from_hours(30), at(middle) + SignedDuration::from_hours(30));
        for cron in ["* * * * *", "*/20 * * * *", "30 */2 * * *", "7 * * * SUN"] {
            let timetable = timetable(cron, zone);
            let minutes = (1..=60 * 60).map(|minute| from + SignedDuration::from_mins(minute));
            let fits = |at: &Timestamp| {
                let shown: Zoned = at.to_zoned(timetable.zone.clone());
                timetable.cron.is_time_matching(&shown).unwrap()
            };
            let expected: Vec<_> = minutes.filter(fits).collect();
            let found: Vec<_> = timetable.between(from, until).collect();
            assert_eq!(found, expected, "{cron} in {zone}");
        }
    }
}

#[test]
fn a_day_has_one_slot_of_a_daily_schedule_however_the_clocks_change() {
    for (zone, middle) in CHANGES {
        for minute in (0..24 * 60).step_by(10) {
            let daily = timetable(&format!("{} {} * * *", minute % 60, minute / 60), zone);
            let (from, until) =
                (at(middle) - SignedDuration::from_hours(72), at(middle) + SignedDuration::from_hours(72));
            let found: Vec<_> = daily.between(from, until).collect();
            let days: Vec<_> = found.iter().map(|slot| slot.to_zoned(daily.zone.clone()).date()).collect();
            assert!(days.windows(2).all(|pair| pair[0] < pair[1]), "{minute} in {zone}: {found:?}");
            // Six days, and one more or less where the edges lie so.
            assert!((5..=7).contains(&days.len()), "{minute} in {zone}: {found:?}");
        }
    }
}

#[test]
fn the_last_day_of_every_month_has_its_slot() {
    let days = slots("0 0 L * *", "UTC", "2026-10-15T00:00:00Z", "2027-03-15T00:00:00Z");
    assert_eq!(days, ["31 00:00 UTC", "30 00:00 UTC", "31 00:00 UTC", "31 00:00 UTC", "28 00:00 UTC"]);
}

#[test]
fn what_is_no_pattern_is_told() {
    let told = |text: &str| pattern(text).err().unwrap_or_default();
    assert_eq!(told("0 3 * *"), "it has 4 fields, not five: minute, hour, day of the month, month, day of the week");
    assert!(told("0 0 3 * * *").starts_with("it has 6 fields"));
    assert!(told("daily").starts_with("it has 1 field, not"));
    assert!(told("@reboot").contains("@daily"));
    assert_eq!(told("0 0 30 2 *"), "there is no such day");
    for bad in ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "x * * * *", "*/0 * * * *", "5-1 * * * *"] {
        assert_ne!(told(bad), "", "{bad}");
    }
    for good in ["0 3 * * *", " 0  3 * * * ", "@daily", "@Weekly", "*/5 9-17 * * mon-fri", "0 0 29 2 *", "0 0 * * 7"] {
        assert_eq!(told(good), "", "{good}");
    }
}

#[test]
fn a_time_zone_is_one_of_the_iana() {
    for good in ["UTC", "Europe/Berlin", "america/new_york", "Etc/GMT+5"] {
        assert!(time_zone(good).is_some(), "{good}");
    }
    for bad in ["Berlin", "Europe/Atlantis", "+02:00", "", "CEST"] {
        assert!(time_zone(bad).is_none(), "{bad}");
    }
}
