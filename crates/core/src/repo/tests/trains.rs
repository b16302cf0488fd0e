//! Trains against a GitHub in memory, where the process may die between any two steps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::hub::Hub;
use super::*;
use crate::repo::trains::work::{ExpectedTree, LandedTreeProof, TrainTask, TrainTaskOutcome};
use crate::repo::trains::{CascadePhase, TrainState};

/// A worker, GitHub, and what is under way between them.
pub(super) struct Yard {
    pub hub: Hub,
    pub worker: Worker,
    pub under_way: BTreeMap<EffectKey, Effect>,
}

impl Yard {
    pub fn new(on: &[u64]) -> Self {
        let hub = Hub::new(on);
        let worker = hub.worker();
        Self { hub, worker, under_way: BTreeMap::new() }
    }

    pub fn begin(&mut self, plan: Plan) {
        for effect in plan.effects {
            self.under_way.entry(effect.key()).or_insert(effect);
        }
    }

    pub fn feed(&mut self, input: &Input) {
        let plan = self.worker.feed(input);
        self.begin(plan);
    }

    pub fn start(&mut self, root: u64) {
        self.start_as(root, 500 + root);
    }

    pub fn start_as(&mut self, root: u64, id: u64) {
        self.says(root, id, "@merge-train start");
    }

    /// Somebody says something to the bot.
    pub fn says(&mut self, number: u64, id: u64, body: &str) {
        let now = at(self.worker.clock);
        self.hub.said.push(CommentFacts { created_at: now, updated_at: now, ..comment(number, id, body) });
        let plan = self.worker.comment_event(CommentChange::Created, comment(number, id, body));
        plan.cancels.iter().for_each(|served| drop(self.under_way.remove(&served.work())));
        self.begin(plan);
    }

    /// Does one of the things under way, and hears of it.
    pub fn answer(&mut self, which: usize) {
        let Some(key) = self.under_way.keys().nth(which % self.under_way.len().max(1)).copied() else {
            return self.tick();
        };
        let effect = self.under_way.remove(&key).expect("just found");
        let asked = at(self.worker.clock);
        self.worker.clock += 1;
        let input = self.hub.perform(&effect, asked);
        self.feed(&input);
    }

    /// Time goes by until something is due.
    pub fn tick(&mut self) {
        let now = at(self.worker.clock);
        let wake = next_wake(&self.worker.state, &self.worker.settings, now);
        let wait = wake.map_or(1, |at| at.duration_since(now).as_secs().max(1));
        self.worker.clock += wait;
        self.feed(&Input::Tick);
    }

    /// The process dies. Some of what was under way was done, and nobody heard of it.
    pub fn crash(&mut self, done: &[bool]) {
        let under_way = std::mem::take(&mut self.under_way);
        for (effect, was_done) in under_way.values().zip(done.iter().chain(std::iter::repeat(&false))) {
            if *was_done {
                self.hub.perform(effect, at(self.worker.clock));
            }
        }
        let mut state = RepoState::default();
        self.worker.log.iter().for_each(|recorded| {
            let text = serde_json::to_string(&recorded.event).unwrap();
            apply(&mut state, &serde_json::from_str(&text).unwrap(), recorded.ts);
        });
        assert_eq!(state, self.worker.state, "what is replayed is what was there");
        self.worker.clock += 1;
        self.feed(&Input::Resume);
    }

    pub fn runs(&self) -> bool {
        !self.worker.state.starts.is_empty()
            || self
                .worker
                .state
                .active_trains
                .values()
                .any(|train| matches!(train.state, TrainState::Running | TrainState::WaitingCi))
    }

    /// Until nothing is under way and no train is left.
    pub fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.under_way.is_empty() && !self.runs() && self.worker.state.details.is_empty() {
                return;
            }
            self.answer(0);
        }
        let log: Vec<String> = self.worker.log.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        panic!("it never ends: {:?}\n{}", self.under_way, log.join("\n"));
    }

    pub fn landed(&self) -> Vec<u64> {
        self.hub.squashes.clone()
    }
}

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_stack_lands_from_the_bottom_to_the_top() {
    let mut yard = Yard::new(&[0, 1, 2, 3]);
    yard.start(1);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3, 4]);
}

#[test]
fn a_fan_out_parts_into_trains_that_all_land() {
    let mut yard = Yard::new(&[0, 1, 1, 2, 1]);
    yard.start(1);
    yard.finish();
    assert_eq!(sorted(yard.landed()), [1, 2, 3, 4, 5]);
    assert_eq!(yard.landed()[0], 1);
}

#[test]
fn what_is_declared_after_the_freeze_follows_as_a_train_of_its_own() {
    let mut yard = Yard::new(&[0, 1, 1]);
    // The second descendant is declared only after the first squash.
    yard.worker.comment_event(CommentChange::Deleted, comment(3, 103, "@merge-train predecessor #1"));
    yard.start(1);
    while yard.landed().is_empty() {
        yard.answer(0);
    }
    let again = comment(3, 203, "@merge-train predecessor #1");
    let plan = yard.worker.comment_event(CommentChange::Created, again);
    yard.begin(plan);
    yard.finish();
    assert_eq!(sorted(yard.landed()), [1, 2, 3]);
}

