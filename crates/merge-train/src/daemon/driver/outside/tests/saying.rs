//! Answers to commands about runs, where nobody is at work on them.

use std::sync::Arc;
use std::time::Duration;

use merge_train_core::ids::{CommentId, PrNumber, StreamId};
use merge_train_core::inbox::InboxPolicy;
use merge_train_core::repo::commands::StoredCommand;
use merge_train_core::repo::{Answer, Effect, NoteContent, NoteId, PostAttempt, TRAIN, outbox};
use merge_train_core::workflow::{Run, Workflow};
use reqwest::Method;
use serde_json::{Value, json};
use store::{Batch, LeaseRequest, Owner, Row, Sqlite, Store, sqlite};

use super::World;
use super::world::hello;
use crate::clock;
use crate::daemon::run_orders::RunOrders;

/// A store that no driver looks into.
async fn store(dir: &std::path::Path) -> Arc<dyn Store> {
    let (dir, owner) = (dir.to_owned(), Owner("a test".to_owned()));
    let options = sqlite::Options { dir, group: 64, policy: InboxPolicy::default(), max_bytes: None, owner };
    Arc::new(Sqlite::open(options).await.unwrap())
}

async fn write(store: &dyn Store, run: Run) {
    let now = clock::now();
    let (stream, tenant) = (StreamId::Repo(hello()), Some(hello().tenant()));
    let request = LeaseRequest { stream, tenant, owner: Owner("a test".to_owned()), ttl: Duration::from_secs(60), now };
    let lease = store.acquire(request).await.unwrap();
    let rows = vec![Row::Run(Box::new(run))];
    let (events, settled) = (Vec::new(), Vec::new());
    let batch = Batch { expected_next_seq: 1, events, settled, rows, wake_at: None, lets_go: true, now };
    store.append(&lease, batch).await.unwrap();
}

fn run(id: &str, kind: &str) -> Run {
    let at = "2026-01-01T00:00:00Z";
    serde_json::from_value(json!({
        "id": id, "schemaVersion": 1, "tenantId": "octocat", "repoId": "octocat/hello", "prId": "1", "prUrl": "",
        "type": kind, "status": "awaiting_approval", "trigger": { "source": "api" }, "createdAt": at, "updatedAt": at,
    }))
    .unwrap()
}

/// What the bot answers to a command.
async fn answered(world: &World, pr: PrNumber, number: u64, command: &str) -> String {
    let (comment, login) = (CommentId::new(number), "octocat".to_owned());
    let say = NoteContent::Order { comment, command: StoredCommand::from(command.to_owned()), login, delivery: None };
    let note = NoteId(number);
    let effect = Effect::Outbox(outbox::Effect::Say { note, pr, say, since: clock::now(), tried: PostAttempt::Never });
    let said = world.perform(effect).await;
    assert!(matches!(said, Ok(Answer::Done(()))), "{said:?}");
    let all = world.in_repo(Method::GET, &format!("/issues/{pr}/comments"), Value::Null).await;
    let mark = format!("<!-- merge-train-note {number}-");
    let bodies = all.as_array().unwrap().iter().map(|comment| comment["body"].as_str().unwrap());
    let body = bodies.into_iter().find(|body| body.contains(&mark)).expect("an answer");
    body.split("\n\n<!--").next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_acted_on_yet_is_not_called_done() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path()).await;
    write(store.as_ref(), run("run-1", "greet")).await;
    write(store.as_ref(), run("train-1", TRAIN)).await;
    let greet = Workflow {
        name: "greet".to_owned(),
        description: String::new(),
        inputs: Default::default(),
        on: Vec::new(),
        steps: Vec::new(),
    };
    let workflows = Arc::new([("greet".to_owned(), greet)].into());
    let orders = RunOrders { store, link: Default::default(), workflows, web_url: String::new() };
    let world = World::ordering(orders).await;
    let pr = world.open_pull("one", "main").await;
    // Each waits as long as people do.
    let (started, approved, rejected) = tokio::join!(
        answered(&world, pr, 1, "run greet"),
        answered(&world, pr, 2, "approve run-1"),
        answered(&world, pr, 3, "reject train-1 no"),
    );
    assert!(started.starts_with("The workflow `greet` will start soon."), "{started}");
    let later = |what: &str, run: &str| {
        format!(
            "Your {what} of run `{run}` is recorded, but the run has not handled it yet. `merge-train runs show {run}` \
             shows the result."
        )
    };
    assert_eq!(approved, later("approval", "run-1"));
    assert_eq!(rejected, later("rejection", "train-1"));
    world.finish().await;
}
