//! A delivery as the facts it brings.

use jiff::Timestamp;
use merge_train_core::facts::{
    CheckSuiteFacts, CommentChange, Delivery, ReviewState, ReviewedPull, StatusState, WebhookEvent,
};
use merge_train_core::ids::{BranchName, CheckSuiteId, DeliveryId, PrNumber, RepoId, Sha};
use merge_train_core::repo::settings::FILE;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ParseError;
use super::envelope::{Envelope, Repository};
use super::error::read;
use crate::wire::{Comment, Head, Pull};

/// Reads a delivery. Events and actions that merge-train does not know are [`WebhookEvent::Other`], not errors.
pub fn parse(event: &str, delivery: DeliveryId, body: &[u8]) -> Result<Delivery, ParseError> {
    // Serde would take a list for an object, field by field.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ParseError::new(event, ".", "not a JSON object"));
    }
    let Envelope { action, repository } = read(event, body)?;
    let repo = repository.as_ref().map(|repository| repo_id(event, repository)).transpose()?;
    let happening = match event {
        "ping" => WebhookEvent::Ping,
        "installation" | "installation_repositories" | "installation_target" => WebhookEvent::Installation,
        _ => happening(event, action.as_deref(), repository.as_ref(), body)?,
    };
    let default_branch = repository.and_then(|repository| repository.default_branch);
    Ok(Delivery { id: delivery, event: event.to_owned(), action, repo, default_branch, happening })
}

fn repo_id(event: &str, repository: &Repository) -> Result<RepoId, ParseError> {
    let invalid = |invalid: merge_train_core::ids::InvalidName| {
        ParseError::new(event, "repository.full_name", &invalid.to_string())
    };
    repository.full_name.parse().map_err(invalid)
}

fn happening(
    event: &str,
    action: Option<&str>,
    repository: Option<&Repository>,
    body: &[u8],
) -> Result<WebhookEvent, ParseError> {
    let read_happening: fn(&Scene) -> Result<WebhookEvent, ParseError> = match event {
        "pull_request" => pull_request,
        "issue_comment" => issue_comment,
        "check_suite" => check_suite,
        "check_run" => check_run,
        "status" => status,
        "pull_request_review" => review,
        "pull_request_review_comment" | "pull_request_review_thread" => review_talk,
        "push" => push,
        _ => return Ok(WebhookEvent::Other),
    };
    let repository = repository.ok_or_else(|| ParseError::new(event, "repository", "it is missing"))?;
    read_happening(&Scene { event, action: action.unwrap_or_default(), repository, body })
}

/// A payload of an event that merge-train knows.
struct Scene<'a> {
    event: &'a str,
    action: &'a str,
    repository: &'a Repository,
    body: &'a [u8],
}

impl Scene<'_> {
    fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, ParseError> {
        read(self.event, self.body)
    }
}

fn pull_request(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        pull_request: Pull,
    }
    let payload: Payload = scene.read()?;
    Ok(WebhookEvent::Pull(payload.pull_request.facts()))
}

fn issue_comment(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        issue: Issue,
        comment: Comment,
    }
    #[derive(Deserialize)]
    struct Issue {
        number: PrNumber,
        pull_request: Option<IgnoredAny>,
    }
    let change = match scene.action {
        "created" => CommentChange::Created,
        "edited" => CommentChange::Edited,
        "deleted" => CommentChange::Deleted,
        _ => return Ok(WebhookEvent::Other),
    };
    let Payload { issue, comment } = scene.read()?;
    Ok(match issue.pull_request {
        Some(_) => WebhookEvent::Comment(change, comment.into_facts(issue.number)),
        None => WebhookEvent::Other,
    })
}

fn check_suite(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        check_suite: Suite,
    }
    #[derive(Deserialize)]
    struct Suite {
        id: CheckSuiteId,
        head_sha: Sha,
        conclusion: Option<String>,
        updated_at: Timestamp,
        #[serde(default)]
        pull_requests: Vec<Associated>,
    }
    let Payload { check_suite: suite } = scene.read()?;
    Ok(WebhookEvent::CheckSuite(CheckSuiteFacts {
        id: suite.id,
        head_sha: suite.head_sha,
        conclusion: suite.conclusion,
        updated_at: suite.updated_at,
        pulls: of_repository(scene.repository, &suite.pull_requests),
    }))
}

