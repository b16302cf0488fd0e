//! What is remembered of a train beside its record. The record's JSON is an interface; this is not.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::status::{WaitParty, WaitReason};
use super::work::{BranchPush, WorktreeCleanup};
use super::{ActiveTrains, CascadePhase, TrainRecord, TrainState};
use crate::ids::{BranchName, CommentId, PrNumber, Sha};
use crate::repo::Attribution;
use crate::workflow::{Decision, RunStatus, TriggerSource};

/// Beside the record of one train; what outlives the record is what is left to do for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainDetail {
    /// Something that cannot be undone was begun, and nobody has heard of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The run that the train is, while it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<TrainRunMark>,
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
    pub why: Option<WaitReason>,
    /// There is no train, only this: the pull request is to be related to what landed without it.
    pub late: bool,
    /// What is to become of the worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tidying: Option<WorktreeCleanup>,
    /// The train that this one parted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parted_from: Option<PrNumber>,
    pub status: StatusDetail,
}

/// What tells the run of a train from all others of its name, and what set it off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainRunMark {
    pub since: Timestamp,
    /// The `recovery_seq` that it began with: it is never the same twice.
    pub seq: u64,
    pub source: TriggerSource,
    #[serde(default, skip_serializing_if = "Attribution::is_empty")]
    pub set_off: Attribution,
    /// Its state, since when it is in it, and who brought it there.
    pub status: RunStatus,
    pub moved_at: Timestamp,
    #[serde(default, skip_serializing_if = "Attribution::is_empty")]
    pub moved: Attribution,
    /// Who is waited for, and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<(WaitParty, Timestamp)>,
    /// How long it has waited for each, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waited: BTreeMap<WaitParty, u64>,
}

impl TrainRunMark {
    pub fn new(since: Timestamp, seq: u64) -> Self {
        Self {
            since,
            seq,
            source: TriggerSource::Webhook,
            set_off: Attribution::default(),
            status: RunStatus::Running,
            moved_at: since,
            moved: Attribution::default(),
            waiting: None,
            waited: BTreeMap::new(),
        }
    }

    /// Somebody else is waited for, or nobody any more.
    fn waits(&mut self, party: Option<WaitParty>, ts: Timestamp) {
        if self.waiting.map(|(party, _)| party) == party {
            return;
        }
        if let Some((before, since)) = self.waiting.take() {
            let millis = u64::try_from(ts.duration_since(since).as_millis()).unwrap_or_default();
            *self.waited.entry(before).or_default() += millis;
        }
        self.waiting = party.map(|party| (party, ts));
    }

