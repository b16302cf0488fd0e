//! Trains in bad weather: everything goes wrong that the simulator can do wrong, at times that nobody chose.
//!
//! What is random comes from a seed. A seed that fails is printed; `MERGE_TRAIN_TEST_SEED=…` tries that one alone.

mod independence;
mod required_check;
mod seeds;
mod support;
