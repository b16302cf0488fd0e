//! The git engine on real repositories.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod clones;
mod equality;
mod gateway;
mod hostile;
mod plain;
mod plans;
mod proofs;
mod properties;
mod pushes;
mod signing;
mod stacks;
mod stories;
mod support;
mod tokens;
mod worktrees;
