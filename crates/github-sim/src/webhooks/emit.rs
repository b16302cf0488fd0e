//! One function per event. Each stores deliveries for everyone who listens; they are sent after the transaction.

use serde_json::Value;

use super::audience::{Event, Told, tell, tell_app};
use super::payload;
use crate::git::{CommitFiles, RefChange};
use crate::world::{FromGit, Id, World};

/// A ref that moved, with what git says about it.
pub struct PushFacts {
    pub change: RefChange,
    /// The new commits, oldest first; the newest [`crate::git::MOST_PUSHED_COMMITS`] of them.
    pub commits: Vec<CommitFiles>,
    /// The commit the ref now points at; none when it was deleted.
    pub head: Option<CommitFiles>,
    pub forced: bool,
}

pub enum PullAction {
    Opened,
    Closed,
    Reopened,
    ReadyForReview,
    ConvertedToDraft,
    Synchronize {
        before: String,
        after: String,
    },
    /// `{"title": {"from": …}}`, `{"body": {"from": …}}`, `{"base": {"ref": {"from": …}, "sha": {"from": …}}}`.
    Edited {
        changes: Value,
    },
    Labeled {
        label: Id,
    },
    Unlabeled {
        label: Id,
    },
    Assigned {
        assignee: Id,
    },
    Unassigned {
        assignee: Id,
    },
    ReviewRequested {
        reviewer: Id,
    },
    ReviewRequestRemoved {
        reviewer: Id,
    },
    Locked,
    Unlocked,
}

impl PullAction {
    fn name(&self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Reopened => "reopened",
            Self::ReadyForReview => "ready_for_review",
            Self::ConvertedToDraft => "converted_to_draft",
            Self::Synchronize { .. } => "synchronize",
            Self::Edited { .. } => "edited",
            Self::Labeled { .. } => "labeled",
            Self::Unlabeled { .. } => "unlabeled",
            Self::Assigned { .. } => "assigned",
            Self::Unassigned { .. } => "unassigned",
            Self::ReviewRequested { .. } => "review_requested",
            Self::ReviewRequestRemoved { .. } => "review_request_removed",
            Self::Locked => "locked",
            Self::Unlocked => "unlocked",
        }
    }

    /// GitHub computes again whether it can be merged, and has not finished when it tells of this.
    pub(super) fn unsettles(&self) -> bool {
        matches!(self, Self::Opened | Self::Closed | Self::Reopened | Self::Synchronize { .. })
    }
}

pub enum IssueAction {
    Opened,
    Closed,
    Reopened,
    Edited { changes: Value },
    Labeled { label: Id },
    Unlabeled { label: Id },
    Assigned { assignee: Id },
    Unassigned { assignee: Id },
    Locked,
    Unlocked,
}

pub enum CommentAction {
    Created,
    Edited {
        body_from: String,
    },
    /// Emit it before the comment is removed.
    Deleted,
}

impl CommentAction {
    fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited { .. } => "edited",
            Self::Deleted => "deleted",
        }
    }
}

pub enum ReviewAction {
    Submitted,
    Edited { body_from: String },
    Dismissed,
}

pub enum LabelAction {
    Created,
    /// `{"name": {"from": …}, "color": {"from": …}, "description": {"from": …}}`, what changed of it.
    Edited {
        changes: Value,
    },
    /// Emit it before the label is removed.
    Deleted,
}

#[derive(Clone, Copy)]
pub enum ThreadAction {
    Resolved,
    Unresolved,
}

#[derive(Clone, Copy)]
pub enum CheckRunAction {
    Created,
    Completed,
    Rerequested,
}

#[derive(Clone, Copy)]
pub enum CheckSuiteAction {
    Requested,
    Completed,
    Rerequested,
}

#[derive(Clone, Copy)]
pub enum WorkflowRunAction {
    Requested,
    InProgress,
    Completed,
}

#[derive(Clone, Copy)]
pub enum InstallationAction {
    Created,
    Deleted,
    Suspend,
    Unsuspend,
}

pub fn push(world: &mut World, repo: Id, sender: Id, push: &PushFacts) {
    let event = Event::new("push", None, repo, sender);
    tell(world, event, |world| match world.repo(repo) {
        Some(repo) => payload::push(world, repo, sender, push),
        None => Value::Null,
    });
}

/// A push that has been told already, once more to one hook.
pub fn test_push(world: &mut World, repo: Id, hook: Id, sender: Id, push: &PushFacts) {
    let event = Event { told: Told::Hook(hook), ..Event::new("push", None, repo, sender) };
    tell(world, event, |world| match world.repo(repo) {
        Some(repo) => payload::push(world, repo, sender, push),
        None => Value::Null,
    });
}

