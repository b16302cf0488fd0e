//! What a seed foretells: the stack, its contents and the rules. What happens to it is drawn as it goes.

use fastrand::Rng;

use super::hub::Edit;

/// How many pull requests a stack has. Large ones take their time, and show little that small ones do not.
const SIZES: [usize; 6] = [1, 2, 2, 3, 3, 4];
/// So far apart that the lines of two pull requests do not conflict.
const LINES_APART: usize = 4;
/// The line that is fought for where there is a conflict.
const FOUGHT_FOR: usize = 60;

pub struct Forecast {
    /// What each pull request stands on: an earlier one, or the default branch.
    pub below: Vec<Option<usize>>,
    pub edits: Vec<Vec<Edit>>,
    pub rules: Rules,
    /// What somebody commits to the default branch that cannot be merged with the stack.
    pub conflict: Option<Edit>,
    /// How many steps the storm lasts.
    pub steps: usize,
    pub temper: Temper,
}

/// What the default branch demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The check `ci` must pass.
    pub ci: bool,
    /// The head must contain the base.
    pub strict: bool,
    /// Somebody must have approved.
    pub approval: bool,
}

/// What people are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    /// They start the train and let it run.
    Calm,
    /// They push to everything, stop and start.
    Busy,
    /// They close, retarget and take declarations back, too.
    Unruly,
}

impl Forecast {
    pub fn of(rng: &mut Rng) -> Self {
        let below = shape(rng);
        let shared = rng.bool();
        let mut edits: Vec<Vec<Edit>> = (0..below.len()).map(|at| own(at, shared)).collect();
        let rules = Rules { ci: rng.u8(0..3) > 0, strict: rng.u8(0..4) == 0, approval: rng.u8(0..4) == 0 };
        let temper = match rng.u8(0..3) {
            0 => Temper::Calm,
            1 => Temper::Busy,
            _ => Temper::Unruly,
        };
        let conflict = (rng.u8(0..10) == 0).then(|| {
            let at = rng.usize(..below.len());
            edits[at].push(Edit::Line(FOUGHT_FOR, format!("wanted by {}", branch(at))));
            Edit::Line(FOUGHT_FOR, "wanted by somebody else".to_owned())
        });
        Self { steps: rng.usize(30..100), below, edits, rules, conflict, temper }
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
}

pub fn branch(at: usize) -> String {
    format!("change-{}", at + 1)
}

fn shape(rng: &mut Rng) -> Vec<Option<usize>> {
    let count = rng.choice(SIZES).expect("there are some");
    let kind = rng.u8(0..3);
    (0..count)
        .map(|at| match kind {
            _ if at == 0 => None,
            0 => Some(at - 1),
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
