//! What merge-train knows and decides. Pure: no clock, no randomness, no input or output; time and ids are arguments.

pub mod backoff;
pub mod facts;
#[cfg(test)]
mod fixtures;
pub mod ids;
pub mod inbox;
pub mod markdown;
pub mod repo;
pub mod secret;
#[cfg(test)]
mod wildcards;
pub mod workflow;
