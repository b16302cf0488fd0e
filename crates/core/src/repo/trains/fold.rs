//! What an event does to the trains: to their records, to what is remembered beside those, and to the pull requests on board.
//!
//! Every event has its own arm: what is left out here is forgotten by whoever resumes a train.

use jiff::Timestamp;

use super::detail::{self, IntendedAction, TrainDetail};
use super::work::{BranchPush, PushKind, WorktreeCleanup};
use super::{ActiveTrains, EndedTrains, Event, TrainRecord, TrainState};
use crate::facts::MergeState;
use crate::ids::{BranchName, PrNumber, Sha};
use crate::repo::mirror::fold::{change as change_pr, pushed, remember};
use crate::repo::pace::{self, PacedAction};
use crate::repo::state::{Backoff, LandedBranch, RepoState, RequestedTrain};
use crate::repo::{Attribution, PushDetail};

/// Folds one event in.
pub(in crate::repo) fn apply(state: &mut RepoState, event: &Event, ts: Timestamp) {
    let mut set_off = None;
    match event {
        // ── Trains ──
        Event::TrainStarted { root_pr, current_pr, behest } => {
            started(state, *root_pr, *current_pr, behest, ts);
            set_off = Some(behest);
        }
        Event::TrainStopped { root_pr, .. } => {
            change(state, *root_pr, |train| {
                train.state = TrainState::Stopped;
                train.stopped_at = Some(ts);
            });
            beside(state, *root_pr, |detail| detail.end(WorktreeCleanup::Remove));
        }
        Event::TrainCompleted { root_pr } => {
            end(&mut state.active_trains, &mut state.ended, *root_pr);
            beside(state, *root_pr, |detail| detail.end(WorktreeCleanup::Remove));
        }
        Event::TrainAborted { root_pr, error } => {
            change(state, *root_pr, |train| {
                train.state = TrainState::Aborted;
                train.error.clone_from(error);
            });
            beside(state, *root_pr, |detail| detail.end(WorktreeCleanup::Clean));
        }
        Event::TrainFrozen { root_pr, error } => {
            change(state, *root_pr, |train| {
                train.state = TrainState::NeedsManualReview;
                train.error = Some(error.clone());
            });
            beside(state, *root_pr, |detail| detail.end(WorktreeCleanup::Clean));
        }
        Event::TrainRecovered { record, comment, landed } => {
            state.ended.remove(&record.original_root_pr);
            let restored = TrainRecord { status_comment_id: Some(*comment), ..record.clone() };
            state.active_trains.insert(record.original_root_pr, restored);
            record.left_out.iter().for_each(|pr| change_pr(state, *pr, |pr| pr.left_out = true));
            detail::recover(&mut state.details, record, *comment, landed, ts);
        }
        Event::TrainForgotten { root_pr, .. } => {
            end(&mut state.active_trains, &mut state.ended, *root_pr);
            beside(state, *root_pr, |detail| {
                detail.status.doubted = false;
                detail.end(WorktreeCleanup::Remove);
            });
        }
        Event::FanOutCompleted { old_root, new_roots, .. } => parted(state, *old_root, new_roots, ts),
        Event::PhaseTransition {
            train_root,
            current_pr,
            predecessor_pr,
            last_squash_sha,
            phase,
            predecessor_head_sha,
        } => {
            change(state, *train_root, |train| {
                if train.state == TrainState::WaitingCi {
                    train.state = TrainState::Running;
                }
                if predecessor_head_sha.is_some() {
                    train.predecessor_head_sha.clone_from(predecessor_head_sha);
                }
                train.current_pr = *current_pr;
                train.predecessor_pr = *predecessor_pr;
                train.last_squash_sha.clone_from(last_squash_sha);
                train.cascade_phase = phase.clone();
            });
            beside(state, *train_root, |detail| detail.enter(phase, *current_pr));
        }
        Event::TrainWaiting { train_root, why } => {
            change(state, *train_root, |train| train.state = TrainState::WaitingCi);
            beside(state, *train_root, |detail| {
                detail.why = Some(why.clone());
                detail.timed_out = false;
            });
        }
        Event::TrainResumed { train_root } => {
            change(state, *train_root, |train| train.state = TrainState::Running);
            beside(state, *train_root, |detail| detail.why = None);
        }
        Event::TrainHeld { train_root } => beside(state, *train_root, TrainDetail::hold),
        Event::TrainNudged { train_root, .. } => {
            if let Some(pr) = state.active_trains.get(train_root).map(|train| train.current_pr) {
                pace::forget_above(state, pr);
            }
            beside(state, *train_root, TrainDetail::nudge);
        }
        Event::TrainsPolled {} => state.polled_at = Some(ts),

        // ── Work: what is intended before it is done, and what came of it ──
        Event::IntentPushPrep { train_root, branch, pre_push_sha, expected_tree, more } => {
            let push = push(PushKind::Prep, branch, pre_push_sha, expected_tree, more);
            push_intended(state, *train_root, push, pre_push_sha, more, ts);
            if let PushDetail { pr: Some(pr), contains, .. } = more {
                change_pr(state, *pr, |pr| remember(&mut pr.prepared_with, contains));
            }
        }
        Event::IntentPushReconcile { train_root, branch, pre_push_sha, expected_tree, more } => {
            let push = push(PushKind::Reconcile, branch, pre_push_sha, expected_tree, more);
            push_intended(state, *train_root, push, pre_push_sha, more, ts);
        }
        Event::IntentPushCatchup { train_root, branch, pre_push_sha, expected_tree, more } => {
            let push = push(PushKind::Catchup, branch, pre_push_sha, expected_tree, more);
            push_intended(state, *train_root, push, pre_push_sha, more, ts);
        }
        Event::IntentSquash { train_root, pr, head_sha, default_head, .. } => {
            pace::count(state, *pr, PacedAction::Squash, ts);
            beside(state, *train_root, |detail| {
                detail.known_before.clone_from(default_head);
                detail.intend(Some(IntendedAction::Squash { pull: *pr, head: head_sha.clone() }));
            });
        }
        Event::IntentRetarget { train_root, pr, new_base } => {
            pace::count(state, *pr, PacedAction::Retarget, ts);
            let retarget = IntendedAction::Retarget { pull: *pr, base: new_base.clone() };
            beside(state, *train_root, |detail| detail.intend(Some(retarget)));
        }
        Event::DonePushPrep { train_root, pr, head_sha, .. } => {
            beside(state, *train_root, TrainDetail::succeed);
            if let (Some(pr), Some(head)) = (pr, head_sha) {
                change_pr(state, *pr, |pr| pushed(pr, head, ts));
            }
        }
        Event::DonePushReconcile { train_root, pr, head_sha, .. }
        | Event::DonePushCatchup { train_root, pr, head_sha, .. } => {
            beside(state, *train_root, TrainDetail::succeed);
            if let (Some(pr), Some(head)) = (pr, head_sha) {
                pushed_related(state, *pr, head, ts);
            }
        }
        Event::DoneRetarget { train_root, pr } => {
            beside(state, *train_root, TrainDetail::succeed);
            let base = state.default_branch.clone();
            change_pr(state, *pr, |pr| {
                pr.base_ref = base.unwrap_or_else(|| pr.base_ref.clone());
                pr.merge_state = MergeState::Unknown;
            });
        }
        Event::SquashCommitted { train_root, pr, sha } => {
            change(state, *train_root, |train| train.last_squash_sha = Some(sha.clone()));
            beside(state, *train_root, |detail| detail.land(*pr));
            change_pr(state, *pr, |pr| pr.landed_by = Some(*train_root));
        }
        Event::SquashProven { train_root, sha } => beside(state, *train_root, |detail| {
            detail.proven = Some(sha.clone());
            detail.settle();
        }),
        Event::SquashRefused { train_root, .. } => {
            pace::squash_refused(state, *train_root, ts);
            beside(state, *train_root, |detail| {
                detail.intent = None;
                detail.refusals += 1;
            });
        }
        Event::WorkDelayed { train_root, retry_at, .. } => beside(state, *train_root, |detail| detail.delay(*retry_at)),
        Event::WorkDoubted { train_root } => beside(state, *train_root, TrainDetail::doubt),
        Event::WorkDropped { train_root, by_others, .. } => {
            beside(state, *train_root, |detail| detail.drop_intent(*by_others));
        }
        Event::BehindAfterPreparation { train_root, pr } => beside(state, *train_root, |detail| {
            detail.prepared_twice.insert(*pr);
        }),
        Event::RecheckPlanned { train_root, at } => beside(state, *train_root, |detail| {
            detail.rechecks += 1;
            detail.recheck_at = Some(*at);
        }),
        Event::WaitTimedOut { train_root } => beside(state, *train_root, |detail| detail.timed_out = true),
        Event::WorktreesTidied { train_root } => beside(state, *train_root, |detail| {
            detail.tidying = None;
            detail.settle();
        }),

        // ── The status comment ──
        Event::StatusWritten { train_root, comment, status_seq } => {
            if let Some(train) = state.active_trains.get_mut(train_root) {
                train.status_comment_id = Some(*comment);
            }
            beside(state, *train_root, |detail| detail.status.written(*comment, *status_seq, ts));
        }
        Event::StatusDelayed { train_root, retry_at, .. } => {
            beside(state, *train_root, |detail| detail.status.delay(*retry_at, ts));
        }
        Event::StatusClosing { train_root, text, new_roots } => beside(state, *train_root, |detail| {
            detail.status.closing = Some(text.clone());
            detail.status.new_roots.clone_from(new_roots);
            detail.status.retry_at = None;
        }),
        Event::StatusDoubted { train_root } => beside(state, *train_root, |detail| {
            detail.status.doubted = true;
            detail.status.settle();
        }),
        Event::StatusTrusted { train_root } => beside(state, *train_root, |detail| {
            detail.status.doubted = false;
            detail.status.settle();
        }),

        // ── Starting ──
        Event::StartAsked { pr, comment, behest } => {
            // A person wants it done now.
            pace::forget_above(state, *pr);
            let asked = RequestedTrain { comment: *comment, behest: behest.clone(), backoff: Backoff::default() };
            state.starts.insert(*pr, asked);
        }
        Event::StartDelayed { pr, retry_at, .. } => {
            if let Some(asked) = state.starts.get_mut(pr) {
                asked.backoff.fail(*retry_at);
            }
        }
        Event::StartSettled { pr } => {
            state.starts.remove(pr);
        }
        Event::PolicyWanted {} => state.rules.wanted = Some(Backoff::default()),
        Event::PolicyObserved { policy } => {
            state.rules.known = Some((policy.clone(), ts));
            state.rules.wanted = None;
        }
        Event::DismissalNoticed { pr, train_root } => {
            state.dismissals.insert(*pr, *train_root);
        }
        Event::DismissalTold { pr } => {
            state.dismissals.remove(pr);
        }

        // ── Pull requests that came late, and what landed ──
        Event::LateFound { pr } => state.details.entry(*pr).or_default().late = true,
        Event::LateRefused { pr, head_sha } => {
            beside(state, *pr, TrainDetail::is_not_late);
            change_pr(state, *pr, |pr| pr.late_refused = Some(head_sha.clone()));
        }
        Event::LateReconciled { pr, .. } => beside(state, *pr, TrainDetail::is_not_late),
        // `SquashContained` says it since.
        Event::LateJoined { .. } => {}
        Event::SquashContained { train_root, pr, squash, head_sha } => {
            if squash.is_some() {
                beside(state, *train_root, TrainDetail::settle);
            }
            change_pr(state, *pr, |pr| {
                pr.predecessor_squash_reconciled = squash.clone();
                pr.reconciled_head = squash.is_some().then(|| head_sha.clone());
            });
        }
        Event::PrLeftOut { pr } => {
            if let Some(root) = state.train_of(*pr) {
                change(state, root, |train| train.left_out.push(*pr));
            }
            change_pr(state, *pr, |pr| pr.left_out = true);
        }
        Event::PrsTakenIn { prs } => prs.iter().for_each(|pr| taken_in(state, *pr)),
        Event::BranchOutlived { pr, branch, head_sha } => {
            let (branch, head) = (branch.clone(), head_sha.clone());
            state.outlived.insert(*pr, LandedBranch { branch, head, backoff: Backoff::default() });
        }
        Event::BranchSettled { pr } => {
            state.outlived.remove(pr);
        }
    }
    follow_records(state, set_off, ts);
}

