//! What operators count and read of runs, in the words of section 7 of the specification.

use std::collections::{BTreeMap, BTreeSet};

use super::orphans::{Pair, until_let_go};
use super::*;

/// The series of a metric: its labels in the order of their names, and its value.
type Series = BTreeMap<String, f64>;

async fn scrape(daemon: &Daemon) -> String {
    let answer = http().get(format!("{}/metrics", daemon.url)).send().await.expect("an answer");
    answer.text().await.expect("text")
}

fn series(scraped: &str, metric: &str) -> Series {
    let read = |line: &str| {
        let (labels, value) = line.strip_prefix(metric)?.strip_prefix('{')?.rsplit_once("} ")?;
        let mut labels: Vec<&str> = labels.split(',').collect();
        labels.sort_unstable();
        Some((labels.join(" ").replace('"', ""), value.parse().expect("a number")))
    };
    scraped.lines().filter_map(read).collect()
}

fn expected<'a>(series: impl IntoIterator<Item = (&'a str, f64)>) -> Series {
    series.into_iter().map(|(labels, value)| (labels.to_owned(), value)).collect()
}

fn workflows(dir: &Path) -> String {
    let workflow = |name: &str, steps: String| format!("[[workflows]]\nname = {name:?}\n{steps}");
    [
        workflow("one", agent(dir, "read", "echo '{}'")),
        workflow("fail", agent(dir, "break", "exit 1")),
        workflow("ask", step("ok", "kind = \"approval\"")),
        workflow("hear", step("landed", "kind = \"wait\"\nevent = \"landed\"")),
        workflow("nap", agent(dir, "nap", "exec sleep 600")),
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn section_7_1_metrics_count_what_runs_go_through_under_the_labels_of_the_specification() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let wanted = json!({ "workflow": "one", "tenant": "acme" });
    let (status, one) = ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    assert_eq!(status, 201, "{one}");
    let one = becomes(&daemon, one["id"].as_str().expect("an id"), "completed").await;
    assert_eq!(ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &wanted).await.0, 201);
    let other = json!({ "workflow": "fail", "tenant": "acme" });
    assert_eq!(ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &other).await.0, 409);
    let mut ids = BTreeMap::new();
    for (workflow, status) in
        [("fail", "failed"), ("ask", "awaiting_approval"), ("hear", "waiting_external"), ("nap", "running")]
    {
        ids.insert(workflow, create(&daemon, workflow).await);
        becomes(&daemon, &ids[workflow], status).await;
    }

    let active = |counts: [f64; 3]| {
        let labels = ["awaiting_approval", "running", "waiting_external"];
        let labels = labels.map(|status| format!("status={status} tenant_id=acme"));
        labels.into_iter().zip(counts).collect::<Series>()
    };
    let scraped = scrape(&daemon).await;
    assert_eq!(series(&scraped, "gwi_run_active_gauge"), active([1.0; 3]), "{scraped}");

    assert_eq!(post(&daemon, &format!("/runs/{}/approve", ids["ask"]), Value::Null).await.0, 200);
    becomes(&daemon, &ids["ask"], "completed").await;
    for workflow in ["hear", "nap"] {
        assert_eq!(post(&daemon, &format!("/runs/{}/cancel", ids[workflow]), Value::Null).await.0, 200);
        becomes(&daemon, &ids[workflow], "cancelled").await;
    }

    let scraped = scrape(&daemon).await;
    assert_eq!(series(&scraped, "gwi_run_active_gauge"), active([0.0; 3]), "{scraped}");
    let transitions = expected([
        ("from_state=awaiting_approval tenant_id=acme to_state=running", 1.0),
        ("from_state=pending tenant_id=acme to_state=running", 5.0),
        ("from_state=running tenant_id=acme to_state=awaiting_approval", 1.0),
        ("from_state=running tenant_id=acme to_state=cancelled", 1.0),
        ("from_state=running tenant_id=acme to_state=completed", 2.0),
        ("from_state=running tenant_id=acme to_state=failed", 1.0),
        ("from_state=running tenant_id=acme to_state=waiting_external", 1.0),
        ("from_state=waiting_external tenant_id=acme to_state=cancelled", 1.0),
    ]);
    assert_eq!(series(&scraped, "gwi_run_transitions_total"), transitions, "{scraped}");
    let durations = expected([
        ("status=completed tenant_id=acme type=ask", 1.0),
        ("status=failed tenant_id=acme type=fail", 1.0),
        ("status=cancelled tenant_id=acme type=hear", 1.0),
        ("status=cancelled tenant_id=acme type=nap", 1.0),
        ("status=completed tenant_id=acme type=one", 1.0),
    ]);
    assert_eq!(series(&scraped, "gwi_run_duration_seconds_count"), durations, "{scraped}");
    let took = series(&scraped, "gwi_run_duration_seconds_sum")["status=completed tenant_id=acme type=one"];
    assert!((took - one["durationMs"].as_f64().expect("a number") / 1e3).abs() < 1e-9, "{took}: {one}");
    let buckets = series(&scraped, "gwi_run_duration_seconds_bucket");
    assert_eq!(buckets["le=+Inf status=completed tenant_id=acme type=one"], 1.0, "{scraped}");
    // Five runs, an approval and two cancellations; one that came again, and one that was another.
    let hits =
        [("result=accepted source=api", 8.0), ("result=conflict source=api", 1.0), ("result=replayed source=api", 1.0)];
    assert_eq!(series(&scraped, "gwi_idempotency_hits_total"), expected(hits), "{scraped}");
    for (metric, kind) in [
        ("gwi_run_transitions_total", "counter"),
        ("gwi_run_duration_seconds", "histogram"),
        ("gwi_run_active_gauge", "gauge"),
        ("gwi_idempotency_hits_total", "counter"),
    ] {
        assert!(scraped.contains(&format!("# TYPE {metric} {kind}\n")), "{metric} is no {kind}:\n{scraped}");
    }
    assert!(daemon.stop().await.success());
}

