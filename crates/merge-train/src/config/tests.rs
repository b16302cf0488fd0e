//! The configuration as an operator meets it.

mod deployment;
mod documentation;
mod mistakes;
mod needs;
mod new_file;
mod overrides;
mod running;

use merge_train_core::workflow;
use std::path::Path;

use git::Signing;
use git::repository::Extent;

use super::*;
use crate::daemon::schedules::MissedSlotPolicy;

/// The configuration of a file with this text, or the problems it is refused for, a line each.
fn parse(text: &str, environment: &Environment) -> Result<Config, String> {
    Config::parse(Path::new("merge-train.toml"), text, environment).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    parse(text, &Environment::default()).expect_err("it has mistakes")
}

fn accepted(text: &str) -> Config {
    parse(text, &Environment::default()).expect("it has no mistakes")
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = accepted("");
    assert_eq!(config.server.bind_address.to_string(), "0.0.0.0:8080");
    assert_eq!(config.github.api_url, "https://api.github.com");
    assert_eq!(config.state.state_dir, Path::new("/var/lib/merge-train/state"));
    assert_eq!(config.behavior.max_stack_size, 50);
    assert_eq!(config.housekeeping.max_prs_in_snapshot, 1000);
    assert_eq!(config.log.format, LogFormat::Auto);
    assert_eq!(config.git.signing(), None);
    assert_eq!(config.git.clones(Signing::Off).extent, Extent::Partial);
    assert!(config.server.webhook_secret.is_empty() && config.api_keys.is_empty() && config.warnings.is_empty());
}

#[test]
fn the_file_of_the_specification_is_accepted() {
    let text = r#"
        [github]
        app_id = 12345
        installation_id = 67890
        private_key_path = "/etc/merge-train/github-app.pem"
        [git]
        signing_key_id = "ABCD1234"
        gpg_home = "/etc/merge-train/gnupg"
        clone_base_dir = "/var/lib/merge-train/repos"
        [state]
        state_dir = "/var/lib/merge-train/state"
        [server]
        bind_address = "0.0.0.0:8080"
        webhook_secret = "${WEBHOOK_SECRET}"  # env var substitution
        [behavior]
        [housekeeping]
        pr_retention_days = 30
        max_prs_in_snapshot = 1000
        worktree_max_age_hours = 24
        poll_interval_mins = 10
    "#;
    let config = parse(text, &Environment::from([("WEBHOOK_SECRET", "s3cret")])).expect("it is the specification's");
    assert_eq!(config.server.webhook_secret, [Secret::new("s3cret")]);
    let home = Some("/etc/merge-train/gnupg".into());
    assert_eq!(config.git.signing(), Some(Signing::Gpg { key_id: "ABCD1234".into(), home }));
}

#[test]
fn a_webhook_secret_may_be_a_list_for_rotation() {
    let config = accepted("[server]\nwebhook_secret = ['old', 'new']");
    assert_eq!(config.server.webhook_secret, [Secret::new("old"), Secret::new("new")]);
}

#[test]
fn a_number_may_come_from_the_environment() {
    let environment = Environment::from([("APP", "7"), ("DIR", "/keys")]);
    let text = "[github]\napp_id = '${APP}'\nprivate_key_path = '${DIR}/app.pem'";
    let config = parse(text, &environment).expect("both are set");
    assert_eq!(config.github.app_id, Some(7));
    assert_eq!(config.github.private_key_path.as_deref(), Some(Path::new("/keys/app.pem")));
}

#[test]
fn paths_in_a_file_are_seen_from_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("daemon.toml");
    std::fs::write(&file, "[state]\nstate_dir = 'state'\n[git]\nclone_base_dir = '/repos'").unwrap();
    let config = Config::load(Some(&file), &Environment::default()).expect("it has no mistakes");
    assert_eq!(config.state.state_dir, folder.path().join("state"));
    assert_eq!(config.git.clone_base_dir, Path::new("/repos"));
}

#[test]
fn every_path_is_absolute_wherever_it_was_written() {
    let environment = Environment::from([("MERGE_TRAIN_STATE_DIR", "state")]);
    let config = parse("[git]\nssh_key_path = 'key'\nclone_base_dir = '../repos'", &environment).expect("no mistakes");
    let here = std::env::current_dir().unwrap();
    assert_eq!(config.git.signing(), Some(Signing::Ssh { key_path: here.join("key") }));
    assert_eq!(config.git.clone_base_dir, here.join("../repos"));
    assert_eq!(config.state.state_dir, here.join("state"));
}

