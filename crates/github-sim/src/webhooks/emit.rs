//! One function per event. Each stores deliveries for everyone who listens; they are sent after the transaction.

use serde_json::Value;

use super::audience::{Event, Told, tell, tell_app};
use super::payload;
use crate::git::{CommitObject, FileChange, FileStatus, RefChange};
use crate::world::{Id, World};

/// A ref that moved, with what git says about it.
pub struct PushFacts {
    pub change: RefChange,
    /// The new commits, oldest first.
    pub commits: Vec<PushedCommit>,
    /// The commit the ref now points at; none when it was deleted.
    pub head: Option<PushedCommit>,
    pub forced: bool,
}

#[derive(Clone)]
pub struct PushedCommit {
    pub commit: CommitObject,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub modified: Vec<String>,
}

impl PushedCommit {
    /// What git found changed, sorted into what a push tells of.
    pub fn new(commit: CommitObject, files: &[FileChange]) -> Self {
        let mut this = Self { commit, added: Vec::new(), removed: Vec::new(), modified: Vec::new() };
        for file in files {
            match file.status {
                FileStatus::Added | FileStatus::Copied => this.added.push(file.path.clone()),
                FileStatus::Removed => this.removed.push(file.path.clone()),
                FileStatus::Modified | FileStatus::Changed => this.modified.push(file.path.clone()),
                FileStatus::Renamed => {
                    this.added.push(file.path.clone());
                    this.removed.extend(file.previous_path.clone());
                }
            }
        }
        this
    }
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
}

pub enum IssueAction {
    Opened,
    Closed,
    Reopened,
    Edited { changes: Value },
    Labeled { label: Id },
    Unlabeled { label: Id },
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

#[derive(Clone, Copy)]
pub enum ReviewAction {
    Submitted,
    Edited,
    Dismissed,
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
    let _ = (world, repo, number, sender, action);
}

pub fn issues(world: &mut World, repo: Id, number: u64, sender: Id, action: IssueAction) {
    let name = match action {
        IssueAction::Opened => "opened",
        IssueAction::Closed => "closed",
        IssueAction::Reopened => "reopened",
        IssueAction::Edited { .. } => "edited",
        IssueAction::Labeled { .. } => "labeled",
        IssueAction::Unlabeled { .. } => "unlabeled",
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

pub fn review(world: &mut World, repo: Id, review: Id, sender: Id, action: ReviewAction) {
    let _ = (world, repo, review, sender, action);
}

pub fn review_comment(world: &mut World, repo: Id, comment: Id, sender: Id, action: CommentAction) {
    let _ = (world, repo, comment, sender, action);
}

pub fn review_thread(world: &mut World, repo: Id, thread: Id, sender: Id, action: ThreadAction) {
    let _ = (world, repo, thread, sender, action);
}

pub fn check_run(world: &mut World, repo: Id, run: Id, sender: Id, action: CheckRunAction) {
    let _ = (world, repo, run, sender, action);
}

pub fn check_suite(world: &mut World, repo: Id, suite: Id, sender: Id, action: CheckSuiteAction) {
    let _ = (world, repo, suite, sender, action);
}

pub fn status(world: &mut World, repo: Id, status: Id, sender: Id) {
    let _ = (world, repo, status, sender);
}

pub fn workflow_run(world: &mut World, repo: Id, run: Id, sender: Id, action: WorkflowRunAction) {
    let _ = (world, repo, run, sender, action);
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
