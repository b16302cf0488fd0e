//! The storm itself: one step at a time, each drawn from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use git::Git;
use merge_train_core::repo::{self, EffectKey, Input};
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use store::Admission;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::super::super::OutsideWorld;
use super::super::super::session::{AtHand, Occasion, Session, Subject as _};
use super::super::super::workers::WorkerWakeup;
use super::super::Repository;
use super::daemon::{Daemon, arrival, first_look, repo, state};
use super::deeds::{Crew, Deed};
use super::forecast::Forecast;
use super::gate::Stage;
use super::history::History;
use super::hub::{GRAIN_MS, Hub, text};

/// What was done, in words, for whoever has to find out why it went wrong.
pub type Trace = Arc<Mutex<Vec<String>>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The webhook at this place in the bag.
    Mail(usize, Fate),
    /// All webhooks that are under way, in their order.
    AllMail,
    /// The worker looks into its inbox.
    Inbox,
    Begin(EffectKey),
    Answer(EffectKey),
    /// The daemon hears that it failed, although it was done, or before it was.
    Fail(EffectKey),
    /// The time that the worker waits for comes.
    Tick,
    Wait(i64),
    Deed(Deed),
    Weather(usize),
    ClearSky,
    Compact,
    Kill,
    /// The process dies, and its disk with it.
    LoseEverything,
    /// The process dies in the middle of this, after so many exchanges with GitHub.
    KillDuring(EffectKey, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    ArrivesTwice,
    IsLost,
}

impl Step {
    /// What it is to whoever counts.
    fn kind(self) -> String {
        let text = match self {
            Self::Mail(_, fate) => format!("{fate:?}"),
            Self::Deed(deed) => format!("{deed:?}"),
            step => format!("{step:?}"),
        };
        text.split('(').next().unwrap_or_default().to_owned()
    }
}

/// How a process ended.
#[derive(PartialEq)]
enum End {
    Killed,
    Lost,
    StormIsOver,
}

/// What came of a seed.
pub struct Seen {
    pub squashes: usize,
    pub lives: usize,
    pub steps: usize,
    pub starts: usize,
    /// What is left open, and why.
    pub left: Vec<String>,
    /// Every event in the log.
    pub events: Vec<String>,
    /// How often each kind of step was taken.
    pub kinds: BTreeMap<String, usize>,
}

pub struct Storm {
    pub(super) rng: Rng,
    pub(super) hub: Hub,
    pub(super) crew: Crew,
    pub(super) history: History,
    pub(super) forecast: Forecast,
    git: Git,
    /// Webhooks that are under way.
    pub(super) mail: Vec<Value>,
    /// Those that the daemon has acknowledged.
    pub(super) admitted: BTreeSet<String>,
    inbox_waits: bool,
    /// Nothing is known any more.
    is_lost: bool,
    trace: Trace,
    lives: usize,
    steps: usize,
    kinds: BTreeMap<String, usize>,
    bell: WorkerWakeup,
}

