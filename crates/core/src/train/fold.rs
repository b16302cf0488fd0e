//! What an event does to the records of the trains.

use jiff::Timestamp;

use super::{TrainRecord, TrainState, Trains};
use crate::ids::PrNumber;
use crate::repo::Event;

/// Folds one event in. Events that are not about trains change nothing.
pub fn apply(trains: &mut Trains, event: &Event, ts: Timestamp) {
    match event {
        Event::TrainStarted { root_pr, current_pr } => {
            trains.insert(*root_pr, TrainRecord::new(*root_pr, *current_pr, ts));
        }
        Event::TrainStopped { root_pr } => change(trains, *root_pr, |train| {
            train.state = TrainState::Stopped;
            train.stopped_at = Some(ts);
        }),
        Event::TrainCompleted { root_pr } => {
            trains.remove(root_pr);
        }
        Event::TrainAborted { root_pr, error } => change(trains, *root_pr, |train| {
            train.state = TrainState::Aborted;
            train.error.clone_from(error);
        }),
        Event::PhaseTransition { train_root, current_pr, predecessor_pr, last_squash_sha, phase } => {
            change(trains, *train_root, |train| {
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
            trains.remove(old_root);
            for root in new_roots {
                trains.insert(*root, TrainRecord::new(*root, *root, ts));
            }
        }
        _ => {}
    }
}

fn change(trains: &mut Trains, root: PrNumber, how: impl FnOnce(&mut TrainRecord)) {
    if let Some(train) = trains.get_mut(&root) {
        train.recovery_seq += 1;
        how(train);
    }
}
