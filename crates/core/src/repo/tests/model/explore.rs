//! Breadth first through all that can happen: each state once, and a shortest path to each.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::claims::{self, End};
use super::moves::Move;
use super::objects::Objects;
use super::world::World;

/// All states that can be reached, and how each was reached first.
pub struct Explored {
    reached_by: Vec<Option<(usize, Move)>>,
    /// From each state, what can happen without anything going wrong, and where that leads.
    healthy: Vec<Vec<(Move, usize)>>,
    /// Where nothing is left to happen.
    pub ends: Vec<End>,
    pub moves: usize,
}

/// Something that must not be, and a shortest path to it.
pub struct Counterexample {
    flaw: String,
    path: Vec<Move>,
    /// What follows on the path again and again.
    again: Vec<Move>,
}

impl Counterexample {
    fn new(flaw: String, path: Vec<Move>) -> Self {
        Self { flaw, path, again: Vec::new() }
    }

    /// The path once more, each move with what it is about.
    pub fn told(&self, git: &Objects, first: &World) -> impl fmt::Display {
        let mut text = format!("{}\n", self.flaw);
        let mut world = first.clone();
        for (number, happens) in (1..).zip(&self.path) {
            text += &format!("{number:>4}. {}\n", world.told(*happens));
            let next = catch_unwind(AssertUnwindSafe(|| world.after(git, *happens)));
            let Ok(next) = next else { break };
            world = next;
        }
        if !self.again.is_empty() {
            text += &format!("and then, again and again: {:?}\n", self.again);
        }
        text + &format!("{:#?}\n{:#?}", world.state.active_trains(), world.github)
    }
}

/// Explores everything from the first state, and holds the claims of safety in each.
pub fn explore(git: &Objects, first: World) -> Result<Explored, Counterexample> {
    let mut known = HashMap::from([(first.fingerprint(), 0)]);
    let mut explored = Explored { reached_by: vec![None], healthy: vec![Vec::new()], ends: Vec::new(), moves: 0 };
    let mut waiting = VecDeque::from([(0, first)]);
    while let Some((number, world)) = waiting.pop_front() {
        if world.is_over() {
            let end = claims::ended(git, &world);
            explored.ends.push(end.map_err(|flaw| Counterexample::new(flaw, explored.path_to(number)))?);
        }
        for happens in world.moves() {
            let next = catch_unwind(AssertUnwindSafe(|| world.after(git, happens))).map_err(|_| {
                let path = explored.path_to(number).into_iter().chain([happens]).collect();
                Counterexample::new("the decider panics".to_owned(), path)
            })?;
            explored.moves += 1;
            let fresh = explored.states();
            let reached = *known.entry(next.fingerprint()).or_insert(fresh);
            if reached == fresh {
                explored.reached_by.push(Some((number, happens)));
                explored.healthy.push(Vec::new());
                if let Some(flaw) = claims::flaw(&next) {
                    return Err(Counterexample::new(flaw, explored.path_to(fresh)));
                }
                waiting.push_back((fresh, next));
            }
            if happens.is_healthy() {
                explored.healthy[number].push((happens, reached));
            }
        }
    }
    Ok(explored)
}

impl Explored {
    pub fn states(&self) -> usize {
        self.reached_by.len()
    }

    fn path_to(&self, state: usize) -> Vec<Move> {
        let mut path = Vec::new();
        let mut at = state;
        while let Some((before, happened)) = self.reached_by[at] {
            path.push(happened);
            at = before;
        }
        path.reverse();
        path
    }

    /// Whether every path on which nothing goes wrong any more comes to an end, wherever it begins and in whatever order things
    /// happen on it. Then no state leads back to itself: taking away, again and again, what leads to nothing that is left,
    /// nothing is left.
    pub fn always_ends(&self) -> Result<(), Counterexample> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.states()];
        let mut ahead: Vec<usize> = self.healthy.iter().map(Vec::len).collect();
        for (number, next) in self.healthy.iter().enumerate() {
            next.iter().for_each(|(_, next)| before[*next].push(number));
        }
        let mut ended: Vec<usize> = (0..self.states()).filter(|number| ahead[*number] == 0).collect();
        while let Some(number) = ended.pop() {
            for earlier in &before[number] {
                ahead[*earlier] -= 1;
                if ahead[*earlier] == 0 {
                    ended.push(*earlier);
                }
            }
        }
        match ahead.iter().position(|ahead| *ahead > 0) {
            None => Ok(()),
            Some(left) => Err(self.endless(left, &ahead)),
        }
    }

    /// From any state that is left one of those ahead is left, too: going there, one is met again.
    fn endless(&self, from: usize, ahead: &[usize]) -> Counterexample {
        let mut met: Vec<(usize, Move)> = Vec::new();
        let mut at = from;
        loop {
            if let Some(first) = met.iter().position(|(state, _)| *state == at) {
                let again = met.split_off(first).into_iter().map(|(_, happens)| happens).collect();
                return Counterexample { flaw: "it can go on for ever".to_owned(), path: self.path_to(at), again };
            }
            let next = self.healthy[at].iter().find(|(_, next)| ahead[*next] > 0).expect("it leads on");
            met.push((at, next.0));
            at = next.1;
        }
    }
}
