//! One function per event. Each stores deliveries for everyone who listens; they are sent after the transaction.

use serde_json::Value;

use crate::git::{CommitObject, RefChange};
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
    let _ = (world, repo, sender, push);
}

/// `create`: a branch or tag, by its full ref name.
pub fn ref_created(world: &mut World, repo: Id, sender: Id, ref_name: &str) {
    let _ = (world, repo, sender, ref_name);
}

/// `delete`.
pub fn ref_deleted(world: &mut World, repo: Id, sender: Id, ref_name: &str) {
    let _ = (world, repo, sender, ref_name);
}

pub fn pull_request(world: &mut World, repo: Id, number: u64, sender: Id, action: PullAction) {
    let _ = (world, repo, number, sender, action);
}

pub fn issues(world: &mut World, repo: Id, number: u64, sender: Id, action: IssueAction) {
    let _ = (world, repo, number, sender, action);
}

pub fn issue_comment(world: &mut World, repo: Id, comment: Id, sender: Id, action: CommentAction) {
    let _ = (world, repo, comment, sender, action);
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
    let _ = (world, installation, sender, action);
}

/// `installation_repositories`.
pub fn installation_repositories(world: &mut World, installation: Id, sender: Id, added: &[Id], removed: &[Id]) {
    let _ = (world, installation, sender, added, removed);
}

/// `ping`, to a repository's hook that was just made or is pinged.
pub fn ping(world: &mut World, repo: Id, hook: Id, sender: Id) {
    let _ = (world, repo, hook, sender);
}
