//! Apps: their installations, their tokens, and how a new one is made from a manifest.

mod installations;
mod manifest;
mod tokens;

pub use installations::{add, covered, on_repo, remove, select, suspend, unsuspend};
pub use manifest::{convert, propose};
pub use tokens::{TokenRequest, create_token};
