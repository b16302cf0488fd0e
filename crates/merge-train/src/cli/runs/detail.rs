//! One run, with all that a person wants to know of it.

mod fixer;
mod next_commands;

use std::fmt::Write;

use jiff::Timestamp;
use merge_train_core::repo::FIXER;
use merge_train_core::workflow::{
    Decision, Gate, Initiator, OnExpiry, Run, RunState, RunStatus, RunStep, StepKind, StepStatus, TransitionContext,
};
use serde_json::Value;

use super::table::{colour, is_winding_up, step_cell, subject};
use crate::narration::{entitled, from};
use crate::terminal::{BOLD, Cell, DIM, Ink, RED, ago, ahead, columns, line, moment, took};

/// How much of somebody's JSON is shown; all of it is in `--json`.
const LONGEST_JSON_CHARS: usize = 400;

/// A run with its steps, and what its events add up to, where that is known.
pub struct RunDetail {
    pub run: Run,
    pub steps: Vec<RunStep>,
    pub run_state: Option<RunState>,
}

pub fn text(detail: &RunDetail, ink: Ink, now: Timestamp) -> String {
    let RunDetail { run, run_state, .. } = detail;
    let mut page = DetailText { text: String::new(), ink, now };
    page.heading(run);
    page.origin(run);
    if let Some(inputs) =
        run_state.as_ref().map(|run_state| &run_state.created.inputs).filter(|inputs| !inputs.is_empty())
    {
        page.entry("inputs", &short(&Value::Object(inputs.clone())));
    }
    page.state(run);
    page.awaited(run, run_state.as_ref());
    page.steps(detail);
    page.paragraph(|page| page.end(run));
    page.text.push_str(&fixer::diff(run, ink));
    page.text.push_str(&next_commands::text(run, run_state.as_ref(), ink));
    page.text
}

struct DetailText {
    text: String,
    ink: Ink,
    now: Timestamp,
}

impl DetailText {
    /// What is written in it, if anything, stands apart.
    fn paragraph(&mut self, write: impl FnOnce(&mut Self)) {
        let before = self.text.len();
        self.text.push('\n');
        write(self);
        if self.text.len() == before + 1 {
            self.text.truncate(before);
        }
    }

    fn entry(&mut self, name: &str, what: &str) {
        let name = self.ink.paint(DIM, &format!("{name:10}"));
        let _ = writeln!(self.text, "  {name} {what}");
    }

    fn heading(&mut self, run: &Run) {
        let (id, status) = (run.id.as_str(), run.status);
        let (id, status) = (self.ink.paint(BOLD, id), self.ink.paint(colour(status), status.as_str()));
        let about = if is_winding_up(run) { ", being cancelled" } else { "" };
        let _ = writeln!(self.text, "{id}  {status}{about}");
    }

    fn origin(&mut self, run: &Run) {
        let url = if run.pr_url.is_empty() { String::new() } else { format!(", {}", line(&run.pr_url)) };
        self.entry("what", &format!("{} for {}{url}", line(&run.kind), subject(run)));
        let by = run.trigger.user_id.as_deref().map(|who| format!(" by {}", line(who))).unwrap_or_default();
        let from = from(&run.trigger);
        let resumed = match run.resume_count {
            0 => String::new(),
            1 => "; resumed once".to_owned(),
            times => format!("; resumed {times} times"),
        };
        self.entry("started", &format!("{}{by}, {from}{resumed}", self.since(run.created_at)));
    }

    fn state(&mut self, run: &Run) {
        let context = run.last_transition.as_ref();
        let at = context.and_then(|context| context.timestamp).unwrap_or(run.updated_at);
        let step = run.current_step.as_deref().filter(|_| !run.status.is_terminal());
        let step = step.map(|step| format!(", at step {}", line(step))).unwrap_or_default();
        let why = context.and_then(why).map(|why| format!(", {why}")).unwrap_or_default();
        self.entry("state", &format!("{} since {}{step}{why}", run.status, self.since(at)));
    }

