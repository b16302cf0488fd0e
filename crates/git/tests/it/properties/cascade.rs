//! Properties 1 to 3: nothing is lost in a cascade, and the order of its merges is why.

use git::cascade::{Branch, CatchUp};
use git::merge::{Head, Merge};
use git::proof::Below;
use proptest::collection::vec;

use super::*;
use crate::support::Change;
use crate::support::generate::{GeneratedBranch, base_files, branch, commit};

#[test]
fn descendant_content_preserved_after_cascade() {
    let world = World::with_base(&base_files());
    let others = || vec(commit(2), 0..=2);
    // The predecessor goes on after the descendant left it, so there is something to prepare.
    let branches = (branch(0), branch(1), any::<prop::sample::Index>());
    let main = (others(), others(), others());
    proptest!(cases(), |((predecessor, descendant, fork) in branches, (early, middle, late) in main)| {
        world.start_over();
        let commits = world.chain(world.base(), &generate::chain(&predecessor.commits));
        let fork = fork.get(&commits);
        let first = Pull::new(1, commits.last().expect("a commit").clone());
        let head = world.chain(fork, &generate::chain(&descendant.commits)).pop().expect("a commit");
        let mut second = Pull::new(2, head.clone());

        others_land(&world, &early);
        second.prepare(&world, &first)?;
        let diff = second.patch_id(&world, &first.head);
        let mut expected = base_contents();
        predecessor.apply(&mut expected);
        descendant.apply(&mut expected);
        assert_same(&world.tree_contents(&second.head), &expected)?;

        others_land(&world, &middle);
        let squash = first.land(&world)?;
        others_land(&world, &late);
        second.reconcile(&world, &squash)?;
        second.catch_up(&world)?;
        prop_assert_eq!(second.patch_id(&world, &world.main()), diff, "the diff changed");
        assert_late_addition_ends_alike(&world, &first, &squash, head, &second)?;
        second.land(&world)?;

        let intervening = GeneratedBranch { commits: [early, middle, late].concat() };
        intervening.apply(&mut expected);
        assert_same(&world.tree_contents(&world.main()), &expected)?;
    });
}

/// Had the second pull request come after the first had landed, it would be no different.
fn assert_late_addition_ends_alike(
    world: &World,
    first: &Pull,
    squash: &Squash,
    head: Oid,
    second: &Pull,
) -> Result<(), TestCaseError> {
    let mut late = Pull::new(3, head);
    let default_head = world.main();
    let below = Below {
        pull: first.number,
        squash: squash.commit().clone(),
        head: first.head.clone(),
        former_heads: Vec::new(),
    };
    let all = [(&below, squash)];
    let step = world.objects().relate_to_all(late.branch(), &all, &default_head, CatchUp::IfRelatedAnew);
    late.take(world.run(step))?;
    let tree = |pull: &Pull| world.rev_parse(&format!("{}^{{tree}}", pull.head));
    prop_assert_eq!(tree(&late), tree(second));
    for ancestor in [squash.commit(), &first.head, &default_head] {
        prop_assert!(world.run(world.objects().is_ancestor(ancestor, &late.head)).expect("git answers"));
    }
    Ok(())
}

/// When during the landing of one pull request somebody else's commit arrives on `main`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    BeforePreparation,
    BeforeSquash,
    BeforeReconciliation,
    BeforeCatchUp,
    AfterAll,
}

const MOMENTS: [Moment; 5] = [
    Moment::BeforePreparation,
    Moment::BeforeSquash,
    Moment::BeforeReconciliation,
    Moment::BeforeCatchUp,
    Moment::AfterAll,
];

fn stack() -> impl Strategy<Value = Vec<GeneratedBranch>> {
    prop_oneof![
        branch(0).prop_map(|one| vec![one]),
        (branch(0), branch(1)).prop_map(|(one, two)| vec![one, two]),
        (branch(0), branch(1), branch(2)).prop_map(|(one, two, three)| vec![one, two, three]),
    ]
}

