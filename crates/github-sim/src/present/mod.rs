//! How things look from outside: the JSON of GitHub's REST API. Webhooks build on the same pieces.

mod repo;
mod user;

pub use repo::{full_repo, minimal_repo, repo};
pub use user::{public_user, simple_user};
