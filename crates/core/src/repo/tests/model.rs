//! The decider explored: every state that a train can get into while processes die, answers are lost, webhooks come late or never
//! and others push, up to a bound for each.
//!
//! It is `decide` and `apply` themselves that are explored, upon a `RepoState`; only GitHub and git are models
//! (`github.rs`, `branches.rs`, `objects.rs`). `moves.rs` says what can happen, `world.rs` and `driver.rs` what comes
//! of it, `claims.rs` what must hold. The search is our own, breadth first (`explore.rs`): stateright, which would do
//! the same, brings a web server along that cannot be left out, and its `eventually` does not count on graphs whose
//! paths join or loop, which these do.
//!
//! **What can happen, in any order:** what a train asks for is done, and its answer comes, two moves where it cannot be
//! undone (push, squash, retarget) and one otherwise; an answer is lost, with or without the thing being done; the
//! process dies, also while it recovers from dying; what a dead or disappointed worker asked for is done after all,
//! however late; webhooks arrive in any order or not at all; somebody pushes to any branch; time passes to whatever is
//! due next; a person starts again what has halted. Notes, status comments, rules and plans are done at once.
//!
//! **Safety**, in every state: nothing is squashed twice, before what it stands on, unrelated to its squash, or into
//! another branch; nothing is reconciled that was not prepared; neither a merge, a push nor a squash takes back a
//! change or brings in one of another pull request; what may have been done is looked for before it is done again; a
//! branch has one owner; records never go back in their sequence; what a new process reads is what the old one knew; a
//! train halts only where somebody pushed to a branch of the stack.
//!
//! **Liveness**, from every state: once nothing goes wrong any more, every path comes to an end, in whatever order
//! things happen on it. The states have no loop of healthy moves among them, and where nothing is left to happen no
//! train is under way: everything has landed, or a train says why not. With a restart, the train that was started again
//! lands everything.
//!
//! **Seen to fail.** Each of these, done to the decider, is found:
//!
//! | what was broken | what found it |
//! |---|---|
//! | intents are not doubted after a crash, or after an answer that was lost | a squash (a push) that may have been done was begun again without a look |
//! | a doubted push is pushed again without a probe | the same |
//! | descendants are not prepared | a descendant was to be reconciled that was not prepared |
//! | a head that moved after the freeze is squashed | the same |
//! | a push that a probe does not find counts as landed | the same |
//! | descendants are not related to the squash | a merge conflicts that would not where everything is related to what landed |
//! | a fan-out goes on with one of its descendants | something has not landed, and no train says why |
//! | a doubted squash is not looked for, or is dropped by no answer | it can go on for ever |
//!
//! **How states are told apart.** The worker's clock stands still unless time passes, and is set back then (`time.rs`),
//! so that a state does not depend on how long it took to get there. An answer to a question that only reads is as new
//! as its arrival: what a late answer may still say is held by the tests of the reads. What no decision depends on is
//! left out of the fingerprint (`fingerprint.rs`).
//!
//! `MERGE_TRAIN_TEST_MODEL=deep` explores further. The counts are printed and kept in `target/model/`.

mod branches;
mod claims;
mod driver;
mod explore;
mod fingerprint;
mod github;
mod moves;
mod objects;
mod report;
mod time;
mod world;

use explore::explore;
use github::{Clock, Rules, Ways};
use moves::Bounds;
use objects::Objects;
use report::Row;
use world::World;

/// A stack and how far it is explored.
struct Exploration {
    /// What each pull request stands on, 0 being the default branch.
    on: &'static [u64],
    ways: Ways,
    bounds: Bounds,
    /// Fewer states than this, and something that can happen does not happen here any more.
    least: usize,
}

const USUAL: Ways = Ways { rules: Rules::None, clock: Clock::Exact };
const UP_TO_DATE: Ways = Ways { rules: Rules::UpToDate, clock: Clock::Exact };
const COARSE: Ways = Ways { rules: Rules::UpToDate, clock: Clock::Coarse };
const QUIET: Bounds = Bounds { crashes: 0, lost: 0, foreign: 0, dropped: 0, webhooks: 1, restarts: 0 };

impl Exploration {
    fn run(&self) -> Row {
        let git = Objects::default();
        let first = World::new(&git, self.on, self.ways, self.bounds);
        let explored = explore(&git, first.clone());
        let explored = explored.and_then(|explored| explored.always_ends().map(|()| explored));
        let Self { on, ways, bounds, least } = self;
        match explored {
            Ok(explored) => {
                assert!(explored.states() >= *least, "{} states only: {on:?} {ways:?} {bounds:?}", explored.states());
                Row::new(*ways, *bounds, &explored)
            }
            Err(found) => panic!("{on:?} {ways:?} {bounds:?}: {}", found.told(&git, &first)),
        }
    }
}

