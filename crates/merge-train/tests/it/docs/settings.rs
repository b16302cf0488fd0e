//! What the documentation shows of configurations and comments is understood by the program.

use std::collections::BTreeSet;

use merge_train_core::repo::commands::{AddressedLine, parse_all};

use crate::docs::pages::{all, guides, root};

/// What the documentation shows as something that is not understood.
const MISTAKES: &[&str] = &[
    "@merge-train predecessor",
    "@merge-train predecessor 12 please",
    "@merge-train strat",
    "@merge-train stop --close-prs",
];

#[test]
fn every_configuration_that_is_shown_is_accepted() {
    let mut accepted = 0;
    for page in guides() {
        for block in page.blocks_of(&["toml"]) {
            let dir = tempfile::tempdir().expect("a folder");
            let file = dir.path().join("merge-train.toml");
            std::fs::write(&file, &block.text).expect("written");
            #[expect(clippy::disallowed_methods, reason = "it is the program itself, and done at once")]
            let mut inspect = std::process::Command::new(env!("CARGO_BIN_EXE_merge-train"));
            inspect.args(["state", "inspect", "--config"]).arg(&file).env("MERGE_TRAIN_STATE_STATE_DIR", dir.path());
            for name in block.text.split("${").skip(1).filter_map(|rest| rest.split_once('}')) {
                inspect.env(name.0, if name.0.contains("URL") { "https://hooks.slack.com/services/x" } else { "x" });
            }
            let output = inspect.output().expect("it runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            let place = format!("{}:{}", page.name, block.line);
            assert!(!errors.contains("error: the configuration"), "{place}: {errors}");
            accepted += 1;
        }
    }
    assert!(accepted > 5, "only {accepted} configurations were found");
}

/// A command as somebody would type it: placeholders replaced, what is said about it left out.
fn typed(shown: &str) -> String {
    let command = shown.trim().split("  ").next().unwrap_or_default();
    let words = command.split(' ').map(|word| match word {
        "#N" => "#12",
        "RUN" => "run-1",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_comment_that_is_shown_is_a_command_or_the_mistake_that_it_is_shown_as() {
    let mut seen = BTreeSet::new();
    for page in guides() {
        let lines = page.blocks.iter().filter(|block| !block.language.contains("sh")).flat_map(|block| {
            let lines = block.text.lines().enumerate();
            lines.map(|(at, line)| (block.line + at, line.to_owned())).collect::<Vec<_>>()
        });
        for (line, shown) in page.spans().into_iter().chain(lines) {
            if !shown.trim_start().starts_with("@merge-train ") || shown.contains('…') {
                continue;
            }
            let command = typed(&shown);
            let place = format!("{}:{line}: {command}", page.name);
            let said = parse_all(&command);
            match (said.as_slice(), MISTAKES.contains(&command.as_str())) {
                ([AddressedLine::Command(_)], false) => {}
                ([AddressedLine::Misused { .. } | AddressedLine::Unknown { .. }], true) => {}
                (said, _) => panic!("{place} is understood as {said:?}"),
            }
            seen.insert(command);
        }
    }
    for mistake in MISTAKES {
        assert!(seen.contains(*mistake), "{mistake} is shown nowhere");
    }
    for (command, _) in help() {
        let verb: Vec<&str> = command.split(' ').take(2).collect();
        assert!(seen.iter().any(|shown| shown.starts_with(&verb.join(" "))), "{command} is explained nowhere");
    }
}

/// The commands as the bot lists them, with what they are for.
fn help() -> Vec<(String, String)> {
    let text = merge_train_core::repo::commands::help();
    let rows = text.lines().filter_map(|line| line.strip_prefix("- `")?.split_once("`: "));
    rows.map(|(command, meaning)| (command.to_owned(), meaning.to_owned())).collect()
}

#[test]
fn the_user_guide_explains_each_command_as_the_bot_lists_it() {
    let guide = std::fs::read_to_string(root().join("docs/user-guide.md")).expect("the guide");
    assert!(help().len() > 10);
    for (command, _) in help() {
        let command = command.replace("predecessor #123", "predecessor #N");
        let command = command.strip_prefix("@merge-train ").unwrap_or(&command);
        let found = guide.lines().any(|line| line.starts_with("| [`") && line.contains(&format!("`{command}`")));
        assert!(found, "`{command}` has no row in the list of docs/user-guide.md");
    }
}

#[test]
fn every_command_of_the_program_that_prose_names_is_there() {
    let reference = std::fs::read_to_string(root().join("docs/commands.md")).expect("the reference");
    let known: BTreeSet<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("## `merge-train ")?.strip_suffix('`')).collect();
    for page in all() {
        for (line, span) in page.spans() {
            let Some(rest) = span.strip_prefix("merge-train ") else { continue };
            let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty();
            let words: Vec<&str> = rest.split(' ').take_while(is_word).collect();
            let is_known = words.is_empty()
                || ["help", "bench"].contains(&words[0])
                || known.contains(words[0]) && words.get(1).is_none_or(|_| true);
            assert!(is_known, "{}:{line}: there is no `merge-train {}`", page.name, words.join(" "));
            let has_inner =
                words.first().is_some_and(|first| known.iter().any(|name| name.starts_with(&format!("{first} "))));
            if let (true, [first, second, ..]) = (has_inner, words.as_slice()) {
                let path = format!("{first} {second}");
                assert!(known.contains(path.as_str()), "{}:{line}: there is no `merge-train {path}`", page.name);
            }
        }
    }
}
