//! The part of the status comment that people read: headline, table of the stack, error, and why the train waits.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cut_to_bytes;
use crate::ids::{BranchName, PrNumber, Sha};
use crate::markdown::{code_span, introduced};
use crate::repo::trains::{CascadePhase, TrainRecord, TrainState};

/// How much of an error's message is shown; the JSON has more of it.
const SHOWN_MESSAGE_BYTES: usize = 1_000;

/// What the record of a train does not know, and its reader wants to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainStatusView {
    pub default_branch: BranchName,
    /// From the pull request where the train began, each after the one it is stacked on.
    pub stack: Vec<StackRow>,
    /// Why the train does not move. None only while it does, or once a person ended it.
    pub why: Option<WaitReason>,
}

/// A pull request of the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackRow {
    pub pr: PrNumber,
    pub branch: BranchName,
    /// The pull request it was stacked on; None for the root.
    pub predecessor: Option<PrNumber>,
    pub standing: StackRowState,
}

/// The state of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackRowState {
    Open,
    Draft,
    /// With the commit on the default branch, as soon as GitHub names it.
    Landed(Option<Sha>),
    Closed,
}

/// What a train waits for. Each text is one sentence of Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(from = "StoredWhy")]
#[schema(as = Why)]
pub struct WaitReason {
    /// What blocks it: "The required check `build` failed on PR #124."
    pub blocker: String,
    /// Who can remove it: "The author of PR #124, by pushing a fix."
    pub who: String,
    pub since: Timestamp,
    /// What the bot does once it is removed: "PR #124 is squash-merged once the check passes."
    pub next: String,
    /// Who has to act, in a word.
    #[serde(default)]
    pub party: WaitParty,
}

/// As it is stored: older versions kept no party.
#[derive(Deserialize)]
struct StoredWhy {
    blocker: String,
    who: String,
    since: Timestamp,
    next: String,
    party: Option<WaitParty>,
}

impl From<StoredWhy> for WaitReason {
    fn from(StoredWhy { blocker, who, since, next, party }: StoredWhy) -> Self {
        let party = party.unwrap_or_else(|| WaitParty::of_older_text(&who));
        Self { blocker, who, since, next, party }
    }
}

/// Who has to act, in broad groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Party)]
pub enum WaitParty {
    Author,
    Reviewer,
    Maintainer,
    Ci,
    Fixer,
    /// GitHub itself, or the way there; and whatever was waited for before this was kept.
    #[default]
    Github,
}

impl WaitParty {
    /// Whether it is a person, who may want to know.
    pub fn is_person(self) -> bool {
        matches!(self, Self::Author | Self::Reviewer | Self::Maintainer)
    }

    /// Whether it is a person who may not know it yet. Of a fixer's push that waits for a maintainer, its own run tells.
    pub fn is_to_be_told(self) -> bool {
        match self {
            Self::Author | Self::Reviewer => true,
            Self::Maintainer | Self::Ci | Self::Fixer | Self::Github => false,
        }
    }

    /// Who was meant where only the text was stored. Of the others, older versions did not say more than that text.
    pub(in crate::repo) fn of_older_text(who: &str) -> Self {
        let people = [("The author of ", Self::Author), ("A reviewer of ", Self::Reviewer)];
        people.into_iter().find(|(name, _)| who.starts_with(name)).map_or(Self::default(), |(_, party)| party)
    }
}

/// The part of the status comment that people read.
pub fn human(record: &TrainRecord, view: &TrainStatusView) -> String {
    let mut parts = vec![headline(record, view)];
    if !view.stack.is_empty() {
        parts.push(table(record, view));
    }
    if let Some(error) = &record.error {
        let message = cut_to_bytes(&error.message, SHOWN_MESSAGE_BYTES);
        parts.push(introduced("**What went wrong:**", &message));
    }
    if let Some(why) = &view.why {
        parts.push(why_not_yet(why));
    }
    parts.extend(what_to_do(record));
    parts.push(format!("<sub>Train of #{}, started {}.</sub>", record.original_root_pr, minute(record.started_at)));
    parts.join("\n\n")
}

fn headline(record: &TrainRecord, view: &TrainStatusView) -> String {
    let current = record.current_pr;
    let idle = record.cascade_phase == CascadePhase::Idle;
    let doing = doing(record, &view.default_branch);
    match record.state {
        TrainState::Running if idle => format!("Train running — PR #{current} is next to land"),
        TrainState::Running => format!("Train running — {doing}"),
        TrainState::WaitingCi if idle => format!("Train waiting — PR #{current} is not ready to merge yet"),
        TrainState::WaitingCi => format!("Train waiting — paused while {doing}"),
        TrainState::Stopped => {
            let when = record.stopped_at.map(|at| format!(" at {}", minute(at))).unwrap_or_default();
            format!("Train stopped{when} — it was {doing}")
        }
        TrainState::Aborted => format!("Train aborted — it was {doing}"),
        TrainState::NeedsManualReview if idle => {
            format!("Train needs manual review — progress on PR #{current} is unknown")
        }
        TrainState::NeedsManualReview => format!("Train needs manual review — it was {doing}"),
    }
}

