//! One life of a repository and its trains, with as many deaths of the daemon in it as are wanted.

use std::time::{Duration, Instant};

use crate::crashes::case::{Case, Crashes, armed};
use crate::crashes::person::Person;
use crate::crashes::place::{Place, Template};
use crate::crashes::scenario::Scenario;
use crate::crashes::verify::{Records, Seen};

/// Long enough for a machine under load.
const PATIENCE: Duration = Duration::from_secs(240);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Every so many looks, what GitHub could not deliver is sent again.
const REDELIVER_EVERY: u32 = 10;

/// A crash that is to be: a case, and where in the run without a crash it would be.
#[derive(Clone)]
pub struct Death {
    pub case: Case,
    /// The index of the point in `Reference::passed`.
    pub at: usize,
}

/// What a scenario is like without a crash.
pub struct Reference {
    pub template: Template,
    /// Every point, in the order in which they were reached.
    pub passed: Vec<String>,
    pub seen: Seen,
}

impl Reference {
    pub async fn of(scenario: Scenario) -> Self {
        let template = scenario.template().await;
        let mut life = Life::new(&template, &[], scenario, Vec::new()).await;
        life.live().await;
        let seen = Seen::of(&life.place, scenario, &mut life.records).await;
        let passed = life.place.passed();
        life.place.stop_sim().await;
        Self { template, passed, seen }
    }

    /// The place of a case in this run.
    pub fn death(&self, case: Case) -> Option<Death> {
        let mut times = self.passed.iter().enumerate().filter(|(_, point)| **point == case.point);
        let (at, _) = times.nth(case.nth - 1)?;
        Some(Death { case, at })
    }
}

/// How a life went.
pub struct Lived {
    /// The cases that were not reached this time.
    pub missed: Vec<Case>,
    /// Points that were reached in recoveries, each with the case that led there.
    pub recovery: Vec<(String, Case)>,
}

/// Lets the daemon die all these deaths in one life, in whatever order they come, and holds what must hold of it.
pub async fn live(reference: &Reference, scenario: Scenario, deaths: &[Death]) -> Lived {
    let mut life = Life::new(&reference.template, &reference.passed, scenario, deaths.to_vec()).await;
    life.live().await;
    let seen = Seen::of(&life.place, scenario, &mut life.records).await;
    seen.expect_like(&reference.seen, scenario);
    let lived = Lived { missed: life.missed(), recovery: life.recovery };
    life.place.stop_sim().await;
    lived
}

/// A first crash, and one at a point that is reached only in recoveries.
pub async fn live_through_recovery(reference: &Reference, first: &Case, second: &str) -> Lived {
    let death = reference.death(first.clone()).expect("a case of this reference");
    let mut life = Life::new(&reference.template, &reference.passed, first.scenario, vec![death]).await;
    life.then = Some(armed(second, 1));
    life.live().await;
    let seen = Seen::of(&life.place, first.scenario, &mut life.records).await;
    seen.expect_like(&reference.seen, first.scenario);
    let reached = life.place.deaths().iter().any(|point| point == second);
    let missed = if reached { Vec::new() } else { vec![first.clone()] };
    life.place.stop_sim().await;
    Lived { missed, recovery: Vec::new() }
}

struct Life<'a> {
    place: Place,
    person: Person,
    passed: &'a [String],
    /// What is still to come.
    deaths: Vec<Death>,
    /// Where in the run without a crash the last death was.
    since: usize,
    /// The second crash that is due, and its case.
    second: Option<Case>,
    /// How the daemon after the first death is armed, where it is not for the case to say.
    then: Option<String>,
    /// The case of the last death.
    last: Option<Case>,
    recovery: Vec<(String, Case)>,
    records: Records,
    until: Instant,
}

impl<'a> Life<'a> {
    async fn new(template: &Template, passed: &'a [String], scenario: Scenario, deaths: Vec<Death>) -> Self {
        Self {
            place: Place::from(template).await,
            person: Person::of(scenario),
            passed,
            deaths,
            since: 0,
            second: None,
            then: None,
            last: None,
            recovery: Vec::new(),
            records: Records::default(),
            until: Instant::now() + PATIENCE,
        }
    }

    /// From the first start to an end in good order.
    async fn live(&mut self) {
        loop {
            let armed = self.arming();
            let (before, deaths) = (self.place.passed().len(), self.place.deaths().len());
            let lives = self.place.start_daemon(&armed).await.is_some();
            let ended_well = lives && self.content().await && self.place.stop_daemon().await;
            if let Some(case) = &self.last {
                let since = self.place.passed().split_off(before);
                self.recovery.extend(since.into_iter().map(|point| (point, case.clone())));
            }
            if ended_well {
                return;
            }
            self.place.bury();
            let died_at = self.place.deaths().split_off(deaths);
            assert!(!died_at.is_empty(), "it ended by itself:\n{}", self.place.log());
            self.records.after_a_crash(&self.place).await;
            self.died(&died_at);
        }
    }

    /// Where the next daemon is to die: at the second crash of a case, or at whatever is still to come, each as often passed
    /// from here on as in the run without a crash.
    fn arming(&mut self) -> String {
        if let Some(case) = &self.second {
            return self.then.take().unwrap_or_else(|| case.second());
        }
        let from_here = |death: &Death| {
            let between = self.passed.get(self.since..=death.at).unwrap_or_default();
            between.iter().filter(|point| **point == death.case.point).count()
        };
        let all: Vec<String> = self.deaths.iter().map(|death| armed(&death.case.point, from_here(death))).collect();
        all.join(";")
    }

    /// Threads of one process can come to several points before it is gone.
    fn died(&mut self, points: &[String]) {
        if self.second.take().is_some() {
            return;
        }
        let left = self.deaths.len();
        for point in points {
            // Several can come to the same one.
            let Some(found) = self.deaths.iter().position(|death| death.case.point == *point) else { continue };
            if self.second.is_some() && self.deaths[found].case.crashes == Crashes::Twice {
                // One recovery is the end of one case; this has its turn later.
                continue;
            }
            let death = self.deaths.remove(found);
            self.since = self.since.max(death.at + 1);
            self.last = Some(death.case.clone());
            if death.case.crashes == Crashes::Twice || self.then.is_some() {
                self.second = Some(death.case);
            }
        }
        assert!(self.deaths.len() < left, "it died where it was not to: {points:?}");
    }

    fn missed(&self) -> Vec<Case> {
        let left = self.deaths.iter().map(|death| death.case.clone());
        left.chain(self.second.clone()).collect()
    }

    /// Whether the person got what they want, or else the daemon died.
    async fn content(&mut self) -> bool {
        let mut looks = 0;
        while self.place.is_daemon_alive() {
            if looks % REDELIVER_EVERY == 3 {
                self.place.redeliver().await;
            }
            looks += 1;
            let state = self.place.state().await;
            self.person.act(&self.place, &state).await;
            if self.person.is_content(&state) && self.place.all_told().await {
                if self.second.is_none() || looks > MOST_WORDS * REDELIVER_EVERY {
                    return true;
                }
                // There is nothing left to recover: something new has to happen if it is to die of that.
                self.person.greet(&self.place).await;
            }
            assert!(Instant::now() < self.until, "in vain: everything lands\n{state:#}\n{}", self.place.log());
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        false
    }
}

/// How long somebody goes on talking to a daemon that has nothing to do.
const MOST_WORDS: u32 = 10;
