//! The one door to GitHub.

pub mod webhook;
mod wire;
