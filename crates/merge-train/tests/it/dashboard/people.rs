//! Who comes in, and what they press: each in a page that is never loaded anew by hand.

use reqwest::Method;
use serde_json::{Value, json};

use crate::dashboard::browser::Browser;
use crate::shop::{MENDS, Shop, WAITS};
use crate::support::{KEY, REPO, eventually};

/// Nothing lands whose check has not passed.
pub async fn require_check(shop: &Shop) {
    let rules = json!({
        "required_status_checks": { "strict": false, "contexts": ["test"] }, "required_pull_request_reviews": null,
        "enforce_admins": false, "restrictions": null,
    });
    shop.world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), rules).await;
}

/// Waits until the daemon has heard of a pull request.
pub async fn known(shop: &Shop, pr: u64) {
    eventually("it is known", || async {
        shop.daemon().state(REPO).await["prs"][pr.to_string()].as_object().map(drop)
    })
    .await;
}

pub fn train(pr: u64) -> String {
    format!("/repos/{REPO}/trains/{pr}")
}

pub fn workspace(pr: u64) -> String {
    format!("/repos/{REPO}/workspaces/{pr}")
}

/// Marks the page, so that one that was loaded anew is told apart from one that was kept.
async fn mark(browser: &Browser) {
    browser.ask("window.marked = true").await;
}

