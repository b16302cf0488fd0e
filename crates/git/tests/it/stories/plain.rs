//! The tests' own door to git: plain commands on a repository and on files, apart from the code under test.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use test_support::programs::{self, printed};

/// The files of a commit, by their paths. The stories have no folders.
pub type Files = BTreeMap<String, String>;

pub fn git(folder: &Path, args: &[&str]) -> String {
    let output = run("git", folder, args, b"");
    assert!(output.status.success(), "git {args:?}: {}", printed(&output));
    String::from_utf8(output.stdout).expect("the stories' texts are UTF-8").trim_end().to_owned()
}

/// The same where it may fail: none then.
pub fn try_git(folder: &Path, args: &[&str]) -> Option<String> {
    let output = run("git", folder, args, b"");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Runs the lines of a shell as somebody does who copies them from a comment. Whether all of them succeed is the question.
pub fn shell(folder: &Path, script: &str) -> Result<(), String> {
    let output = run("bash", folder, &["-e"], script.as_bytes());
    if output.status.success() { Ok(()) } else { Err(printed(&output)) }
}

/// What `git merge` makes of two commits: a tree, or nothing where they conflict.
pub fn merged_tree(folder: &Path, ours: &str, theirs: &str) -> Option<String> {
    let merged = try_git(folder, &["merge-tree", "--write-tree", ours, theirs])?;
    merged.lines().next().map(str::to_owned)
}

/// A commit with a tree that is there.
pub fn commit_tree(folder: &Path, tree: &str, parents: &[&str], message: &str) -> String {
    let mut args = vec!["commit-tree", tree, "-m", message];
    parents.iter().for_each(|parent| args.extend(["-p", parent]));
    git(folder, &args)
}

/// A commit with exactly these files.
pub fn commit_files(folder: &Path, files: &Files, parent: Option<&str>, message: &str) -> String {
    let mut stream = Vec::new();
    let mut line = |text: String| {
        stream.extend_from_slice(text.as_bytes());
        stream.push(b'\n');
    };
    line("commit refs/stories/scratch".to_owned());
    line("mark :1".to_owned());
    line("committer A Person <person@example.com> 1700000000 +0000".to_owned());
    line(format!("data {}\n{message}", message.len()));
    if let Some(parent) = parent {
        line(format!("from {parent}"));
    }
    line("deleteall".to_owned());
    for (path, text) in files {
        line(format!("M 100644 inline {path}"));
        line(format!("data {}\n{text}", text.len()));
    }
    line("reset refs/stories/scratch".to_owned());
    line("get-mark :1".to_owned());
    let output = run("git", folder, &["fast-import", "--quiet", "--force"], &stream);
    assert!(output.status.success(), "fast-import: {}", printed(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// What a commit holds.
pub fn files(folder: &Path, commit: &str) -> Files {
    let listed = git(folder, &["ls-tree", "-r", "-z", commit]);
    let entries: Vec<(&str, &str)> = listed
        .split_terminator('\0')
        .map(|entry| {
            let (info, path) = entry.split_once('\t').expect("a path");
            (info.split(' ').nth(2).expect("an object"), path)
        })
        .collect();
    let wanted: String = entries.iter().map(|(object, _)| format!("{object}\n")).collect();
    let output = run("git", folder, &["cat-file", "--batch"], wanted.as_bytes());
    let mut rest = output.stdout.as_slice();
    let mut files = Files::new();
    for (_, path) in entries {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a header");
        let header = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size: usize = header.rsplit(' ').next().and_then(|size| size.parse().ok()).expect("a size");
        let text = String::from_utf8(rest[end + 1..end + 1 + size].to_vec()).expect("text");
        files.insert(path.to_owned(), text);
        rest = &rest[end + 2 + size..];
    }
    files
}
fn run(program: &str, folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let settings: &[&str] = match program {
        "git" => &["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsync=none"],
        _ => &[],
    };
    let mut command = programs::isolated(program, folder);
    command
        .args(settings)
        .args(args)
        .env("GIT_ADVICE", "0")
        .envs(programs::identity("A Person", "person@example.com"))
        .envs([("GIT_AUTHOR_DATE", "1700000000 +0000"), ("GIT_COMMITTER_DATE", "1700000000 +0000")]);
    programs::run(command, input)
}
