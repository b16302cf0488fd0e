//! The git engine on real repositories.

mod equality;
mod gateway;
mod plain;
mod proofs;
mod properties;
mod signing;
#[allow(dead_code, unused_imports, reason = "each test binary uses a part of the world")]
mod support;
mod worktrees;
