//! What a seed foretells: the stack, its contents, CI, and what people do meanwhile.

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::storms::support::Edit;

/// The most pull requests in a stack.
const LARGEST: usize = 6;
/// So far apart that the lines of two pull requests do not conflict.
const LINES_APART: usize = 4;
/// The line that is fought for where there is a conflict.
const FOUGHT_FOR: usize = 60;

/// Everything that is random about one stack.
pub struct Forecast {
    pub seed: u64,
    /// What each pull request stands on: an earlier one, or the default branch.
    pub below: Vec<Option<usize>>,
    pub edits: Vec<Vec<Edit>>,
    pub ci: Option<Ci>,
    pub acts: Vec<Act>,
    /// Whether something in it cannot be merged with something else.
    pub conflicts: bool,
}

pub struct Ci {
    pub delay_ms: u64,
    pub report: &'static str,
    pub required: bool,
    /// The head must contain the base.
    pub strict: bool,
}

/// What somebody does while the train is under way.
pub struct Act {
    pub after: Duration,
    pub what: What,
}

pub enum What {
    /// A commit more on a pull request, if it is still open.
    Push(usize),
    /// A commit on the default branch.
    Main(Edit),
}

impl Forecast {
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let below = shape(&mut rng);
        let shared = rng.bool();
        let mut edits: Vec<Vec<Edit>> = (0..below.len()).map(|at| own(at, shared)).collect();
        let ci = ci(&mut rng);
        let mut acts: Vec<Act> = (0..rng.usize(0..3)).map(|at| act(&mut rng, at, below.len())).collect();
        let conflicts = rng.u8(0..8) == 0;
        if conflicts {
            let at = rng.usize(..below.len());
            edits[at].push(Edit::Line(FOUGHT_FOR, format!("wanted by {}", branch(at))));
            let what = What::Main(Edit::Line(FOUGHT_FOR, "wanted by somebody else".to_owned()));
            acts.push(Act { after: Duration::from_millis(rng.u64(0..4_000)), what });
        }
        acts.sort_by_key(|act| act.after);
        Self { seed, below, edits, ci, acts, conflicts }
    }

    /// Whether what people do can end a train.
    pub fn may_halt(&self) -> bool {
        self.conflicts || self.acts.iter().any(|act| matches!(act.what, What::Push(_)))
    }

    /// What the simulator is told of CI.
    pub fn ci_definition(&self) -> Option<Value> {
        let ci = self.ci.as_ref()?;
        let check = json!({ "name": "ci", "command": "true", "report": ci.report, "delay_ms": ci.delay_ms });
        Some(json!({ "checks": [check], "ignore_branches": ["main"] }))
    }

    pub fn shape_name(&self) -> String {
        let count = self.below.len();
        let is_linear = self.below.iter().enumerate().all(|(at, below)| *below == at.checked_sub(1));
        let is_fan = self.below.iter().skip(1).all(|below| *below == Some(0));
        match (count, is_linear, is_fan) {
            (1, ..) => "one".to_owned(),
            (_, true, _) => format!("line of {count}"),
            (_, _, true) => format!("fan of {count}"),
            _ => format!("tree of {count}"),
        }
    }

    /// What there is besides the stack.
    pub fn besides(&self) -> String {
        let mut parts = Vec::new();
        if let Some(ci) = &self.ci {
            let demand = match (ci.required, ci.strict) {
                (true, true) => "ci strict",
                (true, false) => "ci required",
                _ => "ci",
            };
            parts.push(demand.to_owned());
        }
        let pushes = self.acts.iter().filter(|act| matches!(act.what, What::Push(_))).count();
        let on_main = self.acts.len() - pushes;
        parts.extend((pushes > 0).then(|| format!("{pushes} pushed")));
        parts.extend((on_main > 0).then(|| format!("{on_main} on main")));
        parts.extend(self.conflicts.then(|| "conflict".to_owned()));
        parts.join(", ")
    }
}

pub fn branch(at: usize) -> String {
    format!("change-{}", at + 1)
}

fn shape(rng: &mut Rng) -> Vec<Option<usize>> {
    let count = rng.usize(1..=LARGEST);
    let kind = rng.u8(0..3);
    (0..count)
        .map(|at| match kind {
            _ if at == 0 => None,
            0 => Some(at - 1),
            // So wide that each of them stands on the first.
            1 => Some(0),
            _ => Some(rng.usize(..at)),
        })
        .collect()
}

/// A file of its own, and in some stacks a line of the file that all share.
fn own(at: usize, shared: bool) -> Vec<Edit> {
    let file = Edit::File(format!("{}.txt", branch(at)));
    let line = shared.then(|| Edit::Line(at * LINES_APART, format!("changed by {}", branch(at))));
    std::iter::once(file).chain(line).collect()
}

fn ci(rng: &mut Rng) -> Option<Ci> {
    let report = rng.choice(["check_run", "status", "both"]).expect("there are some");
    let ci = Ci { delay_ms: rng.u64(0..1_500), report, required: rng.bool(), strict: rng.u8(0..3) == 0 };
    rng.bool().then_some(ci)
}

fn act(rng: &mut Rng, at: usize, count: usize) -> Act {
    let what = match rng.bool() {
        true => What::Push(rng.usize(..count)),
        false => What::Main(Edit::File(format!("elsewhere-{at}.txt"))),
    };
    Act { after: Duration::from_millis(rng.u64(0..8_000)), what }
}
