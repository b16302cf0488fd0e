//! What a pull request stands on: declared, edited, deleted, contradicted.

use reqwest::Method;
use serde_json::json;

use crate::trains::support::{ADMIN, AUTHOR, STRANGER, Trains};

impl Trains {
    /// Waits until the daemon takes this for what a pull request stands on.
    async fn stands_on(&self, pr: u64, predecessor: Option<u64>) {
        self.until(&format!("#{pr} stands on {predecessor:?}"), async || {
            let state = self.state().await;
            (state["prs"][pr.to_string()]["predecessor"].as_u64() == predecessor).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_declaration_is_recorded_and_acknowledged() {
    let world = Trains::new().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.stands_on(two, Some(one)).await;
    world.stands_on(three, Some(two)).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_that_contradicts_the_base_is_refused() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open("two", "main").await;
    world.declares(two, one).await;
    world
        .told(
            two,
            "PR #2 declares predecessor #1, but its base branch `main` doesn't match #1's head branch `one`. The PR must be \
             based on the predecessor's branch.",
        )
        .await;
    world.stands_on(two, None).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predecessor_must_lead_down_to_the_default_branch() {
    let world = Trains::new().await;
    world.open("one", "main").await;
    let two = world.open("two", "one").await;
    let three = world.open("three", "two").await;
    world.declares(three, two).await;
    world.told(three, "declares no predecessor itself").await;
    world.stands_on(three, None).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_stand_on_itself_on_nothing_or_on_what_was_closed() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    world.close(one).await;
    world.declares(two, two).await;
    world.told(two, "cannot be its own predecessor").await;
    world.declares(two, 4711).await;
    world.told(two, "There is no pull request #4711 in this repository.").await;
    world.declares(two, one).await;
    world.told(two, "was closed without being merged").await;
    world.stands_on(two, None).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_cannot_be_declared() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.push("one").await;
    world.retarget(one, "two").await;
    world.declares(one, two).await;
    world.told(one, "is already stacked on #1").await;
    world.stands_on(one, None).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_names_another_valid_predecessor_changes_it() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let three = world.open("three", "one").await;
    let declared = world.declares(three, one).await;
    world.acknowledged(declared).await;
    world.retarget(three, "two").await;
    world.told(three, "This PR will not be included in the cascade until the base branch is corrected.").await;
    world.edits(AUTHOR, declared, &format!("@merge-train predecessor #{two}")).await;
    world.stands_on(three, Some(two)).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_names_an_invalid_predecessor_is_rejected_and_the_old_one_remains() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let three = world.open("three", "one").await;
    let declared = world.declares(three, one).await;
    world.acknowledged(declared).await;
    world.edits(AUTHOR, declared, &format!("@merge-train predecessor #{two}")).await;
    world.told(three, "its base branch `one` doesn't match #2's head branch `two`").await;
    world.settled().await;
    world.stands_on(three, Some(one)).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_takes_the_command_away_takes_the_predecessor_away() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    let declared = world.declares(two, one).await;
    world.acknowledged(declared).await;
    world.edits(AUTHOR, declared, "I changed my mind.").await;
    world.stands_on(two, None).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_adds_the_command_declares_unless_there_is_a_declaration_already() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    let first = world.says(AUTHOR, two, "Hello.").await;
    let second = world.says(AUTHOR, two, "Hello again.").await;
    world.edits(AUTHOR, first, &format!("@merge-train predecessor #{one}")).await;
    world.acknowledged(first).await;
    world.stands_on(two, Some(one)).await;
    world.edits(AUTHOR, second, &format!("@merge-train predecessor #{one}")).await;
    world.told(two, &format!("PR already has predecessor declaration in comment #{first} pointing to #{one}.")).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_several_declarations_counts_and_the_others_are_refused() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let declared = world.comments(two).await[0]["id"].as_u64().expect("an id");
    world.declares(two, one).await;
    world
        .told(
            two,
            &format!(
                "PR already has predecessor declaration in comment #{declared} pointing to #{one}. Edit that comment to \
                 change predecessors, or delete it first."
            ),
        )
        .await;
    world.stands_on(two, Some(one)).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_declaration_deleted_no_other_comment_takes_its_place_but_a_fresh_one_can() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let declared = world.comments(two).await[0]["id"].as_u64().expect("an id");
    world.declares(two, one).await;
    world.told(two, "PR already has predecessor declaration").await;
    world.deletes(AUTHOR, declared).await;
    world.stands_on(two, None).await;
    world.settled().await;
    world.stands_on(two, None).await;
    let fresh = world.declares(two, one).await;
    world.acknowledged(fresh).await;
    world.stands_on(two, Some(one)).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_another_comment_changes_nothing() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let other = world.says(STRANGER, two, "@merge-train predecessor is a strange word").await;
    world.deletes(ADMIN, other).await;
    world.settled().await;
    world.stands_on(two, Some(one)).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_changed_while_the_train_is_under_way_aborts_it() {
    let world = Trains::new().await;
    let [one, two, three] = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    let declared = world.comments(three).await[0]["id"].as_u64().expect("an id");
    world.retarget(three, "one").await;
    world.told(three, "was retargeted to `one`").await;
    world.edits(AUTHOR, declared, &format!("@merge-train predecessor #{one}")).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PredecessorDeclarationChanged");
    world.told(three, "Predecessor declaration changed mid-cascade").await;
    world.told(two, "failed at PR #").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_taken_away_while_the_train_is_under_way_aborts_it() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let declared = world.comments(two).await[0]["id"].as_u64().expect("an id");
    world.edits(AUTHOR, declared, "Never mind.").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PredecessorDeclarationChanged");
    world.told(two, "Predecessor declaration changed mid-cascade").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_deleted_while_the_train_is_under_way_aborts_it() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let declared = world.comments(two).await[0]["id"].as_u64().expect("an id");
    world.deletes(AUTHOR, declared).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PredecessorDeclarationDeleted");
    world.told(two, "Predecessor declaration deleted mid-cascade").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_edit_leaves_the_train_alone() {
    let world = Trains::new().await;
    let [one, two, three] = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    let declared = world.comments(three).await[0]["id"].as_u64().expect("an id");
    world.edits(AUTHOR, declared, &format!("@merge-train predecessor #{one}")).await;
    world.told(three, "The edit was not accepted").await;
    world.ci_passes("ci").await;
    world.landed(&[one, two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_with_another_base_than_its_predecessor_is_left_out_until_the_base_is_corrected() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.retarget(two, "main").await;
    world
        .told(
            two,
            "PR #2 was retargeted to `main`, which no longer matches predecessor #1's head branch `one`. This PR will not be \
             included in the cascade until the base branch is corrected.",
        )
        .await;
    world.retarget(two, "one").await;
    world.settled().await;
    world.start(one).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_changed_between_declaration_and_cascade_keeps_the_pull_request_out_of_it() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.branch("elsewhere", "main").await;
    world.retarget(two, "elsewhere").await;
    world.told(two, &format!("The train of PR #{one} continues without PR #{two}.")).await;
    world.ci_passes("ci").await;
    world.landed(&[one]).await;
    world.settled().await;
    // It was told that it would not be included: nobody moves it to another base, and no train takes it along.
    assert!(!world.is_merged(two).await && world.pull(two).await["base"]["ref"] == "elsewhere");
    assert!(world.train(two).await.is_null());
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stands_on_a_closed_pull_request_is_told_that_it_is_orphaned() {
    let world = Trains::new().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.close(one).await;
    world.told(two, "PR #2 is orphaned: its predecessor #1 was closed without being merged").await;
    world.told(three, "PR #3 is orphaned: its predecessor #1 was closed without being merged").await;
    world.reopen(one).await;
    world.settled().await;
    world.start(one).await;
    world.landed(&[one, two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_hand_orphans_nobody() {
    let world = Trains::polling().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.merge_by_hand(one, "squash").await;
    world.until("#2 is taken to main", async || (world.pull(two).await["base"]["ref"] == "main").then_some(())).await;
    assert!(world.notes(two).await.iter().all(|note| !note.contains("orphaned")));
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_in_a_quote_in_code_or_by_somebody_else_declares_nothing() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    world.says(AUTHOR, two, &format!("> @merge-train predecessor #{one}")).await;
    world.says(AUTHOR, two, &format!("`@merge-train predecessor #{one}`")).await;
    world.says(AUTHOR, two, &format!("```\n@merge-train predecessor #{one}\n```")).await;
    world.says(AUTHOR, two, &format!("<!-- @merge-train predecessor #{one} -->")).await;
    world.settled().await;
    world.stands_on(two, None).await;
    assert!(world.bot_comments(two).await.is_empty());
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_from_a_fork_is_left_alone_and_nothing_can_stand_on_it() {
    let world = Trains::new().await;
    let fork = world.open_from_fork("theirs").await;
    world.says(STRANGER, fork, "@merge-train start").await;
    let two = world.open("two", "main").await;
    world.declares(two, fork).await;
    world.told(two, "comes from a fork").await;
    world.settled().await;
    assert!(world.bot_comments(fork).await.is_empty());
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_is_left_alone() {
    let world = Trains::new().await;
    let issue = world.call(AUTHOR, Method::POST, "/issues", json!({ "title": "A wish" })).await;
    let number = issue["number"].as_u64().expect("a number");
    let said = world.says(AUTHOR, number, "@merge-train start").await;
    world.settled().await;
    assert!(world.bot_comments(number).await.is_empty() && world.reactions(said).await.is_empty());
    world.finish().await;
}
