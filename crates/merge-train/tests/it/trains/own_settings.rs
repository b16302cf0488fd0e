//! What a repository says about itself in `.github/merge-train.toml`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::trains::support::{ADMIN, AUTHOR, REPO, STRANGER, Trains};

const FILE: &str = ".github/merge-train.toml";
const CHECK: &str = "merge-train / configuration";
const WORDED: &str = "[merge]\ntitle = \"{title} [as we word it]\"\n";
const BROKEN: &str = "[merge]\ntitel = \"{title}\"\n\n[ratchet]\nmax_attempts = 0\n";

impl Trains {
    /// How the daemon treats the repository, once the file that is in force was found at this commit.
    async fn own_settings(&self, head: &str) -> Value {
        self.until("the file is read", async || {
            let (status, settings) = self.daemon().get(&format!("/api/v1/repos/{REPO}/settings")).await;
            (status == 200 && settings["file"]["head_sha"] == head).then_some(settings)
        })
        .await
    }

    /// Waits until the daemon has looked for the file, and there was none.
    async fn says_nothing(&self) {
        self.look().await;
        self.until("the repository is known to say nothing", async || {
            let (status, settings) = self.daemon().get(&format!("/api/v1/repos/{REPO}/settings")).await;
            (status == 200 && settings["file"]["status"] == "absent").then_some(())
        })
        .await;
    }

    /// The checks of the daemon's on a commit, once there is one.
    async fn own_checks(&self, sha: &str) -> Vec<Value> {
        self.until("there is a check", async || Some(self.checks_on(sha).await).filter(|checks| !checks.is_empty()))
            .await
    }

    async fn checks_on(&self, sha: &str) -> Vec<Value> {
        let found = self.get(&format!("/commits/{sha}/check-runs?filter=all")).await;
        let runs = found["check_runs"].as_array().expect("a list");
        runs.iter().filter(|run| run["name"] == CHECK).cloned().collect()
    }
}

