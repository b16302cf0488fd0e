//! Webhooks: what is told to whom ([`emit`]), and how it gets there.

pub mod emit;

use crate::Sim;

/// Sends what waits to be sent, now and as it comes.
pub fn start_delivering(sim: &Sim) {
    let _ = sim;
}
