//! A plan says what then happens, and touches nothing.

use std::collections::BTreeMap;

use git::cascade::Step;
use git::push::Pushed;
use git::repository::Extent;
use git::stack::{Claim, Stack};
use git::{Error, Oid};
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::trains::plan::{ConflictsWith, LandingPlan, PlannedStep, PushReason, StackMember};
use tokio_util::sync::CancellationToken;

use crate::support::engine::{branch, pr, pull};
use crate::support::{Change, World};

fn member(number: u64, name: &str, on: Option<(u64, &str)>) -> StackMember {
    let base = branch(on.map_or("main", |(_, base)| base));
    StackMember::new(pr(number), branch(name), base, on.map(|(number, _)| pr(number)))
}

fn open(world: &World, extent: Extent) -> Stack {
    let repository = world.repository(extent);
    world.run(repository.glance(CancellationToken::new())).expect("a glance")
}

/// Puts a pull request on the remote.
fn put(world: &World, number: u64, name: &str, on: &Oid, changes: &[Change]) -> Oid {
    let head = world.commit(&[on], changes, name);
    world.set_ref(&format!("refs/heads/{name}"), &head);
    world.set_pull_ref(number, &head);
    head
}

fn lines(number: u8) -> String {
    (1..=9).map(|line| if line == number { format!("changed by {number}\n") } else { format!("{line}\n") }).collect()
}

/// Four pull requests: #1, #2 on it, #3 and #4 on #2. All change the same file, each elsewhere; `main` has moved.
fn fan_out() -> (World, Vec<StackMember>) {
    let world = World::with_base(&[Change::write("file", lines(0)), Change::write("other", "x\n")]);
    let base = world.base().clone();
    let one = put(&world, 1, "one", &base, &[Change::write("a1", "1\n"), Change::write("file", lines(1))]);
    let two = put(&world, 2, "two", &one, &[Change::write("a2", "2\n")]);
    put(&world, 3, "three", &two, &[Change::write("a3", "3\n"), Change::delete("other")]);
    put(&world, 4, "four", &two, &[Change::write("a4", "4\n")]);
    // #1 got another commit that #2 has not seen.
    put(&world, 1, "one", &one, &[Change::write("a1", "one\n")]);
    let main = world.commit(&[&base], &[Change::write("file", lines(9))], "main");
    world.set_ref("refs/heads/main", &main);
    let members = vec![
        member(1, "one", None),
        member(2, "two", Some((1, "one"))),
        member(3, "three", Some((2, "two"))),
        member(4, "four", Some((2, "two"))),
    ];
    (world, members)
}

/// Does what the plan says, on the remote, with GitHub's squash; says which tree each push and squash gave.
async fn carry_out(world: &World, stack: &Stack, plan: &LandingPlan) -> Vec<Sha> {
    let main = branch("main");
    let mut squashed: BTreeMap<PrNumber, Claim> = BTreeMap::new();
    let mut trees = Vec::new();
    for step in &plan.steps {
        match step {
            PlannedStep::Retarget { .. } => {}
            PlannedStep::Squash { pull, .. } => {
                let known_before = Some(world.main());
                let head = world.rev_parse(&format!("refs/pull/{pull}/head"));
                let commit = world.squash(&head, "Squash");
                let landed = stack_commit(world, &commit);
                trees.push(landed);
                squashed.insert(*pull, Claim { pull: *pull, merge_commit: commit, commits: None, known_before });
            }
            PlannedStep::Push { pull: number, branch: name, why, .. } => {
                let pull = pull(number.get(), name.as_str());
                let step = match why {
                    PushReason::Prepare(predecessor) => stack.prepare(&pull, *predecessor, &main).await,
                    PushReason::Reconcile(predecessor) => {
                        let squash = stack.validate(&squashed[predecessor], &main).await.expect("looked");
                        stack.reconcile(&pull, &squash.expect("a squash"), &main).await
                    }
                    PushReason::CatchUp => stack.catch_up(&pull, &main).await,
                };
                let Step::Advance(advance) = step.expect("a step") else { panic!("{number} should move: {why:?}") };
                assert_eq!(stack.push(name, &advance).await.expect("a push"), Pushed::Landed);
                world.set_pull_ref(number.get(), &advance.to);
                trees.push(Sha::from(&advance.tree));
            }
        }
    }
    trees
}

fn stack_commit(world: &World, commit: &Oid) -> Sha {
    Sha::from(&world.rev_parse(&format!("{commit}^{{tree}}")))
}

fn planned_trees(plan: &LandingPlan) -> Vec<Sha> {
    let trees = plan.steps.iter().filter_map(|step| match step {
        PlannedStep::Push { tree, .. } | PlannedStep::Squash { tree, .. } => Some(tree.clone()),
        PlannedStep::Retarget { .. } => None,
    });
    trees.collect()
}

