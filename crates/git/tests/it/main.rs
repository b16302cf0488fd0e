//! The git engine on real repositories.

mod plain;
mod proofs;
mod properties;
mod signing;
mod support;
