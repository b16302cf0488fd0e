//! What happened to a run, an event at a time, in words.

mod fixer;
mod train;

use jiff::Timestamp;
use merge_train_core::repo::{self, FIXER, RecordedEvent, TRAIN, trains};
use merge_train_core::workflow::{
    ApprovalNeed, Decision, Event, Gate, Initiator, Run, RunCreation, RunState, RunStatus, Signal, StepKind, Trigger,
    TriggerSource,
};
use serde::Deserialize;
use serde_json::Value;

use crate::terminal::{line, moment, took};

/// An event of a run with its time, as the API has it.
#[derive(Deserialize)]
pub struct TimedRunEvent {
    pub ts: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

/// Somebody who knows what happened before, and tells what happens.
#[derive(Default)]
pub struct RunNarrator {
    run_state: Option<RunState>,
    /// In which state a train was last seen: none of its events says.
    train: Option<RunStatus>,
    /// What was told of the phase that a train is in.
    phase: Option<String>,
}

impl RunNarrator {
    /// What an event means, with the time; none where it means nothing to a person.
    pub fn tell(&mut self, run_type: &str, event: &Value) -> Option<String> {
        let (at, told) = self.told(run_type, event);
        Some(format!("{}  {}", at.map(moment).unwrap_or_default(), told?))
    }

    /// What an event means; none where it means nothing to a person.
    pub fn words(&mut self, run_type: &str, event: &Value) -> Option<String> {
        self.told(run_type, event).1
    }

    fn told(&mut self, run_type: &str, event: &Value) -> Narration {
        let known = match run_type {
            TRAIN => self.of_train(event),
            FIXER => of_fixer(event),
            _ => self.of_workflow(event),
        };
        known.unwrap_or_else(|| unknown(event))
    }

    fn of_train(&mut self, event: &Value) -> Option<Narration> {
        let RecordedEvent { ts, event, .. } = RecordedEvent::deserialize(event).ok()?;
        let mut told = train::words(&event);
        if matches!(event, repo::Event::Trains(trains::Event::PhaseTransition { .. })) && told.is_some() {
            // Of a phase once, however often its progress is recorded.
            let before = std::mem::replace(&mut self.phase, told.clone());
            told = told.filter(|told| before.as_ref() != Some(told));
        }
        Some((Some(ts), told))
    }

    fn of_workflow(&mut self, event: &Value) -> Option<Narration> {
        let TimedRunEvent { ts, event } = TimedRunEvent::deserialize(event).ok()?;
        match (&mut self.run_state, &event) {
            (_, Event::RunCreated(created)) => self.run_state = Some(RunState::new(created.clone(), ts)),
            (Some(run_state), _) => run_state.apply(&event, ts),
            (None, _) => {}
        }
        Some((Some(ts), words(&event, self.run_state.as_ref())))
    }