fn what_is_planned_happens(extent: Extent) {
    let (world, members) = fan_out();
    let before = world.all_refs();
    let stack = open(&world, extent);
    let plan = world.run(stack.plan(&members, &branch("main"))).expect("a plan");
    assert_eq!(world.all_refs(), before, "a plan changes nothing on the remote");
    assert!(plan.lands_everything(), "{plan}");
    let expected = "Landing this stack takes 4 squashes, 6 pushes, and 3 retargets; CI would run 6 times.\n\n1. push \
        to `two` (#2): merge the head of #1\n2. squash #1 into `main`\n3. push to `two` (#2): reconcile it with the \
        squash of #1\n4. retarget #2 from `one` to `main`\n5. push to `three` (#3): merge the head of #2\n6. push to \
        `four` (#4): merge the head of #2\n7. squash #2 into `main`\n8. push to `three` (#3): reconcile it with the \
        squash of #2\n9. retarget #3 from `two` to `main`\n10. push to `four` (#4): reconcile it with the squash of \
        #2\n11. retarget #4 from `two` to `main`\n12. squash #3 into `main`\n13. push to `four` (#4): catch up with \
        `main`\n14. squash #4 into `main`";
    assert_eq!(plan.to_string(), expected.replace("6 pushes", "7 pushes").replace("6 times", "7 times").trim_end());
    let trees = world.run(carry_out(&world, &stack, &plan));
    assert_eq!(trees, planned_trees(&plan));
    let landed = world.tree_contents(&world.main());
    assert_eq!(landed.keys().collect::<Vec<_>>(), ["a1", "a2", "a3", "a4", "file"]);
    world.run(stack.close()).expect("closed");
}

#[test]
fn every_tree_that_is_planned_is_the_tree_that_comes_of_it() {
    what_is_planned_happens(Extent::Full);
}

#[test]
fn a_plan_in_a_partial_clone_is_the_same() {
    what_is_planned_happens(Extent::Partial);
}

#[test]
fn a_plan_leaves_no_object_behind() {
    let (world, members) = fan_out();
    let stack = open(&world, Extent::Full);
    world.run(stack.fetch(&[pull(1, "one").wanted()])).expect("fetched");
    world.run(stack.plan(&members, &branch("main"))).expect("a plan");
    let before = world.blobs_of_clone();
    let folder = world.clones().join("octocat-hello");
    let left: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.starts_with(".plan-")), "{left:?}");
    world.run(stack.plan(&members, &branch("main"))).expect("a plan");
    assert_eq!(world.blobs_of_clone(), before);
}

#[test]
fn every_conflict_is_predicted_with_its_files_and_what_it_holds_up() {
    let (world, mut members) = fan_out();
    let two = world.rev_parse("refs/heads/two");
    // #3 changes what `main` changed; #5 stands on it. #4 has nothing to do with that.
    put(&world, 3, "three", &two, &[Change::write("file", lines(9).replace("changed by 9", "mine"))]);
    let three = world.rev_parse("refs/heads/three");
    put(&world, 5, "five", &three, &[Change::write("a5", "5\n")]);
    members.push(member(5, "five", Some((3, "three"))));
    let stack = open(&world, Extent::Full);
    let plan = world.run(stack.plan(&members, &branch("main"))).expect("a plan");
    assert!(!plan.lands_everything());
    let [predicted] = plan.conflicts.as_slice() else { panic!("one conflict: {plan}") };
    assert_eq!(predicted.pull, pr(3));
    assert_eq!(predicted.conflict.files[0].path, "file");
    assert_eq!(plan.unreached, [pr(3), pr(5)]);
    assert!(plan.steps.iter().any(|step| matches!(step, PlannedStep::Squash { pull, .. } if *pull == pr(4))));
}

#[test]
fn a_root_that_conflicts_with_the_default_branch_stops_everything() {
    let (world, members) = fan_out();
    let base = world.base().clone();
    put(&world, 1, "one", &base, &[Change::write("file", lines(9).replace("changed by 9", "mine"))]);
    let stack = open(&world, Extent::Full);
    let plan = world.run(stack.plan(&members, &branch("main"))).expect("a plan");
    assert!(
        plan.conflicts.iter().any(|found| found.pull == pr(1) && found.with == ConflictsWith::DefaultBranch),
        "{plan}"
    );
    assert_eq!(plan.unreached, [pr(1), pr(2), pr(3), pr(4)]);
    assert!(!plan.steps.iter().any(|step| matches!(step, PlannedStep::Squash { .. })));
}

#[test]
fn what_is_no_stack_is_refused() {
    let (world, members) = fan_out();
    let stack = open(&world, Extent::Full);
    let plan = |members: &[StackMember], default: &BranchName| world.run(stack.plan(members, default));
    let cycle = [member(1, "one", Some((2, "two"))), member(2, "two", Some((1, "one")))];
    assert!(plan(&cycle, &branch("main")).unwrap_err().to_string().contains("cycle"));
    let two_roots = [member(1, "one", None), member(2, "two", None)];
    assert!(
        plan(&two_roots, &branch("main")).unwrap_err().to_string().contains("#1 and #2 do not belong to one stack")
    );
    assert!(matches!(plan(&members, &branch("trunk")), Err(Error::BranchGone(_))));
}
