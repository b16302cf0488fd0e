//! The record of a train, as it is persisted and mirrored in the status comment.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::detail::is_live;
use crate::ids::{CommentId, PrNumber, Sha};
use crate::workflow::RunStatus;

/// The version of the record's schema.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainRecord {
    pub version: u32,
    /// Rises with every change: of two records of one train the higher is ahead.
    pub recovery_seq: u64,
    pub state: TrainState,
    /// Where the train began. Never changes; it is the train's name.
    pub original_root_pr: PrNumber,
    /// The pull request it works on now.
    pub current_pr: PrNumber,
    pub cascade_phase: CascadePhase,
    pub predecessor_pr: Option<PrNumber>,
    #[serde(default)]
    pub predecessor_head_sha: Option<Sha>,
    pub last_squash_sha: Option<Sha>,
    pub started_at: Timestamp,
    pub stopped_at: Option<Timestamp>,
    pub error: Option<TrainError>,
    /// Pull requests above that it goes on without, as was announced on them: that holds even if the database is lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<PrNumber>,
    /// Known only here, not in the comment itself.
    #[serde(default)]
    pub status_comment_id: Option<CommentId>,
}

impl TrainRecord {
    pub(super) fn new(root: PrNumber, current: PrNumber, started_at: Timestamp) -> Self {
        Self {
            version: VERSION,
            recovery_seq: 1,
            state: TrainState::Running,
            original_root_pr: root,
            current_pr: current,
            cascade_phase: CascadePhase::Idle,
            predecessor_pr: None,
            predecessor_head_sha: None,
            last_squash_sha: None,
            started_at,
            stopped_at: None,
            error: None,
            left_out: Vec::new(),
            status_comment_id: None,
        }
    }
}

impl TrainRecord {
    /// Whether it halted with this pull request on board: a train that begins there is its successor.
    pub fn gives_way_to(&self, pr: PrNumber) -> bool {
        let is_aboard = self.original_root_pr == pr
            || self.current_pr == pr
            || self.cascade_phase.frozen_descendants().contains(&pr);
        is_aboard && !is_live(self.state)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrainState {
    Running,
    Stopped,
    WaitingCi,
    Aborted,
    NeedsManualReview,
}

impl TrainState {
    /// The state of the run that the train is.
    pub fn as_run(self) -> RunStatus {
        match self {
            Self::Running => RunStatus::Running,
            Self::WaitingCi => RunStatus::WaitingExternal,
            Self::NeedsManualReview => RunStatus::AwaitingApproval,
            Self::Stopped => RunStatus::Cancelled,
            Self::Aborted => RunStatus::Failed,
        }
    }
}

/// Where a train is between two squashes.
///
/// The descendants are frozen at `Preparing` and carried unchanged to `Retargeting`: one that comes later was never
/// prepared, and must not be reconciled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CascadePhase {
    Idle,
    Preparing { completed: Vec<PrNumber>, skipped: Vec<PrNumber>, frozen_descendants: Vec<PrNumber> },
    SquashPending { frozen_descendants: Vec<PrNumber>, skipped: Vec<PrNumber> },
    Reconciling { completed: Vec<PrNumber>, skipped: Vec<PrNumber>, frozen_descendants: Vec<PrNumber> },
    CatchingUp { completed: Vec<PrNumber>, skipped: Vec<PrNumber>, frozen_descendants: Vec<PrNumber> },
    Retargeting { completed: Vec<PrNumber>, skipped: Vec<PrNumber>, frozen_descendants: Vec<PrNumber> },
}

impl CascadePhase {
    /// Its name alone; who is in it and how far is in the phase itself.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Preparing { .. } => "preparing",
            Self::SquashPending { .. } => "squash_pending",
            Self::Reconciling { .. } => "reconciling",
            Self::CatchingUp { .. } => "catching_up",
            Self::Retargeting { .. } => "retargeting",
        }
    }

    /// The pull requests that the phase promised something to.
    pub fn frozen_descendants(&self) -> &[PrNumber] {
        match self {
            Self::Idle => &[],
            Self::Preparing { frozen_descendants, .. }
            | Self::SquashPending { frozen_descendants, .. }
            | Self::Reconciling { frozen_descendants, .. }
            | Self::CatchingUp { frozen_descendants, .. }
            | Self::Retargeting { frozen_descendants, .. } => frozen_descendants,
        }
    }

    /// Those that the phase, or one before, is done with.
    pub fn completed(&self) -> &[PrNumber] {
        match self {
            Self::Idle | Self::SquashPending { .. } => &[],
            Self::Preparing { completed, .. }
            | Self::Reconciling { completed, .. }
            | Self::CatchingUp { completed, .. }
            | Self::Retargeting { completed, .. } => completed,
        }
    }

    /// Those that are left out for good.
    pub fn skipped(&self) -> &[PrNumber] {
        match self {
            Self::Idle => &[],
            Self::SquashPending { skipped, .. }
            | Self::Preparing { skipped, .. }
            | Self::Reconciling { skipped, .. }
            | Self::CatchingUp { skipped, .. }
            | Self::Retargeting { skipped, .. } => skipped,
        }
    }

    /// Those of them that the phase still has to deal with, in their order. Whoever resumes takes these, and never asks
    /// again who the descendants are: one that came later was not prepared. What was skipped is not tried again.
    pub fn remaining(&self) -> impl Iterator<Item = PrNumber> + '_ {
        let (completed, skipped) = (self.completed(), self.skipped());
        let settled = move |pr: &PrNumber| completed.contains(pr) || skipped.contains(pr);
        self.frozen_descendants().iter().copied().filter(move |pr| !settled(pr))
    }
}

