//! What is configured is what runs: each setting, by file and by environment, as far as the part that acts on it.

use std::fmt::Debug;
use std::time::Duration;

use jiff::SignedDuration;
use merge_train_core::repo;
use store::Owner;

use super::super::settings::{SECTIONS, SectionCount, section};
use super::*;
use crate::daemon::driver;
use crate::daemon::{driver_options, worktree_max_age};

/// A setting, a value that is not its default, and what then runs.
struct Row {
    section: &'static str,
    key: &'static str,
    value: &'static str,
    /// What the part that acts on it is given.
    runs: fn(&Config) -> String,
    expected: String,
}

fn row(
    section: &'static str,
    key: &'static str,
    value: &'static str,
    runs: fn(&Config) -> String,
    expected: impl Debug,
) -> Row {
    Row { section, key, value, runs, expected: format!("{expected:?}") }
}

fn options(config: &Config) -> driver::Options {
    driver_options(config, Owner("a test".to_owned()))
}

fn settings(config: &Config) -> repo::Settings {
    options(config).settings
}

fn show(value: impl Debug) -> String {
    format!("{value:?}")
}

/// Those that say how trains behave; what is in none of these lists has tests of its own where it acts.
fn behaviour() -> Vec<Row> {
    let secs = SignedDuration::from_secs;
    let hours = SignedDuration::from_hours;
    vec![
        row("behavior", "max_stack_size", "7", |config| show(settings(config).max_stack_size), 7),
        row("behavior", "resync_interval_mins", "0.1", |config| show(settings(config).resync_interval), secs(6)),
        row("behavior", "wait_timeout_mins", "1.5", |config| show(settings(config).wait_timeout), secs(90)),
        row("behavior", "idle_worker_mins", "0.5", |config| show(options(config).idle), Duration::from_secs(30)),
        row("behavior", "branch_protection_cache_ttl_mins", "2", |config| show(settings(config).policy_ttl), secs(120)),
        row("behavior", "auto_start", "true", |config| show(settings(config).auto_start), true),
        row("behavior", "delete_branches", "true", |config| show(settings(config).delete_branches), true),
        row("merge", "background", "true", |config| show(settings(config).merge_in_background), true),
        row("merge", "title", "{title}!", |config| show(config.merge.wording().title), Some("{title}!")),
        row("merge", "body", "by {author}", |config| show(config.merge.wording().body), Some("by {author}")),
        row("housekeeping", "pr_retention_days", "3", |config| show(settings(config).pr_retention), hours(72)),
        row("housekeeping", "max_prs_in_snapshot", "11", |config| show(settings(config).max_prs_in_snapshot), 11),
        row(
            "housekeeping",
            "worktree_max_age_hours",
            "2",
            |config| show(worktree_max_age(config)),
            Duration::from_secs(7200),
        ),
        row("housekeeping", "poll_interval_mins", "0.05", |config| show(settings(config).poll_interval), secs(3)),
        row("housekeeping", "dedupe_ttl_hours", "5", |config| show(settings(config).dedupe_ttl), hours(5)),
        row(
            "housekeeping",
            "staleness_threshold_mins",
            "30",
            |config| show(settings(config).staleness_threshold),
            secs(1800),
        ),
        row("housekeeping", "spool_grace_mins", "3", |config| show(options(config).retention.body_grace), secs(180)),
        row("housekeeping", "history_retention_days", "2", |config| show(options(config).retention.history), hours(48)),
        row("housekeeping", "compact_after_events", "99", |config| show(options(config).compact_after_events), 99),
        row("housekeeping", "compact_interval_mins", "4", |config| show(options(config).compact_interval), secs(240)),
    ]
}

/// Those that say how runs of workflows are looked after. `tests/it/serve/runs` has the rest of them run into their limits.
fn runs() -> Vec<Row> {
    vec![
        row("runs", "work_dir", "/runs", |config| show(&config.runs.work_dir), "/runs"),
        row("runs", "max_concurrent", "3", |config| show(config.runs.max_concurrent), 3),
        row("runs", "heartbeat_secs", "7", |config| show(options(config).runs.heartbeat), Duration::from_secs(7)),
        row(
            "runs",
            "orphaned_after_secs",
            "77",
            |config| show(options(config).runs.orphaned_after),
            Duration::from_secs(77),
        ),
        row("runs", "max_output_kb", "5", |config| show(config.runs.max_output_kb), 5),
        row("runs", "max_log_mb", "6", |config| show(config.runs.max_log_mb), 6),
        row("runs", "max_disk_mb", "8", |config| show(config.runs.max_disk_mb), 8),
        row(
            "runs",
            "retention_days",
            "3",
            |config| show(options(config).retention.runs),
            SignedDuration::from_hours(72),
        ),
    ]
}

