//! Trains among people who close, reopen, retarget, declare again, stop and start as they please.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::trains::Yard;
use super::*;
use crate::repo::trains::detail::is_live;

/// What somebody does to a pull request. GitHub tells of it at once, later, or never.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deed {
    Close,
    Reopen,
    Push,
    /// The base becomes another branch, the default branch, or what it was.
    Retarget(Base),
    Undeclare,
    Declare,
    Stop,
    Start,
    /// The webhook comes.
    Tell,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Base {
    Elsewhere,
    Default,
    Predecessor,
}

#[derive(Debug, Clone)]
pub(super) enum Turn {
    Answer(usize),
    /// It fails, or is done and the answer is lost.
    Fail(usize, Answered),
    Crash(Vec<bool>),
    Tick,
    /// Somebody wants the whole repository looked at.
    Sync,
    Does(u64, Deed, bool),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Answered {
    NotDone,
    Done,
}

fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        1 => Just(Deed::Close),
        3 => Just(Deed::Reopen),
        1 => Just(Deed::Push),
        1 => Just(Deed::Retarget(Base::Elsewhere)),
        1 => Just(Deed::Retarget(Base::Default)),
        3 => Just(Deed::Retarget(Base::Predecessor)),
        1 => Just(Deed::Undeclare),
        2 => Just(Deed::Declare),
        1 => Just(Deed::Stop),
        3 => Just(Deed::Start),
        3 => Just(Deed::Tell),
    ]
}

/// What happens next.
pub(super) fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        12 => any::<usize>().prop_map(Turn::Answer),
        1 => proptest::collection::vec(any::<bool>(), 0..4).prop_map(Turn::Crash),
        1 => Just(Turn::Tick),
        1 => Just(Turn::Sync),
        1 => any::<usize>().prop_map(|which| Turn::Fail(which, Answered::NotDone)),
        1 => any::<usize>().prop_map(|which| Turn::Fail(which, Answered::Done)),
        4 => (1..6_u64, deeds(), prop::bool::weighted(0.8)).prop_map(|(number, deed, told)| Turn::Does(number, deed, told)),
    ]
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    proptest::collection::vec(turn(), 0..150)
}

pub(super) fn shapes() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        Just(vec![0]),
        Just(vec![0, 1]),
        Just(vec![0, 1, 2, 3]),
        Just(vec![0, 1, 1]),
        Just(vec![0, 1, 1, 2, 2]),
        Just(vec![0, 1, 2, 2, 1]),
        Just(vec![0, 1, 0, 3, 3]),
    ]
}

impl Yard {
    pub(super) fn tell(&mut self, number: u64) {
        let facts = self.hub.facts(number);
        let plan = self.worker.pull_event("edited", facts);
        self.begin_and_cancel(plan);
    }

    fn comment(&mut self, change: CommentChange, said: CommentFacts) {
        let plan = self.worker.comment_event(change, said);
        self.begin_and_cancel(plan);
    }

    fn begin_and_cancel(&mut self, plan: Plan) {
        for served in &plan.cancels {
            self.under_way.remove(&served.work());
        }
        self.begin(plan);
    }

    fn fail(&mut self, which: usize, answered: Answered) {
        let Some(key) = self.under_way.keys().nth(which % self.under_way.len().max(1)).copied() else { return };
        let effect = self.under_way.remove(&key).expect("just found");
        let asked = at(self.worker.clock);
        self.worker.clock += 1;
        if matches!(answered, Answered::Done) {
            self.hub.perform(&effect, asked);
        }
        let failure = EffectFailure { reason: "502".to_owned(), kind: EffectFailureKind::Transient, retry_at: None };
        self.feed(&failed(effect, asked, failure));
    }

    /// One turn of a story; what is about a pull request that there is not, is nothing.
    pub(super) fn live_through(&mut self, turn: Turn, id: u64) {
        match turn {
            Turn::Answer(which) => self.answer(which),
            Turn::Crash(done) => self.crash(&done),
            Turn::Tick => self.tick(),
            Turn::Sync => self.sync(id),
            Turn::Fail(which, answered) => self.fail(which, answered),
            Turn::Does(number, deed, told) if self.hub.pulls.contains_key(&number) => {
                self.does(number, deed, id);
                if told {
                    self.tell(number);
                }
            }
            Turn::Does(..) => {}
        }
    }

