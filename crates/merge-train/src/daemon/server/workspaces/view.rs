//! A workspace as the API shows it.

use jiff::Timestamp;
use merge_train_core::facts::HeadRepo;
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use merge_train_core::repo::ratchet::{BoardColumn, OutcomeKind, WorkspaceReason, WorkspaceStatus};
use merge_train_core::repo::{CachedPr, RepoState};
use serde::Serialize;
use serde_json::Value;
use store::rows;
use utoipa::ToSchema;
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{Object, ObjectBuilder, Type};

use crate::daemon::server::App;

/// Why the ratchet leaves a pull request alone whose branch is not in the repository itself.
const OF_A_FORK: &str = "The branch is in a fork, where fixers cannot push; the ratchet ignores it";

/// A pull request as the ratchet sees it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Workspace)]
pub struct WorkspaceDocument {
    #[schema(example = "octocat/hello#7")]
    id: String,
    repo: RepoId,
    #[schema(minimum = 1)]
    pr: PrNumber,
    /// What it is called.
    title: String,
    /// Its page on GitHub.
    pr_url: String,
    branch: Option<BranchName>,
    head_sha: Option<Sha>,
    ratchet_enabled: bool,
    /// What the ratchet does about it, or why it does nothing.
    #[schema(schema_with = super::states)]
    state: WorkspaceStatus,
    /// Why, for programs.
    #[schema(pattern = "^[A-Z_]+$", example = "CI_FAILED")]
    reason: Option<String>,
    /// Why, for people.
    reason_detail: Option<String>,
    /// The current activity, in a few words.
    #[schema(example = "Fixing build failures")]
    current_activity: Option<String>,
    /// When it entered this state.
    updated_at: Option<Timestamp>,
    /// Whether what came of it is good, or needs a person; none while it is neither.
    #[schema(schema_with = outcomes)]
    outcome_kind: Option<OutcomeKind>,
    /// Where a board shows it.
    #[schema(schema_with = columns)]
    kanban_column: BoardColumn,
    counters: Counters,
    /// The current fixer: a run.
    active_session_id: Option<String>,
    /// The CI run that started the last fixer.
    last_ci_run_id: Option<String>,
    /// Since when CI is expected to restart after a fixer's push.
    stale_ci_since: Option<Timestamp>,
    /// When GitHub was last asked about it.
    last_checked_at: Option<Timestamp>,
    last_push_at: Option<Timestamp>,
    /// When the pull request was closed or merged.
    archived_at: Option<Timestamp>,
    created_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkspaceCounters)]
struct Counters {
    /// Attempts in a row: fixers that pushed or ran out of time.
    consecutive_attempts: u32,
    /// The most attempts before the ratchet asks for a person.
    max_attempts: u32,
}

/// What the row says, as it is now.
pub fn shown(app: &App, row: &rows::Workspace) -> WorkspaceDocument {
    let status = status(row);
    let pr = row.pr_number.unwrap_or(PrNumber::new(0));
    // A heartbeat that found nothing new is worth no write.
    let beat = app.checked.at(&row.tenant_id).filter(|_| row.ratchet_enabled && row.archived_at.is_none());
    WorkspaceDocument {
        id: row.id.clone(),
        repo: row.repo_id.clone(),
        pr,
        title: row.title.clone(),
        pr_url: page_of(app, &row.repo_id, pr),
        branch: row.branch.clone(),
        head_sha: row.head_sha.clone(),
        ratchet_enabled: row.ratchet_enabled,
        state: status,
        reason: row.ratchet_state_reason.clone(),
        reason_detail: row.ratchet_state_detail.clone(),
        current_activity: row.ratchet_current_activity.clone(),
        updated_at: row.ratchet_state_updated_at.or(Some(row.created_at)),
        outcome_kind: status.outcome_kind(),
        kanban_column: row.kanban_column,
        counters: Counters {
            consecutive_attempts: row.ratchet_consecutive_fixup_attempts,
            max_attempts: row.ratchet_max_fixup_attempts.unwrap_or(app.settings.ratchet.max_attempts),
        },
        active_session_id: row.ratchet_active_session_id.clone(),
        last_ci_run_id: row.ratchet_last_ci_run_id.clone(),
        stale_ci_since: row.ratchet_stale_ci_since,
        last_checked_at: row.ratchet_last_checked_at.max(beat),
        last_push_at: row.ratchet_last_push_at,
        archived_at: row.archived_at,
        created_at: Some(row.created_at),
    }
}

/// A pull request that the ratchet never had to do with.
pub fn untouched(app: &App, repo: &RepoId, pr: PrNumber, pull: &CachedPr, state: &RepoState) -> WorkspaceDocument {
    let is_on = state.ratchet_is_on(pr, &app.settings);
    let max_attempts = state.settings(&app.settings).ratchet.max_attempts;
    let is_fork = pull.head_repo == HeadRepo::Fork;
    let is_enabled = is_on && !is_fork && pull.is_open();
    let (status, reason) = match (pull.is_open(), is_enabled) {
        (false, _) => (WorkspaceStatus::PausedPrNotOpen, WorkspaceReason::PrNotOpen),
        (true, true) => (WorkspaceStatus::New, WorkspaceReason::New),
        (true, false) => (WorkspaceStatus::PausedDisabled, WorkspaceReason::Disabled),
    };
    let detail = if is_fork && pull.is_open() { OF_A_FORK } else { reason.sentence() };
    WorkspaceDocument {
        id: format!("{repo}#{pr}"),
        repo: repo.clone(),
        pr,
        title: pull.title.clone(),
        pr_url: page_of(app, repo, pr),
        branch: pull.head_ref.clone(),
        head_sha: Some(pull.head_sha.clone()),
        ratchet_enabled: is_enabled,
        state: status,
        reason: Some(reason.code().to_owned()),
        reason_detail: Some(detail.to_owned()),
        current_activity: None,
        updated_at: None,
        outcome_kind: None,
        kanban_column: if pull.is_open() { BoardColumn::Waiting } else { BoardColumn::Done },
        counters: Counters { consecutive_attempts: 0, max_attempts },
        active_session_id: None,
        last_ci_run_id: None,
        stale_ci_since: None,
        last_checked_at: pull.observed_at,
        last_push_at: None,
        archived_at: pull.closed_at(),
        created_at: None,
    }
}

fn page_of(app: &App, repo: &RepoId, pr: PrNumber) -> String {
    format!("{}/{repo}/pull/{pr}", app.web_url)
}

/// The state that a row names. One that only a newer daemon knows is as good as none.
pub fn status(row: &rows::Workspace) -> WorkspaceStatus {
    named(&row.ratchet_state).unwrap_or_default()
}

/// The state of a name.
pub fn named(name: &str) -> Option<WorkspaceStatus> {
    WorkspaceStatus::ALL.into_iter().find(|status| status.as_str() == name)
}

pub fn columns() -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["WORKING", "WAITING", "DONE"])).build()
}

pub fn outcomes() -> Object {
    let names = [Value::from("SUCCESS"), Value::from("ATTENTION"), Value::Null];
    let kind = SchemaType::from_iter([Type::String, Type::Null]);
    ObjectBuilder::new().schema_type(kind).enum_values(Some(names)).build()
}
