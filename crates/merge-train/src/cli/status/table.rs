//! Trains, as a person reads them on a terminal.

use std::fmt::Write;

use anyhow::Context;
use jiff::Timestamp;
use merge_train_core::ids::{BranchName, PrNumber, RepoId};
use merge_train_core::repo::settings::{SettingInForce, SettingOrigin, SettingsFileProblem};
use merge_train_core::repo::trains::status::WaitReason;
use merge_train_core::repo::trains::{TrainError, TrainState};
use merge_train_core::repo::{Lifecycle, SyncProgress};
use serde::Deserialize;
use serde_json::Value;

use crate::daemon::server::settings::{RepoSettingsDocument, SettingsFileStatus};
use crate::terminal::{BOLD, DIM, GREEN, Ink, RED, YELLOW, ago, line, paragraph};

/// What of a train's JSON is shown.
#[derive(Deserialize)]
pub struct TrainRow {
    pub repo: RepoId,
    pub root: PrNumber,
    pub state: TrainState,
    pub current_pr: PrNumber,
    pub phase: String,
    pub started_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
    pub why: Option<WaitReason>,
    pub error: Option<TrainError>,
    pub stack: Vec<TrainMemberRow>,
    pub status_comment_url: Option<String>,
}

#[derive(Deserialize)]
pub struct TrainMemberRow {
    pub pr: PrNumber,
    pub branch: BranchName,
    pub predecessor: Option<PrNumber>,
    pub standing: String,
    pub merge_commit: Option<String>,
}

/// How well a repository is known, where that is not all there is to know.
pub fn progress(repo: &RepoId, progress: &SyncProgress, now: Timestamp) -> String {
    let left = match progress.unread {
        Some(0) | None => String::new(),
        Some(unread) => format!(", {unread} conversations still to read"),
    };
    let failed = progress.error.as_ref().map(|error| {
        let soon = progress.retry_at.map_or(0, |at| at.duration_since(now).as_secs().max(0));
        format!("\n  It failed {} times in a row: {error}. Retrying in {soon} s.", progress.attempts)
    });
    let failed = failed.unwrap_or_default();
    let what = match progress.lifecycle {
        Lifecycle::Ready => return String::new(),
        Lifecycle::Unknown => "unknown",
        Lifecycle::Bootstrapping => "first sync in progress",
        Lifecycle::Failed => "could not sync yet; no train moves until then",
        Lifecycle::Resync => "resyncing",
    };
    format!("{repo}: {what}{left}.{failed}\n")
}

/// What a repository says about itself, if it says anything.
pub fn settings(settings: &RepoSettingsDocument) -> String {
    let RepoSettingsDocument { repo, settings, file } = settings;
    let at = file.head_sha.as_deref().map(|sha| format!(" (at {})", &sha[..sha.floor_char_boundary(9)]));
    let at = at.unwrap_or_default();
    match file.status {
        SettingsFileStatus::Unknown | SettingsFileStatus::Absent => String::new(),
        SettingsFileStatus::Valid => {
            let own =
                |shown: &&SettingInForce| matches!(shown.origin, SettingOrigin::Repository | SettingOrigin::Bounded);
            let mut told = Vec::new();
            for SettingInForce { key, value, wanted, .. } in settings.iter().filter(own) {
                let wanted = wanted.as_ref().map(|wanted| format!(", not {wanted}: limited by the operator"));
                told.push(format!("{key} = {value}{}", wanted.unwrap_or_default()));
            }
            let told = if told.is_empty() { "nothing".to_owned() } else { told.join("; ") };
            line(&format!("{repo}: {} sets {told}{at}.", file.path)) + "\n"
        }
        SettingsFileStatus::Invalid => {
            let mut text =
                format!("{repo}: {} is not valid{at}; the previous settings stay in force. To fix:\n", file.path);
            for SettingsFileProblem { line: number, text: what, .. } in &file.problems {
                let _ = writeln!(text, "  line {number}: {}", line(what));
            }
            text
        }
    }
}

