//! Workspaces as rows: what the API shows of them, and what a heartbeat compares. Written with the events that cause them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use merge_train_core::facts::{MergeFacts, ReviewActivity, ReviewThreadActivity, SettingsFileContent};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::ratchet::{self, Fix, FixResult, HeartbeatFingerprint, TransitionLogAction};
use merge_train_core::repo::{CachedPr, Event, RepoState, Settings, mirror, settings};
use merge_train_core::workflow::RunStatus;
use store::Row;
use store::rows::{Session, SessionKind, SessionStatus, Transition, TransitionAction, Workspace};

/// How a workspace is called.
pub fn name(repo: &RepoId, pr: PrNumber) -> String {
    format!("{repo}#{pr}")
}

/// What events make of the rows; `first_seq` is the number of the first of them.
pub fn rows(
    repo: &RepoId,
    state: &RepoState,
    settings: &Settings,
    events: &[Event],
    first_seq: u64,
    now: Timestamp,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut touched = BTreeSet::new();
    for (event, seq) in events.iter().zip(first_seq..) {
        match event {
            Event::Mirror(mirror::Event::PrObserved { pr, .. } | mirror::Event::MergeStateObserved { pr, .. }) => {
                touched.insert(*pr);
            }
            // What counts for all of them may be something else now.
            Event::Settings(settings::Event::SettingsObserved { .. })
            | Event::Ratchet(ratchet::Event::RatchetToggled { pr: None, .. }) => {
                touched.extend(state.workspaces().keys().copied());
            }
            Event::Ratchet(event) => {
                touched.extend(event.pr());
                rows.extend(transition(repo, event, seq, now).map(|it| Row::Transition(Box::new(it))));
                rows.extend(session(repo, state, settings, event, now).map(|it| Row::Session(Box::new(it))));
            }
            _ => {}
        }
    }
    let workspaces = touched.into_iter().filter_map(|pr| row(repo, state, settings, pr, now));
    rows.extend(workspaces.map(|it| Row::Workspace(Box::new(it))));
    rows
}

/// All of them as they are: a backup has the events alone.
pub(super) fn all(repo: &RepoId, state: &RepoState, settings: &Settings, now: Timestamp) -> Vec<Workspace> {
    state.workspaces().keys().filter_map(|pr| row(repo, state, settings, *pr, now)).collect()
}

fn row(repo: &RepoId, state: &RepoState, settings: &Settings, pr: PrNumber, now: Timestamp) -> Option<Workspace> {
    let workspace = state.workspaces().get(&pr)?;
    let known = state.pr(pr);
    Some(Workspace {
        id: name(repo, pr),
        tenant_id: repo.tenant(),
        repo_id: repo.clone(),
        pr_number: Some(pr),
        title: known.map(|known| known.title.clone()).unwrap_or_default(),
        branch: known.and_then(|known| known.head_ref.clone()),
        head_sha: known.map(|known| known.head_sha.clone()),
        ratchet_enabled: state.ratchet_is_on(pr, settings),
        ratchet_state: workspace.status.as_str().to_owned(),
        ratchet_state_reason: Some(workspace.reason.code().to_owned()),
        ratchet_state_detail: Some(match &workspace.told {
            Some(told) => format!("{}: {told}", workspace.reason.sentence()),
            None => workspace.reason.sentence().to_owned(),
        }),
        ratchet_state_updated_at: workspace.moved_at,
        ratchet_current_activity: workspace.activity.clone(),
        ratchet_consecutive_fixup_attempts: workspace.attempts,
        ratchet_max_fixup_attempts: Some(settings.ratchet.max_attempts),
        ratchet_stale_ci_since: workspace.stale_since,
        ratchet_active_session_id: workspace.fix.as_ref().map(|fix| fix.run_id(pr).to_string()),
        ratchet_last_ci_run_id: workspace.last_ci_run.clone(),
        ratchet_last_checked_at: known.and_then(|known| known.observed_at),
        ratchet_last_push_at: workspace.last_push_at,
        kanban_column: workspace.column(settings.ratchet.session_timeout, now),
        glimpse: known.and_then(|known| glimpse(pr, known, workspace)),
        archived_at: workspace.archived_at,
        created_at: workspace.since,
        updated_at: now,
    })
}

