//! What came of every case, as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::crashes::case::Crashes;
use crate::crashes::scenario::Scenario;

/// What came of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// Armed, and passed by: the point is not reached on every run.
    Missed,
    Failed,
}

#[derive(Default)]
pub struct Table {
    /// The points that each scenario reaches, without a crash or in recoveries.
    reached: BTreeSet<(String, Scenario)>,
    cells: BTreeMap<(String, Scenario, Crashes), Outcome>,
}

impl Table {
    pub fn reaches(&mut self, point: &str, scenario: Scenario) {
        self.reached.insert((point.to_owned(), scenario));
    }

    pub fn set(&mut self, point: &str, scenario: Scenario, crashes: Crashes, outcome: Outcome) {
        self.reaches(point, scenario);
        self.cells.insert((point.to_owned(), scenario, crashes), outcome);
    }

    pub fn count(&self, wanted: Outcome) -> usize {
        self.cells.values().filter(|outcome| **outcome == wanted).count()
    }

    /// In Markdown: a row for each point, a column for each scenario, and in each cell one crash / two.
    pub fn markdown(&self) -> String {
        let names = Scenario::ALL.map(Scenario::name).join(" | ");
        let mut text = format!("| failpoint | {names} |\n|---|{}\n", "---|".repeat(Scenario::ALL.len()));
        let points: BTreeSet<&String> = self.reached.iter().map(|(point, _)| point).collect();
        for point in points {
            let cells = Scenario::ALL.map(|scenario| self.cell(point, scenario)).join(" | ");
            writeln!(text, "| `{point}` | {cells} |").expect("a string takes it");
        }
        text
    }

    fn cell(&self, point: &str, scenario: Scenario) -> String {
        if !self.reached.contains(&(point.to_owned(), scenario)) {
            return "—".to_owned();
        }
        Crashes::ALL
            .map(|crashes| match self.cells.get(&(point.to_owned(), scenario, crashes)) {
                Some(Outcome::Ok) => "ok",
                Some(Outcome::Missed) => "—",
                Some(Outcome::Failed) => "FAILED",
                None => "·",
            })
            .join(" / ")
    }
}
