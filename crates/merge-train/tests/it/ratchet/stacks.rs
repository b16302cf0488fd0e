//! The ratchet and trains: each waits for the other, and together they land what broke.

use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{MENDS, REPO, Shop, WAITS, eventually};

async fn protect(shop: &Shop) {
    let rules = json!({
        "required_status_checks": { "strict": false, "contexts": ["test"] }, "required_pull_request_reviews": null,
        "enforce_admins": false, "restrictions": null,
    });
    shop.world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), rules).await;
}

async fn stack(shop: &Shop, values: [&str; 3]) -> [u64; 3] {
    let (mut base, mut pulls) = ("main".to_owned(), Vec::new());
    for (branch, value) in ["low", "middle", "high"].into_iter().zip(values) {
        let pr = shop.pull(branch, &base, value).await;
        if let Some(below) = pulls.last() {
            shop.world.comment(pr, &format!("@merge-train predecessor #{below}")).await;
        }
        pulls.push(pr);
        branch.clone_into(&mut base);
    }
    eventually("the stack is known", || async {
        let state = shop.daemon().state(REPO).await;
        let knows = |pair: &[u64]| state["prs"][pair[1].to_string()]["predecessor"] == pair[0];
        pulls.windows(2).all(knows).then_some(())
    })
    .await;
    pulls.try_into().expect("three")
}

async fn landed(shop: &Shop) {
    eventually("all of it lands", || async {
        shop.world.truth().await.values().all(|[state, ..]| state == "merged").then_some(())
    })
    .await;
}

async fn why(shop: &Shop, root: u64) -> String {
    let (_, train) = shop.daemon().get(&format!("/api/v1/repos/{REPO}/trains/{root}")).await;
    train["why"]["blocker"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_stack_whose_middle_breaks_its_test_lands_without_a_person() {
    let shop = Shop::wish().fixer(&format!("{WAITS}{MENDS}")).open().await;
    protect(&shop).await;
    let [low, middle, _] = stack(&shop, ["good", "bad", "good"]).await;
    shop.world.comment(low, "@merge-train start").await;
    eventually("the train waits for the fixer", || async {
        // What stands on the root is pushed to when it lands: that branch is the fixer's now.
        why(&shop, low).await.contains(&format!("A fixer is working on PR #{middle}")).then_some(())
    })
    .await;
    assert!(shop.world.truth().await.values().all(|[state, ..]| state == "open"));
    shop.go();
    landed(&shop).await;
    assert_eq!(shop.read("main", "value-middle.txt").await, "good\n");
    for run in shop.fixers().await {
        assert_eq!(
            (run["status"].as_str(), run["result"]["pushed"].as_bool()),
            (Some("completed"), Some(true)),
            "{run:#}"
        );
    }
    shop.close().await;
}

#[tokio::test]
async fn a_train_that_waits_on_a_red_check_goes_on_by_itself_once_a_fixer_pushed() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    protect(&shop).await;
    let [low, middle, high] = stack(&shop, ["good", "bad", "good"]).await;
    shop.world.comment(low, "@merge-train start").await;
    eventually("the train waits for the red check", || async {
        why(&shop, low).await.contains(&format!("failed on PR #{middle}")).then_some(())
    })
    .await;
    let attempts = shop.workspace(middle).await;
    assert!(attempts.is_null(), "nobody turned the ratchet on");
    for pr in [middle, high] {
        shop.world.comment(pr, "@merge-train ratchet on").await;
    }
    landed(&shop).await;
    shop.close().await;
}

#[tokio::test]
async fn what_a_train_merges_into_a_branch_is_no_push_from_outside() {
    let shop = Shop::wish().open().await;
    protect(&shop).await;
    let [low, middle, high] = stack(&shop, ["good", "good", "good"]).await;
    for pr in [low, middle, high] {
        shop.becomes(pr, "PAUSED_DONE").await;
    }
    let before: Value = shop.workspace(middle).await["last_push_at"].clone();
    shop.world.comment(low, "@merge-train start").await;
    landed(&shop).await;
    let state = shop.daemon().state(REPO).await;
    let pushes = state["recent_events"].as_array().expect("a list").iter();
    let prepared = pushes.filter(|event| event["type"] == "done_push_reconcile" && event["pr"] == middle).count();
    assert_eq!(prepared, 1, "the train pushed to it");
    assert_eq!(shop.workspace(middle).await["last_push_at"], before);
    shop.close().await;
}