/// `create`: a branch or tag, by its full ref name.
pub fn ref_created(world: &mut World, repo: Id, sender: Id, ref_name: &str) {
    let event = Event::new("create", None, repo, sender);
    tell(world, event, |world| payload::ref_changed(ref_name, world.repo(repo)));
}

/// `delete`.
pub fn ref_deleted(world: &mut World, repo: Id, sender: Id, ref_name: &str) {
    let event = Event::new("delete", None, repo, sender);
    tell(world, event, |_| payload::ref_changed(ref_name, None));
}

pub fn pull_request(world: &mut World, repo: Id, number: u64, sender: Id, action: PullAction) {
    let event = Event::new("pull_request", Some(action.name()), repo, sender);
    tell(world, event, |world| match world.pulls.get(repo, number) {
        Some(pull) => payload::pull_request(world, pull, &action),
        None => Value::Null,
    });
}

pub fn issues(world: &mut World, repo: Id, number: u64, sender: Id, action: IssueAction) {
    let name = match action {
        IssueAction::Opened => "opened",
        IssueAction::Closed => "closed",
        IssueAction::Reopened => "reopened",
        IssueAction::Edited { .. } => "edited",
        IssueAction::Labeled { .. } => "labeled",
        IssueAction::Unlabeled { .. } => "unlabeled",
        IssueAction::Assigned { .. } => "assigned",
        IssueAction::Unassigned { .. } => "unassigned",
        IssueAction::Locked => "locked",
        IssueAction::Unlocked => "unlocked",
    };
    let event = Event::new("issues", Some(name), repo, sender);
    tell(world, event, |world| match world.issues.get(repo, number) {
        Some(issue) => payload::issues(world, issue, &action),
        None => Value::Null,
    });
}

pub fn issue_comment(world: &mut World, repo: Id, comment: Id, sender: Id, action: CommentAction) {
    let event = Event::new("issue_comment", Some(action.name()), repo, sender);
    tell(world, event, |world| {
        let comment = world.comments.get(repo, comment);
        let issue = comment.and_then(|comment| world.issues.get(repo, comment.number));
        match comment.zip(issue) {
            Some((comment, issue)) => payload::issue_comment(world, issue, comment, &action),
            None => Value::Null,
        }
    });
}

pub fn label(world: &mut World, repo: Id, label: Id, sender: Id, action: LabelAction) {
    let (name, changes) = match action {
        LabelAction::Created => ("created", None),
        LabelAction::Edited { changes } => ("edited", Some(changes)),
        LabelAction::Deleted => ("deleted", None),
    };
    let event = Event::new("label", Some(name), repo, sender);
    tell(world, event, |world| payload::label_changed(world, repo, label, changes));
}

pub fn review(world: &mut World, repo: Id, review: Id, sender: Id, action: ReviewAction) {
    let name = match action {
        ReviewAction::Submitted => "submitted",
        ReviewAction::Edited { .. } => "edited",
        ReviewAction::Dismissed => "dismissed",
    };
    let event = Event::new("pull_request_review", Some(name), repo, sender);
    tell(world, event, |world| {
        let review = world.reviews.get(repo, review);
        match review.and_then(|review| Some((review, world.pulls.get(repo, review.number)?))) {
            Some((review, pull)) => payload::review(world, pull, review, &action),
            None => Value::Null,
        }
    });
}

pub fn review_comment(world: &mut World, repo: Id, comment: Id, sender: Id, action: CommentAction) {
    let event = Event::new("pull_request_review_comment", Some(action.name()), repo, sender);
    tell(world, event, |world| {
        let comment = world.review_comments.get(repo, comment);
        match comment.and_then(|comment| Some((comment, world.pulls.get(repo, comment.number)?))) {
            Some((comment, pull)) => payload::review_comment(world, pull, comment, &action),
            None => Value::Null,
        }
    });
}

pub fn review_thread(world: &mut World, repo: Id, thread: Id, sender: Id, action: ThreadAction) {
    let name = match action {
        ThreadAction::Resolved => "resolved",
        ThreadAction::Unresolved => "unresolved",
    };
    let event = Event::new("pull_request_review_thread", Some(name), repo, sender);
    tell(world, event, |world| {
        let thread = world.review_threads.get(repo, thread);
        match thread.and_then(|thread| Some((thread, world.pulls.get(repo, thread.number)?))) {
            Some((thread, pull)) => payload::review_thread(world, pull, thread),
            None => Value::Null,
        }
    });
}

