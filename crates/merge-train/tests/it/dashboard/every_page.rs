//! Every page in both themes, on a desktop and on a phone: whole, without a complaint of the browser's, and open to everybody.

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::dashboard::browser::{Browser, DESKTOP, LOOKS};
use crate::dashboard::people::{known, require_check, train, workspace};
use crate::shop::{MENDS, Shop};
use crate::support::{KEY, REPO, eventually};

const WORKFLOW: &str = r#"
[[workflows]]
name = "release-notes"
[[workflows.steps]]
id = "collect"
command = "COLLECT"
[[workflows.steps]]
id = "look"
kind = "approval"
[[workflows.steps]]
id = "publish"
command = "COLLECT"
"#;

const RATCHET: &str = "enabled = false\napprove_pushes = [\".github/**\"]";
const FIXER: &str = "
echo \"The check says that value-$MERGE_TRAIN_BRANCH.txt is bad.\"
if [ \"$MERGE_TRAIN_BRANCH\" = threads ]; then
  echo 'Reading the tests around it ...'
  sleep 600
fi
if [ \"$MERGE_TRAIN_BRANCH\" = encoding ]; then
  mkdir -p .github
  printf 'name: CI\\non: push\\n' > .github/workflow.yml
  git add .github
fi
";
/// What CI runs.
const CHECK: &str = "for f in value-*.txt; do
  grep -q slow $f && sleep 600
  grep -q thorough $f && sleep 3
  grep -q good $f || exit 1
done\n";

/// Where the pictures go, for whoever wants to look at them.
fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../dashboard")
}

/// The pictures that the documentation shows, and where they are kept when it is renewed.
const SHOWN: [(&str, &str); 5] = [
    ("board-light", "board"),
    ("train-waits-light", "train"),
    ("approval-light", "approval"),
    ("insights-dark", "insights"),
    ("board-phone-dark", "phone"),
];

async fn open(shop: &Shop, branch: &str, base: &str, value: &str, title: &str) -> u64 {
    let pr = shop.pull(branch, base, value).await;
    shop.world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{pr}"), json!({ "title": title })).await;
    known(shop, pr).await;
    pr
}

async fn stacked(shop: &Shop, branch: &str, base: (&str, u64), title: &str) -> u64 {
    let pr = open(shop, branch, base.0, "good", title).await;
    shop.world.comment(pr, &format!("@merge-train predecessor #{}", base.1)).await;
    eventually("it is declared", || async {
        (shop.daemon().state(REPO).await["prs"][pr.to_string()]["predecessor"] == base.1).then_some(())
    })
    .await;
    pr
}

async fn train_is(shop: &Shop, root: u64, state: &str) {
    eventually(&format!("the train of #{root} is {state}"), || async {
        (shop.daemon().state(REPO).await["active_trains"][root.to_string()]["state"] == state).then_some(())
    })
    .await;
}

async fn landed(shop: &Shop, pr: u64) {
    eventually(&format!("#{pr} lands"), || async {
        let pull = shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}"), Value::Null).await;
        (pull["merged"] == true).then_some(())
    })
    .await;
}

