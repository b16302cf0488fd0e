//! What is remembered of a train beside its record. The record's JSON is an interface; this is not.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::{Party, Why};
use super::work::{Push, PushKind, Tidying};
use super::{CascadePhase, TrainRecord, TrainState, Trains};
use crate::ids::{BranchName, CommentId, PrNumber, Sha};
use crate::repo::{Behest, Event, PushDetail};
use crate::workflow::{Decision, RunStatus, TriggerSource};

/// Beside the record of one train; what outlives the record is what is left to do for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Detail {
    /// Something that cannot be undone was begun, and nobody has heard of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The run that the train is, while it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunMark>,
    /// What landed so far, the first first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<PrNumber>,
    /// The head that was there before the train: what GitHub says of it is no echo of another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_head: Option<Sha>,
    /// The default branch as it was just before the last squash was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_before: Option<Sha>,
    /// A squash that was asked for and, when it was looked for, had not been done. GitHub may do it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unheard: Option<PrNumber>,
    /// The squash that is proven to be what it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<Sha>,
    /// Descendants to which somebody else pushed while they were prepared.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub pushed_by_others: BTreeSet<PrNumber>,
    /// Descendants that GitHub called behind although they were prepared.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub prepared_twice: BTreeSet<PrNumber>,
    /// How often in a row something failed, and when it is tried again.
    pub attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// How often in a row GitHub did not take the squash of this head.
    pub refusals: u32,
    /// How often GitHub's word was asked for again, and when it is next.
    pub rechecks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    /// GitHub took too long, and only the poll asks again.
    pub timed_out: bool,
    /// Until GitHub says something new of the pull request.
    pub held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// There is no train, only this: the pull request is to be related to what landed without it.
    pub late: bool,
    /// What is to become of the worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tidying: Option<Tidying>,
    /// The train that this one parted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parted_from: Option<PrNumber>,
    pub status: StatusDetail,
}

/// What tells the run of a train from all others of its name, and what set it off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMark {
    pub since: Timestamp,
    /// The `recovery_seq` that it began with: it is never the same twice.
    pub seq: u64,
    pub source: TriggerSource,
    #[serde(default, skip_serializing_if = "Behest::is_empty")]
    pub set_off: Behest,
    /// Its state, since when it is in it, and who brought it there.
    pub status: RunStatus,
    pub moved_at: Timestamp,
    #[serde(default, skip_serializing_if = "Behest::is_empty")]
    pub moved: Behest,
    /// Who is waited for, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<(Party, Timestamp)>,
    /// How long it has waited for each, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waited: BTreeMap<Party, u64>,
}

impl RunMark {
    pub fn new(since: Timestamp, seq: u64) -> Self {
        Self {
            since,
            seq,
            source: TriggerSource::Webhook,
            set_off: Behest::default(),
            status: RunStatus::Running,
            moved_at: since,
            moved: Behest::default(),
            waiting: None,
            waited: BTreeMap::new(),
        }
    }

    /// Somebody else is waited for, or nobody any more.
    fn waits(&mut self, party: Option<Party>, ts: Timestamp) {
        if self.waiting.map(|(party, _)| party) == party {
            return;
        }
        if let Some((before, since)) = self.waiting.take() {
            let millis = u64::try_from(ts.duration_since(since).as_millis()).unwrap_or_default();
            *self.waited.entry(before).or_default() += millis;
        }
        self.waiting = party.map(|party| (party, ts));
    }

    fn moves(&mut self, to: RunStatus, event: &Event, ts: Timestamp) {
        self.moved = match event {
            // To start what waits for a person is to approve it.
            Event::TrainStarted { behest, .. } => Behest {
                decision: (self.status == RunStatus::AwaitingApproval).then_some(Decision::Approved),
                ..behest.clone()
            },
            _ => Behest::default(),
        };
        (self.status, self.moved_at) = (to, ts);
    }
}

/// What the status comment shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusDetail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// The `recovery_seq` that it shows.
    pub shown: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_at: Option<Timestamp>,
    pub attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Since when it can be neither read nor written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// It may show more than is known here: it is read before anything else is done.
    pub doubted: bool,
    /// The last word, which is still to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<String>,
    /// The trains that go on in its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_roots: Vec<PrNumber>,
}

/// What was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub what: Intended,
    /// It may have been done: it is looked for before it is done again.
    #[serde(default)]
    pub doubted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intended {
    Push(Push),
    Squash { pull: PrNumber, head: Option<Sha> },
    Retarget { pull: PrNumber, base: BranchName },
}

