//! No match over an enum of this crate ends in `_ =>`: whoever adds a variant is led by the compiler to every place that it concerns.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in which such an arm is honest, with the reason.
const ALLOWED: [(&str, &str); 1] =
    [("repo/trains/results.rs", "of all failures of all work, those that are not named are tried again")];

#[test]
fn no_match_over_an_enum_of_this_crate_has_a_wildcard() {
    let sources = sources();
    let enums: BTreeSet<&str> = sources.iter().flat_map(|(_, code)| enums(code)).collect();
    assert!(enums.contains("Event") && enums.contains("Effect"), "{enums:?}");
    let found: Vec<String> = sources
        .iter()
        .filter(|(file, _)| ALLOWED.iter().all(|(allowed, _)| file != allowed))
        .flat_map(|(file, code)| wildcards(code, &enums).into_iter().map(move |line| format!("{file}:{line}")))
        .collect();
    assert!(found.is_empty(), "list the variants instead of `_ =>`, or allow it with a reason: {found:#?}");
}

#[test]
fn what_is_allowed_is_there() {
    let sources = sources();
    let enums: BTreeSet<&str> = sources.iter().flat_map(|(_, code)| enums(code)).collect();
    for (allowed, _) in ALLOWED {
        let (_, code) = sources.iter().find(|(file, _)| file == allowed).expect("the file is there");
        assert!(!wildcards(code, &enums).is_empty(), "{allowed} has no such arm any more");
    }
}

#[test]
fn a_wildcard_is_found_where_a_variant_stands_beside_it() {
    const NOWHERE: [usize; 0] = [];
    let enums = BTreeSet::from(["Event"]);
    let over = |arms: &str| wildcards(&without_texts(&format!("match it {{\n{arms}\n}}")), &enums);
    assert_eq!(over("Event::One { pr } => {\n    done(pr);\n}\n_ => {}"), [5]);
    assert_eq!(over("Some(Event::One) => 1,\n_ => 2,"), [3]);
    assert_eq!(over("Event::One => 1,\nEvent::Two | Event::Three => 2,"), NOWHERE);
    assert_eq!(over("\"Event::One\" => 1,\n// Event::One => 1,\n_ => 2,"), NOWHERE);
    assert_eq!(over("Some(1) => Event::One,\n_ => Event::Two,"), NOWHERE);
    assert_eq!(over("Some(it) if it == Event::One => 1,\n_ => 2,"), NOWHERE);
    assert_eq!(over("Other::One => match it {\n    1 => 2,\n    _ => 3,\n},\nEvent::One => 4,"), NOWHERE);
}

/// The code of this crate without its tests, each file with its path below `src`.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&src, &mut files);
    let name = |file: &PathBuf| file.strip_prefix(&src).expect("below").to_string_lossy().replace('\\', "/");
    let is_test = |name: &str| name.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "fixtures.rs"));
    let named = files.iter().map(|file| (name(file), file)).filter(|(name, _)| !is_test(name));
    named.map(|(name, file)| (name, without_texts(&fs::read_to_string(file).expect("a text")))).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn enums(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("enum ").map(|(at, found)| word(&code[at + found.len()..])).filter(|name| !name.is_empty())
}

fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// The lines on which a `_ =>` stands beside an arm that names a variant of one of these enums.
fn wildcards(code: &str, enums: &BTreeSet<&str>) -> Vec<usize> {
    let mut lines = Vec::new();
    for (at, _) in code.match_indices("_ =>") {
        let begins_line = code[..at].trim_end_matches([' ', '\t']).ends_with('\n');
        if begins_line && arms(block_around(code, at)).iter().any(|arm| names_variant(arm, enums)) {
            lines.push(code[..at].matches('\n').count() + 1);
        }
    }
    lines
}

/// What stands between the braces around a place.
fn block_around(code: &str, at: usize) -> &str {
    let mut depth = 0;
    let open = code[..at].rfind(|c: char| {
        depth += match c {
            '}' => 1,
            '{' => -1,
            _ => 0,
        };
        depth < 0
    });
    let inside = &code[open.map_or(0, |open| open + 1)..];
    &inside[..end_of(inside, '}').unwrap_or(inside.len())]
}

/// Where this comes for the first time outside of brackets.
fn end_of(code: &str, end: char) -> Option<usize> {
    let mut depth = 0;
    code.find(|c: char| {
        if depth == 0 && c == end {
            return true;
        }
        depth += match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        false
    })
}

/// The patterns of a match, without their guards.
fn arms(mut block: &str) -> Vec<&str> {
    let mut patterns = Vec::new();
    while let Some(arrow) = block.find("=>") {
        // A struct pattern has no arrow inside, so the first one ends the pattern.
        let pattern = &block[..arrow];
        patterns.push(pattern.split(" if ").next().unwrap_or_default());
        let body = block[arrow + 2..].trim_start();
        block = if let Some(inside) = body.strip_prefix('{') {
            let rest = end_of(inside, '}').map_or("", |end| &inside[end + 1..]);
            rest.trim_start().trim_start_matches(',')
        } else {
            end_of(body, ',').map_or("", |end| &body[end + 1..])
        };
    }
    patterns
}

fn names_variant(pattern: &str, enums: &BTreeSet<&str>) -> bool {
    pattern.match_indices("::").any(|(at, _)| {
        let before = pattern[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let is_variant = word(&pattern[at + 2..]).starts_with(char::is_uppercase);
        is_variant && (before == "Self" || enums.contains(before))
    })
}

/// The same code with blanks for what its comments, texts and characters say.
fn without_texts(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == '"' {
            text_length(rest)
        } else if let Some(hashes) = rest.strip_prefix('r').and_then(raw_hashes) {
            let end = format!("\"{hashes}");
            let begin = 2 + hashes.len();
            rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
        } else if c == '\'' {
            character_length(rest)
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.extend(rest[..length].chars().map(|c| if c == '\n' { c } else { ' ' }));
        rest = &rest[length..];
    }
    code
}

fn text_length(rest: &str) -> usize {
    let mut is_escaped = false;
    let end = rest[1..].find(|c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(rest.len(), |at| at + 2)
}

/// The hashes of a raw text that begins with them.
fn raw_hashes(rest: &str) -> Option<&str> {
    let hashes = &rest[..rest.len() - rest.trim_start_matches('#').len()];
    rest[hashes.len()..].starts_with('"').then_some(hashes)
}

/// Of a character; of the quote alone where it begins a lifetime.
fn character_length(rest: &str) -> usize {
    let body = &rest[1..];
    let first = body.chars().next().map_or(0, char::len_utf8);
    let end = if body.starts_with('\\') { body[2..].find('\'').map(|at| at + 2) } else { Some(first) };
    end.filter(|end| body[*end..].starts_with('\'')).map_or(1, |end| end + 2)
}
