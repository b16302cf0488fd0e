//! Honest work is not held up: cascades of stacks that nobody disturbs, with a default branch that moves, in which both ways
//! must give the same tree.

use std::path::Path;

use fastrand::Rng;
use git::cascade::{Branch, Step};
use git::proof::{Below, Candidate, Landing, Squash, TwoWays};
use git::{Committer, Git, Objects, Oid, Signing};
use merge_train_core::ids::PrNumber;
use tokio_util::sync::CancellationToken;

use super::contents::{Style, base_files};
use super::github::{GitHub, MAIN, branch};
use super::people::{self, Act};
use super::plain;

/// A file that everybody appends to, and that git merges line by line where it heeds the attributes.
const UNION: &str = "log.txt";
const ATTRIBUTES: &str = "log.txt merge=union\n";

#[derive(Debug, Default)]
pub struct Honest {
    pub cascades: usize,
    pub landings: usize,
    /// The branch itself does not merge, so nobody is asked twice.
    pub conflicts: usize,
    /// The two ways disagree: the seed, and how.
    pub differences: Vec<(u64, String)>,
    /// What landed is not what people wrote.
    pub flaws: Vec<(u64, String)>,
}

pub struct Cascades {
    runtime: tokio::runtime::Runtime,
    github: GitHub,
    objects: Objects,
    told: u64,
    pub honest: Honest,
}

impl Cascades {
    pub fn new() -> Self {
        let mut files = base_files();
        files.insert(UNION.to_owned(), (0..8).map(|line| format!("entry {line}\n")).collect());
        files.insert(".gitattributes".to_owned(), ATTRIBUTES.to_owned());
        let github = GitHub::new(&files);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let git = runtime.block_on(Git::find(Path::new("git"))).expect("git is installed");
        let committer =
            Committer { name: "merge-train".into(), email: "merge-train@example.com".into(), signing: Signing::Off };
        let objects = Objects::new(git, github.origin(), committer, CancellationToken::new());
        Self { runtime, github, objects, told: 0, honest: Honest::default() }
    }

    /// One that goes on counting in a repository of its own.
    pub fn after(honest: Honest) -> Self {
        Self { honest, ..Self::new() }
    }

    /// Lands a stack of two to four as a train does, and asks both ways before each squash.
    pub fn land(&mut self, seed: u64) {
        let mut rng = Rng::with_seed(seed);
        self.github.start_over();
        self.github.style = if rng.u32(..4) == 0 { Style::DeletesBelow } else { Style::Drawn };
        let first = self.told * 10;
        self.told += 1;
        let count = rng.u64(2..=4);
        for index in 1..=count {
            let on = if index == 1 { 0 } else { first + index - 1 };
            people::open(&mut self.github, &mut rng, first + index, on);
            if rng.u32(..3) == 0 {
                self.append(first + index);
            }
        }
        self.honest.cascades += 1;
        let mut below = Vec::new();
        for index in 1..=count {
            if !self.land_one(seed, &mut rng, first + index, index < count, &mut below) {
                return;
            }
        }
    }

    /// Somebody adds a line to the end of the file that everybody appends to.
    fn append(&mut self, number: u64) {
        let pull = self.github.pulls[&number].clone();
        let mut files = self.github.files(&pull.head);
        files.entry(UNION.to_owned()).or_default().push_str(&format!("entry of {number}\n"));
        let head = plain::commit_files(&self.github.origin(), &files, Some(&pull.head), "Append");
        let written = people::record(&mut self.github, head.clone(), &pull.head);
        people::push(&mut self.github, number, &head, [pull.own, vec![written]].concat());
    }

    fn move_main(&mut self, rng: &mut Rng) {
        if rng.u32(..3) == 0 {
            people::act(&mut self.github, rng, 0, Act::MoveMain);
        }
    }

    fn land_one(&mut self, seed: u64, rng: &mut Rng, number: u64, has_more: bool, below: &mut Vec<Below>) -> bool {
        let next = number + 1;
        self.move_main(rng);
        let head = oid(&self.github.pulls[&number].head);
        if has_more && !self.step(next, &Merging::Prepare(number, head)) {
            return false;
        }
        let pull = self.github.pulls[&number].clone();
        let (head, main) = (oid(&pull.head), oid(&self.github.main));
        let people_head = oid(&pull.people_head);
        let candidate = Candidate { head: &head, people_head: Some(&people_head), below, default_head: &main };
        match self.runtime.block_on(self.objects.two_ways(candidate)).expect("git works") {
            TwoWays::Same { .. } => {}
            TwoWays::Conflict(_) => {
                self.honest.conflicts += 1;
                return false;
            }
            TwoWays::Differ(difference) => {
                self.honest.differences.push((seed, difference.to_string()));
                return false;
            }
        }
        let Ok(squash) = self.github.squash_for_train(number, &pull.head) else {
            self.honest.conflicts += 1;
            return false;
        };
        self.honest.landings += 1;
        for flaw in std::mem::take(&mut self.github.flaws) {
            self.honest.flaws.push((seed, flaw));
        }
        self.move_main(rng);
        if has_more {
            let landing = Landing {
                pull: PrNumber::new(number),
                merge_commit: oid(&squash),
                pull_head: head.clone(),
                pull_commits: None,
                default_head: oid(&self.github.main),
                known_before: Some(main),
            };
            let validated = self.runtime.block_on(self.objects.validate_squash(&landing)).expect("git works");
            let validated = validated.expect("it is a squash");
            below.push(Below { pull: PrNumber::new(number), squash: oid(&squash), head, former_heads: Vec::new() });
            let main = oid(&self.github.main);
            self.github.change(next, |pull| MAIN.clone_into(&mut pull.base));
            return self.step(next, &Merging::Reconcile(validated)) && self.step(next, &Merging::CatchUp(main));
        }
        true
    }

    /// What a train merges into a branch; false where that conflicts.
    fn step(&mut self, number: u64, merging: &Merging) -> bool {
        let pull = self.github.pulls[&number].clone();
        let (name, main, head) = (branch(&pull.branch), branch(MAIN), oid(&pull.head));
        let onto = Branch { name: &name, head: &head, default: &main };
        let step = self.runtime.block_on(async {
            match merging {
                Merging::Prepare(below, head) => self.objects.prepare(onto, PrNumber::new(*below), head).await,
                Merging::Reconcile(squash) => self.objects.reconcile(onto, squash).await,
                Merging::CatchUp(main) => self.objects.catch_up(onto, main).await,
            }
        });
        match step.expect("git works") {
            Step::Unchanged(_) => {}
            Step::Advance(advance) => self.github.set_branch(&pull.branch, advance.to.as_str()),
            Step::Conflict(_) => {
                self.honest.conflicts += 1;
                return false;
            }
        }
        true
    }
}

enum Merging {
    Prepare(u64, Oid),
    Reconcile(Squash),
    CatchUp(Oid),
}

fn oid(commit: &str) -> Oid {
    Oid::parse(commit).expect("a commit")
}
