//! The ratchet: pull requests that keep moving. What broke is noticed, and a fixer is sent to mend it.

pub mod brief;
