//! Whatever happens, in whatever order: a branch has one owner, nobody is sent twice for the same, and nothing is forgotten.

use proptest::prelude::*;

use super::*;
use crate::repo::ratchet::ApprovalRule;
use crate::repo::tests::runs::follow;

#[derive(Debug, Clone)]
enum What {
    Ci(u64, CheckConclusion),
    CiBegins(u64),
    Says(u64),
    Resolves(u64),
    Merge(u64, MergeState),
    Pushes(u64),
    Closes(u64),
    Fixer(u64, Fixer),
    Way(u64, Way),
    Toggle(u64, bool),
    Session(u64, bool),
    SessionEnds(u64),
    Decide(u64, Decision),
    StopFix(u64),
    Start(u64),
    StopTrain(u64),
    Beat,
    Answer(usize),
    Settle,
    Wait(i64),
    Crash,
}

fn any_what() -> impl Strategy<Value = What> {
    let number = || 1..4_u64;
    let merge = prop_oneof![
        4 => Just(MergeState::Clean),
        1 => Just(MergeState::Dirty),
        1 => Just(MergeState::Blocked),
        1 => Just(MergeState::Behind),
    ];
    let fixer = prop_oneof![
        3 => Just(Fixer::Pushes),
        2 => Just(Fixer::Works),
        1 => Just(Fixer::GivesUp),
        1 => Just(Fixer::Dies),
        1 => Just(Fixer::TimesOut),
        1 => Just(Fixer::Stumbles),
    ];
    let way = prop_oneof![
        3 => Just(Way::Lands),
        1 => Just(Way::LandsUnheard),
        1 => Just(Way::GetsLost),
        1 => Just(Way::IsRejected),
        1 => Just(Way::CannotBeMade),
        1 => Just(Way::Hangs),
    ];
    let verdict = prop_oneof![2 => Just(CheckConclusion::Failed), 1 => Just(CheckConclusion::Passed)];
    let decision = prop_oneof![Just(Decision::Approved), Just(Decision::Rejected)];
    prop_oneof![
        4 => (number(), verdict).prop_map(|(number, verdict)| What::Ci(number, verdict)),
        1 => number().prop_map(What::CiBegins),
        3 => number().prop_map(What::Says),
        1 => number().prop_map(What::Resolves),
        2 => (number(), merge).prop_map(|(number, merge)| What::Merge(number, merge)),
        2 => number().prop_map(What::Pushes),
        1 => number().prop_map(What::Closes),
        4 => (number(), fixer).prop_map(|(number, fixer)| What::Fixer(number, fixer)),
        2 => (number(), way).prop_map(|(number, way)| What::Way(number, way)),
        1 => (number(), any::<bool>()).prop_map(|(number, on)| What::Toggle(number, on)),
        1 => (number(), any::<bool>()).prop_map(|(number, idle)| What::Session(number, idle)),
        1 => number().prop_map(What::SessionEnds),
        2 => (number(), decision).prop_map(|(number, decision)| What::Decide(number, decision)),
        1 => number().prop_map(What::StopFix),
        2 => number().prop_map(What::Start),
        1 => number().prop_map(What::StopTrain),
        6 => Just(What::Beat),
        16 => any::<usize>().prop_map(What::Answer),
        2 => Just(What::Settle),
        3 => prop_oneof![3 => 1..20_i64, 1 => 60..1_000_i64].prop_map(What::Wait),
        2 => Just(What::Crash),
    ]
}