    /// What a run as a whole says that no event did.
    pub fn see(&mut self, run: &Run) -> Option<String> {
        let before = self.train.replace(run.status)?;
        let is_news = run.kind == TRAIN && before != run.status;
        is_news.then(|| format!("{}  {before} → {}", moment(run.updated_at), run.status))
    }
}

fn of_fixer(event: &Value) -> Option<Narration> {
    let RecordedEvent { ts, event, .. } = RecordedEvent::deserialize(event).ok()?;
    Some((Some(ts), fixer::words(&event)))
}

/// When, and what; none where it means nothing to a person.
type Narration = (Option<Timestamp>, Option<String>);

/// An event of a newer daemon.
fn unknown(event: &Value) -> Narration {
    let name = line(event["type"].as_str().unwrap_or("something happened")).replace('_', " ");
    (event["ts"].as_str().and_then(|text| text.parse().ok()), Some(name))
}

/// The story is the one after the event.
fn words(event: &Event, run_state: Option<&RunState>) -> Option<String> {
    let plan = |step: usize| run_state.and_then(|run_state| run_state.plan(step));
    let id = |step: usize| plan(step).map(|plan| line(&plan.id));
    let kind = |step: usize| plan(step).map(|plan| &plan.kind);
    let named = |step: usize| format!("step {}", id(step).unwrap_or_else(|| (step + 1).to_string()));
    let because = |why: &Option<String>| why.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
    Some(match event {
        Event::RunCreated(created) => begun(created),
        Event::RunTransition { from, to, context, error } => {
            let why = error.as_ref().map(|error| format!(": {}", line(&error.message))).unwrap_or_default();
            let out_of_time = if context.initiator == Some(Initiator::Timeout) { ", because it timed out" } else { "" };
            format!("{from} → {to}{out_of_time}{why}")
        }
        Event::StepStarted { step, attempt: 1, .. } => format!("{} starts", named(*step)),
        Event::StepStarted { step, attempt, .. } => format!("{} starts again, attempt {attempt}", named(*step)),
        Event::StepCompleted { step, .. } => {
            let millis =
                run_state.and_then(|run_state| run_state.step_document(*step)).and_then(|step| step.duration_ms);
            format!("{} is done{}", named(*step), millis.map(|it| format!(", after {}", took(it))).unwrap_or_default())
        }
        Event::StepFailed { step, error, retry_at } => {
            let again = retry_at.map(|at| format!("; the next attempt is at {}", moment(at))).unwrap_or_default();
            format!("{} failed: {}{again}", named(*step), line(error))
        }
        Event::StepReplayed { step } => format!("{} will run again", named(*step)),
        Event::RunResumed { from } => format!("resumed after a restart, from step {}", line(from)),
        Event::ApprovalRequested { step, expires_at } => {
            let who = match kind(*step) {
                Some(StepKind::Approval(gate)) => entitled(gate),
                _ => "somebody".to_owned(),
            };
            format!("{} waits for {who} to approve{}", named(*step), until(*expires_at))
        }
        Event::ApprovalDecided { step, by, decision, reason } => {
            let decision = match decision {
                Decision::Approved => "approves",
                Decision::Rejected => "rejects",
            };
            format!("{} {decision} {}{}", line(by), named(*step), because(reason))
        }
        Event::WaitBegan { step, correlation, expires_at } => {
            let event = match kind(*step) {
                Some(StepKind::Wait(wait)) => format!("the event {}", line(&wait.event)),
                _ => "an event".to_owned(),
            };
            let which = correlation.as_deref().map(|which| format!(" of {}", line(which))).unwrap_or_default();
            format!("{} waits for {event}{which}{}", named(*step), until(Some(*expires_at)))
        }
        Event::SignalReceived { signal } => heard(signal),
        Event::CancelRequested { initiator: Initiator::Timeout, reason, .. } => {
            format!("to be cancelled{}", because(reason))
        }
        Event::CancelRequested { by, reason, .. } => {
            format!("{} cancels it{}", by.as_deref().map_or_else(|| "somebody".to_owned(), line), because(reason))
        }
        Event::CompensationStarted { step } => format!("{} is being undone", named(*step)),
        Event::CompensationEnded { step, error: None } => format!("{} is undone", named(*step)),
        Event::CompensationEnded { step, error: Some(error) } => {
            format!("{} could not be undone: {}", named(*step), line(error))
        }
    })
}

fn begun(created: &RunCreation) -> String {
    let subject = match (&created.repo, created.pr) {
        (Some(repo), Some(pr)) => format!("{repo}#{pr}"),
        (Some(repo), None) => repo.to_string(),
        (None, _) => created.tenant.to_string(),
    };
    let by = created.trigger.user_id.as_deref().map(|who| format!(" by {}", line(who))).unwrap_or_default();
    let from = from(&created.trigger);
    format!("{} for {subject} started{by}, {from}", line(&created.workflow.name))
}

/// Where a run comes from.
pub fn from(trigger: &Trigger) -> &'static str {
    let is_in_slack = trigger.user_id.as_deref().is_some_and(|who| who.starts_with("slack:"));
    match trigger.source {
        TriggerSource::Ui if is_in_slack => "in Slack",
        TriggerSource::Ui => "on the dashboard",
        TriggerSource::Cli => "from the command line",
        TriggerSource::Webhook => "because of a webhook",
        TriggerSource::Scheduled => "by a schedule",
        TriggerSource::Api => "through the API",
    }
}

/// Who may decide at a gate.
pub fn entitled(gate: &Gate) -> String {
    let names = || gate.by.iter().map(|name| line(name)).collect::<Vec<_>>().join(", ");
    match (gate.by.as_slice(), gate.need) {
        ([], _) => "anyone who may operate runs".to_owned(),
        ([one], _) => line(one),
        (_, ApprovalNeed::Any) => format!("one of {}", names()),
        (_, ApprovalNeed::All) => format!("all of {}", names()),
    }
}

fn until(at: Option<Timestamp>) -> String {
    at.map(|at| format!(", until {}", moment(at))).unwrap_or_default()
}

fn heard(signal: &Signal) -> String {
    let which = signal.correlation.as_deref().map(|which| format!(" of {}", line(which))).unwrap_or_default();
    let source = signal.source.as_deref().map(|source| format!(", from {}", line(source))).unwrap_or_default();
    format!("the event {}{which} arrived{source}", line(&signal.event))
}

#[cfg(test)]
mod tests;
