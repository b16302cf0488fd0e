//! The persisted form of the state. Its JSON is an interface: it is `snapshot.N.json` and the state that the API shows.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::event::{PrStateName, SyncReason, TrainTraces};
use super::outbox::Outbox;
use super::pace::Paces;
use super::settings::Own;
use super::state::{
    Backoff, CachedPr, FullSync, KnownPolicy, LandedBranch, PendingCommand, PendingFetch, PrState, RepoState,
    RequestedTrain,
};
use crate::facts::{CiFacts, CommentFacts, HeadRepo, MergeState, ReviewDecision};
use crate::ids::{BranchName, CommentId, PrNumber, Sha, UserId};
use crate::repo::ratchet::Workspaces;
use crate::repo::trains::detail::TrainDetails;
use crate::repo::trains::{ActiveTrains, EndedTrains};

/// The version of the schema.
const VERSION: u32 = 1;

/// Where in the log a snapshot stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub generation: u64,
    pub next_seq: u64,
    pub taken_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema_version: u32,
    pub snapshot_at: Timestamp,
    #[serde(default)]
    pub log_generation: u64,
    /// The byte in `events.N.log` from which to replay.
    #[serde(default)]
    pub log_position: u64,
    #[serde(default = "first")]
    pub next_seq: u64,
    /// Missing until GitHub was asked.
    pub default_branch: Option<BranchName>,
    pub prs: BTreeMap<PrNumber, PersistedPr>,
    pub active_trains: ActiveTrains,
    #[serde(default, skip_serializing_if = "is_default")]
    ended_trains: EndedTrains,
    #[serde(default, skip_serializing_if = "is_default")]
    train_details: TrainDetails,
    #[serde(default, skip_serializing_if = "is_default")]
    starts: BTreeMap<PrNumber, RequestedTrain>,
    #[serde(default, skip_serializing_if = "is_default")]
    rules: KnownPolicy,
    #[serde(default, skip_serializing_if = "is_default")]
    commands: Vec<PendingCommand>,
    #[serde(default, skip_serializing_if = "is_default")]
    dismissals: BTreeMap<PrNumber, PrNumber>,
    #[serde(default, skip_serializing_if = "is_default")]
    outlived_branches: BTreeMap<PrNumber, LandedBranch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bot: Option<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    polled_at: Option<Timestamp>,
    #[serde(default)]
    pub seen_dedupe_keys: BTreeMap<String, Timestamp>,
    #[serde(default)]
    pub sync: PersistedSync,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    wanted_prs: BTreeMap<PrNumber, PersistedWant>,
    #[serde(default, skip_serializing_if = "is_default")]
    merge_reads: Backoff,
    #[serde(default, skip_serializing_if = "is_default")]
    paces: Paces,
    #[serde(default, skip_serializing_if = "is_default")]
    outbox: Outbox,
    /// What the repository says about itself.
    #[serde(default, skip_serializing_if = "is_default")]
    own: Own,
    #[serde(default, skip_serializing_if = "is_default")]
    pub workspaces: Workspaces,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ratchet_default: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fixers_sent: Vec<Timestamp>,
    #[serde(default, skip_serializing_if = "is_default")]
    talk_reads: Backoff,
    #[serde(default)]
    pub miss_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    touched_at: Option<Timestamp>,
}

