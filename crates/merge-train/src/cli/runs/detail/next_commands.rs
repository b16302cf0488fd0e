//! How a run can go on: the commands that there are for it, as they have to be typed.

use std::fmt::Write;

use merge_train_core::repo::{FIXER, TRAIN, current_pull};
use merge_train_core::workflow::{Run, RunState, RunStatus};
use serde_json::Value;

use super::super::table::{is_winding_up, subject};
use crate::terminal::{BOLD, Cell, DIM, Ink, columns, line};

pub fn text(run: &Run, run_state: Option<&RunState>, ink: Ink) -> String {
    let ways = ways(run, run_state);
    if ways.is_empty() {
        return String::new();
    }
    let rows = ways.into_iter().map(|(command, what)| [command.into(), Cell::coloured(DIM, what)]);
    let mut text = format!("\n{}\n", ink.paint(BOLD, "What you can do:"));
    // Nobody needs headings here.
    for way in columns(["", ""], rows.collect(), ink).into_iter().skip(1) {
        let _ = writeln!(text, "  {way}");
    }
    text
}

fn ways(run: &Run, run_state: Option<&RunState>) -> Vec<(String, &'static str)> {
    let on = |verb: &str| format!("merge-train runs {verb} {}", run.id);
    let watch = (on("watch"), "to follow it");
    let cancel = (on("cancel"), "to end it");
    let is_train = run.kind == TRAIN;
    if run.kind == FIXER {
        return ways_of_fixer(run);
    }
    match run.status {
        RunStatus::Completed => Vec::new(),
        RunStatus::Failed | RunStatus::Cancelled => vec![(anew(run, run_state), "to start over")],
        _ if is_winding_up(run) => vec![watch],
        RunStatus::AwaitingApproval => {
            let reject = (format!("{} --reason 'why not'", on("reject")), "to reject it, which ends the run");
            let approve = if is_train { "to continue after the review" } else { "to approve it" };
            vec![(on("approve"), approve), reject, cancel, watch]
        }
        RunStatus::WaitingExternal => {
            let resume = if is_train { "to check again now" } else { "to continue without the event it waits for" };
            vec![(on("resume"), resume), cancel, watch]
        }
        RunStatus::Pending | RunStatus::Running => {
            let step = run_state.and_then(|run_state| run_state.steps.get(run_state.position));
            let resume = step.is_some_and(|step| step.retry_at.is_some());
            let resume = resume.then(|| (on("resume"), "to retry now"));
            resume.into_iter().chain([watch, cancel]).collect()
        }
    }
}

fn ways_of_fixer(run: &Run) -> Vec<(String, &'static str)> {
    let on = |verb: &str| format!("merge-train runs {verb} {}", run.id);
    let pull = quoted(&subject(run));
    let logs = (on("logs"), "to see what it printed");
    match run.status {
        RunStatus::AwaitingApproval => {
            vec![(on("approve"), "to push it"), (format!("{} --reason 'why not'", on("reject")), "to drop it"), logs]
        }
        RunStatus::Completed => vec![logs],
        RunStatus::Failed | RunStatus::Cancelled => {
            let anew = format!("merge-train ratchet off {pull} && merge-train ratchet on {pull}");
            vec![
                logs,
                (format!("merge-train ratchet status {pull}"), "to see the ratchet's state"),
                (anew, "to reset the fix attempts"),
            ]
        }
        RunStatus::Pending | RunStatus::Running | RunStatus::WaitingExternal => vec![
            (format!("{} --follow", on("logs")), "to see what it prints"),
            (on("watch"), "to follow it"),
            (on("cancel"), "to end it"),
        ],
    }
}

/// The command that begins the same again.
fn anew(run: &Run, run_state: Option<&RunState>) -> String {
    if run.kind == TRAIN {
        // What has landed is not the root any more.
        let current = current_pull(run);
        let pull = current.map_or_else(|| subject(run), |current| format!("{}#{current}", run.repo_id));
        return format!("merge-train train start {}", quoted(&line(&pull)));
    }
    let mut command = format!("merge-train runs start {}", quoted(&run.kind));
    match (run.repo_id.as_str(), run.pr_id.as_str()) {
        ("", _) => {
            let _ = write!(command, " --tenant {}", quoted(run.tenant_id.as_str()));
        }
        (repo, "") => {
            let _ = write!(command, " --repo {}", quoted(repo));
        }
        (repo, pr) => {
            let _ = write!(command, " --repo {} --pr {}", quoted(repo), quoted(pr));
        }
    }
    if let Some(inputs) = run_state.map(|run_state| &run_state.created.inputs).filter(|inputs| !inputs.is_empty()) {
        let _ = write!(command, " --inputs {}", quoted(&visible(&Value::Object(inputs.clone()))));
    }
    command
}

/// JSON without anything that a terminal would obey: some of that may stand in it as it is.
fn visible(value: &Value) -> String {
    let escaped = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    value.to_string().chars().map(escaped).collect()
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(visible(&serde_json::json!({ "a": "\u{9b}2J\u{1b}" })), r#"{"a":"\u009b2J\u001b"}"#);
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_more_into_it() {
        for (word, expected) in [
            ("octocat/hello", "octocat/hello"),
            ("octocat/hello#12", "'octocat/hello#12'"),
            ("", "''"),
            ("it's $HOME", r"'it'\''s $HOME'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
