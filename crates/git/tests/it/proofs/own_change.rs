//! What the two ways to compute what lands make of merge drivers.

use git::Oid;
use git::merge::{Head, Merge};
use git::proof::{Below, Candidate, TwoWays};

use super::PULL;
use crate::support::{Change, World};

/// `log` on the default branch, which `.gitattributes` has git unite.
fn world(log: &str) -> World {
    World::with_base(&[Change::write(".gitattributes", "log merge=union\n"), Change::write("log", log)])
}

fn log(world: &World, parents: &[&Oid], content: &str) -> Oid {
    world.commit(parents, &[Change::write("log", content)], "Log")
}

/// #5 adds lines to the log and lands, #6 was written on it, and then somebody commits to the default branch. What the
/// branch of #6 brings when a cascade has related it to the squash and caught it up.
fn two_ways(world: &World, lower: &str, upper: &str, moved: &str) -> TwoWays {
    let below = log(world, &[world.base()], lower);
    let head = log(world, &[&below], upper);
    let squash = world.commit(&[world.base()], &[Change::write("log", lower)], "Log (#5)");
    let main = log(world, &[&squash], moved);
    world.fast_forward(&main);
    let objects = world.objects();
    let cascade = async {
        let own = Head { commit: head.clone(), tree: objects.commit(&head).await?.tree };
        let related = objects.relate(&own, &squash, "Relate two with squash commit (merge-train)").await?;
        objects.merge(&related.commit, &main, "Merge main into two (merge-train catch-up)").await
    };
    let Merge::Advanced(caught_up) = world.run(cascade).expect("git answers") else { panic!("it is united") };
    let below = [Below { pull: PULL, squash, head: below, former_heads: Vec::new() }];
    let candidate = Candidate { head: &caught_up.commit, people_head: Some(&head), below: &below, default_head: &main };
    world.run(world.objects().two_ways(candidate)).expect("git answers")
}

#[test]
fn what_a_union_brings_back_is_not_the_own_change() {
    let found = two_ways(&world("1\n"), "1\nsecret\n", "1\n", "1\nsecret\nmain\n");
    let TwoWays::Differ(difference) = found else { panic!("the deletion is lost: {found:?}") };
    assert!(difference.standing.by_driver);
    let conflict = difference.conflict.expect("without the union it conflicts");
    assert_eq!(conflict.files[0].path, "log");
}

#[test]
fn what_a_union_unites_without_a_loss_is_the_own_change() {
    let found = two_ways(&world("1\n"), "1\n5\n", "1\n5\n6\n", "1\n5\nmain\n");
    assert!(matches!(found, TwoWays::Same { .. }), "{found:?}");
}
