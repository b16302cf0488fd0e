//! What the answer to something that was done means for the train that asked.

use super::{Change, Draft, Next, Standpoint, next, retry_at, start};
use crate::ids::{PrNumber, Sha};
use crate::repo::event::{Event, PushDetail, WantReason};
use crate::repo::{Failure, FailureKind};
use crate::train::detail::is_live;
use crate::train::texts::{halt, notice};
use crate::train::work::{
    Expected, Landed, Merged, MergedWith, Outcome, Probed, Proof, Push, PushKind, Pushed, Retargeted, Seen, Squashed,
    Step, Work,
};
use crate::train::{CascadePhase, TrainRecord, why};

/// How often a branch that others push to is prepared anew.
const FOREIGN_PUSHES: u32 = 5;
/// How often GitHub is asked for the commit of a merge that it reports.
const LOOKS_FOR_COMMIT: u32 = 10;
/// How often something fails before people are told that the train waits for it.
const QUIET_FAILURES: u32 = 3;
/// How often a squash is tried that GitHub refuses for a reason that may pass.
const SQUASH_TRIES: u32 = 3;

/// Takes an answer, if its question still stands.
pub(super) fn settle(draft: &mut Draft<'_>, root: PrNumber, work: &Work, result: &Result<Outcome, Failure>) {
    if let Work::Plan { .. } = work {
        return start::planned(draft, root, work, result);
    }
    // As if nothing waited: the answer is there, whatever it was to be retried at.
    if next(&draft.state, root, draft.settings, draft.now) != Next::Do(work.clone()) {
        return;
    }
    let Some(detail) = draft.state.details.get(&root).cloned() else { return };
    let here = Standpoint { state: &draft.state, settings: draft.settings, now: draft.now, root, detail: &detail };
    let change = match result {
        Ok(outcome) => here.came_to(work, outcome),
        Err(failure) => here.failed(work, failure),
    };
    draft.make(change);
}

