//! Pull requests that keep moving: the daemon against a simulated GitHub whose CI really runs, and fixers that really mend.
//!
//! The success criteria of the specification, and where each is shown (`core` has the same decisions as unit tests, in
//! `repo/tests/ratchet`):
//!
//! 1. No duplicate fixup for the same failure or comment: `integration_1`, `integration_9`, `integration_14`, and
//!    `tests/it/crashes/ratchet.rs` with the daemon killed at each point.
//! 2. After a push CI is waited for: `integration_1`, `integration_8`.
//! 3. No push, attention at once: `integration_3`, `integration_4`.
//! 4. Three pushes in vain end it: `integration_2`.
//! 5. A push by hand, turning it on again, or being done resets the counter: `integration_2`, `integration_1`, and in `core`
//!    `unit_the_attempt_counter_resets_on_ratchet_re_enable_in_every_way_to_do_that`.
//! 6. Structured logs explain every decision: `observed.rs`.
//! 7. The current activity is always shown: `integration_1`, `integration_11`, `integration_12`, `integration_13`, and in `core`
//!    `every_state_has_its_activity`.
//! 8. Clean completion is told from what needs a person: `observed.rs` (`outcomeKind`), and on the dashboard
//!    `tests/it/dashboard`.
//! 9. Late pushes and comments wake it: `integration_9`, `integration_10`, `integration_14`.

mod approvals;
mod flows;
mod hostile;
mod observed;
mod people;
mod scale;
mod stacks;