impl Storm {
    pub async fn brew(seed: u64, git: Git, trace: Trace) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let forecast = Forecast::of(&mut rng);
        let mut hub = Hub::new(seed).await;
        let crew = Crew::gather(&mut hub, &forecast).await;
        let history = History::new(&hub, crew.branches(), forecast.rules.ci).await;
        let mail = hub.deliveries().await;
        trace.lock().push(format!(
            "{}, {:?}, {:?}, conflict: {}",
            forecast.shape_name(),
            forecast.rules,
            forecast.temper,
            forecast.conflict.is_some()
        ));
        Self {
            rng,
            hub,
            crew,
            history,
            forecast,
            git,
            mail,
            admitted: BTreeSet::new(),
            inbox_waits: false,
            is_lost: false,
            trace,
            lives: 0,
            steps: 0,
            kinds: BTreeMap::new(),
            bell: WorkerWakeup::default(),
        }
    }

    /// Lets it pass, and holds what must hold during and after it.
    pub async fn pass(mut self) -> Seen {
        loop {
            let daemon = Daemon::start(&self.hub, &self.git, self.lives).await;
            self.lives += 1;
            let end = self.live(&daemon).await;
            daemon.die().await;
            if end == End::Lost {
                self.lose_everything();
            }
            if end == End::StormIsOver {
                let daemon = Daemon::start(&self.hub, &self.git, self.lives).await;
                let seen = self.aftermath(&daemon).await;
                daemon.die().await;
                return seen;
            }
        }
    }

    async fn live(&mut self, daemon: &Daemon) -> End {
        let mut session = self.open(daemon).await;
        if self.lives == 1 {
            // Most storms break when everything is known, so that they strike the train and not what comes before it.
            if self.rng.u8(0..4) > 0 {
                self.work_off(&mut session, daemon).await;
            }
            self.hub.says(self.crew.numbers[0], "@merge-train start").await;
            self.look(&session).await;
        }
        while self.steps < self.forecast.steps {
            self.steps += 1;
            let step = self.draw(&session, daemon);
            match self.take(&mut session, daemon, step).await {
                End::StormIsOver => {}
                end => return end,
            }
        }
        End::StormIsOver
    }

    /// Begins where the one before left off.
    pub(super) async fn open<'a>(&mut self, daemon: &'a Daemon) -> Session<'a, Repository> {
        if std::mem::take(&mut self.is_lost) {
            daemon.shared.store.admit(first_look(&self.hub)).await.expect("the store works");
        }
        let session = Session::<Repository>::open(&daemon.shared, &repo()).await.expect("nobody else holds it");
        let mut session = session.expect("a stream is made where there is none");
        self.history.compare(&session.subject.state);
        session.feed(vec![Input::Resume.into()], AtHand::More).await.expect("the store works");
        self.inbox_waits = true;
        self.look(&session).await;
        session
    }

    /// What is left is what GitHub remembers.
    fn lose_everything(&mut self) {
        for folder in [state(&self.hub), self.hub.dir.path().join("clones")] {
            let _ = std::fs::remove_dir_all(folder);
        }
        self.admitted.clear();
        self.history.forget_records();
        // A train that nothing is known of any more may have to be looked at by somebody.
        self.crew.meddled = true;
        self.is_lost = true;
    }

    fn draw(&mut self, session: &Session<'_, Repository>, daemon: &Daemon) -> Step {
        let mut choices: Vec<(u32, Step)> = Vec::new();
        if !self.mail.is_empty() {
            let any = self.rng.usize(..self.mail.len());
            choices.push((140, Step::Mail(0, Fate::Arrives)));
            choices.push((30, Step::Mail(any, Fate::Arrives)));
            choices.push((10, Step::Mail(any, Fate::ArrivesTwice)));
            choices.push((10, Step::Mail(any, Fate::IsLost)));
            choices.push((60, Step::AllMail));
        }
        if self.inbox_waits {
            choices.push((140, Step::Inbox));
        }
        for (key, stage) in daemon.gate.under_way() {
            match stage {
                Stage::Asked => {
                    choices.extend([(120, Step::Begin(key)), (8, Step::Fail(key))]);
                    choices.push((6, Step::KillDuring(key, self.rng.u64(1..6))));
                }
                Stage::Done => choices.extend([(120, Step::Answer(key)), (8, Step::Fail(key))]),
                Stage::CalledOff => choices.push((80, Step::Answer(key))),
            }
        }
        if repo::next_wake(&session.subject.state, &session.subject.settings, session.subject.last_tick).is_some() {
            choices.push((40, Step::Tick));
        }
        choices.push((20, Step::Wait(GRAIN_MS * self.rng.i64(1..40))));
        choices.push((50, Step::Deed(self.crew.draw(&mut self.rng, self.forecast.temper))));
        choices.push((15, Step::Weather(self.rng.usize(..WEATHER.len()))));
        choices.extend([(15, Step::ClearSky), (8, Step::Compact), (15, Step::Kill), (2, Step::LoseEverything)]);
        let all: u32 = choices.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.rng.u32(..all);
        for (weight, step) in choices {
            match drawn.checked_sub(weight) {
                Some(left) => drawn = left,
                None => return step,
            }
        }
        unreachable!("the weights add up")
    }

    async fn take(&mut self, session: &mut Session<'_, Repository>, daemon: &Daemon, step: Step) -> End {
        self.note(&format!("{step:?}"));
        *self.kinds.entry(step.kind()).or_default() += 1;
        match step {
            Step::Mail(at, fate) => self.carry(daemon, at, fate).await,
            Step::AllMail => {
                while !self.mail.is_empty() {
                    self.deliver(daemon, 0).await;
                }
            }
            Step::Inbox => self.open_inbox(session).await,
            Step::Begin(key) => self.begin(daemon, key).await,
            Step::Answer(key) => {
                daemon.gate.answer(key);
                self.hear(session).await;
            }
            Step::Fail(key) => {
                daemon.gate.fail(key);
                self.hear(session).await;
            }
            Step::Tick => self.tick(session).await,
            Step::Wait(ms) => self.hub.pass(ms).await,
            Step::Deed(deed) => self.crew.perform(&mut self.hub, &mut self.history, deed).await,
            Step::Weather(which) => {
                let mut fault: Value = serde_json::from_str(WEATHER[which]).expect("JSON");
                fault["count"] = Value::Null;
                self.hub.control(Method::POST, "/faults", fault).await;
            }
            Step::ClearSky => drop(self.hub.control(Method::DELETE, "/faults", Value::Null).await),
            Step::Compact => Repository::tidy_up(session, Occasion::AtTheEnd).await.expect("the store works"),
            Step::Kill => return End::Killed,
            Step::LoseEverything => return End::Lost,
            Step::KillDuring(key, nth) => {
                self.begin_and_break_off(daemon, key, nth).await;
                self.look(session).await;
                return End::Killed;
            }
        }
        Repository::tidy_up(session, Occasion::IfDue).await.expect("the store works");
        self.look(session).await;
        // Everything takes its time.
        self.hub.pass(GRAIN_MS).await;
        End::StormIsOver
    }

    pub(super) fn note(&self, what: &str) {
        let mut trace = self.trace.lock();
        let (at, life) = (self.hub.time.now(), self.lives);
        trace.push(format!("{at} life {life}: {what}"));
    }

    /// A webhook gets to the daemon, or not.
    pub(super) async fn deliver(&mut self, daemon: &Daemon, at: usize) {
        self.carry(daemon, at, Fate::Arrives).await;
    }

    async fn carry(&mut self, daemon: &Daemon, at: usize, fate: Fate) {
        let delivery = match fate {
            Fate::ArrivesTwice => self.mail[at].clone(),
            Fate::Arrives | Fate::IsLost => self.mail.remove(at),
        };
        let (event, action) = (text(&delivery["event"]), &delivery["action"]);
        let number = [&delivery["payload"]["number"], &delivery["payload"]["issue"]["number"]];
        self.note(&format!("    {event} {action} of {number:?}"));
        let Some(arrival) = arrival(&self.hub, &delivery).filter(|_| fate != Fate::IsLost) else { return };
        let admission = daemon.shared.store.admit(arrival).await.expect("the store works");
        if admission == Admission::Accepted {
            self.admitted.insert(text(&delivery["guid"]).to_owned());
            self.inbox_waits = true;
        }
    }

    pub(super) async fn open_inbox(&mut self, session: &mut Session<'_, Repository>) {
        self.inbox_waits = false;
        session.work_off_inbox(&self.bell).await.expect("the store works");
    }

    pub(super) async fn begin(&mut self, daemon: &Daemon, key: EffectKey) {
        let (effect, requested_at) = daemon.gate.asked(key);
        self.note(&format!("    {effect:?}"));
        let result = daemon
            .github
            .perform(&repo(), effect, requested_at, CancellationToken::new(), &unbounded_channel().0)
            .await;
        self.note(&format!("    {result:?}"));
        daemon.gate.done(key, result);
    }

    /// GitHub does not answer any more after some exchanges, and nobody hears what came of it.
    async fn begin_and_break_off(&mut self, daemon: &Daemon, key: EffectKey, nth: u64) {
        let fault = json!({ "kind": "status", "status": 503, "count": null, "match": { "nth": nth } });
        let fault = self.hub.control(Method::POST, "/faults", fault).await["id"].clone();
        self.begin(daemon, key).await;
        self.hub.control(Method::DELETE, &format!("/faults/{fault}"), Value::Null).await;
    }

    /// The one result that is there is fed back.
    pub(super) async fn hear(&mut self, session: &mut Session<'_, Repository>) {
        let result = session.subject.under_way.next().await;
        session.feed(vec![result.into()], AtHand::Nothing).await.expect("the store works");
    }

    pub(super) async fn tick(&mut self, session: &mut Session<'_, Repository>) {
        let wake = repo::next_wake(&session.subject.state, &session.subject.settings, session.subject.last_tick);
        let late = wake.map_or(0, |at| at.as_millisecond() - self.hub.time.ms()).max(0);
        self.hub.pass((late + GRAIN_MS - 1) / GRAIN_MS * GRAIN_MS).await;
        session.subject.last_tick = session.now();
        session.feed(vec![Input::Tick.into()], AtHand::Nothing).await.expect("the store works");
    }

    /// Holds what must hold at every moment, and picks up what GitHub has to tell.
    pub(super) async fn look(&mut self, session: &Session<'_, Repository>) {
        // What was just asked for gets to the gate.
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        self.history.compare(&session.subject.state);
        for delivery in self.hub.deliveries().await {
            self.history.observe(&self.hub, &delivery).await;
            self.mail.push(delivery);
        }
    }

    pub(super) fn seen(self, starts: usize, left: Vec<String>, events: Vec<String>) -> (Hub, Seen) {
        let (squashes, lives, steps) = (self.history.squashes, self.lives, self.steps);
        (self.hub, Seen { squashes, lives, steps, starts, left, events, kinds: self.kinds })
    }
}

