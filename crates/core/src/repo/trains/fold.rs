//! What an event does to the records of the trains.

use jiff::Timestamp;

use super::{Ended, TrainRecord, TrainState, Trains};
use crate::ids::PrNumber;
use crate::repo::Event;

/// Folds one event in. Events that are not about trains change nothing.
pub fn apply(trains: &mut Trains, ended: &mut Ended, event: &Event, ts: Timestamp) {
    match event {
        Event::TrainStarted { root_pr, current_pr, .. } => {
            // What halted with this pull request on board has its successor now.
            let status = trains.get(root_pr).and_then(|old| old.status_comment_id);
            let over: Vec<PrNumber> =
                trains.iter().filter(|(_, old)| old.gives_way_to(*root_pr)).map(|(root, _)| *root).collect();
            over.into_iter().for_each(|root| end(trains, ended, root));
            begin(trains, ended, *root_pr, *current_pr, ts);
            if let Some(train) = trains.get_mut(root_pr) {
                train.status_comment_id = status;
            }
        }
        Event::TrainRecovered { record, comment, .. } => {
            ended.remove(&record.original_root_pr);
            let record = TrainRecord { status_comment_id: Some(*comment), ..record.clone() };
            trains.insert(record.original_root_pr, record);
        }
        Event::TrainForgotten { root_pr, .. } => end(trains, ended, *root_pr),
        Event::TrainWaiting { train_root, .. } => {
            change(trains, *train_root, |train| train.state = TrainState::WaitingCi);
        }
        Event::TrainResumed { train_root } => change(trains, *train_root, |train| train.state = TrainState::Running),
        Event::TrainFrozen { root_pr, error } => change(trains, *root_pr, |train| {
            train.state = TrainState::NeedsManualReview;
            train.error = Some(error.clone());
        }),
        Event::StatusWritten { train_root, comment, .. } => {
            if let Some(train) = trains.get_mut(train_root) {
                train.status_comment_id = Some(*comment);
            }
        }
        Event::TrainStopped { root_pr, .. } => change(trains, *root_pr, |train| {
            train.state = TrainState::Stopped;
            train.stopped_at = Some(ts);
        }),
        Event::TrainCompleted { root_pr } => end(trains, ended, *root_pr),
        Event::TrainAborted { root_pr, error } => change(trains, *root_pr, |train| {
            train.state = TrainState::Aborted;
            train.error.clone_from(error);
        }),
        Event::PhaseTransition {
            train_root,
            current_pr,
            predecessor_pr,
            last_squash_sha,
            phase,
            predecessor_head_sha,
        } => {
            change(trains, *train_root, |train| {
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
        }
        Event::SquashCommitted { train_root, sha, .. } => {
            change(trains, *train_root, |train| train.last_squash_sha = Some(sha.clone()));
        }
        Event::FanOutCompleted { old_root, new_roots, .. } => {
            end(trains, ended, *old_root);
            new_roots.iter().for_each(|root| begin(trains, ended, *root, *root, ts));
        }
        _ => {}
    }
}

/// A train begins. Of two records with one name the newer has the higher number, also where one has ended.
fn begin(trains: &mut Trains, ended: &mut Ended, root: PrNumber, current: PrNumber, ts: Timestamp) {
    let mut train = TrainRecord::new(root, current, ts);
    train.recovery_seq += ended.remove(&root).unwrap_or_default();
    trains.insert(root, train);
}

fn end(trains: &mut Trains, ended: &mut Ended, root: PrNumber) {
    if let Some(train) = trains.remove(&root) {
        ended.insert(root, train.recovery_seq);
    }
}

fn change(trains: &mut Trains, root: PrNumber, how: impl FnOnce(&mut TrainRecord)) {
    if let Some(train) = trains.get_mut(&root) {
        train.recovery_seq += 1;
        how(train);
    }
}