#[test]
fn a_stop_is_final_until_somebody_starts_again() {
    let mut yard = Yard::new(&[0, 1, 2]);
    yard.start(1);
    while yard.landed().is_empty() {
        yard.answer(0);
    }
    let plan = yard.worker.comment_event(CommentChange::Created, comment(2, 900, "@merge-train stop"));
    assert_eq!(plan.cancels, [EffectOwner::Train(pr(1))]);
    yard.under_way.retain(|key, _| *key != EffectKey::Trains(TrainsKey::Work(pr(1))));
    yard.begin(plan);
    for _ in 0..200 {
        yard.answer(0);
    }
    assert_eq!(yard.landed(), [1], "nothing lands after the stop");
    // The root has landed, so what stood on it is started, and brought into order first.
    yard.start_as(1, 901);
    yard.finish();
    assert_eq!(yard.landed(), [1, 2, 3]);
}

#[test]
fn a_train_that_was_stopped_says_so_until_what_was_on_board_goes_on() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.worker.comment_event(CommentChange::Deleted, comment(3, 103, "@merge-train predecessor #1"));
    yard.start(1);
    while yard.landed().is_empty() {
        yard.answer(0);
    }
    let plan = yard.worker.comment_event(CommentChange::Created, comment(1, 900, "@merge-train stop"));
    yard.under_way.retain(|key, _| *key != EffectKey::Trains(TrainsKey::Work(pr(1))));
    yard.begin(plan);
    // It was never on board, and goes its own way.
    let plan = yard.worker.comment_event(CommentChange::Created, comment(3, 203, "@merge-train predecessor #1"));
    yard.begin(plan);
    yard.start_as(3, 901);
    for _ in 0..200 {
        yard.answer(0);
    }
    assert_eq!(yard.landed(), [1, 3]);
    let status = &yard.worker.state.details[&pr(1)].status;
    assert_eq!(status.shown, yard.worker.state.active_trains[&pr(1)].recovery_seq, "#2 is still left by it");
    yard.start_as(1, 902);
    yard.finish();
    let closed = |line: &RecordedEvent| matches!(&line.event, Event::Trains(TrainsEvent::StatusWritten { train_root, status_seq: u64::MAX, .. }) if *train_root == pr(1));
    assert!(yard.worker.log.iter().any(closed), "and then its comment says who goes on");
    assert_eq!(yard.landed(), [1, 3, 2]);
    assert!(yard.worker.state.active_trains.is_empty());
}

/// GitHub is asked for a squash, the process dies, the next one looks and finds nothing; and then GitHub does it after all.
fn squashed_late(shape: &[u64]) -> Yard {
    let mut yard = Yard::new(shape);
    yard.start(1);
    let train = EffectKey::Trains(TrainsKey::Work(pr(1)));
    let asks = |yard: &Yard, what: fn(&TrainTask) -> bool| match yard.under_way.get(&train) {
        Some(Effect::Trains(TrainsEffect::Work { work, .. })) => what(work),
        _ => false,
    };
    while !asks(&yard, |work| matches!(work, TrainTask::Squash { .. })) {
        yard.answer(0);
    }
    let squash = yard.under_way[&train].clone();
    yard.crash(&[]);
    while !asks(&yard, |work| matches!(work, TrainTask::Expect { .. })) {
        yard.answer(0);
    }
    let Some(Effect::Trains(TrainsEffect::Work { root, work })) = yard.under_way.remove(&train) else { unreachable!() };
    let elsewhere = TrainTaskOutcome::Expected(ExpectedTree::HeadChanged { head: sha(77) });
    yard.feed(&worked(root, work, Ok(elsewhere)));
    assert_eq!(yard.worker.state.active_trains[&pr(1)].cascade_phase, CascadePhase::Idle, "it is thought over");
    let asked = at(yard.worker.clock);
    yard.hub.perform(&squash, asked);
    let facts = yard.hub.facts(1);
    let plan = yard.worker.pull_event("closed", facts);
    yard.begin(plan);
    yard
}

#[test]
fn a_squash_that_github_did_after_it_was_looked_for_is_recorded_and_proven_like_any_other() {
    for (shape, landed) in [(&[0][..], &[1][..]), (&[0, 1, 2], &[1, 2, 3]), (&[0, 1, 1], &[1, 2, 3])] {
        let mut yard = squashed_late(shape);
        yard.finish();
        assert_eq!(yard.landed(), landed);
        let is = |matches: fn(&Event) -> bool| yard.worker.log.iter().filter(|line| matches(&line.event)).count();
        assert_eq!(is(|event| matches!(event, Event::Trains(TrainsEvent::SquashCommitted { .. }))), landed.len());
        assert_eq!(is(|event| matches!(event, Event::Trains(TrainsEvent::SquashProven { .. }))), landed.len());
        let own = is(|event| matches!(event, Event::Trains(TrainsEvent::TrainStarted { .. })));
        assert_eq!(own, 1, "what stands on it goes on with the same train, or parts from it");
    }
}

