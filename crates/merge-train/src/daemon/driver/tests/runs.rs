//! Runs of workflows, with commands that do as they are told.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::TenantId;
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::workflow::{
    CommandOutput, Program, RetryPolicy, Run, RunStatus, StepKind, StepPlan, Trigger, TriggerSource, Workflow,
};
use serde_json::{Map, json};
use store::{Retention, StreamInfo};
use tokio_util::sync::CancellationToken;

use super::outside::Scripted;
use super::world::{World, options, until};
use crate::clock;
use crate::daemon::driver::{Driver, StepRunner, StepTask};
use crate::daemon::run_orders::{AcceptedOrder, NewRun, OrderError, OrderOrigin, RequestProgress, RunOrders};

/// What a command is called says what it does.
struct Named;

#[async_trait]
impl StepRunner for Named {
    async fn run(&self, task: StepTask, _: CancellationToken) -> Result<CommandOutput, String> {
        match task.program.command[0].as_str() {
            "panic" => panic!("as it was told"),
            _ => Ok(CommandOutput { value: json!({ "done": task.step }), tokens_used: None }),
        }
    }
}

struct Yard {
    world: World,
    orders: RunOrders,
    driver: Driver,
}

impl Yard {
    /// A driver at work that knows one workflow, of one step, with this command.
    async fn new(command: &str) -> Self {
        let world = World::new().await;
        let options = options();
        let step = StepPlan {
            id: "one".to_owned(),
            kind: StepKind::Agent(Program { command: vec![command.to_owned()], timeout_ms: 60_000 }),
            resumable: true,
            idempotent: false,
            retry: RetryPolicy::default(),
            compensate: None,
        };
        let inputs = json!({ "what": { "type": "string", "default": "this" } }).as_object().unwrap().clone();
        let (name, description) = ("work".to_owned(), String::new());
        let workflow = Workflow { name: name.clone(), description, inputs, on: Vec::new(), steps: vec![step] };
        let orders = RunOrders {
            store: world.store.clone(),
            link: options.link.clone(),
            workflows: Arc::new([(name, workflow)].into()),
            web_url: String::new(),
        };
        let driver = Driver::new(world.store.clone(), Arc::new(Scripted::default()), Arc::new(Named), options);
        let yard = Self { world, orders, driver };
        let driver = yard.driver.clone();
        tokio::spawn(async move { driver.run().await });
        yard
    }

    async fn order(&self, key: &str, what: &str) -> AcceptedOrder {
        let wanted = NewRun {
            workflow: "work".to_owned(),
            inputs: Map::from_iter([("what".to_owned(), json!(what))]),
            tenant: acme(),
            repo: None,
            pr: None,
            trigger: Trigger { source: TriggerSource::Api, user_id: None, webhook_event_id: None },
        };
        let (key, hash) = (Key::api("ops", key).unwrap(), RequestHash::of(what.as_bytes()));
        self.orders.create(wanted, OrderOrigin { source: Source::Api, key, hash }).await.unwrap()
    }

    async fn ended(&self, placed: &AcceptedOrder) -> Run {
        let known = async || self.world.store.run(Some(&acme()), &placed.run).await.unwrap();
        until("the run ends", async || known().await.is_some_and(|run| run.status.is_terminal())).await;
        known().await.unwrap()
    }

    async fn streams(&self) -> Vec<StreamInfo> {
        self.world.store.streams(None).await.unwrap()
    }
}

fn acme() -> TenantId {
    TenantId::parse("acme").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_whose_command_makes_us_panic_fails_and_its_run_with_it() {
    let yard = Yard::new("panic").await;
    let placed = yard.order("1", "this").await;
    let run = yard.ended(&placed).await;
    assert_eq!(run.status, RunStatus::Failed);
    let error = run.error.unwrap();
    assert!(error.contains("step \"one\" failed: running it went wrong"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_ended_belongs_to_nobody() {
    let yard = Yard::new("do").await;
    let placed = yard.order("1", "this").await;
    yard.ended(&placed).await;
    let [stream] = &yard.streams().await[..] else { panic!("one stream") };
    assert_eq!(stream.owner, None, "with the very event that it ended with");
}

#[tokio::test(flavor = "multi_thread")]
async fn appendix_a_key_whose_record_has_expired_begins_nothing_else() {
    let yard = Yard::new("do").await;
    let placed = yard.order("1", "this").await;
    let run = yard.ended(&placed).await;
    assert_eq!(yard.orders.outcome(&placed).await.unwrap(), RequestProgress::Done);
    let later: Timestamp = clock::now() + SignedDuration::from_hours(25);
    yard.world.store.sweep(later, &Retention::default()).await.unwrap();
    let record = yard.world.store.record(&acme(), &placed.key).await.unwrap();
    assert_eq!(record, None, "it is forgotten");

    let again = yard.order("1", "this").await;
    assert_eq!(again.run, placed.run, "the same request is about the same run");
    assert_eq!(yard.orders.outcome(&again).await.unwrap(), RequestProgress::Done);
    yard.world.store.sweep(later, &Retention::default()).await.unwrap();

    let other = yard.order("1", "something else").await;
    let refused = yard.orders.outcome(&other).await.unwrap_err();
    let OrderError::Refused(refused) = refused else { panic!("refused, not {refused:?}") };
    assert_eq!(refused.code, "IDEMPOTENCY_EXPIRED");
    assert!(refused.detail.contains(run.id.as_str()) && refused.detail.contains("a new key"), "{refused:?}");
    assert_eq!(yard.world.store.run(Some(&acme()), &run.id).await.unwrap(), Some(run), "it is as it was");
    assert_eq!(yard.streams().await.len(), 1, "and there is no other");
}
