//! The settings, typed. [`super::settings`] says what each means and what it may be.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use git::repository::{Extent, Settings};
use git::{Committer, Signing};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{RepoId, TenantId};
use merge_train_core::repo::ratchet::{self, ApprovalRule};
use merge_train_core::repo::trains::message::SquashMessageTemplates;
use merge_train_core::workflow;
use serde::Deserialize;
use serde_json::{Map, Value};

use merge_train_core::secret::Secret;

use super::keys::Role;
use crate::daemon::schedules::timetable::{self, Timetable};
use crate::daemon::schedules::{self, MissedSlotPolicy};

/// A span of time that is written in minutes, and may be a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Minutes {
    /// What a value of the kind is turned into when it is read.
    milliseconds: u64,
}

impl Minutes {
    pub fn duration(self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }

    pub fn signed(self) -> SignedDuration {
        SignedDuration::from_millis(i64::try_from(self.milliseconds).unwrap_or(i64::MAX))
    }
}

/// `[github]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GithubSettings {
    pub api_url: String,
    pub graphql_url: String,
    pub git_url: String,
    pub app_id: Option<u64>,
    pub private_key_path: Option<PathBuf>,
    pub installation_id: Option<u64>,
    pub token: Option<Secret>,
}

/// `[git]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitSettings {
    pub clone_base_dir: PathBuf,
    clone: CloneKind,
    signing: Option<SigningKind>,
    signing_key_id: Option<String>,
    pub gpg_home: Option<PathBuf>,
    pub ssh_key_path: Option<PathBuf>,
    pub user_name: String,
    pub user_email: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CloneKind {
    Partial,
    Full,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SigningKind {
    Gpg,
    Ssh,
    Off,
}

impl GitSettings {
    /// Where clones are and how they are made, with commits signed as `signing` says.
    pub fn clones(&self, signing: Signing) -> Settings {
        Settings {
            base: self.clone_base_dir.clone(),
            extent: match self.clone {
                CloneKind::Partial => Extent::Partial,
                CloneKind::Full => Extent::Full,
            },
            committer: Committer { name: self.user_name.clone(), email: self.user_email.clone(), signing },
        }
    }

    /// What the four settings about signing come to; none if they say nothing. That the key belongs to the kind was checked
    /// when they were read.
    pub fn signing(&self) -> Option<Signing> {
        let gpg = || self.signing_key_id.clone().map(|key_id| Signing::Gpg { key_id, home: self.gpg_home.clone() });
        let ssh = || self.ssh_key_path.clone().map(|key_path| Signing::Ssh { key_path });
        match self.signing {
            Some(SigningKind::Gpg) => gpg(),
            Some(SigningKind::Ssh) => ssh(),
            Some(SigningKind::Off) => Some(Signing::Off),
            None => gpg().or_else(ssh),
        }
    }
}

/// `[state]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateSettings {
    pub state_dir: PathBuf,
    pub database_url: Option<Secret>,
    pub max_size_mb: Option<u64>,
    pub commit_group: usize,
}

/// `[server]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    pub bind_address: SocketAddr,
    #[serde(default)]
    pub webhook_secret: Vec<Secret>,
    pub public_url: Option<String>,
    pub anonymous: AnonymousAccess,
    pub max_body_mb: u64,
    pub body_budget_mb: u64,
    pub shutdown_deadline_secs: u64,
}

/// What visitors of the dashboard may do who have not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnonymousAccess {
    None,
    Viewer,
    Operator,
    /// The same where there is a fixer, which can do all that visitors can.
    OperatorAndFixers,
}

impl AnonymousAccess {
    pub fn role(self) -> Option<Role> {
        match self {
            Self::None => None,
            Self::Viewer => Some(Role::Viewer),
            Self::Operator | Self::OperatorAndFixers => Some(Role::Operator),
        }
    }
}

/// `[behavior]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BehaviorSettings {
    pub max_stack_size: usize,
    pub resync_interval_mins: Minutes,
    pub wait_timeout_mins: Minutes,
    pub idle_worker_mins: Minutes,
    pub branch_protection_cache_ttl_mins: Minutes,
    pub auto_start: bool,
    pub delete_branches: bool,
}

/// `[merge]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeSettings {
    title: Option<String>,
    body: Option<String>,
    pub background: bool,
}

impl MergeSettings {
    /// How squashes are worded.
    pub fn wording(&self) -> SquashMessageTemplates {
        SquashMessageTemplates { title: self.title.clone(), body: self.body.clone() }
    }
}

/// `[housekeeping]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HousekeepingSettings {
    pub pr_retention_days: u64,
    pub max_prs_in_snapshot: usize,
    pub worktree_max_age_hours: u64,
    pub poll_interval_mins: Minutes,
    pub dedupe_ttl_hours: u64,
    pub staleness_threshold_mins: Minutes,
    pub spool_grace_mins: Minutes,
    pub history_retention_days: u64,
    pub compact_after_events: u64,
    pub compact_interval_mins: Minutes,
}

