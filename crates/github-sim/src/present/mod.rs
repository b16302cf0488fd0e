//! How things look from outside: the JSON of GitHub's REST API. Webhooks build on the same pieces.

mod issue;
mod repo;
mod user;

pub use issue::{
    author_association, issue, issue_comment, issue_html_url, label, labels_of, reaction, reaction_rollup,
};
pub use repo::{full_repo, minimal_repo, repo};
pub use user::{public_user, simple_user};
