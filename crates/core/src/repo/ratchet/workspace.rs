//! What is remembered of a pull request under ratchet. Changed by `apply` alone.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::action::RatchetMemory;
use super::brief::FixIssue;
use super::display::BoardColumn;
use super::event::Event;
use super::fix::{Fix, FixPhase, FixResult};
use super::markers::{CiSummary, Markers, ObservedPullRequest};
use super::session::{SessionId, UserSession, is_working};
use super::settings::Settings;
use super::status::{FixOutcome, WorkspaceReason, WorkspaceStatus};
use crate::facts::{CiFacts, MergeState, ReviewDecision, ReviewerRequest};
use crate::ids::{PrNumber, Sha};

pub type Workspaces = BTreeMap<PrNumber, Workspace>;

/// What the transition log calls an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TransitionLogAction {
    Wait,
    FixCi,
    FixReview,
    Pause,
    Noop,
}

impl From<FixIssue> for TransitionLogAction {
    fn from(issue: FixIssue) -> Self {
        match issue {
            FixIssue::FixCi => Self::FixCi,
            FixIssue::FixReview => Self::FixReview,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Workspace {
    pub since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// What somebody said about the ratchet here, and what the labels say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toggle: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<bool>,

    // What is shown.
    pub status: WorkspaceStatus,
    pub reason: WorkspaceReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_at: Option<Timestamp>,

    // What was said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talk: Option<HandledReviewActivity>,
    /// Since when a reading of it is owed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talk_wanted_since: Option<Timestamp>,
    /// What a fixer that pushed was told of, and when it had last been said then.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub handled: BTreeMap<String, Timestamp>,

    // How far the ratchet is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Markers>,
    /// It is looked at again although nothing is new.
    pub forced: bool,
    /// Attempts in a row: fixers that pushed or ran out of time.
    pub attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ci_run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub green_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_push_at: Option<Timestamp>,
    /// What the last fixer tried without success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<LastFix>,
    /// What the failure looked like that the last fixer pushed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Fixers that have ended, and whose checkouts are to be removed: when each was sent, and for which head.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<Timestamp, Sha>,
    /// How often in a row GitHub could not be asked what is wrong, and when it is asked again.
    pub failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<SessionId, UserSession>,
}

/// What was said, as far as it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandledReviewActivity {
    pub overview: String,
    pub mark: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<ReviewerRequest>,
}

/// What a fixer was sent for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFix {
    pub issue: FixIssue,
    pub head: Sha,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub points: BTreeMap<String, Timestamp>,
}

impl LastFix {
    /// Whether there is nothing else to fix than then: CI has not run again, if that is what fails, and no reviewer has said
    /// anything new.
    pub fn covers(&self, issue: FixIssue, seen: &ObservedPullRequest) -> bool {
        let is_same_run = issue == FixIssue::FixReview || self.run == seen.run;
        let is_known = |(point, said_at): (&String, &Timestamp)| self.points.get(point) == Some(said_at);
        (self.issue, &self.head) == (issue, &seen.head) && is_same_run && seen.points.iter().all(is_known)
    }
}

/// What people see of a decision.
struct TransitionText {
    status: WorkspaceStatus,
    reason: WorkspaceReason,
    told: Option<String>,
    activity: Option<String>,
}

/// What is known of the pull request itself.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceFacts<'a> {
    pub head: &'a Sha,
    pub ci: &'a CiFacts,
    pub merge_state: MergeState,
    pub review: Option<ReviewDecision>,
}

impl Workspace {
    /// Whether somebody is at work in it.
    pub fn user_is_working(&self, timeout: SignedDuration, now: Timestamp) -> bool {
        self.sessions.values().any(|session| is_working(session, timeout, now))
    }

    /// What is seen of the pull request; none before it was read what was said about it.
    pub fn seen(&self, facts: WorkspaceFacts<'_>) -> Option<ObservedPullRequest> {
        let talk = self.talk.as_ref()?;
        let is_open =
            |point: &&ReviewerRequest| self.handled.get(&point.id).is_none_or(|handled| *handled < point.said_at);
        Some(ObservedPullRequest {
            head: facts.head.clone(),
            ci: CiSummary::of(facts.ci),
            run: facts.ci.run_id(),
            merge_state: facts.merge_state,
            review: facts.review,
            points: talk.points.iter().filter(is_open).map(|point| (point.id.clone(), point.said_at)).collect(),
            unresolved: talk.points.len(),
            talk: format!("{}\n{}", talk.overview, talk.mark),
        })
    }

