//! Reading without a script, and going everywhere without a mouse.

use fantoccini::key::Key;

use crate::dashboard::browser::Browser;
use crate::dashboard::people::{known, require_check, train, workspace};
use crate::shop::Shop;
use crate::support::REPO;

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_every_page_can_be_read_and_its_buttons_work() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    require_check(&shop).await;
    let pr = shop.pull("one", "main", "bad").await;
    known(&shop, pr).await;
    let browser = Browser::without_scripts(&shop.daemon().url).await;
    browser.sign_in(crate::support::KEY).await;
    browser.go(&train(pr)).await;
    browser.press("Start").await;
    crate::support::eventually("the train waits, and is shown so", || async {
        browser.go(&train(pr)).await;
        let html = browser.find("main").await.html(true).await.ok()?;
        html.contains("Why not yet:").then_some(())
    })
    .await;
    for (path, heading) in [
        ("/".to_owned(), "Board"),
        ("/runs".to_owned(), "Runs"),
        (workspace(pr), "one"),
        ("/insights".to_owned(), "Insights"),
        ("/system".to_owned(), "System"),
    ] {
        browser.go(&path).await;
        let shown = browser.find("h1").await.text().await.expect("text");
        assert_eq!(shown, heading, "{path}");
    }
    browser.close().await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_reached_and_pressed_with_the_keyboard_alone() {
    let shop = Shop::wish().ratchet("enabled = false").open().await;
    require_check(&shop).await;
    let pr = shop.pull("one", "main", "bad").await;
    known(&shop, pr).await;
    let browser = Browser::signed_in(&shop.daemon().url).await;
    browser.go(&train(pr)).await;
    let focus = "const it = document.activeElement; const box = it.getBoundingClientRect();
        const style = getComputedStyle(it);
        return [it.innerText || it.textContent, box.width > 0 && box.left >= 0 && style.outlineStyle !== 'none']";
    let mut reached = Vec::new();
    for _ in 0..40 {
        browser.press_key(Key::Tab).await;
        let found = browser.ask(focus).await;
        let text = found[0].as_str().unwrap_or_default().trim().to_owned();
        assert_eq!(found[1], true, "what has the focus is not seen: {text:?}");
        reached.push(text);
        if reached.last().is_some_and(|text| text == "Start") {
            break;
        }
    }
    assert_eq!(reached[0], "Skip to content", "{reached:?}");
    for link in ["Board", "Runs", "Insights", "System", "Sign out", REPO, "Start"] {
        assert!(reached.iter().any(|text| text == link), "{link} is not reached: {reached:?}");
    }
    browser.press_key(Key::Enter).await;
    browser.shows("Why not yet:").await;
    browser.expect_no_complaint().await;
    browser.close().await;
    shop.close().await;
}
