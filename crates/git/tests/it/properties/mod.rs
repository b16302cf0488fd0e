//! The properties that the specification requires, on real git, of the production functions.

mod cascade;
mod detection;
mod frozen;

use git::Oid;
use git::cascade::{Branch, Step};
use git::proof::{LandedProof, Landing, PatchId, Squash};
use merge_train_core::ids::{BranchName, PrNumber};
use proptest::prelude::*;

use crate::support::generate::GeneratedCommit;
use crate::support::{Contents, World, contents, generate};

/// How many worlds each property is tried in.
const CASES: u32 = 100;

/// A pull request of the test world.
struct Pull {
    number: PrNumber,
    branch: BranchName,
    default: BranchName,
    head: Oid,
}

impl Pull {
    fn new(number: u64, head: Oid) -> Self {
        let branch = BranchName::parse(format!("feature/{number}")).expect("a branch name");
        let default = BranchName::parse("main").expect("a branch name");
        Self { number: PrNumber::new(number), branch, default, head }
    }

    fn branch(&self) -> Branch<'_> {
        Branch { name: &self.branch, head: &self.head, default: &self.default }
    }

    /// Takes a step of the cascade; in these worlds none may conflict.
    fn take(&mut self, step: Result<Step, git::Error>) -> Result<(), TestCaseError> {
        let step = step.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let head = step.head().ok_or_else(|| TestCaseError::fail(format!("{step:?}")))?;
        self.head = head.commit;
        Ok(())
    }

    fn prepare(&mut self, world: &World, predecessor: &Pull) -> Result<(), TestCaseError> {
        let step = world.run(world.objects().prepare(self.branch(), predecessor.number, &predecessor.head));
        self.take(step)?;
        let prepared = world.run(world.objects().is_prepared(&self.head, &predecessor.head));
        prop_assert!(prepared.expect("git answers"));
        Ok(())
    }

    fn reconcile(&mut self, world: &World, squash: &Squash) -> Result<(), TestCaseError> {
        let step = world.run(world.objects().reconcile(self.branch(), squash));
        self.take(step)
    }

    fn catch_up(&mut self, world: &World) -> Result<(), TestCaseError> {
        let step = world.run(world.objects().catch_up(self.branch(), &world.main()));
        self.take(step)
    }

    /// What it changes, as a pull request into `base`.
    fn patch_id(&self, world: &World, base: &Oid) -> Option<PatchId> {
        world.run(world.objects().patch_id(base, &self.head)).expect("git answers")
    }

    /// GitHub squashes it; what landed is a squash with the right tree.
    fn land(&self, world: &World) -> Result<Squash, TestCaseError> {
        let before = world.main();
        let merge_commit = world.squash(&self.head, &format!("Land #{}", self.number));
        let landing = Landing {
            pull: self.number,
            merge_commit,
            pull_head: self.head.clone(),
            pull_commits: None,
            default_head: world.main(),
            known_before: Some(before.clone()),
        };
        let squash = world.run(world.objects().validate_squash(&landing)).expect("git answers");
        let squash = squash.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        prop_assert_eq!(squash.parent(), &before);
        let proof = world.run(world.objects().prove_landed(&squash, &self.head)).expect("git answers");
        prop_assert_eq!(proof, LandedProof::Proven);
        Ok(squash)
    }
}

/// Somebody's commits arrive on `main`.
fn others_land(world: &World, commits: &[GeneratedCommit]) -> Oid {
    let chain = generate::chain(commits);
    match world.chain(&world.main(), &chain).pop() {
        Some(head) => world.fast_forward(&head),
        None => world.main(),
    }
}

/// A model of what the base of the world holds.
fn base_contents() -> Contents {
    let mut model = Contents::new();
    contents::apply(&mut model, &generate::base_files());
    model
}

/// Says where two trees differ, rather than printing both.
fn assert_same(found: &Contents, expected: &Contents) -> Result<(), TestCaseError> {
    for path in found.keys().chain(expected.keys()) {
        prop_assert_eq!(found.get(path), expected.get(path), "{}", path);
    }
    Ok(())
}

fn cases() -> ProptestConfig {
    ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(CASES) }
}