/// Details, by the pull request that each train began with.
pub type Details = BTreeMap<PrNumber, Detail>;

/// Folds one event in; the records are those after it.
pub fn apply(details: &mut Details, trains: &Trains, event: &Event, ts: Timestamp) {
    match event {
        Event::TrainStarted { root_pr, behest, .. } => {
            // What halted with this pull request on board has its successor now, and needs no worktree.
            let is_over = |root: &PrNumber, detail: &Detail| !trains.contains_key(root) && !detail.late;
            for (_, over) in details.iter_mut().filter(|(root, detail)| is_over(root, detail)) {
                over.tidying.get_or_insert(Tidying::Remove);
            }
            begin(details, trains, *root_pr, behest, ts);
        }
        Event::LateFound { pr } => {
            details.entry(*pr).or_default().late = true;
        }
        Event::FanOutCompleted { old_root, new_roots, .. } => {
            let parted = details.get(old_root).and_then(|detail| detail.run.clone());
            change(details, *old_root, |detail| {
                detail.tidying = Some(Tidying::FanOut { new: new_roots.clone() });
                end(detail);
            });
            for root in new_roots {
                begin(details, trains, *root, &Behest::default(), ts);
                change(details, *root, |detail| {
                    detail.parted_from = Some(*old_root);
                    if let (Some(run), Some(parted)) = (&mut detail.run, &parted) {
                        (run.source, run.set_off) = (parted.source, parted.set_off.clone());
                    }
                });
            }
        }
        Event::TrainRecovered { record, comment, landed } => recover(details, record, *comment, landed, ts),
        Event::TrainForgotten { root_pr, .. } => change(details, *root_pr, |detail| {
            detail.tidying = Some(Tidying::Remove);
            detail.status.doubted = false;
            end(detail);
        }),
        Event::TrainCompleted { root_pr } | Event::TrainStopped { root_pr, .. } => {
            change(details, *root_pr, |detail| {
                detail.tidying = Some(Tidying::Remove);
                end(detail);
            });
        }
        Event::TrainAborted { root_pr, .. } | Event::TrainFrozen { root_pr, .. } => {
            change(details, *root_pr, |detail| {
                detail.tidying = Some(Tidying::Clean);
                end(detail);
            });
        }
        // What GitHub does not have any more is related to nothing.
        Event::LateRefused { pr, .. } | Event::LateReconciled { pr, .. } | Event::PrGone { pr } => {
            change(details, *pr, |detail| {
                if detail.late {
                    detail.late = false;
                    detail.tidying = Some(Tidying::Remove);
                    end(detail);
                }
            });
        }
        Event::WorktreesTidied { train_root } => change(details, *train_root, |detail| {
            detail.tidying = None;
            settle(detail);
        }),
        _ => {
            going_on(details, event);
            status(details, event, ts);
        }
    }
    details.retain(|root, detail| trains.contains_key(root) || detail.is_of_use());
    for (root, detail) in details.iter_mut() {
        if let Some(run) = &mut detail.run {
            run.waits(detail.why.as_ref().map(|why| why.party), ts);
        }
        let status = trains.get(root).map(|train| train.state.as_run()).filter(|status| !status.is_terminal());
        match (&mut detail.run, status) {
            (Some(run), Some(status)) if run.status != status => run.moves(status, event, ts),
            (Some(_), Some(_)) | (None, _) => {}
            (Some(_), None) => detail.run = None,
        }
    }
}