/// `[log]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    pub format: LogFormat,
    pub filter: String,
}

/// What a log line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// `Text` on a terminal, `Json` elsewhere.
    Auto,
    Json,
    Text,
}

/// `[ratchet]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatchetSettings {
    pub enabled: bool,
    pub heartbeat_secs: u64,
    pub max_attempts: u32,
    pub daily_budget: usize,
    pub stale_ci_timeout_mins: Minutes,
    pub grace_mins: Minutes,
    pub session_timeout_secs: u64,
    #[serde(default)]
    approve_pushes: Vec<String>,
    pub fixer: FixerSettings,
}

impl RatchetSettings {
    /// Which pushes of a fixer wait for a person.
    fn approve(&self) -> ApprovalRule {
        ApprovalRule::of(&self.approve_pushes)
    }

    /// What it comes to for whoever decides.
    pub fn settings(&self) -> ratchet::Settings {
        let seconds = |seconds: u64| SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        ratchet::Settings {
            enabled: self.enabled,
            has_fixer: !self.fixer.program().is_empty(),
            max_attempts: self.max_attempts,
            daily_budget: self.daily_budget,
            stale_ci_timeout: self.stale_ci_timeout_mins.signed(),
            grace: self.grace_mins.signed(),
            session_timeout: seconds(self.session_timeout_secs),
            approve: self.approve(),
        }
    }
}

/// `[ratchet.fixer]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixerSettings {
    #[serde(default)]
    command: Vec<String>,
    agent: Option<Agent>,
    #[serde(default)]
    environment: Vec<String>,
    pub unix_sockets: bool,
    pub timeout_mins: Minutes,
    pub max_concurrent: usize,
    pub max_memory_mb: Option<u64>,
    pub max_processes: u32,
    pub max_disk_mb: u64,
    pub max_log_mb: u64,
}

/// A coding agent that merge-train knows how to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Aider,
}

impl Agent {
    /// How it is started so that it reads what it is told from standard input or a file, and asks nobody.
    fn command(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["claude", "--print", "--dangerously-skip-permissions"],
            Self::Codex => &["codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "-"],
            Self::Gemini => &["gemini", "--yolo"],
            Self::Opencode => &["opencode", "run", "--file", "{prompt}", "Do what the attached file says."],
            Self::Aider => &["aider", "--yes-always", "--no-check-update", "--message-file", "{prompt}"],
        }
    }

    /// What it is paid with, by the names under which its documentation wants it.
    fn environment(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
            Self::Codex => &["OPENAI_API_KEY", "CODEX_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Opencode | Self::Aider => &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        }
    }
}

impl FixerSettings {
    /// The program and its arguments; nothing where none is configured. `{prompt}` stands for the file with what it is told.
    pub fn program(&self) -> Vec<String> {
        match self.agent {
            Some(agent) if self.command.is_empty() => agent.command().iter().map(|word| (*word).to_owned()).collect(),
            _ => self.command.clone(),
        }
    }

    /// The variables of the daemon's environment that it gets.
    pub fn environment(&self) -> Vec<String> {
        let agents = self.agent.iter().flat_map(|agent| agent.environment()).map(|name| (*name).to_owned());
        self.environment.iter().cloned().chain(agents).collect()
    }
}

/// `[runs]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    pub work_dir: PathBuf,
    pub max_concurrent: usize,
    pub heartbeat_secs: u64,
    pub orphaned_after_secs: u64,
    pub max_output_kb: usize,
    pub max_log_mb: u64,
    pub max_disk_mb: u64,
    pub retention_days: u64,
}

/// `[[workflows]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowSettings {
    pub name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    inputs: Map<String, Value>,
    #[serde(default)]
    on: Vec<String>,
    #[serde(default)]
    steps: Vec<WorkflowStepSettings>,
}

/// `[[workflows.steps]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkflowStepSettings {
    id: String,
    kind: WorkflowStepKind,
    timeout_mins: Option<Minutes>,
    resumable: bool,
    idempotent: bool,
    #[serde(default)]
    command: Vec<String>,
    retries: u32,
    backoff_secs: u64,
    #[serde(default)]
    compensate: Vec<String>,
    #[serde(default)]
    by: Vec<String>,
    need: workflow::ApprovalNeed,
    on_expiry: workflow::OnExpiry,
    #[serde(default)]
    event: String,
    correlation: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkflowStepKind {
    Agent,
    Approval,
    Wait,
}

/// How long a command takes at most that nobody has set a limit for, and an event to come.
const COMMAND_MS: u64 = 3_600_000;
const EVENT_MS: u64 = 86_400_000;

impl WorkflowSettings {
    /// What a run is made of.
    pub fn definition(&self) -> workflow::Workflow {
        workflow::Workflow {
            name: self.name.clone(),
            description: self.description.clone(),
            inputs: self.inputs.clone(),
            on: self.on.clone(),
            steps: self.steps.iter().map(WorkflowStepSettings::plan).collect(),
        }
    }

