//! Proofs: what must be seen in the objects themselves before the next step is taken on the word of somebody else.

mod copies;
mod landed;
mod merge_driver;
mod own_change;
mod patch;
mod prepared;
mod squash;

pub use landed::LandedProof;
pub use own_change::{Below, Candidate, TwoWays};
pub use patch::PatchId;
pub use squash::{Landing, NotSquash, Squash};
