//! The engine against a remote: fetching, pushing, planning, surviving.

mod clones;
mod hostile;
mod plans;
mod pushes;
mod stacks;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "each test binary uses a part of the world")]
mod support;
mod tokens;
