//! Properties 4 to 6: squashes are told from merges, rebases and fast-forwards. Property 7, of the repository's settings, is
//! tested where they are checked.

use git::proof::NotSquash;
use proptest::collection::vec;

use super::*;
use crate::support::generate::{base_files, branch, branch_of, commit};

/// What GitHub or the daemon may or may not know of the landing beforehand.
fn knowledge(before: &Oid, commits: usize) -> [(Option<Oid>, Option<u64>); 4] {
    let commits = commits as u64;
    [(None, None), (None, Some(commits)), (Some(before.clone()), None), (Some(before.clone()), Some(commits))]
}

fn landing(world: &World, merge_commit: &Oid, pull_head: &Oid, known: (Option<Oid>, Option<u64>)) -> Landing {
    Landing {
        pull: PrNumber::new(5),
        merge_commit: merge_commit.clone(),
        pull_head: pull_head.clone(),
        pull_commits: known.1,
        default_head: world.main(),
        known_before: known.0,
    }
}

#[test]
fn squash_merge_detection_accepts_squash() {
    let world = World::with_base(&base_files());
    let others = || vec(commit(1), 0..=2);
    proptest!(cases(), |(feature in branch(0), earlier in others(), later in others())| {
        world.start_over();
        let head = world.chain(world.base(), &generate::chain(&feature.commits)).pop().expect("a commit");
        let before = others_land(&world, &earlier);
        let squash = world.squash(&head, "Squash feature");
        others_land(&world, &later);
        for known in knowledge(&before, feature.commits.len()) {
            let landing = landing(&world, &squash, &head, known);
            let verdict = world.run(world.objects().validate_squash(&landing)).expect("git answers");
            let accepted = verdict.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
            prop_assert_eq!((accepted.commit(), accepted.parent()), (&squash, &before));
        }
    });
}

#[test]
fn squash_merge_detection_rejects_merge_commit() {
    let world = World::with_base(&base_files());
    proptest!(cases(), |(feature in branch(0), main_commit in commit(1))| {
        world.start_over();
        let head = world.chain(world.base(), &generate::chain(&feature.commits)).pop().expect("a commit");
        let before = others_land(&world, &[main_commit]);
        let merge = world.true_merge(&head);
        for known in knowledge(&before, feature.commits.len()) {
            let verdict = world.run(world.objects().validate_squash(&landing(&world, &merge, &head, known)));
            prop_assert_eq!(verdict.expect("git answers"), Err(NotSquash::Merge { pull: PrNumber::new(5) }));
        }
    });
}

/// How several commits reach `main` one by one.
#[derive(Clone, Copy, Debug)]
enum OneByOne {
    Rebase,
    FastForward,
}

#[test]
fn squash_merge_detection_rejects_wrong_parent() {
    let world = World::with_base(&base_files());
    let ways = prop::sample::select(&[OneByOne::Rebase, OneByOne::FastForward][..]);
    let others = || vec(commit(1), 0..=2);
    proptest!(cases(), |(feature in branch_of(0, 2), way in ways, earlier in others(), later in others())| {
        world.start_over();
        let before = others_land(&world, if matches!(way, OneByOne::Rebase) { &earlier } else { &[] });
        let head = world.chain(world.base(), &generate::chain(&feature.commits)).pop().expect("a commit");
        let landed = match way {
            OneByOne::Rebase => world.rebase_merge(&head),
            OneByOne::FastForward => world.fast_forward(&head),
        };
        others_land(&world, &later);
        // Each of them has one parent, and each is on the default branch.
        prop_assert_ne!(world.rev_parse(&format!("{landed}^")), before.clone());
        for known in knowledge(&before, feature.commits.len()) {
            let verdict = world.run(world.objects().validate_squash(&landing(&world, &landed, &head, known)));
            let refusal = verdict.expect("git answers").expect_err("several commits are no squash");
            match way {
                OneByOne::Rebase => prop_assert!(matches!(refusal, NotSquash::Rebase { .. }), "{}", refusal),
                OneByOne::FastForward => prop_assert!(matches!(refusal, NotSquash::FastForward { .. }), "{}", refusal),
            }
        }
    });
}
