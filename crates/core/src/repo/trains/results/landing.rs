//! The results of squashes and of the checks around them, and what the train does next.

use std::time::Duration;

use super::super::{Change, TrainContext, retry_at};
use super::no_news;
use crate::backoff::ExponentialBackoff;
use crate::ids::{BranchName, PrNumber, Sha};
use crate::repo::event::FetchReason;
use crate::repo::mirror;
use crate::repo::pace::{self, PacedAction};
use crate::repo::state::CachedPr;
use crate::repo::trains::Event;
use crate::repo::trains::texts::train_end;
use crate::repo::trains::work::{ExpectedTree, LandedSquash, LandedTreeProof, ObservedSquash, SquashOutcome};
use crate::repo::trains::{CascadePhase, TrainRecord, blockers};

/// How often GitHub is asked for the commit of a merge that it reports.
const LOOKS_FOR_COMMIT: u32 = 10;
const LOOK_AGAIN: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(2), Duration::from_secs(32));
/// How often the default branch is read again before it counts as rewound.
const LOOKS_FOR_SQUASH: u32 = 3;
/// How often a squash is tried that GitHub refuses for a reason that may pass.
const SQUASH_TRIES: u32 = 3;

impl TrainContext<'_> {
    pub(super) fn expected(&self, pull: PrNumber, head: &Sha, expected: &ExpectedTree) -> Change {
        let Some(train) = self.train() else { return Change::default() };
        match expected {
            ExpectedTree::Tree { default_head, tree, standing } => Change::of([Event::IntentSquash {
                train_root: self.root,
                pr: pull,
                head_sha: Some(head.clone()),
                default_head: Some(default_head.clone()),
                expected_tree: Some(tree.clone()),
                people_head: Some(standing.people_head.clone()),
                stands_on: Some(standing.stands_on.clone()),
            }]),
            ExpectedTree::HeadChanged { head } => self.thought_over(train, &format!("git has the head {head}")),
            ExpectedTree::NotRelated { pull: below } => {
                let (train_root, head_sha) = (self.root, head.clone());
                let lacking = Event::SquashContained { train_root, pr: pull, squash: None, head_sha };
                let reason = format!("the head of #{pull} does not contain the squash of #{below}");
                let mut change = Change::of([lacking]);
                change.events.extend(self.thought_over(train, &reason).events);
                change
            }
            ExpectedTree::Rewound { pull, commit } => self.missing(*pull, commit),
            ExpectedTree::Differs(difference) => {
                let Some(default) = self.state.default_branch.clone() else { return Change::default() };
                let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone()).unwrap_or_else(|| default.clone());
                let moved = train_end::ManualBranchMove::of(&branch, &difference.standing, &default);
                self.halted(train, pull, &train_end::differs(pull, &default, difference, &moved))
            }
            ExpectedTree::Conflict(_) => {
                let Some(default) = self.state.default_branch.clone() else { return Change::default() };
                let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone()).unwrap_or_else(|| default.clone());
                self.halted(
                    train,
                    pull,
                    &train_end::dirty(pull, &default, &train_end::ManualMerge::new(&branch, &default)),
                )
            }
            ExpectedTree::PullRefGone => self.halted(train, pull, &train_end::pull_ref_gone(pull)),
        }
    }

    /// What was found ready is not what is there: everything about it is looked at again.
    fn thought_over(&self, train: &TrainRecord, reason: &str) -> Change {
        let wanted = mirror::Event::PrWanted { pr: train.current_pr, reason: FetchReason::HeadDiffers, comment: None };
        let is_first = self.detail.refusals < SQUASH_TRIES;
        let mut change = Change::of(is_first.then_some(wanted));
        change.events.extend(self.not_taken(train, reason).events);
        change
    }

    /// The default branch does not have a squash that has landed. Git may be late; then it was rewound.
    pub(super) fn missing(&self, pull: PrNumber, commit: &Sha) -> Change {
        let Some(default) = self.state.default_branch.clone() else { return Change::default() };
        if self.detail.attempts < LOOKS_FOR_SQUASH {
            return self.once_they_agree(pull, format!("{commit}, the squash of #{pull}, is not on {default}"));
        }
        let base = self.state.pr(pull).map(|pr| pr.base_ref.clone()).filter(|base| *base != default);
        let halt = match base {
            Some(base) => train_end::landed_elsewhere(pull, commit, &base, &default),
            None => train_end::default_rewound(pull, commit, &default),
        };
        match self.train() {
            Some(train) => self.freeze_train(train, train.current_pr, &halt),
            None => self.give_up_late(self.root, Some(&halt)),
        }
    }

    pub(super) fn squash_answered(&self, squashed: &SquashOutcome) -> Change {
        let Some(train) = self.train() else { return Change::default() };
        let pull = train.current_pr;
        match squashed {
            SquashOutcome::Merged { commit } => self.squashed(train, commit),
            SquashOutcome::BaseChanged { base } => self.thought_over(train, &format!("GitHub has the base {base}")),
            SquashOutcome::HeadChanged => self.thought_over(train, "GitHub has another head, or calls it out of date"),
            SquashOutcome::Refused { message } if !may_pass(message) => {
                self.halted(train, pull, &train_end::squash_refused(pull, message))
            }
            SquashOutcome::Refused { message } => self.not_taken(train, message),
        }
    }

    /// GitHub says no for now. Whatever it is, the merge state tells: it is thought over, after 2, 4 and 8 seconds; then the
    /// next word of GitHub is waited for.
    fn not_taken(&self, train: &TrainRecord, message: &str) -> Change {
        let (train_root, pr) = (self.root, train.current_pr);
        let mut change = Change::of([Event::SquashRefused { train_root, reason: message.to_owned() }]);
        change.events.extend(self.enter(train, CascadePhase::Idle).events);
        if self.detail.refusals < SQUASH_TRIES {
            let retry_at = retry_at(&no_news(), self.detail.refusals, self.now);
            // A push or another base in between makes it another squash, but no success.
            let tried = pace::of(self.state, PacedAction::Squash, pr).map_or(0, |pace| pace.times);
            let times = tried.max(self.detail.refusals + 1);
            // The first is not worth a word.
            let why = (times > 1).then(|| blockers::squashed_again(pr, times).since(self.now));
            change = change.then(Change::of(why.map(|why| Event::TrainWaiting { train_root, why })));
            let reason = message.to_owned();
            return change.and(mirror::Event::MergeStateOutdated { prs: vec![pr] }).and(Event::WorkDelayed {
                train_root,
                reason,
                retry_at,
            });
        }
        let why = blockers::squash_not_taken(pr, message).since(self.now);
        change.and(Event::TrainWaiting { train_root, why }).and(Event::TrainHeld { train_root })
    }

    /// What GitHub says of a pull request that may have been merged.
    pub(super) fn seen(&self, pull: PrNumber, seen: &ObservedSquash) -> Change {
        let train = self.train();
        let is_current = train.is_some_and(|train| train.current_pr == pull);
        match (seen, train) {
            (ObservedSquash::Merged { commit: Some(sha) }, Some(train))
                if is_current && matches!(train.cascade_phase, CascadePhase::SquashPending { .. }) =>
            {
                self.squashed(train, sha)
            }
            (ObservedSquash::Merged { commit: Some(sha) }, Some(train)) if is_current => {
                let after = TrainRecord { last_squash_sha: Some(sha.clone()), ..train.clone() };
                let mut change = Change::of([mirror::Event::PrMerged { pr: pull, sha: Some(sha.clone()), at: None }]);
                change.events.extend(self.enter(&after, train.cascade_phase.clone()).events);
                change
            }
            (ObservedSquash::Merged { commit: Some(sha) }, _) => {
                Change::of([mirror::Event::PrMerged { pr: pull, sha: Some(sha.clone()), at: None }])
            }
            (ObservedSquash::Merged { commit: None }, _) => self.commit_unknown(pull),
            (ObservedSquash::Open { .. }, Some(train)) if is_current && !self.is_merged(pull) => self.not_merged(train),
            (ObservedSquash::Closed, Some(train)) if is_current && !self.is_merged(pull) => {
                self.halted(train, pull, &train_end::root_closed(pull))
            }
            (ObservedSquash::Open { .. } | ObservedSquash::Closed, _) => {
                let wanted = mirror::Event::PrWanted { pr: pull, reason: FetchReason::HeadDiffers, comment: None };
                let message = format!("GitHub does not call #{pull} merged");
                Change::of([wanted]).then(self.once_they_agree(pull, message))
            }
        }
    }

    /// Whether GitHub said before that it is merged: that stays so, whatever a look at it says.
    fn is_merged(&self, pull: PrNumber) -> bool {
        self.state.pr(pull).is_some_and(CachedPr::is_merged)
    }

    /// It was to be squashed, and is not: it is done now.
    fn not_merged(&self, train: &TrainRecord) -> Change {
        let mut change = Change::default();
        if self.detail.intent.is_some() {
            change.record(self.dropped("the squash had not been done"));
        }
        if !matches!(train.cascade_phase, CascadePhase::SquashPending { .. }) {
            let phase = train.cascade_phase.squash_pending();
            change.events.extend(self.enter(train, phase).events);
        }
        change
    }

    /// GitHub can be late with the commit of a merge.
    fn commit_unknown(&self, pull: PrNumber) -> Change {
        let attempts = self.detail.attempts;
        if attempts + 1 >= LOOKS_FOR_COMMIT {
            let halt = train_end::merge_commit_unknown(pull);
            return match self.train() {
                Some(train) => self.halted(train, pull, &halt),
                None => self.give_up_late(self.root, Some(&halt)),
            };
        }
        let wait = LOOK_AGAIN.delay(attempts);
        let retry_at = self.now.checked_add(wait).unwrap_or(jiff::Timestamp::MAX);
        let message = format!("GitHub does not name the commit of #{pull} yet");
        let reason = blockers::disagree(pull, &message);
        self.again_at(retry_at, message, reason)
    }

    pub(super) fn proved(&self, landed: &LandedSquash, proof: &LandedTreeProof) -> Change {
        let Some(train) = self.train() else { return Change::default() };
        let Some(default) = self.state.default_branch.clone() else { return Change::default() };
        let (pull, commit) = (landed.pull, &landed.commit);
        match proof {
            LandedTreeProof::Proven => Change::of([Event::SquashProven { train_root: self.root, sha: commit.clone() }]),
            LandedTreeProof::OtherHead { head } => {
                // Whether the descendants have it is looked at for each.
                let phase = train.cascade_phase.clone();
                let known = Change::of([self.transition(train, phase, Some(head.clone()))]);
                known.and(Event::SquashProven { train_root: self.root, sha: commit.clone() })
            }
            LandedTreeProof::WrongTree { expected, found, files } => {
                let halt = train_end::wrong_landed_tree(pull, commit, expected, found, &default).in_files(files);
                self.freeze_train(train, pull, &halt)
            }
            LandedTreeProof::NotASquash { reason } if self.was_ours(pull) => {
                let halt = train_end::wrong_landed_parents(pull, commit, &default).because(reason);
                self.freeze_train(train, pull, &halt)
            }
            LandedTreeProof::NotASquash { reason } => {
                let moves = self.moves_off(pull, &default);
                self.halted(train, pull, &train_end::merged_outside(pull, &moves).because(reason))
            }
            LandedTreeProof::Missing { pull, commit } => self.missing(*pull, commit),
            LandedTreeProof::CannotTell { reason } => {
                let halt = train_end::cannot_prove(pull, commit, &default).because(reason);
                self.freeze_train(train, pull, &halt)
            }
        }
    }

    /// How those that are stacked on a pull request that landed are moved to the default branch by hand.
    fn moves_off(&self, landed: PrNumber, default: &BranchName) -> Vec<(PrNumber, train_end::ManualBranchMove)> {
        let Some(head) = self.state.pr(landed).map(|pr| pr.head_sha.clone()) else { return Vec::new() };
        let above = self.standing_on(landed).into_iter();
        let branch = |above: PrNumber| Some((above, self.state.pr(above)?.head_ref.clone()?));
        let moved = |(above, branch)| (above, train_end::ManualBranchMove::without(&branch, &head, default));
        above.filter_map(branch).map(moved).collect()
    }

    /// Whether it was the train that asked for the squash.
    fn was_ours(&self, pull: PrNumber) -> bool {
        self.detail.known_before.is_some() && self.state.pr(pull).is_some_and(|pr| pr.landed_by == Some(self.root))
    }
}

/// Whether GitHub's refusal of a merge can go away without anybody doing anything.
fn may_pass(message: &str) -> bool {
    let message = message.to_lowercase();
    let passing = [
        // A status that has not reached the machinery that merges.
        "is expected",
        "are expected",
        "is in progress",
        "is pending",
        "are pending",
        "is queued",
        "base branch was modified",
        "head branch was modified",
        "try again",
        "temporarily",
        "timed out",
        // Also what GitHub says while it has not computed the merge yet; a real conflict shows in the merge state.
        "pull request is not mergeable",
    ];
    passing.iter().any(|words| message.contains(words))
}