fn going_on(details: &mut Details, event: &Event) {
    match event {
        Event::TrainWaiting { train_root, why } => {
            change(details, *train_root, |detail| {
                detail.why = Some(why.clone());
                detail.timed_out = false;
            });
        }
        Event::TrainResumed { train_root } => change(details, *train_root, |detail| detail.why = None),
        Event::TrainHeld { train_root } => change(details, *train_root, |detail| {
            detail.held = true;
            detail.intent = None;
            settle(detail);
        }),
        Event::SquashRefused { train_root, .. } => change(details, *train_root, |detail| {
            detail.intent = None;
            detail.refusals += 1;
        }),
        Event::BehindAfterPreparation { train_root, pr } => change(details, *train_root, |detail| {
            detail.prepared_twice.insert(*pr);
        }),
        Event::WaitTimedOut { train_root } => change(details, *train_root, |detail| detail.timed_out = true),
        Event::TrainNudged { train_root, .. } => change(details, *train_root, |detail| {
            detail.forget_rechecks();
            settle(detail);
        }),
        Event::RecheckPlanned { train_root, at } => change(details, *train_root, |detail| {
            detail.rechecks += 1;
            detail.recheck_at = Some(*at);
        }),
        Event::WorkDelayed { train_root, retry_at, .. } => change(details, *train_root, |detail| {
            detail.attempts += 1;
            detail.retry_at = Some(*retry_at);
            doubt(detail);
        }),
        Event::WorkDoubted { train_root } => change(details, *train_root, doubt),
        Event::WorkDropped { train_root, by_others, .. } => {
            change(details, *train_root, |detail| match detail.intent.take() {
                Some(Intent { what: Intended::Push(push), .. }) if *by_others => {
                    detail.pushed_by_others.insert(push.pull);
                }
                Some(Intent { what: Intended::Squash { pull, .. }, doubted: true }) => detail.unheard = Some(pull),
                _ => {}
            });
        }
        Event::SquashContained { train_root, squash: Some(_), .. } => change(details, *train_root, settle),
        Event::SquashCommitted { train_root, pr, .. } => change(details, *train_root, |detail| {
            detail.intent = None;
            detail.landed.push(*pr);
            detail.refusals = 0;
            settle(detail);
        }),
        Event::SquashProven { train_root, sha } => change(details, *train_root, |detail| {
            detail.proven = Some(sha.clone());
            settle(detail);
        }),
        Event::DoneRetarget { train_root, .. }
        | Event::DonePushPrep { train_root, .. }
        | Event::DonePushReconcile { train_root, .. }
        | Event::DonePushCatchup { train_root, .. } => change(details, *train_root, |detail| {
            detail.intent = None;
            settle(detail);
            detail.forget_rechecks();
        }),
        Event::PhaseTransition { train_root, current_pr, phase, .. } => change(details, *train_root, |detail| {
            settle(detail);
            if matches!(phase, CascadePhase::Preparing { .. }) && detail.unheard != Some(*current_pr) {
                // It is of the squash before.
                detail.known_before = None;
            }
            detail.why = None;
            detail.held = false;
            detail.timed_out = false;
            detail.rechecks = 0;
            detail.recheck_at = None;
        }),
        _ => intended(details, event),
    }
}

fn intended(details: &mut Details, event: &Event) {
    let (root, what) = match event {
        Event::IntentPushPrep { train_root, branch, pre_push_sha, expected_tree, more } => {
            (train_root, push(PushKind::Prep, branch, pre_push_sha, expected_tree, more))
        }
        Event::IntentPushReconcile { train_root, branch, pre_push_sha, expected_tree, more } => {
            (train_root, push(PushKind::Reconcile, branch, pre_push_sha, expected_tree, more))
        }
        Event::IntentPushCatchup { train_root, branch, pre_push_sha, expected_tree, more } => {
            (train_root, push(PushKind::Catchup, branch, pre_push_sha, expected_tree, more))
        }
        Event::IntentSquash { train_root, pr, head_sha, default_head, .. } => {
            change(details, *train_root, |detail| detail.known_before.clone_from(default_head));
            (train_root, Some(Intended::Squash { pull: *pr, head: head_sha.clone() }))
        }
        Event::IntentRetarget { train_root, pr, new_base } => {
            (train_root, Some(Intended::Retarget { pull: *pr, base: new_base.clone() }))
        }
        _ => return,
    };
    // The retries of one thing are counted over its intents: only its success settles it.
    change(details, *root, |detail| detail.intent = what.map(|what| Intent { what, doubted: false }));
}

/// None for an intent of a log that does not say what it was about: it is computed again.
fn push(kind: PushKind, branch: &BranchName, from: &Sha, tree: &Sha, more: &PushDetail) -> Option<Intended> {
    let PushDetail { pr: Some(pull), commit: Some(to), contains } = more.clone() else { return None };
    let (branch, from, tree) = (branch.clone(), from.clone(), tree.clone());
    Some(Intended::Push(Push { kind, pull, branch, from, to, tree, contains }))
}

