//! What is read of pull requests, as the simulated GitHub tells it.

use merge_train_core::facts::{CheckConclusion, CheckProgress, MergeFacts, MergeState, ReviewDecision};
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::{Answer, Effect, mirror};
use reqwest::Method;
use serde_json::json;

use super::World;

async fn told_of(world: &World, pull: PrNumber) -> MergeFacts {
    match world.perform(Effect::Mirror(mirror::Effect::ReadMergeStates { prs: vec![pull] })).await {
        Ok(Answer::MergeStates(mut found)) => found.remove(0),
        other => panic!("{other:?}"),
    }
}

fn checks(facts: &MergeFacts) -> Vec<(&str, CheckConclusion, bool)> {
    facts.ci.checks.iter().map(|(name, check)| (name.as_str(), check.verdict, check.required)).collect()
}

#[tokio::test]
async fn a_merge_state_comes_with_reviews_and_with_what_ci_says_of_the_head() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    let plain = told_of(&world, one).await;
    assert_eq!((plain.state, plain.review, checks(&plain)), (MergeState::Clean, None, vec![]));
    world
        .in_repo(
            Method::PUT,
            "/branches/main/protection",
            json!({
                "required_status_checks": { "strict": false, "contexts": ["test"] }, "enforce_admins": false,
                "required_pull_request_reviews": { "required_approving_review_count": 1 }, "restrictions": null,
            }),
        )
        .await;
    let set = async |check| world.control(Method::POST, "/repos/octocat/hello/checks", check).await;
    set(json!({ "pull": one, "name": "test", "status": "in_progress", "report": "check_run" })).await;
    set(json!({ "pull": one, "name": "ci/old", "state": "failure", "report": "status" })).await;
    let running = told_of(&world, one).await;
    assert_eq!((running.state, running.review), (MergeState::Blocked, Some(ReviewDecision::ReviewRequired)));
    assert_eq!(
        checks(&running),
        [("ci/old", CheckConclusion::Failed, false), ("test", CheckConclusion::Pending, true)]
    );
    assert_eq!(running.ci.suites.values().collect::<Vec<_>>(), [&CheckProgress::UnderWay]);

    set(json!({ "pull": one, "name": "test", "conclusion": "success", "report": "check_run" })).await;
    let mona = world.collaborator("mona").await;
    world.approve(one, &mona).await;
    let done = told_of(&world, one).await;
    assert_eq!((done.state, done.review), (MergeState::Unstable, Some(ReviewDecision::Approved)));
    assert_eq!(checks(&done), [("ci/old", CheckConclusion::Failed, false), ("test", CheckConclusion::Passed, true)]);
    assert_eq!(done.ci.suites.values().collect::<Vec<_>>(), [&CheckProgress::Complete]);

    world.write("one", "more.txt", "x\n").await;
    assert_eq!(checks(&told_of(&world, one).await), [], "of the new head nothing is known");
    assert_eq!(world.calls("POST /graphql").await, 4, "each was one question");
    world.finish().await;
}

#[tokio::test]
async fn a_survey_tells_who_we_are_and_who_spoke() {
    let world = World::new().await;
    let one = world.open_pull("one", "main").await;
    world.in_repo(Method::POST, &format!("/issues/{one}/comments"), json!({ "body": "@merge-train help" })).await;
    let Ok(Answer::Listing(facts)) = world.perform(Effect::Mirror(mirror::Effect::Survey)).await else { panic!() };
    let heard =
        world.perform(Effect::Mirror(mirror::Effect::ReadConversations { prs: vec![one, PrNumber::new(999)] })).await;
    let Ok(Answer::Conversations(heard)) = heard else { panic!("{heard:?}") };
    assert_eq!(heard.len(), 1, "there is no other pull request");
    assert_eq!((heard[0].pr, heard[0].comments[0].login.as_str()), (one, "octocat"));
    let bot = world.call(Method::GET, "/users/merge-train[bot]", serde_json::Value::Null).await;
    assert_eq!(Some(facts.bot.get()), bot["id"].as_u64());
    world.finish().await;
}
