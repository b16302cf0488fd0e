//! The tests' own door to programs, beside those that they test: nothing of the machine's configuration or environment has a say.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A program, in a folder, with an environment that is the same everywhere.
#[expect(clippy::disallowed_methods, reason = "the one door of the tests")]
pub fn isolated(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")])
        .envs([("GIT_EDITOR", "true"), ("GIT_TERMINAL_PROMPT", "0")])
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
        .stdin(Stdio::null());
    command
}

/// Who writes the commits of a command.
pub fn identity(name: &str, email: &str) -> [(&'static str, String); 4] {
    let [name, email] = [name.to_owned(), email.to_owned()];
    [
        ("GIT_AUTHOR_NAME", name.clone()),
        ("GIT_AUTHOR_EMAIL", email.clone()),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_COMMITTER_EMAIL", email),
    ]
}

/// Runs a program to its end, with bytes to read.
pub fn run(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    std::thread::scope(|scope| {
        // A program that does not read all of it is no error.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("the program ends")
    })
}

/// All that a program printed.
pub fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs git beside everything else, which must succeed. What it printed, without the line end.
pub async fn git(folder: &Path, args: &[&str]) -> String {
    let output = try_git(folder, args).await;
    assert!(output.status.success(), "git {args:?}: {}", printed(&output));
    String::from_utf8(output.stdout).expect("git prints UTF-8 here").trim_end().to_owned()
}

/// The same where it may fail.
pub async fn try_git(folder: &Path, args: &[&str]) -> Output {
    let mut command = tokio::process::Command::from(isolated("git", folder));
    command.args(args).kill_on_drop(true).output().await.expect("git starts")
}
