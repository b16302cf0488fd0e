//! merge-train: the daemon (`daemon/`) and the command line (`cli/`) as one library.

mod cli;
mod clock;
mod config;
mod daemon;
mod narration;
mod telemetry;
mod terminal;

use std::process::ExitCode;

pub use daemon::agent;
pub use daemon::driver::workspaces;

/// The whole program: what its arguments ask for, or the guard of a command.
pub fn main() -> ExitCode {
    // Before the runtime and everything else: see there.
    if agent::guard::is_asked_for() { agent::guard::run() } else { cli::run() }
}
