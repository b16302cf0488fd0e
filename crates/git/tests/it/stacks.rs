//! Stacks at work: fetching, the steps of a cascade, and what they leave on the remote.

use git::cascade::{Advance, Merging, Step};
use git::push::Pushed;
use git::repository::{Extent, Wanted};
use git::stack::{Claim, Stack};
use git::{Error, Oid};
use merge_train_core::ids::Sha;
use merge_train_core::repo::trains::work::{BranchMergeOutcome, LandedSquash, MergeStep, OwnChange};
use tokio_util::sync::CancellationToken;

use crate::support::engine::{branch, pr, pull};
use crate::support::{Change, World};

/// `main` with a file, #1 on it, #2 on #1; then both #1 and `main` moved on.
struct Story {
    world: World,
    first: Oid,
    second: Oid,
}

fn story() -> Story {
    let world = World::with_base(&[Change::write("base", "base\n"), Change::write("shared", "1\n2\n3\n4\n5\n")]);
    let base = world.base().clone();
    let first = world.commit(&[&base], &[Change::write("one", "one\n")], "one");
    let second = world.commit(&[&first], &[Change::write("two", "two\n")], "two");
    let first = world.commit(&[&first], &[Change::write("shared", "1\n2\n3\n4\nfive\n")], "one more");
    let main = world.commit(&[&base], &[Change::write("shared", "one\n2\n3\n4\n5\n")], "main moves");
    for (name, head) in [("main", &main), ("first", &first), ("second", &second)] {
        world.set_ref(&format!("refs/heads/{name}"), head);
    }
    world.set_pull_ref(1, &first);
    world.set_pull_ref(2, &second);
    Story { world, first, second }
}

fn open(world: &World, extent: Extent) -> Stack {
    let repository = world.repository(extent);
    world.run(repository.stack(pr(1), CancellationToken::new())).expect("a stack")
}

fn advance(step: Step) -> Advance {
    match step {
        Step::Advance(advance) => advance,
        other => panic!("the branch should move: {other:?}"),
    }
}

async fn land(stack: &Stack, name: &str, step: Step) -> Advance {
    let advance = advance(step);
    assert_eq!(stack.push(&branch(name), &advance).await.expect("a push"), Pushed::Landed);
    advance
}

/// The whole cascade of one descendant, on the remote; then what the descendant is.
fn cascade(extent: Extent) {
    let Story { world, first, second } = story();
    let (main, descendant) = (branch("main"), pull(2, "second"));
    let stack = open(&world, extent);
    let prepared = world.run(async {
        let step = stack.prepare(&descendant, pr(1), &main).await.expect("prepared");
        land(&stack, "second", step).await
    });
    assert_eq!(prepared.from, second);
    assert_eq!(world.rev_parse("refs/heads/second"), prepared.to);

    let known_before = Some(world.main());
    let squash = world.squash(&first, "Squash of #1");
    let after = world.commit(&[&squash], &[Change::write("late", "late\n")], "main moves again");
    world.set_ref("refs/heads/main", &after);
    let claim = Claim { pull: pr(1), merge_commit: squash.clone(), commits: Some(2), known_before };
    world.run(async {
        let squash = stack.validate(&claim, &main).await.expect("looked").expect("a squash");
        let step = stack.reconcile(&descendant, &squash, &main).await.expect("reconciled");
        land(&stack, "second", step).await;
        let step = stack.catch_up(&descendant, &main).await.expect("caught up");
        land(&stack, "second", step).await;
        let again = stack.catch_up(&descendant, &main).await.expect("caught up");
        assert!(matches!(again, Step::Unchanged(_)), "{again:?}");
    });

    let head = world.rev_parse("refs/heads/second");
    let contents = world.tree_contents(&head);
    let text = |path: &str| String::from_utf8(contents[path].1.clone()).expect("text");
    assert_eq!(text("shared"), "one\n2\n3\n4\nfive\n");
    assert_eq!(contents.keys().collect::<Vec<_>>(), ["base", "late", "one", "shared", "two"]);
    // The worktree is at the result, with nothing checked out.
    let worktree = stack.repository().worktrees().path(&git::worktree::Name::Stack(pr(1)));
    let files: Vec<_> =
        std::fs::read_dir(&worktree).expect("a worktree").map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, [".git"]);
}

#[test]
fn a_descendant_goes_through_a_whole_cascade_in_a_full_clone() {
    cascade(Extent::Full);
}

#[test]
fn a_descendant_goes_through_a_whole_cascade_in_a_partial_clone() {
    cascade(Extent::Partial);
}

#[test]
fn a_late_addition_ends_where_the_normal_way_would_have_ended() {
    let Story { world, first, .. } = story();
    let main = branch("main");
    let squash = world.squash(&first, "Squash of #1");
    let landed = LandedSquash {
        pull: pr(1),
        commit: Sha::from(&squash),
        head: None,
        known_before: None,
        former_heads: Vec::new(),
    };
    let change = OwnChange { pull: pr(2), people_head: None, below: vec![landed] };
    let stack = open(&world, Extent::Full);
    let late = world.run(async {
        let step = MergeStep::AddLate { change };
        let merged = stack.merge_for_train(&pull(2, "second"), &step, &main).await.expect("added");
        let BranchMergeOutcome::Advance { from, to, tree, .. } = merged else { panic!("nothing to push: {merged:?}") };
        let oid = |sha: &Sha| Oid::try_from(sha).expect("a name");
        land(&stack, "second", Step::Advance(Advance { from: oid(&from), to: oid(&to), tree: oid(&tree) })).await
    });
    // One push, however many merges; the descendant now differs from main by its own file alone.
    let (main, head) = (world.tree_contents(&world.main()), world.tree_contents(&late.to));
    let own: Vec<_> = head.iter().filter(|(path, file)| main.get(*path) != Some(*file)).map(|(path, _)| path).collect();
    assert_eq!(own, ["two"]);
    assert!(main.keys().all(|path| head.contains_key(path)));
}

