//! Where the tests start git, apart from the code under test.

use std::path::Path;
use std::process::Output;

use test_support::programs;

/// Runs git, which must succeed, and returns what it printed.
pub fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    succeeded(args, run(folder, args, &[], b""))
}

/// The same, with bytes to read.
pub fn git_reading(folder: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    succeeded(args, run(folder, args, &[], input))
}

/// The same, at a time of the world's clock.
pub fn git_at(folder: &Path, args: &[&str], seconds: i64) -> Vec<u8> {
    succeeded(args, run_at(Path::new("git"), folder, args, seconds))
}

/// Runs a git at a time of the world's clock; whether it succeeds is the question.
pub fn run_at(program: &Path, folder: &Path, args: &[&str], seconds: i64) -> Output {
    let date = format!("{seconds} +0000");
    start(program, folder, args, &[("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)], b"")
}

/// Major and minor.
pub fn version(program: &Path) -> (u32, u32) {
    let output = start(program, Path::new("/"), &["version"], &[], b"");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.trim_start_matches("git version ").split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn run(folder: &Path, args: &[&str], env: &[(&str, &str)], input: &[u8]) -> Output {
    start(Path::new("git"), folder, args, env, input)
}
fn start(program: &Path, folder: &Path, args: &[&str], env: &[(&str, &str)], input: &[u8]) -> Output {
    let mut command = programs::isolated(program, folder);
    command
        .args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        .args(["-c", "advice.detachedHead=false", "-c", "core.fsync=none"])
        .args(args)
        .env("GIT_ATTR_NOSYSTEM", "1")
        .envs(programs::identity("lander", "lander@example.com"))
        .envs(env.iter().copied());
    programs::run(command, input)
}

fn succeeded(args: &[&str], output: Output) -> Vec<u8> {
    assert!(output.status.success(), "git {args:?}: {}", programs::printed(&output));
    output.stdout
}