impl Standpoint<'_> {
    fn train(&self) -> Option<&TrainRecord> {
        self.state.active_trains.get(&self.root).filter(|train| is_live(train.state))
    }

    fn came_to(&self, work: &Work, outcome: &Outcome) -> Change {
        match (work, outcome) {
            (Work::Merge { step, pull, .. }, Outcome::Merged(merged)) => self.merged(step, *pull, merged),
            (Work::Push(push), Outcome::Pushed(pushed)) => self.pushed(push, pushed),
            (Work::Probe(push), Outcome::Probed(probed)) => self.probed(push, probed),
            (Work::Expect { pull, head, .. }, Outcome::Expected(expected)) => self.expected(*pull, head, expected),
            (Work::Squash { .. }, Outcome::Squashed(squashed)) => self.squash_answered(squashed),
            (Work::Look { pull }, Outcome::Seen(seen)) => self.seen(*pull, seen),
            (Work::Prove { landed, .. }, Outcome::Proved(proof)) => self.proved(landed, proof),
            (Work::Retarget { pull, .. }, Outcome::Retargeted(retargeted)) => self.base_changed(*pull, retargeted),
            (Work::Worktrees(_), Outcome::Tidied) => Change::of([Event::WorktreesTidied { train_root: self.root }]),
            (work, _) => {
                let reason = format!("the answer to {} is none to it; this is a bug", work.name());
                self.delayed(work, &Failure { reason, kind: FailureKind::Transient, retry_at: None })
            }
        }
    }

    fn failed(&self, work: &Work, failure: &Failure) -> Change {
        let train = self.train();
        match (work, train, failure.kind) {
            (Work::Squash { pull, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, *pull, &halt::squash_refused(*pull, &failure.reason))
            }
            (Work::Push(push) | Work::Probe(push), Some(train), FailureKind::Permanent) => {
                self.halted(train, push.pull, &halt::push_refused(push.pull, &push.branch, &failure.reason))
            }
            (Work::Retarget { pull, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, *pull, &halt::not_done("retarget", *pull, &failure.reason))
            }
            (Work::Merge { pull, .. } | Work::Expect { pull, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, *pull, &halt::not_done("merge for", *pull, &failure.reason))
            }
            (Work::Prove { landed, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, landed.pull, &halt::not_done("check the squash of", landed.pull, &failure.reason))
            }
            _ => self.delayed(work, failure),
        }
    }

    /// It is tried again; if that goes on, people are told what the train waits for.
    fn delayed(&self, work: &Work, failure: &Failure) -> Change {
        let attempts = self.detail.attempts;
        let retry_at = retry_at(failure, attempts, self.now);
        let reason = failure.reason.clone();
        let mut change = Change::of([Event::WorkDelayed { train_root: self.root, reason, retry_at }]);
        if attempts + 1 >= QUIET_FAILURES && self.train().is_some() && self.detail.why.is_none() {
            let why = why::trouble(work.told(), &failure.reason).since(self.now);
            change.events.push(Event::TrainWaiting { train_root: self.root, why });
        }
        change
    }

    fn halted(&self, train: &TrainRecord, failed: PrNumber, halt: &halt::Halt) -> Change {
        match self.halt(train, failed, halt) {
            Next::Change(change) => change,
            Next::Do(_) | Next::Rest => Change::default(),
        }
    }

    fn dropped(&self, reason: &str) -> Event {
        Event::WorkDropped { train_root: self.root, reason: reason.to_owned(), by_others: false }
    }

    fn merged(&self, step: &Step, pull: PrNumber, merged: &Merged) -> Change {
        match merged {
            Merged::Unchanged { head } => self.unchanged(step, pull, head),
            Merged::Advance { from, to, tree, contains } => {
                let Some(branch) = self.state.pr(pull).and_then(|pr| pr.head_ref.clone()) else {
                    return Change::default();
                };
                let more = PushDetail { pr: Some(pull), commit: Some(to.clone()), contains: contains.clone() };
                let (train_root, pre_push_sha, expected_tree) = (self.root, from.clone(), tree.clone());
                Change::of([match kind(step) {
                    PushKind::Prep => Event::IntentPushPrep { train_root, branch, pre_push_sha, expected_tree, more },
                    PushKind::Reconcile => {
                        Event::IntentPushReconcile { train_root, branch, pre_push_sha, expected_tree, more }
                    }
                    PushKind::Catchup => {
                        Event::IntentPushCatchup { train_root, branch, pre_push_sha, expected_tree, more }
                    }
                }])
            }
            Merged::BranchGone => self.branch_gone(step, pull),
            unmergeable => {
                let halt = self.why_not_merged(step, pull, unmergeable);
                match (self.train(), step) {
                    (_, Step::AddLate { .. }) => self.give_up_late(pull, Some(&halt)),
                    (Some(train), _) => self.halted(train, pull, &halt),
                    (None, _) => Change::default(),
                }
            }
        }
    }

    fn why_not_merged(&self, step: &Step, pull: PrNumber, merged: &Merged) -> halt::Halt {
        let predecessor = self.train().map_or(pull, |train| train.current_pr);
        let fallback = self.state.pr(pull).map(|pr| pr.base_ref.clone());
        let Some(default) = self.state.default_branch.clone().or(fallback) else {
            return halt::not_done("merge for", pull, "the default branch is not known");
        };
        match (merged, step) {
            (Merged::Conflict { conflict, .. }, Step::Prepare { predecessor }) => {
                if self.detail.pushed_by_others.contains(&pull) {
                    halt::pushed_conflict(pull, *predecessor, conflict)
                } else {
                    halt::preparation_conflict(pull, *predecessor, conflict)
                }
            }
            (Merged::Conflict { with: MergedWith::BeforeSquash, conflict }, Step::Reconcile { .. }) => {
                halt::reconcile_conflict(pull, predecessor, &default, conflict)
            }
            (Merged::Conflict { conflict, .. }, Step::AddLate { landed }) => {
                halt::late_conflict(pull, landed.pull, &default, conflict)
            }
            (Merged::Conflict { conflict, .. }, Step::UpdateRoot) => halt::behind_conflict(pull, &default, conflict),
            (Merged::Conflict { conflict, .. }, _) => halt::catch_up_conflict(pull, &default, conflict),
            (Merged::NotPrepared, _) => halt::not_prepared(pull, &default),
            (Merged::NotASquash { reason }, Step::AddLate { landed }) if self.stood_at(landed.pull) => {
                halt::merged_outside(landed.pull).because(reason)
            }
            (Merged::NotASquash { reason }, Step::AddLate { landed }) => halt::not_squashed(landed.pull, reason),
            (Merged::NotASquash { reason }, _) => halt::merged_outside(predecessor).because(reason),
            (Merged::PullRefGone { pull }, _) => halt::pull_ref_gone(*pull),
            (Merged::Unchanged { .. } | Merged::Advance { .. } | Merged::BranchGone, _) => {
                halt::not_done("merge for", pull, "nothing was wrong; this is a bug")
            }
        }
    }

    /// Whether the train was at this pull request before, and somebody else merged it.
    fn stood_at(&self, pull: PrNumber) -> bool {
        self.train().is_some_and(|train| train.predecessor_pr == Some(pull))
    }

    /// The branch has all of it, so there is nothing to push.
    fn unchanged(&self, step: &Step, pull: PrNumber, head: &Sha) -> Change {
        let known = self.state.pr(pull).map(|pr| &pr.head_sha);
        let mut change = Change::default();
        if known != Some(head) {
            // A push of somebody that was not heard of yet.
            change.events.push(Event::PrWanted { pr: pull, reason: WantReason::HeadDiffers, comment: None });
        }
        self.stepped(step, pull, change)
    }

    /// A step is done, with or without a push.
    fn stepped(&self, step: &Step, pull: PrNumber, mut change: Change) -> Change {
        match (step, self.train()) {
            (Step::AddLate { .. }, _) => change.and(Event::LateJoined { train_root: self.root, pr: pull }),
            (_, Some(train)) if train.current_pr == pull => {
                // GitHub called it behind, and may not have noticed yet that it is not, or no longer.
                change.events.push(Event::MergeStateOutdated { prs: vec![pull] });
                let at = retry_at(&no_news(), self.detail.attempts, self.now);
                change.and(Event::WorkDelayed {
                    train_root: self.root,
                    reason: "GitHub has yet to see that the branch is up to date".to_owned(),
                    retry_at: at,
                })
            }
            (_, Some(train)) => self.completing(train, pull, change),
            (_, None) => change,
        }
    }

    fn branch_gone(&self, step: &Step, pull: PrNumber) -> Change {
        let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone());
        match (self.train(), step, branch) {
            (_, Step::AddLate { .. }, _) => self.give_up_late(pull, None),
            (Some(train), _, _) if train.current_pr == pull => self.halted(train, pull, &halt::root_closed(pull)),
            (Some(train), _, Some(branch)) => self.skip(train, pull, notice::skipped_branch_deleted(pull, &branch)),
            _ => Change::default(),
        }
    }

    fn pushed(&self, push: &Push, pushed: &Pushed) -> Change {
        match pushed {
            Pushed::Landed => self.push_landed(push, &push.to),
            Pushed::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            Pushed::BranchGone => self.branch_gone(&self.step_of(push), push.pull),
            Pushed::Rejected { reason } => {
                let halt = halt::push_refused(push.pull, &push.branch, reason);
                match self.train() {
                    Some(train) => self.halted(train, push.pull, &halt),
                    None => self.give_up_late(push.pull, Some(&halt)),
                }
            }
        }
    }

    fn probed(&self, push: &Push, probed: &Probed) -> Change {
        match probed {
            Probed::Landed { head } => self.push_landed(push, head),
            // Computed anew: the commit may be gone with the process that made it.
            Probed::NotYet => Change::of([self.dropped("the push had not landed")]),
            Probed::Rewound => Change::of([self.dropped("the branch was rewound")]),
            Probed::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            Probed::BranchGone => self.branch_gone(&self.step_of(push), push.pull),
        }
    }

    fn push_landed(&self, push: &Push, head: &Sha) -> Change {
        let (train_root, branch) = (self.root, push.branch.clone());
        let (pr, head_sha) = (Some(push.pull), Some(head.clone()));
        let done = match push.kind {
            PushKind::Prep => Event::DonePushPrep { train_root, branch, pr, head_sha },
            PushKind::Reconcile => Event::DonePushReconcile { train_root, branch, pr, head_sha },
            PushKind::Catchup => Event::DonePushCatchup { train_root, branch, pr, head_sha },
        };
        let change = Change::of([done]);
        match (self.train(), self.step_of(push)) {
            (Some(train), step) if train.current_pr == push.pull && !matches!(step, Step::AddLate { .. }) => {
                // CI begins anew, and GitHub is asked what it thinks of the new head.
                change.and(Event::MergeStateOutdated { prs: vec![push.pull] })
            }
            (_, step) => self.stepped(&step, push.pull, change),
        }
    }

    /// Which merge a push came from: what there is to be done with the branch in this phase.
    fn step_of(&self, push: &Push) -> Step {
        let idle = self.train().is_none_or(|train| train.cascade_phase == CascadePhase::Idle);
        let landed = || Landed { pull: push.pull, commit: push.to.clone(), head: None, known_before: None };
        match push.kind {
            PushKind::Prep => Step::Prepare { predecessor: push.pull },
            PushKind::Reconcile if idle => Step::AddLate { landed: landed() },
            PushKind::Reconcile => Step::Reconcile { landed: landed() },
            PushKind::Catchup => Step::CatchUp,
        }
    }

    /// Somebody else pushed. Before the squash that is taken in; after it, what was computed is void.
    fn foreign(&self, push: &Push, head: &Sha, tree: Option<&Sha>) -> Change {
        let is_late = matches!(self.step_of(push), Step::AddLate { .. });
        let is_current = self.train().is_some_and(|train| train.current_pr == push.pull);
        let may_repeat = push.kind == PushKind::Prep || is_late || is_current;
        if may_repeat && self.detail.attempts < FOREIGN_PUSHES {
            let at = retry_at(&no_news(), self.detail.attempts, self.now);
            let reason = format!("somebody pushed {head} to {}", push.branch);
            return Change::of([
                Event::WorkDropped { train_root: self.root, reason: reason.clone(), by_others: true },
                Event::WorkDelayed { train_root: self.root, reason, retry_at: at },
            ]);
        }
        if tree == Some(&push.tree) {
            // The same content, by whomever.
            return self.push_landed(push, head);
        }
        let halt = halt::branch_modified(push.pull, tree.unwrap_or(head), &push.tree);
        match self.train() {
            Some(train) => self.halted(train, push.pull, &halt),
            None => self.give_up_late(push.pull, Some(&halt)),
        }
    }

    fn expected(&self, pull: PrNumber, head: &Sha, expected: &Expected) -> Change {
        let Some(train) = self.train() else { return Change::default() };
        match expected {
            Expected::Tree { default_head, tree } => Change::of([Event::IntentSquash {
                train_root: self.root,
                pr: pull,
                head_sha: Some(head.clone()),
                default_head: Some(default_head.clone()),
                expected_tree: Some(tree.clone()),
            }]),
            Expected::HeadChanged { .. } => self.thought_over(train, None),
            Expected::Conflict(_) => {
                let default = self.state.default_branch.clone();
                let base = self.state.pr(pull).map(|pr| pr.base_ref.clone());
                match default.or(base) {
                    Some(default) => self.halted(train, pull, &halt::dirty(pull, &default)),
                    None => Change::default(),
                }
            }
            Expected::PullRefGone => self.halted(train, pull, &halt::pull_ref_gone(pull)),
        }
    }

    /// The head is another than the one that was found ready: everything about it is looked at again.
    fn thought_over(&self, train: &TrainRecord, dropped: Option<Event>) -> Change {
        let pr = train.current_pr;
        let mut change = Change::of(dropped);
        change.events.extend(self.enter(train, CascadePhase::Idle).events);
        change
            .and(Event::PrWanted { pr, reason: WantReason::HeadDiffers, comment: None })
            .and(Event::MergeStateOutdated { prs: vec![pr] })
    }

    fn squash_answered(&self, squashed: &Squashed) -> Change {
        let Some(train) = self.train() else { return Change::default() };
        let pull = train.current_pr;
        match squashed {
            Squashed::Merged { commit } => self.squashed(train, commit),
            Squashed::HeadChanged => self.thought_over(train, Some(self.dropped("GitHub has another head"))),
            Squashed::Refused { message } if !may_pass(message) => {
                self.halted(train, pull, &halt::squash_refused(pull, message))
            }
            Squashed::Refused { message } => self.not_taken(train, message),
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
            return change.and(Event::MergeStateOutdated { prs: vec![pr] }).and(Event::WorkDelayed {
                train_root,
                reason: message.to_owned(),
                retry_at,
            });
        }
        let why = why::squash_not_taken(pr, message).since(self.now);
        change.and(Event::TrainWaiting { train_root, why }).and(Event::TrainHeld { train_root })
    }

    /// What GitHub says of a pull request that may have been merged.
    fn seen(&self, pull: PrNumber, seen: &Seen) -> Change {
        let train = self.train();
        let is_current = train.is_some_and(|train| train.current_pr == pull);
        match (seen, train) {
            (Seen::Merged { commit: Some(sha) }, Some(train))
                if is_current && matches!(train.cascade_phase, CascadePhase::SquashPending { .. }) =>
            {
                self.squashed(train, sha)
            }
            (Seen::Merged { commit: Some(sha) }, Some(train)) if is_current => {
                let after = TrainRecord { last_squash_sha: Some(sha.clone()), ..train.clone() };
                let mut change = Change::of([Event::PrMerged { pr: pull, sha: Some(sha.clone()), at: None }]);
                change.events.extend(self.enter(&after, train.cascade_phase.clone()).events);
                change
            }
            (Seen::Merged { commit: Some(sha) }, _) => {
                Change::of([Event::PrMerged { pr: pull, sha: Some(sha.clone()), at: None }])
            }
            (Seen::Merged { commit: None }, _) => self.commit_unknown(pull),
            (Seen::Open { .. }, Some(train)) if is_current => self.not_merged(train),
            (Seen::Closed, Some(train)) if is_current => self.halted(train, pull, &halt::root_closed(pull)),
            (Seen::Open { .. } | Seen::Closed, _) => {
                Change::of([Event::PrWanted { pr: pull, reason: WantReason::HeadDiffers, comment: None }, {
                    let at = retry_at(&no_news(), self.detail.attempts, self.now);
                    let reason = format!("GitHub does not call #{pull} merged");
                    Event::WorkDelayed { train_root: self.root, reason, retry_at: at }
                }])
            }
        }
    }

    /// It was to be squashed, and is not: it is done now.
    fn not_merged(&self, train: &TrainRecord) -> Change {
        let Lists { skipped, frozen } = Lists::of(&train.cascade_phase);
        let mut change = Change::default();
        if self.detail.intent.is_some() {
            change.events.push(self.dropped("the squash had not been done"));
        }
        if !matches!(train.cascade_phase, CascadePhase::SquashPending { .. }) {
            let phase = CascadePhase::SquashPending { skipped, frozen_descendants: frozen };
            change.events.extend(self.enter(train, phase).events);
        }
        change
    }

    /// GitHub can be late with the commit of a merge.
    fn commit_unknown(&self, pull: PrNumber) -> Change {
        let attempts = self.detail.attempts;
        if attempts + 1 >= LOOKS_FOR_COMMIT {
            let halt = halt::merge_commit_unknown(pull);
            return match self.train() {
                Some(train) => self.halted(train, pull, &halt),
                None => self.give_up_late(self.root, Some(&halt)),
            };
        }
        let wait = jiff::SignedDuration::from_secs(1_i64 << attempts.min(5)).min(jiff::SignedDuration::from_secs(30));
        let retry_at = self.now.checked_add(wait).unwrap_or(jiff::Timestamp::MAX);
        let reason = format!("GitHub does not name the commit of #{pull} yet");
        Change::of([Event::WorkDelayed { train_root: self.root, reason, retry_at }])
    }

    fn proved(&self, landed: &Landed, proof: &Proof) -> Change {
        let Some(train) = self.train() else { return Change::default() };
        let Some(default) = self.state.default_branch.clone() else { return Change::default() };
        let (pull, commit) = (landed.pull, &landed.commit);
        match proof {
            Proof::Proven => Change::of([Event::SquashProven { train_root: self.root, sha: commit.clone() }]),
            Proof::OtherHead { head } => {
                // Whether the descendants have it is looked at for each.
                let after =
                    self.enter(train, train.cascade_phase.clone()).events.into_iter().map(|event| match event {
                        Event::PhaseTransition {
                            train_root,
                            current_pr,
                            predecessor_pr,
                            last_squash_sha,
                            phase,
                            ..
                        } => {
                            let predecessor_head_sha = Some(head.clone());
                            Event::PhaseTransition {
                                train_root,
                                current_pr,
                                predecessor_pr,
                                last_squash_sha,
                                phase,
                                predecessor_head_sha,
                            }
                        }
                        other => other,
                    });
                Change::of(after).and(Event::SquashProven { train_root: self.root, sha: commit.clone() })
            }
            Proof::WrongTree { expected, found, files } => {
                let halt = halt::wrong_landed_tree(pull, commit, expected, found, &default).in_files(files);
                self.freeze_train(train, pull, &halt)
            }
            Proof::NotASquash { reason } if self.was_ours(pull) => {
                let halt = halt::wrong_landed_parents(pull, commit, &default).because(reason);
                self.freeze_train(train, pull, &halt)
            }
            Proof::NotASquash { reason } => self.halted(train, pull, &halt::merged_outside(pull).because(reason)),
            Proof::CannotTell { reason } => {
                let halt = halt::cannot_prove(pull, commit, &default).because(reason);
                self.freeze_train(train, pull, &halt)
            }
        }
    }

    /// Whether it was the train that asked for the squash.
    fn was_ours(&self, pull: PrNumber) -> bool {
        self.detail.known_before.is_some() && self.state.pr(pull).is_some_and(|pr| pr.landed_by == Some(self.root))
    }

    fn base_changed(&self, pull: PrNumber, retargeted: &Retargeted) -> Change {
        match (retargeted, self.train()) {
            (Retargeted::Done, Some(train)) if train.current_pr != pull => self.retargeted(train, pull),
            (Retargeted::Done, _) => Change::of([Event::DoneRetarget { train_root: self.root, pr: pull }]),
            (Retargeted::NotOpen, Some(train)) if train.current_pr != pull => {
                self.skip(train, pull, notice::skipped_closed(pull))
            }
            (Retargeted::NotOpen, Some(train)) => self.halted(train, pull, &halt::root_closed(pull)),
            (Retargeted::NotOpen, None) => self.give_up_late(pull, None),
        }
    }
}

/// What a phase hands on.
struct Lists {
    skipped: Vec<PrNumber>,
    frozen: Vec<PrNumber>,
}

impl Lists {
    fn of(phase: &CascadePhase) -> Self {
        let skipped = match phase {
            CascadePhase::Idle => Vec::new(),
            CascadePhase::Preparing { skipped, .. }
            | CascadePhase::SquashPending { skipped, .. }
            | CascadePhase::Reconciling { skipped, .. }
            | CascadePhase::CatchingUp { skipped, .. }
            | CascadePhase::Retargeting { skipped, .. } => skipped.clone(),
        };
        Self { skipped, frozen: phase.frozen_descendants().to_vec() }
    }
}

fn kind(step: &Step) -> PushKind {
    match step {
        Step::Prepare { .. } => PushKind::Prep,
        Step::Reconcile { .. } | Step::AddLate { .. } => PushKind::Reconcile,
        Step::CatchUp | Step::UpdateRoot => PushKind::Catchup,
    }
}

fn no_news() -> Failure {
    Failure { reason: String::new(), kind: FailureKind::Transient, retry_at: None }
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
