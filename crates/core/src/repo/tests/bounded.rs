//! Every loop is bounded: whatever GitHub and git answer, and however often, nothing is done again and again without a pause,
//! and a train that cannot go on says so.

mod answers;

use std::collections::BTreeMap;

use proptest::prelude::*;

use self::answers::{Lie, Then, is_listed, lie};
use super::trains::Yard;
use super::trains_unruly::{Turn, shapes, turn};
use super::*;
use crate::repo::trains::detail::is_live;
use crate::repo::trains::work::{MergeStep, TrainTask};

/// How often one thing may be done within a minute.
const MOST_ACTS: usize = 5;
const MINUTE: i64 = 60;
/// How long the lies are told: longer than the longest pause.
const HORIZON: i64 = 8 * MINUTE;

/// What must not be done again and again: one kind of work for one pull request. A train that prepares, squashes and
/// retargets one pull request after the other does many things, each of them once: that is progress and no loop. A reading of
/// many merge states counts for each; a status comment counts by what it says, since each new word follows from something that
/// was done and is bounded itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Machine {
    Works(PrNumber, &'static str),
    /// Whatever it was for: what cannot be undone on GitHub.
    Pushes(PrNumber),
    ReadsMergeState(PrNumber),
    Writes(PrNumber, String),
    Other(EffectKey),
}

fn machines(effect: &Effect) -> Vec<Machine> {
    match effect {
        Effect::Trains(TrainsEffect::Work { root, work }) => works(*root, work),
        Effect::Mirror(MirrorEffect::ReadMergeStates { prs }) => {
            prs.iter().copied().map(Machine::ReadsMergeState).collect()
        }
        Effect::Trains(TrainsEffect::WriteStatus { root, body, .. }) => vec![Machine::Writes(*root, told(body))],
        Effect::Mirror(MirrorEffect::Survey)
        | Effect::Mirror(MirrorEffect::ReadConversations { .. })
        | Effect::Mirror(MirrorEffect::FetchPull { .. })
        | Effect::Outbox(_)
        | Effect::Trains(TrainsEffect::ReadStatus { .. })
        | Effect::Trains(TrainsEffect::ReadPolicy { .. })
        | Effect::Commands(_)
        | Effect::Trains(TrainsEffect::DeleteBranch { .. })
        | Effect::Ratchet(_)
        | Effect::Settings(_) => vec![Machine::Other(effect.key())],
    }
}

/// What people read of a status comment.
fn told(body: &str) -> String {
    body.rsplit("-->").next().unwrap_or_default().trim().to_owned()
}

fn works(root: PrNumber, work: &TrainTask) -> Vec<Machine> {
    match work {
        TrainTask::Merge { step, pull, .. } => {
            let name = match step {
                MergeStep::Prepare { .. } => "prepare",
                MergeStep::Reconcile { .. } => "reconcile",
                MergeStep::CatchUp { .. } => "catch up",
                MergeStep::UpdateRoot => "update root",
                MergeStep::AddLate { .. } => "add late",
            };
            vec![Machine::Works(*pull, name)]
        }
        TrainTask::Push(push) => vec![Machine::Pushes(push.pull)],
        TrainTask::Probe(push) => vec![Machine::Works(push.pull, work.name())],
        TrainTask::Expect { change, .. } => vec![Machine::Works(change.pull, work.name())],
        TrainTask::Squash { pull, .. } | TrainTask::Look { pull } | TrainTask::Retarget { pull, .. } => {
            vec![Machine::Works(*pull, work.name())]
        }
        TrainTask::Prove { landed, .. } => vec![Machine::Works(landed.pull, work.name())],
        TrainTask::Plan { .. } | TrainTask::Worktrees(_) => vec![Machine::Works(root, work.name())],
    }
}

/// A yard in which nobody does anything any more, and GitHub tells lies.
struct Stuck {
    yard: Yard,
    lies: Vec<Lie>,
    then: Then,
    /// What was asked for before.
    earlier: BTreeSet<EffectKey>,
    /// When each thing was done, of late.
    done: BTreeMap<Machine, Vec<i64>>,
    /// What trains have been at, and when something of it was new.
    seen: BTreeSet<String>,
    progressed_at: i64,
    /// Since when each late relation is under way.
    late_since: BTreeMap<PrNumber, i64>,
    trace: Vec<String>,
}