/// What can go wrong for a while. What git does is spared none of it.
const WEATHER: [&str; 9] = [
    r#"{ "kind": "status", "status": 502, "match": { "path": "/repos/octocat/hello*", "probability": 0.3 } }"#,
    r#"{ "kind": "status", "status": 500, "match": { "path": "*graphql", "probability": 0.5 } }"#,
    r#"{ "kind": "lose_response", "match": { "path": "/repos/octocat/hello*", "probability": 0.3 } }"#,
    r#"{ "kind": "lose_response", "match": { "path": "*graphql", "probability": 0.3 } }"#,
    r#"{ "kind": "truncate", "match": { "path": "/repos/octocat/hello*", "probability": 0.2 } }"#,
    r#"{ "kind": "status", "status": 503, "match": { "path": "/octocat/hello.git/*", "probability": 0.3 } }"#,
    r#"{ "kind": "lose_response", "match": { "path": "/octocat/hello.git/*", "probability": 0.3 } }"#,
    r#"{ "kind": "lag_merge_state", "ms": 3000, "match": { "repository": "octocat/hello", "probability": 0.7 } }"#,
    r#"{ "kind": "lag_merge_commit_sha", "ms": 5000, "match": { "repository": "octocat/hello", "probability": 0.7 } }"#,
];
