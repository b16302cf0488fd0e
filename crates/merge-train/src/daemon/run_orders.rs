//! The one door to runs: whoever wants one, or something of one, says so here, be it over HTTP, in Slack, in a comment, or
//! because it is time.

mod fixers;
mod trains;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use merge_train_core::ids::{PrNumber, RepoId, RunId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, RequestRecord, RequestStatus, Source};
use merge_train_core::repo::{self, FIXER, TRAIN};
use merge_train_core::workflow::{
    Request, Run, RunCreation, RunState, RunStatus, StepKind, Trigger, Workflow, is_named,
};
use serde_json::{Map, Value};
use store::{Admission, Arrival, Priority, Route, Since, Store};
use tokio::time::Instant;

use crate::clock;
use crate::daemon::driver::{Link, StoredRefusal, StoredRunRequest, Urgency, replay_run};
use crate::daemon::{stored_request, workflow};
use crate::telemetry::metrics::IDEMPOTENCY_HITS;

/// How long somebody waits for the outcome who asked for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Another instance may be at work, which nobody here hears of.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// GitHub and Slack give up soon; they must hear from us before.
const STORE_TIMEOUT: Duration = Duration::from_secs(8);

/// The workflows of a configuration, by name.
pub type Workflows = BTreeMap<String, Workflow>;

#[derive(Clone)]
pub struct RunOrders {
    pub store: Arc<dyn Store>,
    pub link: Link,
    pub workflows: Arc<Workflows>,
    /// What the addresses of pages at GitHub begin with.
    pub web_url: String,
}

/// A run to start.
pub struct NewRun {
    pub workflow: String,
    pub inputs: Map<String, Value>,
    pub tenant: TenantId,
    pub repo: Option<RepoId>,
    pub pr: Option<PrNumber>,
    pub trigger: Trigger,
}

/// What came in, and from where.
pub struct OrderOrigin {
    pub source: Source,
    pub key: Key,
    /// Of all that tells one request from another under the same key.
    pub hash: RequestHash,
}

/// An order that is in the inbox.
#[derive(Debug)]
pub struct AcceptedOrder {
    pub run: RunId,
    pub tenant: TenantId,
    pub key: Key,
    /// It came before.
    pub is_repeated: bool,
}

/// What is put into the inbox.
struct OrderArrival {
    stream: StreamId,
    priority: Priority,
    label: &'static str,
    body: Vec<u8>,
}

/// How far an order has come that somebody waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestProgress {
    Done,
    /// It will be done; who wants to know looks again.
    UnderWay,
}

/// Why an order is not taken, or not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("{}", unknown_workflow(.name, .known))]
    UnknownWorkflow { name: String, known: Vec<String> },
    #[error("the inputs do not fit the workflow {workflow:?}: {}", .problems.join("; "))]
    Inputs { workflow: String, problems: Vec<String> },
    #[error("there is no such run")]
    NoSuchRun,
    #[error("{key}: key reused with a different body; this request was not accepted")]
    Conflict { key: Key },
    #[error("{key} failed before and is not retried: {error}")]
    Exhausted { key: Key, error: String },
    #[error("{0}")]
    Order(String),
    /// The run itself says no.
    #[error("{}", .0.detail)]
    Refused(StoredRefusal),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the database is too slow right now; please retry")]
    TooSlow,
}

fn unknown_workflow(name: &str, known: &[String]) -> String {
    match known {
        [] => format!(
            "there is no workflow {name:?}: no workflows are configured; add [[workflows]] to the \
             configuration"
        ),
        known => format!("there is no workflow {name:?}; configured: {}", known.join(", ")),
    }
}

impl RunOrders {
    /// Orders a new run. The same key orders the same run, wherever it comes in.
    pub async fn create(&self, wanted: NewRun, origin: OrderOrigin) -> Result<AcceptedOrder, OrderError> {
        let NewRun { workflow: name, inputs, tenant, repo, pr, trigger } = wanted;
        let known = || self.workflows.keys().cloned().collect();
        let definition = self
            .workflows
            .get(&name)
            .ok_or_else(|| OrderError::UnknownWorkflow { name: name.clone(), known: known() })?;
        let inputs = workflow::inputs(definition, inputs)
            .map_err(|problems| OrderError::Inputs { workflow: name.clone(), problems })?;
        let pr_url = repo.as_ref().zip(pr).map(|(repo, pr)| format!("{}/{repo}/pull/{pr}", self.web_url));
        let run = run_id(&tenant, &origin.key);
        let created = RunCreation {
            run: run.clone(),
            tenant: tenant.clone(),
            workflow: definition.clone(),
            inputs,
            repo,
            pr,
            pr_url,
            trigger,
            idempotency_key: Some(origin.key.clone()),
        };
        self.place(&tenant, run, StoredRunRequest::Create(Box::new(created)), origin).await
    }