#[test]
fn intervening_main_commits_preserved() {
    let world = World::with_base(&base_files());
    let arrival = (0..3_usize, prop::sample::select(&MOMENTS[..]), commit(3));
    proptest!(cases(), |(stack in stack(), arrivals in vec(arrival, 1..=4))| {
        world.start_over();
        let mut base = world.base().clone();
        let mut pulls = Vec::new();
        let mut expected = base_contents();
        for (index, branch) in stack.iter().enumerate() {
            base = world.chain(&base, &generate::chain(&branch.commits)).pop().expect("a commit");
            pulls.push(Pull::new(index as u64 + 1, base.clone()));
            branch.apply(&mut expected);
        }

        let arrive = |landing: usize, moment: Moment, expected: &mut Contents| {
            let due = arrivals.iter().filter(|(after, when, _)| (*after % stack.len(), *when) == (landing, moment));
            let commits: Vec<GeneratedCommit> = due.map(|(.., commit)| commit.clone()).collect();
            others_land(&world, &commits);
            GeneratedBranch { commits }.apply(expected);
        };
        for landing in 0..pulls.len() {
            arrive(landing, Moment::BeforePreparation, &mut expected);
            let (landed, rest) = pulls.split_at_mut(landing + 1);
            let (current, next) = (&landed[landing], rest.first_mut());
            let Some(next) = next else {
                arrive(landing, Moment::BeforeSquash, &mut expected);
                current.land(&world)?;
                for moment in &MOMENTS[2..] {
                    arrive(landing, *moment, &mut expected);
                }
                continue;
            };
            next.prepare(&world, current)?;
            arrive(landing, Moment::BeforeSquash, &mut expected);
            let squash = current.land(&world)?;
            arrive(landing, Moment::BeforeReconciliation, &mut expected);
            next.reconcile(&world, &squash)?;
            arrive(landing, Moment::BeforeCatchUp, &mut expected);
            next.catch_up(&world)?;
            arrive(landing, Moment::AfterAll, &mut expected);
        }
        assert_same(&world.tree_contents(&world.main()), &expected)?;
    });
}

/// What must never be done: `main` is merged before the squash, and the squash related without its parent.
fn land_in_the_wrong_order(
    world: &World,
    first: &Pull,
    second: &Pull,
    late: &[GeneratedCommit],
) -> Result<(), TestCaseError> {
    let objects = world.objects();
    let merged = world.run(objects.merge(&second.head, &world.main(), "Merge main too early")).expect("git answers");
    let head = match merged {
        Merge::UpToDate => second.head.clone(),
        Merge::Advanced(head) => head.commit,
        Merge::Conflict(conflict) => return Err(TestCaseError::fail(format!("{conflict:?}"))),
    };
    others_land(world, late);
    let squash = first.land(world)?;
    let tree = world.rev_parse(&format!("{head}^{{tree}}"));
    let head = world.run(objects.relate(&Head { commit: head, tree }, squash.commit(), "Relate")).expect("git answers");
    let branch = Branch { head: &head.commit, ..second.branch() };
    let mut wrong = Pull::new(second.number.get(), head.commit.clone());
    wrong.take(world.run(objects.catch_up(branch, &world.main())))?;
    wrong.land(world).map(|_| ())
}

#[test]
fn squash_parent_ordering_prevents_lost_commits() {
    let world = World::with_base(&base_files());
    proptest!(cases(), |(predecessor in branch(0), descendant in branch(1), mut late in commit(2))| {
        // Whatever chance writes, something changes.
        late.changes.push(Change::write("late", "late\n"));
        let late = [late];
        let commits = world.chain(world.base(), &generate::chain(&predecessor.commits));
        let first = Pull::new(1, commits.last().expect("a commit").clone());
        let head = world.chain(&first.head, &generate::chain(&descendant.commits)).pop().expect("a commit");
        let mut without_late = base_contents();
        predecessor.apply(&mut without_late);
        descendant.apply(&mut without_late);
        let mut with_late = without_late.clone();
        GeneratedBranch { commits: late.to_vec() }.apply(&mut with_late);

        // The late commit is lost, without a conflict and without a trace: every single proof of the landings holds.
        world.start_over();
        land_in_the_wrong_order(&world, &first, &Pull::new(2, head.clone()), &late)?;
        assert_same(&world.tree_contents(&world.main()), &without_late)?;

        world.start_over();
        let mut second = Pull::new(2, head);
        second.prepare(&world, &first)?;
        others_land(&world, &late);
        let squash = first.land(&world)?;
        second.reconcile(&world, &squash)?;
        second.catch_up(&world)?;
        second.land(&world)?;
        assert_same(&world.tree_contents(&world.main()), &with_late)?;
    });
}