fn taken_in(state: &mut RepoState, pr: PrNumber) {
    let left_out_by = state.active_trains.iter().filter(|(_, train)| train.left_out.contains(&pr));
    for root in left_out_by.map(|(root, _)| *root).collect::<Vec<_>>() {
        change(state, root, |train| train.left_out.retain(|left_out| *left_out != pr));
    }
    change_pr(state, pr, |pr| pr.left_out = false);
}

fn started(state: &mut RepoState, root: PrNumber, current: PrNumber, behest: &Attribution, ts: Timestamp) {
    let RepoState { active_trains: trains, ended, details, .. } = state;
    // What halted with this pull request on board has its successor now.
    let status = trains.get(&root).and_then(|old| old.status_comment_id);
    let over: Vec<PrNumber> = trains.iter().filter(|(_, old)| old.gives_way_to(root)).map(|(root, _)| *root).collect();
    over.into_iter().for_each(|root| end(trains, ended, root));
    begin(trains, ended, root, current, ts);
    if let Some(train) = trains.get_mut(&root) {
        train.status_comment_id = status;
    }
    // And it needs no worktree.
    let is_over = |root: &PrNumber, detail: &TrainDetail| !trains.contains_key(root) && !detail.late;
    for (_, over) in details.iter_mut().filter(|(root, detail)| is_over(root, detail)) {
        over.tidying.get_or_insert(WorktreeCleanup::Remove);
    }
    detail::begin(details, trains, root, behest, ts);
    let head = state.prs.get(&current).map(|pr| pr.head_sha.clone());
    beside(state, root, |detail| detail.first_head = head);
}