/// Repositories hear of what an app does; that it should do something, only the app itself hears.
pub fn check_run(world: &mut World, repo: Id, run: Id, sender: Id, action: CheckRunAction) {
    let Some(app) = world.check_runs.get(repo, run).map(|run| run.app) else { return };
    let (name, told) = match action {
        CheckRunAction::Created => ("created", Told::SubscribersAnd(app)),
        CheckRunAction::Completed => ("completed", Told::SubscribersAnd(app)),
        CheckRunAction::Rerequested => ("rerequested", Told::App(app)),
    };
    let event = Event { told, ..Event::new("check_run", Some(name), repo, sender) };
    tell(world, event, |world| match world.repo(repo).zip(world.check_runs.get(repo, run)) {
        Some((repo, run)) => payload::check_run(world, repo, run),
        None => Value::Null,
    });
}

pub fn check_suite(world: &mut World, repo: Id, suite: Id, sender: Id, action: CheckSuiteAction) {
    let Some(found) = world.check_suites.get(repo, suite) else { return };
    let from_git = Some(FromGit { repo, sha: found.head_sha.clone() });
    let (name, told) = match action {
        CheckSuiteAction::Requested => ("requested", Told::App(found.app)),
        CheckSuiteAction::Completed => ("completed", Told::SubscribersAnd(found.app)),
        CheckSuiteAction::Rerequested => ("rerequested", Told::App(found.app)),
    };
    let event = Event { told, from_git, ..Event::new("check_suite", Some(name), repo, sender) };
    tell(world, event, |world| match world.repo(repo).zip(world.check_suites.get(repo, suite)) {
        Some((repo, suite)) => payload::check_suite(world, repo, suite, action),
        None => Value::Null,
    });
}

pub fn status(world: &mut World, repo: Id, status: Id, sender: Id) {
    let Some(found) = world.statuses.get(repo, status) else { return };
    let from_git = Some(FromGit { repo, sha: found.sha.clone() });
    let event = Event { from_git, ..Event::new("status", None, repo, sender) };
    tell(world, event, |world| match world.repo(repo).zip(world.statuses.get(repo, status)) {
        Some((repo, status)) => payload::status(world, repo, status),
        None => Value::Null,
    });
}

pub fn workflow_run(world: &mut World, repo: Id, run: Id, sender: Id, action: WorkflowRunAction) {
    let name = match action {
        WorkflowRunAction::Requested => "requested",
        WorkflowRunAction::InProgress => "in_progress",
        WorkflowRunAction::Completed => "completed",
    };
    let Some(found) = world.workflow_runs.get(repo, run) else { return };
    let from_git = Some(FromGit { repo, sha: found.head_sha.clone() });
    let event = Event { from_git, ..Event::new("workflow_run", Some(name), repo, sender) };
    tell(world, event, |world| match world.repo(repo).zip(world.workflow_runs.get(repo, run)) {
        Some((repo, run)) => payload::workflow_run(world, repo, run),
        None => Value::Null,
    });
}

pub fn installation(world: &mut World, installation: Id, sender: Id, action: InstallationAction) {
    let name = match action {
        InstallationAction::Created => "created",
        InstallationAction::Deleted => "deleted",
        InstallationAction::Suspend => "suspend",
        InstallationAction::Unsuspend => "unsuspend",
    };
    let Some(found) = world.installations.get(0, installation) else { return };
    let (app, payload) = (found.app, payload::installation(world, found, sender, name));
    tell_app(world, app, Some(installation), "installation", Some(name), payload);
}

/// `installation_repositories`.
pub fn installation_repositories(world: &mut World, installation: Id, sender: Id, added: &[Id], removed: &[Id]) {
    let Some(found) = world.installations.get(0, installation) else { return };
    let app = found.app;
    for (name, added, removed) in [("added", added, &[][..]), ("removed", &[][..], removed)] {
        if added.is_empty() && removed.is_empty() {
            continue;
        }
        let Some(found) = world.installations.get(0, installation) else { return };
        let payload = payload::installation_repositories(world, found, sender, added, removed);
        tell_app(world, app, Some(installation), "installation_repositories", Some(name), payload);
    }
}

/// `ping`, to a repository's hook that was just made or is pinged.
pub fn ping(world: &mut World, repo: Id, hook: Id, sender: Id) {
    let event = Event { told: Told::Hook(hook), ..Event::new("ping", None, repo, sender) };
    tell(world, event, |world| match world.hooks.get(repo, hook) {
        Some(hook) => payload::ping(world, hook),
        None => Value::Null,
    });
}

/// `ping`, to an app whose webhook was just set.
pub fn ping_app(world: &mut World, app: Id) {
    let Some(found) = world.apps.get(0, app) else { return };
    let payload = payload::app_ping(world, found);
    tell_app(world, app, None, "ping", None, payload);
}
