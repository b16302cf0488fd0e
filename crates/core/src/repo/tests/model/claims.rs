//! What must hold in every state, and where nothing is left to happen.

use std::collections::BTreeSet;

use super::objects::Objects;
use super::world::World;
use crate::repo::trains::TrainState;
use crate::repo::trains::detail::is_live;

/// How a path can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Landed,
    /// Somebody pushed to a branch, and the train says so.
    Halted,
}

/// What is wrong with a state, if anything is.
pub fn flaw(world: &World) -> Option<String> {
    let done = world.github.flaw.map(str::to_owned);
    done.or_else(|| world.flaw.clone()).or_else(|| two_owners(world)).or_else(|| unexplained_halt(world))
}

/// A branch has one owner at a time.
fn two_owners(world: &World) -> Option<String> {
    let mut owned = BTreeSet::new();
    for train in world.state.active_trains.values().filter(|train| is_live(train.state)) {
        let phase = &train.cascade_phase;
        let frozen = phase.frozen_descendants().iter().filter(|pr| !phase.skipped().contains(pr));
        for pr in frozen.chain([&train.current_pr]) {
            if !owned.insert(*pr) {
                return Some(format!("two trains deal with #{pr}"));
            }
        }
    }
    None
}

/// A train gives up only where somebody pushed to a branch that it deals with.
fn unexplained_halt(world: &World) -> Option<String> {
    let halted = |state| matches!(state, TrainState::Aborted | TrainState::NeedsManualReview | TrainState::Stopped);
    let train = world.state.active_trains.values().find(|train| halted(train.state))?;
    let (root, error) = (train.original_root_pr, &train.error);
    (!world.is_meddled_with).then(|| format!("the train of #{root} halts without a reason: {error:?}"))
}

/// Where nothing is left to happen no train is under way, and everything landed or a train says why not.
pub fn ended(git: &Objects, world: &World) -> Result<End, String> {
    if world.runs() {
        return Err(format!("it is stuck: {:#?}", world.state.active_trains));
    }
    let landed = world.github.pulls.keys().all(|number| !world.github.is_open(*number));
    match landed {
        true if world.github.has_everything(git) => Ok(End::Landed),
        true => Err("something that was in a branch has not landed".to_owned()),
        false if world.state.active_trains.is_empty() => {
            Err("something has not landed, and no train says why".to_owned())
        }
        false => Ok(End::Halted),
    }
}
