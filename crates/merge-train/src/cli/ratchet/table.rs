//! Workspaces, as a person reads them on a terminal.

use std::fmt::Write;

use anyhow::Context;
use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId};
use serde::Deserialize;
use serde_json::Value;

use crate::terminal::{BOLD, CYAN, Cell, DIM, GREEN, Ink, PLAIN, RED, YELLOW, ago, columns, line, moment};

/// The states that turning it on again leads out of.
const GIVEN_UP: [&str; 3] =
    ["PAUSED_ATTENTION_TERMINAL_FAILED", "PAUSED_ATTENTION_NO_PUSH", "PAUSED_ATTENTION_STALE_CI_TIMEOUT"];

/// What of a workspace's JSON is shown.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRow {
    pub repo: RepoId,
    pub pr: PrNumber,
    pr_url: String,
    branch: Option<String>,
    head_sha: Option<String>,
    ratchet_enabled: bool,
    state: String,
    reason_detail: Option<String>,
    current_activity: Option<String>,
    updated_at: Option<Timestamp>,
    outcome_kind: Option<String>,
    counters: Counters,
    active_session_id: Option<String>,
    stale_ci_since: Option<Timestamp>,
    last_checked_at: Option<Timestamp>,
    last_push_at: Option<Timestamp>,
    archived_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counters {
    consecutive_attempts: u32,
    max_attempts: u32,
}

impl WorkspaceRow {
    /// Reads what the API says of a workspace.
    pub fn read(workspace: &Value) -> anyhow::Result<Self> {
        Self::deserialize(workspace).context("the daemon has a different version than this command")
    }

    /// Whether a person has to do something about it.
    fn needs_attention(&self) -> bool {
        self.outcome_kind.as_deref() == Some("ATTENTION")
    }

    fn colour(&self) -> &'static str {
        match self.state.as_str() {
            _ if self.needs_attention() => RED,
            "FIXING_CI" | "FIXING_REVIEW" => CYAN,
            "PAUSED_DONE" => GREEN,
            "PAUSED_DISABLED" | "PAUSED_PR_NOT_OPEN" | "PAUSED_NO_PR" | "NEW" => DIM,
            _ => YELLOW,
        }
    }

    /// What is going on, or why nothing is.
    fn activity(&self) -> String {
        // What a person can do stands in the reason.
        let words = match self.needs_attention() {
            true => self.reason_detail.as_deref(),
            false => self.current_activity.as_deref().or(self.reason_detail.as_deref()),
        };
        words.map(first_line).unwrap_or_default()
    }

    fn attempts(&self) -> String {
        let Counters { consecutive_attempts: attempts, max_attempts: most } = self.counters;
        if attempts == 0 { String::new() } else { format!("{attempts} of {most}") }
    }
}

fn first_line(text: &str) -> String {
    line(text.lines().next().unwrap_or_default())
}

/// A row for each; those that need a person are marked.
pub fn overview(workspaces: &[WorkspaceRow], ink: Ink, now: Timestamp) -> String {
    let headings = ["", "PR", "STATE", "ACTIVITY", "ATTEMPTS", "SINCE"];
    let rows = workspaces.iter().map(|workspace| {
        let mark = if workspace.needs_attention() { "!" } else { "" };
        [
            Cell::coloured(RED, mark),
            format!("{}#{}", workspace.repo, workspace.pr).into(),
            Cell::coloured(workspace.colour(), line(&workspace.state)),
            workspace.activity().into(),
            workspace.attempts().into(),
            workspace.updated_at.map(|at| ago(at, now)).unwrap_or_default().into(),
        ]
    });
    columns(headings, rows.collect(), ink).into_iter().map(|row| row.trim_end().to_owned() + "\n").collect()
}

