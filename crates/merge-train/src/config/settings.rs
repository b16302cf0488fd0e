//! Every setting there is: the one list that the file, the environment, the defaults and the documentation go by.

use super::kind::{LARGEST, ValueKind};
use crate::daemon::notify::KINDS;

/// A table of the file.
pub struct Section {
    pub name: &'static str,
    pub doc: &'static str,
    pub rows: SectionCount,
    pub settings: &'static [Setting],
}

/// How often a section is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SectionCount {
    /// `[server]`
    One,
    /// `[[api_keys]]`
    Many,
}

/// One key of a section.
pub struct Setting {
    pub key: &'static str,
    pub kind: ValueKind,
    /// Written as it would be in the environment.
    pub default: Option<&'static str>,
    /// Another name for it in the environment, besides the general one.
    pub short_env: Option<&'static str>,
    pub requirement: SettingRequirement,
    pub owner: SettingOwner,
    pub new_file: NewFilePresence,
    pub doc: &'static str,
}

/// How it stands in a file that is written for somebody to begin with. Values are written as in TOML.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NewFilePresence {
    Absent,
    /// With this value, to be taken in.
    Offered(&'static str),
    /// With its default, to be taken in.
    OfferedByDefault,
    Set(&'static str),
}

/// Whether a row can do without.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SettingRequirement {
    Optional,
    /// In every row of a section that repeats.
    Required,
}

/// Who may set it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SettingOwner {
    Operator,
    /// A repository, too, for itself.
    Repository,
}

/// What every variable of the program's environment begins with.
pub const PREFIX: &str = "MERGE_TRAIN_";

impl Section {
    /// `[server]` or `[[api_keys]]`
    pub fn header(&self) -> String {
        match self.rows {
            SectionCount::One => format!("[{}]", self.name),
            SectionCount::Many => format!("[[{}]]", self.name),
        }
    }

    /// Whether its rows are parts of another section's rows.
    pub fn is_nested(&self) -> bool {
        self.name
            .rsplit_once('.')
            .and_then(|(outer, _)| section(outer))
            .is_some_and(|outer| outer.rows == SectionCount::Many)
    }