fn status(details: &mut Details, event: &Event, ts: Timestamp) {
    match event {
        Event::StatusWritten { train_root, comment, status_seq } => change(details, *train_root, |detail| {
            let status = &mut detail.status;
            status.comment = Some(*comment);
            status.shown = *status_seq;
            status.written_at = Some(ts);
            status.attempts = 0;
            status.retry_at = None;
            status.failing_since = None;
            if *status_seq == CLOSED {
                status.closing = None;
            }
        }),
        Event::StatusDelayed { train_root, retry_at, .. } => change(details, *train_root, |detail| {
            detail.status.attempts += 1;
            detail.status.retry_at = Some(*retry_at);
            detail.status.failing_since.get_or_insert(ts);
        }),
        Event::StatusClosing { train_root, text, new_roots } => change(details, *train_root, |detail| {
            detail.status.closing = Some(text.clone());
            detail.status.new_roots.clone_from(new_roots);
            detail.status.retry_at = None;
        }),
        Event::StatusDoubted { train_root } => change(details, *train_root, |detail| {
            detail.status.doubted = true;
            detail.status.attempts = 0;
            detail.status.retry_at = None;
            detail.status.failing_since = None;
        }),
        Event::StatusTrusted { train_root } => change(details, *train_root, |detail| {
            detail.status.doubted = false;
            detail.status.attempts = 0;
            detail.status.retry_at = None;
            detail.status.failing_since = None;
        }),
        _ => {}
    }
}

/// What a status comment with the last word shows: nothing comes after it.
pub const CLOSED: u64 = u64::MAX;

impl Detail {
    /// Whether something is left to do although there is no train any more.
    fn is_of_use(&self) -> bool {
        self.late || self.tidying.is_some() || self.status.closing.is_some()
    }

    /// Something new was said about the pull request that the train is at.
    pub fn hear(&mut self) {
        self.held = false;
        self.recheck_at = None;
    }

    /// It has another head: what was asked about the one before does not count.
    pub fn forget_rechecks(&mut self) {
        self.rechecks = 0;
        self.refusals = 0;
        self.timed_out = false;
        self.recheck_at = None;
        self.held = false;
    }
}

/// A train begins, or begins again; its status comment stays the same. Where a person had to look at it, it goes on as the same
/// run.
fn begin(details: &mut Details, trains: &Trains, root: PrNumber, behest: &Behest, ts: Timestamp) {
    let before = details.remove(&root).unwrap_or_default();
    let status = StatusDetail { comment: before.status.comment, ..StatusDetail::default() };
    let seq = trains.get(&root).map(|train| train.recovery_seq).unwrap_or_default();
    let new =
        || RunMark { source: behest.source(), set_off: behest.clone(), moved: behest.clone(), ..RunMark::new(ts, seq) };
    let run = Some(before.run.unwrap_or_else(new));
    details.insert(root, Detail { status, run, ..Detail::default() });
}

/// Goes on from what the status comment shows. What was begun beyond that is not known: it is looked for.
fn recover(details: &mut Details, record: &TrainRecord, comment: CommentId, landed: &[PrNumber], ts: Timestamp) {
    let status = StatusDetail { comment: Some(comment), shown: record.recovery_seq, ..StatusDetail::default() };
    let squash = Intended::Squash { pull: record.current_pr, head: record.predecessor_head_sha.clone() };
    let is_squashing = is_live(record.state) && matches!(record.cascade_phase, CascadePhase::SquashPending { .. });
    let intent = is_squashing.then_some(Intent { what: squash, doubted: true });
    let root = record.original_root_pr;
    let before = details.remove(&root).and_then(|before| before.run);
    let run = before.or(Some(RunMark::new(ts, record.recovery_seq)));
    details.insert(root, Detail { intent, run, landed: landed.to_vec(), status, ..Detail::default() });
}

/// Nothing of what it was about is done any more.
fn end(detail: &mut Detail) {
    detail.intent = None;
    detail.why = None;
    detail.held = false;
    detail.recheck_at = None;
    settle(detail);
}

fn doubt(detail: &mut Detail) {
    if let Some(intent) = &mut detail.intent {
        intent.doubted = true;
    }
}

/// Something succeeded: what failed before does not count any more.
fn settle(detail: &mut Detail) {
    detail.attempts = 0;
    detail.retry_at = None;
}

fn change(details: &mut Details, root: PrNumber, how: impl FnOnce(&mut Detail)) {
    if let Some(detail) = details.get_mut(&root) {
        how(detail);
    }
}

/// Whether a train does something by itself.
pub fn is_live(state: TrainState) -> bool {
    matches!(state, TrainState::Running | TrainState::WaitingCi)
}
