//! Every command has examples that can be typed, a place in the documentation, and an exit code that is explained.

use std::fmt::Write as _;

use clap::Command;
use clap::error::ErrorKind;

use super::*;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
/// The generated part of the guide begins after the line that ends so.
const MARK: &str = "a test enforces this. -->\n";
/// Set it to write the generated part again.
const UPDATE: &str = "MERGE_TRAIN_TEST_UPDATE_DOCS";

/// Every command that is shown, by what stands behind the program's name.
fn all() -> Vec<(String, Command)> {
    fn walk(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        found.push((path.to_owned(), command.clone()));
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            walk(inner, format!("{path} {}", inner.get_name()).trim_start(), found);
        }
    }
    let mut command = command();
    command.build();
    let mut found = Vec::new();
    walk(&command, "", &mut found);
    found
}

/// A line as a shell takes it apart: quotes, and nothing else; what stands behind `>` is not for the program.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line);
    while let Some(next) = rest.trim_start().chars().next() {
        rest = rest.trim_start();
        let (word, after) = match next {
            '>' => break,
            '\'' => rest[1..].split_once('\'').expect("a quote ends"),
            _ => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after;
    }
    words
}

#[test]
fn every_help_ends_with_examples_that_can_be_typed() {
    for (path, mut inner) in all() {
        let help = inner.render_long_help().to_string();
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{path}: no examples in {help}"));
        assert!(examples.trim_end().lines().all(|line| line.starts_with("  merge-train")), "{path}: {examples}");
    }
    for (path, examples) in examples::EXAMPLES {
        assert!(all().iter().any(|(known, _)| known == path), "there is no command {path:?}");
        for line in *examples {
            let words = words(line);
            assert!(line.starts_with(&format!("merge-train {path}")), "{line} is no example of {path:?}");
            if let Err(error) = command().try_get_matches_from(words) {
                panic!("{line}: {error}");
            }
        }
    }
}

#[test]
fn the_line_is_a_sound_one() {
    command().debug_assert();
}

#[test]
fn a_slip_of_the_finger_is_told_with_what_was_meant() {
    for (line, kind, meant) in [
        ("merge-train stauts", ErrorKind::InvalidSubcommand, "'status'"),
        ("merge-train runs lst", ErrorKind::InvalidSubcommand, "'list'"),
        ("merge-train runs list --status runing", ErrorKind::InvalidValue, "'running'"),
        ("merge-train doctor --jsno", ErrorKind::UnknownArgument, "'--json'"),
        ("merge-train completion bsh", ErrorKind::InvalidValue, "'bash'"),
    ] {
        let error = command().try_get_matches_from(words(line)).expect_err("it is mistyped");
        assert_eq!(error.kind(), kind, "{line}");
        assert!(error.to_string().contains(meant), "{line}: {error}");
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let scripts = [Shell::Bash, Shell::Zsh, Shell::Fish].map(|shell| String::from_utf8(script(shell)).expect("text"));
    let dir = tempfile::tempdir().unwrap();
    man(&ManArgs { dir: Some(dir.path().to_owned()) }).unwrap();
    for (path, command) in all() {
        for script in &scripts {
            assert!(path.is_empty() || script.contains(command.get_name()), "{path}");
        }
        let page = dir.path().join(format!("merge-train {path}.1").trim_end().replace(" .1", ".1").replace(' ', "-"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(text.contains(".SH SYNOPSIS") && text.contains("Examples:"), "{path}: {text}");
    }
}

/// The guide's reference, as the commands themselves have it.
fn reference() -> String {
    let mut text = String::new();
    for (path, mut command) in all().into_iter().skip(1) {
        let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        let usage = command.render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        let _ = write!(text, "\n## `merge-train {path}`\n\n{about}\n\n```\n{usage}\n```\n");
        let arguments: Vec<String> = command.get_arguments().filter(|one| !one.is_hide_set()).filter_map(row).collect();
        if !arguments.is_empty() {
            let _ = write!(text, "\n| argument | default | meaning |\n|---|---|---|\n{}", arguments.concat());
        }
        if let Some((_, examples)) = examples::EXAMPLES.iter().find(|(known, _)| *known == path) {
            let _ = write!(text, "\n```sh\n{}\n```\n", examples.join("\n"));
        }
    }
    text
}

/// None for those that every command has.
fn row(argument: &clap::Arg) -> Option<String> {
    if ["help", "version"].contains(&argument.get_id().as_str()) {
        return None;
    }
    let takes_values = argument.get_action().takes_values();
    let values = argument.get_value_names().map(|names| names.join(" ")).filter(|_| takes_values);
    let name = match (argument.get_long(), argument.get_short()) {
        (Some(long), Some(short)) => format!("-{short}, --{long}"),
        (Some(long), None) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => String::new(),
    };
    let name = [Some(name), values].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let defaults = argument.get_default_values().iter().filter(|_| takes_values);
    let defaults: Vec<String> = defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect();
    let mut help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let allowed = argument.get_possible_values().into_iter().filter(|_| takes_values);
    let allowed: Vec<String> = allowed.map(|value| format!("`{}`", value.get_name())).collect();
    if !allowed.is_empty() {
        end_sentence(&mut help);
        let _ = write!(help, " One of {}.", allowed.join(", "));
    }
    if let Some(variable) = argument.get_env() {
        end_sentence(&mut help);
        let _ = write!(help, " In the environment: `{}`.", variable.to_string_lossy());
    }
    Some(format!(
        "| `{}` | {} | {} |\n",
        name.replace('|', "\\|"),
        defaults.join(", "),
        help.replace('|', "\\|").replace('\n', " ")
    ))
}

/// Help has no period at its end, as clap wants it.
fn end_sentence(help: &mut String) {
    if !help.is_empty() && !help.ends_with('.') {
        help.push('.');
    }
}

#[test]
fn the_guide_has_every_command_as_the_program_does() {
    let guide = std::fs::read_to_string(GUIDE).unwrap_or_else(|error| panic!("{GUIDE}: {error}"));
    let (prose, generated) = guide.split_once(MARK).expect("the mark is in the guide");
    if std::env::var_os(UPDATE).is_some() {
        return std::fs::write(GUIDE, format!("{prose}{MARK}{}", reference())).expect("the guide can be written");
    }
    assert!(generated == reference(), "docs/commands.md is not what the program says; run with {UPDATE}=1");
}

#[test]
fn every_command_says_what_its_exit_codes_mean() {
    for (path, command) in all().into_iter().skip(1) {
        // What is said of a command holds for those inside it, unless they say something else.
        let first = path.split(' ').next().unwrap_or_default();
        let outer = all().into_iter().find(|(known, _)| known == first).expect("it is inside of one").1;
        let says =
            |command: &Command| command.get_long_about().is_some_and(|about| about.to_string().contains("Exit code"));
        assert!(says(&command) || says(&outer), "{path}");
    }
}
