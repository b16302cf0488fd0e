//! What is proven of pull requests that landed, and what is refused.

mod landed;
mod own_change;
mod patches;
mod squash;

use git::Oid;
use git::proof::{Landing, NotSquash, Squash};
use merge_train_core::ids::PrNumber;

use crate::support::{Change, World};

/// The pull request that lands in these tests.
const PULL: PrNumber = PrNumber::new(5);

/// What GitHub and the clone tell of a landing when nobody watched it.
pub fn landing(world: &World, merge_commit: &Oid, pull_head: &Oid) -> Landing {
    Landing {
        pull: PULL,
        merge_commit: merge_commit.clone(),
        pull_head: pull_head.clone(),
        pull_commits: None,
        default_head: world.main(),
        known_before: None,
    }
}

pub fn verdict(world: &World, landing: &Landing) -> Result<Squash, NotSquash> {
    world.run(world.objects().validate_squash(landing)).expect("git answers")
}

/// A commit that adds a file of this name.
fn adding(name: &str) -> (Vec<Change>, String) {
    (vec![Change::write(name, format!("{name}\n"))], format!("Add {name}"))
}

/// A branch from `base` that adds these files, a commit for each; its head.
fn branch(world: &World, base: &Oid, names: &[&str]) -> Oid {
    let commits: Vec<_> = names.iter().map(|name| adding(name)).collect();
    world.chain(base, &commits).pop().expect("a branch has commits")
}

/// Somebody else's work arrives on `main`.
fn others_land(world: &World, name: &str) -> Oid {
    let main = branch(world, &world.main(), &[name]);
    world.fast_forward(&main)
}
