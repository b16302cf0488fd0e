//! Property 9: whoever resumes a cascade goes on with the descendants that were frozen, whoever came since.

use std::collections::BTreeMap;

use jiff::Timestamp;
use merge_train_core::facts::HeadRepo;
use merge_train_core::ids::{Sha, UserId};
use merge_train_core::repo::trains::CascadePhase;
use merge_train_core::repo::{Attribution, Event, Position, RecordedEvent, RepoState, Snapshot, apply, mirror, trains};
use proptest::collection::vec;

use super::*;
use crate::support::generate::{GeneratedBranch, base_files, branch};

const ROOT: PrNumber = PrNumber::new(1);

/// A repository's memory, as it is on disk: a snapshot, and the log since.
struct Memory {
    snapshot: String,
    log: Vec<String>,
    state: RepoState,
}

impl Memory {
    fn new() -> Self {
        let state = RepoState::default();
        Self { snapshot: snapshot(&state, 1), log: Vec::new(), state }
    }

    fn record(&mut self, event: Event) {
        let recorded = RecordedEvent { seq: self.log.len() as u64 + 1, ts: now(), event };
        self.log.push(serde_json::to_string(&recorded).expect("events are written as JSON"));
        apply(&mut self.state, &recorded.event, recorded.ts);
    }

    /// Writes the state down, so that the log begins anew.
    fn compact(&mut self) {
        self.snapshot = snapshot(&self.state, self.log.len() as u64 + 1);
        self.log.clear();
    }

    /// What another process reads.
    fn reload(&mut self) {
        let snapshot: Snapshot = serde_json::from_str(&self.snapshot).expect("a snapshot");
        let mut state = snapshot.restore();
        for line in &self.log {
            let recorded: RecordedEvent = serde_json::from_str(line).expect("an event");
            apply(&mut state, &recorded.event, recorded.ts);
        }
        self.state = state;
    }

    fn observe(&mut self, pull: &Pull, base: &BranchName) {
        self.record(Event::Mirror(mirror::Event::PrObserved {
            pr: pull.number,
            head_ref: pull.branch.clone(),
            head_sha: Sha::from(&pull.head),
            base_ref: base.clone(),
            draft: false,
            head_repo: HeadRepo::Same,
            author: UserId::new(1),
            updated_at: now(),
            stack_position: None,
            title: String::new(),
        }));
    }

    fn declare(&mut self, pull: &Pull, root: &Pull) {
        self.observe(pull, &root.branch);
        self.record(Event::Mirror(mirror::Event::PredecessorDeclared {
            pr: pull.number,
            predecessor: root.number,
            comment: None,
        }));
    }

    fn enter(&mut self, phase: CascadePhase, squash: Option<&Squash>) {
        let last_squash_sha = squash.map(|squash| Sha::from(squash.commit()));
        let (train_root, current_pr) = (ROOT, ROOT);
        self.record(Event::Trains(trains::Event::PhaseTransition {
            train_root,
            current_pr,
            predecessor_pr: None,
            last_squash_sha,
            phase,
            predecessor_head_sha: None,
        }));
    }

    fn remaining(&self) -> Vec<PrNumber> {
        self.state.active_trains()[&ROOT].cascade_phase.remaining().collect()
    }
}

fn snapshot(state: &RepoState, next_seq: u64) -> String {
    let position = Position { generation: 1, next_seq, taken_at: now() };
    serde_json::to_string(&Snapshot::of(state, position)).expect("states are written as JSON")
}

fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).expect("a time")
}

/// The root's branch, some on top of it at the start, and some that come late.
fn family() -> impl Strategy<Value = (GeneratedBranch, Vec<GeneratedBranch>, Vec<GeneratedBranch>)> {
    let five = (branch(1), branch(2), branch(3), branch(4), branch(5));
    (branch(0), five, 1..=3_usize, 0..=2_usize).prop_map(|(root, five, initial, late)| {
        let five = [five.0, five.1, five.2, five.3, five.4];
        (root, five[..initial].to_vec(), five[3..3 + late].to_vec())
    })
}

/// Where the process dies, and what it had written down.
#[derive(Clone, Debug)]
struct Crash {
    prepared: prop::sample::Index,
    reconciled: prop::sample::Index,
    compacted: Vec<bool>,
}

fn crash() -> impl Strategy<Value = Crash> {
    let indices = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (indices, vec(any::<bool>(), 2)).prop_map(|((prepared, reconciled), compacted)| Crash {
        prepared,
        reconciled,
        compacted,
    })
}