fn first() -> u64 {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PersistedPr {
    head_sha: Sha,
    base_ref: BranchName,
    predecessor: Option<PrNumber>,
    state: PrStateName,
    closed_at: Option<Timestamp>,
    #[serde(default)]
    predecessor_squash_reconciled: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reconciled_head: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    people_head: Option<Sha>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former_predecessors: Vec<PrNumber>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prepared_with: Vec<Sha>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former_heads: Vec<Sha>,
    #[serde(default, skip_serializing_if = "is_default")]
    head_is_default: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    left_out: bool,
    #[serde(default)]
    head_ref: Option<BranchName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merge_commit_sha: Option<Sha>,
    #[serde(default)]
    draft: bool,
    #[serde(default = "same")]
    head_repo: HeadRepo,
    #[serde(default)]
    author: Option<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predecessor_comment: Option<CommentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared_at: Option<Timestamp>,
    #[serde(default = "unknown")]
    merge_state: MergeState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    review: Option<ReviewDecision>,
    #[serde(default, skip_serializing_if = "is_default")]
    ci: CiFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pushed_head: Option<Sha>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replaced_heads: Vec<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    landed_by: Option<PrNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_refused: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stack_position: Option<u32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merge_state_wanted_since: Option<Timestamp>,
    #[serde(default)]
    updated_at: Option<Timestamp>,
    #[serde(default)]
    observed_at: Option<Timestamp>,
}

fn same() -> HeadRepo {
    HeadRepo::Same
}

fn unknown() -> MergeState {
    MergeState::Unknown
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PersistedSync {
    last: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wanted: Option<SyncReason>,
    #[serde(default, skip_serializing_if = "is_default")]
    backoff: Backoff,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread: Option<BTreeSet<PrNumber>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    traces: Vec<TrainTraces>,
}

impl PersistedSync {
    fn of(sync: &FullSync) -> Self {
        let (wanted, backoff) = sync.wanted.map_or((None, Backoff::default()), |(why, how)| (Some(why), how));
        let (unread, error) = (sync.unread.clone(), sync.error.clone());
        let traces = sync.traces.values().cloned().collect();
        Self { last: sync.last, missed_at: sync.missed_at, wanted, backoff, unread, error, traces }
    }

    fn restore(self) -> FullSync {
        FullSync {
            last: self.last,
            missed_at: self.missed_at,
            wanted: self.wanted.map(|reason| (reason, self.backoff)),
            unread: self.unread,
            error: self.error,
            traces: self.traces.into_iter().map(|trace| (trace.pr, trace)).collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PersistedWant {
    since: Timestamp,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    comments: Vec<CommentFacts>,
    #[serde(default, skip_serializing_if = "is_default")]
    backoff: Backoff,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_left: bool,
}

impl Snapshot {
    /// The state at the beginning of a generation.
    pub fn of(state: &RepoState, at: Position) -> Self {
        let want = |wanted: &PendingFetch| PersistedWant {
            since: wanted.since,
            comments: wanted.comments.clone(),
            backoff: wanted.backoff,
            is_left: wanted.is_left,
        };
        Self {
            schema_version: VERSION,
            snapshot_at: at.taken_at,
            log_generation: at.generation,
            log_position: 0,
            next_seq: at.next_seq,
            default_branch: state.default_branch.clone(),
            prs: state.prs.iter().map(|(number, pr)| (*number, PersistedPr::of(pr))).collect(),
            active_trains: state.active_trains.clone(),
            ended_trains: state.ended.clone(),
            train_details: state.details.clone(),
            starts: state.starts.clone(),
            rules: state.rules.clone(),
            commands: state.commands.clone(),
            dismissals: state.dismissals.clone(),
            outlived_branches: state.outlived.clone(),
            bot: state.bot,
            polled_at: state.polled_at,
            seen_dedupe_keys: state.seen_dedupe_keys.clone(),
            sync: PersistedSync::of(&state.sync),
            wanted_prs: state.wanted.iter().map(|(number, wanted)| (*number, want(wanted))).collect(),
            merge_reads: state.merge_reads,
            paces: state.paces.clone(),
            outbox: state.outbox.clone(),
            own: state.own.clone(),
            workspaces: state.workspaces.clone(),
            ratchet_default: state.ratchet_default,
            fixers_sent: state.fixers_sent.clone(),
            talk_reads: state.talk_reads,
            miss_count: state.miss_count,
            touched_at: state.touched_at,
        }
    }

    /// The state as it was.
    pub fn restore(self) -> RepoState {
        let want = |want: PersistedWant| PendingFetch {
            since: want.since,
            comments: want.comments,
            backoff: want.backoff,
            is_left: want.is_left,
        };
        let mut state = RepoState {
            default_branch: self.default_branch,
            prs: self.prs.into_iter().map(|(number, pr)| (number, pr.restore())).collect(),
            active_trains: self.active_trains,
            ended: self.ended_trains,
            details: self.train_details,
            starts: self.starts,
            rules: self.rules,
            commands: self.commands,
            dismissals: self.dismissals,
            outlived: self.outlived_branches,
            bot: self.bot,
            polled_at: self.polled_at,
            seen_dedupe_keys: self.seen_dedupe_keys,
            sync: self.sync.restore(),
            wanted: self.wanted_prs.into_iter().map(|(number, wanted)| (number, want(wanted))).collect(),
            merge_reads: self.merge_reads,
            paces: self.paces,
            outbox: self.outbox,
            own: self.own,
            workspaces: self.workspaces,
            ratchet_default: self.ratchet_default,
            fixers_sent: self.fixers_sent,
            talk_reads: self.talk_reads,
            miss_count: self.miss_count,
            touched_at: self.touched_at,
            ..RepoState::default()
        };
        state.index();
        state
    }
}

impl PersistedPr {
    fn of(pr: &CachedPr) -> Self {
        let (state, merge_commit_sha) = match &pr.state {
            PrState::Open => (PrStateName::Open, None),
            PrState::Merged { merge_commit_sha, .. } => (PrStateName::Merged, merge_commit_sha.clone()),
            PrState::Closed { .. } => (PrStateName::Closed, None),
        };
        Self {
            head_sha: pr.head_sha.clone(),
            base_ref: pr.base_ref.clone(),
            predecessor: pr.predecessor,
            state,
            closed_at: pr.closed_at(),
            predecessor_squash_reconciled: pr.predecessor_squash_reconciled.clone(),
            reconciled_head: pr.reconciled_head.clone(),
            people_head: pr.people_head.clone(),
            former_predecessors: pr.former_predecessors.clone(),
            prepared_with: pr.prepared_with.clone(),
            former_heads: pr.former_heads.clone(),
            head_is_default: pr.head_is_default,
            left_out: pr.left_out,
            head_ref: pr.head_ref.clone(),
            merge_commit_sha,
            draft: pr.draft,
            head_repo: pr.head_repo,
            author: pr.author,
            predecessor_comment: pr.predecessor_comment,
            merge_state: pr.merge_state,
            review: pr.review,
            ci: pr.ci.clone(),
            pushed_head: pr.pushed.clone(),
            replaced_heads: pr.replaced.clone(),
            landed_by: pr.landed_by,
            late_refused: pr.late_refused.clone(),
            declared_at: pr.declared_at,
            stack_position: pr.stack_position,
            title: pr.title.clone(),
            merge_state_wanted_since: pr.merge_state_wanted_since,
            updated_at: pr.updated_at,
            observed_at: pr.observed_at,
        }
    }

    fn restore(self) -> CachedPr {
        let closed_at = self.closed_at;
        CachedPr {
            head_ref: self.head_ref,
            head_sha: self.head_sha,
            base_ref: self.base_ref,
            state: match self.state {
                PrStateName::Open => PrState::Open,
                PrStateName::Merged => PrState::Merged { merge_commit_sha: self.merge_commit_sha, closed_at },
                PrStateName::Closed => PrState::Closed { closed_at },
            },
            draft: self.draft,
            head_repo: self.head_repo,
            author: self.author,
            predecessor: self.predecessor,
            predecessor_comment: self.predecessor_comment,
            predecessor_squash_reconciled: self.predecessor_squash_reconciled,
            reconciled_head: self.reconciled_head,
            people_head: self.people_head,
            former_predecessors: self.former_predecessors,
            prepared_with: self.prepared_with,
            former_heads: self.former_heads,
            head_is_default: self.head_is_default,
            left_out: self.left_out,
            merge_state: self.merge_state,
            review: self.review,
            ci: self.ci,
            pushed: self.pushed_head,
            replaced: self.replaced_heads,
            landed_by: self.landed_by,
            late_refused: self.late_refused,
            declared_at: self.declared_at,
            stack_position: self.stack_position,
            title: self.title,
            merge_state_wanted_since: self.merge_state_wanted_since,
            updated_at: self.updated_at,
            observed_at: self.observed_at,
        }
    }
}