/// The table of section 7.2: each event, and its fields.
const EVENTS: [(&str, &[&str]); 6] = [
    ("run_created", &["runId", "type", "idempotencyKey"]),
    ("run_transition", &["runId", "from", "to", "initiator"]),
    ("run_checkpoint", &["runId", "stepId", "resumable"]),
    ("run_completed", &["runId", "durationMs", "status"]),
    ("idempotency_hit", &["key", "cachedRunId"]),
    ("orphan_detected", &["runId", "lastHeartbeat"]),
];
/// What every line has besides.
const ALWAYS: [&str; 5] = ["timestamp", "level", "event", "message", "target"];

#[tokio::test(flavor = "multi_thread")]
async fn section_7_2_each_event_of_the_table_is_logged_with_its_fields() {
    let pair = Pair::new("heartbeat_secs = 1\norphaned_after_secs = 3", |dir| {
        let again = command(dir, "again", &until_let_go(dir));
        let again = step("again", &format!("command = {again:?}\nidempotent = true\nresumable = false"));
        format!("{}[[workflows]]\nname = \"again\"\n{again}", workflows(dir))
    })
    .await;
    let dying = pair.setups[0].start().await;
    let orphan = create(&dying, "again").await;
    pair.begun("again").await;
    let living = pair.setups[1].start().await;
    dying.kill().await;
    let left = show(&living, &orphan).await;
    let wanted = json!({ "workflow": "one", "tenant": "acme" });
    let (_, one) = ask(&living, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    let one = becomes(&living, one["id"].as_str().expect("an id"), "completed").await;
    let (status, again) = ask(&living, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    assert_eq!((status, &again["id"]), (201, &one["id"]), "{again}");
    std::fs::write(pair.dir.path().join("go"), "").expect("written");
    becomes(&living, &orphan, "completed").await;
    // What comes after all of these lines is this one.
    eventually("all is logged", || async { (logged(&living, "run_completed").len() == 2).then_some(()) }).await;

    for (event, fields) in EVENTS {
        let lines = logged(&living, event);
        assert!(!lines.is_empty(), "{event} is not logged:\n{}", living.log());
        let expected: BTreeSet<&str> = fields.iter().chain(&ALWAYS).copied().collect();
        for line in lines {
            let found: BTreeSet<&str> = line.as_object().expect("an object").keys().map(String::as_str).collect();
            assert_eq!(found, expected, "{line}");
        }
    }
    let about = |event: &str, run: &Value| -> Vec<Value> {
        let fields = EVENTS.iter().find(|(name, _)| *name == event).expect("an event of the table").1;
        let lines = logged(&living, event).into_iter().filter(|line| line["runId"] == *run);
        lines.map(|line| fields[1..].iter().map(|field| line[*field].clone()).collect()).collect()
    };
    let id = &one["id"];
    assert_eq!(about("run_created", id), [json!(["one", "api:all:once"])]);
    let transitions = [json!(["pending", "running", "system"]), json!(["running", "completed", "system"])];
    assert_eq!(about("run_transition", id), transitions);
    assert_eq!(about("run_checkpoint", id), [json!(["read", true]), json!(["read", true])], "before and after");
    assert_eq!(about("run_completed", id), [json!([one["durationMs"], "completed"])]);
    assert_eq!(about("orphan_detected", &left["id"]), [json!([left["lastHeartbeatAt"]])]);
    assert_eq!(about("run_checkpoint", &left["id"]), [json!(["again", false]), json!(["again", false])]);
    let hits = logged(&living, "idempotency_hit");
    assert_eq!((hits.len(), &hits[0]["key"], &hits[0]["cachedRunId"]), (1, &json!("api:all:once"), id), "{hits:?}");
    assert!(living.stop().await.success());
}
