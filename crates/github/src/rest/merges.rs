//! Landing a pull request: at once, or in the background where GitHub demands it.

use merge_train_core::ids::{PrNumber, Sha};
use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::client::Repo;
use crate::error::Error;
use crate::governor::Effect;
use crate::http::Answer;

/// What to squash, and how the commit is to read.
#[derive(Debug, Clone)]
pub struct SquashMerge<'a> {
    /// The head that was found ready: GitHub refuses if it is another by now.
    pub head: &'a Sha,
    /// By the repository's settings when not given.
    pub title: Option<&'a str>,
    pub message: Option<&'a str>,
}

/// What came of a merge that GitHub answered. A lost answer is an [`Error::Transient`]: look before merging again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    Merged {
        sha: Sha,
    },
    /// The head is not the one that was found ready.
    HeadChanged {
        message: String,
    },
    /// Conflicts, rules of the branch, a draft, a native stack: GitHub says which.
    NotMergeable {
        message: String,
    },
}

/// A merge in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeProgress {
    /// `head` is what this merge waits for: another one may have been asked for before.
    Pending {
        ticket: MergeTicket,
        head: Option<Sha>,
    },
    /// In the branch's merge queue.
    Queued {
        message: String,
    },
    Merged {
        sha: Sha,
    },
    /// The head is not the one that was found ready.
    HeadChanged {
        message: String,
    },
    Failed {
        message: String,
    },
}

/// By which a merge in the background is asked about, for a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MergeTicket(pub String);

#[derive(Serialize)]
struct Request<'a> {
    merge_method: &'static str,
    sha: &'a Sha,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_action: Option<&'static str>,
}

impl<'a> Request<'a> {
    fn new(merge: &SquashMerge<'a>, merge_action: Option<&'static str>) -> Self {
        let SquashMerge { head, title, message } = *merge;
        Self { merge_method: "squash", sha: head, commit_title: title, commit_message: message, merge_action }
    }
}

impl Repo {
    /// Squashes and merges, if the head is still the expected one.
    pub async fn squash_merge(&self, number: PrNumber, merge: &SquashMerge<'_>) -> Result<MergeOutcome, Error> {
        #[derive(Deserialize)]
        struct Merged {
            sha: Sha,
        }
        let call = self
            .write(Method::PUT, &["pulls", &number.to_string(), "merge"], Effect::Write)
            .json(&Request::new(merge, None))
            .expecting(&[405, 409]);
        let answer = self.send(&call).await?;
        Ok(match answer.status {
            405 => MergeOutcome::NotMergeable { message: answer.message() },
            409 => conflict(answer.message()),
            _ => MergeOutcome::Merged { sha: answer.json::<Merged>()?.sha },
        })
    }

    /// Asks for a squash in the background, past any merge queue: what a native stack needs.
    pub async fn request_squash(&self, number: PrNumber, merge: &SquashMerge<'_>) -> Result<MergeProgress, Error> {
        let call = self
            .write(Method::PUT, &["pulls", &number.to_string(), "merge-async"], Effect::Write)
            .json(&Request::new(merge, Some("direct_merge")))
            .expecting(&[400, 409]);
        progress(&self.send(&call).await?)
    }

    /// How a merge in the background is doing.
    pub async fn merge_progress(&self, number: PrNumber, ticket: &MergeTicket) -> Result<MergeProgress, Error> {
        progress(&self.send(&self.get(&["pulls", &number.to_string(), "merge-async", &ticket.0])).await?)
    }
}

/// GitHub also answers 409 while the base moves, or while another merge is at work.
fn conflict(message: String) -> MergeOutcome {
    let lower = message.to_ascii_lowercase();
    match lower.contains("base branch") || lower.contains("in progress") {
        true => MergeOutcome::NotMergeable { message },
        false => MergeOutcome::HeadChanged { message },
    }
}

fn progress(answer: &Answer) -> Result<MergeProgress, Error> {
    #[derive(Deserialize)]
    #[serde(tag = "status", content = "details", rename_all = "snake_case")]
    enum Report {
        Pending { uuid: String, expected_head_sha: Option<Sha> },
        Enqueued { message: String },
        Merged { sha: Sha },
        Failed { message: String },
    }
    // A 400 that is not about this merge has a message and no status.
    let report: Report = match answer.json() {
        Err(Error::Permanent { .. }) if answer.status >= 400 => {
            return Ok(failed(answer.message()));
        }
        other => other?,
    };
    Ok(match report {
        Report::Pending { uuid, expected_head_sha } => {
            MergeProgress::Pending { ticket: MergeTicket(uuid), head: expected_head_sha }
        }
        Report::Enqueued { message } => MergeProgress::Queued { message },
        Report::Merged { sha } => MergeProgress::Merged { sha },
        Report::Failed { message } => failed(message),
    })
}

/// Here only the words tell: "Head branch was modified. Review and try the merge again."
fn failed(message: String) -> MergeProgress {
    match message.starts_with("Head branch was modified") {
        true => MergeProgress::HeadChanged { message },
        false => MergeProgress::Failed { message },
    }
}
