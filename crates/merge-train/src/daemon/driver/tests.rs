//! The driver on a real store, with a world outside that does as it is told.

mod compaction;
mod effects;
mod fencing;
mod idle;
mod order;
mod outside;
mod restart;
mod runs;
mod stopping;
mod timers;
mod trains;
mod webhook;
mod world;

pub(super) use outside::NoCommands;
pub(super) use world::until;

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{EffectKey, mirror};

/// The repository that most tests are about.
fn widgets() -> RepoId {
    RepoId::new("acme", "widgets").unwrap()
}

/// Another one.
fn gadgets() -> RepoId {
    RepoId::new("acme", "gadgets").unwrap()
}

fn fetch(pr: u64) -> EffectKey {
    EffectKey::Mirror(mirror::EffectKey::FetchPull(PrNumber::new(pr)))
}