/// The phases follow each other with the same lists.
impl CascadePhase {
    pub fn preparing(frozen_descendants: Vec<PrNumber>) -> Self {
        Self::Preparing { completed: Vec::new(), skipped: Vec::new(), frozen_descendants }
    }

    pub fn squash_pending(&self) -> Self {
        let (skipped, frozen_descendants) = self.handed_on();
        Self::SquashPending { frozen_descendants, skipped }
    }

    pub fn reconciling(&self) -> Self {
        let (skipped, frozen_descendants) = self.handed_on();
        Self::Reconciling { completed: Vec::new(), skipped, frozen_descendants }
    }

    pub fn catching_up(&self) -> Self {
        let (skipped, frozen_descendants) = self.handed_on();
        Self::CatchingUp { completed: Vec::new(), skipped, frozen_descendants }
    }

    pub fn retargeting(&self) -> Self {
        let (skipped, frozen_descendants) = self.handed_on();
        Self::Retargeting { completed: Vec::new(), skipped, frozen_descendants }
    }

    /// The same phase, done with one more.
    pub fn having_completed(&self, pr: PrNumber) -> Self {
        let mut phase = self.clone();
        if let Self::Preparing { completed, .. }
        | Self::Reconciling { completed, .. }
        | Self::CatchingUp { completed, .. }
        | Self::Retargeting { completed, .. } = &mut phase
        {
            completed.push(pr);
        }
        phase
    }

    /// The same phase, with this one to be done again.
    pub fn again(&self, pr: PrNumber) -> Self {
        let mut phase = self.clone();
        if let Self::Preparing { completed, .. } = &mut phase {
            completed.retain(|done| *done != pr);
        }
        phase
    }

    /// The same phase without this one.
    pub fn skipping(&self, pr: PrNumber) -> Self {
        let mut phase = self.clone();
        match &mut phase {
            Self::Idle => {}
            Self::SquashPending { skipped, .. }
            | Self::Preparing { skipped, .. }
            | Self::Reconciling { skipped, .. }
            | Self::CatchingUp { skipped, .. }
            | Self::Retargeting { skipped, .. } => skipped.push(pr),
        }
        phase
    }

    fn handed_on(&self) -> (Vec<PrNumber>, Vec<PrNumber>) {
        (self.skipped().to_vec(), self.frozen_descendants().to_vec())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrainError {
    /// The status comment's JSON calls it `type`.
    #[serde(alias = "type")]
    pub error_type: String,
    pub message: String,
}

impl TrainError {
    /// Nobody knows how far the train had come.
    pub const STATE_LOST: &'static str = "state_lost";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prs(numbers: &[u64]) -> Vec<PrNumber> {
        numbers.iter().copied().map(PrNumber::new).collect()
    }

    #[test]
    fn what_remains_is_frozen_and_neither_completed_nor_skipped() {
        let (completed, skipped, frozen_descendants) = (prs(&[3, 9]), prs(&[7]), prs(&[8, 3, 7, 5]));
        let (c, s, f) = (|| completed.clone(), || skipped.clone(), || frozen_descendants.clone());
        for phase in [
            CascadePhase::Preparing { completed: c(), skipped: s(), frozen_descendants: f() },
            CascadePhase::Reconciling { completed: c(), skipped: s(), frozen_descendants: f() },
            CascadePhase::CatchingUp { completed: c(), skipped: s(), frozen_descendants: f() },
            CascadePhase::Retargeting { completed: c(), skipped: s(), frozen_descendants: f() },
        ] {
            assert_eq!(phase.remaining().collect::<Vec<_>>(), prs(&[8, 5]), "{phase:?}");
        }
        let pending = CascadePhase::SquashPending { skipped: s(), frozen_descendants: f() };
        assert_eq!(pending.remaining().collect::<Vec<_>>(), prs(&[8, 3, 5]));
        assert_eq!(CascadePhase::Idle.remaining().count(), 0);
    }
}