/// One of them, with all that a person wants to know.
pub fn detail(workspace: &WorkspaceRow, ink: Ink, now: Timestamp) -> String {
    let name = format!("{}#{}", workspace.repo, workspace.pr);
    let mut text = format!("{}  {}\n", ink.paint(BOLD, &name), ink.paint(workspace.colour(), &line(&workspace.state)));
    let mut entry = |what: &str, said: &str| {
        let _ = writeln!(text, "  {} {said}", ink.paint(DIM, &format!("{what:9}")));
    };
    let since = |at: Timestamp| format!("{} ({})", moment(at), ago(at, now));
    entry("ratchet", if workspace.ratchet_enabled { "on" } else { "off" });
    if let Some(activity) = &workspace.current_activity {
        entry("activity", &line(activity));
    }
    if let Some(why) = &workspace.reason_detail {
        let colour = if workspace.needs_attention() { RED } else { PLAIN };
        entry("why", &ink.paint(colour, &line(why)));
    }
    workspace.updated_at.into_iter().for_each(|at| entry("since", &since(at)));
    let attempts = workspace.attempts();
    if !attempts.is_empty() {
        entry("attempts", &format!("{attempts} fix attempts in a row"));
    }
    if let Some(branch) = &workspace.branch {
        let at = workspace.head_sha.as_deref().map(|sha| format!(" at {}", sha.get(..12).unwrap_or(sha)));
        entry("branch", &format!("{}{}", line(branch), at.unwrap_or_default()));
    }
    workspace.stale_ci_since.into_iter().for_each(|at| entry("CI", &format!("expected to start since {}", since(at))));
    workspace.last_push_at.into_iter().for_each(|at| entry("pushed", &since(at)));
    workspace.last_checked_at.into_iter().for_each(|at| entry("looked at", &since(at)));
    workspace.archived_at.into_iter().for_each(|at| entry("closed", &since(at)));
    if let Some(fixer) = &workspace.active_session_id {
        entry("fixer", &line(fixer));
    }
    entry("page", &line(&workspace.pr_url));
    text + &onward(workspace, &name, ink)
}

fn onward(workspace: &WorkspaceRow, name: &str, ink: Ink) -> String {
    let mut ways = Vec::new();
    if workspace.archived_at.is_none() && workspace.state != "PAUSED_PR_NOT_OPEN" {
        if let Some(fixer) = &workspace.active_session_id {
            let fixer = line(fixer);
            if workspace.state == "PAUSED_ATTENTION_PUSH_APPROVAL" {
                ways.push((
                    format!("merge-train runs show {fixer}"),
                    "to see what the fixer wants to push, and decide",
                ));
            }
            ways.push((format!("merge-train runs logs {fixer} --follow"), "to see what the fixer prints"));
        }
        if !workspace.ratchet_enabled {
            ways.push((format!("merge-train ratchet on '{name}'"), "to turn it on"));
        } else if GIVEN_UP.contains(&workspace.state.as_str()) {
            let again = format!("merge-train ratchet off '{name}' && merge-train ratchet on '{name}'");
            ways.push((again, "to reset the fix attempts"));
        }
        ways.push((format!("merge-train ratchet log '{name}'"), "to see the ratchet's decisions"));
    }
    if ways.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", ink.paint(BOLD, "What you can do:"));
    let rows = ways.into_iter().map(|(command, what)| [command.into(), Cell::coloured(DIM, what)]);
    // Nobody needs headings here.
    for way in columns(["", ""], rows.collect(), ink).into_iter().skip(1) {
        let _ = writeln!(text, "  {way}");
    }
    text
}

/// What is so for the pull requests of a repository without a setting of their own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatchetDefaultRow {
    repo: RepoId,
    enabled: bool,
    set_by: String,
}

impl RatchetDefaultRow {
    pub fn read(default: &Value) -> anyhow::Result<Self> {
        Self::deserialize(default).context("the daemon has a different version than this command")
    }

