//! merge-train's one door to git.
//!
//! Merges happen in the object store of a bare clone: no file is checked out, no index is written. What a merge would do
//! can therefore be computed before anything is pushed ([`plan`]), and what was pushed can be recognised after a crash
//! ([`push`]).

pub mod cascade;
pub mod command;
pub mod error;
pub mod gateway;
pub mod merge;
pub mod objects;
pub mod oid;
pub mod plan;
pub mod proof;
pub mod push;
pub mod remote;
pub mod repository;
pub mod signing;
pub mod stack;
mod train;
pub mod worktree;

pub use command::Git;
pub use error::Error;
pub use objects::{Commit, Committer, Objects};
pub use oid::Oid;
pub use remote::{Remote, TokenSource};
pub use signing::Signing;
