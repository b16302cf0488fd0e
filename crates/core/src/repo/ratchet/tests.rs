//! The ratchet's rules, each for itself: what is decided, on what, and in which words.

mod action;
mod eligibility;
mod news;
mod told;
mod words;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::ids::Sha;

/// A time after which nothing of what a test speaks of has happened.
fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

fn ago(wait: SignedDuration) -> Timestamp {
    now().checked_sub(wait).expect("a time")
}

fn sha(number: u64) -> Sha {
    Sha::parse(format!("{number:040x}")).expect("a commit")
}
