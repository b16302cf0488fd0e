//! Programs as a person or a fixer runs them: with their own configuration, and nobody's protection.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a program; whether it succeeds is the question.
#[expect(clippy::disallowed_methods, reason = "the tests' own door to programs, beside the one they test")]
pub fn run(program: &str, folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Output {
    Command::new(program)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("GIT_EDITOR", "true"), ("GIT_TERMINAL_PROMPT", "0")])
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
        .envs([("GIT_AUTHOR_NAME", "somebody"), ("GIT_AUTHOR_EMAIL", "somebody@example.com")])
        .envs([("GIT_COMMITTER_NAME", "somebody"), ("GIT_COMMITTER_EMAIL", "somebody@example.com")])
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// Runs git, which must succeed, and returns what it printed, trimmed.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = run("git", folder, args, &[]);
    assert!(output.status.success(), "git {args:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// All that a program printed.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