#[test]
fn a_merge_commit_that_nobody_has_is_no_squash() {
    let Story { world, .. } = story();
    let nowhere = Oid::parse("1234567890".repeat(4)).expect("a name");
    for extent in [Extent::Full, Extent::Partial] {
        let stack = open(&world, extent);
        let claim = Claim { pull: pr(1), merge_commit: nowhere.clone(), commits: None, known_before: None };
        let refusal = world.run(stack.validate(&claim, &branch("main"))).expect("looked").expect_err("no squash");
        assert!(matches!(refusal, git::proof::NotSquash::CommitElsewhere { .. }), "{refusal}");
    }
}

#[test]
fn a_root_that_is_behind_takes_in_the_default_branch() {
    let Story { world, .. } = story();
    let stack = open(&world, Extent::Full);
    world.run(async {
        let step = stack.update_root(&pull(1, "first"), &branch("main")).await.expect("updated");
        land(&stack, "first", step).await;
        let again = stack.update_root(&pull(1, "first"), &branch("main")).await.expect("updated");
        assert!(matches!(again, Step::Unchanged(_)), "{again:?}");
    });
}

#[test]
fn a_conflict_names_its_files_and_moves_nothing() {
    let Story { world, first, second } = story();
    let clashing = world.commit(&[&second], &[Change::write("shared", "1\n2\n3\n4\nFIVE\n")], "clash");
    world.set_ref("refs/heads/second", &clashing);
    let stack = open(&world, Extent::Full);
    let step = world.run(stack.prepare(&pull(2, "second"), pr(1), &branch("main"))).expect("tried");
    let Step::Conflict(clash) = step else { panic!("a conflict: {step:?}") };
    assert_eq!(clash.merging, Merging::Predecessor(pr(1)));
    assert_eq!(clash.conflict.to_string(), "- `shared`: both sides changed the same lines");
    assert_eq!(world.rev_parse("refs/heads/second"), clashing);
    assert_eq!(world.rev_parse("refs/heads/first"), first);
}

#[test]
fn what_the_remote_no_longer_has_is_named() {
    let Story { world, .. } = story();
    let stack = open(&world, Extent::Full);
    world.run(async {
        let gone = stack.prepare(&pull(2, "second"), pr(123), &branch("main")).await.unwrap_err();
        assert!(matches!(gone, Error::PullRefGone(number) if number == pr(123)));
        assert_eq!(
            gone.to_string(),
            "Failed to fetch predecessor PR #123's head ref (refs/pull/123/head).\n\n\
             This ref may have been garbage-collected. On github.com this should not happen;\n\
             on GitHub Enterprise Server, check your instance's ref retention settings.\n\n\
             The cascade cannot proceed without the predecessor's commit history."
        );
        let gone = stack.prepare(&pull(3, "third"), pr(1), &branch("main")).await.unwrap_err();
        assert!(matches!(gone, Error::BranchGone(name) if name == branch("third")));
    });
}

#[test]
fn stacks_that_work_at_the_same_time_do_not_disturb_each_other() {
    let Story { world, .. } = story();
    let base = world.base().clone();
    let main = branch("main");
    let mut wanted = Vec::new();
    for number in 10..22_u64 {
        // Names that could not be refs of one namespace: `s` and `s/10`.
        let name = if number == 10 { "s".to_owned() } else { format!("t{number}/s") };
        let head = world.commit(&[&base], &[Change::write(format!("f{number}"), "x\n")], "one of many");
        world.set_ref(&format!("refs/heads/{name}"), &head);
        wanted.push((number, name, head));
    }
    let repository = world.repository(Extent::Full);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let work = wanted.iter().map(|(number, name, head)| {
            let (repository, main, number) = (repository.clone(), main.clone(), *number);
            let (name, head) = (name.clone(), head.clone());
            tokio::spawn(async move {
                let stack = repository.stack(pr(number), CancellationToken::new()).await.expect("a stack");
                for _ in 0..3 {
                    // Worktrees come and go while the others fetch.
                    let glance = repository.glance(CancellationToken::new()).await.expect("a glance");
                    glance.fetch(&[Wanted::Default(main.clone())]).await.expect("fetched");
                    glance.close().await.expect("closed");
                    let wanted = [Wanted::Default(main.clone()), Wanted::Branch(pr(number), branch(&name))];
                    let heads = stack.fetch(&wanted).await.expect("fetched");
                    assert_eq!(heads.of(&wanted[1]).expect("a head"), &head);
                }
                let step = stack.update_root(&pull(number, &name), &main).await.expect("updated");
                land(&stack, &name, step).await;
                stack.close().await.expect("closed");
            })
        });
        for done in work.collect::<Vec<_>>() {
            done.await.expect("a stack's work");
        }
    });
    let left = world.refs_of_clone();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn work_that_is_called_off_ends() {
    let Story { world, .. } = story();
    let repository = world.repository(Extent::Full);
    let cancel = CancellationToken::new();
    let stack = world.run(repository.stack(pr(1), cancel.clone())).expect("a stack");
    cancel.cancel();
    let ended = world.run(stack.prepare(&pull(2, "second"), pr(1), &branch("main")));
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
}
