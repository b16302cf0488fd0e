//! The `merge-train` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    merge_train::main()
}
