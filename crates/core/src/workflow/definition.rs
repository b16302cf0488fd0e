//! What a run is made of: steps, in the order in which they are done.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::backoff::ExponentialBackoff;

/// A run carries the workflow that it was made of: what is changed in the configuration counts for the next one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A JSON Schema for each input, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// GitHub's events that start it: `pull_request.opened`, or `push` where there is no action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    pub steps: Vec<StepPlan>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepPlan {
    pub id: String,
    #[serde(flatten)]
    pub kind: StepKind,
    /// Once it is done it is not done again: a run that is taken up goes on with its output.
    pub resumable: bool,
    /// It can be done again without harm.
    pub idempotent: bool,
    #[serde(default, skip_serializing_if = "RetryPolicy::is_none")]
    pub retry: RetryPolicy,
    /// What undoes it when the run is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensate: Option<Program>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    Agent(Program),
    Approval(Gate),
    Wait(SignalWait),
}

/// A command that reads JSON and writes JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    pub timeout_ms: u64,
}

/// What people have to say yes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Who may decide; nobody named: anyone who may operate runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    #[serde(default)]
    pub need: ApprovalNeed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(default)]
    pub on_expiry: OnExpiry,
}

/// How many of those who may decide must say yes. One who says no is enough for a no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalNeed {
    #[default]
    Any,
    All,
}

/// What an approval is taken for that nobody gave in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    #[default]
    Fail,
    Cancel,
    Approve,
}

/// Something that has to happen outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalWait {
    /// The type of the event.
    pub event: String,
    /// Which of them: `{inputs.NAME}` and `{steps.ID.FIELD}` stand for what the run knows. None: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    pub timeout_ms: u64,
}

/// How often a step that fails is tried again, and after which first wait; it doubles with each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    pub times: u32,
    pub backoff_ms: u64,
}

impl RetryPolicy {
    /// The longest wait between two attempts.
    const LONGEST: Duration = Duration::from_hours(1);

    fn is_none(&self) -> bool {
        self.times == 0
    }

    /// How long to wait after the `attempt`-th attempt, from 1; none if that was the last.
    pub fn wait_ms(&self, attempt: u32) -> Option<u64> {
        let backoff = ExponentialBackoff::doubling(Duration::from_millis(self.backoff_ms), Self::LONGEST);
        let wait = backoff.delay(attempt.saturating_sub(1)).as_millis();
        (attempt <= self.times).then(|| u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

impl StepPlan {
    /// Who does it, for lists.
    pub fn agent(&self) -> &str {
        match &self.kind {
            StepKind::Agent(program) => {
                program.command.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path))
            }
            StepKind::Approval(_) => "approval",
            StepKind::Wait(_) => "external",
        }
    }
}

impl Workflow {
    /// What is wrong with it, in words for whoever wrote it.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, what) in [(crate::repo::TRAIN, "trains"), (crate::repo::FIXER, "fixers")] {
            if self.name == name {
                problems.push(format!("{what} are called that; give it another name"));
            }
        }
        if self.on.iter().any(String::is_empty) {
            problems.push("`on` names an event without a name".to_owned());
        }
        if self.steps.is_empty() {
            problems.push("it has no steps".to_owned());
        }
        for (index, step) in self.steps.iter().enumerate() {
            let id = &step.id;
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if id.is_empty() || !id.chars().all(is_name) {
                problems
                    .push(format!("the id {id:?} of step {} is not made of letters, digits, `-` and `_`", index + 1));
            }
            if self.steps[..index].iter().any(|other| other.id == *id) {
                problems.push(format!("two steps have the same id, {id:?}"));
            }
            problems.extend(step.problems().into_iter().map(|problem| format!("step {id:?}: {problem}")));
        }
        problems
    }
}

impl StepPlan {
    fn problems(&self) -> Vec<&'static str> {
        let mut problems = Vec::new();
        let is_empty = |program: &Program| program.command.first().is_none_or(String::is_empty);
        // Commands run in a folder of their own.
        let is_lost = |program: &Program| {
            program.command.first().is_some_and(|path| path.contains('/') && !path.starts_with('/'))
        };
        match &self.kind {
            StepKind::Agent(program) if is_empty(program) => problems.push("its command is empty"),
            StepKind::Agent(program) if is_lost(program) => {
                problems.push("its command is a relative path; write the full path");
            }
            StepKind::Agent(program) if program.timeout_ms == 0 => problems.push("its timeout is too short"),
            StepKind::Approval(Gate { by, need: ApprovalNeed::All, .. }) if by.is_empty() => {
                problems.push("everyone has to approve, but `by` names nobody");
            }
            StepKind::Wait(wait) if wait.event.is_empty() => problems.push("it waits for an event without a type"),
            StepKind::Wait(wait) if wait.timeout_ms == 0 => problems.push("it waits for no time at all"),
            StepKind::Agent(_) | StepKind::Approval(_) | StepKind::Wait(_) => {}
        }
        if !matches!(self.kind, StepKind::Agent(_)) && (self.retry.times > 0 || self.compensate.is_some()) {
            problems.push("only a command can be retried or undone");
        }
        if self.compensate.as_ref().is_some_and(is_empty) {
            problems.push("the command that undoes it is empty");
        } else if self.compensate.as_ref().is_some_and(is_lost) {
            problems.push("the command that undoes it is a relative path; write the full path");
        }
        problems
    }
}

/// Replaces `{path}` by what the path leads to in `known`. What leads nowhere is an error.
pub fn fill(template: &str, known: &Value) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((path, after)) = after.split_once('}') else {
            return Err(format!("`{{` without `}}` in {template:?}"));
        };
        let found = path.split('.').try_fold(known, |value, part| value.get(part));
        filled.push_str(before);
        match found {
            Some(Value::String(text)) => filled.push_str(text),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => filled.push_str(&value.to_string()),
            Some(_) => return Err(format!("`{{{path}}}` is not a text, a number or a truth value")),
            None => return Err(format!("`{{{path}}}` leads nowhere")),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