    /// Who or what it waits for.
    fn awaited(&mut self, run: &Run, run_state: Option<&RunState>) {
        if is_winding_up(run) {
            return self.entry("waits for", "undoing its steps");
        }
        let step = run_state.and_then(|run_state| Some((run_state, run_state.plan(run_state.position)?)));
        match (run.status, step.map(|(run_state, plan)| (run_state, &plan.kind))) {
            (RunStatus::AwaitingApproval, Some((run_state, StepKind::Approval(gate)))) => self.gate(gate, run_state),
            (RunStatus::WaitingExternal, Some((run_state, StepKind::Wait(wait)))) => {
                let which = run_state.correlation.as_deref().map(|which| format!(" of {}", line(which)));
                self.entry("waits for", &format!("the event {}{}", line(&wait.event), which.unwrap_or_default()));
                if let Some(until) = run_state.expires_at {
                    self.entry("until", &format!("{}; then it fails", self.by(until)));
                }
            }
            (RunStatus::Running, Some((run_state, _))) => {
                let retry_at = run_state.steps.get(run_state.position).and_then(|step| step.retry_at);
                if let Some(at) = retry_at {
                    self.entry("waits for", &format!("the next attempt, {}", self.by(at)));
                }
            }
            (RunStatus::AwaitingApproval | RunStatus::WaitingExternal, _) => self.awaited_by_context(run),
            _ => {}
        }
    }

    fn gate(&mut self, gate: &Gate, run_state: &RunState) {
        self.entry("waits for", &format!("{} to approve; a single rejection ends the run", entitled(gate)));
        if let Some(until) = run_state.expires_at {
            let then = match gate.on_expiry {
                OnExpiry::Fail => "it fails",
                OnExpiry::Cancel => "it is cancelled",
                OnExpiry::Approve => "it counts as approved",
            };
            self.entry("until", &format!("{}; then {then}", self.by(until)));
        }
        for said in &run_state.decisions {
            let decision = match said.decision {
                Decision::Approved => "approved",
                Decision::Rejected => "rejected",
            };
            let reason = said.reason.as_deref().map(|reason| format!(": {}", line(reason))).unwrap_or_default();
            self.entry("", &format!("{} {decision} {}{reason}", line(&said.by), ago(said.at, self.now)));
        }
    }

    /// What the run itself says, where there are no events of its own: a train.
    fn awaited_by_context(&mut self, run: &Run) {
        let Some(context) = &run.last_transition else { return };
        let told = |key: &str| context.metadata.as_ref()?.get(key)?.as_str().map(line);
        if let Some(blocker) = told("blocker") {
            self.entry("waits for", &blocker);
            told("who").into_iter().for_each(|who| self.entry("who", &who));
            told("next").into_iter().for_each(|next| self.entry("then", &next));
        } else if let Some(approval) = &context.approval {
            let reason = approval.reason.as_deref().map(|reason| format!(": {}", line(reason))).unwrap_or_default();
            self.entry("waits for", &format!("{}{reason}", line(&approval.action).replace('_', " ")));
        } else if let Some(event) = &context.external_event {
            let source = event.source.as_deref().map(|source| format!(" of {}", line(source))).unwrap_or_default();
            self.entry("waits for", &format!("{}{source}", line(&event.event_type)));
        }
    }

