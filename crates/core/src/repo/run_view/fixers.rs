//! Fixers as runs: their status, steps and result.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{FIXER, brought_about};
use crate::ids::{PrNumber, RepoId};
use crate::repo::event::{Attribution, Event as RepoEvent};
use crate::repo::ratchet::{Event, Fix, FixApproval, FixExit, FixPhase, FixResult};
use crate::workflow::{
    Approval, Cancellation, Initiator, Run, RunStatus, RunStep, SCHEMA_VERSION, StepStatus, TransitionContext, Trigger,
    TriggerSource,
};

/// Who does their steps, for lists.
const AGENT: &str = "fixer";
/// What a person is asked to approve.
const PUSH: &str = "push";

pub(super) fn run_of(pr: PrNumber, title: &str, fix: &Fix, repo: &RepoId, now: Timestamp) -> Run {
    let id = fix.run_id(pr);
    let mut context = brought_about(&id, None, &Attribution::default(), fix.at);
    if let FixPhase::Held { path, .. } = &fix.phase {
        let reason = if path.is_empty() {
            "every push of a fixer waits for approval".to_owned()
        } else {
            format!("it changes {path}")
        };
        context = TransitionContext {
            initiator: Some(Initiator::Policy),
            timestamp: None,
            approval: Some(Approval {
                action: PUSH.to_owned(),
                requested_by: None,
                decision: None,
                decided_at: None,
                decided_by: None,
                reason: Some(reason),
            }),
            ..context
        };
    }
    if let Some(FixApproval { at, behest }) = &fix.approved {
        context = brought_about(&id, None, behest, *at);
        if let Some(approval) = &mut context.approval {
            PUSH.clone_into(&mut approval.action);
        }
    }
    Run {
        schema_version: SCHEMA_VERSION,
        tenant_id: repo.tenant(),
        repo_id: repo.to_string(),
        pr_id: pr.to_string(),
        pr_url: String::new(),
        kind: FIXER.to_owned(),
        status: fix.as_run(),
        current_step: Some(step(fix).to_owned()),
        trigger: Trigger { source: TriggerSource::Webhook, user_id: None, webhook_event_id: None },
        idempotency_key: None,
        a2a_correlation_id: None,
        last_heartbeat_at: Some(now),
        result: Some(result(title, fix)),
        error: None,
        cancellation: None,
        compensation_log: Vec::new(),
        last_transition: Some(context),
        resumed_from: None,
        resume_count: fix.starts.saturating_sub(1),
        created_at: fix.at,
        updated_at: now,
        completed_at: None,
        duration_ms: None,
        id,
    }
}

fn step(fix: &Fix) -> &'static str {
    match fix.phase {
        FixPhase::Queued | FixPhase::Running => "fix",
        FixPhase::Held { .. } => "approve",
        FixPhase::Pushing { .. } => "push",
    }
}

fn result(title: &str, fix: &Fix) -> Value {
    let mut result = json!({
        "title": title,
        "issue": fix.issue,
        "branch": fix.branch,
        "headSha": fix.head,
        "ciRunId": fix.run,
        "startedAt": fix.started_at,
        "exitedAt": fix.exited_at,
    });
    if let FixPhase::Held { push, .. } | FixPhase::Pushing { push, .. } = &fix.phase {
        result["push"] = json!({ "from": push.from, "to": push.to, "files": push.files, "unlisted": push.unlisted });
    }
    if let FixPhase::Held { diff: Some(diff), .. } = &fix.phase {
        result["diff"] = json!(diff);
    }
    if let Some(FixApproval { at, behest }) = &fix.approved {
        result["approval"] = json!({ "by": behest.by, "reason": behest.reason, "at": at });
    }
    if let Some(told) = fix.exit.as_ref().and_then(FixExit::told) {
        result["exit"] = json!(told);
    }
    result
}

/// What it does one after the other: it fixes, it is approved where that is asked for, and its push goes on.
pub(super) fn steps_of(run: &Run) -> Vec<RunStep> {
    let current = run.current_step.as_deref().unwrap_or("fix");
    let was_held = current == "approve" || run.result.as_ref().is_some_and(|result| result.get("approval").is_some());
    let names: Vec<&str> =
        ["fix", "approve", "push"].into_iter().filter(|name| *name != "approve" || was_held).collect();
    let position = names.iter().position(|name| *name == current).unwrap_or_default();
    let at_it = match run.status {
        RunStatus::Failed => StepStatus::Failed,
        RunStatus::Cancelled => StepStatus::Skipped,
        RunStatus::Completed => StepStatus::Completed,
        RunStatus::Pending => StepStatus::Pending,
        RunStatus::Running | RunStatus::AwaitingApproval | RunStatus::WaitingExternal => StepStatus::Running,
    };
    let begun: Vec<Option<Timestamp>> = names.iter().map(|name| begun(run, name)).collect();
    let step = |(at, name): (usize, &&str)| RunStep {
        tenant_id: run.tenant_id.clone(),
        run_id: run.id.clone(),
        step_id: (*name).to_owned(),
        position: u32::try_from(at).unwrap_or(u32::MAX),
        agent: AGENT.to_owned(),
        status: if at < position { StepStatus::Completed } else { at_it },
        input: None,
        output: None,
        error: run.error.clone().filter(|_| at == position),
        attempts: 1 + run.resume_count,
        started_at: begun[at],
        completed_at: if at < position { begun[at + 1] } else { run.completed_at },
        duration_ms: None,
    };
    names.iter().enumerate().take(position + 1).map(step).map(RunStep::timed).collect()
}

/// When a step of it was begun.
fn begun(run: &Run, step: &str) -> Option<Timestamp> {
    let told = |of: &Value, name: &str| of.get(name)?.as_str()?.parse().ok();
    let result = run.result.as_ref()?;
    match step {
        "fix" => told(result, "startedAt"),
        "approve" => told(result, "exitedAt"),
        _ => result.get("approval").map_or_else(|| told(result, "exitedAt"), |approval| told(approval, "at")),
    }
}

/// How a run ended whose fixer is not under way any more.
pub(super) fn ended(run: &Run, event: &RepoEvent, now: Timestamp) -> Run {
    let settled = if let RepoEvent::Ratchet(Event::FixSettled { settled, .. }) = event {
        settled.clone()
    } else {
        // The pull request is not known any more.
        FixResult::by_itself(crate::repo::ratchet::WorkspaceReason::PrNotOpen, None)
    };
    let status = settled.as_run();
    let context = brought_about(&run.id, None, &settled.behest, now);
    let mut result = run.result.clone().unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(members) = result.as_object_mut() {
        members.remove("diff");
    }
    result["outcome"] = json!(settled.reason);
    result["pushed"] = json!(settled.pushed.is_some());
    if let Some(head) = &settled.pushed {
        result["pushedSha"] = json!(head);
    }
    let cancellation = (status == RunStatus::Cancelled).then(|| Cancellation {
        initiator: context.initiator.unwrap_or(Initiator::System),
        user_id: settled.behest.by.clone(),
        reason: Some(settled.behest.reason.clone().unwrap_or_else(|| settled.sentence())),
        cancelled_at: now,
    });
    Run {
        status,
        result: Some(result),
        error: (status == RunStatus::Failed).then(|| settled.sentence()),
        cancellation,
        last_transition: Some(context),
        last_heartbeat_at: Some(now),
        updated_at: now,
        completed_at: Some(now),
        duration_ms: u64::try_from(now.duration_since(run.created_at).as_millis()).ok(),
        ..run.clone()
    }
}
