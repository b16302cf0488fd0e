//! `merge-train serve` as a process: what it takes in, what it survives, what it says.

mod idempotency;
mod kill;
mod outage;
mod simulator;
mod state;
mod support;
mod surface;
