//! The test world.
