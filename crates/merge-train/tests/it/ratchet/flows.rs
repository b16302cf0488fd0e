//! The flows of the specification's testing plan, by their numbers there.

use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{Database, MENDS, PUSHES_IN_VAIN, REPO, Shop, WAITS, eventually};

fn is(decision: &(String, String, String), action: &str, status: &str, reason: &str) -> bool {
    (decision.0.as_str(), decision.1.as_str(), decision.2.as_str()) == (action, status, reason)
}

#[tokio::test]
async fn integration_1_ci_fails_a_fixer_pushes_stale_ci_is_waited_for_ci_passes_and_it_is_done() {
    let shop = Shop::wish().fixer(&format!("{WAITS}{MENDS}")).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("a fixer begins", || async { (shop.begun() > 0).then_some(()) }).await;
    // Nothing runs for what the fixer pushes, until it is known to be waited for.
    let ci = shop.world.control(Method::GET, &format!("/repos/{REPO}/ci"), Value::Null).await;
    shop.world.control(Method::DELETE, &format!("/repos/{REPO}/ci"), Value::Null).await;
    shop.go();
    eventually("CI is waited for", || async { (shop.workspace(pr).await["reason"] == "STALE_CI").then_some(()) }).await;
    let waiting = shop.workspace(pr).await;
    assert_eq!((&waiting["activity"], &waiting["attempts"]), (&json!("Waiting for CI to restart"), &json!(1)));
    shop.world.control(Method::PUT, &format!("/repos/{REPO}/ci?run=heads"), ci).await;
    let done = shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.read("one", "value-one.txt").await, "good\n");
    assert_eq!(shop.begun(), 1, "one failure, one fixer");
    assert_eq!(done["attempts"], 0, "being done resets the counter");
    let decisions = shop.decisions(pr).await;
    let order = [
        ("FIX_CI", "FIXING_CI", "CI_FAILED"),
        ("WAIT", "WAITING_FOR_CI", "FIXER_PUSHED"),
        ("WAIT", "WAITING_FOR_CI", "STALE_CI"),
        ("WAIT", "WAITING_FOR_CI", "GRACE"),
        ("PAUSE", "PAUSED_DONE", "ALL_GREEN"),
    ];
    let places = order.map(|(action, status, reason)| decisions.iter().position(|it| is(it, action, status, reason)));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{decisions:#?}");
    shop.close().await;
}

#[tokio::test]
async fn integration_2_three_pushes_in_vain_end_it_until_somebody_pushes_by_hand() {
    let shop = Shop::wish().fixer(PUSHES_IN_VAIN).open().await;
    shop.world.write("main", "check.sh", "! grep -q bad value-*.txt\n").await;
    let pr = shop.pull("one", "main", "bad").await;
    let stuck = shop.becomes(pr, "PAUSED_ATTENTION_TERMINAL_FAILED").await;
    assert_eq!((stuck["reason"].as_str(), stuck["attempts"].as_u64()), (Some("TOO_MANY_ATTEMPTS"), Some(3)));
    assert_eq!(shop.begun(), 3);
    shop.write("one", "by-hand.txt", "a person was here\n").await;
    eventually("fixers try again", || async { (shop.begun() > 3).then_some(()) }).await;
    let again = shop.becomes(pr, "PAUSED_ATTENTION_TERMINAL_FAILED").await;
    assert_eq!(again["attempts"], 3, "the budget began anew");
    assert_eq!(shop.begun(), 6);
    shop.close().await;
}

#[tokio::test]
async fn integration_3_a_fixer_that_cannot_mend_it_pauses_at_once_and_is_not_sent_again() {
    let shop = Shop::wish().fixer("echo 'I do not know how'\n").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let paused = shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!(paused["reason"], "FIXER_GAVE_UP");
    assert_eq!(paused["attempts"], 0, "only pushes count");
    assert!(paused["stale_since"].is_null(), "CI is not waited for that nobody started");
    // Something that is no reason to try again: the branch that it is merged into moves on, and conflicts with it.
    shop.write("main", "value-one.txt", "something else\n").await;
    eventually("the conflict is known", || async {
        let known = shop.daemon().state(REPO).await["prs"][pr.to_string()]["merge_state"] == "DIRTY";
        let decisions = shop.decisions(pr).await;
        let is_decided = decisions.iter().any(|it| is(it, "NOOP", "PAUSED_ATTENTION_NO_PUSH", "ALREADY_TRIED"));
        (known && is_decided).then_some(())
    })
    .await;
    assert_eq!(shop.begun(), 1);
    assert_eq!(shop.workspace(pr).await["reason"], "FIXER_GAVE_UP", "why it waits for a person is still shown");
    shop.close().await;
}

