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
    Section { name: "github", rows: SectionCount::One, doc: "Which GitHub, and as whom: a GitHub App, or a personal token for trying out.", settings: &[
        set("api_url", ValueKind::HttpUrl, "Where the REST API is. On GitHub Enterprise Server: `https://HOST/api/v3`; the other two addresses follow from it.").default("https://api.github.com").offered(),
        set("graphql_url", ValueKind::HttpUrl, "Where the GraphQL API is.").default("https://api.github.com/graphql"),
        set("git_url", ValueKind::HttpUrl, "What the addresses of repositories begin with, for git.").default("https://github.com"),
        whole("app_id", 1, LARGEST, "The GitHub App's id.").offered_as("12345"),
        set("private_key_path", ValueKind::Path, "The GitHub App's private key, a PEM file.").offered_as("\"/etc/merge-train/github-app.pem\""),
        whole("installation_id", 1, LARGEST, "The one installation to serve. Without it, the installation is looked up for each repository."),
        set("token", ValueKind::Secret, "A personal access token, instead of an app."),
    ] },
    Section { name: "git", rows: SectionCount::One, doc: "The clones, and who signs the commits made in them.", settings: &[
        set("clone_base_dir", ValueKind::Path, "Where the bare clones live. Everything in it can be fetched again.").default("/var/lib/merge-train/repos").offered(),
        set("clone", ValueKind::Choice(&["partial", "full"]), "How much of a repository is cloned. `partial`: all commits and the names of all files; what is in a file is fetched when a merge needs it, where the server allows that. `full`: everything at once; larger, and merges need no network.").default("partial"),
        set("signing", ValueKind::Choice(&["gpg", "ssh", "off"]), "How commits are signed. Unset: `gpg` with a `signing_key_id`, `ssh` with an `ssh_key_path`. With neither key `serve` does not start: commits are unsigned only where `off` says so.").begun_with("\"off\""),
        set("signing_key_id", ValueKind::Text, "The id of the GPG key that signs."),
        set("gpg_home", ValueKind::Path, "GnuPG's home directory, which holds that key."),
        set("ssh_key_path", ValueKind::Path, "The SSH key that signs: its private half, without a passphrase.").offered_as("\"/etc/merge-train/signing-key\""),
        set("user_name", ValueKind::Text, "The committer's name.").default("merge-train").offered(),
        set("user_email", ValueKind::Text, "The committer's address.").default("merge-train@localhost").offered(),
    ] },
    Section { name: "state", rows: SectionCount::One, doc: "Where everything the daemon knows is kept.", settings: &[
        set("state_dir", ValueKind::Path, "The directory of the embedded database. It must be on a disk that lasts.").default("/var/lib/merge-train/state").env("MERGE_TRAIN_STATE_DIR").offered(),
        set("database_url", ValueKind::DatabaseUrl, "A PostgreSQL database, used instead of the embedded one.").env("MERGE_TRAIN_DATABASE_URL").offered_as("\"postgres://merge_train:${DATABASE_PASSWORD}@db.example.com/merge_train\""),
        whole("max_size_mb", 16, MOST_MB, "Stop taking webhooks (503) when the embedded database is larger than this. Unset: as large as the disk."),
        whole("commit_group", 1, 65_536, "The most writes that one commit of the embedded database makes durable. 1 flushes the disk for each, which is only good for comparing.").default("512"),
    ] },
    Section { name: "server", rows: SectionCount::One, doc: "The HTTP server.", settings: &[
        set("bind_address", ValueKind::Address, "The address and port to listen on; port 0 takes a free one.").default("0.0.0.0:8080").offered(),
        set("webhook_secret", ValueKind::Secrets, "The secret that GitHub signs webhooks with. A list accepts each of them, so that it can be changed without losing a webhook.").offered_as("\"${WEBHOOK_SECRET}\""),
        set("public_url", ValueKind::HttpUrl, "How the world reaches this server: links in comments begin with it.").offered_as("\"https://merge-train.example.com\""),
        set("anonymous", ValueKind::Choice(&["none", "viewer", "operator", "operator_and_fixers"]), "What visitors of the dashboard may do who have not signed in with an API key. `viewer`: see everything. `operator`: start and stop trains, approve and so on; only where `bind_address` is of this machine alone, and without a fixer: a fixer runs on this machine, too, and could approve its own pushes. `operator_and_fixers`: the same where that does no harm, as in a demonstration.").default("none"),
        whole("max_body_mb", 1, 1024, "The largest request body. GitHub sends at most 25 MB.").default("25"),
        whole("body_budget_mb", 1, 65_536, "How much memory all bodies in flight may take together; beyond it callers get 503.").default("256"),
        whole("shutdown_deadline_secs", 1, 3600, "How long work under way may take to end after SIGTERM.").default("30"),
    ] },
    Section { name: "behavior", rows: SectionCount::One, doc: "How trains behave.", settings: &[
        whole("max_stack_size", 1, 200, "The most pull requests in one train.").default("50").env("MERGE_TRAIN_MAX_STACK_SIZE").own(),
        minutes("resync_interval_mins", WEEK_MINS, "How often the pull requests of a repository are compared with GitHub.").default("60").env("MERGE_TRAIN_RESYNC_INTERVAL_MINS"),
        minutes("wait_timeout_mins", DAY_MINS, "How long to wait for GitHub to show what was done there before asking for help.").default("5").env("MERGE_TRAIN_WAIT_TIMEOUT_MINS"),
        minutes("idle_worker_mins", WEEK_MINS, "After how long without an event a repository's worker ends. The next event, or the next comparison with GitHub, starts it again.").default("60"),
        minutes("branch_protection_cache_ttl_mins", DAY_MINS, "How long what is known of branch protection and rulesets is believed.").default("60").env("MERGE_TRAIN_BRANCH_PROTECTION_CACHE_TTL_MINS"),
        set("auto_start", ValueKind::Flag, "Whether a train starts by itself once the root of a stack is approved and its checks have passed, as if its author had said `@merge-train start`.").default("false").env("MERGE_TRAIN_AUTO_START").own().offered(),
        set("delete_branches", ValueKind::Flag, "Whether the branch of a pull request is deleted once it has landed and nothing is based on it any more. Where GitHub does that by itself, it need not be set.").default("false").own().offered(),
    ] },
    Section { name: "merge", rows: SectionCount::One, doc: "How pull requests are squashed.", settings: &[
        set("title", ValueKind::Template, "The first line of the commit that lands. `{title}`, `{number}`, `{body}`, `{author}`, `{branch}`, `{commits}` (their first lines), `{co_authors}` (as `Co-authored-by` trailers) and `{reviewers}` (as `Reviewed-by` trailers) stand for what is known of the pull request; `{{` and `}}` for braces. Unset: GitHub's own.").own(),
        set("body", ValueKind::Template, "The rest of that commit's message, written in the same way. A line whose places have nothing to say is left out. Unset: GitHub's own.").own(),
        set("background", ValueKind::Flag, "Whether GitHub is asked to merge in the background (`merge-async`) always, and not only for pull requests in one of its own stacks, which it merges in no other way.").default("false").own(),
    ] },
    Section { name: "housekeeping", rows: SectionCount::One, doc: "What is kept how long, and looked at how often.", settings: &[
        whole("pr_retention_days", 1, TEN_YEARS_DAYS, "How long a merged or closed pull request that no train needs is remembered.").default("30").env("MERGE_TRAIN_PR_RETENTION_DAYS"),
        whole("max_prs_in_snapshot", 10, 1_000_000, "The most pull requests remembered of a repository.").default("1000").env("MERGE_TRAIN_MAX_PRS_IN_SNAPSHOT"),
        whole("worktree_max_age_hours", 1, YEAR_HOURS, "Worktrees older than this are removed at start.").default("24").env("MERGE_TRAIN_WORKTREE_MAX_AGE_HOURS"),
        minutes("poll_interval_mins", DAY_MINS, "How often an active train looks at GitHub without having been told to.").default("10").env("MERGE_TRAIN_POLL_INTERVAL_MINS"),
        whole("dedupe_ttl_hours", 1, YEAR_HOURS, "How long an event is remembered so that it is not handled twice.").default("24").env("MERGE_TRAIN_DEDUPE_TTL_HOURS"),
        minutes("staleness_threshold_mins", WEEK_MINS, "Stored state older than this is compared with GitHub before it is trusted.").default("60").env("MERGE_TRAIN_STALENESS_THRESHOLD_MINS"),
        minutes("spool_grace_mins", WEEK_MINS, "How long a handled webhook is kept.").default("60"),
        whole("history_retention_days", 1, TEN_YEARS_DAYS, "How long the events of a finished train are kept. Those of a run are kept as long as the run: `runs.retention_days`.").default("7"),
        whole("compact_after_events", 10, 1_000_000, "After how many events a repository's snapshot is renewed.").default("1000"),
        minutes("compact_interval_mins", WEEK_MINS, "How often snapshots are considered for renewal.").default("60"),
    ] },
    Section { name: "log", rows: SectionCount::One, doc: "What is written to standard error.", settings: &[
        set("format", ValueKind::Choice(&["auto", "json", "text"]), "`auto` is `text` on a terminal and `json` elsewhere.").default("auto"),
        set("filter", ValueKind::LogFilter, "What is logged: a level, or `target=level` separated by commas.").default("info").env("RUST_LOG"),
    ] },
    Section { name: "api_keys", rows: SectionCount::Many, doc: "Who may use the API.", settings: &[
        set("name", ValueKind::Text, "What the key is called in logs; each name once.").required().offered_as("\"me\""),
        set("tenant", ValueKind::Tenants, "The owner of the repositories it is for, or `*` for all.").required().offered_as("\"*\""),
        set("role", ValueKind::Choice(&["viewer", "operator", "admin"]), "What it may do: look, also act, also configure.").required().offered_as("\"admin\""),
        set("sha256", ValueKind::Sha256, "The SHA-256 of the key, in hexadecimal: `printf %s \"$KEY\" | sha256sum`.").required().offered_as("\"0000000000000000000000000000000000000000000000000000000000000000\""),
    ] },
    Section { name: "ratchet", rows: SectionCount::One, doc: "Keeping pull requests moving.", settings: &[
        set("enabled", ValueKind::Flag, "Whether a pull request is looked after unless it says otherwise.").default("false").own().offered(),
        whole("heartbeat_secs", 1, 3600, "How often the pull requests under ratchet are looked at, fifty in one request. Webhooks tell of most things sooner.").default("60"),
        whole("max_attempts", 1, 100, "How many pushes of fixers in a row a pull request gets before a person is asked.").default("3").own(),
        whole("daily_budget", 1, 100_000, "How many fixers a repository gets in 24 hours.").default("50").own(),
        minutes("stale_ci_timeout_mins", DAY_MINS, "How long CI may take to start again after a fixer's push before a person is asked.").default("5").own(),
        minutes("grace_mins", DAY_MINS, "How long late review comments are waited for after everything is green.").default("1").own(),
        whole("session_timeout_secs", 5, 86_400, "A person's session that gave no sign of life for so long does not keep the ratchet away any more.").default("90"),
        set("approve_pushes", ValueKind::Texts, "Which pushes of a fixer wait for approval: `\"always\"`, or path patterns such as `[\".github/**\"]`. Unset: none.").own(),
    ] },
    Section { name: "ratchet.fixer", rows: SectionCount::One, doc: "The program that mends what broke.", settings: &[
        set("command", ValueKind::Texts, "The program and its arguments. No shell is involved. What is to be mended comes on standard input, and in the file that `{prompt}` stands for."),
        set("agent", ValueKind::Choice(&["claude", "codex", "gemini", "opencode", "aider"]), "A coding agent that need not be spelled out in `command`: how it is started, and which variables it is paid with, is known. It has to be installed.").offered_as("\"claude\""),
        set("environment", ValueKind::Texts, "The names of the variables of the daemon's environment that it gets, besides PATH and LANG: `[\"ANTHROPIC_API_KEY\"]`. None that opens GitHub, that is the daemon's own (`MERGE_TRAIN_…`) or that a secret of this configuration is taken from is accepted. What they hold is masked in its log."),
        set("unix_sockets", ValueKind::Flag, "Whether it may make UNIX sockets, which some test suites need. It then reaches whatever of the daemon's user listens on one: an agent with keys, a container runtime, a service manager.").default("false"),
        minutes("timeout_mins", DAY_MINS, "How long it may take.").default("30"),
        whole("max_concurrent", 1, 256, "How many may run at once.").default("2"),
        whole("max_memory_mb", 64, MOST_MB, "How much memory one may take, with all that it starts, what is swapped out included. Unset: half of what the daemon's machine or container has."),
        whole("max_processes", 1, 1 << 20, "How many processes one may have at once.").default("512"),
        whole("max_disk_mb", 1, MOST_MB, "How much one may keep on the disk, its checkout included.").default("10240"),
        whole("max_log_mb", 1, 1 << 20, "How much is kept of what one prints.").default("50"),
    ] },
    Section { name: "runs", rows: SectionCount::One, doc: "How runs of workflows are looked after.", settings: &[
        set("work_dir", ValueKind::Path, "Where the commands of steps run, each run in a folder of its own, and where their logs are kept.").default("/var/lib/merge-train/runs").offered(),
        whole("max_concurrent", 1, 1024, "How many commands run at once; others wait for their turn.").default("8"),
        whole("heartbeat_secs", 1, 3600, "How often a run that is worked on gives a sign of life.").default("30"),
        whole("orphaned_after_secs", 2, 86_400, "A run that has given no sign of life for so long is taken up by whoever finds it. More than twice `heartbeat_secs`.").default("300"),
        whole("max_output_kb", 1, 1 << 20, "The most that a command may print as its output.").default("1024"),
        whole("max_log_mb", 1, 1 << 20, "How much is kept of what a command writes to standard error.").default("10"),
        whole("max_disk_mb", 1, MOST_MB, "How much a command may leave in its folder.").default("1024"),
        whole("retention_days", 1, 3650, "How long a run that has ended is remembered, with its logs.").default("30"),
    ] },
    Section { name: "workflows", rows: SectionCount::Many, doc: "Work of your own that runs as durably as a train: steps, one after the other.", settings: &[
        set("name", ValueKind::Text, "What it is called; each name once.").required(),
        set("description", ValueKind::Text, "What it is for."),
        set("inputs", ValueKind::Table, "What a run is given: a JSON Schema for each input, by name, with `required = true` where a run cannot do without, and `default`. What is not listed is refused."),
        set("on", ValueKind::Texts, "The events at GitHub that start it, such as `pull_request.opened`, or `push` where there is no action; the run is about the repository and the pull request that the event is about. Take care that a workflow does not cause the event that starts it. Unset: none."),
    ] },
    Section { name: "workflows.steps", rows: SectionCount::Many, doc: "A step of the workflow above it.", settings: &[
        set("id", ValueKind::Text, "What it is called; each id once in a workflow.").required(),
        set("kind", ValueKind::Choice(&["agent", "approval", "wait"]), "`agent`: a command that reads JSON and writes JSON. `approval`: people have to say yes. `wait`: something has to happen outside.").default("agent"),
        minutes("timeout_mins", WEEK_MINS, "How long it may take. Unset: an hour for a command, a day for an event, and as long as it takes for people."),
        set("resumable", ValueKind::Flag, "Whether its output stands for it when the run is taken up again after it was done.").default("true"),
        set("idempotent", ValueKind::Flag, "Whether it can be done again without harm. A run that was cut off in a step that cannot fails.").default("false"),
        set("command", ValueKind::Texts, "For `agent`: the program, in full or as it is found in `PATH`, and its arguments. No shell is involved."),
        whole("retries", 0, 100, "For `agent`: how often it is tried again when it fails.").default("0"),
        whole("backoff_secs", 0, 3600, "For `agent`: how long to wait before it is tried again; it doubles with each time.").default("10"),
        set("compensate", ValueKind::Texts, "For `agent`: the command that undoes it when the run is cancelled. It may be run again if it is cut off."),
        set("by", ValueKind::Texts, "For `approval`: who may decide, as `github:LOGIN`, `slack:USER`, `api:KEY`, or a name that may be any of them. Unset: whoever may operate runs."),
        set("need", ValueKind::Choice(&["any", "all"]), "For `approval`: whether one of them is enough.").default("any"),
        set("on_expiry", ValueKind::Choice(&["fail", "cancel", "approve"]), "For `approval`: what becomes of the run when nobody decides in time.").default("fail"),
        set("event", ValueKind::Text, "For `wait`: the type of the event, such as `pull_request.closed`."),
        set("correlation", ValueKind::Text, "For `wait`: which of them. `{inputs.NAME}` and `{steps.ID.FIELD}` stand for what the run knows. Unset: any."),
    ] },
    Section { name: "schedules", rows: SectionCount::Many, doc: "When workflows start by themselves.", settings: &[
        set("name", ValueKind::Text, "What it is called; each name once.").required(),
        set("workflow", ValueKind::Text, "The name of the workflow to start.").required(),
        set("tenant", ValueKind::Tenant, "Whose run it is: the owner of the repositories.").required(),
        set("cron", ValueKind::Cron, "When: minute, hour, day of the month, month and day of the week, as in a crontab; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. Where the clocks are changed, a schedule that names its hours (`30 2 * * *`) runs once for each: the first of two equal hours counts, and what falls into an hour that is left out comes right after it. One that goes by every hour (`*/10 * * * *`) goes by the hours that really pass.").required(),
        set("time_zone", ValueKind::TimeZone, "Whose clocks it goes by.").default("UTC"),
        set("missed", ValueKind::Choice(&["skip", "latest", "all"]), "What is done about runs that were due while no daemon ran. `skip`: nothing. `latest`: the last of them, once. `all`: each, oldest first, but at most 100, and none that is more than 7 days old. What was due before a schedule was first seen counts as not missed.").default("latest"),
        set("inputs", ValueKind::Table, "What the run is given; it must fit the workflow's `inputs`."),
        set("repo", ValueKind::Repo, "The repository that the run is about, one of the tenant's. Unset: none."),
    ] },
    Section { name: "slack", rows: SectionCount::One, doc: "Commands and buttons in Slack.", settings: &[
        set("signing_secret", ValueKind::Secret, "The secret that Slack signs requests with. Without it nothing is taken from Slack."),
        set("response_url_prefix", ValueKind::HttpUrl, "What the addresses begin with that Slack wants its replies at; nothing is sent anywhere else. `http://` only on this machine, for trying out.").default("https://hooks.slack.com"),
        set("notify_url", ValueKind::SecretUrl, "The address of an incoming webhook of Slack's: what is told of all repositories goes there, but of those whose owner has a `[[slack_channels]]` of its own. Unset: nobody else is told anything."),
        set("notify", ValueKind::Choices(KINDS), "What is told there: `blocked` when a train waits for a person, is aborted or frozen; `needs_approval` when a fixer's push or a run waits for approval; `landed` when a train has landed.").default("[\"blocked\", \"needs_approval\", \"landed\"]"),
    ] },
    Section { name: "slack_channels", rows: SectionCount::Many, doc: "Owners of repositories whose news goes to a channel of their own, and to no other.", settings: &[
        set("tenant", ValueKind::Tenant, "The owner of the repositories; each once.").required(),
        set("notify_url", ValueKind::SecretUrl, "The address of an incoming webhook of Slack's.").required(),
    ] },
    Section { name: "slack_workspaces", rows: SectionCount::Many, doc: "Whose runs a Slack workspace is about, and who may do what there.", settings: &[
        set("team_id", ValueKind::Text, "The id of the workspace, such as `T0123ABCD`; each once.").required(),
        set("tenant", ValueKind::Tenant, "Whose runs they are: the owner of the repositories.").required(),
        set("operators", ValueKind::Texts, "The ids of the people who may start and cancel runs and decide where nobody is named, such as `[\"U0123ABCD\"]`. Everybody else may look, and decide where a step names them. Unset: nobody."),
    ] },
];
