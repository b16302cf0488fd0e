//! Programs as a person or a fixer runs them: with their own configuration, and nobody's protection.

use std::path::Path;
use std::process::Output;

use test_support::programs;
pub use test_support::programs::printed as text;

/// Runs a program; whether it succeeds is the question.
pub fn run(program: &str, folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = programs::isolated(program, folder);
    command.args(args).envs(programs::identity("somebody", "somebody@example.com")).envs(env.iter().copied());
    command.output().expect("the program starts")
}

/// Runs git, which must succeed, and returns what it printed, trimmed.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = run("git", folder, args, &[]);
    assert!(output.status.success(), "git {args:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
