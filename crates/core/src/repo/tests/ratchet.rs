//! Workspaces against a GitHub that says what a test wants it to say, and fixers that do what a test wants them to do.

mod anything;
mod approvals;
mod budgets;
mod crashes;
mod fixers;
mod guards;
mod heartbeats;
mod pushes;
mod runs;
mod scripts;
mod stacks;
mod switches;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use self::scripts::{Fixer, Script, Way};
use super::hub::Hub;
use super::*;
use crate::facts::{
    Check, CheckConclusion, CheckProgress as CiProgress, HeartbeatFacts, ReviewActivity, ReviewDecision,
    ReviewThreadActivity, ReviewerRequest,
};
use crate::ids::CheckSuiteId;
use crate::inbox::Key;
use crate::repo::ratchet::{
    self as workspace, Fix, FixEnd, FixExit, FixPhase, FixPush, HeartbeatFingerprint, TransitionLogAction, Workspace,
    WorkspaceReason, WorkspaceStatus,
};
use crate::repo::trains::CascadePhase;
use crate::repo::trains::detail::{IntendedAction, is_live};
use crate::repo::trains::work::{PushOutcome, PushProbeResult};
use crate::workflow::Decision;

struct Bench {
    hub: Hub,
    worker: Worker,
    scripts: BTreeMap<u64, Script>,
    under_way: BTreeMap<EffectKey, (Effect, Timestamp)>,
    /// All that was ever begun.
    asked: Vec<Effect>,
    cancels: Vec<EffectOwner>,
    glimpses: BTreeMap<u64, HeartbeatFingerprint>,
    /// GitHub cannot be asked what was said.
    is_deaf: bool,
    /// GitHub takes its time to tell what is wrong.
    is_slow: bool,
    /// No fixer can be begun: there is no place for one.
    is_full: bool,
    /// What trains ask for is not done.
    is_blocked: bool,
    /// What fixers left cannot be removed.
    is_sticky: bool,
    /// Nothing is done by itself.
    is_manual: bool,
    suites: u64,
    requests: u64,
}

fn failure(kind: EffectFailureKind) -> EffectFailure {
    EffectFailure { reason: "it did not succeed".to_owned(), kind, retry_at: None }
}

impl Bench {
    /// Pull requests 1, 2, …, each on the one named, 0 being the default branch; the ratchet is on.
    fn new(on: &[u64]) -> Self {
        Self::with(on, |_| {})
    }

    fn one() -> Self {
        Self::new(&[0])
    }

    fn with(on: &[u64], how: impl FnOnce(&mut workspace::Settings)) -> Self {
        let hub = Hub::new(on);
        let mut worker = hub.worker();
        worker.settings.ratchet = workspace::Settings { enabled: true, has_fixer: true, ..worker.settings.ratchet };
        how(&mut worker.settings.ratchet);
        let script = |number: &u64| {
            let script = Script {
                merge: MergeState::Clean,
                review: None,
                ci: BTreeMap::new(),
                points: Vec::new(),
                said: 0,
                labels: BTreeSet::new(),
                fork: false,
                gone: false,
                signature: None,
                diagnosis: None,
                fixer: Fixer::Works,
                way: Way::Lands,
                files: vec!["src/lib.rs".to_owned()],
            };
            (*number, script)
        };
        let mut bench = Self {
            scripts: hub.pulls.keys().map(script).collect(),
            hub,
            worker,
            under_way: BTreeMap::new(),
            asked: Vec::new(),
            cancels: Vec::new(),
            glimpses: BTreeMap::new(),
            is_deaf: false,
            is_slow: false,
            is_full: false,
            is_blocked: false,
            is_sticky: false,
            is_manual: false,
            suites: 0,
            requests: 0,
        };
        bench.wait(1);
        bench
    }

    /// With a failure of CI that a fixer is at work on.
    fn fixing() -> Self {
        let mut bench = Self::one();
        bench.ci(1, CheckConclusion::Failed);
        bench.beat();
        assert_eq!(bench.shown(1), (WorkspaceStatus::FixingCi, WorkspaceReason::CiFailed));
        bench
    }