/// Who it is, where things are, and who signs.
fn places() -> Vec<Row> {
    vec![
        row("git", "clone_base_dir", "/clones", |config| show(clones(config).base), "/clones"),
        row("git", "signing_key_id", "ABCD", |config| show(signing(config)), gpg("ABCD", None)),
        row("state", "state_dir", "/state", |config| show(state_dir(config)), "/state"),
        row("server", "bind_address", "127.0.0.1:9", |config| show(config.server.bind_address), LISTEN),
    ]
}

const LISTEN: std::net::SocketAddr = std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);

fn clones(config: &Config) -> git::repository::Settings {
    config.git.clones(Signing::Off)
}

fn signing(config: &Config) -> Signing {
    config.signing().unwrap_or(Signing::Off)
}

fn gpg(key: &str, home: Option<&str>) -> Signing {
    Signing::Gpg { key_id: key.to_owned(), home: home.map(Into::into) }
}

fn state_dir(config: &Config) -> std::path::PathBuf {
    config.state.state_dir.clone()
}

#[test]
fn every_setting_of_the_specification_changes_what_runs_by_file_and_by_environment() {
    for Row { section: name, key, value, runs, expected } in behaviour().into_iter().chain(runs()).chain(places()) {
        assert_ne!(runs(&accepted("")), expected, "{name}.{key} is tried with its default");
        let written =
            if value.contains(['/', ':', '{']) || key.ends_with("_id") { format!("{value:?}") } else { value.into() };
        let file = format!("[{name}]\n{key} = {written}");
        assert_eq!(runs(&accepted(&file)), expected, "{file}");
        let section = section(name).expect("there is such a section");
        for variable in section.env_names(section.setting(key).expect("there is such a setting")) {
            let config = parse("", &Environment::from([(variable.clone(), value)])).expect("it is right");
            assert_eq!(runs(&config), expected, "{variable}={value}");
        }
    }
}

#[test]
fn no_setting_of_how_trains_and_runs_behave_is_left_out() {
    let tried: Vec<Row> = behaviour().into_iter().chain(runs()).collect();
    let is_tried = |section: &str, key: &str| tried.iter().any(|row| row.section == section && row.key == key);
    for section in
        SECTIONS.iter().filter(|section| ["behavior", "housekeeping", "merge", "runs"].contains(&section.name))
    {
        assert!(section.rows == SectionCount::One);
        for setting in section.settings {
            assert!(is_tried(section.name, setting.key), "{}.{} is tried nowhere", section.name, setting.key);
        }
    }
}

#[test]
fn the_variables_that_the_specification_names_are_there() {
    let known: Vec<String> = SECTIONS
        .iter()
        .flat_map(|section| section.settings.iter().flat_map(|setting| section.env_names(setting)))
        .collect();
    for name in [
        "BRANCH_PROTECTION_CACHE_TTL_MINS",
        "DEDUPE_TTL_HOURS",
        "MAX_PRS_IN_SNAPSHOT",
        "MAX_STACK_SIZE",
        "POLL_INTERVAL_MINS",
        "PR_RETENTION_DAYS",
        "WORKTREE_MAX_AGE_HOURS",
    ] {
        let name = format!("MERGE_TRAIN_{name}");
        assert!(known.contains(&name), "{name} sets nothing");
    }
}

#[test]
fn the_app_is_the_one_that_is_configured() {
    let github = |text: &str, environment: &Environment| parse(text, environment).expect("it is right").github;
    let file = "[github]\napp_id = 5\ninstallation_id = 6\nprivate_key_path = '/key.pem'";
    let by_file = github(file, &Environment::default());
    let by_environment = github(
        "",
        &Environment::from([
            ("MERGE_TRAIN_GITHUB_APP_ID", "5"),
            ("MERGE_TRAIN_GITHUB_INSTALLATION_ID", "6"),
            ("MERGE_TRAIN_GITHUB_PRIVATE_KEY_PATH", "/key.pem"),
        ]),
    );
    for github in [by_file, by_environment] {
        assert_eq!((github.app_id, github.installation_id), (Some(5), Some(6)));
        assert_eq!(github.private_key_path.as_deref(), Some(Path::new("/key.pem")));
    }
}

#[test]
fn gnupg_looks_where_it_is_told_to() {
    let expected = gpg("ABCD", Some("/gnupg"));
    assert_eq!(signing(&accepted("[git]\nsigning_key_id = 'ABCD'\ngpg_home = '/gnupg'")), expected);
    let environment =
        Environment::from([("MERGE_TRAIN_GIT_SIGNING_KEY_ID", "ABCD"), ("MERGE_TRAIN_GIT_GPG_HOME", "/gnupg")]);
    assert_eq!(signing(&parse("", &environment).expect("it is right")), expected);
}
