//! The state of a repository: pull requests, trains, workspaces, and what is still to be read or said.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::event::{Attribution, CommentRef, SyncReason, TrainTraces};
use super::outbox::Outbox;
use super::pace::Paces;
use super::settings::Own;
use crate::facts::{CiFacts, CommentFacts, HeadRepo, MergeState, ReviewDecision};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber, Sha, UserId};
use crate::repo::commands::StoredCommand;
use crate::repo::ratchet::Workspaces;
use crate::repo::trains::detail::{TrainDetails, is_live};
use crate::repo::trains::{ActiveTrains, EndedTrains, MergePolicy, TrainRecord};

/// The pull-request cache and the trains of one repository. Changed by `apply` alone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RepoState {
    pub(super) default_branch: Option<BranchName>,
    pub(super) prs: BTreeMap<PrNumber, CachedPr>,
    pub(super) active_trains: ActiveTrains,
    /// Trains that are over, and how far each had come: of those nothing older is believed.
    pub(super) ended: EndedTrains,
    pub(super) details: TrainDetails,
    /// Trains that are to start once the rules are known and a plan is computed.
    pub(super) starts: BTreeMap<PrNumber, RequestedTrain>,
    pub(super) rules: KnownPolicy,
    /// Commands of which it is not known yet whether their givers may give them.
    pub(super) commands: Vec<PendingCommand>,
    /// Those whose approval was taken away, and the train that ended by it.
    pub(super) dismissals: BTreeMap<PrNumber, PrNumber>,
    /// Branches that are to be deleted.
    pub(super) outlived: BTreeMap<PrNumber, LandedBranch>,
    pub(super) bot: Option<UserId>,
    /// When the trains were last looked after although nothing came in.
    pub(super) polled_at: Option<Timestamp>,
    pub(super) seen_dedupe_keys: BTreeMap<String, Timestamp>,
    pub(super) sync: FullSync,
    pub(super) wanted: BTreeMap<PrNumber, PendingFetch>,
    pub(super) merge_reads: Backoff,
    /// How often what cannot be undone was done to each pull request of late.
    pub(super) paces: Paces,
    pub(super) outbox: Outbox,
    /// What the repository says about itself.
    pub(super) own: Own,
    /// The pull requests under ratchet.
    pub(super) workspaces: Workspaces,
    /// Whether the ratchet is on for those without a setting of their own; none: as the configuration has it.
    pub(super) ratchet_default: Option<bool>,
    /// When fixers were sent, of late.
    pub(super) fixers_sent: Vec<Timestamp>,
    pub(super) talk_reads: Backoff,
    /// Cache misses since the last full look.
    pub(super) miss_count: u32,
    /// When the last event was applied.
    pub(super) touched_at: Option<Timestamp>,

    // Derived from the pull requests; never persisted.
    pub(super) descendants: BTreeMap<PrNumber, BTreeSet<PrNumber>>,
    pub(super) open_heads: BTreeMap<Sha, BTreeSet<PrNumber>>,
    pub(super) merge_wanted: BTreeSet<PrNumber>,
}

/// A pull request, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedPr {
    /// None in states that were written before it was kept.
    pub head_ref: Option<BranchName>,
    pub head_sha: Sha,
    pub base_ref: BranchName,
    pub state: PrState,
    pub draft: bool,
    pub head_repo: HeadRepo,
    pub author: Option<UserId>,
    pub predecessor: Option<PrNumber>,
    /// The comment that declares the predecessor; only its edits and its deletion count.
    pub predecessor_comment: Option<CommentId>,
    /// What it declared to stand on before, and had landed by then: it is still to be related to that.
    pub former_predecessors: Vec<PrNumber>,
    /// When it was declared, or the declaration taken back: who asked GitHub before that heard the older word.
    pub declared_at: Option<Timestamp>,
    /// The squash of its predecessor that its branch contains, and the head of which that is known. Of another head it says
    /// nothing.
    pub predecessor_squash_reconciled: Option<Sha>,
    pub reconciled_head: Option<Sha>,
    /// What people last pushed, as it was when merge-train last pushed upon it.
    pub people_head: Option<Sha>,
    /// The heads of its predecessor that merge-train merged into it.
    pub prepared_with: Vec<Sha>,
    /// The heads that it had before this one.
    pub former_heads: Vec<Sha>,
    /// It is a pull request of the default branch itself, which only squashes may move.
    pub head_is_default: bool,
    /// A train went on without it and said so: only a start of its own, or of its root, takes it in again.
    pub left_out: bool,
    pub merge_state: MergeState,
    pub review: Option<ReviewDecision>,
    /// What CI says of the head.
    pub ci: CiFacts,
    /// The head that merge-train pushed, and the heads that it replaced: a message that still speaks of those is old.
    pub pushed: Option<Sha>,
    pub replaced: Vec<Sha>,
    /// The train that landed it.
    pub landed_by: Option<PrNumber>,
    /// The head with which it could not be related to its predecessor's squash.
    pub late_refused: Option<Sha>,
    /// Its place in a stack that GitHub itself keeps.
    pub stack_position: Option<u32>,
    /// What somebody called it. Empty in states that were written before it was kept.
    pub title: String,
    /// Since when a reading of the merge state is owed.
    pub merge_state_wanted_since: Option<Timestamp>,
    /// GitHub's own time of the last change: what is older than it is not news.
    pub updated_at: Option<Timestamp>,
    /// When the cache last learned something of it.
    pub observed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrState {
    Open,
    Merged { merge_commit_sha: Option<Sha>, closed_at: Option<Timestamp> },
    Closed { closed_at: Option<Timestamp> },
}

