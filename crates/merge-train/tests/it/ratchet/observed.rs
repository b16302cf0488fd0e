//! What an operator reads and counts: the specification's list of log entries, and the metrics.

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{KEY, MENDS, PUSHES_IN_VAIN, REPO, Shop, WAITS, eventually};

/// The only entry of its kind, which has these fields; each of them says something.
fn entry(shop: &Shop, event: &str, fields: &[&str]) -> Value {
    let entries = shop.logged(event);
    let [entry] = entries.as_slice() else { panic!("{event}: {entries:#?}") };
    for field in fields {
        let value = &entry[*field];
        assert!(!value.is_null() && value != "", "{event} has no {field}: {entry:#}");
    }
    entry.clone()
}

fn moment(entry: &Value) -> Timestamp {
    entry["timestamp"].as_str().and_then(|text| text.parse().ok()).expect("a time")
}

async fn without_ci(shop: &Shop) -> Value {
    let ci = shop.world.control(Method::GET, &format!("/repos/{REPO}/ci"), Value::Null).await;
    shop.world.control(Method::DELETE, &format!("/repos/{REPO}/ci"), Value::Null).await;
    ci
}

#[tokio::test]
async fn one_fix_leaves_an_entry_for_each_of_its_decisions_and_counts_once() {
    let shop = Shop::wish().fixer(&format!("{WAITS}{MENDS}")).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("a fixer begins", || async { (shop.begun() == 1).then_some(()) }).await;
    let ci = without_ci(&shop).await;
    shop.go();
    eventually("CI is waited for", || async { (shop.workspace(pr).await["reason"] == "STALE_CI").then_some(()) }).await;
    shop.world.control(Method::PUT, &format!("/repos/{REPO}/ci?run=heads"), ci).await;
    shop.becomes(pr, "PAUSED_DONE").await;

    let run = shop.fixers().await.pop().expect("a run")["id"].clone();
    let workspace = json!(format!("{REPO}#{pr}"));
    let launched = entry(&shop, "fixup_launched", &["sessionId", "workspaceId", "issue", "uiMessage"]);
    assert_eq!(
        (&launched["sessionId"], &launched["workspaceId"], &launched["issue"]),
        (&run, &workspace, &json!("FIX_CI"))
    );
    assert_eq!(launched["uiMessage"], "Fixing build failures");
    let completed = entry(&shop, "fixup_completed", &["sessionId", "workspaceId", "duration", "pushed", "uiMessage"]);
    assert_eq!((&completed["sessionId"], &completed["pushed"]), (&run, &json!("yes")));
    assert!(completed["exitReason"].is_null(), "it pushed: {completed:#}");
    let stale = entry(&shop, "stale_ci", &["workspaceId", "recordedRunId", "uiMessage"]);
    assert_ne!(stale["currentRunId"], stale["recordedRunId"], "none has begun for the new head: {stale:#}");
    let actions = shop.logged("ratchet_action");
    for action in &actions {
        for field in ["workspaceId", "action", "reason", "state", "consecutiveAttempts", "uiMessage"] {
            assert!(!action[field].is_null(), "no {field}: {action:#}");
        }
    }
    let outcome = |state: &str| actions.iter().find(|it| it["state"] == state).map(|it| it["outcomeKind"].clone());
    assert_eq!(outcome("PAUSED_DONE"), Some(json!("SUCCESS")), "{actions:#?}");
    assert_eq!(outcome("FIXING_CI"), Some(Value::Null), "{actions:#?}");

    let of_fixers = r#"{issue="FIX_CI",outcome="FIXER_PUSHED"}"#;
    for (metric, value) in [
        (format!("ratchet_fixers_total{of_fixers}"), 1.0),
        (format!("ratchet_fixer_seconds_count{of_fixers}"), 1.0),
        (r#"ratchet_transitions_total{action="FIX_CI",reason="CI_FAILED"}"#.to_owned(), 1.0),
        (r#"ratchet_transitions_total{action="WAIT",reason="FIXER_PUSHED"}"#.to_owned(), 1.0),
        (r#"ratchet_transitions_total{action="PAUSE",reason="ALL_GREEN"}"#.to_owned(), 1.0),
        ("ratchet_candidates".to_owned(), 1.0),
    ] {
        assert!((shop.metric(&metric).await - value).abs() < 0.01, "{metric}");
    }
    assert!(shop.metric("ratchet_heartbeat_seconds_count").await >= 1.0);
    shop.close().await;
}

#[tokio::test]
async fn a_push_that_waits_for_approval_is_told_as_that_and_its_wait_is_no_work_of_the_fixers() {
    let wish = Shop::wish().ratchet("approve_pushes = [\"always\"]\nstale_ci_timeout_mins = 0.05");
    let shop = wish.open().await;
    let pr = shop.pull("one", "main", "bad").await;
    shop.becomes(pr, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    let run = shop.fixers().await.pop().expect("a run")["id"].clone();
    let held = entry(&shop, "fixup_held", &["sessionId", "workspaceId", "files", "path", "outcomeKind", "uiMessage"]);
    assert_eq!((&held["sessionId"], &held["outcomeKind"]), (&run, &json!("ATTENTION")));
    let sessions = shop.ask(Method::GET, pr, "/sessions", Value::Null).await;
    let fixer =
        sessions["sessions"].as_array().expect("a list").iter().find(|it| it["id"] == run).expect("the fixer's");
    assert_eq!(fixer["working"], false, "nobody works while it waits: {fixer:#}");

    // It waits for a while, CI is gone by then, and nothing starts after the push.
    let beats = shop.metric("ratchet_heartbeat_seconds_count").await;
    eventually("time goes by", || async {
        (shop.metric("ratchet_heartbeat_seconds_count").await >= beats + 3.0).then_some(())
    })
    .await;
    without_ci(&shop).await;
    let url = format!("{}/api/v1/runs/{}/approve", shop.daemon().url, run.as_str().expect("an id"));
    let answer = shop.daemon().http.post(url).bearer_auth(KEY).json(&json!({})).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    shop.becomes(pr, "PAUSED_ATTENTION_STALE_CI_TIMEOUT").await;
    let (launched, completed) = (entry(&shop, "fixup_launched", &[]), entry(&shop, "fixup_completed", &[]));
    let (worked, waited) =
        (moment(&held).duration_since(moment(&launched)), moment(&completed).duration_since(moment(&held)));
    let duration = completed["duration"].as_i64().expect("milliseconds");
    assert!(waited.as_millis() > 1_500, "{waited:?}");
    assert!(
        i128::from(duration) < worked.as_millis() + 1_000,
        "{duration} ms of {worked:?}, and {waited:?} of waiting"
    );
    let fields = ["workspaceId", "staleSince", "timeoutMs", "outcomeKind", "uiMessage"];
    let timeout = entry(&shop, "stale_ci_timeout", &fields);
    assert_eq!((&timeout["timeoutMs"], &timeout["outcomeKind"]), (&json!(3_000), &json!("ATTENTION")));
    shop.close().await;
}

#[tokio::test]
async fn the_end_of_all_attempts_is_told_as_something_for_a_person() {
    let shop = Shop::wish().ratchet("max_attempts = 1").fixer(PUSHES_IN_VAIN).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    shop.becomes(pr, "PAUSED_ATTENTION_TERMINAL_FAILED").await;
    let fields = ["workspaceId", "consecutiveAttempts", "outcomeKind", "uiMessage"];
    let terminal = entry(&shop, "terminal_attempts", &fields);
    assert_eq!((&terminal["consecutiveAttempts"], &terminal["outcomeKind"]), (&json!(1), &json!("ATTENTION")));
    let (status, page) = shop.daemon().get(&format!("/api/v1/workspaces/{REPO}/{pr}/transitions?limit=1")).await;
    let newest = &page["transitions"][0];
    assert_eq!((status, &newest["state"]), (200, &json!("PAUSED_ATTENTION_TERMINAL_FAILED")), "{page:#}");
    assert_eq!((&newest["outcomeKind"], &newest["workspaceId"]), (&json!("ATTENTION"), &json!(format!("{REPO}#{pr}"))));
    shop.close().await;
}

#[tokio::test]
async fn a_fixer_that_does_not_push_is_told_with_why() {
    let shop = Shop::wish().fixer("echo 'I do not know how'\n").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    let completed = entry(&shop, "fixup_completed", &["sessionId", "duration", "pushed", "exitReason", "uiMessage"]);
    assert_eq!((&completed["pushed"], &completed["reason"]), (&json!("no"), &json!("FIXER_GAVE_UP")));
    shop.close().await;
}