/// Something of everything: what has landed, what waits, what is held, what has failed. The pages, by name.
async fn populate(shop: &Shop) -> Vec<(&'static str, String)> {
    require_check(shop).await;
    let first = open(shop, "retries", "main", "good", "Try a delivery again when the mail server is away").await;
    let second = stacked(shop, "backoff", ("retries", first), "Wait longer after each failure").await;
    stacked(shop, "metrics", ("backoff", second), "Count how often mail is tried again").await;
    let beside = stacked(shop, "docs", ("retries", first), "Tell of retries in the manual").await;
    shop.world.comment(first, "@merge-train start").await;
    landed(shop, second).await;
    landed(shop, beside).await;

    let thorough = open(shop, "spam", "main", "thorough and good", "Ask two lists whether it is spam").await;
    shop.world.comment(thorough, "@merge-train start").await;
    landed(shop, thorough).await;
    let broken = open(shop, "drafts", "main", "bad", "Keep a draft when the window is closed").await;
    shop.toggle(broken, true).await;
    shop.becomes(broken, "PAUSED_DONE").await;

    let waits = open(shop, "quota", "main", "bad", "Refuse a mailbox that is over its quota").await;
    let above = stacked(shop, "quota-page", ("quota", waits), "Show how full a mailbox is").await;
    stacked(shop, "quota-mail", ("quota-page", above), "Warn before a mailbox is full").await;
    stacked(shop, "quota-api", ("quota", waits), "Give the quota out over the API").await;
    shop.world.comment(waits, "@merge-train start").await;
    train_is(shop, waits, "waiting_ci").await;

    let closed = open(shop, "legacy", "main", "bad", "Drop the protocol that nobody speaks any more").await;
    shop.world.comment(closed, "@merge-train start").await;
    train_is(shop, closed, "waiting_ci").await;
    shop.world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{closed}"), json!({ "state": "closed" })).await;
    train_is(shop, closed, "aborted").await;

    let slow = open(shop, "search", "main", "slow", "Search in attachments, too").await;
    shop.world.comment(slow, "@merge-train start").await;
    train_is(shop, slow, "waiting_ci").await;
    let mended = open(shop, "threads", "main", "bad", "Show a conversation as one thread").await;
    shop.toggle(mended, true).await;
    shop.becomes(mended, "FIXING_CI").await;
    let held = open(shop, "encoding", "main", "bad", "Keep names with accents as they were written").await;
    shop.toggle(held, true).await;
    shop.becomes(held, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    let fixer = shop.fixers().await.pop().expect("a run")["id"].as_str().expect("an id").to_owned();

    let url = format!("{}/api/v1/runs", shop.daemon().url);
    let wanted = json!({ "workflow": "release-notes", "repo": REPO });
    let made = shop.daemon().http.post(url).bearer_auth(KEY).json(&wanted).send().await.expect("an answer");
    let made: Value = made.json().await.expect("JSON");
    let workflow = made["id"].as_str().unwrap_or_else(|| panic!("no run: {made}")).to_owned();
    eventually("the run asks", || async {
        let (_, run) = shop.daemon().get(&format!("/api/v1/runs/{workflow}")).await;
        assert_ne!(run["status"], "failed", "{run:#}");
        (run["status"] == "awaiting_approval").then_some(())
    })
    .await;
    vec![
        ("board", "/".to_owned()),
        ("board-of-a-repository", format!("/?repo={}", REPO.replace('/', "%2F"))),
        ("train-landed", train(first)),
        ("train-waits", train(waits)),
        ("train-aborted", train(closed)),
        ("runs", "/runs".to_owned()),
        ("runs-none", "/runs?status=cancelled".to_owned()),
        ("approval", format!("/runs/{fixer}")),
        ("workflow", format!("/runs/{workflow}")),
        ("workspace-held", workspace(held)),
        ("workspace-mended", workspace(mended)),
        ("workspace-off", workspace(waits)),
        ("insights", "/insights".to_owned()),
        ("system", "/system".to_owned()),
    ]
}

/// What a page lacks to be whole: it says what it is, is not wider than the screen, bars nobody, and the browser complains of nothing.
async fn faults(browser: &Browser) -> Vec<String> {
    let mut faults = browser.complaints().await;
    let title = browser.ask("return document.title").await;
    if !title.as_str().is_some_and(|title| title.ends_with(" · merge-train")) {
        faults.push(format!("its title is {title}"));
    }
    let language = browser.ask("return document.documentElement.lang").await;
    if language != "en" {
        faults.push(format!("its language is {language}"));
    }
    let headings = browser.count("h1").await;
    if headings != 1 {
        faults.push(format!("it has {headings} headings"));
    }
    let wide = "const width = document.documentElement.clientWidth;
        return [document.documentElement.scrollWidth - width,
            [...document.querySelectorAll('main *')].filter((it) => it.getBoundingClientRect().right > width + 1
                && !it.closest('.wide, .graph, figure, pre')).map((it) => it.outerHTML.slice(0, 200))]";
    let wide = browser.ask(wide).await;
    if wide[0] != 0 {
        faults.push(format!("it is wider than the screen by {}: {}", wide[0], wide[1]));
    }
    let ticks = "const copy = document.querySelector('main').cloneNode(true);
        copy.querySelectorAll('pre, code').forEach((it) => it.remove());
        return copy.textContent.includes('`')";
    if browser.ask(ticks).await == true {
        faults.push("it shows what is meant as markup".to_owned());
    }
    faults.extend(browser.overflowing().await);
    faults.extend(browser.barriers().await);
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn each_is_whole_in_both_themes_on_a_desktop_and_on_a_phone() {
    let mut shop = Shop::wish().ratchet(RATCHET).fixer(&format!("{FIXER}{MENDS}")).prepare().await;
    shop.write("main", "check.sh", CHECK).await;
    let collect = shop.folder().join("collect.sh");
    std::fs::write(
        &collect,
        "#!/bin/sh\necho 'four changes since the last release' >&2\nsleep 1\necho '{\"changes\": 4}'\n",
    )
    .expect("written");
    std::fs::set_permissions(&collect, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let workflow = WORKFLOW.replace("COLLECT", &collect.to_string_lossy());
    shop.world.setup = shop.world.setup.clone().more(&workflow);
    shop.restart().await;
    let pages = populate(&shop).await;
    let browser = Browser::at(&shop.daemon().url).await;
    let folder = pictures();
    let mut found = Vec::new();
    for (name, path) in [("sign-in", "/sign-in".to_owned())].iter().chain(&pages) {
        let is_inside = path != "/sign-in";
        if is_inside && browser.place().await == "/sign-in" {
            browser.look(DESKTOP).await;
            browser.sign_in(KEY).await;
        }
        for look in LOOKS {
            let name = format!("{name}-{}", look.name);
            browser.look(look).await;
            browser.go(path).await;
            if is_inside {
                browser.find("#live.on").await;
            }
            found.extend(faults(&browser).await.into_iter().map(|fault| format!("{name}: {fault}")));
            browser.picture(&folder.join(format!("{name}.png"))).await;
        }
    }
    browser.look(DESKTOP).await;
    browser.go("/no/such/page").await;
    browser.shows("Not Found").await;
    found.extend(faults(&browser).await.into_iter().filter(|fault| !fault.contains("404 (Not Found)")));
    assert!(found.is_empty(), "{}", found.join("\n"));
    if std::env::var_os("MERGE_TRAIN_TEST_UPDATE_DOCS").is_some() {
        let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
        for (taken, kept) in SHOWN {
            std::fs::copy(folder.join(format!("{taken}.png")), images.join(format!("{kept}.png"))).expect("a picture");
        }
    }
    browser.close().await;
    shop.close().await;
}