impl Bench {
    fn happens(&mut self, what: What) {
        self.worker.clock += 1;
        let is_open = |bench: &Self, number: u64| {
            let pull = &bench.hub.pulls[&number];
            !pull.closed && pull.landed.is_none()
        };
        match what {
            What::Ci(number, verdict) => self.ci(number, verdict),
            What::CiBegins(number) => self.ci_begins(number),
            What::Says(number) => self.says(number, &format!("thread {}", self.requests % 3)),
            What::Resolves(number) => self.script(number).points.clear(),
            What::Merge(number, merge) => self.script(number).merge = merge,
            What::Pushes(number) if is_open(self, number) => self.pushes(number),
            What::Closes(number) if is_open(self, number) => self.closes(number),
            What::Pushes(_) | What::Closes(_) => {}
            What::Fixer(number, fixer) => self.fixer(number, fixer),
            What::Way(number, way) => self.script(number).way = way,
            What::Toggle(number, on) => drop(self.toggle(number, on)),
            What::Session(number, idle) => {
                let session = "desk".to_owned();
                drop(self.ask(Request::Session { pr: pr(number), session, idle, by: None, again: false }));
            }
            What::SessionEnds(number) => {
                let session = "desk".to_owned();
                drop(self.ask(Request::EndSession { pr: pr(number), session, exit_code: None }));
            }
            What::Decide(number, decision) if self.has_fix(number) => drop(self.decides(number, decision)),
            What::StopFix(number) if self.has_fix(number) => drop(self.stops_fixer(number)),
            What::Decide(..) | What::StopFix(_) => {}
            What::Start(number) => self.starts(number),
            What::StopTrain(number) => {
                drop(self.ask(Request::StopTrain { pr: pr(number), behest: Attribution::default() }));
            }
            What::Beat => drop(self.beat()),
            What::Answer(which) => {
                let keys: Vec<EffectKey> = self.under_way.keys().copied().filter(|key| !self.hangs(*key)).collect();
                if let Some(key) = keys.get(which % keys.len().max(1)) {
                    self.answer(*key);
                }
            }
            What::Settle => {
                self.is_manual = false;
                self.settle();
                self.is_manual = true;
            }
            What::Wait(seconds) => self.wait(seconds),
            What::Crash => drop(self.crash()),
        }
    }

    fn has_fix(&self, number: u64) -> bool {
        self.worker.state.workspaces.get(&pr(number)).is_some_and(|workspace| workspace.fix.is_some())
    }

    /// Nobody is sent twice for the same, unless the first was interrupted or a person began again.
    fn nobody_is_sent_twice(&self) {
        let mut sent: BTreeMap<PrNumber, Vec<String>> = BTreeMap::new();
        for RecordedEvent { event, .. } in &self.worker.log {
            match event {
                // A person pushed, perhaps; whether it was one, the counter's own tests tell.
                Event::Mirror(MirrorEvent::PrObserved { pr, .. }) => drop(sent.remove(pr)),
                Event::Ratchet(workspace::Event::RatchetToggled { pr: Some(pr), .. }) => drop(sent.remove(pr)),
                Event::Ratchet(workspace::Event::RatchetMoved { pr, status: WorkspaceStatus::PausedDone, .. }) => {
                    sent.remove(pr);
                }
                Event::Ratchet(workspace::Event::FixDispatched { pr, fix }) => {
                    let Fix { issue, head, run, points, .. } = fix.as_ref();
                    let what = format!("{issue:?} {head} {run:?} {points:?}");
                    let all = sent.entry(*pr).or_default();
                    assert!(!all.contains(&what), "#{pr}: {what}");
                    all.push(what);
                }
                Event::Ratchet(workspace::Event::FixSettled { pr, settled, .. })
                    if matches!(
                        settled.reason,
                        WorkspaceReason::FixerTimedOut | WorkspaceReason::PrNotOpen | WorkspaceReason::Outpaced
                    ) =>
                {
                    sent.entry(*pr).or_default().pop();
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_branch_has_one_owner_and_a_failure_one_fixer_whatever_happens(
        stack in prop_oneof![Just(vec![0, 1, 2]), Just(vec![0, 1, 1]), Just(vec![0, 0, 2])],
        is_held in any::<bool>(),
        happenings in proptest::collection::vec(any_what(), 1..120),
    ) {
        let mut bench = Bench::with(&stack, |settings| {
            settings.approve = if is_held { ApprovalRule::Always } else { ApprovalRule::Never };
        });
        bench.is_manual = true;
        // What must hold after each step is looked at in each step.
        happenings.into_iter().for_each(|what| bench.happens(what));
        bench.crash();
        bench.nobody_is_sent_twice();
        follow(&bench.worker.log);
        // Nothing hangs for ever: with fixers that end and pushes that land, all come to rest.
        bench.is_manual = false;
        for number in 1..=3 {
            bench.fixer(number, Fixer::GivesUp);
            bench.script(number).way = Way::Lands;
            if matches!(bench.worker.state.workspaces.get(&pr(number)).and_then(|it| it.fix.as_ref()), Some(Fix { phase: FixPhase::Held { .. }, .. })) {
                drop(bench.decides(number, Decision::Rejected));
            }
        }
        for _ in 0..12 {
            bench.tick();
            bench.beat();
        }
        for (number, workspace) in &bench.worker.state.workspaces {
            prop_assert_eq!(&workspace.fix, &None, "#{}", number);
        }
    }
}
