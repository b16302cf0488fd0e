//! A story: a stack, a train, what people do and when, and how it ends.

use std::collections::BTreeMap;

use fastrand::Rng;
use merge_train_core::repo::Effect;
use merge_train_core::repo::trains::work::{TrainTask, TrainTaskOutcome};

use super::advice;
use super::blind::{Belief, Blind};
use super::contents::{Style, base_files};
use super::daemon::{Answers, Daemon, Moment, subject};
use super::github::{GitHub, MAIN, State};
use super::people::{self, ACTS, Act, RARE_ACTS};

/// How often somebody reads what the bot says and does it, until all has landed.
const MOST_ROUNDS: usize = 10;

/// What each pull request is stacked on, 0 being the default branch.
const SHAPES: [&[u64]; 16] = [
    &[0, 1],
    &[0, 1],
    &[0, 1],
    &[0, 1],
    &[0, 1],
    &[0, 1],
    &[0, 1],
    &[0, 1, 2],
    &[0, 1, 2],
    &[0, 1, 2],
    &[0, 1, 2],
    &[0, 1, 2],
    &[0, 1, 1],
    &[0, 1, 2, 3],
    &[0, 1, 2, 2],
    &[0, 1, 2, 3, 4],
];

/// When somebody does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// At the n-th thing that is done for a train.
    Nth(usize, Moment),
    /// At the first of this name that is about this pull request.
    At(&'static str, u64, Moment),
}

#[derive(Clone, Debug)]
pub struct Planned {
    pub when: When,
    pub number: u64,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub struct Story {
    pub seed: u64,
    pub shape: Vec<u64>,
    pub planned: Vec<Planned>,
    /// Whether a branch must be up to date before it lands.
    pub strict: bool,
    pub style: Style,
    /// How many of ten webhooks come at once; the others come later.
    pub prompt: u32,
}

impl Story {
    pub fn generated(seed: u64) -> Self {
        let rare: &[Act] = if std::env::var_os("MERGE_TRAIN_RARE_ACTS").is_some() { &RARE_ACTS } else { &[] };
        let acts = [&ACTS, rare].concat();
        let mut rng = Rng::with_seed(seed);
        let shape = SHAPES[rng.usize(..SHAPES.len())].to_vec();
        let mut planned = Vec::new();
        for _ in 0..rng.usize(1..=3) {
            let moment = [Moment::Before, Moment::Inside, Moment::After][rng.usize(..3)];
            let when = When::Nth(rng.usize(1..=9 * shape.len()), moment);
            let number = rng.u64(1..=shape.len() as u64);
            let act = acts[rng.usize(..acts.len())];
            planned.push(Planned { when, number, act });
        }
        let style = match rng.u32(..10) {
            0..3 => Style::DeletesBelow,
            3 => Style::ModifiesBelow,
            _ => Style::Drawn,
        };
        Self { seed, shape, planned, strict: rng.u32(..6) == 0, style, prompt: rng.u32(5..=10) }
    }

    /// A story that is told, and not drawn.
    pub fn told(shape: &[u64], planned: &[(When, u64, Act)]) -> Self {
        let planned =
            planned.iter().map(|(when, number, act)| Planned { when: when.clone(), number: *number, act: *act });
        let (shape, planned) = (shape.to_vec(), planned.collect());
        Self { seed: 1, shape, planned, strict: false, style: Style::DeletesBelow, prompt: 10 }
    }
}

/// How stories ended.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub stories: usize,
    pub landed: usize,
    pub halts: BTreeMap<String, usize>,
    pub commands: usize,
    pub conflicts: usize,
    pub rounds: usize,
    /// Seed, what was planned, and what went wrong.
    pub flaws: Vec<(Story, Vec<String>, String)>,
}

/// The people of a story, and what they take for the truth.
struct People {
    rng: Rng,
    planned: Vec<Planned>,
    first: u64,
    done: usize,
    crash: Option<Act>,
    acted: usize,
    blind: Option<Blind>,
}

impl People {
    fn is_due(&self, planned: &Planned, moment: Moment, effect: &Effect) -> bool {
        match &planned.when {
            When::Nth(nth, at) => *nth == self.done && *at == moment,
            When::At(name, number, at) => {
                *at == moment && effect.name() == *name && subject(effect) == Some(self.first + number)
            }
        }
    }
}