impl TrainRow {
    /// Reads what the API says of a train.
    pub fn read(train: &Value) -> anyhow::Result<Self> {
        Self::deserialize(train).context("the daemon has a different version than this command")
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            TrainState::Running => "running",
            TrainState::WaitingCi => "waiting_ci",
            TrainState::Stopped => "stopped",
            TrainState::Aborted => "aborted",
            TrainState::NeedsManualReview => "needs_manual_review",
        }
    }

    fn colour(&self) -> &'static str {
        match self.state {
            TrainState::Running => GREEN,
            TrainState::WaitingCi => YELLOW,
            TrainState::Stopped => DIM,
            TrainState::Aborted | TrainState::NeedsManualReview => RED,
        }
    }

    fn landed(&self) -> String {
        let landed = self.stack.iter().filter(|member| member.standing == "landed").count();
        format!("{landed} of {}", self.stack.len())
    }

    /// Why it does not move, in one line; none while it does.
    fn why_not_yet(&self, now: Timestamp) -> Option<String> {
        if let Some(WaitReason { blocker, who, since, next, .. }) = &self.why {
            let since = ago(*since, now);
            return Some(format!("why not yet: {} · {} · {since} · {}", line(blocker), line(who), line(next)));
        }
        if let Some(error) = &self.error {
            return Some(format!("what went wrong: {}", line(&error.message)));
        }
        let stopped_at = self.stopped_at.filter(|_| self.state == TrainState::Stopped)?;
        let (since, current) = (ago(stopped_at, now), self.current_pr);
        Some(format!("stopped {since}: nothing happens until someone comments `@merge-train start` on #{current}"))
    }
}

/// The trains of a repository, a row for each.
pub fn overview(repo: &RepoId, trains: &[TrainRow], ink: Ink, now: Timestamp) -> String {
    const HEADINGS: [&str; 5] = ["ROOT", "STATE", "CURRENT", "PHASE", "LANDED"];
    let rows: Vec<[String; 5]> = trains
        .iter()
        .map(|train| {
            let (root, current) = (format!("#{}", train.root), format!("#{}", train.current_pr));
            [root, train.state_name().to_owned(), current, train.phase.clone(), train.landed()]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).chain([HEADINGS[column].len()]).max();
    let widths: [usize; 5] = std::array::from_fn(|column| width(column).unwrap_or_default());
    let padded = |cells: [&str; 5]| -> Vec<String> {
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect()
    };
    let mut text = format!("{}\n", ink.paint(BOLD, &repo.to_string()));
    let _ = writeln!(text, "  {}", ink.paint(DIM, padded(HEADINGS).join("  ").trim_end()));
    for (train, row) in trains.iter().zip(&rows) {
        let mut cells = padded(row.each_ref().map(String::as_str));
        cells[1] = ink.paint(train.colour(), &cells[1]);
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
        if let Some(why) = train.why_not_yet(now) {
            let _ = writeln!(text, "{}", paragraph(&why, widths[0] + 4));
        }
    }
    text
}

/// One train with its stack.
pub fn detail(train: &TrainRow, ink: Ink, now: Timestamp) -> String {
    let mut text = overview(&train.repo, std::slice::from_ref(train), ink, now);
    let _ = writeln!(text, "\n  started {}", ago(train.started_at, now));
    for member in &train.stack {
        let on = member.predecessor.map(|on| format!(" on #{on}")).unwrap_or_default();
        let standing = match &member.merge_commit {
            Some(commit) => format!("{} as {}", member.standing, commit.get(..12).unwrap_or(commit)),
            None => member.standing.clone(),
        };
        let mark = if member.pr == train.current_pr { "→" } else { " " };
        let _ = writeln!(text, "  {mark} #{} {}{on}: {standing}", member.pr, member.branch);
    }
    if let (Some(_), Some(error)) = (&train.why, &train.error) {
        let _ = writeln!(text, "  what went wrong: {}", line(&error.message));
    }
    if let Some(url) = &train.status_comment_url {
        let _ = writeln!(text, "  {url}");
    }
    text
}

#[cfg(test)]
mod tests;
