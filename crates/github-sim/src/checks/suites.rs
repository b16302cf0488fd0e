//! Check suites: what one app says about one commit, or one workflow run does.

use std::collections::BTreeMap;

use super::conclude;
use crate::webhooks::emit::{self, CheckSuiteAction};
use crate::world::{CheckRun, CheckSuite, Id, RunConclusion, RunStatus, Sha, World};

pub struct NewSuite {
    pub app: Id,
    pub head_sha: Sha,
    pub head_branch: Option<String>,
    pub before: Option<Sha>,
}

pub fn create_suite(world: &mut World, repo: Id, new: NewSuite, sender: Id) -> Id {
    let (id, now) = (world.next_id(), world.now);
    let NewSuite { app, head_sha, head_branch, before } = new;
    world.check_suites.insert(CheckSuite {
        repo,
        id,
        app,
        head_branch,
        head_sha,
        before,
        status: RunStatus::Queued,
        conclusion: None,
        created_at: now,
        updated_at: now,
    });
    emit::check_suite(world, repo, id, sender, CheckSuiteAction::Requested);
    id
}

/// The newest suite of an app for a commit.
pub fn suite_of(world: &World, repo: Id, app: Id, sha: &str) -> Option<Id> {
    world.check_suites.within(repo).rev().find(|suite| suite.app == app && suite.head_sha == sha).map(|suite| suite.id)
}

/// A pushed commit gets a suite of every app that may write checks, unless the repository prefers otherwise.
pub fn open_for_apps(world: &mut World, repo: Id, branch: &str, sha: &str, before: Option<&str>, sender: Id) {
    let Some(owner) = world.repo(repo).map(|repo| repo.owner) else { return };
    let preferences = world.check_preferences.get(0, repo).cloned().unwrap_or_default();
    let apps: Vec<Id> = world
        .installations
        .within(0)
        .filter(|found| found.account == owner && found.covers(repo) && found.suspended_at.is_none())
        .filter(|found| found.permissions.get("checks").is_some_and(|level| level == "write"))
        .map(|found| found.app)
        .filter(|app| preferences.auto_trigger.get(app) != Some(&false))
        .filter(|app| suite_of(world, repo, *app, sha).is_none())
        .collect();
    for app in apps {
        let new = NewSuite {
            app,
            head_sha: sha.to_owned(),
            head_branch: Some(branch.to_owned()),
            before: before.map(str::to_owned),
        };
        create_suite(world, repo, new, sender);
    }
}

/// The newest run of each name, in the order they were made.
pub fn latest_runs<'w>(world: &'w World, suite: &CheckSuite) -> Vec<&'w CheckRun> {
    newest_by_name(world.check_runs.within(suite.repo).filter(|run| run.suite == suite.id))
}

pub fn newest_by_name<'w>(runs: impl Iterator<Item = &'w CheckRun>) -> Vec<&'w CheckRun> {
    let newest: BTreeMap<&str, &CheckRun> = runs.map(|run| (run.name.as_str(), run)).collect();
    let mut newest: Vec<&CheckRun> = newest.into_values().collect();
    newest.sort_by_key(|run| run.id);
    newest
}

/// Why a suite is looked at again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    RunFinished,
    RunChanged,
}

/// Brings a suite in line with its runs.
pub(super) fn refresh(world: &mut World, repo: Id, suite: Id, sender: Id, cause: Cause) {
    let Some(found) = world.check_suites.get(repo, suite) else { return };
    let (status, conclusion) = add_up(&latest_runs(world, found));
    set(world, repo, suite, status, conclusion);
    if status == RunStatus::Completed && cause == Cause::RunFinished {
        emit::check_suite(world, repo, suite, sender, CheckSuiteAction::Completed);
    }
}

/// A rerequested suite begins again; its runs stay as they are until the app acts.
pub fn reopen(world: &mut World, repo: Id, suite: Id) {
    set(world, repo, suite, RunStatus::Queued, None);
}

fn set(world: &mut World, repo: Id, suite: Id, status: RunStatus, conclusion: Option<RunConclusion>) {
    let now = world.now;
    let Some(suite) = world.check_suites.edit(repo, suite) else { return };
    suite.status = status;
    suite.conclusion = conclusion;
    suite.updated_at = now;
}

/// Status and conclusion of several runs together.
pub(super) fn add_up(runs: &[&CheckRun]) -> (RunStatus, Option<RunConclusion>) {
    let completed = runs.iter().filter(|run| run.status == RunStatus::Completed).count();
    if completed == runs.len() && completed > 0 {
        (RunStatus::Completed, conclude(runs.iter().map(|run| run.conclusion)))
    } else if completed > 0 || runs.iter().any(|run| run.status == RunStatus::InProgress) {
        (RunStatus::InProgress, None)
    } else {
        (RunStatus::Queued, None)
    }
}
