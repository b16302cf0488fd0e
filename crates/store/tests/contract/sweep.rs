//! What is forgotten, and what is not.

use jiff::SignedDuration;
use serde_json::json;
use store::rows::{Row, Transition};
use store::{Admission, Batch, Retention, Since, Snapshot, Swept};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

pub async fn section_4_3_expired_records_go_and_unfinished_ones_stay(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    for name in ["github:done", "github:failed", "github:in-hand"] {
        world.admit(name, REPO, at(0)).await;
    }
    let entries = world.take(&lease).await;
    world.admit("github:waiting", REPO, at(0)).await;
    world.settle(&lease, &entries[..1], done(), at(0)).await.unwrap();
    world.settle(&lease, &entries[1..2], failed("no"), at(0)).await.unwrap();
    let left = async |now| {
        world.store.sweep(at(now), &Retention::default()).await.unwrap();
        let mut left = Vec::new();
        for name in ["done", "failed", "in-hand", "waiting"] {
            if world.store.record(&tenant("acme"), &key(&format!("github:{name}"))).await.unwrap().is_some() {
                left.push(name);
            }
        }
        left.join(" ")
    };
    assert_eq!(left(HOUR - 1).await, "done failed in-hand waiting");
    assert_eq!(left(HOUR).await, "done in-hand waiting");
    assert_eq!(left(DAY).await, "in-hand waiting");
    assert_eq!(left(1000 * DAY).await, "in-hand waiting");
    let heir = world.lease(REPO, "b", at(1000 * DAY)).await;
    assert_eq!(world.take(&heir).await.len(), 2, "bodies and all");
}

pub async fn bodies_go_after_the_grace_hour(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.admit("github:done", REPO, at(0)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, done(), at(10)).await.unwrap();
    world.admit("github:waiting", REPO, at(0)).await;
    let swept = world.store.sweep(at(10 + HOUR - 1), &Retention::default()).await.unwrap();
    assert_eq!(swept, Swept::default());
    let swept = world.store.sweep(at(10 + HOUR), &Retention::default()).await.unwrap();
    assert_eq!(swept, Swept { bodies: 1, ..Swept::default() });
    let again = world.store.sweep(at(10 + HOUR), &Retention::default()).await.unwrap();
    assert_eq!(again, Swept::default());
    let replay = world.admit("github:done", REPO, at(20 + HOUR)).await;
    assert!(matches!(replay, Admission::Replay { .. }), "the record is kept for its day: {replay:?}");
    assert_eq!(world.take(&lease).await[0].body, b"github:waiting");
}

pub async fn whole_generations_go_when_their_successor_is_old(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    for generation in 0..3_i64 {
        let next_seq = world.load(REPO).await.next_seq;
        world.append(&lease, next_seq, ["one", "two"], at(generation * DAY)).await;
        let snapshot = Snapshot { next_seq: next_seq + 2, taken_at: at(generation * DAY), data: "{}".to_owned() };
        world.store.compact(&lease, snapshot).await.unwrap();
    }
    world.append(&lease, 7, ["last"], at(3 * DAY)).await;
    let newest = world.load(REPO).await;
    let oldest = async || {
        let loaded = world.store.load(&stream(REPO), Since::Oldest).await.unwrap();
        (loaded.snapshot.map(|snapshot| snapshot.next_seq), loaded.events.first().map(|event| event.seq))
    };
    let keep_a_week = Retention::default();
    assert_eq!(oldest().await, (None, Some(1)));
    world.store.sweep(at(7 * DAY), &keep_a_week).await.unwrap();
    assert_eq!(oldest().await, (None, Some(1)), "its successor is a week old and not older");
    let swept = world.store.sweep(at(7 * DAY + 1), &keep_a_week).await.unwrap();
    assert_eq!((swept.generations, swept.events), (1, 2));
    assert_eq!(oldest().await, (Some(3), Some(3)));
    world.store.sweep(at(1000 * DAY), &keep_a_week).await.unwrap();
    assert_eq!(oldest().await, (Some(7), Some(7)), "the newest stays, however old");
    assert_eq!(world.load(REPO).await, newest);
}

pub async fn old_transitions_go(world: World) {
    let transition = |id: &str, second: i64| {
        let it = json!({"id": id, "tenantId": "acme", "workspaceId": "w", "action": "NOOP", "reason": "-",
            "createdAt": at(second)});
        Row::Transition(Box::new(serde_json::from_value::<Transition>(it).unwrap()))
    };
    let lease = world.lease(REPO, "a", at(0)).await;
    let rows = vec![transition("old", 0), transition("new", DAY)];
    world.store.append(&lease, Batch { rows, ..batch(1, [], at(0)) }).await.unwrap();
    let swept = world.store.sweep(at(7 * DAY + 1), &Retention::default()).await.unwrap();
    assert_eq!(swept.transitions, 1);
    let left = world.store.transitions(&tenant("acme"), "w", 10).await.unwrap();
    assert_eq!(left.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["new"]);
}

