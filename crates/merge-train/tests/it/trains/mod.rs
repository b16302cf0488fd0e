//! Stacks that land, or that stop with a reason: the daemon against a simulated GitHub, with real webhooks and real git.
//!
//! Every test ends with `finish`, which holds what must hold of every train, and keeps the conversation as a snapshot.

mod authorization;
mod declarations;
mod disk;
mod late;
mod meddling;
mod no_change_lost;
mod notify;
mod own_settings;
mod pauses;
mod preflight;
mod readiness;
mod recovery;
mod runs;
mod status;
mod stopping;
mod support;
mod topologies;
