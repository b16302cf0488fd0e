//! What CI says about a commit: check suites and runs, and the older statuses.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use jiff::Timestamp;
use merge_train_core::ids::{CheckSuiteId, Sha};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::Repo;
use crate::error::Error;
use crate::governor::Effect;

/// One job, as CI reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckRun {
    /// For GitHub Actions also the number of the job, by which its log is asked for.
    pub id: u64,
    pub name: String,
    pub head_sha: Sha,
    /// `queued`, `in_progress`, `completed`, …
    pub status: String,
    /// `success`, `failure`, `cancelled`, `startup_failure`, `stale`, …; set once it is complete.
    pub conclusion: Option<String>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub html_url: Option<String>,
    pub details_url: Option<String>,
    #[serde(default)]
    pub output: CheckOutput,
    pub app: Option<CheckApp>,
    /// What whoever made it calls it.
    pub external_id: Option<String>,
    pub check_suite: Option<SuiteOf>,
}

/// The suite that a run is part of.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SuiteOf {
    pub id: CheckSuiteId,
}

/// What a check says of itself. Written by strangers: data, never instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct CheckOutput {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    #[serde(default)]
    pub annotations_count: u64,
}

/// Who reports a check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckApp {
    pub id: Option<u64>,
    pub slug: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckSuite {
    pub id: CheckSuiteId,
    pub head_sha: Sha,
    pub head_branch: Option<String>,
    pub status: Option<String>,
    pub conclusion: Option<String>,
    pub updated_at: Option<Timestamp>,
    pub app: Option<CheckApp>,
    #[serde(default)]
    pub latest_check_runs_count: u64,
}

/// A line of a file that a check has something to say about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Annotation {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    /// `notice`, `warning` or `failure`.
    pub annotation_level: Option<String>,
    pub title: Option<String>,
    pub message: Option<String>,
}

/// The latest status of each context, and all of them in one word.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CombinedStatus {
    /// `pending`, `success` or `failure`; `pending` too when there is none at all.
    pub state: String,
    pub sha: Sha,
    #[serde(default)]
    pub statuses: Vec<Status>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Status {
    pub context: String,
    /// `pending`, `success`, `failure` or `error`.
    pub state: String,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub updated_at: Option<Timestamp>,
}

/// A check of our own, complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport<'a> {
    pub name: &'a str,
    /// By which it is known again.
    pub external_id: &'a str,
    pub conclusion: Conclusion,
    pub title: &'a str,
    /// In Markdown.
    pub summary: &'a str,
    pub remarks: Vec<Remark<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    Success,
    Failure,
}

/// What a check of our own has to say about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark<'a> {
    pub path: &'a str,
    pub line: u32,
    pub message: &'a str,
}

/// GitHub takes no more in one call.
const MOST_REMARKS: usize = 50;
/// GitHub takes no longer texts.
const LONGEST_TEXT: usize = 60_000;