/// Explores each, and the deep ones where that is asked for.
fn explored(name: &str, usual: &[Exploration], deep: &[Exploration]) {
    let is_deep = std::env::var("MERGE_TRAIN_TEST_MODEL").is_ok_and(|how| how == "deep");
    let rows: Vec<Row> = usual.iter().chain(deep.iter().filter(|_| is_deep)).map(Exploration::run).collect();
    report::publish(name, &rows);
}

/// So many states there were when this was written, and half of them must be there.
const fn of(on: &'static [u64], ways: Ways, bounds: Bounds, states: usize) -> Exploration {
    Exploration { on, ways, bounds, least: states / 2 }
}

#[test]
fn one_pull_request_lands_once_and_its_train_ends_whatever_goes_wrong() {
    let one: &[u64] = &[0];
    explored(
        "one",
        &[
            of(one, USUAL, Bounds { crashes: 2, lost: 1, foreign: 1, dropped: 1, webhooks: 2, restarts: 1 }, 38_123),
            of(one, UP_TO_DATE, Bounds { crashes: 1, lost: 1, foreign: 1, restarts: 1, ..QUIET }, 10_333),
            of(one, COARSE, Bounds { crashes: 1, lost: 1, foreign: 1, restarts: 1, ..QUIET }, 10_522),
        ],
        &[of(one, UP_TO_DATE, Bounds { crashes: 2, lost: 2, foreign: 2, dropped: 1, webhooks: 2, restarts: 1 }, 0)],
    );
}

#[test]
fn a_stack_of_two_lands_once_and_its_train_ends_whatever_goes_wrong() {
    let two: &[u64] = &[0, 1];
    explored(
        "two",
        &[
            of(two, USUAL, Bounds { crashes: 1, lost: 1, ..QUIET }, 44_348),
            of(two, USUAL, Bounds { crashes: 2, ..QUIET }, 44_822),
            of(two, USUAL, Bounds { crashes: 1, dropped: 1, webhooks: 2, ..QUIET }, 51_381),
            of(two, USUAL, Bounds { crashes: 1, foreign: 1, restarts: 1, ..QUIET }, 123_472),
            of(two, USUAL, Bounds { lost: 1, foreign: 1, restarts: 1, ..QUIET }, 34_130),
            of(two, USUAL, Bounds { foreign: 1, dropped: 1, restarts: 1, ..QUIET }, 12_424),
            of(two, USUAL, Bounds { foreign: 2, restarts: 1, ..QUIET }, 54_943),
            of(two, UP_TO_DATE, Bounds { lost: 1, foreign: 1, restarts: 1, ..QUIET }, 35_910),
            of(two, COARSE, Bounds { crashes: 1, ..QUIET }, 9_281),
            of(two, COARSE, Bounds { foreign: 1, restarts: 1, ..QUIET }, 7_550),
        ],
        &[
            of(two, USUAL, Bounds { crashes: 1, lost: 1, foreign: 1, restarts: 1, ..QUIET }, 0),
            of(two, USUAL, Bounds { crashes: 2, lost: 1, dropped: 1, ..QUIET }, 0),
            of(two, USUAL, Bounds { lost: 1, foreign: 1, dropped: 1, restarts: 1, ..QUIET }, 121_844),
            of(two, UP_TO_DATE, Bounds { crashes: 1, foreign: 1, restarts: 1, ..QUIET }, 0),
        ],
    );
}

#[test]
fn a_stack_of_three_lands_once_and_its_train_ends_whatever_goes_wrong() {
    let three: &[u64] = &[0, 1, 2];
    explored(
        "three",
        &[
            of(three, USUAL, Bounds { crashes: 1, lost: 1, ..QUIET }, 133_818),
            of(three, USUAL, Bounds { crashes: 1, dropped: 1, ..QUIET }, 57_352),
            of(three, USUAL, Bounds { lost: 1, foreign: 1, restarts: 1, ..QUIET }, 126_068),
        ],
        &[
            of(three, USUAL, Bounds { crashes: 2, ..QUIET }, 0),
            of(three, USUAL, Bounds { crashes: 1, foreign: 1, restarts: 1, ..QUIET }, 0),
            of(three, USUAL, Bounds { lost: 1, foreign: 2, restarts: 1, ..QUIET }, 0),
        ],
    );
}

#[test]
fn a_fan_out_lands_once_and_its_trains_end_whatever_goes_wrong() {
    let fan_out: &[u64] = &[0, 1, 1];
    explored(
        "fan-out",
        &[
            of(fan_out, USUAL, Bounds { crashes: 1, ..QUIET }, 63_225),
            of(fan_out, USUAL, Bounds { lost: 1, dropped: 1, ..QUIET }, 69_606),
            of(fan_out, USUAL, Bounds { foreign: 1, restarts: 1, ..QUIET }, 60_275),
        ],
        &[
            of(fan_out, USUAL, Bounds { crashes: 1, lost: 1, ..QUIET }, 0),
            of(fan_out, USUAL, Bounds { crashes: 1, foreign: 1, ..QUIET }, 0),
            of(fan_out, USUAL, Bounds { lost: 1, foreign: 1, restarts: 1, ..QUIET }, 0),
        ],
    );
}
