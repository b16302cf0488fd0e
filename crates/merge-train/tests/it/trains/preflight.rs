//! What a start refuses before anything is changed.

use reqwest::Method;
use serde_json::json;

use crate::trains::support::{Rules, Trains};

const DISMISSES_STALE: &str = "Cannot start merge train: this repository has \"Dismiss stale pull request approvals when new \
                               commits are pushed\" enabled in branch protection.";

impl Trains {
    /// Starts, expects this refusal, and that there is no train.
    async fn is_not_started(&self, pr: u64, because: &str) {
        let given = self.start(pr).await;
        self.told(pr, because).await;
        assert!(self.train(pr).await.is_null());
        assert!(!self.reactions(given).await.contains(&"+1".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_approvals_dismissed_by_branch_protection() {
    let world = Trains::new().await;
    world.protect(Rules { approvals: 1, dismiss_stale: true, ..Rules::default() }).await;
    let [one] = world.stack([("one", "main")]).await;
    world.is_not_started(one, DISMISSES_STALE).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_approvals_dismissed_by_a_ruleset() {
    let world = Trains::new().await;
    let parameters = json!({
        "required_approving_review_count": 1, "dismiss_stale_reviews_on_push": true, "require_code_owner_review": false,
        "require_last_push_approval": false, "required_review_thread_resolution": false,
    });
    world.ruleset(json!([{ "type": "pull_request", "parameters": parameters }])).await;
    let [one] = world.stack([("one", "main")]).await;
    world.is_not_started(one, DISMISSES_STALE).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_may_not_be_read_are_warned_of_and_the_train_starts() {
    let mut world = Trains::new().await;
    let app = world.control(Method::GET, "/app", json!(null)).await;
    let mut permissions = app["permissions"].as_object().expect("an object").clone();
    permissions.remove("administration");
    world.control(Method::PATCH, "/app", json!({ "permissions": permissions })).await;
    // The token that it has is still of the app as it was.
    world.kill().await;
    world.restart().await;
    let [one] = world.stack([("one", "main")]).await;
    world.start(one).await;
    world.told(one, "⚠️ Unable to verify branch protection settings (missing permissions).").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_commits_allowed() {
    let world = Trains::wish().settings(json!({ "allow_merge_commit": true })).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.is_not_started(one, "allow_merge_commit: true").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rebase_merges_allowed() {
    let world = Trains::wish().settings(json!({ "allow_rebase_merge": true })).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.is_not_started(one, "allow_rebase_merge: true").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn squash_merges_forbidden() {
    let settings = json!({ "allow_squash_merge": false, "allow_merge_commit": true });
    let world = Trains::wish().settings(settings).start().await;
    let [one] = world.stack([("one", "main")]).await;
    world.is_not_started(one, "allow_squash_merge: false").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_pull_requests_than_a_train_may_have() {
    let world = Trains::wish().config("[behavior]\nmax_stack_size = 2\n").start().await;
    let [one, _, _] = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world
        .is_not_started(
            one,
            "Train too large: found 3 PRs, maximum allowed is 2. Please split this into smaller stacks.",
        )
        .await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_grows_too_large_on_its_way_is_aborted() {
    let world = Trains::wish().config("[behavior]\nmax_stack_size = 2\n").start().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let three = world.open("three", "two").await;
    let declared = world.declares(three, two).await;
    world.acknowledged(declared).await;
    world.ci("one", "ci", "success").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "TrainTooLarge");
    world.told(one, "Train has grown too large (3 PRs, maximum 2).").await;
    assert!(!world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_is_sure_to_conflict() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.change_line("two", 40, "what two says").await;
    world.change_line("main", 40, "what main says").await;
    world.is_not_started(one, "Cannot start merge train: it would hit merge conflicts.").await;
    let told = world.told(one, "would hit merge conflicts").await;
    assert!(told.contains(&format!("#{two}")) && told.contains("`shared.txt`"), "{told}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_is_not_the_root_of_its_stack() {
    let world = Trains::new().await;
    let [_, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.is_not_started(two, "Cannot start merge train: PR #2 is not the root of its stack.").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_stands_on_nothing_that_was_declared() {
    let world = Trains::new().await;
    world.open("one", "main").await;
    let two = world.open("two", "one").await;
    world.is_not_started(two, "is not the root of its stack").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_is_closed() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    world.close(one).await;
    world.is_not_started(one, "Cannot start merge train: PR #1 is not open.").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_has_a_train_already() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.start(one).await;
    world.told(one, "This stack already has a merge train").await;
    assert_eq!(world.train(one).await["state"], "waiting_ci");
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_github_does_not_tell() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    let matcher = json!({ "method": "GET", "path": "/repos/octocat/hello" });
    world.fault(json!({ "kind": "status", "status": 503, "count": 2, "match": matcher })).await;
    world.start(one).await;
    // GitHub was only busy: the start is not lost.
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_are_read_once_for_several_starts() {
    let world = Trains::new().await;
    let first = world.stack([("one", "main")]).await;
    world.start(first[0]).await;
    world.landed(&first).await;
    let read = "GET /repos/{owner}/{repo}/branches/{branch}/protection";
    let before = world.calls(read).await;
    let second = world.stack([("two", "main")]).await;
    world.start(second[0]).await;
    world.landed(&second).await;
    assert_eq!(world.calls(read).await, before);
    world.finish().await;
}