#[test]
fn recovery_uses_frozen_descendants() {
    let world = World::with_base(&base_files());
    proptest!(cases(), |((root, initial, late) in family(), crash in crash())| {
        world.start_over();
        let (first, mut pulls) = open(&world, &root, &initial, &late);
        let frozen: Vec<PrNumber> = pulls.keys().copied().take(initial.len()).collect();
        let latecomers: Vec<PrNumber> = pulls.keys().copied().skip(initial.len()).collect();
        let heads: BTreeMap<PrNumber, Oid> = pulls.iter().map(|(number, pull)| (*number, pull.head.clone())).collect();

        let mut memory = Memory::new();
        memory.observe(&first, &first.default);
        for number in &frozen {
            memory.declare(&pulls[number], &first);
        }
        memory.record(Event::Trains(trains::Event::TrainStarted { root_pr: ROOT, current_pr: ROOT, behest: Attribution::default() }));
        memory.enter(preparing(&frozen, &[]), None);
        let done = crash.prepared.index(frozen.len() + 1);
        for index in 0..done {
            pulls.get_mut(&frozen[index]).expect("it is open").prepare(&world, &first)?;
            memory.enter(preparing(&frozen, &frozen[..=index]), None);
        }

        // The process dies, one latecomer declares itself, another process takes over.
        resume(&mut memory, &crash, 0, latecomers.first().map(|number| (&pulls[number], &first)));
        prop_assert_eq!(memory.remaining(), &frozen[done..]);
        for number in memory.remaining() {
            pulls.get_mut(&number).expect("it is open").prepare(&world, &first)?;
        }
        memory.enter(CascadePhase::SquashPending { frozen_descendants: frozen.clone(), skipped: vec![] }, None);
        let squash = first.land(&world)?;
        memory.enter(reconciling(&frozen, &[]), Some(&squash));
        let done = crash.reconciled.index(frozen.len() + 1);
        for index in 0..done {
            pulls.get_mut(&frozen[index]).expect("it is open").reconcile(&world, &squash)?;
            memory.enter(reconciling(&frozen, &frozen[..=index]), Some(&squash));
        }

        // And again.
        resume(&mut memory, &crash, 1, latecomers.get(1).map(|number| (&pulls[number], &first)));
        prop_assert_eq!(memory.remaining(), &frozen[done..]);
        for number in memory.remaining() {
            pulls.get_mut(&number).expect("it is open").reconcile(&world, &squash)?;
        }

        // Asking the index would have been wrong: it knows them all.
        let declared: Vec<PrNumber> = memory.state.descendants(ROOT).collect();
        prop_assert_eq!(declared, pulls.keys().copied().collect::<Vec<_>>());
        for number in &frozen {
            let reconciled = world.objects().is_ancestor(squash.commit(), &pulls[number].head);
            prop_assert!(world.run(reconciled).expect("git answers"), "#{} was not reconciled", number);
        }
        for number in &latecomers {
            prop_assert_eq!(&pulls[number].head, &heads[number], "#{} moved", number);
        }
    });
}

/// The root, and everyone on top of it, by number.
fn open(
    world: &World,
    root: &GeneratedBranch,
    initial: &[GeneratedBranch],
    late: &[GeneratedBranch],
) -> (Pull, BTreeMap<PrNumber, Pull>) {
    let commits = world.chain(world.base(), &generate::chain(&root.commits));
    let first = Pull::new(ROOT.get(), commits.last().expect("a commit").clone());
    // They left the root at its first commit: each of them has something to be prepared with, if the root has more.
    let pull = |(index, branch): (usize, &GeneratedBranch)| {
        let head = world.chain(&commits[0], &generate::chain(&branch.commits)).pop().expect("a commit");
        let pull = Pull::new(index as u64 + 2, head);
        (pull.number, pull)
    };
    (first, initial.iter().chain(late).enumerate().map(pull).collect())
}

fn resume(memory: &mut Memory, crash: &Crash, time: usize, late: Option<(&Pull, &Pull)>) {
    if crash.compacted[time] {
        memory.compact();
    }
    if let Some((late, root)) = late {
        memory.declare(late, root);
    }
    memory.reload();
}

fn preparing(frozen: &[PrNumber], completed: &[PrNumber]) -> CascadePhase {
    CascadePhase::Preparing { completed: completed.to_vec(), skipped: Vec::new(), frozen_descendants: frozen.to_vec() }
}

fn reconciling(frozen: &[PrNumber], completed: &[PrNumber]) -> CascadePhase {
    CascadePhase::Reconciling {
        completed: completed.to_vec(),
        skipped: Vec::new(),
        frozen_descendants: frozen.to_vec(),
    }
}