    /// Its train is in another state now; where it was started, at this behest.
    fn moves(&mut self, to: RunStatus, started: Option<&Attribution>, ts: Timestamp) {
        // To start what waits for a person is to approve it.
        let decision = (self.status == RunStatus::AwaitingApproval).then_some(Decision::Approved);
        self.moved = started.map(|behest| Attribution { decision, ..behest.clone() }).unwrap_or_default();
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

impl StatusDetail {
    pub(super) fn written(&mut self, comment: CommentId, seq: u64, ts: Timestamp) {
        self.comment = Some(comment);
        self.shown = seq;
        self.written_at = Some(ts);
        self.settle();
        if seq == CLOSED {
            self.closing = None;
        }
    }

    pub(super) fn delay(&mut self, retry_at: Timestamp, ts: Timestamp) {
        self.attempts += 1;
        self.retry_at = Some(retry_at);
        self.failing_since.get_or_insert(ts);
    }

    /// What failed before does not count any more.
    pub(super) fn settle(&mut self) {
        self.attempts = 0;
        self.retry_at = None;
        self.failing_since = None;
    }
}

/// What was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub what: IntendedAction,
    /// It may have been done: it is looked for before it is done again.
    #[serde(default)]
    pub doubted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntendedAction {
    Push(BranchPush),
    Squash { pull: PrNumber, head: Option<Sha> },
    Retarget { pull: PrNumber, base: BranchName },
}

/// Details, by the pull request that each train began with.
pub type TrainDetails = BTreeMap<PrNumber, TrainDetail>;

/// What a status comment with the last word shows: nothing comes after it.
pub const CLOSED: u64 = u64::MAX;

impl TrainDetail {
    /// Whether something is left to do although there is no train any more.
    pub(super) fn is_of_use(&self) -> bool {
        self.late || self.tidying.is_some() || self.status.closing.is_some()
    }

    /// The run is in the state that the record of its train is in, and waits for whom the train waits for.
    pub(super) fn follow(&mut self, record: Option<&TrainRecord>, started: Option<&Attribution>, ts: Timestamp) {
        let Some(run) = &mut self.run else { return };
        run.waits(self.why.as_ref().map(|why| why.party), ts);
        match record.map(|train| train.state.as_run()).filter(|status| !status.is_terminal()) {
            Some(status) if run.status != status => run.moves(status, started, ts),
            Some(_) => {}
            None => self.run = None,
        }
    }

    /// The retries of one thing are counted over its intents: only its success settles it.
    pub(super) fn intend(&mut self, what: Option<IntendedAction>) {
        self.intent = what.map(|what| Intent { what, doubted: false });
    }

    pub(super) fn doubt(&mut self) {
        if let Some(intent) = &mut self.intent {
            intent.doubted = true;
        }
    }

    pub(super) fn delay(&mut self, retry_at: Timestamp) {
        self.attempts += 1;
        self.retry_at = Some(retry_at);
        self.doubt();
    }

    /// What was intended was not done. GitHub may do yet what it was asked for.
    pub(super) fn drop_intent(&mut self, by_others: bool) {
        let Some(Intent { what, doubted }) = self.intent.take() else { return };
        match what {
            IntendedAction::Push(push) if by_others => {
                self.pushed_by_others.insert(push.pull);
            }
            IntendedAction::Squash { pull, .. } if doubted => self.unheard = Some(pull),
            IntendedAction::Push(_) | IntendedAction::Squash { .. } | IntendedAction::Retarget { .. } => {}
        }
    }

    /// What was intended was done.
    pub(super) fn succeed(&mut self) {
        self.intent = None;
        self.settle();
        self.forget_rechecks();
    }

    pub(super) fn land(&mut self, pr: PrNumber) {
        self.intent = None;
        self.landed.push(pr);
        self.refusals = 0;
        self.settle();
    }

    pub(super) fn enter(&mut self, phase: &CascadePhase, current: PrNumber) {
        self.settle();
        if matches!(phase, CascadePhase::Preparing { .. }) && self.unheard != Some(current) {
            // It is of the squash before.
            self.known_before = None;
        }
        self.why = None;
        self.held = false;
        self.timed_out = false;
        self.rechecks = 0;
        self.recheck_at = None;
    }

    pub(super) fn hold(&mut self) {
        self.held = true;
        self.intent = None;
        self.settle();
    }

    pub(super) fn nudge(&mut self) {
        self.forget_rechecks();
        self.settle();
    }

    /// Nothing of what it was about is done any more; this becomes of its worktree.
    pub(super) fn end(&mut self, tidying: WorktreeCleanup) {
        self.tidying = Some(tidying);
        self.intent = None;
        self.why = None;
        self.held = false;
        self.recheck_at = None;
        self.settle();
    }

    /// It is related to what landed without it, or never will be.
    pub fn is_not_late(&mut self) {
        if self.late {
            self.late = false;
            self.end(WorktreeCleanup::Remove);
        }
    }

    /// Something succeeded: what failed before does not count any more.
    pub(super) fn settle(&mut self) {
        self.attempts = 0;
        self.retry_at = None;
    }

    /// What is being pushed.
    pub fn intended_push(&self) -> Option<&BranchPush> {
        match &self.intent.as_ref()?.what {
            IntendedAction::Push(push) => Some(push),
            IntendedAction::Squash { .. } | IntendedAction::Retarget { .. } => None,
        }
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

/// A train begins, or begins anew; its status comment stays the same. Where a person had to look at it, it goes on as the same
/// run.
pub(super) fn begin(
    details: &mut TrainDetails,
    trains: &ActiveTrains,
    root: PrNumber,
    behest: &Attribution,
    ts: Timestamp,
) {
    let before = details.remove(&root).unwrap_or_default();
    let status = StatusDetail { comment: before.status.comment, ..StatusDetail::default() };
    let seq = trains.get(&root).map(|train| train.recovery_seq).unwrap_or_default();
    let new = || TrainRunMark {
        source: behest.source(),
        set_off: behest.clone(),
        moved: behest.clone(),
        ..TrainRunMark::new(ts, seq)
    };
    let run = Some(before.run.unwrap_or_else(new));
    details.insert(root, TrainDetail { status, run, ..TrainDetail::default() });
}

/// Goes on from what the status comment shows. What was begun beyond that is not known: it is looked for.
pub(super) fn recover(
    details: &mut TrainDetails,
    record: &TrainRecord,
    comment: CommentId,
    landed: &[PrNumber],
    ts: Timestamp,
) {
    let status = StatusDetail { comment: Some(comment), shown: record.recovery_seq, ..StatusDetail::default() };
    let squash = IntendedAction::Squash { pull: record.current_pr, head: record.predecessor_head_sha.clone() };
    let is_squashing = is_live(record.state) && matches!(record.cascade_phase, CascadePhase::SquashPending { .. });
    let intent = is_squashing.then_some(Intent { what: squash, doubted: true });
    let root = record.original_root_pr;
    let before = details.remove(&root).and_then(|before| before.run);
    let run = before.or(Some(TrainRunMark::new(ts, record.recovery_seq)));
    details.insert(root, TrainDetail { intent, run, landed: landed.to_vec(), status, ..TrainDetail::default() });
}

/// Whether a train does something by itself.
pub fn is_live(state: TrainState) -> bool {
    matches!(state, TrainState::Running | TrainState::WaitingCi)
}