/// Several trains go on in the place of one.
fn parted(state: &mut RepoState, old: PrNumber, new: &[PrNumber], ts: Timestamp) {
    let RepoState { active_trains: trains, ended, .. } = state;
    end(trains, ended, old);
    new.iter().for_each(|root| begin(trains, ended, *root, *root, ts));
    let run = state.details.get(&old).and_then(|detail| detail.run.clone());
    beside(state, old, |detail| detail.end(WorktreeCleanup::FanOut { new: new.to_vec() }));
    for root in new {
        detail::begin(&mut state.details, &state.active_trains, *root, &Attribution::default(), ts);
        beside(state, *root, |detail| {
            detail.parted_from = Some(old);
            if let (Some(new), Some(old)) = (&mut detail.run, &run) {
                (new.source, new.set_off) = (old.source, old.set_off.clone());
            }
        });
    }
}

/// Something is to be pushed upon this head. If that is not merge-train's own, people made it.
fn push_intended(
    state: &mut RepoState,
    root: PrNumber,
    push: Option<IntendedAction>,
    onto: &Sha,
    more: &PushDetail,
    ts: Timestamp,
) {
    if let Some(pr) = more.pr {
        pace::count(state, pr, PacedAction::Push, ts);
    }
    beside(state, root, |detail| detail.intend(push));
    if let Some(pr) = more.pr {
        change_pr(state, pr, |pr| {
            if pr.pushed.as_ref() != Some(onto) {
                pr.people_head = Some(onto.clone());
            }
        });
    }
}