    // ── What happens ──

    fn script(&mut self, number: u64) -> &mut Script {
        self.scripts.get_mut(&number).expect("a pull request of the test")
    }

    fn fixer(&mut self, number: u64, fixer: Fixer) {
        self.script(number).fixer = fixer;
    }

    /// A new run of CI begins on the head.
    fn ci_begins(&mut self, number: u64) {
        self.suites += 1;
        let began = Some(at(self.worker.clock));
        let suites = BTreeMap::from([(CheckSuiteId::new(self.suites), CiProgress::UnderWay)]);
        let head = self.hub.pulls[&number].head.clone();
        self.script(number).ci.insert(head, CiFacts { suites, began, ..CiFacts::default() });
    }

    fn ci_ends(&mut self, number: u64, verdict: CheckConclusion) {
        let head = self.hub.pulls[&number].head.clone();
        let ci = self.script(number).ci.get_mut(&head).expect("it has begun");
        ci.suites.values_mut().for_each(|progress| *progress = CiProgress::Complete);
        ci.checks.insert("build".to_owned(), Check { verdict, required: false });
    }

    /// A new run of CI, from its beginning to its end.
    fn ci(&mut self, number: u64, verdict: CheckConclusion) {
        self.ci_begins(number);
        self.ci_ends(number, verdict);
    }

    /// A reviewer wants something, or edits what they wanted.
    fn says(&mut self, number: u64, point: &str) {
        let said_at = at(self.worker.clock);
        let script = self.script(number);
        script.said += 1;
        script.points.retain(|known| known.id != point);
        script.points.push(ReviewerRequest { id: point.to_owned(), said_at });
    }

    fn resolves(&mut self, number: u64, point: &str) {
        let script = self.script(number);
        script.said += 1;
        script.points.retain(|known| known.id != point);
    }

    /// Somebody pushes, and GitHub tells of it.
    fn pushes(&mut self, number: u64) {
        self.worker.clock += 1;
        self.hub.push(number);
        self.tells(number, "synchronize");
    }

    fn closes(&mut self, number: u64) {
        self.hub.edit(number, |pull| pull.closed = true);
        self.tells(number, "closed");
    }

    /// GitHub tells what the pull request is like.
    fn tells(&mut self, number: u64, action: &str) {
        self.worker.clock += 1;
        let facts = self.facts(number);
        let plan = self.worker.pull_event(action, facts);
        self.take(plan);
        self.settle();
    }

    fn labels(&mut self, number: u64, labels: &[&str]) {
        self.script(number).labels = labels.iter().map(|&label| label.to_owned()).collect();
        self.tells(number, "labeled");
    }

    fn ask(&mut self, request: Request) -> Result<(), String> {
        self.requests += 1;
        let key = Key::api("ops", &self.requests.to_string()).unwrap();
        let plan = self.feed(&Input::Asked { key, request });
        let refusal = plan.events.into_iter().find_map(|event| match event {
            Event::Commands(CommandsEvent::RequestProcessed { refusal, .. }) => Some(refusal),
            _ => None,
        });
        self.settle();
        refusal.expect("an answer").map_or(Ok(()), Err)
    }

    fn toggle(&mut self, number: impl Into<Option<u64>>, on: bool) -> Result<(), String> {
        self.ask(Request::Ratchet { pr: number.into().map(pr), on, behest: Attribution::default() })
    }

    fn session(&mut self, number: u64, session: &str, idle: bool) {
        let session = session.to_owned();
        self.ask(Request::Session { pr: pr(number), session, idle, by: None, again: false }).unwrap();
    }

    fn session_ends(&mut self, number: u64, session: &str) {
        let session = session.to_owned();
        self.ask(Request::EndSession { pr: pr(number), session, exit_code: Some(0) }).unwrap();
    }