    /// What is wrong with it, but for what a setting's kind says already.
    pub fn problems(&self) -> Vec<String> {
        let steps = self.steps.iter().flat_map(|step| {
            step.idle()
                .into_iter()
                .map(|key| format!("step {:?}: {key:?} does not apply to this kind of step", step.id))
        });
        let mut problems = self.definition().problems();
        problems.extend(steps);
        problems.extend(crate::daemon::workflow::schema_problems(&self.inputs));
        if !self.on.is_empty() && problems.is_empty() {
            let missing = crate::daemon::workflow::inputs(&self.definition(), Map::new()).err().unwrap_or_default();
            problems.extend(
                missing.iter().map(|why| format!("a run started by `on` gets no inputs: {why}; add a default")),
            );
        }
        problems
    }
}

impl WorkflowStepSettings {
    fn plan(&self) -> workflow::StepPlan {
        let timeout_ms = self.timeout_mins.map(|timeout| timeout.milliseconds);
        let program = |command: &[String]| workflow::Program {
            command: command.to_vec(),
            timeout_ms: timeout_ms.unwrap_or(COMMAND_MS),
        };
        workflow::StepPlan {
            id: self.id.clone(),
            kind: match self.kind {
                WorkflowStepKind::Agent => workflow::StepKind::Agent(program(&self.command)),
                WorkflowStepKind::Approval => workflow::StepKind::Approval(workflow::Gate {
                    by: self.by.clone(),
                    need: self.need,
                    timeout_ms,
                    on_expiry: self.on_expiry,
                }),
                WorkflowStepKind::Wait => workflow::StepKind::Wait(workflow::SignalWait {
                    event: self.event.clone(),
                    correlation: self.correlation.clone(),
                    timeout_ms: timeout_ms.unwrap_or(EVENT_MS),
                }),
            },
            resumable: self.resumable,
            idempotent: self.idempotent,
            retry: workflow::RetryPolicy { times: self.retries, backoff_ms: self.backoff_secs.saturating_mul(1_000) },
            compensate: (!self.compensate.is_empty()).then(|| program(&self.compensate)),
        }
    }

    /// What is set that has no meaning for its kind.
    fn idle(&self) -> Vec<&'static str> {
        let kind = self.kind;
        let set = [
            ("command", WorkflowStepKind::Agent, !self.command.is_empty()),
            ("by", WorkflowStepKind::Approval, !self.by.is_empty()),
            ("event", WorkflowStepKind::Wait, !self.event.is_empty()),
            ("correlation", WorkflowStepKind::Wait, self.correlation.is_some()),
        ];
        set.into_iter().filter(|(_, own, is_set)| *is_set && *own != kind).map(|(key, ..)| key).collect()
    }
}

/// `[[schedules]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSettings {
    pub name: String,
    pub workflow: String,
    pub tenant: TenantId,
    cron: String,
    time_zone: String,
    pub missed: MissedSlotPolicy,
    #[serde(default)]
    pub inputs: Map<String, Value>,
    pub repo: Option<RepoId>,
}

impl ScheduleSettings {
    /// When its slots are.
    pub fn timetable(&self) -> Timetable {
        let checked = "it was checked when it was read";
        let pattern = timetable::pattern(&self.cron).expect(checked);
        Timetable::new(pattern, timetable::time_zone(&self.time_zone).expect(checked))
    }

    /// What is wrong with it, but for what a setting's kind says already.
    pub fn problems(&self, workflow: &workflow::Workflow) -> Vec<String> {
        let mut problems = Vec::new();
        if let Err(unfit) = schedules::key(&self.name, Timestamp::UNIX_EPOCH) {
            problems.push(unfit.to_string());
        }
        if let Some(repo) = self.repo.as_ref().filter(|repo| repo.tenant() != self.tenant) {
            problems.push(format!("the repository {repo} does not belong to its tenant {}", self.tenant));
        }
        if let Err(unfit) = crate::daemon::workflow::inputs(workflow, self.inputs.clone()) {
            let name = &workflow.name;
            problems.extend(unfit.iter().map(|why| format!("its inputs do not fit the workflow {name:?}: {why}")));
        }
        problems
    }
}

/// `[slack]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackSettings {
    pub signing_secret: Option<Secret>,
    pub response_url_prefix: String,
    /// Whoever knows it can post.
    pub notify_url: Option<Secret>,
    pub notify: Vec<String>,
}

/// `[[slack_channels]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackChannelSettings {
    pub tenant: TenantId,
    pub notify_url: Secret,
}

/// `[[slack_workspaces]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackWorkspaceSettings {
    pub team_id: String,
    pub tenant: TenantId,
    #[serde(default)]
    pub operators: Vec<String>,
}