impl CachedPr {
    pub fn is_open(&self) -> bool {
        self.state == PrState::Open
    }

    /// The commit that it was merged as, as far as GitHub has told.
    pub fn merge_commit(&self) -> Option<Sha> {
        match &self.state {
            PrState::Merged { merge_commit_sha, .. } => merge_commit_sha.clone(),
            PrState::Open | PrState::Closed { .. } => None,
        }
    }

    pub fn closed_at(&self) -> Option<Timestamp> {
        match &self.state {
            PrState::Open => None,
            PrState::Merged { closed_at, .. } | PrState::Closed { closed_at } => *closed_at,
        }
    }

    /// Whether merge-train has any business with it.
    pub fn is_ours(&self) -> bool {
        self.is_open() && self.head_repo == HeadRepo::Same && !self.head_is_default
    }

    /// Every head that was heard of, with the present one: by the time git looks, somebody may have pushed another.
    pub fn heads_seen(&self) -> Vec<Sha> {
        self.former_heads.iter().chain([&self.head_sha]).cloned().collect()
    }

    pub fn is_merged(&self) -> bool {
        matches!(self.state, PrState::Merged { .. })
    }
}

/// A train that is to start.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct RequestedTrain {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentRef>,
    #[serde(flatten)]
    pub behest: Attribution,
    #[serde(default)]
    pub backoff: Backoff,
}

/// A command, and who gave it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct PendingCommand {
    pub comment: CommentRef,
    pub user: UserId,
    pub login: String,
    pub command: StoredCommand,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryId>,
    #[serde(default)]
    pub backoff: Backoff,
}

impl PendingCommand {
    pub fn behest(&self) -> Attribution {
        Attribution {
            by: Some(format!("github:{}", self.login)),
            delivery: self.delivery.clone(),
            ..Attribution::default()
        }
    }
}

/// The rules of the repository, as far as they were read.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(super) struct KnownPolicy {
    pub known: Option<(MergePolicy, Timestamp)>,
    /// They are to be read.
    pub wanted: Option<Backoff>,
}

/// A branch whose pull request has landed.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct LandedBranch {
    pub branch: BranchName,
    pub head: Sha,
    #[serde(default)]
    pub backoff: Backoff,
}

/// The full look at the repository.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct FullSync {
    pub last: Option<Timestamp>,
    /// When everything was last looked at because something had been missed.
    pub missed_at: Option<Timestamp>,
    pub wanted: Option<(SyncReason, Backoff)>,
    /// Pull requests whose conversations are still to be read; none before it is known which there are.
    pub unread: Option<BTreeSet<PrNumber>>,
    /// Why the last reading did not succeed.
    pub error: Option<String>,
    /// What was found of trains, until all is read.
    pub traces: BTreeMap<PrNumber, TrainTraces>,
}

/// A pull request that is to be fetched.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PendingFetch {
    pub since: Timestamp,
    pub comments: Vec<CommentFacts>,
    pub backoff: Backoff,
    /// Whether what stands on it was given another base.
    pub is_left: bool,
}

/// How often something failed, and when it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Backoff {
    pub attempts: u32,
    pub retry_at: Option<Timestamp>,
}

impl Backoff {
    pub fn fail(&mut self, retry_at: Timestamp) {
        self.attempts += 1;
        self.retry_at = Some(retry_at);
    }

    pub fn is_due(&self, now: Timestamp) -> bool {
        self.retry_at.is_none_or(|at| at <= now)
    }
}

/// The sync state of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    Unknown,
    Bootstrapping,
    Ready,
    Resync,
    Failed,
}

/// The progress of a repository's full sync.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[schema(as = Progress)]
pub struct SyncProgress {
    pub lifecycle: Lifecycle,
    /// Why it is synced.
    pub reason: Option<SyncReason>,
    /// When the last full sync completed.
    pub synced_at: Option<Timestamp>,
    /// How many pull requests still need their conversation read; missing until the pull requests are known.
    pub unread: Option<usize>,
    /// How often in a row it failed; `error` and `retry_at` say why, and when the next try is.
    pub attempts: u32,
    pub error: Option<String>,
    pub retry_at: Option<Timestamp>,
}

impl RepoState {
    pub fn default_branch(&self) -> Option<&BranchName> {
        self.default_branch.as_ref()
    }

    pub fn prs(&self) -> &BTreeMap<PrNumber, CachedPr> {
        &self.prs
    }

    pub fn pr(&self, number: PrNumber) -> Option<&CachedPr> {
        self.prs.get(&number)
    }

