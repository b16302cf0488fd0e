//! One state of the exploration, and what can happen next in it: the decider's own state, GitHub, and all that is between them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::super::*;
use super::github::{GitHub, Ways, failure, irreversible};
use super::moves::{Bounds, Move};
use super::objects::Objects;
use super::time;
use crate::repo::trains::detail::is_live;
use crate::repo::trains::work::{ObservedSquash, TrainTask, TrainTaskOutcome};

/// An effect under way, and what came of it if that has not been heard of.
#[derive(Debug, Clone)]
pub struct UnderWay {
    pub effect: Effect,
    pub done: Option<TrainTaskOutcome>,
    /// Whether time has passed since it began. It does so once: then the answer comes, or is lost.
    pub is_slow: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub action: &'static str,
    pub facts: PullFacts,
}

#[derive(Clone)]
pub struct World {
    pub state: RepoState,
    pub github: GitHub,
    pub under_way: BTreeMap<EffectKey, UnderWay>,
    pub webhooks: Vec<Webhook>,
    /// What may still be done although nobody waits for it.
    pub late: Vec<TrainTask>,
    /// Of what is it not known whether it was done? To begin it again without a look is a flaw.
    pub unsure: BTreeSet<(&'static str, PrNumber)>,
    pub left: Bounds,
    /// Whether somebody pushed to a branch that a train deals with: that may end it.
    pub is_meddled_with: bool,
    pub flaw: Option<String>,
}

/// The worker's clock stands still unless time passes, and is set back to this then.
pub const NOW: i64 = 0;
pub fn settings() -> Settings {
    let never = SignedDuration::from_hours(1_000_000);
    Settings { resync_interval: never, staleness_threshold: never, policy_ttl: never, ..Settings::default() }
}

impl World {
    /// The stack is declared, and the train has been started.
    pub fn new(git: &Objects, on: &[u64], ways: Ways, bounds: Bounds) -> Self {
        let github = GitHub::new(git, on, ways);
        let facts: Vec<PullFacts> = github.pulls.keys().map(|number| github.facts(*number)).collect();
        let mut worker = Worker::ready(&facts);
        for (number, below) in (1..).zip(on).filter(|(_, below)| **below != 0) {
            let declared = comment(number, 100 + number, &format!("@merge-train predecessor #{below}"));
            worker.comment_event(CommentChange::Created, declared);
        }
        let mut world = Self {
            state: worker.state,
            github,
            under_way: BTreeMap::new(),
            webhooks: Vec::new(),
            late: Vec::new(),
            unsure: BTreeSet::new(),
            left: bounds,
            is_meddled_with: false,
            flaw: None,
        };
        // What the declarations owed is said before.
        world.feed(git, Input::Tick, at(NOW));
        let start = WebhookEvent::Comment(CommentChange::Created, comment(1, 500, "@merge-train start"));
        world.feed(git, delivery("issue_comment", "created", start), at(NOW));
        world
    }

    /// Whether a train, or the start of one, is under way.
    pub fn runs(&self) -> bool {
        !self.state.starts.is_empty() || self.state.active_trains.values().any(|train| is_live(train.state))
    }

    /// The trains that have halted.
    pub fn halted(&self) -> impl Iterator<Item = PrNumber> + '_ {
        self.state.active_trains.values().filter(|train| !is_live(train.state)).map(|train| train.original_root_pr)
    }

    /// What comes of a move.
    pub fn after(&self, git: &Objects, happens: Move) -> Self {
        let mut next = self.clone();
        let now = at(NOW);
        match happens {
            Move::Done(key) => next.done(git, key),
            Move::Answered(key) => next.answered(git, key, now),
            Move::Lost(key) => {
                next.left.lost -= 1;
                let under_way = next.under_way.remove(&key).expect("under way");
                let effect = under_way.effect.clone();
                next.give_up(under_way);
                next.feed(git, failed(effect, now, failure("502")), now);
            }
            Move::Vague(key) => {
                next.left.lost -= 1;
                let Some(UnderWay { effect: Effect::Trains(TrainsEffect::Work { root, work }), .. }) =
                    next.under_way.remove(&key)
                else {
                    unreachable!("only a train looks")
                };
                let result = Ok(TrainTaskOutcome::Seen(ObservedSquash::Merged { commit: None }));
                next.feed(git, worked(root, work, result), now);
            }
            Move::DoneLate(which) => {
                let work = next.late.remove(which);
                next.done_late(git, &work);
            }
            Move::Delivered(which) => {
                let Webhook { action, facts } = next.webhooks.remove(which);
                next.feed(git, delivery("pull_request", action, WebhookEvent::Pull(facts)), now);
            }
            Move::Dropped(which) => {
                next.left.dropped -= 1;
                next.webhooks.remove(which);
            }
            Move::Crash => next.crash(git),
            Move::Foreign(to) => {
                next.left.foreign -= 1;
                next.is_meddled_with |= to.is_some();
                next.github.push_of_another(git, to);
                if let Some(number) = to {
                    next.tell(number, "synchronize");
                }
            }
            Move::Restarted(root) => {
                next.left.restarts -= 1;
                // Nothing explains another halt from here on, unless one is left of those before.
                next.is_meddled_with = next.halted().count() > 1;
                let id = 600 + u64::from(next.left.restarts);
                let start =
                    WebhookEvent::Comment(CommentChange::Created, comment(root.get(), id, "@merge-train start"));
                next.feed(git, delivery("issue_comment", "created", start), now);
            }
            Move::TimePasses => {
                let wake = next.wake().expect("something is due");
                next.under_way.values_mut().for_each(|under_way| under_way.is_slow = true);
                next.feed(git, Input::Tick, wake);
                next.state = time::set_back(&next.state, wake, now);
            }
        }
        next.forget_what_is_settled();
        next
    }