fn check_run(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        check_run: Run,
    }
    #[derive(Deserialize)]
    struct Run {
        head_sha: Sha,
        check_suite: Option<Suite>,
        #[serde(default)]
        pull_requests: Vec<Associated>,
    }
    #[derive(Deserialize)]
    struct Suite {
        head_sha: Option<Sha>,
        #[serde(default)]
        pull_requests: Vec<Associated>,
    }
    let Payload { check_run: run } = scene.read()?;
    let suite = run.check_suite.unwrap_or(Suite { head_sha: None, pull_requests: Vec::new() });
    let associated = if run.pull_requests.is_empty() { suite.pull_requests } else { run.pull_requests };
    Ok(WebhookEvent::CheckRun {
        head_sha: suite.head_sha.unwrap_or(run.head_sha),
        pulls: of_repository(scene.repository, &associated),
    })
}

/// A pull request as a check names it; it can be one of another repository with the same commit.
#[derive(Deserialize)]
struct Associated {
    number: PrNumber,
    base: Option<AssociatedBase>,
}

#[derive(Deserialize)]
struct AssociatedBase {
    repo: Option<AssociatedRepo>,
}

#[derive(Deserialize)]
struct AssociatedRepo {
    id: Option<u64>,
}

fn of_repository(repository: &Repository, associated: &[Associated]) -> Vec<PrNumber> {
    let elsewhere = |pull: &Associated| {
        let base = pull.base.as_ref().and_then(|base| base.repo.as_ref()).and_then(|repo| repo.id);
        base.is_some() && repository.id.is_some() && base != repository.id
    };
    associated.iter().filter(|pull| !elsewhere(pull)).map(|pull| pull.number).collect()
}

fn status(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        sha: Sha,
        state: String,
        context: String,
    }
    let Payload { sha, state, context } = scene.read()?;
    let state = match state.as_str() {
        "pending" => StatusState::Pending,
        "success" => StatusState::Success,
        "failure" => StatusState::Failure,
        "error" => StatusState::Error,
        _ => return Ok(WebhookEvent::Other),
    };
    Ok(WebhookEvent::Status { sha, state, context })
}

fn review(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        review: Review,
        pull_request: Reviewed,
    }
    #[derive(Deserialize)]
    struct Review {
        state: String,
    }
    #[derive(Deserialize)]
    struct Reviewed {
        number: PrNumber,
        head: Head,
    }
    let Payload { review, pull_request } = scene.read()?;
    // REST and some deliveries shout.
    let state = match review.state.to_ascii_lowercase().as_str() {
        "approved" => ReviewState::Approved,
        "changes_requested" => ReviewState::ChangesRequested,
        "commented" => ReviewState::Commented,
        "dismissed" => ReviewState::Dismissed,
        "pending" => ReviewState::Pending,
        _ => return Ok(WebhookEvent::Other),
    };
    let pull = ReviewedPull { number: pull_request.number, head_sha: pull_request.head.sha };
    Ok(WebhookEvent::Review { pull, state })
}

fn review_talk(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        pull_request: Numbered,
    }
    #[derive(Deserialize)]
    struct Numbered {
        number: PrNumber,
    }
    let payload: Payload = scene.read()?;
    Ok(WebhookEvent::ReviewTalk { pr: payload.pull_request.number })
}

fn push(scene: &Scene) -> Result<WebhookEvent, ParseError> {
    #[derive(Deserialize)]
    struct Payload {
        #[serde(rename = "ref")]
        reference: String,
        after: Sha,
        #[serde(default)]
        deleted: bool,
        #[serde(default)]
        forced: bool,
        #[serde(default)]
        commits: Vec<Commit>,
    }
    #[derive(Deserialize)]
    struct Commit {
        #[serde(default)]
        added: Vec<String>,
        #[serde(default)]
        modified: Vec<String>,
        #[serde(default)]
        removed: Vec<String>,
    }
    /// GitHub lists no more commits of a push.
    const MOST_COMMITS: usize = 2048;
    let payload: Payload = scene.read()?;
    let Some(branch) = payload.reference.strip_prefix("refs/heads/").filter(|_| !payload.deleted) else {
        return Ok(WebhookEvent::Other);
    };
    let branch =
        BranchName::parse(branch).map_err(|invalid| ParseError::new(scene.event, "ref", &invalid.to_string()))?;
    let names = |commit: &Commit| {
        [&commit.added, &commit.modified, &commit.removed].into_iter().flatten().any(|name| name == FILE)
    };
    // What a forced push took away, or what was left off the list, may have been it.
    let touches_own_file = payload.forced || payload.commits.len() >= MOST_COMMITS || payload.commits.iter().any(names);
    Ok(WebhookEvent::Push { branch, after: payload.after, touches_own_file })
}