    pub fn sentence(&self) -> String {
        let is = if self.enabled { "on" } else { "off" };
        let by = match self.set_by.as_str() {
            "config" => "set in the configuration",
            "file" => "set in the repository's own settings",
            _ => "set by a person",
        };
        format!("The ratchet is {is} for all pull requests of {} without a setting of their own: {by}.\n", self.repo)
    }
}

/// A decision of the ratchet.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TransitionRow {
    action: String,
    reason: String,
    created_at: Timestamp,
}

impl TransitionRow {
    pub fn read(transition: &Value) -> anyhow::Result<Self> {
        Self::deserialize(transition).context("the daemon has a different version than this command")
    }
}

/// A line for each decision.
pub fn timeline(transitions: &[TransitionRow], ink: Ink) -> String {
    let rows = transitions.iter().map(|it| {
        let colour = if it.action.starts_with("FIX_") { CYAN } else { PLAIN };
        [moment(it.created_at).into(), Cell::coloured(colour, line(&it.action)), line(&it.reason).into()]
    });
    // Nobody needs headings here.
    columns(["", "", ""], rows.collect(), ink).into_iter().skip(1).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use merge_train_core::repo::ratchet::WorkspaceStatus;
    use serde_json::json;

    use super::*;

    fn workspace(change: &Value) -> WorkspaceRow {
        let mut shown = json!({
            "repo": "octocat/hello", "pr": 7, "prUrl": "https://github.com/octocat/hello/pull/7", "branch": "feature",
            "headSha": "0123456789abcdef0123456789abcdef01234567", "ratchetEnabled": true, "state": "FIXING_CI",
            "reasonDetail": "CI failed", "currentActivity": "Fixing build failures",
            "updatedAt": "2026-11-15T11:50:00Z", "outcomeKind": null, "kanbanColumn": "WORKING",
            "counters": { "consecutiveAttempts": 1, "maxAttempts": 3 }, "activeSessionId": "fixer-1",
            "staleCiSince": null, "lastCheckedAt": "2026-11-15T11:59:00Z", "lastPushAt": null, "archivedAt": null,
        });
        shown.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        WorkspaceRow::read(&shown).expect("a workspace")
    }

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().expect("a time")
    }

    fn held() -> Value {
        json!({
            "pr": 12, "state": "PAUSED_ATTENTION_PUSH_APPROVAL", "outcomeKind": "ATTENTION",
            "reasonDetail": "The fixer's push needs approval: it changes \u{1b}[31mci.yml\nand more",
            "currentActivity": "Waiting for approval of a fixer's push", "kanbanColumn": "WAITING",
            "counters": { "consecutiveAttempts": 0, "maxAttempts": 3 },
        })
    }

    #[test]
    fn the_guide_explains_every_state() {
        let guide = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ratchet.md"));
        for status in WorkspaceStatus::ALL {
            let row = format!("\n| `{}` | ", status.as_str());
            assert!(guide.contains(&row), "docs/ratchet.md does not explain {}", status.as_str());
        }
    }

    #[test]
    fn those_that_need_a_person_are_marked_in_the_list() {
        insta::assert_snapshot!(overview(&[workspace(&json!({})), workspace(&held())], Ink::Plain, now()));
    }

    #[test]
    fn one_is_shown_with_how_it_can_go_on() {
        insta::assert_snapshot!(detail(&workspace(&held()), Ink::Plain, now()));
        let off = json!({ "ratchetEnabled": false, "state": "PAUSED_DISABLED", "activeSessionId": null, "currentActivity": null });
        let off = detail(&workspace(&off), Ink::Plain, now());
        assert!(off.contains("  merge-train ratchet on 'octocat/hello#7'   to turn it on\n"), "{off}");
        let no_push =
            json!({ "state": "PAUSED_ATTENTION_NO_PUSH", "outcomeKind": "ATTENTION", "activeSessionId": null });
        let no_push = detail(&workspace(&no_push), Ink::Plain, now());
        assert!(no_push.contains("merge-train ratchet off 'octocat/hello#7' && merge-train ratchet on"), "{no_push}");
    }
}
