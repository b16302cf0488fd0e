//! Merges, pushes, proofs and worktrees.

use merge_train_core::ids::{PrNumber, Sha};
use merge_train_core::repo::trains::plan::StackMember;
use merge_train_core::repo::trains::work::{
    BranchMergeOutcome, ExpectedTree, LandedSquash, LandedTreeProof, MergeStep, MergedWith, OwnChange, PushOutcome,
    PushProbeResult, TrainTask, TrainTaskOutcome, WorktreeCleanup,
};
use merge_train_core::repo::{Effect, EffectFailureKind, trains};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::World;
use super::world::{branch, push};

/// Two pull requests, `two` upon `one`, and something that landed on main since.
async fn stack_of_two() -> (World, PrNumber, PrNumber) {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    world.write("main", "other.txt", "b\n").await;
    (world, one, two)
}

fn landed(pull: PrNumber, commit: &Sha, head: Option<&Sha>, known_before: Option<&Sha>) -> LandedSquash {
    let (head, known_before) = (head.cloned(), known_before.cloned());
    LandedSquash { pull, commit: commit.clone(), head, known_before, former_heads: Vec::new() }
}

/// What a pull request changes, stacked on these.
fn change(pull: PrNumber, below: &[LandedSquash]) -> OwnChange {
    OwnChange { pull, people_head: None, below: below.to_vec() }
}

fn prepare(predecessor: PrNumber) -> MergeStep {
    MergeStep::Prepare { predecessor, prepared_with: Vec::new(), former_heads: Vec::new() }
}

fn expect(pull: PrNumber, head: &Sha) -> TrainTask {
    TrainTask::Expect { change: change(pull, &[]), head: head.clone(), default: branch("main") }
}

fn prove(landed: &LandedSquash) -> TrainTask {
    TrainTask::Prove { landed: landed.clone(), earlier: Vec::new(), default: branch("main") }
}

