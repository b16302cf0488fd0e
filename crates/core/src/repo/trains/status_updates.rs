//! The status comment of each train: written after what it tells is durable, the newest state only.

use jiff::{SignedDuration, Timestamp};

use super::detail::{CLOSED, TrainDetail, is_live};
use super::status::{self, StackRow, StackRowState, TrainStatusView, WaitReason};
use super::texts::train_end;
use super::{Effect, Transaction, ending};
use super::{TrainRecord, blockers};
use crate::ids::{BranchName, PrNumber};
use crate::repo::EffectFailure;
use crate::repo::mirror::reads;
use crate::repo::state::{CachedPr, PrState, RepoState};
use crate::repo::trains::Event;

/// A comment is not written more often than this: who reads it is a person, and GitHub counts.
const PACE: SignedDuration = SignedDuration::from_secs(1);

/// Writes what the comment does not show yet.
pub(super) fn write_if_due(transaction: &mut Transaction<'_>, root: PrNumber) {
    let Some(detail) = transaction.state.details.get(&root) else { return };
    if due_at(&transaction.state, root, detail).is_none_or(|at| at > transaction.now) {
        return;
    }
    let comment = detail.status.comment;
    let (body, seq) = match (&detail.status.closing, transaction.state.active_trains.get(&root)) {
        (Some(text), _) => (status::closing(text, &detail.status.new_roots), CLOSED),
        (None, Some(train)) => match transaction.state.status_body(train) {
            Ok(body) => (body, train.recovery_seq),
            Err(_) => return too_large(transaction, root),
        },
        (None, None) => return,
    };
    transaction.effect(Effect::WriteStatus { root, comment, body, seq });
}

/// The record fits no comment. To go on without it would end the recovery from GitHub without a word.
fn too_large(transaction: &mut Transaction<'_>, root: PrNumber) {
    ending::abort(transaction, root, root, &train_end::status_too_large());
    let told = train_end::status_too_large().told_alone();
    transaction.record(Event::StatusClosing { train_root: root, text: told, new_roots: Vec::new() });
}

/// When the comment is to be written, if it is.
fn due_at(state: &RepoState, root: PrNumber, detail: &TrainDetail) -> Option<Timestamp> {
    let status = &detail.status;
    let is_owed = match state.active_trains.get(&root) {
        _ if status.doubted => false,
        // As long as the trains that go on in its place show nothing, it is all that GitHub knows of them.
        _ if status.closing.is_some() => status.new_roots.iter().all(|root| is_shown(state, *root)),
        Some(train) => status.shown != CLOSED && train.recovery_seq > status.shown,
        None => false,
    };
    let paced = status.written_at.and_then(|at| at.checked_add(PACE).ok());
    is_owed.then(|| status.retry_at.max(paced).unwrap_or(Timestamp::MIN))
}

/// Whether GitHub shows a train, or there is none any more.
fn is_shown(state: &RepoState, root: PrNumber) -> bool {
    !state.active_trains.contains_key(&root) || state.details.get(&root).is_none_or(|detail| detail.status.shown != 0)
}

pub(super) fn wakes(state: &RepoState) -> impl Iterator<Item = Timestamp> + '_ {
    let doubted = state.details.values().filter(|detail| detail.status.doubted);
    let readings = doubted.filter_map(|detail| detail.status.retry_at);
    readings.chain(state.details.iter().filter_map(|(root, detail)| due_at(state, *root, detail)))
}

pub(super) fn written(
    transaction: &mut Transaction<'_>,
    root: PrNumber,
    seq: u64,
    result: Result<&crate::ids::CommentId, &EffectFailure>,
) {
    let Some(detail) = transaction.state.details.get(&root) else { return };
    match result {
        Ok(comment) => {
            transaction.record(Event::StatusWritten { train_root: root, comment: *comment, status_seq: seq });
        }
        Err(failure) => {
            let retry_at = reads::retry_at(failure, detail.status.attempts, transaction.now);
            transaction.record(Event::StatusDelayed { train_root: root, reason: failure.reason.clone(), retry_at });
        }
    }
}

impl RepoState {
    /// The body of a train's status comment.
    fn status_body(&self, train: &TrainRecord) -> Result<String, status::TooLarge> {
        status::body(train, &self.train_told(train))
    }

    /// What people read of a train.
    pub fn train_told(&self, train: &TrainRecord) -> String {
        match self.train_view(train.original_root_pr) {
            Some(view) => status::human(train, &view),
            None => String::new(),
        }
    }

    /// What a train is about: its stack, and what it waits for.
    pub fn train_view(&self, root: PrNumber) -> Option<TrainStatusView> {
        let train = self.active_trains.get(&root)?;
        let detail = self.details.get(&root)?;
        let mut numbers = detail.landed.clone();
        numbers.extend(self.aboard(train).into_iter().filter(|number| !detail.landed.contains(number)));
        let stack = numbers.into_iter().filter_map(|number| self.row(number)).collect();
        Some(TrainStatusView { default_branch: self.default_branch.clone()?, stack, why: self.why(root) })
    }

    /// Why a train does not go on yet.
    pub fn why(&self, root: PrNumber) -> Option<WaitReason> {
        let detail = self.details.get(&root)?;
        let is_live = self.active_trains.get(&root).is_some_and(|train| is_live(train.state));
        self.why_unread(root, detail).filter(|_| is_live || detail.late).or_else(|| detail.why.clone())
    }

    /// What must be read before a train may do, or even record, anything.
    fn why_unread(&self, root: PrNumber, detail: &TrainDetail) -> Option<WaitReason> {
        let sync = self.sync.wanted.as_ref().filter(|(_, backoff)| self.is_outdated() && backoff.attempts > 0);
        if let (Some(_), Some(since)) = (sync, self.sync.last.or(self.touched_at)) {
            let message = self.sync.error.as_deref().unwrap_or("no answer");
            return Some(blockers::repository_unread(message).since(since));
        }
        let status = &detail.status;
        let since = status.failing_since.filter(|_| status.doubted)?;
        Some(blockers::status_unread(root).since(since))
    }

    /// Everything from where the train is now.
    fn aboard(&self, train: &TrainRecord) -> Vec<PrNumber> {
        let mut met = vec![train.current_pr];
        let mut next: Vec<PrNumber> = self.above(train.current_pr);
        next.extend(train.cascade_phase.frozen_descendants());
        next.sort_unstable();
        next.dedup();
        while !next.is_empty() {
            let number = next.remove(0);
            if !met.contains(&number) {
                met.push(number);
                let above = self.above(number);
                next.splice(0..0, above);
            }
        }
        met
    }

    fn above(&self, number: PrNumber) -> Vec<PrNumber> {
        self.descendants(number).filter(|above| self.prs.get(above).is_some_and(CachedPr::is_ours)).collect()
    }

    fn row(&self, number: PrNumber) -> Option<StackRow> {
        let pr = self.prs.get(&number)?;
        let branch: BranchName = pr.head_ref.clone()?;
        let standing = match &pr.state {
            PrState::Open if pr.draft => StackRowState::Draft,
            PrState::Open => StackRowState::Open,
            // What was merged into another branch has not landed.
            PrState::Merged { merge_commit_sha, .. }
                if pr.landed_by.is_some() || Some(&pr.base_ref) == self.default_branch.as_ref() =>
            {
                StackRowState::Landed(merge_commit_sha.clone())
            }
            PrState::Merged { .. } => StackRowState::Closed,
            PrState::Closed { .. } => StackRowState::Closed,
        };
        Some(StackRow { pr: number, branch, predecessor: pr.predecessor, standing })
    }
}
