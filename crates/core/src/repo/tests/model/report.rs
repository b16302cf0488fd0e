//! How much was explored, as a table that is printed and kept.

use std::path::PathBuf;

use super::claims::End;
use super::explore::Explored;
use super::github::{Clock, Rules, Ways};
use super::moves::Bounds;

/// One exploration that found nothing wrong.
pub struct Row {
    ways: Ways,
    bounds: Bounds,
    states: usize,
    moves: usize,
    landed: usize,
    halted: usize,
}

impl Row {
    pub fn new(ways: Ways, bounds: Bounds, explored: &Explored) -> Self {
        let ended = |how: End| explored.ends.iter().filter(|end| **end == how).count();
        Self {
            ways,
            bounds,
            states: explored.states(),
            moves: explored.moves,
            landed: ended(End::Landed),
            halted: ended(End::Halted),
        }
    }
}

/// Prints the table, and keeps it where the build keeps its things.
pub fn publish(name: &str, rows: &[Row]) {
    let mut table = format!("# {name}\n\n");
    table += "| rules | GitHub's clock | crashes | lost answers | pushes of others | dropped webhooks | webhooks at once | restarts ";
    table += "| states | moves | ends landed | ends halted |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for Row { ways, bounds, states, moves, landed, halted } in rows {
        let Bounds { crashes, lost, foreign, dropped, webhooks, restarts } = bounds;
        let rules = match ways.rules {
            Rules::None => "none",
            Rules::UpToDate => "up to date",
        };
        let clock = match ways.clock {
            Clock::Exact => "exact",
            Clock::Coarse => "whole seconds",
        };
        table +=
            &format!("| {rules} | {clock} | {crashes} | {lost} | {foreign} | {dropped} | {webhooks} | {restarts} ");
        table += &format!("| {states} | {moves} | {landed} | {halted} |\n");
    }
    let all: usize = rows.iter().map(|row| row.states).sum();
    table += &format!("\n{all} states in all.\n");
    println!("{table}");
    // Not having it is no reason to fail.
    if let Some(folder) = folder() {
        let _ =
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(format!("{name}.md")), &table));
    }
}

/// `target/model`: the tests run from `target/PROFILE/deps`.
fn folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.parent()?.join("model"))
}
