//! The documents of runs, as the API gives them: their fields, and what is in them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::TenantId;
use merge_train_core::inbox::Key;

use super::*;
use crate::support::Database;

/// The names of an object's fields, in their order.
fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn sorted<const N: usize>(mut names: [&'static str; N]) -> [&'static str; N] {
    names.sort_unstable();
    names
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap_or_else(|| panic!("{value} is no time")).parse().expect("a time")
}

async fn list(daemon: &Daemon, run: &str, what: &str) -> Vec<Value> {
    let (status, page) = daemon.get(&format!("/api/v1/runs/{run}/{what}")).await;
    assert_eq!(status, 200, "{page}");
    page[what].as_array().expect("a list").clone()
}

/// A workflow with each kind of step, one that fails at last, and two that can be undone, the second of them not.
fn workflows(dir: &Path) -> String {
    let read = command(dir, "read", r#"echo '{"files": 3, "tokensUsed": {"input": 5, "output": 2}}'"#);
    let stuck = command(dir, "stuck", "[ -e ../../../go ] || exec sleep 600; echo '{}'");
    let (undo, fail) = (command(dir, "undo", "echo '{}'"), command(dir, "undo-not", "echo 'it is stuck' >&2; exit 1"));
    let name = |name: &str| format!("[[workflows]]\nname = {name:?}\n");
    [
        name("all"),
        step("read", &format!("command = {read:?}\nidempotent = true\nresumable = false")),
        step("ok", "kind = \"approval\"\nby = [\"api:all\"]"),
        step("landed", "kind = \"wait\"\nevent = \"landed\"\ncorrelation = \"{steps.read.files}\"\ntimeout_mins = 2"),
        agent(dir, "break", "echo 'no network' >&2; exit 1"),
        step("never", "kind = \"approval\""),
        name("one"),
        agent(dir, "one", "echo '{}'"),
        name("undone"),
        step("first", &format!("command = {read:?}\ncompensate = {fail:?}")),
        step("second", &format!("command = {stuck:?}\nidempotent = true\ncompensate = {undo:?}")),
        step("last", "kind = \"approval\""),
    ]
    .concat()
}

/// A run of `all`, past its gate and what it waits for, to its failure.
async fn failed(daemon: &Daemon) -> String {
    let run = create(daemon, "all").await;
    becomes(daemon, &run, "awaiting_approval").await;
    let (status, answer) = post(daemon, &format!("/runs/{run}/approve"), json!({ "reason": "looks fine" })).await;
    assert_eq!(status, 200, "{answer}");
    becomes(daemon, &run, "waiting_external").await;
    let signal = json!({ "event": "landed", "correlation": "3", "source": "ci", "eventId": "build-7", "payload": [1] });
    let (status, answer) = post(daemon, &format!("/runs/{run}/signal"), signal).await;
    assert_eq!(status, 200, "{answer}");
    becomes(daemon, &run, "failed").await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn section_5_2_a_checkpoint_has_what_the_step_was_given_and_what_came_of_it() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let run = failed(&daemon).await;
    let checkpoints = list(&daemon, &run, "checkpoints").await;
    let shown = |at: usize| [&checkpoints[at]["stepId"], &checkpoints[at]["agent"], &checkpoints[at]["status"]];
    let expected = [
        ["read", "read", "running"],
        ["read", "read", "completed"],
        ["ok", "approval", "running"],
        ["ok", "approval", "completed"],
        ["landed", "external", "running"],
        ["landed", "external", "completed"],
        ["break", "break", "running"],
        ["break", "break", "failed"],
    ];
    assert_eq!(checkpoints.len(), expected.len(), "{checkpoints:?}");
    expected.iter().enumerate().for_each(|(at, expected)| assert_eq!(shown(at), *expected));
    let times: Vec<Timestamp> = checkpoints.iter().map(|checkpoint| time(&checkpoint["timestamp"])).collect();
    assert!(times.is_sorted(), "{times:?}");

    let (before, after) = (&checkpoints[0], &checkpoints[1]);
    assert_eq!(
        keys(before),
        sorted([
            "agent",
            "id",
            "idempotent",
            "input",
            "resumable",
            "runId",
            "status",
            "stepId",
            "tenantId",
            "timestamp"
        ])
    );
    assert_eq!(before["input"]["step"], json!({ "id": "read", "attempt": 1 }), "{before}");
    assert_eq!(before["input"]["run"]["id"], run.as_str(), "{before}");
    assert_eq!((&before["resumable"], &before["idempotent"]), (&json!(false), &json!(true)), "{before}");
    assert_eq!(
        keys(after),
        sorted([
            "agent",
            "durationMs",
            "id",
            "idempotent",
            "input",
            "output",
            "resumable",
            "runId",
            "status",
            "stepId",
            "tenantId",
            "timestamp",
            "tokensUsed"
        ])
    );
    assert_eq!((&after["input"], &after["output"]["files"]), (&before["input"], &json!(3)), "{after}");
    assert_eq!(after["tokensUsed"], json!({ "input": 5, "output": 2 }), "{after}");
    assert_eq!((&after["resumable"], &after["idempotent"]), (&json!(false), &json!(true)), "{after}");
    let took = times[1].duration_since(times[0]).as_millis();
    assert_eq!(after["durationMs"].as_i64().map(i128::from), Some(took), "{after}");

    let (before, after) = (&checkpoints[6], &checkpoints[7]);
    assert_eq!(before["input"]["steps"]["landed"], json!({ "event": "landed", "eventId": "build-7", "payload": [1] }));
    assert_eq!(
        keys(after),
        sorted([
            "agent",
            "durationMs",
            "error",
            "id",
            "idempotent",
            "input",
            "resumable",
            "runId",
            "status",
            "stepId",
            "tenantId",
            "timestamp"
        ])
    );
    assert_eq!(after["input"], before["input"], "{after}");
    assert!(after["error"].as_str().is_some_and(|error| error.ends_with("no network")), "{after}");
    assert_eq!((&after["resumable"], &after["idempotent"]), (&json!(true), &json!(false)), "{after}");
    let ids: BTreeSet<&str> = checkpoints.iter().filter_map(|checkpoint| checkpoint["id"].as_str()).collect();
    assert_eq!(ids.len(), checkpoints.len(), "each has an id of its own: {ids:?}");
    assert!(daemon.stop().await.success());
}

/// The context of each transition of a run, without its times, which are looked at.
async fn contexts(daemon: &Daemon, run: &str) -> Vec<(String, Value)> {
    let events = list(daemon, run, "events").await;
    let read = |event: &Value| {
        let mut context = event["context"].clone();
        assert_eq!(context["runId"], run, "{event}");
        let at = time(&context["timestamp"]);
        for (part, field) in [("approval", "decidedAt"), ("externalEvent", "expectedAt")] {
            if let Some(when) = context.get_mut(part).and_then(|part| part.as_object_mut()?.remove(field)) {
                assert_eq!(time(&when) > at, part == "externalEvent", "{event}");
            }
        }
        let context = context.as_object_mut().expect("an object");
        context.remove("runId");
        context.remove("timestamp");
        let words = [&event["from"], &event["to"]].map(|word| word.as_str().expect("a state").to_owned());
        (words.join(" > "), json!(context))
    };
    events.iter().filter(|event| event["type"] == "run_transition").map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn section_2_2_each_transition_says_who_or_what_made_it_and_why() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let run = failed(&daemon).await;
    let asked = json!({ "action": "ok", "requestedBy": "api:all" });
    let mut decided = asked.clone();
    let said = json!({ "decision": "approved", "decidedBy": "api:all", "reason": "looks fine" });
    decided.as_object_mut().expect("an object").extend(said.as_object().expect("an object").clone());
    let awaited = json!({ "eventType": "landed", "timeoutMs": 120_000 });
    let came = json!({ "eventType": "landed", "source": "ci", "eventId": "build-7", "timeoutMs": 120_000 });
    let which = json!({ "correlation": "3" });
    let expected = [
        ("pending > running", json!({ "initiator": "system" })),
        ("running > awaiting_approval", json!({ "initiator": "policy", "approval": asked })),
        ("awaiting_approval > running", json!({ "initiator": "approval", "userId": "api:all", "approval": decided })),
        ("running > waiting_external", json!({ "initiator": "system", "metadata": which, "externalEvent": awaited })),
        ("waiting_external > running", json!({ "initiator": "webhook", "metadata": which, "externalEvent": came })),
        ("running > failed", json!({ "initiator": "system" })),
    ];
    let found = contexts(&daemon, &run).await;
    assert_eq!(found, expected.map(|(words, context)| (words.to_owned(), context)));

    let (no, cancelled) = (create(&daemon, "all").await, create(&daemon, "all").await);
    for (run, word, status) in [(&no, "reject", "failed"), (&cancelled, "cancel", "cancelled")] {
        becomes(&daemon, run, "awaiting_approval").await;
        let (status_code, answer) =
            post(&daemon, &format!("/runs/{run}/{word}"), json!({ "reason": "not today" })).await;
        assert_eq!((status_code, &answer["status"]), (200, &json!(status)), "{answer}");
    }
    let said = json!({ "action": "ok", "requestedBy": "api:all", "decision": "rejected", "decidedBy": "api:all", "reason": "not today" });
    let (words, context) = contexts(&daemon, &no).await.pop().expect("the last");
    assert_eq!(words, "awaiting_approval > failed");
    assert_eq!(context, json!({ "initiator": "approval", "userId": "api:all", "approval": said }));
    let (words, context) = contexts(&daemon, &cancelled).await.pop().expect("the last");
    assert_eq!(words, "awaiting_approval > cancelled");
    assert_eq!((&context["initiator"], &context["userId"]), (&json!("user"), &json!("api:all")), "{context}");
    assert!(daemon.stop().await.success());
}

/// The fields of section 6.2.
const SPECIFIED: [&str; 24] = [
    "id",
    "schemaVersion",
    "tenantId",
    "repoId",
    "prId",
    "prUrl",
    "type",
    "status",
    "currentStep",
    "trigger",
    "idempotencyKey",
    "a2aCorrelationId",
    "lastHeartbeatAt",
    "result",
    "error",
    "cancellation",
    "compensationLog",
    "resumedFrom",
    "resumeCount",
    "createdAt",
    "updatedAt",
    "completedAt",
    "durationMs",
    // Ours: section 2.2 wants the context kept, and says not where.
    "lastTransition",
];

/// Those that every run has from its first transition on.
const ALWAYS: [&str; 14] = [
    "id",
    "schemaVersion",
    "tenantId",
    "repoId",
    "prId",
    "prUrl",
    "type",
    "status",
    "trigger",
    "idempotencyKey",
    "lastHeartbeatAt",
    "lastTransition",
    "createdAt",
    "updatedAt",
];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    let mut all = [&ALWAYS[..], &["resumeCount"], more].concat();
    all.sort_unstable();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn section_6_2_a_run_has_the_fields_of_the_specification_and_no_others() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let wanted = json!({ "workflow": "one", "repo": "acme/widgets", "pr": 7 });
    let (_, one) = ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    let one = becomes(&daemon, one["id"].as_str().expect("an id"), "completed").await;
    assert_eq!(keys(&one), with(&["completedAt", "durationMs", "result"]), "{one}");
    let texts = ["tenantId", "repoId", "prId", "type", "idempotencyKey"].map(|key| one[key].as_str().expect("text"));
    assert_eq!(texts, ["acme", "acme/widgets", "7", "one", "api:all:once"]);
    assert!(one["prUrl"].as_str().is_some_and(|url| url.ends_with("/acme/widgets/pull/7")), "{one}");
    assert_eq!((&one["schemaVersion"], &one["resumeCount"]), (&json!(1), &json!(0)), "{one}");
    assert_eq!(one["trigger"], json!({ "source": "api", "userId": "api:all" }), "{one}");
    let took = time(&one["completedAt"]).duration_since(time(&one["createdAt"])).as_millis();
    assert_eq!(one["durationMs"].as_i64().map(i128::from), Some(took), "section 2.3: {one}");

    let undone = create(&daemon, "undone").await;
    eventually("it is stuck", || async { (place.times("stuck") == 1).then_some(()) }).await;
    daemon.kill().await;
    std::fs::write(place.dir.path().join("go"), "").expect("written");
    let daemon = place.setup.start().await;
    let resumed = becomes(&daemon, &undone, "awaiting_approval").await;
    assert_eq!(keys(&resumed), with(&["currentStep", "resumedFrom"]), "{resumed}");
    let words = [&resumed["currentStep"], &resumed["resumedFrom"]];
    assert_eq!((words, &resumed["resumeCount"]), ([&json!("last"), &json!("second")], &json!(1)), "{resumed}");
    assert_eq!(post(&daemon, &format!("/runs/{undone}/cancel"), json!({ "reason": "enough" })).await.0, 200);
    let undone = becomes(&daemon, &undone, "cancelled").await;
    let more = ["cancellation", "compensationLog", "completedAt", "durationMs", "resumedFrom"];
    assert_eq!(keys(&undone), with(&more), "{undone}");
    let cancellation = &undone["cancellation"];
    assert_eq!(keys(cancellation), ["cancelledAt", "initiator", "reason", "userId"], "{undone}");
    let (second, first) = (&undone["compensationLog"][0], &undone["compensationLog"][1]);
    assert_eq!((keys(second), &second["action"]), (vec!["action", "at"], &json!("second")), "{undone}");
    assert_eq!((keys(first), &first["action"]), (vec!["action", "at", "error"], &json!("first")), "{undone}");
    assert!(first["error"].as_str().is_some_and(|error| error.ends_with("it is stuck")), "{undone}");

    let failed = failed(&daemon).await;
    let failed = show(&daemon, &failed).await;
    assert_eq!(keys(&failed), with(&["completedAt", "durationMs", "error"]), "{failed}");
    // Nobody sets this one yet: there are no agents that speak with each other.
    let seen: BTreeSet<&str> =
        [&one, &resumed, &undone, &failed].into_iter().flat_map(keys).chain(["a2aCorrelationId"]).collect();
    assert_eq!(seen, BTreeSet::from(SPECIFIED));
    // The list has them as they are alone.
    let (_, page) = daemon.get("/api/v1/runs?type=one").await;
    assert_eq!(page["runs"], json!([one]), "{page}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_has_the_same_fields_as_long_as_it_is_in_the_same_state() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let run = failed(&daemon).await;
    let steps = list(&daemon, &run, "steps").await;
    let [read, ok, landed, broken, never] = &steps[..] else { panic!("{steps:?}") };
    let always = ["agent", "attempts", "position", "runId", "status", "stepId", "tenantId"];
    let with = |more: &[&'static str]| {
        let mut all = [&always[..], more].concat();
        all.sort_unstable();
        all
    };
    assert_eq!(keys(never), with(&[]), "{never}");
    assert_eq!(keys(read), with(&["completedAt", "durationMs", "input", "output", "startedAt"]), "{read}");
    for step in [ok, landed] {
        assert_eq!(keys(step), with(&["completedAt", "durationMs", "output", "startedAt"]), "{step}");
    }
    assert_eq!(keys(broken), with(&["completedAt", "durationMs", "error", "input", "startedAt"]), "{broken}");
    let places: Vec<(u64, u64)> = steps
        .iter()
        .map(|step| (step["position"].as_u64().expect("a number"), step["attempts"].as_u64().expect("a number")))
        .collect();
    assert_eq!(places, [(0, 1), (1, 1), (2, 1), (3, 1), (4, 0)]);
    let by = json!([{ "by": "api:all", "at": ok["output"]["decisions"][0]["at"], "reason": "looks fine" }]);
    assert_eq!(ok["output"], json!({ "approved": true, "decisions": by }), "{ok}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn section_3_3_what_is_remembered_of_a_request_has_the_fields_of_the_specification() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let wanted = json!({ "workflow": "one", "tenant": "acme" });
    let (status, run) = ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    assert_eq!(status, 201, "{run}");
    assert!(daemon.stop().await.success());
    let store = Database::Sqlite.open(&place.setup).await;
    let (tenant, key): (TenantId, Key) = ("acme".parse().expect("a tenant"), Key::api("all", "once").expect("a key"));
    let record = store.record(&tenant, &key).await.expect("the state can be read").expect("it is remembered");
    store.close().await;
    let record = serde_json::to_value(&record).expect("JSON");
    let names = [
        "attempts",
        "createdAt",
        "expiresAt",
        "key",
        "requestHash",
        "response",
        "runId",
        "source",
        "status",
        "tenantId",
        "updatedAt",
    ];
    assert_eq!(keys(&record), names, "{record}");
    let texts = ["key", "source", "tenantId", "status", "runId"].map(|key| record[key].as_str().expect("text"));
    assert_eq!(texts, ["api:all:once", "api", "acme", "completed", run["id"].as_str().expect("an id")]);
    let kept = time(&record["expiresAt"]).duration_since(time(&record["updatedAt"]));
    assert_eq!(kept, SignedDuration::from_hours(24), "section 4.3: {record}");
}