impl Answers for People {
    fn around(&mut self, github: &mut GitHub, moment: Moment, effect: &Effect) {
        if subject(effect).is_none() {
            return;
        }
        if moment == Moment::Before {
            self.done += 1;
        }
        let planned = std::mem::take(&mut self.planned);
        let (due, later) = planned.into_iter().partition(|planned| self.is_due(planned, moment, effect));
        self.planned = later;
        let due: Vec<Planned> = due;
        for Planned { number, act, .. } in due {
            match act {
                Act::Crash | Act::CrashAfterDoing | Act::LoseState => self.crash = Some(act),
                act => {
                    github.deferring = moment == Moment::Inside && effect.name() == "push";
                    self.acted += usize::from(people::act(github, &mut self.rng, self.first + number, act));
                    github.deferring = false;
                }
            }
        }
    }

    fn asked(&mut self, work: &TrainTask) -> TrainTask {
        self.blind.as_ref().map_or_else(|| work.clone(), |blind| blind.asked(work))
    }

    fn told(&mut self, github: &GitHub, work: &TrainTask, truth: TrainTaskOutcome) -> TrainTaskOutcome {
        match &mut self.blind {
            Some(blind) => blind.told(github, work, truth),
            None => truth,
        }
    }
}

/// A GitHub and a daemon that tell one story after the other.
pub struct Teller {
    pub github: GitHub,
    pub daemon: Daemon,
    told: u64,
    /// How often somebody follows the advice before the story ends.
    pub rounds: usize,
    people_acted: usize,
    pub report: Report,
    /// What is believed instead of looked at.
    pub belief: Option<Belief>,
}

impl Teller {
    pub fn new() -> Self {
        let github = GitHub::new(&base_files());
        let daemon = Daemon::new(&github);
        Self { github, daemon, told: 0, rounds: MOST_ROUNDS, people_acted: 0, report: Report::default(), belief: None }
    }

    /// One that goes on reporting in a repository of its own.
    pub fn after(report: Report) -> Self {
        Self { report, ..Self::new() }
    }

    /// Tells a story to its end. Err: what went wrong.
    pub fn tell(&mut self, story: &Story) -> Result<(), Vec<String>> {
        self.github.start_over();
        self.github.strict = story.strict;
        self.github.style = story.style;
        self.daemon.start_over();
        let first = self.told * 10;
        self.told += 1;
        let mut rng = Rng::with_seed(story.seed.wrapping_mul(7_919).wrapping_add(3));
        for (index, on) in story.shape.iter().enumerate() {
            let on = if *on == 0 { 0 } else { first + on };
            people::open(&mut self.github, &mut rng, first + index as u64 + 1, on);
        }
        self.github.comment(first + 1, "@merge-train start");
        let (planned, blind) = (story.planned.clone(), self.belief.map(Blind::new));
        let mut people = People { rng: rng.fork(), planned, first, done: 0, crash: None, acted: 0, blind };
        self.run(&mut rng, story.prompt, &mut people);
        let mut seen = 0;
        self.people_acted = people.acted;
        for round in 0..self.rounds {
            if !self.github.flaws.is_empty() || self.is_done() {
                break;
            }
            self.report.rounds += 1;
            self.help(&mut seen, round);
            self.run(&mut rng, 10, &mut people);
        }
        self.count();
        let mut flaws = std::mem::take(&mut self.github.flaws);
        if flaws.is_empty() && !self.is_done() {
            flaws.push(self.why_not_done());
        }
        if flaws.is_empty() { Ok(()) } else { Err(flaws) }
    }

    /// Whether people did what was planned.
    pub fn is_told(&self) -> bool {
        self.people_acted > 0
    }

    /// Tells it, and keeps what went wrong.
    pub fn tell_and_report(&mut self, story: &Story) {
        let outcome = self.tell(story);
        self.report.stories += 1;
        self.report.landed += self.github.landed.len();
        if let Err(flaws) = outcome {
            self.report.flaws.push((story.clone(), flaws, self.conversation()));
        }
    }

    /// Until nothing happens any more by itself.
    fn run(&mut self, rng: &mut Rng, prompt: u32, people: &mut People) {
        let mut polled = false;
        loop {
            if rng.u32(..10) < prompt {
                self.daemon.hear_all(&mut self.github);
            }
            let which = rng.usize(..);
            let goes_on = self.daemon.step(&mut self.github, which, people);
            if people.crash == Some(Act::LoseState) {
                people.crash = None;
                self.daemon.start_over();
            } else if let Some(crash) = people.crash.take() {
                self.daemon.crash(&mut self.github, crash == Act::CrashAfterDoing, people);
            }
            if !self.github.flaws.is_empty() {
                return;
            }
            if !goes_on && self.github.webhooks.is_empty() {
                if polled {
                    return;
                }
                polled = true;
                self.daemon.poll();
            }
        }
    }