/// What the phase is about, for a sentence that says who does it.
fn doing(record: &TrainRecord, default_branch: &BranchName) -> String {
    let (current, phase) = (record.current_pr, &record.cascade_phase);
    let default_branch = code_span(default_branch.as_str());
    let progress = progress(phase);
    match phase {
        CascadePhase::Idle => format!("waiting for PR #{current} to become ready"),
        CascadePhase::Preparing { .. } => {
            format!("preparing the descendants of PR #{current} for its squash{progress}")
        }
        CascadePhase::SquashPending { .. } => format!("squash-merging PR #{current}"),
        CascadePhase::Reconciling { .. } => format!("reconciling PR #{current} after squash{progress}"),
        CascadePhase::CatchingUp { .. } => {
            format!("catching up with {default_branch} after the squash of PR #{current}{progress}")
        }
        CascadePhase::Retargeting { .. } => {
            format!("retargeting to {default_branch} after the squash of PR #{current}{progress}")
        }
    }
}

fn progress(phase: &CascadePhase) -> String {
    let of = phase.frozen_descendants().len();
    let skipped = match phase.skipped().len() {
        0 => String::new(),
        count => format!(", {count} skipped"),
    };
    match of {
        0 => String::new(),
        1 => format!(" ({}/1 descendant complete{skipped})", phase.completed().len()),
        of => format!(" ({}/{of} descendants complete{skipped})", phase.completed().len()),
    }
}

fn table(record: &TrainRecord, view: &TrainStatusView) -> String {
    let mut lines = vec!["| Pull request | Branch | Stacked on | State |".to_owned(), "|---|---|---|---|".to_owned()];
    for row in &view.stack {
        let number = if row.pr == record.current_pr { format!("**#{}**", row.pr) } else { format!("#{}", row.pr) };
        let on = match row.predecessor {
            Some(predecessor) => format!("#{predecessor}"),
            None => cell(&view.default_branch),
        };
        lines.push(format!("| {number} | {} | {on} | {} |", cell(&row.branch), standing(record, view, row)));
    }
    lines.join("\n")
}

/// A branch in a table: there a bar ends the cell, even within code.
fn cell(branch: &BranchName) -> String {
    code_span(branch.as_str()).replace('|', "\\|")
}

fn standing(record: &TrainRecord, view: &TrainStatusView, row: &StackRow) -> String {
    let phase = &record.cascade_phase;
    match &row.standing {
        StackRowState::Landed(Some(sha)) => return format!("landed as {sha}"),
        StackRowState::Landed(None) => return "landed".to_owned(),
        StackRowState::Closed => return "closed, not landed".to_owned(),
        StackRowState::Open | StackRowState::Draft => {}
    }
    let draft = if row.standing == StackRowState::Draft { "draft; " } else { "" };
    if phase.skipped().contains(&row.pr) {
        return "skipped".to_owned();
    }
    if phase.frozen_descendants().contains(&row.pr) {
        let not_yet = match phase {
            CascadePhase::SquashPending { .. } => "",
            CascadePhase::Idle
            | CascadePhase::Preparing { .. }
            | CascadePhase::Reconciling { .. }
            | CascadePhase::CatchingUp { .. }
            | CascadePhase::Retargeting { .. } => {
                if phase.completed().contains(&row.pr) {
                    ""
                } else {
                    "not yet "
                }
            }
        };
        return format!("{draft}{not_yet}{}", done_to_it(phase, &view.default_branch));
    }
    match (row.pr == record.current_pr, row.predecessor) {
        (true, _) => format!("{draft}{}", current(phase)),
        (false, Some(predecessor)) => format!("{draft}waits for #{predecessor}"),
        (false, None) => format!("{draft}open"),
    }
}

fn done_to_it(phase: &CascadePhase, default_branch: &BranchName) -> String {
    match phase {
        CascadePhase::Idle => "open".to_owned(),
        CascadePhase::Preparing { .. } | CascadePhase::SquashPending { .. } => "prepared".to_owned(),
        CascadePhase::Reconciling { .. } => "reconciled".to_owned(),
        CascadePhase::CatchingUp { .. } => "caught up".to_owned(),
        CascadePhase::Retargeting { .. } => format!("retargeted to {}", cell(default_branch)),
    }
}

fn current(phase: &CascadePhase) -> &'static str {
    match phase {
        CascadePhase::Idle | CascadePhase::Preparing { .. } => "next to land",
        CascadePhase::SquashPending { .. } => "about to land",
        CascadePhase::Reconciling { .. } | CascadePhase::CatchingUp { .. } | CascadePhase::Retargeting { .. } => {
            "landed"
        }
    }
}

fn why_not_yet(why: &WaitReason) -> String {
    format!(
        "**Why not yet:** {}\n- **Who can change that:** {}\n- **Since:** {}\n- **What happens next:** {}",
        line(&why.blocker),
        line(&why.who),
        minute(why.since),
        line(&why.next)
    )
}

fn what_to_do(record: &TrainRecord) -> Option<String> {
    match record.state {
        TrainState::Running | TrainState::WaitingCi => None,
        TrainState::Stopped => {
            Some("Nothing more happens to this stack until `@merge-train start` is issued again.".to_owned())
        }
        TrainState::Aborted => Some(
            "Nothing more happens to this stack until the cause is fixed and someone comments `@merge-train start` \
             again. The comment on the pull request that failed says what to do."
                .to_owned(),
        ),
        TrainState::NeedsManualReview => Some(
            "The bot cannot safely resume by itself. Check the pull requests above, then either comment `@merge-train \
             stop` and `@merge-train start` to restart from the current position, or complete the cascade by hand."
                .to_owned(),
        ),
    }
}

fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