/// None for an intent of a log that does not say what it was about: it is computed anew.
fn push(kind: PushKind, branch: &BranchName, from: &Sha, tree: &Sha, more: &PushDetail) -> Option<IntendedAction> {
    let PushDetail { pr: Some(pull), commit: Some(to), contains } = more.clone() else { return None };
    let (branch, from, tree) = (branch.clone(), from.clone(), tree.clone());
    Some(IntendedAction::Push(BranchPush { kind, pull, branch, from, to, tree, contains }))
}

/// What was pushed contains the squash below it, where there is one.
fn pushed_related(state: &mut RepoState, number: PrNumber, head: &Sha, ts: Timestamp) {
    let squash = state.squash_below(number);
    change_pr(state, number, |pr| {
        pushed(pr, head, ts);
        if squash.is_some() {
            pr.predecessor_squash_reconciled = squash;
            pr.reconciled_head = Some(head.clone());
        }
    });
}

/// What is left of trains that are over goes once it is of no use, and the runs are in the state that the records are in.
fn follow_records(state: &mut RepoState, set_off: Option<&Attribution>, ts: Timestamp) {
    let RepoState { active_trains: trains, details, .. } = state;
    details.retain(|root, detail| trains.contains_key(root) || detail.is_of_use());
    for (root, detail) in details {
        detail.follow(trains.get(root), set_off, ts);
    }
}

/// A train begins. Of two records with one name the newer has the higher number, also where one has ended.
fn begin(trains: &mut ActiveTrains, ended: &mut EndedTrains, root: PrNumber, current: PrNumber, ts: Timestamp) {
    let mut train = TrainRecord::new(root, current, ts);
    train.recovery_seq += ended.remove(&root).unwrap_or_default();
    trains.insert(root, train);
}

fn end(trains: &mut ActiveTrains, ended: &mut EndedTrains, root: PrNumber) {
    if let Some(train) = trains.remove(&root) {
        ended.insert(root, train.recovery_seq);
    }
}

fn change(state: &mut RepoState, root: PrNumber, how: impl FnOnce(&mut TrainRecord)) {
    if let Some(train) = state.active_trains.get_mut(&root) {
        train.recovery_seq += 1;
        how(train);
    }
}

/// Changes what is remembered beside the record.
fn beside(state: &mut RepoState, root: PrNumber, how: impl FnOnce(&mut TrainDetail)) {
    if let Some(detail) = state.details.get_mut(&root) {
        how(detail);
    }
}