fn glimpse(pr: PrNumber, known: &CachedPr, workspace: &ratchet::Workspace) -> Option<HeartbeatFingerprint> {
    let heard = workspace.talk.as_ref()?;
    let merge = MergeFacts {
        number: pr,
        is_open: known.is_open(),
        head_sha: known.head_sha.clone(),
        base_ref: known.base_ref.clone(),
        state: known.merge_state,
        draft: known.draft,
        review: known.review,
        ci: known.ci.clone(),
        own_file: SettingsFileContent::Unseen,
    };
    let detail = ReviewThreadActivity { mark: heard.mark.clone(), points: Vec::new() };
    Some(HeartbeatFingerprint::of(&merge, &ReviewActivity { overview: heard.overview.clone(), detail: Some(detail) }))
}

fn transition(repo: &RepoId, event: &ratchet::Event, seq: u64, now: Timestamp) -> Option<Transition> {
    let ratchet::Event::RatchetMoved { pr, action, status, reason, told, activity, snapshot, .. } = event else {
        return None;
    };
    let told = told.as_ref().map(|told| format!(": {told}")).unwrap_or_default();
    Some(Transition {
        id: format!("{repo}#{pr}:{seq}"),
        tenant_id: repo.tenant(),
        workspace_id: name(repo, *pr),
        action: match action {
            TransitionLogAction::Wait => TransitionAction::Wait,
            TransitionLogAction::FixCi => TransitionAction::FixCi,
            TransitionLogAction::FixReview => TransitionAction::FixReview,
            TransitionLogAction::Pause => TransitionAction::Pause,
            TransitionLogAction::Noop => TransitionAction::Noop,
        },
        state: Some(status.as_str().to_owned()),
        reason: format!("{} ({}): {}{told}", reason.code(), status.as_str(), reason.sentence()),
        ui_message: Some(activity.clone().unwrap_or_else(|| reason.sentence().to_owned())),
        snapshot: snapshot.clone(),
        created_at: now,
    })
}

fn session(
    repo: &RepoId,
    state: &RepoState,
    settings: &Settings,
    event: &ratchet::Event,
    now: Timestamp,
) -> Option<Session> {
    let pr = event.pr()?;
    let (tenant_id, workspace_id) = (repo.tenant(), name(repo, pr));
    let workspace = state.workspaces().get(&pr);
    match event {
        ratchet::Event::SessionOpened { session, .. } | ratchet::Event::SessionSeen { session, .. } => {
            // It may have ended in the same breath.
            let known = workspace?.sessions.get(session)?;
            Some(Session {
                id: session_id(&workspace_id, session),
                tenant_id,
                workspace_id,
                kind: SessionKind::User,
                status: SessionStatus::Running,
                working: ratchet::is_working(known, settings.ratchet.session_timeout, now),
                exit_code: None,
                error: None,
                started_at: known.started_at,
                ended_at: None,
            })
        }
        ratchet::Event::SessionEnded { session, started_at, exit_code, vanished, .. } => Some(Session {
            id: session_id(&workspace_id, session),
            tenant_id,
            workspace_id,
            kind: SessionKind::User,
            status: if *vanished { SessionStatus::Failed } else { SessionStatus::Completed },
            working: false,
            exit_code: *exit_code,
            error: vanished.then(|| "nobody heard of it any more".to_owned()),
            started_at: *started_at,
            ended_at: Some(now),
        }),
        ratchet::Event::FixDispatched { fix, .. } => Some(fixer(repo, pr, fix, None, now)),
        ratchet::Event::FixStarted { .. }
        | ratchet::Event::FixInterrupted { .. }
        | ratchet::Event::FixHeld { .. }
        | ratchet::Event::FixPushIntended { .. } => Some(fixer(repo, pr, workspace?.fix.as_ref()?, None, now)),
        ratchet::Event::FixSettled { fix, settled, .. } => Some(fixer(repo, pr, fix, Some(settled), now)),
        _ => None,
    }
}

/// The session of a fixer: its run by another name.
fn fixer(repo: &RepoId, pr: PrNumber, fix: &Fix, settled: Option<&FixResult>, now: Timestamp) -> Session {
    let status = match settled.map(FixResult::as_run) {
        None => SessionStatus::Running,
        Some(RunStatus::Completed) => SessionStatus::Completed,
        Some(_) => SessionStatus::Failed,
    };
    Session {
        id: fix.run_id(pr).to_string(),
        tenant_id: repo.tenant(),
        workspace_id: name(repo, pr),
        kind: SessionKind::Ratchet,
        status,
        working: settled.is_none() && fix.is_working(),
        exit_code: None,
        error: settled.filter(|_| status == SessionStatus::Failed).map(FixResult::sentence),
        started_at: fix.at,
        ended_at: settled.map(|_| now),
    }
}

/// Names of sessions are their clients'; two workspaces may have the same.
fn session_id(workspace: &str, session: &str) -> String {
    format!("{workspace}:{session}")
}