impl Stuck {
    fn new(mut yard: Yard, lies: Vec<Lie>) -> Self {
        yard.hub.lies = true;
        let then = yard.hub.pulls.keys().map(|number| (*number, yard.hub.facts(*number))).collect();
        let progressed_at = yard.worker.clock;
        let (done, seen, trace) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let earlier = yard.under_way.keys().copied().collect();
        let late_since = BTreeMap::new();
        Self { yard, lies, then, earlier, done, seen, progressed_at, late_since, trace }
    }

    /// Lets time go by, and everything be answered as soon as it is asked for.
    fn endure(&mut self) -> Result<(), String> {
        let end = self.yard.worker.clock + HORIZON;
        // What fell due before.
        self.yard.feed(&Input::Tick);
        while self.yard.worker.clock < end {
            while let Some(key) = self.yard.under_way.keys().next().copied() {
                let effect = self.yard.under_way.remove(&key).expect("just found");
                self.answer(&effect)?;
            }
            self.note_progress();
            let quiet_for = self.yard.worker.clock - self.progressed_at;
            if quiet_for >= MINUTE {
                self.everybody_knows()?;
            }
            let now = at(self.yard.worker.clock);
            let wake = next_wake(&self.yard.worker.state, &self.yard.worker.settings, now);
            let wait = wake.map_or(HORIZON, |at| at.duration_since(now).as_secs().max(1));
            // Also looked at between two wakes: what nobody says is not said because of a clock.
            let until_told = (MINUTE - quiet_for).max(1);
            self.yard.worker.clock += if quiet_for < MINUTE { wait.min(until_told) } else { wait };
            self.yard.feed(&Input::Tick);
        }
        Ok(())
    }

    fn answer(&mut self, effect: &Effect) -> Result<(), String> {
        assert!(is_listed(effect), "nobody lies about {}", effect.name());
        let now = self.yard.worker.clock;
        let asked = at(now);
        let (hub, then) = (&mut self.yard.hub, &self.then);
        let lie = self.lies.iter().find_map(|lie| lie.answer(hub, then, effect, asked));
        let input = lie.unwrap_or_else(|| self.yard.hub.perform(effect, asked));
        self.trace.push(format!("{now}: {effect:?}"));
        // What is read where no train is, is read for nobody's loop; each reading has a backoff of its own.
        let state = &self.yard.worker.state;
        let is_idle = state.active_trains.is_empty() && state.starts.is_empty() && state.details.is_empty();
        let is_counted = !self.earlier.remove(&effect.key()) && !is_idle;
        for machine in machines(effect).into_iter().filter(|_| is_counted) {
            let times = self.done.entry(machine.clone()).or_default();
            times.push(now);
            times.retain(|time| now - time < MINUTE);
            if times.len() > MOST_ACTS {
                let times = times.clone();
                return Err(self.report(&format!("{machine:?} was done at {times:?}")));
            }
        }
        let before = self.yard.worker.state.clone();
        let plan = self.yard.worker.feed(&input);
        if plan.events.iter().any(|event| matches!(event, Event::Mirror(MirrorEvent::RepositoryListed { .. }))) {
            // A full look reads the file again; how often there is one is counted.
            self.done.remove(&Machine::Other(EffectKey::Settings(SettingsKey::ReadSettings)));
        }
        // What lands moves the default branch, which is news to every train; and nothing lands twice.
        let has_landed =
            plan.events.iter().any(|event| matches!(event, Event::Trains(TrainsEvent::SquashCommitted { .. })));
        if has_landed || plan.events.iter().any(|event| is_news(&before, event)) {
            self.done.clear();
        }
        plan.cancels.iter().for_each(|served| drop(self.yard.under_way.remove(&served.work())));
        self.yard.begin(plan);
        self.note_progress();
        Ok(())
    }