    pub fn setting(&self, key: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// The names by which the environment may set it, the one that wins first. A section that repeats has none: there
    /// would be no telling which row is meant.
    pub fn env_names(&self, setting: &Setting) -> Vec<String> {
        if self.rows == SectionCount::Many {
            return Vec::new();
        }
        let general = format!("{PREFIX}{}_{}", self.name.replace('.', "_"), setting.key).to_uppercase();
        std::iter::once(general).chain(setting.short_env.map(str::to_owned)).collect()
    }
}

impl Setting {
    const fn new(key: &'static str, kind: ValueKind, doc: &'static str) -> Self {
        Self {
            key,
            kind,
            default: None,
            short_env: None,
            requirement: SettingRequirement::Optional,
            owner: SettingOwner::Operator,
            new_file: NewFilePresence::Absent,
            doc,
        }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    const fn env(self, name: &'static str) -> Self {
        Self { short_env: Some(name), ..self }
    }

    const fn own(self) -> Self {
        Self { owner: SettingOwner::Repository, ..self }
    }

    const fn offered(self) -> Self {
        Self { new_file: NewFilePresence::OfferedByDefault, ..self }
    }

    const fn offered_as(self, value: &'static str) -> Self {
        Self { new_file: NewFilePresence::Offered(value), ..self }
    }

    const fn begun_with(self, value: &'static str) -> Self {
        Self { new_file: NewFilePresence::Set(value), ..self }
    }

    const fn required(self) -> Self {
        Self { requirement: SettingRequirement::Required, ..self }
    }
}

/// The section of that name.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

const fn whole(key: &'static str, min: u64, max: u64, doc: &'static str) -> Setting {
    Setting::new(key, ValueKind::Integer { min, max }, doc)
}

const fn minutes(key: &'static str, max: u64, doc: &'static str) -> Setting {
    Setting::new(key, ValueKind::Minutes { max }, doc)
}

const fn set(key: &'static str, kind: ValueKind, doc: &'static str) -> Setting {
    Setting::new(key, kind, doc)
}

const DAY_MINS: u64 = 24 * 60;
const WEEK_MINS: u64 = 7 * DAY_MINS;
const YEAR_HOURS: u64 = 365 * 24;
const TEN_YEARS_DAYS: u64 = 3650;
/// A pebibyte: more is a slip of the finger.
const MOST_MB: u64 = 1 << 30;

#[rustfmt::skip]
pub static SECTIONS: &[Section] = &[
    Section { name: "github", rows: SectionCount::One, doc: "Which GitHub to use, and the credentials: a GitHub App, or a personal token for a trial.", settings: &[
        set("api_url", ValueKind::HttpUrl, "The URL of the REST API. On GitHub Enterprise Server: `https://HOST/api/v3`; the other two URLs follow from it.").default("https://api.github.com").offered(),
        set("graphql_url", ValueKind::HttpUrl, "The URL of the GraphQL API.").default("https://api.github.com/graphql"),
        set("git_url", ValueKind::HttpUrl, "The URL prefix of repositories, for git.").default("https://github.com"),
        whole("app_id", 1, LARGEST, "The GitHub App's id.").offered_as("12345"),
        set("private_key_path", ValueKind::Path, "The GitHub App's private key, a PEM file.").offered_as("\"/etc/merge-train/github-app.pem\""),
        whole("installation_id", 1, LARGEST, "The only installation to serve. Unset: the installation is looked up for each repository."),
        set("token", ValueKind::Secret, "A personal access token, instead of an app."),
    ] },
    Section { name: "git", rows: SectionCount::One, doc: "The clones, and how commits in them are signed.", settings: &[
        set("clone_base_dir", ValueKind::Path, "The folder of the bare clones. Everything in it can be fetched again.").default("/var/lib/merge-train/repos").offered(),
        set("clone", ValueKind::Choice(&["partial", "full"]), "How much of a repository to clone. `partial`: all commits and file names; file contents are fetched when a merge needs them, if the server allows it. `full`: everything at once; larger, but merges need no network.").default("partial"),
        set("signing", ValueKind::Choice(&["gpg", "ssh", "off"]), "How commits are signed. Unset: `gpg` with a `signing_key_id`, `ssh` with an `ssh_key_path`. With neither key, `serve` does not start; `off` turns signing off.").begun_with("\"off\""),
        set("signing_key_id", ValueKind::Text, "The id of the GPG key to sign with."),
        set("gpg_home", ValueKind::Path, "The GnuPG home directory with that key."),
        set("ssh_key_path", ValueKind::Path, "The private SSH key to sign with, without a passphrase.").offered_as("\"/etc/merge-train/signing-key\""),
        set("user_name", ValueKind::Text, "The committer's name.").default("merge-train").offered(),
        set("user_email", ValueKind::Text, "The committer's email address.").default("merge-train@localhost").offered(),
    ] },
    Section { name: "state", rows: SectionCount::One, doc: "Where the daemon stores its state.", settings: &[
        set("state_dir", ValueKind::Path, "The directory of the embedded database. It must be on a persistent disk.").default("/var/lib/merge-train/state").env("MERGE_TRAIN_STATE_DIR").offered(),
        set("database_url", ValueKind::DatabaseUrl, "A PostgreSQL database, used instead of the embedded one.").env("MERGE_TRAIN_DATABASE_URL").offered_as("\"postgres://merge_train:${DATABASE_PASSWORD}@db.example.com/merge_train\""),
        whole("max_size_mb", 16, MOST_MB, "Stop accepting webhooks (503) when the embedded database is larger than this. Unset: no limit but the disk."),
        whole("commit_group", 1, 65_536, "The most writes per commit of the embedded database. 1 flushes the disk for each write, which is only useful for comparison.").default("512"),
    ] },
    Section { name: "server", rows: SectionCount::One, doc: "The HTTP server.", settings: &[
        set("bind_address", ValueKind::Address, "The address and port to listen on; port 0 means any free port.").default("0.0.0.0:8080").offered(),
        set("webhook_secret", ValueKind::Secrets, "The secret that GitHub signs webhooks with. With a list, each of them is valid, so that you can change the secret without losing a webhook.").offered_as("\"${WEBHOOK_SECRET}\""),
        set("public_url", ValueKind::HttpUrl, "The public URL of this server: links in comments begin with it.").offered_as("\"https://merge-train.example.com\""),
        set("anonymous", ValueKind::Choice(&["none", "viewer", "operator", "operator_and_fixers"]), "What visitors of the dashboard may do without signing in. `viewer`: see everything. `operator`: also start and stop trains, approve and so on; only if `bind_address` is local to this machine and no fixer is configured, because a fixer runs on this machine, too, and could approve its own pushes. `operator_and_fixers`: the same with fixers, where that does no harm, as in a demo.").default("none"),
        whole("max_body_mb", 1, 1024, "The largest request body. GitHub sends at most 25 MB.").default("25"),
        whole("body_budget_mb", 1, 65_536, "The most memory for all request bodies in flight; beyond it, callers get 503.").default("256"),
        whole("shutdown_deadline_secs", 1, 3600, "How long work in progress may continue after SIGTERM.").default("30"),
    ] },
    Section { name: "behavior", rows: SectionCount::One, doc: "How trains behave.", settings: &[
        whole("max_stack_size", 1, 200, "The most pull requests in one train.").default("50").env("MERGE_TRAIN_MAX_STACK_SIZE").own(),
        minutes("resync_interval_mins", WEEK_MINS, "How often to compare the pull requests of a repository with GitHub.").default("60").env("MERGE_TRAIN_RESYNC_INTERVAL_MINS"),
        minutes("wait_timeout_mins", DAY_MINS, "How long to wait for GitHub to show a change before asking for help.").default("5").env("MERGE_TRAIN_WAIT_TIMEOUT_MINS"),
        minutes("idle_worker_mins", WEEK_MINS, "How long without an event until a repository's worker stops. The next event, or the next comparison with GitHub, starts it again.").default("60"),
        minutes("branch_protection_cache_ttl_mins", DAY_MINS, "How long to cache branch protection and rulesets.").default("60").env("MERGE_TRAIN_BRANCH_PROTECTION_CACHE_TTL_MINS"),
        set("auto_start", ValueKind::Flag, "Start a train automatically once the root of a stack is approved and its checks have passed, as if its author had commented `@merge-train start`.").default("false").env("MERGE_TRAIN_AUTO_START").own().offered(),
        set("delete_branches", ValueKind::Flag, "Delete the branch of a landed pull request once nothing is based on it. Not needed if GitHub deletes branches automatically.").default("false").own().offered(),
    ] },
    Section { name: "merge", rows: SectionCount::One, doc: "How pull requests are squashed.", settings: &[
        set("title", ValueKind::Template, "The first line of the commit that lands. `{title}`, `{number}`, `{body}`, `{author}`, `{branch}`, `{commits}` (their first lines), `{co_authors}` (as `Co-authored-by` trailers) and `{reviewers}` (as `Reviewed-by` trailers) are placeholders; `{{` and `}}` are literal braces. Unset: GitHub's own.").own(),
        set("body", ValueKind::Template, "The rest of the commit message, with the same placeholders. A line whose placeholders are all empty is left out. Unset: GitHub's own.").own(),
        set("background", ValueKind::Flag, "Always use GitHub's background merge (`merge-async`), not only for pull requests in GitHub's own stacks, which need it.").default("false").own(),
    ] },
    Section { name: "housekeeping", rows: SectionCount::One, doc: "How long to keep data, and how often to poll.", settings: &[
        whole("pr_retention_days", 1, TEN_YEARS_DAYS, "How long to keep a merged or closed pull request that no train needs.").default("30").env("MERGE_TRAIN_PR_RETENTION_DAYS"),
        whole("max_prs_in_snapshot", 10, 1_000_000, "The most pull requests to keep per repository.").default("1000").env("MERGE_TRAIN_MAX_PRS_IN_SNAPSHOT"),
        whole("worktree_max_age_hours", 1, YEAR_HOURS, "Worktrees older than this are removed at start and every hour.").default("24").env("MERGE_TRAIN_WORKTREE_MAX_AGE_HOURS"),
        minutes("poll_interval_mins", DAY_MINS, "How often an active train polls GitHub.").default("10").env("MERGE_TRAIN_POLL_INTERVAL_MINS"),
        whole("dedupe_ttl_hours", 1, YEAR_HOURS, "How long to remember an event, so that it is not handled twice.").default("24").env("MERGE_TRAIN_DEDUPE_TTL_HOURS"),
        minutes("staleness_threshold_mins", WEEK_MINS, "Stored state older than this is compared with GitHub before it is used.").default("60").env("MERGE_TRAIN_STALENESS_THRESHOLD_MINS"),
        minutes("spool_grace_mins", WEEK_MINS, "How long to keep a handled webhook.").default("60"),
        whole("history_retention_days", 1, TEN_YEARS_DAYS, "How long to keep the events of a finished train. A run's events are kept as long as the run: `runs.retention_days`.").default("7"),
        whole("compact_after_events", 10, 1_000_000, "The number of events after which a repository's snapshot is renewed.").default("1000"),
        minutes("compact_interval_mins", WEEK_MINS, "How often to check whether snapshots need renewal.").default("60"),
    ] },
    Section { name: "log", rows: SectionCount::One, doc: "The log on standard error.", settings: &[
        set("format", ValueKind::Choice(&["auto", "json", "text"]), "`auto` is `text` on a terminal and `json` elsewhere.").default("auto"),
        set("filter", ValueKind::LogFilter, "What is logged: a level, or `target=level` separated by commas.").default("info").env("RUST_LOG"),
    ] },
    Section { name: "api_keys", rows: SectionCount::Many, doc: "Who may use the API.", settings: &[
        set("name", ValueKind::Text, "The key's name in logs; must be unique.").required().offered_as("\"me\""),
        set("tenant", ValueKind::Tenants, "The owner whose repositories it may access, or `*` for all.").required().offered_as("\"*\""),
        set("role", ValueKind::Choice(&["viewer", "operator", "admin"]), "What it may do: read; also act; `admin` adds nothing yet.").required().offered_as("\"admin\""),
        set("sha256", ValueKind::Sha256, "The SHA-256 of the key, in hexadecimal: `printf %s \"$KEY\" | sha256sum`.").required().offered_as("\"0000000000000000000000000000000000000000000000000000000000000000\""),
    ] },
    Section { name: "ratchet", rows: SectionCount::One, doc: "The ratchet, which keeps pull requests green.", settings: &[
        set("enabled", ValueKind::Flag, "Whether the ratchet is on for pull requests without a setting of their own.").default("false").own().offered(),
        whole("heartbeat_secs", 1, 3600, "How often to check the pull requests under ratchet, fifty per request. Webhooks report most changes sooner.").default("60"),
        whole("max_attempts", 1, 100, "How many attempts in a row, timeouts included, before the ratchet asks for a person.").default("3").own(),
        whole("daily_budget", 1, 100_000, "The most fixers per repository in 24 hours.").default("50").own(),
        minutes("stale_ci_timeout_mins", DAY_MINS, "How long CI may take to restart after a fixer's push before the ratchet asks for a person.").default("5").own(),
        minutes("grace_mins", DAY_MINS, "How long to wait for late review comments after everything is green.").default("1").own(),
        whole("session_timeout_secs", 5, 86_400, "After this long without a heartbeat, a person's session no longer holds back the ratchet.").default("90"),
        set("approve_pushes", ValueKind::Texts, "Which fixer pushes need approval: `\"always\"`, or path patterns such as `[\".github/**\"]`. Unset: none.").own(),
    ] },
    Section { name: "ratchet.fixer", rows: SectionCount::One, doc: "The program that fixes pull requests.", settings: &[
        set("command", ValueKind::Texts, "The program and its arguments, run without a shell. The task comes on standard input, and in the file that `{prompt}` stands for."),
        set("agent", ValueKind::Choice(&["claude", "codex", "gemini", "opencode", "aider"]), "A known coding agent, instead of `command`: merge-train knows how to start it and which variables hold its API key. It must be installed.").offered_as("\"claude\""),
        set("environment", ValueKind::Texts, "The names of environment variables to pass on, besides PATH and LANG: `[\"ANTHROPIC_API_KEY\"]`. Not allowed: GitHub credentials, the daemon's own (`MERGE_TRAIN_…`), and variables that hold a secret of this configuration. Their values are masked in its log."),
        set("unix_sockets", ValueKind::Flag, "Allow UNIX sockets, which some test suites need. The fixer can then reach anything of the daemon's user that listens on one: an agent with keys, a container runtime, a service manager.").default("false"),
        minutes("timeout_mins", DAY_MINS, "The most time it may take.").default("30"),
        whole("max_concurrent", 1, 256, "How many may run at the same time.").default("2"),
        whole("max_memory_mb", 64, MOST_MB, "The most memory of one fixer and its child processes, including swap. Unset: half of the memory of the daemon's machine or container."),
        whole("max_processes", 1, 1 << 20, "The most processes of one fixer at the same time.").default("512"),
        whole("max_disk_mb", 1, MOST_MB, "The most disk space of one fixer, including its checkout.").default("10240"),
        whole("max_log_mb", 1, 1 << 20, "How much of its output to keep.").default("50"),
    ] },
    Section { name: "runs", rows: SectionCount::One, doc: "How to execute runs of workflows.", settings: &[
        set("work_dir", ValueKind::Path, "The folder for the commands of steps and their logs; each run gets its own subfolder.").default("/var/lib/merge-train/runs").offered(),
        whole("max_concurrent", 1, 1024, "The most commands at the same time; others queue.").default("8"),
        whole("heartbeat_secs", 1, 3600, "How often an active run records a heartbeat.").default("30"),
        whole("orphaned_after_secs", 2, 86_400, "After this long without a heartbeat, another instance takes over the run. At least twice `heartbeat_secs`.").default("300"),
        whole("max_output_kb", 1, 1 << 20, "The largest output of a command.").default("1024"),
        whole("max_log_mb", 1, 1 << 20, "How much of a command's standard error to keep.").default("10"),
        whole("max_disk_mb", 1, MOST_MB, "The most disk space of a command's folder.").default("1024"),
        whole("retention_days", 1, 3650, "How long to keep a run that has ended, with its logs.").default("30"),
    ] },
    Section { name: "workflows", rows: SectionCount::Many, doc: "Your own workflows, as durable as a train: steps that run one after the other.", settings: &[
        set("name", ValueKind::Text, "Its name; must be unique.").required(),
        set("description", ValueKind::Text, "A description."),
        set("inputs", ValueKind::Table, "The inputs of a run: a JSON Schema for each, by name, with `required = true` for mandatory ones, and `default`. Other inputs are refused."),
        set("on", ValueKind::Texts, "The GitHub events that start it, such as `pull_request.opened`, or `push` for events without an action. The run is for the event's repository and pull request. Make sure that a workflow does not cause the event that starts it. Unset: none."),
    ] },
    Section { name: "workflows.steps", rows: SectionCount::Many, doc: "A step of the preceding workflow.", settings: &[
        set("id", ValueKind::Text, "Its id; must be unique within the workflow.").required(),
        set("kind", ValueKind::Choice(&["agent", "approval", "wait"]), "`agent`: a command that reads and writes JSON. `approval`: people have to approve. `wait`: an external event has to arrive.").default("agent"),
        minutes("timeout_mins", WEEK_MINS, "The timeout. Unset: an hour for a command, a day for an event, none for an approval."),
        set("resumable", ValueKind::Flag, "Whether a resumed run may use its stored output instead of running it again.").default("true"),
        set("idempotent", ValueKind::Flag, "Whether it can safely run again. A run that was interrupted in a step that cannot fails.").default("false"),
        set("command", ValueKind::Texts, "For `agent`: the program (a full path, or found in `PATH`) and its arguments, run without a shell."),
        whole("retries", 0, 100, "For `agent`: how often to retry it when it fails.").default("0"),
        whole("backoff_secs", 0, 3600, "For `agent`: how long to wait before a retry; doubles each time.").default("10"),
        set("compensate", ValueKind::Texts, "For `agent`: the command that undoes it when the run is cancelled. It may run again if it was interrupted."),
        set("by", ValueKind::Texts, "For `approval`: who may decide, as `github:LOGIN`, `slack:USER`, `api:KEY`, or a name that matches any of them. Unset: anyone who may operate runs."),
        set("need", ValueKind::Choice(&["any", "all"]), "For `approval`: whether one approval is enough.").default("any"),
        set("on_expiry", ValueKind::Choice(&["fail", "cancel", "approve"]), "For `approval`: what happens if nobody decides in time.").default("fail"),
        set("event", ValueKind::Text, "For `wait`: the type of the event, such as `pull_request.closed`."),
        set("correlation", ValueKind::Text, "For `wait`: which event of this type. `{inputs.NAME}` and `{steps.ID.FIELD}` insert values of the run. Unset: any."),
    ] },
    Section { name: "schedules", rows: SectionCount::Many, doc: "Workflows that start on a schedule.", settings: &[
        set("name", ValueKind::Text, "Its name; must be unique.").required(),
        set("workflow", ValueKind::Text, "The name of the workflow to start.").required(),
        set("tenant", ValueKind::Tenant, "The tenant of the run: an owner of repositories.").required(),
        set("cron", ValueKind::Cron, "When: minute, hour, day of the month, month and day of the week, as in a crontab; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. When clocks change, a schedule with fixed hours (`30 2 * * *`) runs once per day: in the first of two equal hours, or right after a skipped hour. A schedule for every hour (`*/10 * * * *`) follows elapsed time.").required(),
        set("time_zone", ValueKind::TimeZone, "The time zone of the schedule.").default("UTC"),
        set("missed", ValueKind::Choice(&["skip", "latest", "all"]), "What to do about runs that were due while no daemon ran. `skip`: nothing. `latest`: start the last one. `all`: start each, oldest first, but at most 100 and none older than 7 days. Times before the schedule was first seen do not count as missed.").default("latest"),
        set("inputs", ValueKind::Table, "The inputs of the run; they must fit the workflow's `inputs`."),
        set("repo", ValueKind::Repo, "The repository that the run is for, one of the tenant's. Unset: none."),
    ] },
    Section { name: "slack", rows: SectionCount::One, doc: "Commands and buttons in Slack.", settings: &[
        set("signing_secret", ValueKind::Secret, "The secret that Slack signs requests with. Without it, merge-train accepts nothing from Slack."),
        set("response_url_prefix", ValueKind::HttpUrl, "The prefix of the URLs for replies to Slack; replies go nowhere else. `http://` only on this machine, for a trial.").default("https://hooks.slack.com"),
        set("notify_url", ValueKind::SecretUrl, "The URL of a Slack incoming webhook for notifications about all repositories, except those whose owner has its own `[[slack_channels]]`. Unset: no other notifications."),
        set("notify", ValueKind::Choices(KINDS), "Which notifications to send: `blocked` when a train waits for a person, is aborted or frozen; `needs_approval` when a fixer's push or a run waits for approval; `landed` when a train has landed.").default("[\"blocked\", \"needs_approval\", \"landed\"]"),
    ] },
    Section { name: "slack_channels", rows: SectionCount::Many, doc: "Owners of repositories whose notifications go to their own channel only.", settings: &[
        set("tenant", ValueKind::Tenant, "The owner of the repositories; must be unique.").required(),
        set("notify_url", ValueKind::SecretUrl, "The URL of a Slack incoming webhook.").required(),
    ] },
    Section { name: "slack_workspaces", rows: SectionCount::Many, doc: "Which tenant a Slack workspace is for, and who may do what there.", settings: &[
        set("team_id", ValueKind::Text, "The id of the workspace, such as `T0123ABCD`; must be unique.").required(),
        set("tenant", ValueKind::Tenant, "The tenant: the owner of the repositories.").required(),
        set("operators", ValueKind::Texts, "The ids of the people who may start and cancel runs and decide where no approvers are named, such as `[\"U0123ABCD\"]`. Everybody else may view, and may decide where a step names them. Unset: nobody."),
    ] },
];
