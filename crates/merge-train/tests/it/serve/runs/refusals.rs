//! What is wanted of a run and cannot be had: each is told why, and nothing happens to the run or the daemon.

use super::*;

const VERBS: [&str; 5] = ["approve", "reject", "cancel", "resume", "signal"];

fn workflows(dir: &Path) -> String {
    let workflow = |name: &str, steps: &str| format!("[[workflows]]\nname = {name:?}\n{steps}");
    let gate = |rest: &str| step("ok", &format!("kind = \"approval\"\n{rest}"));
    let inputs = "inputs = { pr = { type = \"integer\", minimum = 1 }, depth = { enum = [\"quick\", \"deep\"] } }\n";
    // It tidies up until it is let go of.
    let tidy = "trap 'while [ ! -e ../../../go ]; do sleep 0.02; done; exit 0' TERM; while :; do sleep 0.02; done";
    [
        workflow("one", &(inputs.to_owned() + &agent(dir, "one", "echo '{}'"))),
        workflow("alice", &gate("by = [\"github:alice\"]")),
        workflow("both", &gate("by = [\"api:all\", \"alice\"]\nneed = \"all\"")),
        workflow("hear", &step("landed", "kind = \"wait\"\nevent = \"landed\"")),
        workflow("tidy", &agent(dir, "tidy", tidy)),
    ]
    .concat()
}

/// What is said to each: the status, the code, and a word of the detail.
/// What an order cannot do without.
fn body_of(verb: &str) -> &'static str {
    match verb {
        "signal" => "{\"event\": \"landed\"}",
        "reject" => "{\"reason\": \"not today\"}",
        _ => "",
    }
}

