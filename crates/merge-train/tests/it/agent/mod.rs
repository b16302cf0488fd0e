//! The commands of workflow steps and fixers, as processes: what they get, what becomes of their output, what is kept from
//! them, and that nothing of them is left.
//!
//! The program is its own guard, so the guard is the built program; what runs it is the module itself.

mod ending;
mod fixer;
mod fixers;
mod outcomes;
mod output;
#[cfg(target_os = "linux")]
mod sealed;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod ways;
mod world;
