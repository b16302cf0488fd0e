//! What the documentation quotes of the bot, the bot says.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::docs::pages::{Page, guides, root};

/// What changes from one comment to the next is left out: names, numbers, commits, times.
struct Words {
    wrapped: Regex,
    time: Regex,
    name: Regex,
    number: Regex,
    plural: Regex,
    space: Regex,
}

impl Words {
    fn new() -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("a pattern");
        Self {
            // A text of the code that goes on in the next line.
            wrapped: regex(r"\\\n\s*"),
            time: regex(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC|TIME"),
            name: regex(r"`[^`\n]*`|\{[^{}\n]*\}"),
            number: regex(r"\b[0-9a-f]{7,}\b|SHA|\bRUN\b|#?\d+"),
            plural: regex(r"\b(squash|push|retarget)(es|s)\b"),
            space: regex(r"\s+"),
        }
    }

    fn of(&self, text: &str) -> String {
        let text = self.wrapped.replace_all(text, "");
        let text = self.time.replace_all(&text, "0");
        let text = self.name.replace_all(&text, "0");
        let text = self.number.replace_all(&text, "0").replace("#0", "0");
        let text = self.plural.replace_all(&text, "$1");
        self.space.replace_all(&text, " ").trim().to_owned()
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "snap" || extension == "rs") {
            found.push(path);
        }
    }
}

/// All that the bot says in tests, and the texts that it is made of.
fn said(words: &Words) -> String {
    let mut found = Vec::new();
    for folder in ["crates/core/src", "crates/merge-train/tests/it/trains/snapshots"] {
        files(&root().join(folder), &mut found);
    }
    let texts = found.iter().map(|path| words.of(&std::fs::read_to_string(path).expect("a text")));
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_quoted_of_the_bot_is_what_it_says() {
    let words = Words::new();
    let said = said(&words);
    let mut quoted = 0;
    for page in guides() {
        for (number, piece) in paragraphs(&page).into_iter().chain(answers(&page)) {
            let pieces = piece.trim_start_matches("- ").split('…').map(|part| words.of(part));
            for part in pieces.filter(|part| part.len() > 8) {
                // A row of a table is made of its cells, and a line with something bold of two texts.
                let cells =
                    part.split(" | ").flat_map(|cell| cell.split("**")).map(|cell| cell.trim_matches(['|', ' ']));
                for cell in cells.filter(|cell| cell.chars().any(char::is_alphabetic)) {
                    let cell = cell.trim_start_matches("0. ");
                    assert!(said.contains(cell), "{}:{number}: nobody says {cell:?}", page.name);
                }
            }
            quoted += usize::from(!piece.is_empty());
        }
    }
    assert!(quoted > 60, "only {quoted} quotations were found");
}

/// What stands behind `>`, taken together as it is read: a paragraph may go over several lines; a row, an entry of a list and a
/// heading are one each.
fn paragraphs(page: &Page) -> Vec<(usize, String)> {
    let quotes =
        page.prose.iter().filter_map(|(number, line)| Some((*number, line.trim_start().strip_prefix('>')?.trim())));
    let mut pieces: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for (number, line) in quotes {
        let is_own = ["- ", "|", "**"].iter().any(|mark| line.starts_with(mark))
            || line.starts_with(|c: char| c.is_ascii_digit());
        match pieces.last_mut() {
            Some((_, piece)) if !is_own && !line.is_empty() && number == last + 1 && !piece.is_empty() => {
                *piece += &format!(" {line}");
            }
            _ => pieces.push((number, line.to_owned())),
        }
        last = number;
    }
    pieces
}

/// The sentences in columns of tables that say what is answered.
fn answers(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut column = None;
    for (number, line) in &page.prose {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.starts_with("| ") {
            column = if line.starts_with("|-") { column } else { None };
        } else if let Some(column) = column {
            let cell: &str = cells.get(column).copied().unwrap_or_default();
            found.extend(
                cell.split(". ")
                    .flat_map(|sentence| sentence.split(": "))
                    .map(|sentence| (*number, sentence.trim_end_matches('.').to_owned())),
            );
        } else {
            let is_answer =
                |cell: &&str| cell.ends_with("answered with") || cell.ends_with("refused with") || *cell == "or";
            column = cells.iter().position(is_answer).or(Some(usize::MAX));
        }
    }
    found
}
