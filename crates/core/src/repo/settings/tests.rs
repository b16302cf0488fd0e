//! A repository's own settings within the operator's: which of the two counts.

use super::*;
use crate::repo::ratchet;

fn operator() -> Settings {
    let approve = ApprovalRule::Paths(vec![".github/**".to_owned()]);
    Settings { ratchet: ratchet::Settings { approve, ..ratchet::Settings::default() }, ..Settings::default() }
}

fn shown(own: &RepositorySettings, key: &str) -> SettingInForce {
    let all = own.shown(&operator());
    all.into_iter().find(|shown| shown.key == key).expect("it is a setting that a repository may set")
}

#[test]
fn a_repository_that_says_nothing_is_treated_as_the_operator_wants() {
    assert_eq!(*RepositorySettings::default().within(&operator()), operator());
    assert!(
        RepositorySettings::default().shown(&operator()).iter().all(|shown| shown.origin == SettingOrigin::Operator)
    );
}

#[test]
fn what_is_no_bound_is_as_the_repository_wants() {
    let own = RepositorySettings {
        behavior: RepositoryBehavior { auto_start: Some(true), delete_branches: Some(true), max_stack_size: None },
        merge: RepositoryMerge { title: Some("{title}".to_owned()), body: None, background: Some(true) },
        ratchet: RepositoryRatchet {
            enabled: Some(true),
            stale_ci_timeout_ms: Some(600_000),
            grace_ms: Some(90_000),
            ..RepositoryRatchet::default()
        },
    };
    let settings = own.within(&operator()).into_owned();
    assert!(settings.auto_start && settings.delete_branches && settings.merge_in_background);
    assert_eq!(settings.wording, SquashMessageTemplates { title: Some("{title}".to_owned()), body: None });
    assert!(settings.ratchet.enabled);
    assert_eq!(settings.ratchet.stale_ci_timeout, SignedDuration::from_mins(10));
    assert_eq!(shown(&own, "ratchet.grace_mins").value, serde_json::json!(1.5));
    assert_eq!(shown(&own, "ratchet.grace_mins").origin, SettingOrigin::Repository);
}

#[test]
fn of_two_bounds_the_stricter_counts() {
    let own = |max_attempts, daily_budget, max_stack_size| RepositorySettings {
        behavior: RepositoryBehavior { max_stack_size: Some(max_stack_size), ..RepositoryBehavior::default() },
        ratchet: RepositoryRatchet {
            max_attempts: Some(max_attempts),
            daily_budget: Some(daily_budget),
            ..RepositoryRatchet::default()
        },
        ..RepositorySettings::default()
    };
    let stricter = own(1, 2, 3).within(&operator()).into_owned();
    assert_eq!((stricter.ratchet.max_attempts, stricter.ratchet.daily_budget, stricter.max_stack_size), (1, 2, 3));
    let looser = own(99, 9_999, 200);
    assert_eq!(*looser.within(&operator()), operator());
    assert_eq!(shown(&looser, "ratchet.max_attempts").origin, SettingOrigin::Bounded);
    assert_eq!(shown(&looser, "ratchet.max_attempts").wanted, Some(serde_json::json!(99)));
    assert_eq!(looser.limited(&operator()).len(), 3);
    assert!(own(1, 2, 3).limited(&operator()).is_empty());
}

#[test]
fn pushes_wait_for_approval_wherever_one_of_both_wants_it() {
    let own = |patterns: &[&str]| RepositorySettings {
        ratchet: RepositoryRatchet {
            approve_pushes: Some(patterns.iter().map(|pattern| (*pattern).to_owned()).collect()),
            ..RepositoryRatchet::default()
        },
        ..RepositorySettings::default()
    };
    let approve = |own: &RepositorySettings| own.within(&operator()).ratchet.approve.clone();
    let paths = |patterns: &[&str]| ApprovalRule::Paths(patterns.iter().map(|pattern| (*pattern).to_owned()).collect());
    assert_eq!(approve(&own(&[])), paths(&[".github/**"]), "nothing is loosened");
    assert_eq!(approve(&own(&["src/**", ".github/**"])), paths(&[".github/**", "src/**"]));
    assert_eq!(approve(&own(&["always"])), ApprovalRule::Always);
    let always = Settings {
        ratchet: ratchet::Settings { approve: ApprovalRule::Always, ..ratchet::Settings::default() },
        ..Settings::default()
    };
    assert_eq!(own(&["src/**"]).within(&always).ratchet.approve, ApprovalRule::Always);
}

#[test]
fn it_is_read_back_as_it_was_written() {
    let own = RepositorySettings {
        ratchet: RepositoryRatchet {
            grace_ms: Some(1),
            approve_pushes: Some(Vec::new()),
            ..RepositoryRatchet::default()
        },
        ..RepositorySettings::default()
    };
    let json = serde_json::to_string(&own).unwrap();
    assert_eq!(json, r#"{"ratchet":{"grace_ms":1,"approve_pushes":[]}}"#);
    assert_eq!(serde_json::from_str::<RepositorySettings>(&json).unwrap(), own);
}

#[test]
fn what_is_said_of_a_file() {
    let problem = |line, text: &str| SettingsFileProblem { line, column: 1, text: text.to_owned() };
    let invalid =
        SettingsFileVerdict::Invalid { problems: vec![problem(2, "unknown `key`"), problem(7, "@octocat\n# boo")] };
    let limited = vec!["`ratchet.max_attempts`: `99` is requested, `3` applies.".to_owned()];
    let all = [
        SettingsFileVerdict::Valid { limited: Vec::new() },
        SettingsFileVerdict::Valid { limited },
        SettingsFileVerdict::Removed {},
        invalid,
    ];
    let said: Vec<String> = all.iter().map(SettingsFileVerdict::comment).collect();
    insta::assert_snapshot!(said.join("\n\n────\n\n"));
}
