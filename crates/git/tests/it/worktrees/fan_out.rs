//! When a root with several descendants lands: the old worktree goes, and only then do the new ones come.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git::cascade::Branch;
use git::proof::Landing;
use git::worktree::Worktrees;
use git::{Error, Git, Oid};
use merge_train_core::ids::BranchName;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tempfile::TempDir;

use super::{Base, pr};
use crate::support::World;
use crate::support::generate::{GeneratedBranch, base_files, branch, chain};

/// A git that writes down each `worktree add`, and whether the old worktree is there at that moment; and that dies at
/// the add that it is told to die at.
struct Witness {
    folder: TempDir,
}

impl Witness {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\ncd '{}' || exit 1\n\
             case \"$*\" in\n\
             *' worktree add '*)\n\
             if [ -e \"$(cat old)\" ]; then echo early >> log; fi\n\
             if [ \"$(grep -c add log)\" = \"$(cat die-at)\" ]; then echo died >> log; kill -9 $$; fi\n\
             echo add >> log ;;\n\
             esac\ncd / && exec git \"$@\"\n",
            folder.path().display()
        );
        fs::write(folder.path().join("git"), script).unwrap();
        fs::set_permissions(folder.path().join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let witness = Self { folder };
        witness.watch(Path::new("/nonexistent"), None);
        witness
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("git")
    }

    /// Begins anew: `old` is the worktree that must be gone.
    fn watch(&self, old: &Path, die_at: Option<usize>) {
        let die_at = die_at.map_or("never".to_owned(), |number| number.to_string());
        for (name, text) in [("log", String::new()), ("old", old.display().to_string()), ("die-at", die_at)] {
            fs::write(self.folder.path().join(name), text).unwrap();
        }
    }

    fn saw(&self) -> Vec<String> {
        fs::read_to_string(self.folder.path().join("log")).unwrap().lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn at_a_fan_out_the_old_worktree_goes_and_each_descendant_gets_its_own() {
    let base = Base::new().await;
    base.worktrees.for_stack(pr(123)).await.unwrap();
    base.set_ref("refs/merge-train/stack-123/default", &base.head(123));
    let made = base.worktrees.fan_out(pr(123), &[pr(124), pr(125)]).await.unwrap();
    assert_eq!(made, [base.path(124), base.path(125)]);
    assert!(!base.path(123).exists());
    assert_eq!(base.known(), ["stack-124", "stack-125"]);
    assert_eq!(base.refs(), [""; 0]);
    assert!(matches!(base.worktrees.fan_out(pr(124), &[pr(124)]).await, Err(Error::Refused(_))));
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_fan_out_is_made_good_by_doing_it_again() {
    let witness = Witness::new();
    for die_at in 0..3 {
        let base = Base::of_git(&witness.program()).await;
        base.worktrees.for_stack(pr(1)).await.unwrap();
        witness.watch(&base.path(1), Some(die_at));
        let new = [pr(10), pr(11), pr(12)];
        assert!(base.worktrees.fan_out(pr(1), &new).await.is_err());
        assert!(!base.path(1).exists());
        assert_eq!(base.known().len(), die_at);

        witness.watch(&base.path(1), None);
        base.worktrees.fan_out(pr(1), &new).await.unwrap();
        assert_eq!(base.known(), ["stack-10", "stack-11", "stack-12"]);
    }
}

#[tokio::test]
async fn orphans_of_a_crash_in_the_middle_of_a_fan_out_are_swept() {
    let witness = Witness::new();
    let base = Base::of_git(&witness.program()).await;
    base.worktrees.for_stack(pr(1)).await.unwrap();
    witness.watch(&base.path(1), Some(1));
    assert!(base.worktrees.fan_out(pr(1), &[pr(10), pr(11)]).await.is_err());
    let later = SystemTime::now() + Duration::from_secs(25 * 3600);
    let swept = base.worktrees.sweep(&BTreeSet::new(), Duration::from_secs(24 * 3600), later).await.unwrap();
    assert_eq!(swept, [pr(10)]);
    assert_eq!(base.known(), [""; 0]);
}

/// A root and the branches upon it.
fn stacks() -> impl Strategy<Value = (GeneratedBranch, Vec<GeneratedBranch>)> {
    let descendants = (branch(1), branch(2), branch(3), branch(4), 2..=4_usize);
    let descendants = descendants.prop_map(|(one, two, three, four, count)| {
        let mut all = vec![one, two, three, four];
        all.truncate(count);
        all
    });
    (branch(0), descendants)
}

/// Lands the root, through every step of the cascade, with the stack's HEAD following.
async fn land(world: &World, worktrees: &Worktrees, root: &Oid, heads: Vec<Oid>) -> Vec<Oid> {
    let (name, default) = (BranchName::parse("descendant").unwrap(), BranchName::parse("main").unwrap());
    let objects = world.objects();
    let mut prepared = Vec::new();
    for head in &heads {
        let step = objects.prepare(Branch { name: &name, head, default: &default }, pr(1), root).await.unwrap();
        prepared.push(step.head().expect("branches of different owners do not conflict").commit);
        worktrees.set_head(pr(1), prepared.last().unwrap()).await.unwrap();
    }
    let before = world.main();
    let merge_commit = world.squash(root, "Squash root");
    let landing = Landing {
        pull: pr(1),
        merge_commit,
        pull_head: root.clone(),
        pull_commits: None,
        default_head: world.main(),
        known_before: Some(before),
    };
    let squash = objects.validate_squash(&landing).await.unwrap().expect("it is a squash");
    let mut landed = Vec::new();
    for head in &prepared {
        let step = objects.reconcile(Branch { name: &name, head, default: &default }, &squash).await.unwrap();
        let reconciled = step.head().expect("the squash's parent does not conflict").commit;
        let step = objects
            .catch_up(Branch { name: &name, head: &reconciled, default: &default }, &world.main())
            .await
            .unwrap();
        landed.push(step.head().expect("the default branch does not conflict").commit);
        worktrees.set_head(pr(1), landed.last().unwrap()).await.unwrap();
    }
    landed
}

fn orderly(world: &World, witness: &Witness, root: &GeneratedBranch, all: &[GeneratedBranch]) -> TestCaseResult {
    let folder = tempfile::tempdir().unwrap();
    symlink(world.origin(), folder.path().join("clone")).unwrap();
    world.start_over();
    let root = world.chain(world.base(), &chain(&root.commits)).pop().unwrap();
    let heads = all.iter().map(|branch| world.chain(&root, &chain(&branch.commits)).pop().unwrap()).collect();
    world.run(async {
        let worktrees = Worktrees::open(folder.path(), Git::find("git").await.unwrap());
        let old = worktrees.for_stack(pr(1)).await.unwrap();
        let landed = land(world, &worktrees, &root, heads).await;
        prop_assert!(old.exists());

        witness.watch(&old, None);
        let new: Vec<_> = (10..).take(landed.len()).map(pr).collect();
        let witnessed = Worktrees::open(folder.path(), Git::find(witness.program()).await.unwrap());
        let made = witnessed.fan_out(pr(1), &new).await.unwrap();
        // At no add was the old one there: `early` would stand before it.
        prop_assert_eq!(witness.saw(), vec!["add"; new.len()]);
        prop_assert!(!old.exists());
        for (root, (path, head)) in new.iter().zip(made.iter().zip(&landed)) {
            prop_assert!(path.exists());
            worktrees.set_head(*root, head).await.unwrap();
        }
        for root in new {
            worktrees.remove(root).await.unwrap();
        }
        Ok(())
    })
}

#[test]
fn fanout_worktree_ordering() {
    let (world, witness) = (World::with_base(&base_files()), Witness::new());
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |((root, descendants) in stacks())| {
        orderly(&world, &witness, &root, &descendants)?;
    });
}
