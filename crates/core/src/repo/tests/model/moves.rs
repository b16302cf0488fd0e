//! What can happen next.

use jiff::{SignedDuration, Timestamp};

use super::super::*;
use super::github::irreversible;
use super::world::{NOW, Webhook, World, settings};
use crate::repo::trains::work::TrainTask;

/// How much may go wrong on one path, and how much may be on its way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bounds {
    pub crashes: u8,
    /// Answers that never arrive, or that say less than is there.
    pub lost: u8,
    /// Pushes of others, to any branch that is open and to the default branch.
    pub foreign: u8,
    /// Webhooks that never arrive.
    pub dropped: u8,
    /// Webhooks that are on their way at once; one more, and one of them arrives before anything else happens.
    pub webhooks: usize,
    /// How often a person starts again what has halted.
    pub restarts: u8,
}

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    /// What cannot be undone is done, and nobody has heard of it yet.
    Done(EffectKey),
    /// An answer arrives. What is only read or computed is read at this moment.
    Answered(EffectKey),
    /// The answer is lost, and the worker hears of a failure. What was not done by then may be done later.
    Lost(EffectKey),
    /// GitHub says that it has merged, and cannot name the commit yet.
    Vague(EffectKey),
    /// Something is done that nobody waits for any more.
    DoneLate(usize),
    Delivered(usize),
    Dropped(usize),
    /// The process dies and another goes on. What was under way may be done later.
    Crash,
    /// Somebody else pushes to the branch of this pull request, or to the default branch.
    Foreign(Option<u64>),
    /// Nothing happens until something is due.
    TimePasses,
    /// The train has halted, and a person starts it again.
    Restarted(PrNumber),
}

impl Move {
    /// Whether nothing goes wrong by it, and nobody has to do it.
    pub fn is_healthy(self) -> bool {
        match self {
            Self::Done(_) | Self::Answered(_) | Self::DoneLate(_) | Self::Delivered(_) | Self::TimePasses => true,
            Self::Lost(_) | Self::Vague(_) | Self::Dropped(_) | Self::Crash | Self::Foreign(_) | Self::Restarted(_) => {
                false
            }
        }
    }
}

/// Beyond this nothing is due but the look at everything.
const HORIZON: SignedDuration = SignedDuration::from_hours(1);
/// Whatever is due later than this is the poll of the trains.
const BEFORE_THE_POLL: SignedDuration = SignedDuration::from_mins(6);

impl World {
    /// All that can happen next.
    pub fn moves(&self) -> Vec<Move> {
        let deliveries = (0..self.webhooks.len()).map(Move::Delivered);
        if self.webhooks.len() > self.left.webhooks {
            let drops = (0..self.webhooks.len()).filter(|_| self.left.dropped > 0).map(Move::Dropped);
            return deliveries.chain(drops).collect();
        }
        let mut moves: Vec<Move> = self.under_way.keys().map(|key| self.goes_on(*key)).collect();
        moves.extend(deliveries);
        if self.time_can_pass(moves.is_empty()) {
            moves.push(Move::TimePasses);
        }
        let is_over = moves.is_empty();
        moves.extend((0..self.late.len()).map(Move::DoneLate));
        if is_over {
            // Nothing is left to go wrong.
            moves.extend(self.halted().filter(|_| self.left.restarts > 0).map(Move::Restarted));
        } else {
            self.faults(&mut moves);
        }
        moves
    }

    fn goes_on(&self, key: EffectKey) -> Move {
        let under_way = &self.under_way[&key];
        match (&under_way.effect, &under_way.done) {
            (Effect::Trains(TrainsEffect::Work { work, .. }), None) if irreversible(work).is_some() => Move::Done(key),
            _ => Move::Answered(key),
        }
    }

    fn faults(&self, moves: &mut Vec<Move>) {
        if self.left.lost > 0 {
            moves.extend(self.under_way.keys().map(|key| Move::Lost(*key)));
            moves.extend(self.under_way.keys().filter(|key| self.may_be_vague(**key)).map(|key| Move::Vague(*key)));
        }
        if self.left.dropped > 0 {
            moves.extend((0..self.webhooks.len()).map(Move::Dropped));
        }
        if self.left.crashes > 0 {
            moves.push(Move::Crash);
        }
        if self.left.foreign > 0 {
            moves.push(Move::Foreign(None));
            let open = self.github.pulls.keys().filter(|number| self.github.is_open(**number));
            moves.extend(open.map(|number| Move::Foreign(Some(*number))));
        }
    }

    fn may_be_vague(&self, key: EffectKey) -> bool {
        matches!(&self.under_way[&key].effect,
            Effect::Trains(TrainsEffect::Work { work: TrainTask::Look { pull }, .. }) if !self.github.is_open(pull.get()))
    }

    /// Time passes once while something is under way: then its answer comes, or is lost. The poll comes only when nothing else
    /// happens: it is minutes away.
    fn time_can_pass(&self, is_quiet: bool) -> bool {
        let is_patient = self.under_way.values().all(|under_way| !under_way.is_slow);
        let is_near = |wake: Timestamp| wake.duration_since(at(NOW)) < BEFORE_THE_POLL;
        is_patient && self.wake().is_some_and(|wake| is_quiet || is_near(wake))
    }

    /// When something is due.
    pub fn wake(&self) -> Option<Timestamp> {
        let now = at(NOW);
        next_wake(&self.state, &settings(), now).filter(|at| at.duration_since(now) < HORIZON)
    }

    /// Whether nothing happens by itself any more.
    pub fn is_over(&self) -> bool {
        self.under_way.is_empty() && self.webhooks.is_empty() && self.wake().is_none()
    }

    /// A move as somebody reads it who looks for what went wrong.
    pub fn told(&self, happens: Move) -> String {
        match happens {
            Move::Done(key) | Move::Answered(key) | Move::Lost(key) | Move::Vague(key) => {
                format!("{happens:?}: {:?}", self.under_way[&key].effect)
            }
            Move::DoneLate(which) => format!("{happens:?}: {:?}", self.late[which]),
            Move::Delivered(which) | Move::Dropped(which) => {
                let Webhook { action, facts } = &self.webhooks[which];
                format!("{happens:?}: {action} #{} at {} on {}", facts.number, facts.head_sha, facts.base_ref)
            }
            Move::Crash | Move::Foreign(_) | Move::TimePasses | Move::Restarted(_) => format!("{happens:?}"),
        }
    }
}