    /// Asks something of a run; where that is a train, of the train.
    pub async fn ask(
        &self,
        tenant: &TenantId,
        run: &RunId,
        request: Request,
        origin: OrderOrigin,
    ) -> Result<AcceptedOrder, OrderError> {
        match self.store.run(Some(tenant), run).await? {
            None => Err(OrderError::NoSuchRun),
            Some(run) if run.kind == TRAIN => {
                let meant = trains::meant(&run, &request).map_err(OrderError::Refused)?;
                self.ask_repo(&run, meant, || trains::check(&run, &request), origin).await
            }
            Some(run) if run.kind == FIXER => {
                let meant = fixers::meant(&run, &request).map_err(OrderError::Refused)?;
                self.ask_repo(&run, meant, || fixers::check(&run, &request), origin).await
            }
            Some(_) => self.place(tenant, run.clone(), StoredRunRequest::Ask(request), origin).await,
        }
    }

    /// Asks the repository that the train or the fixer is of.
    async fn ask_repo(
        &self,
        run: &Run,
        (repo, meant, priority): (RepoId, repo::Request, Priority),
        check: impl FnOnce() -> Result<(), StoredRefusal>,
        origin: OrderOrigin,
    ) -> Result<AcceptedOrder, OrderError> {
        let now = clock::now();
        let is_remembered =
            |record: &RequestRecord| record.status == RequestStatus::Processing || record.expires_at > now;
        let before = self.store.record(&run.tenant_id, &origin.key).await?;
        // A repetition gets what the first got, although what it was about may be over by now.
        if !before.as_ref().is_some_and(is_remembered) {
            check().map_err(OrderError::Refused)?;
        }
        let body = stored_request::body(&meant);
        let letter = OrderArrival { stream: StreamId::Repo(repo), priority, label: stored_request::IN_BODY, body };
        self.admit(&run.tenant_id, run.id.clone(), letter, origin).await
    }

    async fn place(
        &self,
        tenant: &TenantId,
        run: RunId,
        order: StoredRunRequest,
        origin: OrderOrigin,
    ) -> Result<AcceptedOrder, OrderError> {
        let (label, priority) = match &order {
            StoredRunRequest::Create(_) => ("create", Priority::Normal),
            StoredRunRequest::Ask(Request::Decide { .. }) => ("decide", Priority::Normal),
            StoredRunRequest::Ask(Request::Signal(_)) => ("signal", Priority::Normal),
            StoredRunRequest::Ask(Request::Resume { .. }) => ("resume", Priority::Normal),
            StoredRunRequest::Ask(Request::Cancel { .. }) => ("cancel", Priority::Stop),
        };
        let body = serde_json::to_vec(&order).expect("an order is JSON");
        let letter = OrderArrival { stream: StreamId::Run(run.clone()), priority, label, body };
        self.admit(tenant, run, letter, origin).await
    }

    async fn admit(
        &self,
        tenant: &TenantId,
        run: RunId,
        letter: OrderArrival,
        origin: OrderOrigin,
    ) -> Result<AcceptedOrder, OrderError> {
        let OrderOrigin { source, key, hash } = origin;
        let OrderArrival { stream, priority, label, body } = letter;
        let route = Route::Stream { stream: stream.clone(), priority, label: label.to_owned(), body };
        let (tenant, received_at) = (tenant.clone(), clock::now());
        let arrival = Arrival { tenant: tenant.clone(), key: key.clone(), source, hash, received_at, route };
        let admission =
            tokio::time::timeout(STORE_TIMEOUT, self.store.admit(arrival)).await.map_err(|_| OrderError::TooSlow)??;
        count(source, &key, &admission);
        let is_repeated = match admission {
            Admission::Accepted | Admission::Claimed(_) => false,
            Admission::InFlight { .. } | Admission::Replay { .. } => true,
            Admission::Exhausted { error } => return Err(OrderError::Exhausted { key, error }),
            Admission::Conflict => return Err(OrderError::Conflict { key }),
        };
        let urgency = if priority == Priority::Stop { Urgency::Alarm } else { Urgency::Usual };
        self.link.wake(&stream, urgency);
        Ok(AcceptedOrder { run, tenant, key, is_repeated })
    }