async fn probe(
    world: &World,
    root: PrNumber,
    push: &merge_train_core::repo::trains::work::BranchPush,
) -> PushProbeResult {
    match world.work(root, TrainTask::Probe(push.clone())).await.unwrap() {
        TrainTaskOutcome::Probed(probed) => probed,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cascade_of_two_lands_step_by_step_and_is_proven() {
    let (world, one, two) = stack_of_two().await;
    world.write("one", "late.txt", "c\n").await;
    let (before, head) = (world.head("main").await, world.head("one").await);

    let merged = world.merge(one, two, "two", prepare(one)).await;
    let prepared = push(two, "two", merged);
    assert_eq!(prepared.contains, std::slice::from_ref(&head));
    assert_eq!(probe(&world, one, &prepared).await, PushProbeResult::NotYet);
    assert_eq!(
        world.work(one, TrainTask::Push(prepared.clone())).await,
        Ok(TrainTaskOutcome::Pushed(PushOutcome::Landed))
    );
    assert_eq!(world.head("two").await, prepared.to);
    assert_eq!(probe(&world, one, &prepared).await, PushProbeResult::Landed { head: prepared.to.clone() });
    let again = world.merge(one, two, "two", prepare(one)).await;
    assert_eq!(again, BranchMergeOutcome::Unchanged { head: prepared.to });

    let expected = world.work(one, expect(one, &head)).await.unwrap();
    let TrainTaskOutcome::Expected(ExpectedTree::Tree { default_head, tree, .. }) = expected else {
        panic!("it merges cleanly")
    };
    assert_eq!(default_head, before);
    let commit = world.squash(one, one, "one").await;
    let squashed = world.in_repo(Method::GET, &format!("/git/commits/{commit}"), Value::Null).await;
    assert_eq!(squashed["tree"]["sha"], tree.as_str());
    let landed = landed(one, &commit, Some(&head), Some(&before));
    assert_eq!(world.work(one, prove(&landed)).await, Ok(TrainTaskOutcome::Proved(LandedTreeProof::Proven)));

    world.write("main", "after.txt", "d\n").await;
    let merged = world.merge(one, two, "two", MergeStep::Reconcile { landed: landed.clone() }).await;
    let reconcile = push(two, "two", merged);
    assert_eq!(reconcile.contains, [commit]);
    assert_eq!(world.work(one, TrainTask::Push(reconcile)).await, Ok(TrainTaskOutcome::Pushed(PushOutcome::Landed)));
    let merged = world.merge(one, two, "two", MergeStep::CatchUp { change: change(two, &[landed]) }).await;
    let catch_up = push(two, "two", merged);
    assert_eq!(catch_up.contains, [world.head("main").await]);
    assert_eq!(world.work(one, TrainTask::Push(catch_up)).await, Ok(TrainTaskOutcome::Pushed(PushOutcome::Landed)));
    assert_eq!(world.files("two").await, ["after.txt", "late.txt", "one.txt", "other.txt", "two.txt"]);

    let retarget = TrainTask::Retarget { pull: two, base: branch("main") };
    world.work(one, retarget).await.unwrap();
    world.squash(one, two, "two").await;
    assert_eq!(world.files("main").await, ["after.txt", "late.txt", "one.txt", "other.txt", "two.txt"]);
    world.finish().await;
}

#[tokio::test]
async fn what_conflicts_is_named_with_what_it_conflicts_with() {
    let (world, one, two) = stack_of_two().await;
    world.write("one", "two.txt", "mine\n").await;
    let merged = world.merge(one, two, "two", prepare(one)).await;
    let BranchMergeOutcome::Conflict { with, conflict, .. } = merged else { panic!("{merged:?}") };
    assert_eq!((with, conflict.files[0].path.as_str()), (MergedWith::Predecessor, "two.txt"));

    world.write("main", "one.txt", "theirs\n").await;
    let merged = world.merge(one, one, "one", MergeStep::UpdateRoot).await;
    let BranchMergeOutcome::Conflict { with, conflict, .. } = merged else { panic!("{merged:?}") };
    assert_eq!((with, conflict.files[0].path.as_str()), (MergedWith::Default, "one.txt"));
    let expected = world.work(one, expect(one, &world.head("one").await)).await.unwrap();
    let TrainTaskOutcome::Expected(ExpectedTree::Conflict(conflict)) = expected else {
        panic!("it cannot be squashed")
    };
    assert_eq!(conflict.files[0].path, "one.txt");
    world.finish().await;
}

#[tokio::test]
async fn a_descendant_that_was_not_prepared_is_not_reconciled_but_can_be_added_late() {
    let (world, one, two) = stack_of_two().await;
    world.write("one", "late.txt", "c\n").await;
    let head = world.head("one").await;
    let commit = world.squash(one, one, "one").await;
    for known in [Some(&head), None] {
        let landed = landed(one, &commit, known, None);
        let merged = world.merge(one, two, "two", MergeStep::Reconcile { landed }).await;
        assert!(matches!(merged, BranchMergeOutcome::NotPrepared(_)), "{merged:?}");
    }
    let landed = landed(one, &commit, None, None);
    let add = MergeStep::AddLate { change: change(two, &[landed]) };
    let add = push(two, "two", world.merge(one, two, "two", add).await);
    assert_eq!(add.contains, [world.head("main").await, commit]);
    assert_eq!(world.work(one, TrainTask::Push(add)).await, Ok(TrainTaskOutcome::Pushed(PushOutcome::Landed)));
    assert_eq!(world.files("two").await, ["late.txt", "one.txt", "other.txt", "two.txt"]);
    world.finish().await;
}

#[tokio::test]
async fn what_is_no_squash_is_not_reconciled_and_not_proven() {
    let (world, one, two) = stack_of_two().await;
    let (before, head) = (world.head("main").await, world.head("one").await);
    world.fault(json!({ "kind": "wrong_squash", "how": "two_parents" })).await;
    let commit = world.squash(one, one, "one").await;
    let landed = landed(one, &commit, Some(&head), Some(&before));
    let merged = world.merge(one, two, "two", MergeStep::Reconcile { landed: landed.clone() }).await;
    let BranchMergeOutcome::NotASquash { reason, .. } = merged else { panic!("{merged:?}") };
    assert!(reason.contains("was merged with merge (not squash)"), "{reason}");
    let proved = world.work(one, prove(&landed)).await.unwrap();
    let TrainTaskOutcome::Proved(LandedTreeProof::NotASquash { reason: proven }) = proved else { panic!("it is none") };
    assert_eq!(proven, reason);
    world.finish().await;
}

#[tokio::test]
async fn what_stood_on_no_squash_can_be_brought_into_order_by_hand() {
    let (world, one, two) = stack_of_two().await;
    world.fault(json!({ "kind": "wrong_squash", "how": "two_parents" })).await;
    let commit = world.squash(one, one, "one").await;
    let late = || MergeStep::AddLate { change: change(two, &[landed(one, &commit, None, None)]) };
    let refused = world.merge(two, two, "two", late()).await;
    assert!(matches!(refused, BranchMergeOutcome::NotASquash { .. }), "{refused:?}");
    world.in_repo(Method::POST, "/merges", json!({ "base": "two", "head": "main" })).await;
    assert_eq!(
        world.merge(two, two, "two", late()).await,
        BranchMergeOutcome::Unchanged { head: world.head("two").await }
    );
    world.finish().await;
}

#[tokio::test]
async fn a_squash_that_reverts_the_work_of_others_is_found_out() {
    let (world, one, _) = stack_of_two().await;
    let (before, head) = (world.head("main").await, world.head("one").await);
    world.fault(json!({ "kind": "wrong_squash", "how": "revert_base" })).await;
    let commit = world.squash(one, one, "one").await;
    let landed = landed(one, &commit, Some(&head), Some(&before));
    let proved = world.work(one, prove(&landed)).await.unwrap();
    let TrainTaskOutcome::Proved(LandedTreeProof::WrongTree { files, .. }) = proved else { panic!("{proved:?}") };
    assert_eq!(files, ["other.txt"]);
    world.finish().await;
}

#[tokio::test]
async fn a_push_of_somebody_else_is_told_from_one_of_our_own() {
    let (world, one, two) = stack_of_two().await;
    let update = push(one, "one", world.merge(one, one, "one", MergeStep::UpdateRoot).await);
    let theirs = world.write("one", "theirs.txt", "x\n").await;
    let tree = world.in_repo(Method::GET, &format!("/git/commits/{theirs}"), Value::Null).await["tree"]["sha"].clone();
    let tree = Some(Sha::parse(tree.as_str().unwrap()).unwrap());
    let pushed = world.work(one, TrainTask::Push(update.clone())).await;
    let foreign = PushOutcome::Foreign { head: theirs.clone(), tree: tree.clone() };
    assert_eq!(pushed, Ok(TrainTaskOutcome::Pushed(foreign)));
    assert_eq!(probe(&world, one, &update).await, PushProbeResult::Foreign { head: theirs, tree });

    let update = push(two, "two", world.merge(one, two, "two", prepare(one)).await);
    world
        .in_repo(Method::PATCH, "/git/refs/heads/two", json!({ "sha": world.head("main").await, "force": true }))
        .await;
    assert_eq!(probe(&world, one, &update).await, PushProbeResult::Rewound);
    world.delete_branch("two").await;
    assert_eq!(probe(&world, one, &update).await, PushProbeResult::BranchGone);
    assert_eq!(world.work(one, TrainTask::Push(update)).await, Ok(TrainTaskOutcome::Pushed(PushOutcome::BranchGone)));
    let merged = world.merge(one, two, "two", prepare(one)).await;
    assert_eq!(merged, BranchMergeOutcome::BranchGone);
    world.finish().await;
}

#[tokio::test]
async fn a_push_that_a_rule_forbids_is_rejected_with_the_reason() {
    let (world, one, _) = stack_of_two().await;
    let update = push(one, "one", world.merge(one, one, "one", MergeStep::UpdateRoot).await);
    world
        .in_repo(
            Method::PUT,
            "/branches/one/protection",
            json!({
                "required_status_checks": null, "enforce_admins": true, "restrictions": null,
                "required_pull_request_reviews": { "required_approving_review_count": 1 },
            }),
        )
        .await;
    let pushed = world.work(one, TrainTask::Push(update)).await.unwrap();
    let TrainTaskOutcome::Pushed(PushOutcome::Rejected { reason }) = pushed else { panic!("{pushed:?}") };
    assert!(reason.contains("Changes must be made through a pull request"), "{reason}");
    world.finish().await;
}

#[tokio::test]
async fn a_push_whose_commit_was_lost_with_the_clone_fails_for_now_and_is_probed() {
    let (world, one, _) = stack_of_two().await;
    let update = push(one, "one", world.merge(one, one, "one", MergeStep::UpdateRoot).await);
    world.lose_clones();
    let failure = world.work(one, TrainTask::Push(update.clone())).await.unwrap_err();
    assert_eq!(failure.kind, EffectFailureKind::Transient);
    assert!(failure.reason.contains("is not in the clone any more"), "{}", failure.reason);
    assert_eq!(probe(&world, one, &update).await, PushProbeResult::NotYet);
    world.finish().await;
}

#[tokio::test]
async fn a_head_that_moved_is_not_what_was_to_be_squashed() {
    let (world, one, _) = stack_of_two().await;
    let old = world.head("one").await;
    let head = world.write("one", "more.txt", "x\n").await;
    let changed = TrainTaskOutcome::Expected(ExpectedTree::HeadChanged { head });
    assert_eq!(world.work(one, expect(one, &old)).await, Ok(changed));
    assert_eq!(
        world.work(one, expect(PrNumber::new(77), &old)).await,
        Ok(TrainTaskOutcome::Expected(ExpectedTree::PullRefGone))
    );
    let merged = world.merge(one, one, "one", prepare(PrNumber::new(77))).await;
    assert_eq!(merged, BranchMergeOutcome::PullRefGone { pull: PrNumber::new(77) });
    world.finish().await;
}

#[tokio::test]
async fn a_plan_is_computed_and_leaves_nothing_behind() {
    let (world, one, two) = stack_of_two().await;
    let member =
        |pull, name: &str, base: &str, predecessor| StackMember::new(pull, branch(name), branch(base), predecessor);
    let members = vec![member(one, "one", "main", None), member(two, "two", "one", Some(one))];
    let planned = world.work(one, TrainTask::Plan { members, default: branch("main") }).await.unwrap();
    let TrainTaskOutcome::Planned(plan) = planned else { panic!("{planned:?}") };
    assert!(plan.lands_everything() && plan.root == one, "{plan}");
    assert!(world.worktrees().is_empty());
    world.finish().await;
}

#[tokio::test]
async fn worktrees_come_with_the_first_merge_and_go_when_they_are_told_to() {
    let (world, one, two) = stack_of_two().await;
    for tidying in [WorktreeCleanup::Remove, WorktreeCleanup::Clean, WorktreeCleanup::FanOut { new: vec![two] }] {
        assert_eq!(
            world.work(one, TrainTask::Worktrees(tidying)).await,
            Ok(TrainTaskOutcome::Tidied),
            "without a clone"
        );
    }
    world.merge(one, one, "one", MergeStep::UpdateRoot).await;
    assert_eq!(world.worktrees(), [format!("stack-{one}")]);
    world.work(one, TrainTask::Worktrees(WorktreeCleanup::Clean)).await.unwrap();
    assert_eq!(world.worktrees(), [format!("stack-{one}")]);
    world.work(one, TrainTask::Worktrees(WorktreeCleanup::FanOut { new: vec![two] })).await.unwrap();
    assert_eq!(world.worktrees(), [format!("stack-{two}")]);
    for _ in 0..2 {
        world.work(two, TrainTask::Worktrees(WorktreeCleanup::Remove)).await.unwrap();
        assert!(world.worktrees().is_empty());
    }
    world.work(two, TrainTask::Worktrees(WorktreeCleanup::Clean)).await.unwrap();
    assert!(world.worktrees().is_empty(), "what is not there needs no cleaning");
    world.finish().await;
}

#[tokio::test]
async fn a_server_that_fails_is_tried_again_and_one_that_refuses_is_not() {
    let (world, one, _) = stack_of_two().await;
    let merge =
        || TrainTask::Merge { step: MergeStep::UpdateRoot, pull: one, branch: branch("one"), default: branch("main") };
    world
        .fault(json!({ "match": { "path": "*git-upload-pack*" }, "kind": "status", "status": 503, "count": null }))
        .await;
    let failure = world.work(one, merge()).await.unwrap_err();
    assert_eq!(failure.kind, EffectFailureKind::Transient, "{}", failure.reason);
    world.control(Method::DELETE, "/faults", Value::Null).await;
    world
        .fault(json!({ "match": { "path": "*git-upload-pack*" }, "kind": "status", "status": 403, "count": null }))
        .await;
    let failure = world.work(one, merge()).await.unwrap_err();
    assert_eq!(failure.kind, EffectFailureKind::Permanent, "{}", failure.reason);
    assert!(failure.reason.contains("refused access"), "{}", failure.reason);
    world.finish().await;
}

#[tokio::test]
async fn a_merge_that_is_called_off_in_the_middle_ends_at_once() {
    let (world, one, _) = stack_of_two().await;
    world
        .fault(json!({ "match": { "path": "*git-upload-pack*" }, "kind": "delay", "ms": 60_000, "count": null }))
        .await;
    let work =
        TrainTask::Merge { step: MergeStep::UpdateRoot, pull: one, branch: branch("one"), default: branch("main") };
    let cancel = CancellationToken::new();
    let effect = Effect::Trains(trains::Effect::Work { root: one, work });
    let (input, ()) = tokio::join!(world.perform_until(effect, cancel.clone()), async {
        // The worktree is there: git is being waited for.
        crate::daemon::driver::tests::until("the merge has begun", async || !world.worktrees().is_empty()).await;
        cancel.cancel();
    });
    let Err(failure) = input else { panic!("{input:?}") };
    assert_eq!((failure.kind, failure.reason.as_str()), (EffectFailureKind::Transient, "merge was cancelled"));
    world.finish().await;
}