    /// What can have no effect any more, and questions whose answer is known.
    fn forget_what_is_settled(&mut self) {
        self.late.sort();
        self.late.dedup();
        let github = &self.github;
        self.late.retain(|work| github.would_change_by(work));
        let state = &self.state;
        let has_landed = |pr: &PrNumber| state.pr(*pr).is_some_and(|pr| matches!(pr.state, PrState::Merged { .. }));
        self.unsure.retain(|(_, pr)| !has_landed(pr));
    }

    fn done(&mut self, git: &Objects, key: EffectKey) {
        let Some(UnderWay { effect: Effect::Trains(TrainsEffect::Work { work, .. }), .. }) =
            self.under_way.get(&key).cloned()
        else {
            unreachable!("only trains do what cannot be undone")
        };
        let before = self.github.clone();
        match self.github.work(git, &work, &self.late) {
            Ok(outcome) => {
                self.tell_of(&work, &before);
                self.under_way.get_mut(&key).expect("just found").done = Some(outcome);
            }
            Err(failure) => {
                let UnderWay { effect, .. } = self.under_way.remove(&key).expect("just found");
                self.feed(git, failed(effect, at(NOW), failure), at(NOW));
            }
        }
    }

    fn done_late(&mut self, git: &Objects, work: &TrainTask) {
        let before = self.github.clone();
        match work {
            TrainTask::Push(push) => {
                self.github.push(git, push);
            }
            TrainTask::Squash { pull, head, .. } => {
                self.github.squash(git, pull.get(), head);
            }
            TrainTask::Retarget { pull, base } => {
                self.github.retarget(pull.get(), base);
            }
            _ => unreachable!("nothing else leaves a trace"),
        }
        self.tell_of(work, &before);
    }

    /// GitHub sends a webhook for what has changed.
    fn tell_of(&mut self, work: &TrainTask, before: &GitHub) {
        let Some(pull) = irreversible(work) else { return };
        if self.github.pulls[&pull.get()] != before.pulls[&pull.get()] {
            let action = match work {
                TrainTask::Push(_) => "synchronize",
                TrainTask::Squash { .. } => "closed",
                _ => "edited",
            };
            self.tell(pull.get(), action);
        }
    }

    fn tell(&mut self, number: u64, action: &'static str) {
        self.webhooks.push(Webhook { action, facts: self.github.facts(number) });
    }

    fn answered(&mut self, git: &Objects, key: EffectKey, now: Timestamp) {
        let UnderWay { effect, done, .. } = self.under_way.remove(&key).expect("under way");
        let input = match (effect, done) {
            (effect @ Effect::Trains(TrainsEffect::Work { .. }), Some(outcome)) => completed(effect, now, Ok(outcome)),
            (effect, _) => self.perform(git, effect, now),
        };
        self.feed(git, input, now);
    }

    /// Nobody hears of it any more.
    pub(super) fn give_up(&mut self, under_way: UnderWay) {
        let Effect::Trains(TrainsEffect::Work { work, .. }) = under_way.effect else { return };
        if let Some(pull) = irreversible(&work) {
            // To set a base twice does no harm.
            if !matches!(work, TrainTask::Retarget { .. }) {
                self.unsure.insert((work.name(), pull));
            }
            if under_way.done.is_none() {
                self.late.push(work);
            }
        }
    }
}

fn delivery(event: &str, action: &str, happening: WebhookEvent) -> Input {
    let delivery = Delivery {
        id: DeliveryId::parse("delivery").expect("an id"),
        event: event.to_owned(),
        action: Some(action.to_owned()),
        repo: None,
        default_branch: None,
        happening,
    };
    Input::Delivery { delivery, hash: RequestHash::of(b""), received_at: at(NOW) }
}