#[tokio::test]
async fn integration_4_a_fixer_that_declines_what_a_reviewer_wants_pauses() {
    let shop = Shop::wish().fixer("echo 'I would rather not'\n").open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.reviews(pr, "value-one.txt", "Please say it better.").await;
    let paused = shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!(paused["reason"], "FIXER_GAVE_UP");
    assert_eq!(shop.begun(), 1);
    shop.close().await;
}

#[tokio::test]
async fn integration_7_what_the_last_fixer_left_is_gone_when_the_next_one_begins() {
    // The first leaves a process and its checkout behind; the second stays until it was looked around.
    let script = format!(
        "if [ \"$(wc -l < \"$SHOP/begun\")\" = 1 ]; then\nsetsid sleep 86007 &\n{PUSHES_IN_VAIN}\nelse\n{WAITS}{MENDS}\nfi\n"
    );
    let shop = Shop::wish().fixer(&script).open().await;
    // So that one failure cannot be told from the other.
    shop.world.write("main", "check.sh", "! grep -q bad value-*.txt\n").await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("the second fixer begins", || async { (shop.begun() == 2).then_some(()) }).await;
    let runs = shop.folder().parent().expect("a folder").join("runs");
    let checkouts = std::fs::read_dir(&runs).expect("runs").flatten().filter(|run| run.path().join("own").exists());
    let checkouts: Vec<String> = checkouts.map(|run| run.file_name().to_string_lossy().into_owned()).collect();
    let second = shop.fixers().await.pop().expect("a run");
    assert_eq!(checkouts, [second["id"].as_str().expect("an id")], "only its own");
    assert_eq!(shop.processes("sleep 86007"), 0, "nothing of the first runs any more");
    shop.go();
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.begun(), 2);
    shop.close().await;
}

#[tokio::test]
async fn integration_9_a_late_review_comment_wakes_what_was_done() {
    let script = "echo better >> value-one.txt\ngit commit -qam Better\ngit push -q\n";
    let shop = Shop::wish().fixer(script).open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.reviews(pr, "value-one.txt", "Could it be better?").await;
    eventually("a fixer comes", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.read("one", "value-one.txt").await, "good\nbetter\n");
    assert_eq!(shop.begun(), 1, "what was dealt with is not dealt with again, though nobody resolved it");
    shop.close().await;
}

#[tokio::test]
async fn integration_8_ci_that_never_starts_again_after_a_push_asks_for_a_person() {
    let script = format!("{WAITS}{MENDS}");
    let shop = Shop::wish().ratchet("stale_ci_timeout_mins = 0.05").fixer(&script).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("a fixer begins", || async { (shop.begun() > 0).then_some(()) }).await;
    shop.world.control(Method::DELETE, &format!("/repos/{REPO}/ci"), Value::Null).await;
    shop.go();
    let stuck = shop.becomes(pr, "PAUSED_ATTENTION_STALE_CI_TIMEOUT").await;
    assert_eq!(stuck["reason"], "STALE_CI_TIMEOUT");
    let decisions = shop.decisions(pr).await;
    assert!(decisions.iter().any(|it| is(it, "WAIT", "WAITING_FOR_CI", "STALE_CI")), "{decisions:#?}");
    assert_eq!(shop.begun(), 1);
    shop.close().await;
}