fn shown<'s>(settings: &'s Value, key: &str) -> &'s Value {
    let all = settings["settings"].as_array().expect("a list");
    all.iter().find(|shown| shown["key"] == key).unwrap_or_else(|| panic!("{key} is not shown: {settings}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_sets_counts_from_the_default_branch_and_from_nowhere_else() {
    let world = Trains::new().await;
    world.branch("one", "main").await;
    world.write(AUTHOR, "one", FILE, "[merge]\ntitle = \"{title} [as one words it]\"\n").await;
    let one = world.open_pull("one", "main", json!({})).await;
    let head = world.write(ADMIN, "main", "README.md", "Hello.\n").await;
    world.start(one).await;
    world.landed(&[one]).await;
    let landed = world.get(&format!("/commits/{}", world.head("main").await)).await;
    let message = landed["commit"]["message"].as_str().expect("a message");
    assert!(!message.contains("as one words it"), "what a pull request says about itself does not count: {message}");
    assert_ne!(head, world.head("main").await);
    // Now it is landed.
    let settings = world.own_settings(&world.head("main").await).await;
    assert_eq!(settings["file"]["status"], "valid", "{settings}");
    assert_eq!(shown(&settings, "merge.title")["origin"], "repository");
    assert_eq!(shown(&settings, "ratchet.max_attempts")["origin"], "operator");
    let two = world.open("two", "main").await;
    world.start(two).await;
    world.landed(&[two]).await;
    let landed = world.get(&format!("/commits/{}", world.head("main").await)).await;
    let message = landed["commit"]["message"].as_str().expect("a message");
    assert_eq!(message.lines().next(), Some("Add two [as one words it]"));
    let told = world.told_of_the_repository().await;
    assert!(told.contains(".github/merge-train.toml sets merge.title = \"{title} [as one words it]\""), "{told}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_valid_leaves_the_old_in_force_and_a_check_on_the_default_branch_says_so() {
    let mut world = Trains::new().await;
    world.says_nothing().await;
    let good = world.write(ADMIN, "main", FILE, WORDED).await;
    world.own_settings(&good).await;
    assert_eq!(world.own_checks(&good).await[0]["conclusion"], "success");
    let bad = world.write(ADMIN, "main", FILE, BROKEN).await;
    let settings = world.own_settings(&bad).await;
    assert_eq!(settings["file"]["status"], "invalid", "{settings}");
    assert_eq!(shown(&settings, "merge.title")["value"], "{title} [as we word it]", "the old stays in force");
    let lines: Vec<u64> = settings["file"]["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|problem| problem["line"].as_u64())
        .collect();
    assert_eq!(lines, [2, 5]);
    let checks = world.own_checks(&bad).await;
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0]["conclusion"], "failure");
    let told = world.told_of_the_repository().await;
    assert!(
        told.contains("is not valid")
            && told.contains("line 2: unknown key \"titel\" in [merge]; did you mean \"title\"?"),
        "{told}"
    );
    // A new daemon knows it, too.
    world.kill().await;
    world.restart().await;
    let settings = world.own_settings(&bad).await;
    assert_eq!(settings["file"]["status"], "invalid");
    let one = world.open("one", "main").await;
    world.start(one).await;
    world.landed(&[one]).await;
    let landed = world.get(&format!("/commits/{}", world.head("main").await)).await;
    assert!(landed["commit"]["message"].as_str().expect("a message").starts_with("Add one [as we word it]"));
    assert_eq!(world.checks_on(&bad).await.len(), 1, "and says it once");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_breaks_it_has_a_check_that_fails_until_it_is_mended() {
    let world = Trains::new().await;
    let [one, other] = [world.open("one", "main").await, world.open("other", "main").await];
    let bad = world.write(AUTHOR, "one", FILE, BROKEN).await;
    let checks = world.own_checks(&bad).await;
    assert_eq!((checks.len(), &checks[0]["conclusion"]), (1, &json!("failure")));
    let annotations = world.get(&format!("/check-runs/{}/annotations", checks[0]["id"])).await;
    let annotated: Vec<(&str, u64)> = annotations
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|note| Some((note["path"].as_str()?, note["start_line"].as_u64()?)))
        .collect();
    assert_eq!(annotated, [(FILE, 2), (FILE, 5)]);
    let mended = world.write(AUTHOR, "one", FILE, "[ratchet]\nmax_attempts = 99\n").await;
    let checks = world.own_checks(&mended).await;
    assert_eq!((checks.len(), &checks[0]["conclusion"]), (1, &json!("success")));
    let summary = checks[0]["output"]["summary"].as_str().expect("a summary");
    assert!(summary.contains("`ratchet.max_attempts`: `99` is requested, `3` applies."), "{summary}");
    // Whatever is pushed next has a check, too: GitHub shows those of the head.
    let more = world.push("one").await;
    assert_eq!(world.own_checks(&more).await[0]["conclusion"], "success");
    assert_eq!(world.checks_on(&world.head("other").await).await.len(), 0, "#{other} does not touch it");
    // One that was written before the pull request was opened is found, too.
    world.branch("late", "main").await;
    let late = world.write(AUTHOR, "late", FILE, "[slack]\nsigning_secret = \"x\"\n").await;
    world.open_pull("late", "main", json!({})).await;
    let checks = world.own_checks(&late).await;
    assert_eq!((checks.len(), &checks[0]["conclusion"]), (1, &json!("failure")));
    let summary = checks[0]["output"]["summary"].as_str().expect("a summary");
    assert!(summary.contains("only the operator can set slack.signing_secret"), "{summary}");
    assert!(world.get(&format!("/pulls/{one}")).await["state"] == "open");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_from_a_fork_has_a_check_too() {
    let world = Trains::new().await;
    let theirs = world.open_from_fork("theirs").await;
    world.settled().await;
    let head = world.get(&format!("/pulls/{theirs}")).await["head"]["sha"].as_str().expect("a commit").to_owned();
    let address = format!("/repos/{STRANGER}/hello/contents/{FILE}");
    let change = json!({ "message": "Settings", "content": STANDARD.encode(BROKEN), "branch": "theirs" });
    let made = world.call(STRANGER, Method::PUT, &address, change).await;
    let checks = world.own_checks(made["commit"]["sha"].as_str().expect("a commit")).await;
    assert_eq!((checks.len(), &checks[0]["conclusion"]), (1, &json!("failure")));
    assert_eq!(world.checks_on(&head).await.len(), 0, "it did not touch it before");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_check_may_be_written_a_comment_says_it_once() {
    let world = Trains::new().await;
    let matcher = json!({ "method": "POST", "path": format!("/repos/{REPO}/check-runs") });
    let refused = "You must authenticate via a GitHub App.";
    world.fault(json!({ "kind": "status", "status": 403, "message": refused, "count": null, "match": matcher })).await;
    let one = world.open("one", "main").await;
    world.write(AUTHOR, "one", FILE, BROKEN).await;
    let told = world.told(one, "problems in").await;
    assert!(told.contains("line 2, column 1"), "{told}");
    let warned = world.daemon().log().matches("a check cannot be shown").count();
    assert_eq!(warned, 1);
    world.finish().await;
}

/// Nobody knows whether the check was written when the daemon dies: it is looked for, and not written twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_in_the_middle_of_it_shows_one_check() {
    for point in
        ["effect.read_proposal.end", "append.check_owed.after", "effect.show_check.middle", "effect.show_check.end"]
    {
        let mut world = Trains::new().await;
        world.open("one", "main").await;
        world.settled().await;
        world.kill().await;
        world.restart_to_die_at(&format!("{point}=return")).await;
        let bad = world.write(AUTHOR, "one", FILE, BROKEN).await;
        world.dies().await;
        world.restart().await;
        let checks = world.own_checks(&bad).await;
        assert_eq!((checks.len(), &checks[0]["conclusion"]), (1, &json!("failure")), "{point}");
        world.until("it is recorded", async || (!world.events("check_shown").await.is_empty()).then_some(())).await;
        assert_eq!(world.checks_on(&bad).await.len(), 1, "{point}");
        let id = checks[0]["id"].clone();
        let annotations = world.get(&format!("/check-runs/{id}/annotations")).await;
        assert_eq!(annotations.as_array().map(Vec::len), Some(2), "{point}");
        world.finish().await;
    }
}
