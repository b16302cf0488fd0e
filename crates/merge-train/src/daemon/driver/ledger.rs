//! What operators read and count of runs, in the specification's words: of workflows and of trains alike.

use merge_train_core::inbox::Key;
use merge_train_core::workflow::{Initiator, Run, RunStatus};
use serde_json::Value;

use crate::telemetry::metrics::{RUN_DURATION, RUN_TRANSITIONS};

pub(super) fn created(run: &Run) {
    let key = run.idempotency_key.as_ref().map(Key::as_str);
    let (id, kind) = (run.id.as_str(), run.kind.as_str());
    tracing::info!(event = "run_created", runId = id, r#type = kind, idempotencyKey = key, "a run was created");
}

/// The run is as it is after the transition.
pub(super) fn transition(run: &Run, from: RunStatus, to: RunStatus, initiator: Option<Initiator>) {
    let initiator = initiator.and_then(|it| serde_json::to_value(it).ok());
    let initiator = initiator.as_ref().and_then(Value::as_str).unwrap_or("system");
    let (id, tenant) = (run.id.as_str(), run.tenant_id.to_string());
    let labels = [("from_state", from.to_string()), ("to_state", to.to_string()), ("tenant_id", tenant.clone())];
    metrics::counter!(RUN_TRANSITIONS, &labels).increment(1);
    let (from, to_name) = (from.as_str(), to.as_str());
    tracing::info!(event = "run_transition", runId = id, from, to = to_name, initiator, "a run changed its state");
    if to.is_terminal() {
        let millis = run.duration_ms.unwrap_or_default();
        let labels = [("type", run.kind.clone()), ("status", to.to_string()), ("tenant_id", tenant)];
        metrics::histogram!(RUN_DURATION, &labels).record(std::time::Duration::from_millis(millis));
        tracing::info!(event = "run_completed", runId = id, durationMs = millis, status = to_name, "a run ended");
    }
}

pub(super) fn orphan(run: &Run) {
    let (id, seen) = (run.id.as_str(), run.last_heartbeat_at.unwrap_or(run.updated_at));
    tracing::warn!(event = "orphan_detected", runId = id, lastHeartbeat = %seen, "nobody was at work on a run");
}

pub(super) fn checkpoint(run: &str, step: &str, resumable: bool) {
    tracing::info!(event = "run_checkpoint", runId = run, stepId = step, resumable, "a checkpoint was made");
}