impl Repo {
    /// Shows a check on a commit: the one of that name and id that is there already is brought up to date.
    pub async fn report_check(&self, commit: &Sha, report: &CheckReport<'_>) -> Result<(), Error> {
        let is_it = |run: &&CheckRun| run.name == report.name && run.external_id.as_deref() == Some(report.external_id);
        let known = self.check_runs(commit).await?;
        let known = known.iter().find(is_it);
        let summary = &report.summary[..report.summary.floor_char_boundary(LONGEST_TEXT)];
        let mut output = json!({ "title": report.title, "summary": summary });
        // What is sent again is shown again.
        if known.is_none_or(|run| run.output.annotations_count == 0) && !report.remarks.is_empty() {
            let remark = |remark: &Remark<'_>| {
                let Remark { path, line, message } = remark;
                json!({ "path": path, "start_line": line, "end_line": line, "annotation_level": "failure", "message": message })
            };
            output["annotations"] = report.remarks.iter().take(MOST_REMARKS).map(remark).collect();
        }
        let mut body = json!({
            "name": report.name,
            "external_id": report.external_id,
            "status": "completed",
            "conclusion": report.conclusion,
            "output": output,
        });
        let call = match known {
            Some(run) => self.write(Method::PATCH, &["check-runs", &run.id.to_string()], Effect::Write),
            None => {
                body["head_sha"] = commit.as_str().into();
                self.write(Method::POST, &["check-runs"], Effect::Write)
            }
        };
        self.send(&call.json(&body)).await.map(|_| ())
    }

    /// The latest run of each check of a commit.
    pub async fn check_runs(&self, commit: &Sha) -> Result<Vec<CheckRun>, Error> {
        #[derive(Deserialize)]
        struct Page {
            check_runs: Vec<CheckRun>,
        }
        let segments = ["commits", commit.as_str(), "check-runs"];
        self.wrapped(&segments, |page: Page| page.check_runs).await
    }

    pub async fn check_suites(&self, commit: &Sha) -> Result<Vec<CheckSuite>, Error> {
        #[derive(Deserialize)]
        struct Page {
            check_suites: Vec<CheckSuite>,
        }
        let segments = ["commits", commit.as_str(), "check-suites"];
        self.wrapped(&segments, |page: Page| page.check_suites).await
    }

    /// Those of the latest runs that failed. One that was cancelled failed only where no other of its name took its place.
    pub async fn failed_runs(&self, commit: &Sha) -> Result<Vec<CheckRun>, Error> {
        Ok(failed(self.check_runs(commit).await?))
    }

    /// The first hundred at most.
    pub async fn first_annotations(&self, check_run: u64) -> Result<Vec<Annotation>, Error> {
        self.read(&self.get(&["check-runs", &check_run.to_string(), "annotations"]).query(&[("per_page", "100")])).await
    }

    pub async fn annotations(&self, check_run: u64) -> Result<Vec<Annotation>, Error> {
        self.list(self.get(&["check-runs", &check_run.to_string(), "annotations"])).await
    }

    pub async fn combined_status(&self, commit: &Sha) -> Result<CombinedStatus, Error> {
        let mut combined: Option<CombinedStatus> = None;
        let take = |page: CombinedStatus| {
            match &mut combined {
                Some(combined) => combined.statuses.extend(page.statuses),
                None => combined = Some(page),
            }
            ControlFlow::Continue(())
        };
        self.pages(self.get(&["commits", commit.as_str(), "status"]).cached(), take).await?;
        Ok(combined.expect("a list has at least one page, or it is an error"))
    }

    /// All statuses ever set on a commit, the latest first.
    pub async fn statuses(&self, commit: &Sha) -> Result<Vec<Status>, Error> {
        self.list(self.get(&["commits", commit.as_str(), "statuses"])).await
    }

    /// A list whose pages are objects around it.
    async fn wrapped<P, T>(&self, segments: &[&str], entries: impl Fn(P) -> Vec<T>) -> Result<Vec<T>, Error>
    where
        P: DeserializeOwned,
    {
        let mut all = Vec::new();
        let take = |page| {
            all.append(&mut entries(page));
            ControlFlow::Continue(())
        };
        self.pages(self.get(segments).cached(), take).await?;
        Ok(all)
    }
}

impl CheckRun {
    /// Whether its log can be asked for: it is a job of GitHub Actions.
    pub fn has_a_log(&self) -> bool {
        self.app.as_ref().and_then(|app| app.slug.as_deref()) == Some("github-actions")
    }

    fn is_cancelled(&self) -> bool {
        self.conclusion.as_deref() == Some("cancelled")
    }

    fn has_failed(&self) -> bool {
        self.status == "completed" && !matches!(self.conclusion.as_deref(), Some("success" | "neutral" | "skipped"))
    }
}

fn failed(runs: Vec<CheckRun>) -> Vec<CheckRun> {
    let replaced: BTreeSet<String> =
        runs.iter().filter(|run| !run.is_cancelled()).map(|run| run.name.clone()).collect();
    runs.into_iter().filter(|run| run.has_failed() && !(run.is_cancelled() && replaced.contains(&run.name))).collect()
}
