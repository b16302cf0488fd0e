//! Every failpoint, every scenario, one crash or two.
//!
//! `make test` tries a sample: every failpoint in one of the scenarios that reach it. `make soak` tries every failpoint in every
//! scenario. In both, several of these deaths happen in one life, spread over it. `make matrix MATRIX=whole` gives each case a life of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::crashes::case::{Case, Crashes};
use crate::crashes::life::{Death, Lived, Reference, live, live_through_recovery};
use crate::crashes::scenario::Scenario;
use crate::crashes::table::{Outcome, Table};

/// So many lives at once: most of the time each waits for something.
const SIDE_BY_SIDE: usize = 6;
/// Deaths in one life.
const MOST_DEATHS: usize = 12;

const LEGEND: &str = "# Crash matrix\n\n\
    The daemon killed at each failpoint of each scenario: once / again during the recovery.\n\
    `·`: not tried: only a recovery comes by, or the sample has it in another scenario. `—`: not reached.\n\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_at_any_point_once_or_again_while_it_recovers_it_lands_everything_once() {
    let begun = Instant::now();
    let matrix = Arc::new(Matrix::begin(Extent::of_environment()).await);
    matrix.clone().try_all().await;
    matrix.clone().try_recoveries().await;
    let (table, failures) = (matrix.table.lock(), matrix.failures.lock());
    let (ok, missed) = (table.count(Outcome::Ok), table.count(Outcome::Missed));
    let (failed, took) = (table.count(Outcome::Failed), begun.elapsed().as_secs());
    let summary = format!("{ok} cases ok, {missed} not reached, {failed} failed, in {took} s.");
    println!("{}\n{summary}", table.markdown());
    if !matches!(matrix.extent, Extent::One(_)) {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("crash-matrix.md");
        std::fs::write(&path, format!("{LEGEND}{}\n{summary}\n", table.markdown())).expect("the table is written");
        println!("The table is in {}.", path.display());
    }
    assert!(failures.is_empty(), "MERGE_TRAIN_TEST_CASE=… tries one of them alone:\n{}", failures.join("\n\n"));
}

/// How much of the matrix.
#[derive(Clone, PartialEq, Eq)]
enum Extent {
    /// Every failpoint, in one of the scenarios that reach it; several deaths in one life.
    Sample,
    /// Every cell; several deaths in one life.
    Every,
    /// Every cell in a life of its own.
    Whole,
    One(Case),
}

impl Extent {
    fn of_environment() -> Self {
        if let Ok(name) = std::env::var("MERGE_TRAIN_TEST_CASE") {
            let case = Case::parse(&name);
            return Self::One(
                case.unwrap_or_else(|| panic!("MERGE_TRAIN_TEST_CASE={name} is not point#n/scenario/once")),
            );
        }
        match std::env::var("MERGE_TRAIN_TEST_MATRIX").as_deref() {
            Ok("whole") => Self::Whole,
            Ok("every") => Self::Every,
            Ok(other) => panic!("MERGE_TRAIN_TEST_MATRIX={other} is neither every nor whole"),
            Err(_) => Self::Sample,
        }
    }

    fn most_deaths(&self) -> usize {
        match self {
            Self::Sample | Self::Every => MOST_DEATHS,
            Self::Whole | Self::One(_) => 1,
        }
    }
}

/// For each point, one of the scenarios that reach it. They take turns, so that none is spared.
fn sample<'a>(reached: impl IntoIterator<Item = (&'a str, Scenario)>) -> BTreeSet<(String, Scenario)> {
    let mut scenarios: BTreeMap<&str, BTreeSet<Scenario>> = BTreeMap::new();
    for (point, scenario) in reached {
        scenarios.entry(point).or_default().insert(scenario);
    }
    let turn = |(turn, (point, scenarios)): (usize, (&str, BTreeSet<Scenario>))| {
        let scenario = scenarios.iter().nth(turn % scenarios.len()).expect("it was reached");
        (point.to_owned(), *scenario)
    };
    scenarios.into_iter().enumerate().map(turn).collect()
}

struct Matrix {
    extent: Extent,
    references: BTreeMap<Scenario, Reference>,
    /// The cells to try: points that the scenarios reach without a crash.
    cells: BTreeSet<(String, Scenario)>,
    room: Semaphore,
    table: Mutex<Table>,
    failures: Mutex<Vec<String>>,
    /// Points that only recoveries reach, with a case that leads to each.
    recovery: Mutex<BTreeMap<(String, Scenario), Case>>,
}

impl Matrix {
    /// Each scenario without a crash, to know what there is to be reached.
    async fn begin(extent: Extent) -> Self {
        let scenarios: Vec<Scenario> = match &extent {
            Extent::One(case) => vec![case.scenario],
            Extent::Sample | Extent::Every | Extent::Whole => Scenario::ALL.to_vec(),
        };
        let mut making: JoinSet<_> =
            scenarios.into_iter().map(|scenario| async move { (scenario, Reference::of(scenario).await) }).collect();
        let mut references = BTreeMap::new();
        while let Some(made) = making.join_next().await {
            references.extend([made.expect("a run without a crash succeeds")]);
        }
        let reached = references
            .iter()
            .flat_map(|(scenario, reference)| reference.passed.iter().map(|point| (point.as_str(), *scenario)));
        let cells = match extent {
            Extent::Sample => sample(reached),
            Extent::Every | Extent::Whole | Extent::One(_) => {
                reached.map(|(point, scenario)| (point.to_owned(), scenario)).collect()
            }
        };
        let (table, failures, recovery) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { extent, references, cells, room: Semaphore::new(SIDE_BY_SIDE), table, failures, recovery }
    }

