//! `.github/merge-train.toml`: what a repository says about itself, read by the list of settings that the daemon's own file goes by.

use std::path::Path;

use merge_train_core::repo::settings::{
    FILE, RepositoryBehavior, RepositoryMerge, RepositoryRatchet, RepositorySettings, SettingsFileProblem,
};
use serde::Deserialize;

use super::builder::ConfigBuilder;
use super::environment::Environment;
use super::file::{self, FileEntry, FileOwner};
use super::problem::{self, ValueSource};
use super::sections::Minutes;
use super::settings::{SECTIONS, Section, Setting, SettingOwner};

/// Larger is a mistake, and would make much of every check.
const LARGEST: usize = 64 << 10;

/// The file, typed as its keys are.
#[derive(Deserialize)]
struct RepositoryFile {
    behavior: RepositoryBehavior,
    merge: RepositoryMerge,
    ratchet: RepositoryFileRatchet,
}

#[derive(Deserialize)]
struct RepositoryFileRatchet {
    stale_ci_timeout_mins: Option<Minutes>,
    grace_mins: Option<Minutes>,
    #[serde(flatten)]
    plain: RepositoryRatchet,
}

/// What the file says, or all that is wrong with it.
pub fn own_settings(content: &[u8]) -> Result<RepositorySettings, Vec<SettingsFileProblem>> {
    let at_start = |text: String| vec![SettingsFileProblem { line: 1, column: 1, text }];
    if content.len() > LARGEST {
        return Err(at_start(format!("{FILE} is larger than {} KB", LARGEST >> 10)));
    }
    let text = std::str::from_utf8(content).map_err(|error| {
        let line = content[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        at_start(format!("{FILE} is not text in UTF-8: line {line}"))
    })?;
    let mut contents = file::read(Path::new(FILE), text, FileOwner::Repository);
    for row in &contents.rows {
        let text = format!(
            "only the operator can set {}, in the daemon's own configuration; {}",
            row.section.header(),
            allowed()
        );
        contents.problems.push(problem::ConfigProblem::new(row.place.clone(), text));
    }
    contents.rows.clear();
    let (own, foreign): (Vec<FileEntry>, Vec<FileEntry>) =
        contents.entries.into_iter().partition(|entry| entry.setting.owner == SettingOwner::Repository);
    contents.entries = own;
    for FileEntry { section, setting, place, .. } in foreign {
        let text = format!(
            "only the operator can set {}.{}, in the daemon's own configuration; {}",
            section.name,
            setting.key,
            allowed()
        );
        contents.problems.push(problem::ConfigProblem::new(place, text));
    }
    let mut builder = ConfigBuilder::new(contents, Path::new(""), &Environment::default());
    let problems = std::mem::take(&mut builder.problems);
    problem::none_of(problems).map_err(|error| match error {
        problem::Error::Invalid(problems) => problems.into_iter().map(shown).collect(),
        problem::Error::Unreadable { .. } => at_start(error.to_string()),
    })?;
    let (values, _) = builder.finish();
    let RepositoryFile { behavior, merge, ratchet } =
        serde_json::from_value(values).expect("a setting's kind fits the field that it fills");
    let ms = |minutes: Minutes| u64::try_from(minutes.duration().as_millis()).unwrap_or(u64::MAX);
    let (stale_ci_timeout_ms, grace_ms) = (ratchet.stale_ci_timeout_mins.map(ms), ratchet.grace_mins.map(ms));
    Ok(RepositorySettings {
        behavior,
        merge,
        ratchet: RepositoryRatchet { stale_ci_timeout_ms, grace_ms, ..ratchet.plain },
    })
}

/// Every setting that a repository may set.
fn may_set() -> impl Iterator<Item = (&'static Section, &'static Setting)> {
    let all = SECTIONS.iter().flat_map(|section| section.settings.iter().map(move |setting| (section, setting)));
    all.filter(|(_, setting)| setting.owner == SettingOwner::Repository)
}

fn allowed() -> String {
    let keys: Vec<String> = may_set().map(|(section, setting)| format!("{}.{}", section.name, setting.key)).collect();
    format!("a repository may set: {}", keys.join(", "))
}

fn shown(problem: problem::ConfigProblem) -> SettingsFileProblem {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let (line, column) = match problem.place {
        ValueSource::File { line, column, .. } => (number(line), number(column)),
        ValueSource::Variable(_) | ValueSource::Nowhere => (1, 1),
    };
    SettingsFileProblem { line, column, text: problem.text }
}

#[cfg(test)]
mod tests {
    use merge_train_core::repo::Settings;

    use super::*;

    fn wrong(text: &str) -> Vec<(u32, String)> {
        let problems = own_settings(text.as_bytes()).expect_err("something is wrong with it");
        problems.into_iter().map(|problem| (problem.line, problem.text)).collect()
    }

    #[test]
    fn all_that_a_repository_may_set_is_read() {
        let text = r##"
            [behavior]
            max_stack_size = 7
            auto_start = true
            delete_branches = true
            [merge]
            title = "{title} (#{number})"
            body = "{body}"
            background = true
            [ratchet]
            enabled = true
            max_attempts = 2
            daily_budget = 4
            stale_ci_timeout_mins = 10
            grace_mins = 0.5
            approve_pushes = "always"
        "##;
        let own = own_settings(text.as_bytes()).unwrap();
        let shown = own.shown(&Settings { max_stack_size: 200, ..Settings::default() });
        let set: Vec<&str> =
            text.lines().filter_map(|line| line.trim().split_once(" = ")).map(|(key, _)| key).collect();
        assert_eq!(shown.len(), set.len());
        for (section, setting) in may_set() {
            let name = format!("{}.{}", section.name, setting.key);
            let shown = shown.iter().find(|shown| shown.key == name).unwrap_or_else(|| panic!("{name} is not shown"));
            assert_ne!(
                shown.origin,
                merge_train_core::repo::settings::SettingOrigin::Operator,
                "{name} is read in vain"
            );
        }
        assert_eq!((own.ratchet.grace_ms, own.ratchet.stale_ci_timeout_ms), (Some(30_000), Some(600_000)));
        assert_eq!(own.ratchet.approve_pushes, Some(vec!["always".to_owned()]));
    }

    #[test]
    fn nothing_is_something_to_say() {
        for text in ["", "# later\n", "[ratchet]\n"] {
            assert_eq!(own_settings(text.as_bytes()), Ok(RepositorySettings::default()), "{text:?}");
        }
    }

    #[test]
    fn what_is_the_operators_is_refused_by_name() {
        let problems =
            wrong("[github]\ntoken = \"x\"\n[[api_keys]]\nname = \"me\"\n[ratchet.fixer]\ncommand = [\"sh\"]\n");
        let lines: Vec<u32> = problems.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 3, 6]);
        assert!(problems[0].1.starts_with("only the operator can set github.token"), "{problems:?}");
        assert!(problems[1].1.starts_with("only the operator can set [[api_keys]]"), "{problems:?}");
        assert!(problems[2].1.starts_with("only the operator can set ratchet.fixer.command"), "{problems:?}");
        assert!(problems[2].1.contains("a repository may set: behavior.max_stack_size, "), "{problems:?}");
    }

    #[test]
    fn a_slip_of_the_finger_gets_a_suggestion_of_what_is_allowed_here() {
        let [(line, text)] = wrong("[ratchet]\n\nmax_atempts = 2\n").try_into().unwrap();
        assert_eq!(line, 3);
        assert!(text.starts_with("unknown key \"max_atempts\" in [ratchet]; did you mean \"max_attempts\"?"), "{text}");
        assert!(!text.contains("heartbeat_secs"), "that is the operator's: {text}");
        let [(_, text)] = wrong("[rachet]\nenabled = true\n").try_into().unwrap();
        assert_eq!(
            text,
            "unknown section \"rachet\"; did you mean \"ratchet\"? allowed: [behavior], [merge], [ratchet]"
        );
    }

    #[test]
    fn every_mistake_is_told_of_at_once_and_where_it_is() {
        let problems =
            wrong("[ratchet]\nmax_attempts = 0\ngrace_mins = \"soon\"\n[merge]\ntitle = \"{titel}\"\nbroken =\n");
        assert_eq!(problems.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 5, 6], "{problems:?}");
        assert!(problems[0].1.contains("a whole number, 1–100"), "{problems:?}");
    }

    #[test]
    fn a_repository_learns_nothing_of_the_daemons_environment() {
        let own = own_settings(b"[merge]\ntitle = \"${PATH} {title}\"\n");
        // Braces are for places, and `{PATH}` is none; whatever it is, it is not the variable.
        let problems = own.expect_err("there is no such place");
        assert!(problems[0].text.contains("{PATH}"), "{problems:?}");
    }

    #[test]
    fn what_is_no_text_or_far_too_long_is_refused() {
        assert!(own_settings(b"[merge]\n\xff").unwrap_err()[0].text.ends_with("line 2"));
        assert!(own_settings(&vec![b'#'; LARGEST + 1]).unwrap_err()[0].text.contains("larger than 64 KB"));
    }
}
