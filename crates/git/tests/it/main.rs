//! The git engine on real repositories.

mod proofs;
mod support;