    async fn try_all(self: Arc<Self>) {
        let mut lives = JoinSet::new();
        for (scenario, reference) in &self.references {
            let mut deaths = self.deaths(*scenario, reference);
            deaths.sort_by_key(|death| (death.case.crashes, death.at));
            let count = deaths.len().div_ceil(self.extent.most_deaths());
            for life in 0..count {
                // As far apart as can be.
                let own: Vec<Death> = deaths.iter().skip(life).step_by(count).cloned().collect();
                lives.spawn(self.clone().attempt(*scenario, own));
            }
        }
        while let Some(lived) = lives.join_next().await {
            lived.expect("what panics in it is caught");
        }
    }

    fn deaths(&self, scenario: Scenario, reference: &Reference) -> Vec<Death> {
        if let Extent::One(case) = &self.extent {
            return reference.death(case.clone()).into_iter().collect();
        }
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for point in &reference.passed {
            *times.entry(point).or_default() += 1;
            self.table.lock().reaches(point, scenario);
        }
        let wanted = times.into_iter().filter(|(point, _)| self.cells.contains(&((*point).to_owned(), scenario)));
        let cells = wanted.flat_map(|cell| Crashes::ALL.map(|crashes| (cell, crashes)));
        let cases = cells.map(|((point, times), crashes)| Case::new(point, times, scenario, crashes));
        cases.filter_map(|case| reference.death(case)).collect()
    }

    /// Several deaths in one life. Whatever goes wrong, and whatever was not reached, is tried again alone.
    async fn attempt(self: Arc<Self>, scenario: Scenario, deaths: Vec<Death>) {
        let cases: Vec<Case> = deaths.iter().map(|death| death.case.clone()).collect();
        let life = Box::pin(live(&self.references[&scenario], scenario, &deaths));
        match self.guarded(&names(&cases), life).await {
            Ok(Lived { missed, recovery }) => {
                self.learn(recovery);
                for case in cases.iter().filter(|case| !missed.contains(case)) {
                    self.note(case, Outcome::Ok);
                }
                for case in missed {
                    self.alone(case).await;
                }
            }
            Err(why) => {
                self.failures.lock().push(format!("together: {}: {why}", names(&cases)));
                for case in cases {
                    self.alone(case).await;
                }
            }
        }
    }

    async fn alone(&self, mut case: Case) {
        let reference = &self.references[&case.scenario];
        // Not every run reaches a point as often as another.
        while let Some(death) = reference.death(case.clone()) {
            let deaths = [death];
            let life = Box::pin(live(reference, case.scenario, &deaths));
            match self.guarded(&case.to_string(), life).await {
                Ok(Lived { missed, recovery }) => {
                    self.learn(recovery);
                    if missed.is_empty() {
                        return self.note(&case, Outcome::Ok);
                    }
                }
                Err(why) => {
                    self.failures.lock().push(format!("{case}: {why}"));
                    return self.note(&case, Outcome::Failed);
                }
            }
            if case.nth == 1 {
                break;
            }
            case.nth /= 2;
        }
        self.note(&case, Outcome::Missed);
    }

    fn note(&self, case: &Case, outcome: Outcome) {
        self.table.lock().set(&case.point, case.scenario, case.crashes, outcome);
    }

    fn learn(&self, recovery: Vec<(String, Case)>) {
        let mut known = self.recovery.lock();
        for (point, case) in recovery {
            if !self.references[&case.scenario].passed.contains(&point) {
                known.entry((point, case.scenario)).or_insert(case);
            }
        }
    }

    /// Second crashes where only recoveries come by.
    async fn try_recoveries(self: Arc<Self>) {
        let mut known = self.recovery.lock().clone();
        if self.extent == Extent::Sample {
            let wanted = sample(known.keys().map(|(point, scenario)| (point.as_str(), *scenario)));
            known.retain(|cell, _| wanted.contains(cell));
        }
        let mut lives = JoinSet::new();
        for ((point, scenario), first) in known {
            self.table.lock().reaches(&point, scenario);
            if !matches!(self.extent, Extent::One(_)) {
                let matrix = self.clone();
                lives.spawn(async move {
                    let reference = &matrix.references[&scenario];
                    let life = Box::pin(live_through_recovery(reference, &first, &point));
                    let outcome = match matrix.guarded(&format!("{first}, and then {point}"), life).await {
                        Ok(lived) if lived.missed.is_empty() => Outcome::Ok,
                        Ok(_) => Outcome::Missed,
                        Err(why) => {
                            matrix.failures.lock().push(format!("{first}, and then {point}: {why}"));
                            Outcome::Failed
                        }
                    };
                    matrix.table.lock().set(&point, scenario, Crashes::Twice, outcome);
                });
            }
        }
        while let Some(lived) = lives.join_next().await {
            lived.expect("what panics in it is caught");
        }
    }

    /// Waits for its turn, and says what came of it. A life that goes wrong panics.
    async fn guarded(&self, name: &str, life: impl Future<Output = Lived>) -> Result<Lived, String> {
        let _room = self.room.acquire().await.expect("it is never closed");
        let begun = Instant::now();
        let lived = std::panic::AssertUnwindSafe(life).catch_unwind().await.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        });
        let outcome = match &lived {
            Ok(lived) if lived.missed.is_empty() => "ok".to_owned(),
            Ok(lived) => format!("ok but for {}", names(&lived.missed)),
            Err(why) => format!("FAILED: {}", why.lines().next().unwrap_or_default()),
        };
        eprintln!("{:.1} s  {name}: {outcome}", begun.elapsed().as_secs_f64());
        lived
    }
}

fn names(cases: &[Case]) -> String {
    cases.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
