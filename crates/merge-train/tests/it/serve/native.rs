//! A stack that GitHub itself keeps: nobody declares anything, and GitHub brings into order what stands on what landed.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{REPO, World, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_github_keeps_lands_without_a_declaration() {
    let (world, daemon) = World::new().await;
    let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
    world.call(Method::PATCH, &format!("/repos/{REPO}"), settings).await;
    let mut stack = Vec::new();
    for (branch, base) in [("one", "main"), ("two", "one"), ("three", "two")] {
        stack.push(world.open_pull(branch, base).await);
    }
    world.call(Method::POST, &format!("/repos/{REPO}/stacks"), json!({ "pull_requests": stack })).await;
    // GitHub tells of the stack with the next word about each of its pull requests.
    for pull in &stack {
        let titled = json!({ "title": format!("In a stack: {pull}") });
        world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{pull}"), titled).await;
    }
    eventually("the stack is known", || async {
        let state = daemon.state(REPO).await;
        let knows = |pair: &[u64]| state["prs"][pair[1].to_string()]["predecessor"] == pair[0];
        stack.windows(2).all(knows).then_some(())
    })
    .await;
    world.comment(stack[0], "@merge-train start").await;
    eventually("all of it has landed", || async {
        let truth = world.truth().await;
        stack.iter().all(|pull| truth[&pull.to_string()][0] == "merged").then_some(())
    })
    .await;
    let commits = world.call(Method::GET, &format!("/repos/{REPO}/commits?sha=main"), Value::Null).await;
    let commits = commits.as_array().expect("a list");
    assert!(commits.iter().all(|commit| commit["parents"].as_array().is_some_and(|parents| parents.len() <= 1)));
    eventually("the train is done", || async {
        let state = daemon.state(REPO).await;
        state["active_trains"].as_object().is_some_and(serde_json::Map::is_empty).then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}