#[test]
fn clones_are_partial_unless_said_otherwise() {
    let extent = |text: &str| accepted(text).git.clones(Signing::Off).extent;
    assert_eq!(extent("[git]\nclone = 'partial'"), Extent::Partial);
    assert_eq!(extent("[git]\nclone = 'full'"), Extent::Full);
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let error = Config::load(Some(Path::new("/nowhere/at/all.toml")), &Environment::default()).expect_err("no file");
    assert_eq!(
        error.to_string(),
        "the configuration /nowhere/at/all.toml cannot be read: check the path and its permissions"
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn the_addresses_of_an_enterprise_server_follow_from_the_first() {
    let config = accepted("[github]\napi_url = 'https://ghe.example.com/api/v3/'");
    assert_eq!(config.github.api_url, "https://ghe.example.com/api/v3");
    assert_eq!(config.github.graphql_url, "https://ghe.example.com/api/graphql");
    assert_eq!(config.github.git_url, "https://ghe.example.com");
}

#[test]
fn an_api_key_opens_with_the_key_and_with_no_other() {
    let digest = "2BB80D537B1DA3E38BD30361AA855686BDE0EACD7162FEF6A25FE97BF527A25B";
    let key =
        &accepted(&format!("[[api_keys]]\nname='ci'\ntenant='Octo'\nrole='operator'\nsha256='{digest}'")).api_keys[0];
    assert!(key.opens_with("secret"));
    assert!(!key.opens_with("Secret") && !key.opens_with(""));
    assert!(key.tenant.includes(&"octo".parse().unwrap()) && !key.tenant.includes(&"other".parse().unwrap()));
    assert!(key.role > Role::Viewer && key.role < Role::Admin);
}

#[test]
fn no_secret_shows_when_the_configuration_is_printed() {
    let digest = "ab".repeat(32);
    let config = accepted(&format!(
        "[github]\ntoken='ghp_hush'\n[state]\ndatabase_url='postgres://u:hush@db/x'\n[server]\nwebhook_secret=['hush']\n\
         [slack]\nsigning_secret='hush'\n\
         [[api_keys]]\nname='ci'\ntenant='*'\nrole='viewer'\nsha256='{digest}'"
    ));
    let printed = format!("{config:?} {config:#?}");
    assert!(!printed.contains("hush") && !printed.contains(&digest), "{printed}");
}

#[test]
fn every_kind_of_section_is_read() {
    let config = accepted(
        "[ratchet]\nenabled = true\napprove_pushes = ['.github/**']\n[ratchet.fixer]\ncommand = ['fix', '--now']\n\
         [[workflows]]\nname = 'nightly'\ninputs = { pr = { type = 'integer', required = true } }\n\
         [[workflows.steps]]\nid = 'look'\ncommand = 'look'\nretries = 2\ncompensate = ['forget', 'it']\n\
         [[workflows.steps]]\nid = 'ok'\nkind = 'approval'\nby = ['octocat']\ntimeout_mins = 10\n\
         [[workflows.steps]]\nid = 'landed'\nkind = 'wait'\nevent = 'landed'\ncorrelation = '{inputs.pr}'\n\
         [[schedules]]\nname = 'n'\nworkflow = 'nightly'\ntenant = 'octo'\ncron = '30 2 * * *'\n\
         time_zone = 'Europe/Berlin'\nmissed = 'all'\ninputs = { pr = 7 }\nrepo = 'Octo/Widgets'\n\
         [slack]\nsigning_secret = 'hush'\nresponse_url_prefix = 'http://127.0.0.1:9/hooks/'\n\
         [[slack_workspaces]]\nteam_id = 'T1'\ntenant = 'Octo'\noperators = ['U1', 'U2']\n\
         [[slack_workspaces]]\nteam_id = 'T2'\ntenant = 'octo'",
    );
    assert!(config.ratchet.enabled);
    assert_eq!(config.ratchet.fixer.program(), ["fix", "--now"]);
    let workflow = config.workflows[0].definition();
    let kinds: Vec<workflow::StepKind> = workflow.steps.iter().map(|step| step.kind.clone()).collect();
    let program = workflow::Program { command: vec!["look".to_owned()], timeout_ms: 3_600_000 };
    let gate = workflow::Gate {
        by: vec!["octocat".to_owned()],
        need: workflow::ApprovalNeed::Any,
        timeout_ms: Some(600_000),
        on_expiry: workflow::OnExpiry::Fail,
    };
    let correlation = Some("{inputs.pr}".to_owned());
    let wait = workflow::SignalWait { event: "landed".to_owned(), correlation, timeout_ms: 86_400_000 };
    assert_eq!(
        kinds,
        [workflow::StepKind::Agent(program), workflow::StepKind::Approval(gate), workflow::StepKind::Wait(wait)]
    );
    assert_eq!(workflow.steps[0].retry, workflow::RetryPolicy { times: 2, backoff_ms: 10_000 });
    assert_eq!(workflow.steps[0].compensate.as_ref().map(|undo| undo.command.len()), Some(2));
    let schedule = &config.schedules[0];
    assert_eq!((schedule.tenant.as_str(), schedule.missed), ("octo", MissedSlotPolicy::All));
    assert_eq!(schedule.inputs["pr"], 7);
    assert_eq!(schedule.repo.as_ref().map(ToString::to_string).as_deref(), Some("Octo/Widgets"));
    let next = schedule.timetable().after("2026-07-01T12:00:00Z".parse().unwrap());
    assert_eq!(next.map(|next| next.to_string()).as_deref(), Some("2026-07-02T00:30:00Z"));
    let [first, second] = config.slack_workspaces.as_slice() else { panic!("two workspaces") };
    assert_eq!((first.team_id.as_str(), first.tenant.as_str()), ("T1", "octo"));
    assert_eq!(
        (first.operators.as_slice(), second.operators.len()),
        (["U1".to_owned(), "U2".to_owned()].as_slice(), 0)
    );
    assert_eq!(config.slack.response_url_prefix, "http://127.0.0.1:9/hooks");
}