    fn decides(&mut self, number: u64, decision: Decision) -> Result<(), String> {
        let at = self.fix(number).at;
        let (by, reason) = (Some("api:ops".to_owned()), Some("so".to_owned()));
        let behest = Attribution { by, reason, decision: Some(decision), delivery: None };
        self.ask(Request::DecideFix { pr: pr(number), at, behest })
    }

    fn stops_fixer(&mut self, number: u64) -> Result<(), String> {
        let at = self.fix(number).at;
        self.ask(Request::StopFix { pr: pr(number), at, behest: Attribution::default() })
    }

    /// A heartbeat, as the daemon does it: whose glance shows something else is looked at. Tells which.
    fn beat(&mut self) -> Vec<u64> {
        let numbers: Vec<u64> = self.scripts.keys().copied().collect();
        let candidates = numbers
            .into_iter()
            .filter(|number| candidate(&self.worker.state, pr(*number), &self.worker.settings))
            .map(|number| (number, self.glance(number)));
        let differs = |(number, glance): &(u64, HeartbeatFacts)| {
            self.glimpses.get(number).is_none_or(|known| known.differs_from(glance))
        };
        let news: Vec<(u64, HeartbeatFacts)> = candidates.filter(differs).collect();
        if !news.is_empty() {
            let prs = news.iter().map(|(number, _)| pr(*number)).collect();
            self.ask(Request::LookAt { prs }).unwrap();
        }
        let looked_at = |(number, glance): (u64, HeartbeatFacts)| {
            self.glimpses.insert(number, HeartbeatFingerprint::of(&glance.merge, &glance.talk));
            number
        };
        news.into_iter().map(looked_at).collect()
    }

    /// Somebody starts a train.
    fn starts(&mut self, root: u64) {
        self.requests += 1;
        let (now, id) = (at(self.worker.clock), 7_000 + self.requests);
        let said = CommentFacts { created_at: now, updated_at: now, ..comment(root, id, "@merge-train start") };
        self.hub.said.push(said.clone());
        let plan = self.worker.comment_event(CommentChange::Created, said);
        self.take(plan);
        self.settle();
    }

    // ── The machinery ──

    fn feed(&mut self, input: &Input) -> Plan {
        let plan = self.worker.feed(input);
        self.take(plan)
    }

    /// Begins what is to be done, once all that must hold was looked at.
    fn take(&mut self, plan: Plan) -> Plan {
        self.check(&plan);
        for served in &plan.cancels {
            self.under_way.remove(&served.work());
        }
        self.cancels.extend(plan.cancels.iter().copied());
        let now = at(self.worker.clock);
        for effect in &plan.effects {
            if !self.under_way.contains_key(&effect.key()) {
                self.asked.push(effect.clone());
            }
            let (known, _) = self.under_way.entry(effect.key()).or_insert((effect.clone(), now));
            if let (
                Effect::Ratchet(RatchetEffect::Fix { at: first, .. }),
                Effect::Ratchet(RatchetEffect::Fix { at: second, .. }),
            ) = (known, effect)
            {
                assert_eq!(first, second, "another fixer is at work on it");
            }
        }
        plan
    }

