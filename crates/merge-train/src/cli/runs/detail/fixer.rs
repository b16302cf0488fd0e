//! What came of a fixer: what it was sent for, what it pushed or wants to push, and why.

use std::fmt::Write;

use merge_train_core::repo::FIXER;
use merge_train_core::repo::ratchet::WorkspaceReason;
use merge_train_core::workflow::Run;
use serde::Deserialize;

use crate::terminal::{BOLD, CYAN, DIM, GREEN, Ink, PLAIN, RED, line, spelled_out};

/// How many of the files that it changes are named.
const MOST_FILES: usize = 20;

/// The result of the run that a fixer is.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct FixerResult {
    issue: String,
    branch: String,
    head_sha: String,
    push: Option<FixerPush>,
    diff: Option<String>,
    exit: Option<String>,
    outcome: Option<WorkspaceReason>,
    pushed_sha: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FixerPush {
    to: String,
    files: Vec<String>,
}

fn fixer_result(run: &Run) -> Option<FixerResult> {
    FixerResult::deserialize(run.result.as_ref()?).ok().filter(|_| run.kind == FIXER)
}

/// What there is to say, by its name.
pub fn entries(run: &Run) -> Vec<(&'static str, String)> {
    let Some(result) = fixer_result(run) else { return Vec::new() };
    let issue = match result.issue.as_str() {
        "FIX_CI" => "fix CI failures",
        "FIX_REVIEW" => "address the review",
        _ => "mend it",
    };
    let mut entries = vec![("sent to", format!("{issue}, on {} at {}", line(&result.branch), short(&result.head_sha)))];
    if let Some(FixerPush { to, files }) = &result.push {
        let named: Vec<String> = files.iter().take(MOST_FILES).map(|file| line(file)).collect();
        let more = files.len().saturating_sub(MOST_FILES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let verb = if run.status.is_terminal() { "pushed" } else { "pushes" };
        let verb = if result.diff.is_some() { "would push" } else { verb };
        entries.push((verb, format!("{}: {}{more}", short(to), named.join(", "))));
    }
    entries.extend(result.exit.map(|exit| ("it ended", line(&exit))));
    match (result.outcome, result.pushed_sha) {
        (Some(outcome), Some(sha)) => entries.push(("result", format!("{}: {}", outcome.sentence(), short(&sha)))),
        // What failed says so itself.
        (Some(outcome), None) if run.error.is_none() => entries.push(("result", outcome.sentence().to_owned())),
        _ => {}
    }
    entries
}

/// What a fixer wants to push that waits for approval, as a person reads it.
pub fn diff(run: &Run, ink: Ink) -> String {
    let Some(diff) = fixer_result(run).and_then(|result| result.diff).filter(|_| !run.status.is_terminal()) else {
        return String::new();
    };
    let mut text = format!("\n{}\n", ink.paint(BOLD, "Proposed push:"));
    for written in spelled_out(&diff).split_terminator('\n') {
        let _ = writeln!(text, "  {}", ink.paint(colour(written), written));
    }
    text
}

fn colour(line: &str) -> &'static str {
    let of_what_it_begins_with =
        [("diff ", BOLD), ("+++ ", BOLD), ("--- ", BOLD), ("index ", DIM), ("@@", CYAN), ("+", GREEN), ("-", RED)];
    of_what_it_begins_with.into_iter().find(|(begin, _)| line.starts_with(begin)).map_or(PLAIN, |(_, colour)| colour)
}

fn short(sha: &str) -> String {
    line(sha).chars().take(12).collect()
}