async fn expect_kept(browser: &Browser) {
    assert_eq!(browser.ask("return window.marked === true").await, true, "the page was loaded anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_a_key_signs_in_and_sees_what_the_role_allows_and_out_again() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    let pr = shop.pull("one", "main", "good").await;
    known(&shop, pr).await;
    let browser = Browser::at(&shop.daemon().url).await;
    browser.go("/runs?status=failed").await;
    assert_eq!(browser.place().await, "/sign-in?to=%2Fruns%3Fstatus%3Dfailed");
    assert_eq!(browser.ask("return document.activeElement.id").await, "key", "one can type at once");
    browser.expect_no_complaint().await;
    browser.type_into("#key", "no such key").await;
    browser.press("Sign in").await;
    browser.shows("Unknown API key.").await;
    let complaints = browser.complaints().await;
    assert!(complaints.iter().all(|it| it.contains("401")), "{complaints:?}");
    browser.type_into("#key", KEY).await;
    browser.press("Sign in").await;
    browser.shows("No matching runs.").await;
    assert_eq!(browser.place().await, "/runs?status=failed", "where one wanted to go");
    assert_eq!(browser.ask("return document.cookie").await, "", "scripts see no cookie");
    browser.go(&train(pr)).await;
    assert_eq!(browser.count("main button").await, 1, "the train can be started");
    browser.press("Sign out").await;
    browser.find("#key").await;
    browser.go(&train(pr)).await;
    assert!(browser.place().await.starts_with("/sign-in"), "one is out");

    browser.type_into("#key", &format!("{KEY} viewer")).await;
    browser.press("Sign in").await;
    browser.find("#live").await;
    assert_eq!(browser.place().await, train(pr));
    for path in ["/".to_owned(), train(pr), workspace(pr), "/runs".to_owned(), "/system".to_owned()] {
        browser.go(&path).await;
        assert_eq!(browser.count("main form[method=post]").await, 0, "a viewer presses nothing on {path}");
    }
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn however_many_pages_and_tabs_somebody_opens_the_one_that_is_looked_at_is_live() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    let browser = Browser::signed_in(&shop.daemon().url).await;
    // A browser has six connections for a site, and each page that is live takes one.
    let all_live = async {
        for _ in 0..10 {
            browser.go("/runs").await;
            browser.find("#live.on").await;
        }
        for _ in 0..10 {
            browser.new_tab("/runs").await;
            browser.find("#live.on").await;
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(45), all_live).await;
    assert!(in_time.is_ok(), "a page waits for a connection");
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lands_is_seen_on_the_board_among_the_runs_in_insights_and_in_the_system_without_a_reload() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    require_check(&shop).await;
    let browser = Browser::signed_in(&shop.daemon().url).await;
    // Each of them a number that grows when something lands.
    for (branch, path, number) in [
        ("one", "/", "document.querySelectorAll('#column-nobody article').length"),
        (
            "two",
            "/runs",
            "[...document.querySelectorAll('main tbody tr')].filter((it) => it.innerText.includes('completed')).length",
        ),
        ("three", "/insights", "Number(document.querySelector('#landed').innerText)"),
        (
            "four",
            "/system",
            "Number([...document.querySelectorAll('main tr')].find((it) => it.innerText.includes('repo:')).children[2].innerText)",
        ),
    ] {
        let pr = shop.pull(branch, "main", "good").await;
        known(&shop, pr).await;
        browser.go(path).await;
        browser.find("#live.on").await;
        mark(&browser).await;
        let read = async || browser.ask(&format!("return {number}")).await.as_u64().expect("a number");
        let before = read().await;
        shop.world.comment(pr, "@merge-train start").await;
        eventually("it lands", || async {
            let pull = shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}"), Value::Null).await;
            (pull["merged"] == true).then_some(())
        })
        .await;
        eventually(&format!("{path} shows it"), || async { (read().await > before).then_some(()) }).await;
        expect_kept(&browser).await;
    }
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_started_stopped_and_started_again_until_it_has_landed() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    require_check(&shop).await;
    let pr = shop.pull("one", "main", "bad").await;
    known(&shop, pr).await;
    let browser = Browser::signed_in(&shop.daemon().url).await;
    browser.go(&train(pr)).await;
    browser.shows("not started").await;
    browser.press("Start").await;
    browser.shows("Why not yet:").await;
    browser.shows("test failed").await;
    mark(&browser).await;
    browser.press("Retry now").await;
    browser.shows("Why not yet:").await;
    browser.press("Stop").await;
    browser.shows("stopped").await;
    assert_eq!(shop.daemon().state(REPO).await["active_trains"][pr.to_string()]["state"], "stopped");
    browser.press("Start").await;
    browser.shows("Why not yet:").await;
    mark(&browser).await;
    shop.write("one", "value-one.txt", "good\n").await;
    browser.shows("landed").await;
    expect_kept(&browser).await;
    let pull = shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}"), Value::Null).await;
    assert_eq!(pull["merged"], true);
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ratchet_is_turned_on_and_its_fixer_is_watched_at_work() {
    let script = format!("echo 'begins <b>to work</b>'\n{WAITS}echo 'goes on'\n{MENDS}");
    let shop = Shop::wish().ratchet("enabled = false").fixer(&script).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    known(&shop, pr).await;
    let browser = Browser::signed_in(&shop.daemon().url).await;
    browser.go(&workspace(pr)).await;
    browser.shows("The ratchet has never handled this pull request.").await;
    browser.press("Turn the ratchet on").await;
    browser.shows("begins <b>to work</b>").await;
    mark(&browser).await;
    shop.go();
    browser.shows("goes on").await;
    browser.shows("all green").await;
    expect_kept(&browser).await;
    browser.press("Turn the ratchet off").await;
    browser.shows("Turn the ratchet on").await;
    assert_eq!(shop.daemon().get(&format!("/api/v1/workspaces/{REPO}/{pr}")).await.1["ratchetEnabled"], false);
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_held_is_looked_at_and_approved_and_another_is_rejected() {
    let script = format!("mkdir -p .github\necho one > .github/workflow.yml\ngit add .github\n{MENDS}");
    let shop = Shop::wish().ratchet("approve_pushes = [\".github/**\"]").fixer(&script).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    shop.becomes(pr, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    let browser = Browser::signed_in(&shop.daemon().url).await;
    // From the board, as somebody who does not know where it is.
    let card = browser.find("#column-person h3 a").await;
    card.click().await.expect("it leads on");
    browser.find("#main a[href^='/runs/']").await.click().await.expect("it leads on");
    browser.shows("Waiting for approval").await;
    browser.shows("+++ b/.github/workflow.yml").await;
    mark(&browser).await;
    browser.type_into(".approval input[name=reason]", "as agreed").await;
    // What is typed stays although the page is renewed every other second.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(browser.ask("return document.querySelector('.approval input[name=reason]').value").await, "as agreed");
    expect_kept(&browser).await;
    browser.press("Approve").await;
    browser.shows("completed").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.read("one", ".github/workflow.yml").await, "one\n");

    let pr = shop.pull("two", "main", "bad").await;
    shop.becomes(pr, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    let run = shop.fixers().await.pop().expect("a run");
    let run = run["id"].as_str().expect("an id");
    browser.go(&format!("/runs/{run}")).await;
    browser.press("Reject").await;
    assert_eq!(browser.count(".approval").await, 1, "nothing is rejected without a reason");
    browser.type_into(".approval form:last-of-type input[name=reason]", "not like `this`").await;
    browser.press("Reject").await;
    browser.shows("failed").await;
    browser.shows("not like this").await;
    assert_eq!(browser.count(".notice.bad code").await, 1, "what is code is shown as code");
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}
