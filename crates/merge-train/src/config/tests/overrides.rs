//! The environment's say.

use super::super::kind::ValueKind;
use super::super::settings::{SECTIONS, SectionCount};
use super::*;

/// A value of the kind that is not its default.
fn sample(kind: ValueKind) -> String {
    match kind {
        ValueKind::Text
        | ValueKind::Template
        | ValueKind::Secret
        | ValueKind::Secrets
        | ValueKind::Texts
        | ValueKind::Path => "sample".into(),
        ValueKind::HttpUrl => "http://127.0.0.1:1".into(),
        ValueKind::SecretUrl => "https://hooks.slack.com/services/1".into(),
        ValueKind::Choices(choices) => choices[0].into(),
        ValueKind::DatabaseUrl => "postgres://db/x".into(),
        ValueKind::Address => "127.0.0.1:1".into(),
        ValueKind::Choice(choices) => choices[1].into(),
        ValueKind::Integer { min, .. } => min.to_string(),
        ValueKind::Minutes { .. } => "0.5".into(),
        ValueKind::Flag => "true".into(),
        ValueKind::LogFilter => "trace".into(),
        ValueKind::Sha256 => "ab".repeat(32),
        ValueKind::Tenant | ValueKind::Tenants => "octo".into(),
        ValueKind::Repo => "octo/widgets".into(),
        ValueKind::Cron => "@weekly".into(),
        ValueKind::TimeZone => "Europe/Berlin".into(),
        ValueKind::Table => unreachable!("a table is never in the environment"),
    }
}

/// Settings that mean nothing alone, with what they need.
fn company(key: &str) -> &'static str {
    match key {
        "app_id" => "[github]\nprivate_key_path = 'x'",
        "private_key_path" => "[github]\napp_id = 1",
        "installation_id" => "[github]\napp_id = 1\nprivate_key_path = 'x'",
        "api_url" => "[github]\ngraphql_url = 'http://x'\ngit_url = 'http://x'",
        "body_budget_mb" => "[server]\nmax_body_mb = 1",
        "orphaned_after_secs" => "[runs]\nheartbeat_secs = 1",
        "signing" => "[git]\nssh_key_path = 'x'",
        _ => "",
    }
}

/// What the configuration says, without where it says it.
fn values(config: &Config) -> String {
    format!("{:?}", Config { places: BTreeMap::new(), ..config.clone() })
}

#[test]
fn every_setting_has_a_variable_that_overrides_it() {
    for section in SECTIONS.iter().filter(|section| section.rows == SectionCount::One) {
        for setting in section.settings {
            let plain = parse(company(setting.key), &Environment::default()).map(|config| values(&config));
            for name in section.env_names(setting) {
                let environment = Environment::from([(name.clone(), sample(setting.kind))]);
                let config = parse(company(setting.key), &environment)
                    .unwrap_or_else(|told| panic!("{name} is not taken: {told}"));
                assert_ne!(Ok(values(&config)), plain, "{name} changes nothing");
                assert_eq!(config.place(section.name, setting.key), ValueSource::Variable(name));
            }
        }
    }
}

#[test]
fn no_two_settings_share_a_variable() {
    let mut names: Vec<String> = SECTIONS
        .iter()
        .flat_map(|section| section.settings.iter().flat_map(|setting| section.env_names(setting)))
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn the_general_name_wins_over_the_short_one() {
    let environment = Environment::from([("RUST_LOG", "debug"), ("MERGE_TRAIN_LOG_FILTER", "warn")]);
    assert_eq!(parse("", &environment).expect("both are right").log.filter, "warn");
}

#[test]
fn a_bad_value_is_told_with_the_variable_and_what_is_allowed() {
    let told = parse("", &Environment::from([("MERGE_TRAIN_POLL_INTERVAL_MINS", "soon")])).expect_err("no number");
    assert_eq!(
        told,
        "MERGE_TRAIN_POLL_INTERVAL_MINS: housekeeping.poll_interval_mins is \"soon\"; it must be a number of minutes, \
         0.01–1440"
    );
    let told = parse("", &Environment::from([("MERGE_TRAIN_GITHUB_TOKEN", "")])).expect_err("empty");
    assert_eq!(told, "MERGE_TRAIN_GITHUB_TOKEN: github.token is empty; it must be a secret that is not empty");
}

#[test]
fn a_list_is_written_as_in_the_file_or_is_one_value() {
    let secrets = |value: &str| {
        let environment = Environment::from([("MERGE_TRAIN_SERVER_WEBHOOK_SECRET", value)]);
        parse("", &environment).map(|config| config.server.webhook_secret)
    };
    assert_eq!(secrets("a, b"), Ok(vec![Secret::new("a, b")]));
    assert_eq!(secrets("['a', \"b\"]"), Ok(vec![Secret::new("a"), Secret::new("b")]));
    assert!(secrets("['a'").is_err_and(|told| told.contains("is ***;")));
}

#[test]
fn what_is_overridden_need_not_be_there() {
    let text = "[server]\nwebhook_secret = '${NOT_SET}'";
    let environment = Environment::from([("MERGE_TRAIN_SERVER_WEBHOOK_SECRET", "s")]);
    assert_eq!(parse(text, &environment).expect("overridden").server.webhook_secret, [Secret::new("s")]);
    assert!(refused(text).contains("NOT_SET"));
}

#[test]
fn an_unknown_variable_is_a_warning_with_the_names_that_are_near() {
    let environment = Environment::from([
        ("MERGE_TRAIN_POLL_INTERVAL_MIN", "5"),
        ("MERGE_TRAIN_ZZZ", "5"),
        ("MERGE_TRAIN_CACHE", "x"),
        ("MERGE_TRAIN_SERVER", "x"),
        ("MERGE_TRAIN_API_KEY", "x"),
        ("MERGE_TRAIN_TEST_SEED", "x"),
        ("PATH", "x"),
    ]);
    let warnings = parse("", &environment).expect("no mistake").warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains(
        "MERGE_TRAIN_POLL_INTERVAL_MIN is not a setting and has no effect; did you mean MERGE_TRAIN_POLL_INTERVAL_MINS"
    ));
    assert_eq!(warnings[1], "the environment variable MERGE_TRAIN_ZZZ is not a setting and has no effect");
}