    fn is_done(&self) -> bool {
        self.github.pulls.values().all(|pull| matches!(pull.state, State::Merged(_)))
    }

    /// Somebody does what the bot said, and what it always says: the right base, and a start.
    fn help(&mut self, seen: &mut usize, round: usize) {
        let github = &mut self.github;
        let numbers: Vec<u64> = github.pulls.keys().copied().collect();
        for number in &numbers {
            people::reopen(github, *number);
        }
        let new: Vec<(u64, String)> = github.said[*seen..].to_vec();
        *seen = github.said.len();
        // Of several comments on one pull request, the last counts.
        let last: BTreeMap<u64, &String> =
            new.iter().filter(|(_, body)| is_followed(body)).map(|(number, body)| (*number, body)).collect();
        for body in last.into_values() {
            let followed = match self.belief {
                Some(Belief::MergingMainHelps) => {
                    advice::follow(github, &body.replace("git rebase --onto ", "git merge "))
                }
                _ => advice::follow(github, body),
            };
            self.report.commands += followed.commands;
            self.report.conflicts += followed.conflicts;
        }
        for number in &numbers {
            put_in_place(github, *number);
        }
        // Whoever wants all of it to land starts again at the bottom.
        let is_open = |number: &u64| github.pulls[number].is_open();
        let is_root = |number: &u64| !people::below(github, *number).first().is_some_and(is_open);
        let roots: Vec<u64> = numbers.iter().copied().filter(|number| is_open(number) && is_root(number)).collect();
        let live = self.daemon.live();
        if live.is_empty() || round > 1 {
            for root in roots {
                github.comment(root, "@merge-train start");
            }
        }
    }

    fn count(&mut self) {
        for (_, body) in &self.github.said {
            let is_halt = body.starts_with("**Merge train");
            let line = body.lines().find(|line| !line.is_empty() && !line.starts_with("**Merge train"));
            if let (true, Some(line)) = (is_halt, line) {
                *self.report.halts.entry(without_names(line)).or_default() += 1;
            }
        }
    }

    fn why_not_done(&self) -> String {
        let open: Vec<u64> =
            self.github.pulls.iter().filter(|(_, pull)| pull.is_open()).map(|(number, _)| *number).collect();
        let live = self.daemon.live();
        let why: Vec<Option<String>> = live.iter().map(|root| self.daemon.why(*root)).collect();
        format!("{open:?} never landed, whatever advice was followed; live trains: {live:?}, {why:?}")
    }

    /// What was said, and where everything is, for whoever looks for the reason.
    pub fn conversation(&self) -> String {
        let mut text = String::new();
        for (number, pull) in &self.github.pulls {
            text.push_str(&format!("#{number} {:?} on {} head {}\n", pull.state, pull.base, pull.head));
        }
        for (number, body) in &self.github.said {
            text.push_str(&format!("--- on #{number}:\n{body}\n"));
        }
        text
    }
}

/// Whether a comment says what to do beyond another start.
fn is_followed(body: &str) -> bool {
    body.contains("```sh") || body.contains("Open a new pull request")
}

/// The base that a pull request should have, and a declaration where that is missing.
fn put_in_place(github: &mut GitHub, number: u64) {
    let pull = github.pulls[&number].clone();
    if !pull.is_open() {
        return;
    }
    let based_on = github.pulls.iter().find(|(_, below)| below.branch == pull.base).map(|(number, _)| *number);
    let declared = pull.declared.map(|(_, on)| on);
    let is_open = |number: u64| github.pulls[&number].is_open();
    match (declared, based_on) {
        (None, Some(on)) => github.declare(number, on),
        (Some(on), Some(base)) if on == base => {}
        (Some(on), _) if is_open(on) => {
            let base = github.pulls[&on].branch.clone();
            github.change(number, |pull| pull.base = base);
        }
        (_, None) if pull.base != MAIN => github.change(number, |pull| MAIN.clone_into(&mut pull.base)),
        _ => {}
    }
}

/// A halt, whichever pull request it is about.
fn without_names(line: &str) -> String {
    let mut words = Vec::new();
    for word in line.split(' ') {
        let digits = word.chars().filter(char::is_ascii_hexdigit).count();
        let is_name = word.contains('#') || word.contains('`') || digits > 30;
        words.push(if is_name { "…" } else { word });
    }
    words.join(" ")
}