    /// Whose approval a run still stands at its gate for, although this one has given theirs.
    pub async fn missing(&self, run: &RunId, by: &str) -> Result<Vec<String>, OrderError> {
        let stream = StreamId::Run(run.clone());
        let state = replay_run(&stream, &self.store.load(&stream, Since::Newest).await?)?;
        Ok(state.map(|state| missing(&state, by)).unwrap_or_default())
    }

    /// Waits a while for what comes of an order.
    pub async fn outcome(&self, placed: &AcceptedOrder) -> Result<RequestProgress, OrderError> {
        self.settled(&placed.tenant, &placed.key).await
    }

    /// Waits a while for what comes of a request.
    pub async fn settled(&self, tenant: &TenantId, key: &Key) -> Result<RequestProgress, OrderError> {
        let deadline = Instant::now() + PATIENCE;
        let bell = self.link.listen((tenant.clone(), key.clone()));
        loop {
            // Whoever rings after this is heard, even before it is waited for.
            let rung = bell.notified();
            let record = self.store.record(tenant, key).await?;
            if let Some(record) = record.filter(|record| record.status != RequestStatus::Processing) {
                if let Some(error) = record.error {
                    return Err(OrderError::Order(error));
                }
                let refused = record.response.as_ref().and_then(|response| response.get("refused"));
                return match refused.and_then(|it| serde_json::from_value::<StoredRefusal>(it.clone()).ok()) {
                    Some(refused) => Err(OrderError::Refused(refused)),
                    None => Ok(RequestProgress::Done),
                };
            }
            if Instant::now() >= deadline {
                return Ok(RequestProgress::UnderWay);
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, rung).await;
        }
    }
}

/// Who is named at the gate and has not said yes, where somebody has and the run waits on.
fn missing(state: &RunState, by: &str) -> Vec<String> {
    let has_approved = |name: &str| state.decisions.iter().any(|said| is_named(name, &said.by));
    let gate = match state.plan(state.position).map(|plan| &plan.kind) {
        Some(StepKind::Approval(gate)) if state.status == RunStatus::AwaitingApproval => gate,
        _ => return Vec::new(),
    };
    // At a gate that it came to since, nobody has said anything yet.
    match state.decisions.iter().any(|said| said.by == by) {
        true => gate.by.iter().filter(|name| !has_approved(name)).cloned().collect(),
        false => Vec::new(),
    }
}

/// Counts what the inbox made of an arrival, and tells of what came before.
pub fn count(source: Source, key: &Key, admission: &Admission) -> &'static str {
    let (result, before) = match admission {
        Admission::Accepted | Admission::Claimed(_) => ("accepted", None),
        Admission::InFlight { run_id } => ("in_flight", Some(run_id)),
        Admission::Replay { run_id, .. } => ("replayed", Some(run_id)),
        Admission::Exhausted { .. } => ("exhausted", None),
        Admission::Conflict => ("conflict", None),
    };
    metrics::counter!(IDEMPOTENCY_HITS, "source" => source.as_str(), "result" => result).increment(1);
    if let Some(run_id) = before {
        let (key, cached) = (key.as_str(), run_id.as_ref().map(RunId::as_str));
        tracing::info!(event = "idempotency_hit", key, cachedRunId = cached, "it came before");
    }
    result
}

const RUN_ID_PREFIX: &str = "run-";
const RUN_ID_BYTES: usize = 12;

/// The same request makes the same run, wherever it is taken in.
fn run_id(tenant: &TenantId, key: &Key) -> RunId {
    let digest = digest(&SHA256, format!("{tenant}\n{key}").as_bytes());
    let hex = hex::encode(&digest.as_ref()[..RUN_ID_BYTES]);
    RunId::parse(format!("{RUN_ID_PREFIX}{hex}")).expect("letters, digits and a dash")
}

/// The id of a run that was made here, if it is one.
pub fn made_run_id(text: &str) -> Option<RunId> {
    let hex = text.strip_prefix(RUN_ID_PREFIX)?;
    let is_hex = hex.len() == 2 * RUN_ID_BYTES && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    RunId::parse(text).ok().filter(|_| is_hex)
}
