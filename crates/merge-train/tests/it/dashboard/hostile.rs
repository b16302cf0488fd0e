//! What others wrote is text, in a browser that would run it.

use reqwest::Method;
use serde_json::json;

use crate::dashboard::browser::Browser;
use crate::dashboard::people::{train, workspace};
use crate::shop::{MENDS, Shop};
use crate::support::REPO;

/// Each place has a mark of its own, so that what ran can be told.
fn evil(place: &str) -> String {
    format!("<script>window.ran='{place}'</script><img src=x onerror=\"window.ran='{place}'\"><b>{place}</b>")
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_branches_comments_logs_files_and_diffs_are_shown_as_text() {
    // The fixer prints what it was told, the comment within it, and what it made.
    let file = "<img src=x onerror=window.ran='file'>.yml";
    let script = format!(
        "cat\nprintf '%s\\n' '{log}'\nprintf '\\033[31mred\\033[0m \\033]0;title\\007 \\342\\200\\256txet\\n'\n\
         mkdir -p .github\nprintf '%s\\n' '{diff}' > \".github/{file}\"\ngit add .github\n{MENDS}",
        log = evil("log").replace('\'', "'\\''"),
        diff = evil("diff").replace('\'', "'\\''"),
    );
    let shop = Shop::wish().ratchet("approve_pushes = [\".github/**\"]").fixer(&script).open().await;
    let branch = "x<script>window.ran=1</script>";
    let pr = shop.pull("one", "main", "good").await;
    let title = json!({ "title": evil("title") });
    shop.world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{pr}"), title).await;
    let other = shop.pull(branch, "main", "good").await;
    shop.reviews(pr, "value-one.txt", &evil("comment")).await;
    shop.becomes(pr, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    shop.world.comment(other, &format!("@merge-train start\n\n{}", evil("comment"))).await;

    let browser = Browser::signed_in(&shop.daemon().url).await;
    let run = shop.fixers().await.pop().expect("a run");
    let run = format!("/runs/{}", run["id"].as_str().expect("an id"));
    for (path, marks) in [
        ("/".to_owned(), &["<b>title</b>"][..]),
        ("/runs".to_owned(), &["<b>title</b>"]),
        (train(pr), &["<b>title</b>"]),
        (train(other), &["x<script>window.ran=1</script>"]),
        (workspace(pr), &["<b>title</b>"]),
        (
            run,
            &[
                "<b>comment</b>",
                "<b>log</b>",
                "+<script>window.ran='diff'</script>",
                ".github/<img src=x onerror=window.ran='file'>.yml",
            ],
        ),
    ] {
        browser.go(&path).await;
        for mark in marks {
            browser.shows(mark).await;
        }
        // Once as it is loaded, and once as it is renewed.
        browser.find("#live.on").await;
        for mark in marks {
            browser.shows(mark).await;
        }
        assert_eq!(browser.ask("return window.ran ?? 'nothing'").await, "nothing", "{path} ran it");
        assert_eq!(browser.count("main img, main b, main script").await, 0, "{path} has it as markup");
        let text = browser.text().await;
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{path} shows what a terminal would obey: {text:?}");
        browser.expect_no_complaint().await;
    }
    // However wide the letters are, a title stays in its box.
    for letter in ["W", "m", "i", "漢", "🦀", "Ж"] {
        let title = json!({ "title": letter.repeat(80) });
        shop.world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{pr}"), title).await;
        browser.go(&train(pr)).await;
        browser.shows(&letter.repeat(80)).await;
        assert_eq!(browser.count(".graph .node").await, 1);
        assert_eq!(browser.overflowing().await, Vec::<String>::new());
    }
    browser.close().await;
    shop.close().await;
}