    pub fn standing(&self, settings: &Settings) -> RatchetMemory {
        RatchetMemory {
            last_ci_run: self.last_ci_run.clone(),
            stale_since: self.stale_since,
            stale_timeout: settings.stale_ci_timeout,
            green_since: self.green_since,
            grace: settings.grace,
        }
    }

    /// Where a board shows it.
    pub fn column(&self, timeout: SignedDuration, now: Timestamp) -> BoardColumn {
        if self.archived_at.is_some() {
            BoardColumn::Done
        } else if self.is_in_flight() || self.user_is_working(timeout, now) {
            BoardColumn::Working
        } else {
            BoardColumn::Waiting
        }
    }

    /// Whether a fixer is on its way. One that waits for a person is not at work.
    pub fn is_in_flight(&self) -> bool {
        self.fix.as_ref().is_some_and(|fix| !fix.is_held())
    }

    /// Somebody who is not merge-train pushed: a person takes a hand in it, and everything begins again.
    pub fn pushed_from_outside(&mut self, ts: Timestamp) {
        self.last_push_at = Some(ts);
        // What CI does about this head is no fixer's doing, and what GitHub could not tell was about another.
        self.stale_since = None;
        (self.failures, self.retry_at) = (0, None);
        self.begin_anew();
    }

    /// The ratchet was turned on for all that say nothing of their own.
    pub fn turned_on_for_all(&mut self) {
        self.forced = true;
        if self.toggle.or(self.label).is_none() {
            self.begin_anew();
        }
    }

    fn begin_anew(&mut self) {
        self.attempts = 0;
        self.tried = None;
        self.last_signature = None;
    }