async fn refused(daemon: &Daemon, path: &str, key: &str, body: &str, expected: (u16, &str, &str)) {
    let request = http().post(format!("{}/api/v1/runs{path}", daemon.url)).bearer_auth(key).body(body.to_owned());
    let response = request.send().await.expect("an answer");
    let (status, kind) = (response.status().as_u16(), response.headers()["content-type"].clone());
    let problem: Value = response.json().await.expect("JSON");
    let (wanted, code, word) = expected;
    assert_eq!((status, problem["code"].as_str()), (wanted, Some(code)), "{path} {body}: {problem}");
    assert_eq!((&problem["status"], kind == "application/problem+json"), (&json!(status), true), "{kind:?} {problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(word)), "{path} {body}: {problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_and_bodies_that_do_not_fit_are_refused_with_what_is_wrong() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let hear = create(&daemon, "hear").await;
    let hear = becomes(&daemon, &hear, "waiting_external").await;
    let run = |inputs: &str| format!("{{\"workflow\": \"one\", \"tenant\": \"acme\", \"inputs\": {inputs}}}");
    let deep = format!("{}1{}", "{\"x\":".repeat(5_000), "}".repeat(5_000));
    let unfit = |word| (422, "INVALID_INPUTS", word);
    let bad = |word| (400, "BAD_REQUEST", word);
    for (body, expected) in [
        (run("{\"pr\": \"7\"}"), unfit("pr: ")),
        (run("{\"pr\": 0}"), unfit("pr: 0 is less than the minimum of 1")),
        (run("{\"depth\": \"deeper\"}"), unfit("depth: ")),
        (run("{\"dept\": \"deep\"}"), unfit("dept")),
        (run("{\"pr\": \"x\", \"depth\": 1}"), unfit("; ")),
        (run("[7]"), bad("expected a map")),
        (run("7"), bad("expected a map")),
        (run(&deep), bad("recursion limit")),
        ("{\"workflow\": 7, \"tenant\": \"acme\"}".to_owned(), bad("expected a string")),
        ("{\"tenant\": \"acme\"}".to_owned(), bad("missing field `workflow`")),
        ("{\"workflow\": \"one\", \"repo\": \"../../etc\"}".to_owned(), bad("is not a repository: OWNER/NAME")),
        ("{\"workflow\": \"one\", \"repo\": \"acme/w\", \"pr\": -1}".to_owned(), bad("is not a pull request number")),
        (
            "{\"workflow\": \"one\", \"repo\": \"acme/w\", \"tenant\": \"b\"}".to_owned(),
            (422, "TENANT_UNCLEAR", "is not b's"),
        ),
        ("{\"workflow\": \"one\"".to_owned(), bad("EOF")),
        ("[\"one\"]".to_owned(), bad("it is not a JSON object")),
        ("\u{feff}{}".to_owned(), bad("it is not a JSON object")),
    ] {
        refused(&daemon, "", KEY, &body, expected).await;
    }
    let id = hear["id"].as_str().expect("an id");
    for (path, body, expected) in [
        (format!("/{id}/approve"), "{\"raeson\": \"x\"}", bad("unknown field `raeson`")),
        (format!("/{id}/reject"), "", bad("missing field `reason`")),
        (format!("/{id}/reject"), "{\"reason\": \"\"}", bad("reason is empty; say why")),
        (format!("/{id}/cancel"), "{\"reason\": 7}", bad("expected a string")),
        (format!("/{id}/cancel"), "cancel", bad("it is not a JSON object")),
        (format!("/{id}/signal"), "", bad("missing field `event`")),
        (format!("/{id}/signal"), "{\"event\": [\"landed\"]}", bad("expected a string")),
        ("/run-none/cancel".to_owned(), "", (404, "NO_SUCH_RUN", "there is no such run")),
        ("/..%2F..%2Fetc/cancel".to_owned(), "", (404, "NO_SUCH_RUN", "there is no such run")),
        (format!("/{}/cancel", "x".repeat(5_000)), "", (404, "NO_SUCH_RUN", "there is no such run")),
    ] {
        refused(&daemon, &path, KEY, body, expected).await;
    }
    assert_eq!(show(&daemon, id).await, hear, "nothing of it did anything");
    let (_, all) = daemon.get("/api/v1/runs").await;
    assert_eq!(all["runs"].as_array().map(Vec::len), Some(1), "{all}");
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_decide_has_decided_or_comes_when_there_is_nothing_to_decide_changes_nothing() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let [alice, both, hear, done] = ["alice", "both", "hear", "one"];
    let mut ids = std::collections::BTreeMap::new();
    for (workflow, status) in
        [(alice, "awaiting_approval"), (both, "awaiting_approval"), (hear, "waiting_external"), (done, "completed")]
    {
        let run = create(&daemon, workflow).await;
        ids.insert(workflow, becomes(&daemon, &run, status).await);
    }
    let path = |workflow: &str, verb: &str| format!("/{}/{verb}", ids[workflow]["id"].as_str().expect("an id"));
    let forbidden = (403, "FORBIDDEN", "api:all may not decide this; these may: github:alice");
    for verb in ["approve", "reject", "resume"] {
        refused(&daemon, &path(alice, verb), KEY, body_of(verb), forbidden).await;
    }
    for verb in ["approve", "reject"] {
        let invalid = (409, "RUN_INVALID_TRANSITION", "that is waiting_external");
        refused(&daemon, &path(hear, verb), KEY, body_of(verb), invalid).await;
    }
    let (viewer, stranger) = (format!("{KEY} viewer"), format!("{KEY} stranger"));
    for verb in VERBS {
        let body = body_of(verb);
        refused(&daemon, &path(done, verb), KEY, body, (409, "RUN_TERMINAL_STATE", "the run is already completed"))
            .await;
        refused(&daemon, &path(hear, verb), &viewer, body, (403, "FORBIDDEN", "needs the role \"operator\"")).await;
        refused(&daemon, &path(hear, verb), &stranger, body, (404, "NO_SUCH_RUN", "there is no such run")).await;
        refused(&daemon, &path(hear, verb), "wrong", body, (401, "UNAUTHORIZED", "unknown API key")).await;
    }
    for (workflow, run) in &ids {
        assert_eq!(show(&daemon, run["id"].as_str().expect("an id")).await, *run, "{workflow} is as it was");
    }

    let (status, half) = post(&daemon, &format!("/runs{}", path(both, "approve")), json!({ "reason": "fine" })).await;
    assert_eq!((status, &half["status"]), (200, &json!("awaiting_approval")), "one of two: {half}");
    for verb in ["approve", "reject", "resume"] {
        let already = (409, "CONFLICT", "api:all has already decided");
        refused(&daemon, &path(both, verb), KEY, body_of(verb), already).await;
    }
    let run = show(&daemon, ids[both]["id"].as_str().expect("an id")).await;
    assert_eq!((&run["status"], &run["updatedAt"]), (&json!("awaiting_approval"), &half["updatedAt"]), "{run}");
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_being_cancelled_takes_no_other_orders() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let run = create(&daemon, "tidy").await;
    eventually("it is begun", || async { (place.times("tidy") == 1).then_some(()) }).await;
    let (status, cancelled) = post(&daemon, &format!("/runs/{run}/cancel"), json!({ "reason": "enough" })).await;
    assert_eq!((status, &cancelled["status"]), (200, &json!("running")), "it tidies up: {cancelled}");
    let invalid = (409, "RUN_INVALID_TRANSITION", "a run that is running cannot become running");
    refused(&daemon, &format!("/{run}/cancel"), KEY, "", (409, "CONFLICT", "is already being cancelled")).await;
    refused(&daemon, &format!("/{run}/approve"), KEY, "", invalid).await;
    refused(&daemon, &format!("/{run}/resume"), KEY, "", invalid).await;
    let invalid = (409, "RUN_INVALID_TRANSITION", "cannot become failed");
    refused(&daemon, &format!("/{run}/reject"), KEY, body_of("reject"), invalid).await;
    std::fs::write(place.dir.path().join("go"), "").expect("written");
    let run = becomes(&daemon, &run, "cancelled").await;
    assert_eq!((&run["cancellation"], place.times("tidy")), (&cancelled["cancellation"], 1), "{run}");
    assert!(daemon.stop().await.success());
}
