//! Squash messages as the operator wants them.

use merge_train_core::repo::trains::message::SquashMessageTemplates;
use merge_train_core::repo::trains::work::{LandedSquash, MergeStep, TrainTask, TrainTaskOutcome};

use super::World;
use super::world::branch;

fn template(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn a_template_words_the_squash_and_what_has_none_is_left_to_github() {
    let world = World::wording(SquashMessageTemplates { title: template("{title} [{branch}]"), body: None }).await;
    let one = world.open_pull("one", "main").await;
    world.write("one", "more.txt", "b\n").await;
    world.squash(one, one, "one").await;
    assert_eq!(world.landed_message().await, "Add one [one]\n\n* Write one.txt\n\n* Write more.txt");
    assert_eq!(world.calls("POST /graphql").await, 1);
    world.finish().await;
}

#[tokio::test]
async fn without_templates_nothing_more_is_asked() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let head = world.head("one").await;
    let (via, wording) = (merge_train_core::repo::trains::work::MergeEndpoint::Now, SquashMessageTemplates::default());
    world.work(one, TrainTask::Squash { pull: one, head, base: branch("main"), via, wording }).await.unwrap();
    assert_eq!(world.calls("POST /graphql").await, 0);
    assert_eq!(world.calls("PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge").await, 1);
    world.finish().await;
}

#[tokio::test]
async fn a_descendant_tells_of_its_own_commits_alone() {
    let body = template("{body}\n\n{commits}\n\n{co_authors}\n{reviewers}");
    let world = World::wording(SquashMessageTemplates { title: template("{title} (#{number})"), body }).await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    world.write("one", "late.txt", "c\n").await;
    world.write("main", "other.txt", "b\n").await;
    let mona = world.collaborator("mona").await;
    world
        .merge_and_push(
            one,
            two,
            "two",
            MergeStep::Prepare { predecessor: one, prepared_with: Vec::new(), former_heads: Vec::new() },
        )
        .await;
    let head = world.head("one").await;
    let commit = world.squash(one, one, "one").await;
    let landed = LandedSquash { pull: one, commit, head: Some(head), known_before: None, former_heads: Vec::new() };
    world.merge_and_push(one, two, "two", MergeStep::Reconcile { landed }).await;
    let retargeted = world.work(one, TrainTask::Retarget { pull: two, base: branch("main") }).await;
    assert!(matches!(retargeted, Ok(TrainTaskOutcome::Retargeted(_))), "{retargeted:?}");
    world.approve(two, &mona).await;
    world.squash(one, two, "two").await;
    assert_eq!(
        world.landed_message().await,
        format!("Add two (#{two})\n\nWhy not.\n\n* Write two.txt\n\nReviewed-by: @mona")
    );
    world.finish().await;
}