    fn steps(&mut self, RunDetail { run, steps, run_state }: &RunDetail) {
        // What has not begun is in the plan only.
        let planned = run_state
            .iter()
            .flat_map(|run_state| (0..run_state.steps.len()).filter_map(|step| run_state.step_document(step)));
        let is_new = |step: &RunStep| !steps.iter().any(|known| known.step_id == step.step_id);
        let mut all: Vec<RunStep> = steps.iter().cloned().chain(planned.filter(is_new)).collect();
        all.sort_by_key(|step| step.position);
        if all.is_empty() {
            return;
        }
        let rows = all.iter().map(|step| {
            let took = match (step.duration_ms, step.started_at) {
                (Some(millis), _) => took(millis),
                (None, Some(since)) if step.status == StepStatus::Running && !run.status.is_terminal() => {
                    let millis = self.now.duration_since(since).as_millis();
                    format!("{} so far", took(u64::try_from(millis).unwrap_or_default()))
                }
                (None, _) => String::new(),
            };
            let attempts = if step.attempts == 0 { String::new() } else { step.attempts.to_string() };
            let (id, agent) = (line(&step.step_id), line(&step.agent));
            [id.into(), step_cell(step.status, run.status), agent.into(), attempts.into(), Cell::from(took)]
        });
        let headings = ["STEP", "STATUS", "DONE BY", "ATTEMPTS", "TOOK"];
        let mut lines = columns(headings, rows.collect(), self.ink).into_iter();
        let _ = writeln!(self.text, "\n  {}", lines.next().unwrap_or_default());
        for (step, row) in all.iter().zip(lines) {
            let _ = writeln!(self.text, "  {row}");
            if let Some(error) = &step.error {
                let _ = writeln!(self.text, "    {}", self.ink.paint(RED, &line(error)));
            }
        }
    }

    /// What came of it, and what was undone.
    fn end(&mut self, run: &Run) {
        if run.kind == FIXER {
            fixer::entries(run).into_iter().for_each(|(name, what)| self.entry(name, &what));
        } else if let Some(result) = run.result.as_ref().filter(|result| !result.is_null()) {
            self.entry(if run.status.is_terminal() { "result" } else { "so far" }, &short(result));
        }
        if let Some(error) = &run.error {
            self.entry("error", &self.ink.paint(RED, &line(error)));
        }
        if let Some(cancellation) = &run.cancellation {
            let by = cancellation.user_id.as_deref().map(line);
            let by = by.unwrap_or_else(|| initiator(cancellation.initiator).to_owned());
            let reason = cancellation.reason.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
            self.entry("cancelled", &format!("by {by}, {}{reason}", self.since(cancellation.cancelled_at)));
        }
        for undone in &run.compensation_log {
            let action = line(&undone.action);
            match &undone.error {
                None => self.entry("undone", &format!("{action}, {}", ago(undone.at, self.now))),
                Some(error) => {
                    let error = self.ink.paint(RED, &line(error));
                    self.entry("not undone", &format!("{action}, {}: {error}", ago(undone.at, self.now)));
                }
            }
        }
        if let Some(millis) = run.duration_ms {
            self.entry("took", &took(millis));
        }
    }

    fn since(&self, at: Timestamp) -> String {
        format!("{} ({})", moment(at), ago(at, self.now))
    }

    fn by(&self, at: Timestamp) -> String {
        format!("{} ({})", moment(at), ahead(at, self.now))
    }
}

/// What brought a run into its state, where it was not the run itself.
fn why(context: &TransitionContext) -> Option<String> {
    let who = context.user_id.as_deref().map(line);
    match (context.initiator?, who) {
        (Initiator::System | Initiator::Policy, _) => None,
        (Initiator::Timeout, _) => Some("because it timed out".to_owned()),
        (Initiator::Webhook, _) => Some("because the event arrived".to_owned()),
        (Initiator::User | Initiator::Approval, Some(who)) => Some(format!("at the request of {who}")),
        (Initiator::User | Initiator::Approval, None) => Some("at someone's request".to_owned()),
    }
}

fn initiator(initiator: Initiator) -> &'static str {
    match initiator {
        Initiator::User => "somebody",
        Initiator::System => "merge-train",
        Initiator::Timeout => "the clock",
        Initiator::Policy => "the workflow",
        Initiator::Webhook => "an event",
        Initiator::Approval => "a decision",
    }
}

fn short(value: &Value) -> String {
    let text = line(&value.to_string());
    match text.char_indices().nth(LONGEST_JSON_CHARS) {
        Some((end, _)) => format!("{} … (all of it: --json)", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
