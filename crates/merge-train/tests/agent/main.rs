//! The commands of workflow steps and fixers, as processes: what they get, what becomes of their output, what is kept from
//! them, and that nothing of them is left.
//!
//! The program is its own guard, so the guard is the built program; what runs it is the module itself.

mod ending;
mod fixer;
mod fixers;
mod outcomes;
mod output;
#[allow(dead_code, reason = "the half that is the guard is called in the built program")]
#[path = "../../src"]
mod program {
    pub mod agent;
    pub mod telemetry {
        pub mod redact;
    }
}
#[cfg(target_os = "linux")]
mod sealed;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod ways;
mod world;
