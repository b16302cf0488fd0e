//! What the tests and benchmarks of several crates share. It depends on no other crate of the workspace, so that nothing is tested
//! with the code under test, and so that the simulator's tests stay free of the daemon's crates.

pub mod api;
pub mod cache;
pub mod git_server;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod programs;
pub mod wait;
