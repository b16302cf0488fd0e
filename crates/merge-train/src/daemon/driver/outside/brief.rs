//! What a fixer is to be told, gathered from GitHub.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt};
use github::{CheckRun, Class, Error, ReviewThread, Status, Wishes};
use jiff::Timestamp;
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use merge_train_core::repo::ratchet::brief::{
    BriefComment, CheckAnnotation, FailedCheck, FixIssue, FixerBrief, LogExcerpt, UnresolvedThread,
};

#[cfg(test)]
mod tests;

/// More checks that fail at once fail for one reason.
const MOST_CHECKS: usize = 10;
const MOST_ANNOTATIONS: usize = 50;
/// The end of a log, where the failure is.
const MOST_OF_A_LOG: usize = 16 << 10;
/// What a fixer can read before it begins.
const MOST_BYTES: usize = 200 << 10;
/// Few, so that a brief does not keep trains waiting.
const CALLS_AT_ONCE: usize = 4;

/// What is to be found out.
#[derive(Debug, Clone)]
pub(super) struct BriefRequest {
    pub issue: FixIssue,
    pub repo: RepoId,
    pub pr: PrNumber,
    pub branch: BranchName,
    pub base: BranchName,
    pub head: Sha,
    /// Whether it conflicts with its base.
    pub conflicts: bool,
    /// The points that a fixer dealt with before, and when they had been said last: they are left out unless something was
    /// said since.
    pub handled: BTreeMap<String, Timestamp>,
}

/// All that GitHub knows of what is to be fixed, cut to what can be read.
pub(super) async fn gather(repo: &github::Repo, ask: &BriefRequest) -> Result<FixerBrief, Error> {
    let (checks, wishes) = tokio::try_join!(failed_checks(repo, &ask.head), repo.wishes(ask.pr))?;
    let Wishes { title, threads, reviews } = wishes;
    let is_new = |id: &str, said_at: Timestamp| ask.handled.get(id).is_none_or(|handled| said_at > *handled);
    let threads = threads.into_iter().filter(|thread| thread.said_at().is_some_and(|at| is_new(&thread.id, at)));
    let reviews = reviews.into_iter().filter(|wish| is_new(&wish.id, wish.said_at));
    let mut brief = FixerBrief {
        issue: ask.issue,
        repo: ask.repo.clone(),
        pr: ask.pr,
        title,
        branch: ask.branch.clone(),
        base: ask.base.clone(),
        head: ask.head.clone(),
        conflicts: ask.conflicts,
        checks,
        threads: threads.map(thread).collect(),
        reviews: reviews
            .map(|wish| BriefComment { by: wish.login, at: wish.said_at, body: wish.body, url: wish.url })
            .collect(),
    };
    brief.fit(MOST_BYTES);
    Ok(brief)
}

async fn failed_checks(repo: &github::Repo, head: &Sha) -> Result<Vec<FailedCheck>, Error> {
    let (runs, statuses) = tokio::try_join!(repo.failed_runs(head), repo.combined_status(head))?;
    let mut checks: Vec<FailedCheck> = futures_util::stream::iter(runs.into_iter().take(MOST_CHECKS))
        .map(|run| failed_run(repo, run))
        .buffered(CALLS_AT_ONCE)
        .try_collect()
        .await?;
    let failed = |status: &Status| matches!(status.state.as_str(), "failure" | "error");
    checks.extend(statuses.statuses.into_iter().filter(failed).map(of_status));
    checks.truncate(MOST_CHECKS);
    Ok(checks)
}

async fn failed_run(repo: &github::Repo, run: CheckRun) -> Result<FailedCheck, Error> {
    let annotations = async {
        match run.output.annotations_count {
            0 => Ok(Vec::new()),
            _ => Ok(unless_missing(repo.first_annotations(run.id).await)?.unwrap_or_default()),
        }
    };
    let log = async {
        match run.has_a_log() {
            true => unless_missing(repo.job_log(run.id, MOST_OF_A_LOG).await),
            false => Ok(None),
        }
    };
    let (annotations, log) = tokio::try_join!(annotations, log)?;
    Ok(FailedCheck {
        name: run.name,
        conclusion: run.conclusion.unwrap_or_default(),
        url: run.html_url.or(run.details_url),
        title: run.output.title,
        summary: run.output.summary,
        annotations: worst_first(annotations),
        log: log.map(|log| LogExcerpt { text: log.text, truncated: log.truncated }),
    })
}

/// None for what is not there, not any more, or not for us: a brief without it is better than none.
fn unless_missing<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error @ Error::Unauthorized { .. }) => Err(error),
        Err(error) if error.class() == Class::Transient => Err(error),
        Err(error) => {
            tracing::debug!(%error, "a part of what failed cannot be read");
            Ok(None)
        }
    }
}

fn worst_first(mut annotations: Vec<github::Annotation>) -> Vec<CheckAnnotation> {
    annotations.sort_by_key(|annotation| match annotation.annotation_level.as_deref() {
        Some("failure") => 0,
        Some("warning") => 1,
        _ => 2,
    });
    annotations.into_iter().take(MOST_ANNOTATIONS).map(annotation).collect()
}

fn annotation(raw: github::Annotation) -> CheckAnnotation {
    let message = match (raw.title, raw.message) {
        (Some(title), Some(message)) if !title.is_empty() => format!("{title}: {message}"),
        (title, message) => message.or(title).unwrap_or_default(),
    };
    CheckAnnotation { path: raw.path, line: raw.start_line, level: raw.annotation_level, message }
}

fn of_status(status: Status) -> FailedCheck {
    FailedCheck {
        name: status.context,
        conclusion: status.state,
        url: status.target_url,
        title: status.description,
        summary: None,
        annotations: Vec::new(),
        log: None,
    }
}

fn thread(thread: ReviewThread) -> UnresolvedThread {
    let said = thread.comments.into_iter().map(|comment| BriefComment {
        by: comment.author.map(|author| author.login).unwrap_or_default(),
        at: comment.updated_at,
        body: comment.body,
        url: comment.url,
    });
    let line = thread.line.or(thread.original_line);
    UnresolvedThread { path: thread.path, line, outdated: thread.is_outdated, said: said.collect() }
}
