//! The crash matrix: the daemon is killed at every failpoint of every scenario, once, and once more while it recovers.
//!
//! A case has a name, `effect.push.end#2/fan-out/twice`: the second time that a push has ended and that is not recorded, in a
//! fan-out, and then again in the midst of the recovery. `MERGE_TRAIN_TEST_CASE=…` tries that one alone,
//! `MERGE_TRAIN_TEST_MATRIX=whole` every one in a life of its own. The table of all is in `target/crash-matrix.md`.
//!
//! What holds in the end, whatever happened: each pull request is on the default branch once, every branch has the tree that
//! it has without a crash, no record of a train is behind what it was and no status comment ahead of it, who is frozen stays
//! frozen, no worktree is left, nothing is said or given twice, nothing was forced, and all trains are done.

mod case;
mod daemon;
mod life;
mod matrix;
mod person;
mod place;
mod ratchet;
mod released;
mod runs;
mod scenario;
mod table;
mod verify;