pub async fn workspaces_that_are_archived_and_sessions_go_after_their_time(world: World) {
    let workspace = |id: &str, archived_at: Option<i64>| {
        let it = json!({"id": id, "tenantId": "acme", "repoId": "acme/widgets", "ratchetEnabled": true, "ratchetState": "PAUSED_DONE",
            "kanbanColumn": "DONE", "archivedAt": archived_at.map(at), "createdAt": at(0), "updatedAt": at(0)});
        Row::Workspace(Box::new(serde_json::from_value(it).unwrap()))
    };
    let session = |id: &str, second: i64| {
        let it = json!({"id": id, "tenantId": "acme", "workspaceId": "open", "kind": "user", "status": "COMPLETED",
            "working": false, "startedAt": at(second)});
        Row::Session(Box::new(serde_json::from_value(it).unwrap()))
    };
    let lease = world.lease(REPO, "a", at(0)).await;
    let rows = vec![
        workspace("open", None),
        workspace("old", Some(0)),
        workspace("new", Some(DAY)),
        session("old", 0),
        session("new", DAY),
    ];
    world.store.append(&lease, Batch { rows, ..batch(1, [], at(0)) }).await.unwrap();
    let swept = world.store.sweep(at(30 * DAY + 1), &Retention::default()).await.unwrap();
    assert_eq!((swept.workspaces, swept.sessions), (1, 1));
    let left = world.store.workspaces(None).await.unwrap();
    assert_eq!(left.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["new", "open"]);
    let left = world.store.sessions(&tenant("acme"), "open").await.unwrap();
    assert_eq!(left.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["new"]);
}

pub async fn runs_that_have_ended_go_after_their_time_with_all_that_is_theirs(world: World) {
    let run = |id: &str, status: &str, second: i64| {
        let it = json!({"id": id, "schemaVersion": 1, "tenantId": "acme", "repoId": "", "prId": "", "prUrl": "", "type": "w",
            "status": status, "trigger": {"source": "api"}, "lastHeartbeatAt": at(second), "createdAt": at(second),
            "updatedAt": at(second)});
        Row::Run(Box::new(serde_json::from_value(it).unwrap()))
    };
    let step =
        json!({"tenantId": "acme", "runId": "old", "stepId": "s", "position": 0, "agent": "a", "status": "completed"});
    let checkpoint = json!({"tenantId": "acme", "runId": "old", "id": "c", "stepId": "s", "agent": "a", "status": "completed",
        "timestamp": at(0), "resumable": true, "idempotent": true});
    let of_old = vec![
        run("old", "completed", 0),
        Row::Step(Box::new(serde_json::from_value(step).unwrap())),
        Row::Checkpoint(Box::new(serde_json::from_value(checkpoint).unwrap())),
    ];
    for (id, rows) in [
        ("old", of_old),
        ("failed", vec![run("failed", "failed", 0)]),
        ("waiting", vec![run("waiting", "awaiting_approval", 0)]),
        ("new", vec![run("new", "cancelled", DAY)]),
    ] {
        let lease = world.lease(&format!("run:{id}"), "a", at(0)).await;
        let events = vec![event("run_created", at(0))];
        world.store.append(&lease, Batch { rows, events, ..batch(1, [], at(0)) }).await.unwrap();
        world.store.release(&lease, None).await.unwrap();
    }
    let swept = world.store.sweep(at(30 * DAY + 1), &Retention::default()).await.unwrap();
    assert_eq!(swept.runs, 2);
    let left = world.store.runs(&store::RunQuery { limit: 10, ..Default::default() }).await.unwrap();
    assert_eq!(left.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["new", "waiting"]);
    let old = store_run_id("old");
    assert_eq!(world.store.steps(&tenant("acme"), &old).await.unwrap(), []);
    assert_eq!(world.store.checkpoints(&tenant("acme"), &old).await.unwrap(), []);
    assert_eq!(world.load("run:old").await.events, [], "nor is there anything of its stream");
    assert_eq!(world.load("run:waiting").await.events.len(), 1);
}

fn store_run_id(id: &str) -> merge_train_core::ids::RunId {
    merge_train_core::ids::RunId::parse(id).unwrap()
}

pub async fn much_is_swept_in_many_steps(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    for number in 0..600 {
        world.admit(&format!("github:{number}"), REPO, at(0)).await;
    }
    let entries = world.store.unsettled(&lease.stream, None, ALL).await.unwrap();
    let settled = entries.iter().map(|entry| store::Settlement { entry: entry.id, outcome: done() }).collect();
    let events = (0..600).map(|_| event("one", at(0))).collect();
    world.store.append(&lease, Batch { settled, events, ..batch(1, [], at(0)) }).await.unwrap();
    world.store.compact(&lease, Snapshot { next_seq: 601, taken_at: at(0), data: "{}".to_owned() }).await.unwrap();
    let retention = Retention { history: SignedDuration::from_hours(1), ..Retention::default() };
    let swept = world.store.sweep(at(2 * HOUR), &retention).await.unwrap();
    assert_eq!(swept, Swept { bodies: 600, events: 600, generations: 1, ..Swept::default() });
    let swept = world.store.sweep(at(2 * DAY), &retention).await.unwrap();
    assert_eq!(swept, Swept { records: 600, ..Swept::default() });
}