    /// The pull requests that declare this one their predecessor.
    pub fn descendants(&self, of: PrNumber) -> impl Iterator<Item = PrNumber> + '_ {
        self.descendants.get(&of).into_iter().flatten().copied()
    }

    pub fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    pub fn active_trains(&self) -> &ActiveTrains {
        &self.active_trains
    }

    /// The commit that the last of those landed as that have landed below it.
    pub(super) fn squash_below(&self, pr: PrNumber) -> Option<Sha> {
        let below = self.landed_below(pr).pop()?;
        self.prs.get(&below).and_then(CachedPr::merge_commit)
    }

    /// The train that has this pull request on board, by its name: the one that it, or what it stands on, is part of.
    pub fn train_of(&self, pr: PrNumber) -> Option<PrNumber> {
        let mut seen = BTreeSet::new();
        let mut next = Some(pr);
        while let Some(number) = next.filter(|number| seen.insert(*number)) {
            let aboard = |train: &&TrainRecord| {
                train.original_root_pr == number
                    || train.current_pr == number
                    || train.cascade_phase.frozen_descendants().contains(&number)
            };
            // One that halted may still be remembered where another has taken over.
            let live = self.active_trains.values().find(|train| is_live(train.state) && aboard(train));
            if let Some(train) = live.or_else(|| self.active_trains.values().find(aboard)) {
                return Some(train.original_root_pr);
            }
            // What has landed carries nobody any more, unless its train is still busy with those that stood on it.
            let carries = |below: &PrNumber| {
                let is_at = |train: &TrainRecord| train.current_pr == *below;
                let has_landed = self.prs.get(below).is_some_and(|below| matches!(below.state, PrState::Merged { .. }));
                !has_landed || self.active_trains.values().any(is_at)
            };
            next = self.prs.get(&number).and_then(|pr| pr.predecessor).filter(carries);
        }
        None
    }

    /// How much there is to write down: what a snapshot costs.
    pub fn weight(&self) -> usize {
        let pulls = self.prs.len() + self.workspaces.len() + self.wanted.len();
        pulls + self.active_trains.len() + self.seen_dedupe_keys.len()
    }

    pub fn lifecycle(&self) -> Lifecycle {
        match (&self.sync.last, &self.sync.wanted) {
            (None, None) => Lifecycle::Unknown,
            (None, Some((_, backoff))) if backoff.attempts > 0 => Lifecycle::Failed,
            (None, Some(_)) => Lifecycle::Bootstrapping,
            (Some(_), None) => Lifecycle::Ready,
            (Some(_), Some(_)) => Lifecycle::Resync,
        }
    }

    pub fn progress(&self) -> SyncProgress {
        let (reason, backoff) = self.sync.wanted.map_or((None, Backoff::default()), |(why, how)| (Some(why), how));
        SyncProgress {
            lifecycle: self.lifecycle(),
            reason,
            synced_at: self.sync.last,
            unread: self.sync.unread.as_ref().map(BTreeSet::len),
            attempts: backoff.attempts,
            error: self.sync.error.clone(),
            retry_at: backoff.retry_at,
        }
    }

    /// Whether it was never seen as a whole: what is known of it may be any part.
    pub(super) fn is_bootstrapping(&self) -> bool {
        self.sync.last.is_none()
    }

    /// Whether trains wait for a full look: what they would go on from is a part of what there is, or old.
    pub(super) fn is_outdated(&self) -> bool {
        let reason = self.sync.wanted.as_ref().map(|(reason, _)| reason);
        self.is_bootstrapping() || matches!(reason, Some(SyncReason::Stale | SyncReason::Behind))
    }

    /// Rebuilds what is derived from the pull requests.
    pub(super) fn index(&mut self) {
        self.descendants.clear();
        self.open_heads.clear();
        self.merge_wanted.clear();
        let numbers: Vec<PrNumber> = self.prs.keys().copied().collect();
        for number in numbers {
            self.index_one(number);
        }
    }

    pub(super) fn index_one(&mut self, number: PrNumber) {
        let Some(pr) = self.prs.get(&number) else { return };
        if let Some(predecessor) = pr.predecessor {
            self.descendants.entry(predecessor).or_default().insert(number);
        }
        if pr.is_open() {
            self.open_heads.entry(pr.head_sha.clone()).or_default().insert(number);
        }
        if pr.merge_state_wanted_since.is_some() {
            self.merge_wanted.insert(number);
        }
    }

    pub(super) fn unindex_one(&mut self, number: PrNumber) {
        let Some(pr) = self.prs.get(&number) else { return };
        if let Some(predecessor) = pr.predecessor {
            remove_from(&mut self.descendants, &predecessor, number);
        }
        remove_from(&mut self.open_heads, &pr.head_sha, number);
        self.merge_wanted.remove(&number);
    }
}

fn remove_from<K: Ord>(index: &mut BTreeMap<K, BTreeSet<PrNumber>>, key: &K, number: PrNumber) {
    if let Some(numbers) = index.get_mut(key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(key);
        }
    }
}
