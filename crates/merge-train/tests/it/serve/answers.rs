//! What the bot answers on GitHub: once, whatever is lost on the way.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{REPO, World, eventually};

/// Comments on a pull request, and the number of the comment.
async fn say(world: &World, pull: u64, body: &str) -> u64 {
    let said =
        world.call(Method::POST, &format!("/repos/{REPO}/issues/{pull}/comments"), json!({ "body": body })).await;
    said["id"].as_u64().expect("an id")
}

/// What is in the conversation that a person did not write.
async fn answers(world: &World, pull: u64) -> Vec<String> {
    let all = world.call(Method::GET, &format!("/repos/{REPO}/issues/{pull}/comments"), Value::Null).await;
    let bot = |comment: &&Value| comment["user"]["type"] == "Bot";
    let text = |comment: &Value| comment["body"].as_str().expect("a body").to_owned();
    all.as_array().expect("a list").iter().filter(bot).map(text).collect()
}

async fn thumbs_up(world: &World, comment: u64) -> usize {
    let path = format!("/repos/{REPO}/issues/comments/{comment}/reactions");
    let all = world.call(Method::GET, &path, Value::Null).await;
    let all = all.as_array().expect("a list").clone();
    all.iter().filter(|given| given["content"] == "+1" && given["user"]["type"] == "Bot").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_gets_a_thumbs_up_or_the_reason_why_not() {
    let (world, daemon) = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    let three = world.open_pull("three", "main").await;
    let valid = say(&world, two, &format!("@merge-train predecessor #{one}")).await;
    eventually("the declaration is acknowledged", || async { (thumbs_up(&world, valid).await == 1).then_some(()) })
        .await;
    let invalid = say(&world, three, &format!("@merge-train predecessor #{one}")).await;
    let told = eventually("the refusal is there", || async { answers(&world, three).await.pop() }).await;
    let expected = format!(
        "PR #{three} declares predecessor #{one}, but its base branch `main` doesn't match #{one}'s head branch `one`. \
         The PR must be based on the predecessor's branch.\n\n**What to do:** "
    );
    assert!(told.starts_with(&expected) && told.contains("\n\n<!-- merge-train-note "), "{told}");
    assert_eq!(thumbs_up(&world, invalid).await, 0);
    let nowhere = world.open_pull("four", "three").await;
    say(&world, nowhere, "@merge-train predecessor #4711").await;
    let told = eventually("that one is told too", || async { answers(&world, nowhere).await.pop() }).await;
    assert!(told.starts_with("There is no pull request #4711 in this repository."), "{told}");
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_given_once_although_the_reply_to_it_was_lost() {
    let (world, daemon) = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "main").await;
    let path = format!("/repos/{REPO}/issues/{two}/comments");
    // The first is the declaration, the second the answer to it.
    world.fault(json!({ "kind": "lose_response", "match": { "method": "POST", "path": path, "nth": 2 } })).await;
    say(&world, two, &format!("@merge-train predecessor #{one}")).await;
    let settled = || async {
        let state = daemon.state(REPO).await;
        (!answers(&world, two).await.is_empty() && state["outbox"]["owed"].as_object().is_none()).then_some(())
    };
    eventually("nothing is owed any more", settled).await;
    assert_eq!(answers(&world, two).await.len(), 1);
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_says_what_it_owes_when_it_is_back_and_says_it_once() {
    let (world, mut daemon) = World::new().await;
    let one = world.open_pull("one", "main").await;
    for round in 0..4 {
        let pull = world.open_pull(&format!("work-{round}"), "main").await;
        let comment = say(&world, pull, &format!("@merge-train predecessor #{one}")).await;
        eventually("the declaration is acknowledged", || async {
            let deliveries = world.deliveries().await;
            let is_it =
                |delivery: &&Value| delivery["payload"]["comment"]["id"] == comment && delivery["status_code"] == 202;
            deliveries.iter().any(|delivery| is_it(&delivery)).then_some(())
        })
        .await;
        // Wherever it is by now: before, while or after it says it.
        tokio::time::sleep(std::time::Duration::from_millis(15 * round)).await;
        daemon.kill().await;
        daemon = world.setup.start().await;
        world.aim_at(&daemon).await;
        eventually("the answer is there", || async { (!answers(&world, pull).await.is_empty()).then_some(()) }).await;
        let settled = || async {
            let state = daemon.state(REPO).await;
            state["outbox"]["owed"].as_object().is_none().then_some(())
        };
        eventually("nothing is owed any more", settled).await;
        assert_eq!(answers(&world, pull).await.len(), 1, "round {round}");
    }
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_the_plan_gets_it_as_a_comment() {
    let (world, daemon) = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    let declared = say(&world, two, &format!("@merge-train predecessor #{one}")).await;
    eventually("the declaration is acknowledged", || async { (thumbs_up(&world, declared).await == 1).then_some(()) })
        .await;
    say(&world, two, "What would happen?\n\n@merge-train plan").await;
    let told = eventually("the plan is there", || async { answers(&world, two).await.pop() }).await;
    let expected = format!(
        "**Merge Train Plan** for PR #{one}\n\nLanding this stack takes 2 squashes, 1 push, and 1 retarget; CI would \
         run once.\n\n1. squash #{one} into `main`\n2. push to `two` (#{two}): reconcile it with the squash of \
         #{one}\n3. retarget #{two} from `one` to `main`\n4. squash #{two} into `main`\n"
    );
    assert!(told.starts_with(&expected), "{told}");
    let adrift = world.open_pull("four", "two").await;
    say(&world, adrift, "@merge-train plan").await;
    let told = eventually("that there is no stack is told", || async { answers(&world, adrift).await.pop() }).await;
    assert!(told.starts_with("There is nothing to plan"), "{told}");
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_command_gets_the_list_of_those_that_are() {
    let (world, daemon) = World::new().await;
    let one = world.open_pull("one", "main").await;
    say(&world, one, "@merge-train help").await;
    let help = eventually("the list is there", || async { answers(&world, one).await.pop() }).await;
    assert!(help.contains("`@merge-train predecessor #123`"), "{help}");
    say(&world, one, "`@merge-train dance`\n\n> @merge-train dance").await;
    say(&world, one, "@merge-train dance").await;
    let told = eventually("the answer is there", || async {
        let told = answers(&world, one).await;
        (told.len() == 2).then(|| told[1].clone())
    })
    .await;
    assert!(told.starts_with("Unknown command `dance`."), "{told}");
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}
