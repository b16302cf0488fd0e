//! Commands that fail and are tried again.

use jiff::Timestamp;

use super::*;

/// A command that fails so many times, and then tells which attempt it is.
fn fails(dir: &Path, name: &str, times: usize) -> String {
    let begun = format!("$(grep -c '^{name}$' '{}')", dir.join("begun").display());
    let script = format!(
        "if [ {begun} -le {times} ]; then echo \"no luck\" >&2; exit 1; fi; echo \"{{\\\"attempt\\\": $MERGE_TRAIN_STEP_ATTEMPT}}\""
    );
    command(dir, name, &script)
}

fn workflow(name: &str, command: &str, retries: &str) -> String {
    format!("[[workflows]]\nname = {name:?}\n{}", step(name, &format!("command = {command:?}\n{retries}")))
}

fn time(value: &Value) -> Timestamp {
    value.as_str().expect("a time").parse().expect("a time")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_is_tried_again_after_pauses_that_double() {
    let place = Place::new(|dir| {
        workflow("third", &fails(dir, "third", 2), "retries = 2\nbackoff_secs = 1")
            + &workflow("never", &fails(dir, "never", 9), "retries = 2\nbackoff_secs = 0")
            + &workflow("once", &fails(dir, "once", 1), "")
    });
    let daemon = place.setup.start().await;
    let [third, never, once] =
        [create(&daemon, "third").await, create(&daemon, "never").await, create(&daemon, "once").await];
    for (run, name, times) in [(&never, "never", 3), (&once, "once", 1)] {
        let run = becomes(&daemon, run, "failed").await;
        let error = run["error"].as_str().expect("an error");
        assert!(error.starts_with(&format!("step {name:?} failed: ")) && error.ends_with("no luck"), "{error}");
        assert_eq!(place.times(name), times, "{run}");
    }
    let run = becomes(&daemon, &third, "completed").await;
    assert_eq!((&run["result"], &run["resumeCount"]), (&json!({ "attempt": 3 }), &json!(0)), "{run}");
    assert_eq!(run["error"], Value::Null, "what passed is no error: {run}");
    let (_, steps) = daemon.get(&format!("/api/v1/runs/{third}/steps")).await;
    assert_eq!((&steps["steps"][0]["attempts"], &steps["steps"][0]["error"]), (&json!(3), &Value::Null), "{steps}");
    let (_, page) = daemon.get(&format!("/api/v1/runs/{third}/events")).await;
    let events = |kind: &str| -> Vec<&Value> {
        page["events"].as_array().expect("a list").iter().filter(|event| event["type"] == kind).collect()
    };
    let (begun, failed) = (events("step_started"), events("step_failed"));
    assert_eq!((begun.len(), failed.len(), events("step_completed").len()), (3, 2, 1), "{page}");
    for (failed, (next, secs)) in failed.iter().zip(begun[1..].iter().zip([1.0, 2.0])) {
        let pause = time(&failed["retry_at"]).duration_since(time(&failed["ts"]));
        assert!((pause.as_secs_f64() - secs).abs() < 0.1, "{pause:?}");
        assert!(time(&next["ts"]) >= time(&failed["retry_at"]), "{next} is before {failed}");
    }
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_pauses_before_it_tries_again_goes_on_at_once_when_somebody_says_so() {
    let place = Place::new(|dir| {
        workflow("later", &fails(dir, "later", 1), "retries = 1\nbackoff_secs = 3600\nidempotent = true")
    });
    let daemon = place.setup.start().await;
    let run = create(&daemon, "later").await;
    let pausing = eventually("it pauses", || async {
        let (_, steps) = daemon.get(&format!("/api/v1/runs/{run}/steps")).await;
        Some(steps["steps"][0].clone()).filter(|step| step["status"] == "failed")
    })
    .await;
    assert!(pausing["error"].as_str().is_some_and(|error| error.ends_with("no luck")), "{pausing}");
    let waiting = show(&daemon, &run).await;
    assert_eq!((&waiting["status"], &waiting["currentStep"]), (&json!("running"), &json!("later")), "{waiting}");
    // Whoever starts anew keeps to the pause, too.
    daemon.kill().await;
    let daemon = place.setup.start().await;
    let (status, went_on) = post(&daemon, &format!("/runs/{run}/resume"), json!({ "reason": "now" })).await;
    assert_eq!(status, 200, "{went_on}");
    let done = becomes(&daemon, &run, "completed").await;
    assert_eq!((&done["result"], place.times("later")), (&json!({ "attempt": 2 }), 2), "{done}");
    assert!(daemon.stop().await.success());
}