#[tokio::test]
async fn integration_14_an_edited_comment_is_news_though_no_comment_is_new() {
    let script = "echo better >> value-one.txt\ngit commit -qam Better\ngit push -q\n";
    let shop = Shop::wish().fixer(script).open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let comment = shop.reviews(pr, "value-one.txt", "Could it be better?").await;
    eventually("a fixer comes", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    // GitHub's times have whole seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    shop.as_reviewer(Method::PATCH, &format!("/pulls/comments/{comment}"), json!({ "body": "Much better, please." }))
        .await;
    eventually("a fixer comes again", || async { (shop.begun() == 2).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.close().await;
}

#[tokio::test]
async fn integration_5_while_somebody_works_it_defers_and_misses_nothing() {
    let shop = Shop::wish().open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let session = shop.session(pr).await;
    shop.becomes(pr, "PAUSED_USER_WORKING").await;
    shop.write("one", "value-one.txt", "bad\n").await;
    let path = format!("/sessions/{session}/heartbeat");
    // CI fails meanwhile, and is seen to have failed.
    eventually("CI has failed, and the daemon knows", || async {
        shop.ask(Method::POST, pr, &path, json!({ "state": "working" })).await;
        let known = shop.daemon().state(REPO).await["prs"][pr.to_string()]["ci"]["checks"]["test"]["verdict"].clone();
        (known == "failed").then_some(())
    })
    .await;
    let deferred = shop.workspace(pr).await;
    assert_eq!(deferred["status"], "PAUSED_USER_WORKING");
    assert_eq!(deferred["consumed"]["ci"], "passed", "what is new is still new");
    assert_eq!(shop.begun(), 0);
    shop.ask(Method::POST, pr, &format!("/sessions/{session}/end"), json!({ "exitCode": 0 })).await;
    eventually("the failure is acted on", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.close().await;
}

#[tokio::test]
async fn integration_6_turned_off_in_the_middle_the_fixer_ends_and_no_other_comes() {
    let shop = Shop::wish().fixer(&format!("{WAITS}{PUSHES_IN_VAIN}")).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("a fixer begins", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.toggle(pr, false).await;
    assert_eq!(shop.workspace(pr).await["status"], "FIXING_CI", "what is under way comes to its end");
    shop.go();
    let off = shop.becomes(pr, "PAUSED_DISABLED").await;
    assert!(off["fix"].is_null());
    let run = shop.fixers().await.remove(0);
    assert_eq!(run["result"]["pushed"], true, "it came to its end: {run:#}");
    let runs = shop.folder().parent().expect("a folder").join("runs");
    let left =
        || std::fs::read_dir(&runs).expect("runs").flatten().filter(|run| run.path().join("own").exists()).count();
    eventually("the checkout is gone", || async { (left() == 0).then_some(()) }).await;
    shop.toggle(pr, true).await;
    eventually("it goes on", || async { (shop.begun() == 2).then_some(()) }).await;
    shop.close().await;
}

#[tokio::test]
async fn integration_10_a_workspace_that_waits_is_picked_up_by_a_push_and_by_a_comment() {
    let shop = Shop::wish().fixer("echo no\n").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    shop.write("one", "value-one.txt", "still bad\n").await;
    eventually("the push is picked up", || async { (shop.begun() == 2).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    shop.write("one", "value-one.txt", "good\n").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.reviews(pr, "value-one.txt", "Hm.").await;
    eventually("the comment is picked up", || async { (shop.begun() == 3).then_some(()) }).await;
    shop.close().await;
}

#[tokio::test]
async fn integration_11_the_heartbeat_sees_ci_in_progress_does_not_act_and_does_not_miss_its_end() {
    let shop = Shop::wish().open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    // From here on there is nothing but the heartbeat.
    let nothing = json!([{ "kind": "drop_webhook", "count": Value::Null }]);
    shop.world.control(Method::POST, "/faults", nothing).await;
    let command = format!("while [ ! -e '{}' ]; do sleep 0.05; done; sh check.sh", shop.folder().join("go").display());
    let held = json!({ "name": "CI", "checks": [{ "name": "test", "command": command }] });
    shop.world.control(Method::PUT, &format!("/repos/{REPO}/ci"), held).await;
    shop.write("one", "value-one.txt", "bad\n").await;
    eventually("CI is seen to run", || async {
        (shop.workspace(pr).await["reason"] == "CI_IN_PROGRESS").then_some(())
    })
    .await;
    let waiting = shop.workspace(pr).await;
    assert_eq!(
        (waiting["status"].as_str(), waiting["activity"].as_str()),
        (Some("WAITING_FOR_CI"), Some("Waiting for CI to finish"))
    );
    // Two beats find nothing new, and nothing is done.
    let (decided, beats) = (shop.decisions(pr).await, shop.metric("ratchet_heartbeat_seconds_count").await);
    eventually("two more beats", || async {
        (shop.metric("ratchet_heartbeat_seconds_count").await >= beats + 2.0).then_some(())
    })
    .await;
    assert_eq!((shop.begun(), shop.decisions(pr).await), (0, decided));
    shop.go();
    eventually("its end is acted on", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.close().await;
}

#[tokio::test]
async fn integration_12_a_merge_that_makes_others_conflict_sends_no_fixers() {
    let shop = Shop::wish().open().await;
    let mut others = Vec::new();
    for number in 1..=4 {
        let pr = shop.pull(&format!("other-{number}"), "main", "good").await;
        shop.write(&format!("other-{number}"), "shared.txt", &format!("by {number}\n")).await;
        others.push(pr);
    }
    for pr in &others {
        shop.becomes(*pr, "PAUSED_DONE").await;
    }
    let first = others.remove(0);
    let merge = json!({ "merge_method": "squash" });
    shop.world.call(Method::PUT, &format!("/repos/{REPO}/pulls/{first}/merge"), merge).await;
    for pr in &others {
        let conflicting = shop.becomes(*pr, "PAUSED_WAIT_CONFLICT_ONLY").await;
        assert_eq!(conflicting["activity"], "Waiting for non-conflict trigger to update branch");
        let decisions = shop.decisions(*pr).await;
        assert!(
            decisions.iter().any(|it| is(it, "PAUSE", "PAUSED_WAIT_CONFLICT_ONLY", "CONFLICT_ONLY")),
            "{decisions:?}"
        );
    }
    assert_eq!(shop.begun(), 0);
    shop.close().await;
}

#[tokio::test]
async fn integration_13_conflict_and_red_ci_are_one_run_that_brings_the_branch_up_to_date_as_well() {
    let script = "cat > \"$SHOP/prompt\"\ngit fetch -q origin\ngit merge -q -X ours origin/main || true\ngit checkout -q --ours shared.txt || true\n\
        git add -A; git commit -qm 'Merge main' || true\nsed -i s/bad/good/ value-*.txt\ngit commit -qam 'Make it good'\ngit push -q\n";
    let shop = Shop::wish().fixer(script).open().await;
    shop.write("main", "shared.txt", "in the beginning\n").await;
    let pr = shop.pull("one", "main", "good").await;
    shop.write("one", "shared.txt", "by one\n").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.write("main", "shared.txt", "by another\n").await;
    shop.becomes(pr, "PAUSED_WAIT_CONFLICT_ONLY").await;
    shop.write("one", "value-one.txt", "bad\n").await;
    eventually("one fixer comes", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.begun(), 1);
    let prompt = std::fs::read_to_string(shop.folder().join("prompt")).expect("it was told something");
    assert!(prompt.contains("git merge origin/main"), "{prompt}");
    let state = shop.daemon().state(REPO).await;
    let activities: Vec<String> = state["recent_events"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["type"] == "ratchet_moved" && event["action"] == "FIX_CI")
        .map(|event| event["activity"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(activities, ["Updating branch from main", "Fixing build failures"]);
    shop.close().await;
}

#[tokio::test]
async fn on_postgresql_a_fixer_mends_what_broke_and_a_crash_in_the_middle_changes_nothing() {
    let wish = Shop::wish().database(Database::postgres().await).fixer(&format!("{WAITS}{MENDS}"));
    let mut shop = wish.open().await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("a fixer begins", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.crash().await;
    shop.go();
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.read("one", "value-one.txt").await, "good\n");
    let runs = shop.fixers().await;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    shop.close().await;
}

#[tokio::test]
async fn without_any_webhook_the_heartbeat_sees_what_happens() {
    let script = "if grep -q bad value-*.txt; then sed -i s/bad/good/ value-*.txt; else echo better >> value-one.txt; fi\n\
        git commit -qam Mend\ngit push -q\n";
    let shop = Shop::wish().fixer(script).open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let nothing = json!([{ "kind": "drop_webhook", "count": Value::Null }]);
    shop.world.control(Method::POST, "/faults", nothing).await;
    shop.write("one", "value-one.txt", "bad\n").await;
    eventually("red CI is seen", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let comment = shop.reviews(pr, "value-one.txt", "Could it be better?").await;
    eventually("a comment is seen", || async { (shop.begun() == 2).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let edited = json!({ "body": "Still better, please." });
    shop.as_reviewer(Method::PATCH, &format!("/pulls/comments/{comment}"), edited).await;
    eventually("an edited comment is seen", || async { (shop.begun() == 3).then_some(()) }).await;
    shop.close().await;
}