    /// Only what was never so before is progress.
    fn note_progress(&mut self) {
        let state = &self.yard.worker.state;
        let is_late = |root: &PrNumber| state.details.get(root).is_some_and(|detail| detail.late);
        self.late_since.retain(|root, _| is_late(root));
        for root in state.details.keys().filter(|root| is_late(root)) {
            self.late_since.entry(*root).or_insert(self.yard.worker.clock);
        }
        let trains = state.active_trains.values();
        let places = trains.map(|train| format!("{} {:?}", train.current_pr, train.cascade_phase));
        let landed = format!("{:?}", self.yard.hub.squashes);
        let starts = state.starts.keys().map(|pr| format!("start {pr}"));
        for place in places.chain(starts).chain([landed]) {
            if self.seen.insert(place) {
                self.progressed_at = self.yard.worker.clock;
            }
        }
    }

    /// What does not go on says so: a train by what it waits for, a late relation likewise, with a word to its author.
    fn everybody_knows(&self) -> Result<(), String> {
        let state = &self.yard.worker.state;
        for train in state.active_trains.values().filter(|train| is_live(train.state)) {
            if state.why(train.original_root_pr).is_none() {
                return Err(self.report(&format!("nobody knows what this waits for: {train:#?}")));
            }
        }
        for (root, since) in &self.late_since {
            if self.yard.worker.clock - since >= MINUTE && state.why(*root).is_none() {
                return Err(self.report(&format!("nobody knows that #{root} cannot be related")));
            }
        }
        match state.starts.keys().next() {
            Some(start) => Err(self.report(&format!("the start of #{start} is never settled"))),
            None => Ok(()),
        }
    }

    fn report(&self, what: &str) -> String {
        let from = self.trace.len().saturating_sub(60);
        let log = &self.yard.worker.log;
        let events: Vec<String> = log[log.len().saturating_sub(60)..]
            .iter()
            .map(|line| format!("{} {}", line.ts, serde_json::to_string(&line.event).unwrap()))
            .collect();
        format!("{what}\nlies: {:?}\n{}\n\n{}", self.lies, self.trace[from..].join("\n"), events.join("\n"))
    }
}

/// Whether it is new input after all, from before the lies: a head that somebody must have pushed, told of for the first time,
/// or a start that somebody asked for.
fn is_news(before: &RepoState, event: &Event) -> bool {
    match event {
        Event::Mirror(MirrorEvent::PrObserved { pr, head_sha, .. }) => pace::is_new_head(before, *pr, head_sha),
        Event::Trains(TrainsEvent::StartSettled { .. }) => true,
        _ => false,
    }
}

/// Somebody merges a pull request by hand, and GitHub tells of it.
fn merge_by_hand(yard: &mut Yard, number: u64) {
    let pull = yard.hub.pulls[&number].clone();
    if pull.landed.is_some() || pull.closed || pull.base != branch("main") {
        return;
    }
    let main = yard.hub.main.clone();
    let commit = yard.hub.commit(&[&main]);
    yard.hub.main = commit.clone();
    yard.hub.edit(number, |pull| pull.landed = Some(commit));
    yard.tell(number);
}

/// How it comes to the point at which everything stands still.
#[derive(Debug, Clone)]
enum Before {
    Turn(Turn),
    MergedByHand(u64),
}

fn story() -> impl Strategy<Value = Vec<Before>> {
    let quiet = proptest::collection::vec(any::<usize>().prop_map(|which| Before::Turn(Turn::Answer(which))), 0..60);
    let one = prop_oneof![
        10 => turn().prop_map(Before::Turn),
        1 => (1..6_u64).prop_map(Before::MergedByHand),
    ];
    prop_oneof![1 => quiet, 2 => proptest::collection::vec(one, 0..60)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn whatever_is_answered_nothing_is_done_more_than_five_times_a_minute_and_what_cannot_go_on_says_so(
        on in shapes(),
        story in story(),
        lies in proptest::collection::vec(lie(), 1..4),
    ) {
        let mut yard = Yard::new(&on);
        yard.hub.lies = true;
        yard.start(1);
        for (id, before) in (1_000..).zip(story) {
            match before {
                Before::Turn(turn) => yard.live_through(turn, id),
                Before::MergedByHand(number) if yard.hub.pulls.contains_key(&number) => merge_by_hand(&mut yard, number),
                Before::MergedByHand(_) => {}
            }
        }
        if let Err(wrong) = Stuck::new(yard, lies).endure() {
            return Err(TestCaseError::fail(wrong));
        }
    }
}