    pub fn apply(&mut self, event: &Event, ts: Timestamp) {
        match event {
            Event::RatchetToggled { on, .. } => self.toggled(*on),
            Event::RatchetLabelled { on, .. } => self.labelled(*on),
            Event::WorkspaceOpened { .. } => {
                self.archived_at = None;
                self.forced = true;
            }
            Event::WorkspaceArchived { .. } => {
                self.archived_at = Some(ts);
                self.talk_wanted_since = None;
            }
            Event::TalkObserved { overview, mark, points, .. } => {
                self.handled.retain(|id, _| points.iter().any(|point| point.id == *id));
                let (overview, mark, points) = (overview.clone(), mark.clone(), points.clone());
                self.talk = Some(HandledReviewActivity { overview, mark, points });
                self.talk_wanted_since = None;
            }
            Event::RatchetMoved { status, reason, told, activity, consumed, action, .. } => {
                let shown =
                    TransitionText { status: *status, reason: *reason, told: told.clone(), activity: activity.clone() };
                self.moved(*action, shown, consumed.as_deref(), ts);
            }
            Event::DiagnosisDelayed { retry_at, .. } => {
                self.failures += 1;
                self.retry_at = Some(*retry_at);
            }
            Event::SessionOpened { session, idle, by, .. } => {
                let opened = UserSession { started_at: ts, seen_at: ts, idle: *idle, by: by.clone() };
                self.sessions.insert(session.clone(), opened);
            }
            Event::SessionSeen { session, idle, .. } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    // Whoever falls idle leaves the workspace to the ratchet, as whoever ends does.
                    self.forced |= *idle && !session.idle;
                    (session.seen_at, session.idle) = (ts, *idle);
                }
            }
            Event::SessionEnded { session, .. } => {
                self.forced |= self.sessions.remove(session).is_some();
            }
            Event::TalkOutdated { .. } => {}
            Event::FixDispatched { fix, .. } => {
                self.last_ci_run = fix.run.clone();
                self.stale_since = Some(ts);
                self.fix = Some(fix.as_ref().clone());
            }
            Event::FixStarted { .. } => self.change_fix(|fix| fix.started(ts)),
            Event::FixInterrupted { .. } => self.change_fix(|fix| fix.phase = FixPhase::Queued),
            Event::FixDelayed { retry_at, .. } => self.change_fix(|fix| fix.delayed(*retry_at)),
            Event::FixHeld { exit, push, path, diff, .. } => self.change_fix(|fix| {
                (fix.exit, fix.exited_at) = (Some(exit.clone()), Some(ts));
                fix.phase = FixPhase::Held { push: push.clone(), path: path.clone(), diff: diff.clone() };
            }),
            Event::FixPushIntended { exit, push, behest, .. } => {
                self.change_fix(|fix| fix.push_intended(exit, push, behest, ts));
            }
            Event::FixPushDoubted { hopeless, .. } => self.change_fix(|fix| fix.push_doubted(hopeless.clone())),
            Event::FixPushMissed { .. } => self.change_fix(Fix::push_missed),
            Event::FixSettled { fix, settled, .. } => {
                self.left.insert(fix.at, fix.head.clone());
                self.settled(settled, ts);
            }
            Event::FixCleared { at, .. } => {
                self.left.remove(at);
            }
        }
    }

    fn toggled(&mut self, on: bool) {
        // Whoever says so again wants another try, as they are told to when fixers get nowhere.
        if on {
            self.begin_anew();
            self.forced = true;
        }
        self.toggle = Some(on);
    }

    fn labelled(&mut self, on: Option<bool>) {
        // The label is the later word.
        self.toggle = None;
        let is_let_go = self.label == Some(false) && on.is_none();
        if is_let_go || (on == Some(true) && self.label != Some(true)) {
            self.begin_anew();
            self.forced = true;
        }
        self.label = on;
    }

    fn change_fix(&mut self, how: impl FnOnce(&mut Fix)) {
        if let Some(fix) = &mut self.fix {
            how(fix);
        }
    }

    fn moved(&mut self, action: TransitionLogAction, shown: TransitionText, consumed: Option<&Markers>, ts: Timestamp) {
        let (status, reason) = (shown.status, shown.reason);
        let has_restarted = self.stale_since.is_some() && ends_staleness(action, reason);
        if has_restarted {
            self.stale_since = None;
        }
        // What nothing came of is a line in the log, and what is shown holds as before: unless it was about another head, or
        // about something that is over.
        let is_same_head = self.consumed.as_ref().map(|it| &it.seen.head) == consumed.map(|it| &it.seen.head);
        let is_over = !is_same_head || has_restarted || self.reason.keeps_out();
        if action != TransitionLogAction::Noop || status != self.status || is_over {
            self.show(shown, ts);
            self.green_since = if reason == WorkspaceReason::Grace {
                self.green_since.or(Some(ts))
            } else {
                self.green_since.filter(|_| reason == WorkspaceReason::AllGreen)
            };
        }
        if status == WorkspaceStatus::PausedDone || reason == WorkspaceReason::Disabled {
            self.begin_anew();
        }
        // It is looked at once more when that is over, also where nothing else is new then.
        self.forced |= reason.keeps_out();
        if let Some(markers) = consumed {
            self.consumed = Some(markers.clone());
            self.forced = false;
            (self.failures, self.retry_at) = (0, None);
        }
    }

    fn show(&mut self, shown: TransitionText, ts: Timestamp) {
        let TransitionText { status, reason, told, activity } = shown;
        if (self.status, self.reason, &self.activity) != (status, reason, &activity) {
            self.moved_at = Some(ts);
        }
        (self.status, self.reason, self.told, self.activity) = (status, reason, told, activity);
    }

    fn settled(&mut self, settled: &FixResult, ts: Timestamp) {
        let Some(fix) = self.fix.take() else { return };
        match settled.reason.fix_outcome() {
            FixOutcome::Pushed => {
                self.attempts += 1;
                self.last_push_at = Some(ts);
                self.last_signature = fix.signature;
                if fix.issue == FixIssue::FixReview {
                    self.handled.extend(fix.points);
                }
                // From here on CI may be expected to start.
                self.stale_since = Some(ts);
            }
            // It goes on with a fresh look; a fixer that hangs each time has its budget, too.
            FixOutcome::TimedOut => {
                self.attempts += 1;
                self.stale_since = None;
                self.forced = true;
            }
            // There is another head to look at.
            FixOutcome::Outpaced | FixOutcome::PrClosed => self.stale_since = None,
            FixOutcome::GaveUp | FixOutcome::Cancelled | FixOutcome::Failed => {
                self.stale_since = None;
                self.tried = Some(LastFix { issue: fix.issue, head: fix.head, run: fix.run, points: fix.points });
            }
        }
    }
}

/// Whether CI need not be waited for any more that was expected to start again.
fn ends_staleness(action: TransitionLogAction, reason: WorkspaceReason) -> bool {
    !reason.leaves_ci_expected() && !matches!(action, TransitionLogAction::FixCi | TransitionLogAction::FixReview)
}