    fn sync(&mut self, id: u64) {
        let key = crate::inbox::Key::api("test", &id.to_string()).expect("a key");
        self.feed(&Input::Asked { key, request: Request::Sync });
    }

    fn does(&mut self, number: u64, deed: Deed, id: u64) {
        let pull = self.hub.pulls[&number].clone();
        let is_open = pull.landed.is_none() && !pull.closed;
        match deed {
            Deed::Close if is_open => self.hub.edit(number, |pull| pull.closed = true),
            Deed::Reopen if pull.closed => self.hub.edit(number, |pull| pull.closed = false),
            Deed::Push if is_open => self.hub.push(number),
            Deed::Retarget(base) if is_open => {
                let default = branch("main");
                let predecessor = pull.predecessor.map(|below| branch(&format!("feature-{below}")));
                let base = match base {
                    Base::Elsewhere => branch("elsewhere"),
                    Base::Default => default,
                    Base::Predecessor => predecessor.unwrap_or(default),
                };
                self.hub.edit(number, |pull| pull.base = base);
            }
            Deed::Undeclare => {
                if let Some(said) = self.hub.declaration(number) {
                    self.hub.edit(number, |pull| pull.comment = None);
                    self.comment(CommentChange::Deleted, said);
                }
            }
            Deed::Declare if pull.comment.is_none() && pull.predecessor.is_some() => {
                self.hub.edit(number, |pull| pull.comment = Some(id));
                let said = self.hub.declaration(number).expect("just made");
                self.comment(CommentChange::Created, said.clone());
                // Who is refused takes it back.
                if self.worker.known(number).predecessor.is_none() {
                    self.hub.edit(number, |pull| pull.comment = None);
                    self.comment(CommentChange::Deleted, said);
                }
            }
            Deed::Stop => self.comment(CommentChange::Created, comment(number, id, "@merge-train stop")),
            Deed::Start => self.comment(CommentChange::Created, comment(number, id, "@merge-train start")),
            _ => {}
        }
    }

    /// No pull request is dealt with by two trains that are under way.
    fn check_owners(&self) {
        let mut owned = BTreeSet::new();
        for train in self.worker.state.active_trains.values().filter(|train| is_live(train.state)) {
            let phase = &train.cascade_phase;
            let frozen = phase.frozen_descendants().iter().filter(|pr| !phase.skipped().contains(pr));
            for pr in frozen.chain([&train.current_pr]) {
                assert!(owned.insert(*pr), "#{pr} has two owners: {:#?}", self.worker.state.active_trains);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Nothing lands twice, unrelated to its predecessor or in another branch; each branch has one owner; and a train that is
    /// still under way when everything is quiet says what it waits for.
    #[test]
    fn whatever_people_do_no_branch_has_two_owners_and_each_train_says_why_it_waits(on in shapes(), turns in turns()) {
        let mut yard = Yard::new(&on);
        yard.start(1);
        for (id, turn) in (1_000..).zip(turns) {
            yard.live_through(turn, id);
            yard.check_owners();
        }
        for _ in 0..4_000 {
            if yard.under_way.is_empty() && !yard.runs() {
                break;
            }
            yard.answer(0);
            yard.check_owners();
        }
        let mut once = yard.landed();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), yard.landed().len(), "each at most once");
        prop_assert!(yard.worker.state.starts.is_empty(), "a start is never settled: {:?}", yard.worker.state.starts);
        for train in yard.worker.state.active_trains.values().filter(|train| is_live(train.state)) {
            let why = yard.worker.state.why(train.original_root_pr);
            prop_assert!(why.is_some(), "nobody knows what it waits for: {train:#?}");
        }
        super::runs::follow(&yard.worker.log);
    }
}
