//! git, as far as a train can tell commits apart: which changes a commit's tree has, and what is in its history.
//!
//! Trees are sets of changes and merge by the rule of three, with the common ancestors as their base. So what git is famous for
//! losing can be lost here, too: a history that claims to contain a commit whose changes the tree lacks takes them back when it
//! is merged. And what is famous for conflicting conflicts: a branch that rewrote a line, with the squash that first wrote it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::super::sha;
use crate::ids::Sha;

/// A set of changes, a bit for each.
pub type Changes = u16;

/// All commits that were ever made. Only the name of a commit is part of a state: equal commits have equal names, whoever made
/// them first.
#[derive(Default)]
pub struct Objects {
    commits: RefCell<Vec<Commit>>,
    names: RefCell<HashMap<Content, usize>>,
}

/// What makes a commit: its parents, its tree, and which of several that are otherwise equal it is.
type Content = (BTreeSet<usize>, Changes, u8);

#[derive(Clone)]
struct Commit {
    parents: BTreeSet<usize>,
    changes: Changes,
    /// With the commit itself.
    history: BTreeSet<usize>,
}

/// Where names of commits and of trees begin, so that they are told apart in a counterexample.
const FIRST_COMMIT: u64 = 0xc000;
const FIRST_TREE: u64 = 0x7000_0000;

impl Objects {
    /// A commit with these parents. `attempt` is what makes two that are otherwise equal differ, as their dates do in git.
    pub fn commit(&self, parents: &[&Sha], changes: Changes, attempt: u8) -> Sha {
        let parents: BTreeSet<usize> = parents.iter().map(|parent| index(parent)).collect();
        let mut commits = self.commits.borrow_mut();
        let number = *self.names.borrow_mut().entry((parents.clone(), changes, attempt)).or_insert_with(|| {
            let mut history: BTreeSet<usize> =
                parents.iter().flat_map(|parent| commits[*parent].history.clone()).collect();
            history.insert(commits.len());
            commits.push(Commit { parents, changes, history });
            commits.len() - 1
        });
        sha(FIRST_COMMIT + number as u64)
    }

    pub fn changes(&self, commit: &Sha) -> Changes {
        self.commits.borrow()[index(commit)].changes
    }

    /// The name of a commit's tree.
    pub fn tree(&self, commit: &Sha) -> Sha {
        tree(self.changes(commit))
    }

    /// What a squash was put upon.
    pub fn below(&self, squash: &Sha) -> Sha {
        let parents = self.commits.borrow()[index(squash)].parents.clone();
        let [parent] = parents.into_iter().collect::<Vec<_>>()[..] else { panic!("{squash} is no squash") };
        sha(FIRST_COMMIT + parent as u64)
    }

    /// Whether a commit has another in its history.
    pub fn contains(&self, commit: &Sha, other: &Sha) -> bool {
        self.commits.borrow()[index(commit)].history.contains(&index(other))
    }

    /// The two sides of a merge, and what they have in common.
    pub fn sides(&self, ours: &Sha, theirs: &Sha) -> Sides {
        let commits = self.commits.borrow();
        let (ours, theirs) = (&commits[index(ours)], &commits[index(theirs)]);
        let common: BTreeSet<usize> = ours.history.intersection(&theirs.history).copied().collect();
        let is_best =
            |one: &&usize| common.iter().all(|other| other == *one || !commits[*other].history.contains(*one));
        let base = common.iter().filter(is_best).fold(0, |base, number| base | commits[*number].changes);
        Sides { base, ours: ours.changes, theirs: theirs.changes }
    }

    /// What comes of merging two commits.
    pub fn merged(&self, ours: &Sha, theirs: &Sha) -> Changes {
        self.sides(ours, theirs).merged()
    }
}

/// What is merged.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    base: Changes,
    ours: Changes,
    theirs: Changes,
}

impl Sides {
    /// A change is in the result if one side made it and none took it back.
    fn merged(self) -> Changes {
        let Self { base, ours, theirs } = self;
        (ours & theirs & base) | ((ours | theirs) & !base)
    }

    /// Whether both sides changed the line that these changes are made to, and differently.
    pub fn clash_over(self, line: Changes) -> bool {
        let [base, ours, theirs] = [self.base, self.ours, self.theirs].map(|changes| changes & line);
        ours != base && theirs != base && ours != theirs
    }
}

/// The name of the tree with these changes.
pub fn tree(changes: Changes) -> Sha {
    sha(FIRST_TREE + u64::from(changes))
}

fn index(commit: &Sha) -> usize {
    let number = u64::from_str_radix(commit.as_str(), 16).expect("a name that was made here");
    usize::try_from(number - FIRST_COMMIT).expect("a commit that was made here")
}

#[test]
fn who_rewrote_a_line_conflicts_with_the_squash_that_wrote_it_unless_related() {
    let git = Objects::default();
    let root = git.commit(&[], 0, 0);
    let below = git.commit(&[&root], 0b01, 0);
    let above = git.commit(&[&below], 0b11, 0);
    let squash = git.commit(&[&root], 0b01, 1);
    assert!(git.sides(&above, &squash).clash_over(0b11));
    let related = git.commit(&[&above, &squash], 0b11, 0);
    let later = git.commit(&[&squash], 0b101, 0);
    assert!(!git.sides(&related, &later).clash_over(0b11));
}

#[test]
fn what_a_history_claims_to_contain_and_a_tree_lacks_is_taken_back_by_a_merge() {
    let git = Objects::default();
    let root = git.commit(&[], 0, 0);
    let ours = git.commit(&[&root], 0b01, 0);
    let theirs = git.commit(&[&root], 0b10, 0);
    assert_eq!(git.merged(&ours, &theirs), 0b11);
    let lying = git.commit(&[&ours, &theirs], 0b01, 0);
    assert_eq!(git.merged(&theirs, &lying), 0b01);
}
