//! `merge-train plan`, against a GitHub that must not notice.

use std::path::Path;
use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{REPO, World};

async fn plan(world: &World, words: &[&str]) -> Output {
    world.setup.command(&[&["plan"], words].concat()).output().await.expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A GitHub whose repository allows squashes only.
async fn squash_only() -> World {
    let world = World::without_daemon().await;
    let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
    world.call(Method::PATCH, &format!("/repos/{REPO}"), settings).await;
    world
}

/// Three pull requests, each on the one before, two of which say so.
async fn stack_of_three(world: &World) -> [u64; 3] {
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    let three = world.open_pull("three", "two").await;
    world.comment(two, &format!("@merge-train predecessor #{one}")).await;
    [one, two, three]
}

/// All that people and bots made at GitHub: branches, pull requests, comments. Where a pull request could be merged, GitHub
/// finds out by itself when it is looked at.
async fn everything(world: &World) -> Value {
    let read = async |path: &str| world.call(Method::GET, &format!("/repos/{REPO}/{path}"), Value::Null).await;
    let branches = read("git/matching-refs/heads").await;
    let comments = read("issues/comments?per_page=100").await;
    let list = |value: &Value, of: fn(&Value) -> Value| -> Vec<Value> {
        value.as_array().expect("a list").iter().map(of).collect()
    };
    json!([
        list(&branches, |branch| json!([branch["ref"], branch["object"]["sha"]])),
        list(&comments, |comment| json!([comment["issue_url"], comment["body"]])),
        world.truth().await,
    ])
}

/// Whether any file below a folder holds the text.
fn holds(dir: &Path, text: &str) -> bool {
    std::fs::read_dir(dir).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => holds(&path, text),
            false => {
                let bytes = std::fs::read(&path).expect("a file");
                bytes.windows(text.len()).any(|window| window == text.as_bytes())
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linear_stack_is_planned_to_its_last_squash_and_nothing_is_changed() {
    let mut world = squash_only().await;
    let [one, two, three] = stack_of_three(&world).await;
    // As a person, whose token is known, so that it can be looked for.
    let github = format!(
        "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\ntoken = \"{}\"\n",
        world.described["api_url"],
        world.described["graphql_url"],
        world.described["git_url"],
        world.token()
    );
    world.setup = world.setup.clone().github(github);
    let before = everything(&world).await;
    let named_two = plan(&world, &[&format!("{REPO}#{two}")]).await;
    assert_eq!(named_two.status.code(), Some(0), "{} {}", stdout(&named_two), stderr(&named_two));
    let told = stdout(&named_two);
    let expected = format!(
        "{REPO}: #{one}, #{two} on #{one}, #{three} on #{two}\n\nLanding this stack takes 3 squashes, 3 pushes, and 2 \
         retargets; CI would run 3 times.\n\n1. squash #{one} into `main`\n2. push to `two` (#{two}): reconcile it \
         with the squash of #{one}\n3. retarget #{two} from `one` to `main`\n4. push to `three` (#{three}): merge the \
         head of #{two}\n5. squash #{two} into `main`\n6. push to `three` (#{three}): reconcile it with the squash of \
         #{two}\n7. retarget #{three} from `two` to `main`\n8. squash #{three} into `main`\n"
    );
    assert!(told.starts_with(&expected), "{told}");
    let note = format!("Note: #{three} has not declared its predecessor yet");
    assert!(told.contains(&note) && told.matches("Note:").count() == 1, "{told}");

    let again = plan(&world, &["--json", &format!("{REPO}#{three}")]).await;
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    let outlook: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!((&outlook["would_land"], &outlook["pull"]), (&json!(true), &json!(three)));
    assert_eq!(outlook["members"][2], json!({ "pull": three, "branch": "three", "base": "two", "predecessor": two }));
    assert_eq!(outlook["plan"]["steps"][0]["do"], "squash");
    assert_eq!(outlook["refusals"], json!([]));

    assert_eq!(everything(&world).await, before, "GitHub is as it was");
    let clones = world.setup.clones();
    assert!(clones.join("octocat-hello/clone/HEAD").is_file());
    assert!(!holds(&clones, world.token()), "the token is nowhere in the clone");
    let left: Vec<_> = std::fs::read_dir(clones.join("octocat-hello/worktrees")).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_is_planned_branch_by_branch_beside_a_running_daemon() {
    let world = squash_only().await;
    let daemon = world.setup.start().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    let three = world.open_pull("three", "one").await;
    let output = plan(&world, &["--json", &format!("{REPO}#{one}")]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let outlook: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let steps = outlook["plan"]["steps"].as_array().expect("steps");
    let of = |what: &str| -> Vec<u64> {
        steps.iter().filter(|step| step["do"] == what).map(|step| step["pull"].as_u64().expect("a number")).collect()
    };
    assert_eq!(of("squash"), [one, two, three]);
    assert_eq!(of("retarget"), [two, three]);
    let last = steps.iter().rev().find(|step| step["do"] == "push").expect("a push");
    assert_eq!(
        (&last["pull"], &last["why"]),
        (&json!(three), &json!("catch_up")),
        "the sibling landed before: {steps:?}"
    );
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_foretold_with_its_file() {
    let world = squash_only().await;
    let [one, two, three] = stack_of_three(&world).await;
    world.write("two", "README.md", "what two says\n").await;
    world.write("main", "README.md", "what main says\n").await;
    let output = plan(&world, &[&format!("{REPO}#{one}")]).await;
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("This stack cannot land as it is."), "{told}");
    assert!(told.contains(&format!("#{two} conflicts with `main`:**\n- `README.md`")), "{told}");
    assert!(told.contains(&format!("Not landed because of this: #{two}, #{three}.")), "{told}");
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_start_would_refuse_is_told_beforehand() {
    let world = World::without_daemon().await;
    let one = world.open_pull("one", "main").await;
    let output = plan(&world, &[&format!("{REPO}#{one}")]).await;
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let told = stdout(&output);
    let refusal = format!("A start would be refused: {REPO} must allow only squash merging: merge commit allowed");
    assert!(told.contains(&refusal), "{told}");
    assert!(told.contains("squash #1 into `main`"), "the plan is told all the same: {told}");

    world.open_pull("two", "one").await;
    let strict = world.setup.clone().more("[behavior]\nmax_stack_size = 1\n");
    let output = strict.command(&["plan", "--json", &format!("{REPO}#{one}")]).output().await.expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let outlook: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let refusals = outlook["refusals"].as_array().expect("a list");
    assert_eq!(refusals.len(), 2, "{outlook}");
    assert_eq!(refusals[1], "2 pull requests exceed behavior.max_stack_size, which is 1");
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_the_wrong_thing_is_told_what_is_right() {
    let world = squash_only().await;
    let [one, two, three] = stack_of_three(&world).await;
    world.call(Method::PUT, &format!("/repos/{REPO}/pulls/{one}/merge"), json!({ "merge_method": "squash" })).await;
    world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{two}"), json!({ "base": "main" })).await;
    let alone = world.open_pull("four", "main").await;
    world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{two}"), json!({ "state": "closed" })).await;
    for (target, expected) in [
        ("hello".to_owned(), "octocat/hello#12"),
        (format!("{REPO}#999"), "there is no pull request #999 in octocat/hello"),
        (format!("{REPO}#{one}"), "#1 is already merged"),
        (format!("{REPO}#{two}"), "#2 is closed: reopen it"),
        (format!("{REPO}#{three}"), "#3 is based on `two`, which is neither the default branch `main` nor"),
        (format!("{REPO}#{three}"), "(#2, whose branch it was, is closed)"),
        ("octocat/nothing#1".to_owned(), "octocat/nothing cannot be read: check the name"),
    ] {
        let output = plan(&world, &[&target]).await;
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{target}: {told}");
        assert!(told.contains(expected), "{target}: {told}");
    }
    let missing = plan(&world, &[]).await;
    assert_eq!(missing.status.code(), Some(1));
    let help = plan(&world, &["--help"]).await;
    assert!(help.status.success() && stdout(&help).contains("Exit code 0"), "{}", stdout(&help));
    assert_eq!(plan(&world, &[&format!("{REPO}#{alone}")]).await.status.code(), Some(0));
    world.sim.stop().await;
}
