//! What apps send about a check run, and how it may be wrong.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::checks::RunChange;
use crate::http::ApiError;
use crate::world::{Annotation, Output, RunConclusion, RunStatus};

/// GitHub takes this many annotations with one request; more are sent with the next.
const MOST_ANNOTATIONS: usize = 50;
const TEXT_LIMIT: usize = 65535;
const STATUSES: [RunStatus; 6] = [
    RunStatus::Queued,
    RunStatus::InProgress,
    RunStatus::Completed,
    RunStatus::Waiting,
    RunStatus::Requested,
    RunStatus::Pending,
];
/// `stale` is for GitHub to set, and so is `startup_failure`.
const CONCLUSIONS: [RunConclusion; 7] = [
    RunConclusion::ActionRequired,
    RunConclusion::Cancelled,
    RunConclusion::Failure,
    RunConclusion::Neutral,
    RunConclusion::Success,
    RunConclusion::Skipped,
    RunConclusion::TimedOut,
];

/// The body of both creating and updating.
#[derive(Deserialize)]
pub struct RunBody {
    pub name: Option<String>,
    pub head_sha: Option<String>,
    details_url: Option<String>,
    external_id: Option<String>,
    status: Option<String>,
    started_at: Option<String>,
    conclusion: Option<String>,
    completed_at: Option<String>,
    output: Option<OutputBody>,
    #[serde(default)]
    actions: Vec<Value>,
}

#[derive(Deserialize)]
struct OutputBody {
    title: Option<String>,
    summary: Option<String>,
    text: Option<String>,
    #[serde(default)]
    annotations: Vec<AnnotationBody>,
}

#[derive(Deserialize)]
struct AnnotationBody {
    path: String,
    start_line: u64,
    end_line: u64,
    start_column: Option<u64>,
    end_column: Option<u64>,
    annotation_level: String,
    message: String,
    title: Option<String>,
    raw_details: Option<String>,
}

impl RunBody {
    pub fn into_change(self) -> Result<RunChange, ApiError> {
        let status = self.status.as_deref().map(parse_status).transpose()?;
        let conclusion = self.conclusion.as_deref().map(parse_conclusion).transpose()?;
        if status == Some(RunStatus::Completed) && conclusion.is_none() {
            return Err(missing("conclusion"));
        }
        if self.actions.len() > 3 {
            return Err(too_many(3, self.actions.len()));
        }
        if conclusion == Some(RunConclusion::ActionRequired) && self.details_url.is_none() && self.actions.is_empty() {
            return Err(missing("details_url"));
        }
        if self.details_url.as_ref().is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            return Err(invalid("details_url must use http or https scheme"));
        }
        Ok(RunChange {
            name: self.name,
            external_id: self.external_id,
            details_url: self.details_url,
            status,
            conclusion,
            started_at: time(self.started_at.as_deref())?,
            completed_at: time(self.completed_at.as_deref())?,
            output: self.output.map(OutputBody::check).transpose()?,
        })
    }
}

impl OutputBody {
    fn check(self) -> Result<Output, ApiError> {
        if self.summary.is_none() {
            return Err(missing("summary"));
        }
        for text in [&self.summary, &self.text].into_iter().flatten() {
            let length = text.chars().count();
            if length > TEXT_LIMIT {
                return Err(invalid(&format!("Only {TEXT_LIMIT} characters are allowed; {length} were supplied.")));
            }
        }
        if self.annotations.len() > MOST_ANNOTATIONS {
            return Err(too_many(MOST_ANNOTATIONS, self.annotations.len()));
        }
        let annotations = self.annotations.into_iter().map(AnnotationBody::check).collect::<Result<_, _>>()?;
        Ok(Output { title: self.title, summary: self.summary, text: self.text, annotations })
    }
}

impl AnnotationBody {
    fn check(self) -> Result<Annotation, ApiError> {
        const LEVELS: [&str; 3] = ["notice", "warning", "failure"];
        if !LEVELS.contains(&self.annotation_level.as_str()) {
            return Err(not_a_member(&self.annotation_level, &LEVELS));
        }
        if self.end_line < self.start_line {
            return Err(invalid("end_line must not be before start_line."));
        }
        if self.start_line != self.end_line && (self.start_column.is_some() || self.end_column.is_some()) {
            return Err(invalid("start_column and end_column are only allowed if start_line and end_line are equal."));
        }
        Ok(Annotation {
            path: self.path,
            start_line: self.start_line,
            end_line: self.end_line,
            start_column: self.start_column,
            end_column: self.end_column,
            annotation_level: self.annotation_level,
            title: self.title,
            message: self.message,
            raw_details: self.raw_details,
        })
    }
}

pub fn parse_status(text: &str) -> Result<RunStatus, ApiError> {
    let found = STATUSES.into_iter().find(|status| status.as_str() == text);
    found.ok_or_else(|| not_a_member(text, &STATUSES.map(RunStatus::as_str)))
}

pub fn parse_conclusion(text: &str) -> Result<RunConclusion, ApiError> {
    let found = CONCLUSIONS.into_iter().find(|conclusion| conclusion.as_str() == text);
    found.ok_or_else(|| not_a_member(text, &CONCLUSIONS.map(RunConclusion::as_str)))
}

fn time(text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let parse = |text: &str| text.parse().map_err(|_| invalid(&format!("{text:?} is not a valid date-time.")));
    text.map(parse).transpose()
}

pub fn missing(field: &str) -> ApiError {
    invalid(&format!("\"{field}\" wasn't supplied."))
}

fn not_a_member(text: &str, members: &[&str]) -> ApiError {
    invalid(&format!("{text} is not a member of {members:?}."))
}

fn too_many(most: usize, got: usize) -> ApiError {
    invalid(&format!("No more than {most} items are allowed; {got} were supplied."))
}

fn invalid(reason: &str) -> ApiError {
    ApiError::unprocessable(format!("Invalid request.\n\n{reason}"))
}
