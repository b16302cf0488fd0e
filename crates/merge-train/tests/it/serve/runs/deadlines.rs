//! What is not done, said or heard of in time.

use jiff::Timestamp;

use super::*;

/// Workflows with a deadline of little more than half a second.
fn workflows(dir: &Path) -> String {
    let workflow = |name: &str, steps: String| format!("[[workflows]]\nname = {name:?}\n{steps}");
    let gate =
        |on_expiry: &str| step("ok", &format!("kind = \"approval\"\ntimeout_mins = 0.01\non_expiry = {on_expiry:?}"));
    let hear = |rest: &str| step("landed", &format!("kind = \"wait\"\nevent = \"landed\"\n{rest}"));
    let (made, unmade) = (command(dir, "make", "echo '{}'"), command(dir, "unmake", "echo '{}'"));
    let slow = command(dir, "slow", "echo 'still at it' >&2; exec sleep 600");
    [
        workflow("hear", hear("timeout_mins = 0.01")),
        workflow("fail", gate("fail")),
        workflow("cancel", step("make", &format!("command = {made:?}\ncompensate = {unmade:?}")) + &gate("cancel")),
        workflow("approve", gate("approve") + &agent(dir, "after", "echo '{\"after\": true}'")),
        workflow("slow", step("slow", &format!("command = {slow:?}\ntimeout_mins = 0.01"))),
        workflow("on", gate("approve") + &hear("")),
    ]
    .concat()
}

async fn transitions(daemon: &Daemon, run: &str) -> Vec<Value> {
    let (status, page) = daemon.get(&format!("/api/v1/runs/{run}/events")).await;
    assert_eq!(status, 200, "{page}");
    let events = page["events"].as_array().expect("a list").iter();
    events.filter(|event| event["type"] == "run_transition").cloned().collect()
}

/// Waits until a time has come.
async fn passes(at: &Value) {
    let at: Timestamp = at.as_str().expect("a time").parse().expect("a time");
    eventually("the time comes", || async { (Timestamp::now() > at).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_in_time_ends_as_the_step_says() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let [hear, fail, cancel, approve, slow] = ["hear", "fail", "cancel", "approve", "slow"];
    let mut ids = std::collections::BTreeMap::new();
    for workflow in [hear, fail, cancel, approve, slow] {
        ids.insert(workflow, create(&daemon, workflow).await);
    }
    for (workflow, error) in [(hear, "landed did not come in time"), (fail, "nobody decided in time")] {
        let run = becomes(&daemon, &ids[workflow], "failed").await;
        assert_eq!((&run["error"], &run["lastTransition"]["initiator"]), (&json!(error), &json!("timeout")), "{run}");
    }
    let run = becomes(&daemon, &ids[cancel], "cancelled").await;
    let cancellation = &run["cancellation"];
    assert_eq!(cancellation["initiator"], "timeout", "{run}");
    assert_eq!((&cancellation["reason"], &cancellation["userId"]), (&json!("nobody decided in time"), &Value::Null));
    assert_eq!((&run["compensationLog"][0]["action"], place.times("unmake")), (&json!("make"), 1), "{run}");
    assert_eq!(run["lastTransition"]["initiator"], "timeout", "{run}");

    let run = becomes(&daemon, &ids[approve], "completed").await;
    assert_eq!(run["result"], json!({ "after": true }), "{run}");
    let told = transitions(&daemon, &ids[approve]).await;
    let passed = told.iter().find(|it| it["from"] == "awaiting_approval").expect("it passed the gate");
    assert_eq!((&passed["to"], &passed["context"]["initiator"]), (&json!("running"), &json!("timeout")), "{passed}");
    assert_eq!(passed["context"]["approval"]["decidedBy"], Value::Null, "nobody did: {passed}");
    let (_, steps) = daemon.get(&format!("/api/v1/runs/{}/steps", ids[approve])).await;
    assert_eq!(steps["steps"][0]["output"], json!({ "approved": true, "decisions": [] }), "{steps}");

    let run = becomes(&daemon, &ids[slow], "failed").await;
    let error = run["error"].as_str().expect("an error");
    assert!(error.starts_with("step \"slow\" failed: ") && error.contains("did not finish within 600ms"), "{error}");
    assert!(error.ends_with("still at it"), "{error}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_decides_after_the_deadline_is_too_late() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let (fail, on) = (create(&daemon, "fail").await, create(&daemon, "on").await);
    for run in [&fail, &on] {
        becomes(&daemon, run, "awaiting_approval").await;
    }
    let (_, events) = daemon.get(&format!("/api/v1/runs/{on}/events")).await;
    let asked = events["events"].as_array().expect("a list").iter().find(|it| it["type"] == "approval_requested");
    // Over, whether or not the daemon has looked.
    passes(&asked.expect("it asks")["expires_at"]).await;
    for (run, word, code) in [(&fail, "approve", "RUN_TERMINAL_STATE"), (&on, "reject", "RUN_INVALID_TRANSITION")] {
        let (status, problem) = post(&daemon, &format!("/runs/{run}/{word}"), json!({ "reason": "at last" })).await;
        assert_eq!((status, problem["code"].as_str()), (409, Some(code)), "{word}: {problem}");
    }
    let run = becomes(&daemon, &fail, "failed").await;
    assert_eq!(run["error"], "nobody decided in time", "{run}");
    becomes(&daemon, &on, "waiting_external").await;
    let (status, problem) = post(&daemon, &format!("/runs/{fail}/approve"), Value::Null).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_TERMINAL_STATE")), "{problem}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn section_5_1_a_wait_that_is_over_when_the_daemon_starts_fails_and_all_others_go_on_waiting() {
    let place = Place::new(|_| {
        let hear = |timeout: &str| step("landed", &format!("kind = \"wait\"\nevent = \"landed\"\n{timeout}"));
        format!(
            "[[workflows]]\nname = \"short\"\n{}[[workflows]]\nname = \"long\"\n{}[[workflows]]\nname = \"ask\"\n{}",
            hear("timeout_mins = 0.02"),
            hear(""),
            step("ok", "kind = \"approval\""),
        )
    });
    let daemon = place.setup.start().await;
    let [long, ask, short] =
        [create(&daemon, "long").await, create(&daemon, "ask").await, create(&daemon, "short").await];
    let waiting = becomes(&daemon, &short, "waiting_external").await;
    daemon.kill().await;
    passes(&waiting["lastTransition"]["externalEvent"]["expectedAt"]).await;
    let daemon = place.setup.start().await;
    let run = becomes(&daemon, &short, "failed").await;
    assert_eq!(run["error"], "landed did not come in time", "{run}");
    assert_eq!((&run["lastTransition"]["initiator"], &run["resumeCount"]), (&json!("timeout"), &json!(0)), "{run}");
    for (run, status, word, body) in [
        (&long, "waiting_external", "signal", json!({ "event": "landed" })),
        (&ask, "awaiting_approval", "approve", json!({})),
    ] {
        assert_eq!(show(&daemon, run).await["status"], status);
        assert_eq!(post(&daemon, &format!("/runs/{run}/{word}"), body).await.0, 200);
        becomes(&daemon, run, "completed").await;
    }
    assert!(daemon.stop().await.success());
}
