//! The documentation and the list of settings agree.

use std::fmt::Write as _;

use super::super::settings::{SECTIONS, Section, SectionCount, Setting, SettingRequirement};
use super::*;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/merge-train.example.toml");
/// The generated part of the guide begins after the line that ends so.
const MARK: &str = "a test holds them together. -->\n";
/// Set it to write the generated part again.
const UPDATE: &str = "MERGE_TRAIN_TEST_UPDATE_DOCS";

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The guide's reference, as the list of settings has it.
fn reference() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        write!(text, "\n### `{}`\n\n{}\n\n", section.header(), section.doc).unwrap();
        let environment = if section.rows == SectionCount::One { " environment |" } else { "" };
        let rule = if section.rows == SectionCount::One { "---|" } else { "" };
        write!(text, "| key | default | type |{environment} meaning |\n|---|---|---|{rule}---|\n").unwrap();
        section.settings.iter().for_each(|setting| text += &row(section, setting));
    }
    text
}

fn row(section: &Section, setting: &Setting) -> String {
    let default = match (setting.default, setting.requirement) {
        (Some(default), _) => format!("`{default}`"),
        (None, SettingRequirement::Required) => "required".to_owned(),
        (None, SettingRequirement::Optional) => "unset".to_owned(),
    };
    let names: Vec<String> = section.env_names(setting).iter().map(|name| format!("`{name}`")).collect();
    let environment =
        if section.rows == SectionCount::One { format!(" {} |", names.join(", ")) } else { String::new() };
    let (key, kind, doc) = (setting.key, setting.kind.allowed(), setting.doc.replace('|', "\\|"));
    format!("| `{key}` | {default} | {kind} |{environment} {doc} |\n")
}

#[test]
fn the_guide_has_every_setting_as_the_list_does() {
    let guide = read(GUIDE);
    let (prose, generated) = guide.split_once(MARK).expect("the mark is in the guide");
    if std::env::var_os(UPDATE).is_some() {
        return std::fs::write(GUIDE, format!("{prose}{MARK}{}", reference())).expect("the guide can be written");
    }
    assert!(
        generated == reference(),
        "docs/configuration.md is not what the list of settings says; run with {UPDATE}=1"
    );
}

/// The example with every setting that is commented out taken in, but for those that exclude another.
pub fn uncommented(example: &str) -> String {
    let wanted = |line: &&str| !line.starts_with("#token =");
    let open = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    example.lines().filter(wanted).map(open).collect()
}

fn variables() -> Environment {
    let names = ["WEBHOOK_SECRET", "GITHUB_TOKEN", "DATABASE_PASSWORD", "SLACK_SIGNING_SECRET"];
    Environment::from(names.map(|name| (name, "x")))
}

#[test]
fn the_example_is_a_configuration_as_it_is_and_with_everything_in_it() {
    let example = read(EXAMPLE);
    let config = parse(&example, &variables()).expect("the example as it is");
    assert_eq!((config.github.app_id, config.api_keys.len()), (Some(12345), 0));
    let config = parse(&uncommented(&example), &variables()).expect("the example with everything in it");
    assert_eq!((config.api_keys.len(), config.workflows.len(), config.schedules.len()), (1, 1, 1));
    assert_eq!((config.slack_workspaces.len(), config.slack_channels.len()), (1, 1));
}

#[test]
fn the_example_has_every_setting_in_its_section() {
    let example = read(EXAMPLE);
    for section in SECTIONS {
        let header = section.header();
        let mut lines = example.lines().map(|line| line.trim_start_matches('#'));
        let (mut keys, mut rows) = (Vec::new(), 0);
        // What repeats may have some of its settings in one row and some in another.
        while lines.any(|line| line == header) {
            let row = lines.clone().take_while(|line| !line.starts_with('['));
            keys.extend(row.filter_map(|line| line.split(" =").next()));
            rows += 1;
        }
        assert_ne!(rows, 0, "{header} is not in the example");
        for setting in section.settings {
            assert!(keys.contains(&setting.key), "{} is not under {header} in the example", setting.key);
        }
    }
}

#[test]
fn the_example_shows_the_defaults_where_there_are_any() {
    let text = uncommented(&read(EXAMPLE));
    // What an example must show to be of use, and what is a choice between keys.
    let shown_otherwise = ["approve_pushes", "signing"];
    for section in SECTIONS.iter().filter(|section| section.rows == SectionCount::One) {
        let settings = section.settings.iter().filter(|setting| !shown_otherwise.contains(&setting.key));
        for (key, default) in settings.filter_map(|setting| Some((setting.key, setting.default?))) {
            let plain = format!("\n{key} = {default}");
            let quoted = format!("\n{key} = \"{default}\"");
            assert!(text.contains(&plain) || text.contains(&quoted), "the example's {key} is not {default}");
        }
    }
}
