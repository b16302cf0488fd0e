//! What GitHub tells of, for workflows that it starts and for runs that wait for it.

use merge_train_core::ids::{DeliveryId, PrNumber, RepoId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::TRAIN;
use merge_train_core::workflow::{Request, Run, RunStatus, Signal, Trigger, TriggerSource};
use serde_json::{Map, Value, json};
use store::{Entry, RunCursor, RunQuery};

use super::super::workers::Shared;
use crate::daemon::run_orders::{NewRun, OrderError, OrderOrigin, RunOrders};

/// Of those that wait, so many are read at once.
const PAGE: usize = 500;

/// Starts and passes on what is due to what GitHub told, before the deliveries count as done: what is cut off is done
/// again, and counts once.
pub(super) async fn pass_on(shared: &Shared, repo: &RepoId, entries: &[Entry]) -> store::Result<()> {
    let entries = || entries.iter().filter(|entry| entry.source == Source::GithubWebhook);
    if entries().next().is_none() {
        return Ok(());
    }
    let workflows = &shared.options.workflows;
    let waiting = waiting(shared, repo).await?;
    if waiting.is_empty() && workflows.values().all(|workflow| workflow.on.is_empty()) {
        return Ok(());
    }
    let orders = RunOrders {
        store: shared.store.clone(),
        link: shared.options.link.clone(),
        workflows: workflows.clone(),
        web_url: shared.options.web_url.clone(),
    };
    for entry in entries() {
        let Some(told) = DeliverySignal::read(repo, entry) else { continue };
        for workflow in workflows.values().filter(|workflow| told.is_any_of(&workflow.on)) {
            let Some(origin) = origin(entry, &workflow.name) else { continue };
            passed(orders.create(told.wanted(repo, &workflow.name), origin).await, "a workflow is not started")?;
        }
        for run in &waiting {
            let Some(signal) = told.signal_for(run) else { continue };
            let Some(origin) = origin(entry, run.id.as_str()) else { continue };
            let asked = orders.ask(&run.tenant_id, &run.id, Request::Signal(signal), origin).await;
            passed(asked, "a run does not hear of what it waits for")?;
        }
    }
    Ok(())
}

/// An order that is not taken is worth a warning; a store that is not there, another try.
fn passed<T>(outcome: Result<T, OrderError>, what: &str) -> store::Result<()> {
    match outcome {
        Ok(_) => Ok(()),
        Err(OrderError::Store(error)) => Err(error),
        Err(failed) => {
            tracing::warn!(%failed, "{what}");
            Ok(())
        }
    }
}

/// The runs that wait for something outside. Trains hear of it themselves.
async fn waiting(shared: &Shared, repo: &RepoId) -> store::Result<Vec<Run>> {
    let (tenant, status) = (Some(repo.tenant()), Some(RunStatus::WaitingExternal));
    let mut query = RunQuery { tenant, status, except: Some(TRAIN.to_owned()), limit: PAGE, ..RunQuery::default() };
    let mut waiting = Vec::new();
    loop {
        let page = shared.store.runs(&query).await?;
        let is_last = page.len() < PAGE;
        query.after = page.last().map(RunCursor::after);
        waiting.extend(page);
        if is_last {
            return Ok(waiting);
        }
    }
}

/// Of what a delivery means for one of those who hear of it.
fn origin(entry: &Entry, hearer: &str) -> Option<OrderOrigin> {
    let delivery = entry.key.as_str().strip_prefix("github:")?;
    let id = DeliveryId::parse(format!("{delivery}.{hearer}")).ok()?;
    let hash = RequestHash::of(id.as_str().as_bytes());
    Some(OrderOrigin { source: Source::GithubWebhook, key: Key::github(&id), hash })
}

/// What a delivery tells, as far as somebody can wait for it.
struct DeliverySignal {
    /// With its action and without: `pull_request.closed`, `pull_request`.
    names: Vec<String>,
    /// What it is about: `owner/name`, `owner/name#7`, a commit.
    about: Vec<String>,
    delivery: String,
    pr: Option<PrNumber>,
    payload: Value,
}

impl DeliverySignal {
    fn read(repo: &RepoId, entry: &Entry) -> Option<Self> {
        let body: Value = serde_json::from_slice(&entry.body).ok()?;
        let action = body["action"].as_str();
        let names = action.map(|action| format!("{}.{action}", entry.label)).into_iter().chain([entry.label.clone()]);
        let number = [&body["pull_request"]["number"], &body["issue"]["number"], &body["number"]];
        let number = number.into_iter().find_map(Value::as_u64);
        let named = ["check_run", "check_suite", "workflow_run"];
        let inner = named.iter().map(|name| &body[*name]).find(|inner| inner.is_object()).unwrap_or(&Value::Null);
        let commits = [&body["pull_request"]["head"]["sha"], &inner["head_sha"], &body["sha"], &body["after"]];
        let commit = commits.into_iter().find_map(Value::as_str);
        let pull = number.map(|number| format!("{repo}#{number}"));
        let about = [Some(repo.to_string()), pull, commit.map(str::to_owned)];
        let payload = json!({
            "action": action,
            "repo": repo,
            "pr": number,
            "sha": commit,
            "name": inner["name"],
            "conclusion": inner["conclusion"],
            "state": body["state"],
            "context": body["context"],
            "merged": body["pull_request"]["merged"],
            "sender": body["sender"]["login"],
        });
        let delivery = entry.key.as_str().trim_start_matches("github:").to_owned();
        let pr = number.filter(|_| body["issue"].is_null() || body["issue"]["pull_request"].is_object());
        let (about, pr) = (about.into_iter().flatten().collect(), pr.map(PrNumber::new));
        Some(Self { names: names.collect(), about, delivery, pr, payload })
    }

    fn is_any_of(&self, events: &[String]) -> bool {
        events.iter().any(|event| self.names.contains(event))
    }

    /// The run of a workflow that this starts.
    fn wanted(&self, repo: &RepoId, workflow: &str) -> NewRun {
        let sender = self.payload["sender"].as_str().map(|login| format!("github:{login}"));
        let webhook_event_id = Some(self.delivery.clone());
        NewRun {
            workflow: workflow.to_owned(),
            inputs: Map::new(),
            tenant: repo.tenant(),
            repo: Some(repo.clone()),
            pr: self.pr,
            trigger: Trigger { source: TriggerSource::Webhook, user_id: sender, webhook_event_id },
        }
    }

    fn signal_for(&self, run: &Run) -> Option<Signal> {
        let context = run.last_transition.as_ref()?;
        let event = &context.external_event.as_ref()?.event_type;
        let awaited = context.metadata.as_ref().and_then(|told| told.get("correlation")).and_then(Value::as_str);
        let is_it = |awaited: &str| self.about.iter().any(|about| about.eq_ignore_ascii_case(awaited));
        if !self.names.contains(event) || !awaited.is_none_or(is_it) {
            return None;
        }
        Some(Signal {
            event: event.clone(),
            correlation: awaited.map(str::to_owned),
            source: Some("github".to_owned()),
            event_id: Some(self.delivery.clone()),
            payload: self.payload.clone(),
        })
    }
}
