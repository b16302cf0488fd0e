//! The mirror: what GitHub has, as far as it is known here, and what is to be read again.
//!
//! Webhooks and answers of GitHub tell of pull requests, comments and branches. What is missing or old is read; what nobody
//! needs any more is forgotten.

pub(super) mod comments;
pub(super) mod deliveries;
mod membership;
pub(super) mod pruning;
pub(super) mod reads;
mod stacks;