#[test]
fn a_late_squash_that_is_not_what_it_should_be_freezes_the_train() {
    let mut yard = squashed_late(&[0, 1]);
    let train = EffectKey::Trains(TrainsKey::Work(pr(1)));
    while !yard.under_way.contains_key(&train) {
        yard.answer(0);
    }
    let Some(Effect::Trains(TrainsEffect::Work { root, work })) = yard.under_way.remove(&train) else {
        panic!("it is to be proven")
    };
    assert!(matches!(work, TrainTask::Prove { .. }), "{work:?}");
    let proof = LandedTreeProof::WrongTree { expected: sha(5), found: sha(6), files: Vec::new() };
    yard.feed(&worked(root, work, Ok(TrainTaskOutcome::Proved(proof))));
    assert_eq!(yard.worker.state.active_trains[&pr(1)].state, TrainState::NeedsManualReview);
}

#[test]
fn an_answer_to_a_question_that_no_longer_stands_changes_nothing() {
    let mut yard = Yard::new(&[0]);
    yard.start(1);
    while !yard.under_way.contains_key(&EffectKey::Trains(TrainsKey::Work(pr(1))))
        || yard.worker.state.active_trains.is_empty()
    {
        yard.answer(0);
    }
    let before = yard.worker.state.clone();
    let (via, wording) = (
        crate::repo::trains::work::MergeEndpoint::Now,
        crate::repo::trains::message::SquashMessageTemplates::default(),
    );
    let work = TrainTask::Squash { pull: pr(1), head: sha(77), base: branch("main"), via, wording };
    let result = Ok(TrainTaskOutcome::Squashed(crate::repo::trains::work::SquashOutcome::HeadChanged));
    yard.worker.feed(&worked(pr(1), work, result));
    assert_eq!(before.active_trains, yard.worker.state.active_trains);
    assert_eq!(before.details, yard.worker.state.details);
}

#[test]
fn every_event_of_a_landing_reads_back_as_it_was_written() {
    let mut yard = Yard::new(&[0, 1, 1]);
    yard.start(1);
    yard.finish();
    for recorded in &yard.worker.log {
        let text = serde_json::to_string(recorded).unwrap();
        assert_eq!(serde_json::from_str::<RecordedEvent>(&text).unwrap(), *recorded, "{text}");
    }
}

/// What happens next in a storm.
#[derive(Debug, Clone)]
enum Turn {
    Answer(usize),
    Crash(Vec<bool>),
    /// GitHub tells of a pull request as it is now.
    Webhook(u64),
    Push(u64),
    Tick,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        12 => any::<usize>().prop_map(Turn::Answer),
        2 => proptest::collection::vec(any::<bool>(), 0..4).prop_map(Turn::Crash),
        2 => (1..6_u64).prop_map(Turn::Webhook),
        1 => (1..6_u64).prop_map(Turn::Push),
        1 => Just(Turn::Tick),
    ];
    proptest::collection::vec(turn, 0..120)
}

fn shapes() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        Just(vec![0]),
        Just(vec![0, 1]),
        Just(vec![0, 1, 2, 3]),
        Just(vec![0, 1, 1]),
        Just(vec![0, 1, 1, 2, 2]),
        Just(vec![0, 1, 2, 2, 1]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Nothing is squashed twice, into another branch or unrelated to its predecessor: the GitHub in memory sees to that.
    /// And whatever died on the way: everything lands, or the train says why not.
    #[test]
    fn whatever_dies_on_the_way_each_lands_once_or_the_train_says_why_not(on in shapes(), turns in turns()) {
        let mut yard = Yard::new(&on);
        yard.start(1);
        let most = on.len() as u64;
        for turn in turns {
            match turn {
                Turn::Answer(which) => yard.answer(which),
                Turn::Crash(done) => yard.crash(&done),
                Turn::Webhook(number) if number <= most => {
                    let facts = yard.hub.facts(number);
                    let plan = yard.worker.pull_event("synchronize", facts);
                    yard.begin(plan);
                }
                Turn::Push(number) if number <= most && yard.hub.pulls[&number].landed.is_none() => yard.hub.push(number),
                Turn::Tick => yard.tick(),
                Turn::Webhook(_) | Turn::Push(_) => {}
            }
        }
        for _ in 0..3_000 {
            if yard.under_way.is_empty() && !yard.runs() {
                break;
            }
            yard.answer(0);
        }
        prop_assert!(!yard.runs(), "still under way: {:?}", yard.worker.state.active_trains);
        let mut once = yard.landed();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), yard.landed().len(), "each at most once");
        let is_complete = once.len() == on.len();
        let halted = yard.worker.state.active_trains.values().filter(|train| train.error.is_some()).count();
        let log = || yard.worker.log.iter().map(|line| serde_json::to_string(line).unwrap()).collect::<Vec<_>>().join("\n");
        prop_assert!(is_complete || halted > 0, "landed {:?}, and nobody says why not the rest:\n{}", yard.landed(), log());
        super::runs::follow(&yard.worker.log);
    }
}
