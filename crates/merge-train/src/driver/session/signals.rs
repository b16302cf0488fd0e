//! What GitHub tells of, for runs that wait for it.

use merge_train_core::ids::{DeliveryId, RepoId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::TRAIN;
use merge_train_core::run::{Request, Run, RunStatus, Signal};
use serde_json::{Value, json};
use store::{Entry, RunQuery};

use super::super::workers::Shared;
use crate::orders::{Failed, Orders, Origin};

/// Of those that wait, so many are looked at.
const MOST: usize = 1_000;

/// Passes on what runs wait for, before the deliveries count as done: what is cut off is passed on again, and counts once.
pub(super) async fn pass_on(shared: &Shared, repo: &RepoId, entries: &[Entry]) -> store::Result<()> {
    if !entries.iter().any(|entry| entry.source == Source::GithubWebhook) {
        return Ok(());
    }
    let (tenant, status) = (Some(repo.tenant()), Some(RunStatus::WaitingExternal));
    // Trains hear of it themselves.
    let query = RunQuery { tenant, status, except: Some(TRAIN.to_owned()), limit: MOST, ..RunQuery::default() };
    let waiting = shared.store.runs(&query).await?;
    if waiting.is_empty() {
        return Ok(());
    }
    let orders = Orders {
        store: shared.store.clone(),
        link: shared.options.link.clone(),
        workflows: Default::default(),
        web_url: String::new(),
    };
    for entry in entries.iter().filter(|entry| entry.source == Source::GithubWebhook) {
        let Some(told) = Told::read(repo, entry) else { continue };
        for run in &waiting {
            let Some(signal) = told.signal_for(run) else { continue };
            let Some(origin) = origin(entry, run) else { continue };
            match orders.ask(&run.tenant_id, &run.id, Request::Signal(signal), origin).await {
                Ok(_) => {}
                Err(Failed::Store(error)) => return Err(error),
                Err(failed) => tracing::warn!(run = %run.id, %failed, "a run does not hear of what it waits for"),
            }
        }
    }
    Ok(())
}

fn origin(entry: &Entry, run: &Run) -> Option<Origin> {
    let delivery = entry.key.as_str().strip_prefix("github:")?;
    let id = DeliveryId::parse(format!("{delivery}.{}", run.id)).ok()?;
    let hash = RequestHash::of(id.as_str().as_bytes());
    Some(Origin { source: Source::GithubWebhook, key: Key::github(&id), hash })
}

/// What a delivery tells, as far as somebody can wait for it.
struct Told {
    /// With its action and without: `pull_request.closed`, `pull_request`.
    names: Vec<String>,
    /// What it is about: `owner/name`, `owner/name#7`, a commit.
    about: Vec<String>,
    delivery: String,
    payload: Value,
}

impl Told {
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
        Some(Self { names: names.collect(), about: about.into_iter().flatten().collect(), delivery, payload })
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