    fn check(&self, plan: &Plan) {
        let state = &self.worker.state;
        for event in &plan.events {
            let line = serde_json::to_string(event).unwrap();
            assert_eq!(&serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
        }
        let position = Position { generation: 1, next_seq: 1, taken_at: at(self.worker.clock) };
        let json = serde_json::to_string(&Snapshot::of(state, position)).unwrap();
        assert_eq!(&serde_json::from_str::<Snapshot>(&json).unwrap().restore(), state, "a snapshot holds all of it");
        // What cannot be undone was written down before it is asked for.
        for effect in &plan.effects {
            let phase = |pr: &PrNumber, sent: &Timestamp| {
                let fix = state.workspaces.get(pr).and_then(|workspace| workspace.fix.as_ref());
                fix.filter(|fix| fix.at == *sent).map(|fix| &fix.phase)
            };
            match effect {
                Effect::Ratchet(RatchetEffect::Fix { pr, at, .. }) => {
                    assert!(matches!(phase(pr, at), Some(FixPhase::Queued | FixPhase::Running)), "{effect:?}");
                }
                Effect::Ratchet(RatchetEffect::Forward { pr, at, push, doubted, .. }) => {
                    let Some(FixPhase::Pushing { push: intended, doubted: is_doubted, hopeless }) = phase(pr, at)
                    else {
                        panic!("it was not intended: {effect:?}");
                    };
                    assert_eq!((intended, is_doubted), (push, doubted), "{effect:?}");
                    assert!(hopeless.is_none() || *doubted, "what is in vain is not pushed again");
                }
                _ => {}
            }
        }
        let keys: Vec<EffectKey> = plan.effects.iter().map(Effect::key).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{:?}", plan.effects);
        for (pr, workspace) in &state.workspaces {
            assert!(workspace.attempts <= self.worker.settings.ratchet.max_attempts, "#{pr} had too many fixers");
            assert!(workspace.fix.is_none() || !pushed_to_by_a_train(state, *pr), "#{pr} has two owners: {state:#?}");
        }
    }

    /// Does everything that is under way, but for what hangs.
    fn settle(&mut self) {
        for _ in 0..5_000 {
            let next = self.under_way.keys().copied().find(|key| !self.hangs(*key));
            let Some(key) = next.filter(|_| !self.is_manual) else { return };
            self.answer(key);
        }
        panic!("it never settles: {:#?}", self.under_way.values());
    }

    /// Goes on, one thing after the other, until it is as asked for.
    fn until(&mut self, what: impl Fn(&Self) -> bool) {
        for _ in 0..2_000 {
            if what(self) {
                return;
            }
            let next = self.under_way.keys().copied().find(|key| !self.hangs(*key));
            match next {
                Some(key) => self.answer(key),
                None => self.tick_by_hand(),
            }
        }
        panic!("it never comes to that: {:#?}", self.worker.state.active_trains);
    }

    fn tick_by_hand(&mut self) {
        self.is_manual = true;
        self.tick();
        self.is_manual = false;
    }

    fn hangs(&self, key: EffectKey) -> bool {
        match &self.under_way[&key].0 {
            Effect::Ratchet(RatchetEffect::Fix { pr, .. }) => {
                let is_running =
                    matches!(self.worker.state.workspaces[pr].fix, Some(Fix { phase: FixPhase::Running, .. }));
                self.is_full || (is_running && self.scripts[&pr.get()].fixer == Fixer::Works)
            }
            Effect::Ratchet(RatchetEffect::Forward { pr, .. }) => self.scripts[&pr.get()].way == Way::Hangs,
            Effect::Ratchet(RatchetEffect::Diagnose { .. }) => self.is_slow,
            Effect::Trains(TrainsEffect::Work { .. }) => self.is_blocked,
            _ => false,
        }
    }

    /// One thing that is under way comes to its end.
    fn answer(&mut self, key: EffectKey) {
        let (effect, asked_at) = self.under_way[&key].clone();
        self.worker.clock += 1;
        if let Effect::Ratchet(RatchetEffect::Fix { pr, at, .. }) = &effect {
            let script = self.scripts[&pr.get()].fixer;
            let phase = self.worker.state.workspaces.get(pr).and_then(|it| it.fix.as_ref()).map(|fix| &fix.phase);
            if phase == Some(&FixPhase::Queued) && !matches!(script, Fixer::Stumbles | Fixer::Breaks) {
                self.feed(&Input::FixStarted { pr: *pr, at: *at });
            }
            if script == Fixer::Works {
                return;
            }
        }
        self.under_way.remove(&key);
        let input = self.perform(&effect, asked_at);
        self.feed(&input);
    }

    /// Time goes by, and nothing else happens.
    fn wait(&mut self, seconds: i64) {
        self.worker.clock += seconds;
        self.feed(&Input::Tick);
        self.settle();
    }

    /// Time goes by until the worker wants to be woken.
    fn tick(&mut self) {
        let now = at(self.worker.clock);
        let wake = next_wake(&self.worker.state, &self.worker.settings, now);
        self.wait(wake.map_or(1, |at| at.duration_since(now).as_secs().max(1)));
    }

    /// The process dies, with everything that was under way; the next one has the log.
    fn crash(&mut self) -> Plan {
        self.under_way.clear();
        let mut state = RepoState::default();
        for RecordedEvent { ts, event, .. } in &self.worker.log {
            let line = serde_json::to_string(event).unwrap();
            apply(&mut state, &serde_json::from_str(&line).unwrap(), *ts);
        }
        assert_eq!(state, self.worker.state, "what is replayed is what was there");
        self.worker.clock += 1;
        self.feed(&Input::Resume)
    }

    // ── What there is to see ──

    fn workspace(&self, number: u64) -> &Workspace {
        self.worker.state.workspaces.get(&pr(number)).expect("a workspace")
    }

    fn fix(&self, number: u64) -> &Fix {
        self.workspace(number).fix.as_ref().expect("a fixer is sent")
    }

    fn shown(&self, number: u64) -> (WorkspaceStatus, WorkspaceReason) {
        let workspace = self.workspace(number);
        (workspace.status, workspace.reason)
    }

    fn activity(&self, number: u64) -> &str {
        self.workspace(number).activity.as_deref().unwrap_or("-")
    }

    fn attempts(&self, number: u64) -> u32 {
        self.workspace(number).attempts
    }

    /// What the log has about a workspace.
    fn events(&self, number: u64) -> Vec<workspace::Event> {
        let about = |line: &RecordedEvent| match &line.event {
            Event::Ratchet(event) if event.pr() == Some(pr(number)) => Some(event.clone()),
            _ => None,
        };
        self.worker.log.iter().filter_map(about).collect()
    }

    /// The transition log.
    fn moves(&self, number: u64) -> Vec<(TransitionLogAction, WorkspaceStatus, WorkspaceReason)> {
        let moves = self.events(number).into_iter().filter_map(|event| match event {
            workspace::Event::RatchetMoved { action, status, reason, .. } => Some((action, status, reason)),
            _ => None,
        });
        moves.collect()
    }

    /// How many fixers were sent.
    fn sent(&self, number: u64) -> usize {
        let is_sent = |event: &workspace::Event| matches!(event, workspace::Event::FixDispatched { .. });
        self.events(number).iter().filter(|event| is_sent(event)).count()
    }

    fn times(&self, what: &str) -> usize {
        self.asked.iter().filter(|effect| effect.name() == what).count()
    }

    /// What the bot said about the ratchet.
    fn told(&self, number: u64) -> Vec<String> {
        let said = self.worker.log.iter().filter_map(|line| match &line.event {
            Event::Outbox(OutboxEvent::NoteOwed { pr: there, say: NoteContent::Comment { body }, .. })
                if *there == pr(number) =>
            {
                Some(body.clone())
            }
            _ => None,
        });
        said.filter(|body| body.starts_with("**Ratchet**")).collect()
    }

    fn settings(&mut self) -> &mut workspace::Settings {
        &mut self.worker.settings.ratchet
    }
}

/// Whether a train may push to the branch of a pull request, or land it, in this moment.
fn pushed_to_by_a_train(state: &RepoState, pr: PrNumber) -> bool {
    let is_named = state.active_trains.values().any(|train| {
        let phase = &train.cascade_phase;
        let is_its = train.current_pr == pr || phase.frozen_descendants().contains(&pr);
        is_live(train.state) && *phase != CascadePhase::Idle && is_its
    });
    let is_intended = state.details.values().any(|detail| match detail.intent.as_ref().map(|intent| &intent.what) {
        Some(IntendedAction::Push(push)) => push.pull == pr,
        _ => false,
    });
    is_named || is_intended
}

const MINUTE: i64 = 60;
const DAY: i64 = 24 * 60 * 60;
