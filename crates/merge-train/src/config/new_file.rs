//! A file to begin with, and settings added to one that is there: made of the list of settings, so that they say what it says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::environment::Environment;
use super::file;
use super::kind::ValueKind;
use super::settings::{NewFilePresence, SECTIONS, Section, SectionCount, Setting, section};

/// How wide the comments are.
const WIDTH: usize = 100;

const HEAD: &str = "\
# merge-train.toml: the most common settings. docs/configuration.md lists every setting.
#
# A line that begins with `#` and no space is a setting with its default or an example: take the `#` away to set it.
# \"${NAME}\" takes the value from the environment. `merge-train doctor` shows what is missing or wrong.
";

/// Settings with their values, as TOML writes them.
#[derive(Debug, Default, Clone)]
pub struct NewFileValues(BTreeMap<(&'static str, &'static str), String>);

impl NewFileValues {
    /// A text.
    pub fn text(&mut self, section: &'static str, key: &'static str, text: &str) {
        self.set(section, key, quoted(text));
    }

    pub fn number(&mut self, section: &'static str, key: &'static str, number: u64) {
        self.set(section, key, number.to_string());
    }

    fn set(&mut self, name: &'static str, key: &'static str, written: String) {
        assert!(section(name).and_then(|section| section.setting(key)).is_some(), "{name}.{key} is no setting");
        self.0.insert((name, key), written);
    }

    fn get(&self, section: &Section, setting: &Setting) -> Option<&str> {
        self.0.get(&(section.name, setting.key)).map(String::as_str)
    }

    /// Which of them the file sets already.
    pub fn set_in(&self, path: &Path, text: &str) -> Vec<String> {
        let contents = file::read(path, text, file::FileOwner::Operator(&Environment::default()));
        let rows = contents.rows.iter().flat_map(|row| &row.entries);
        let entries = contents.entries.iter().chain(rows).map(|entry| (entry.section.name, entry.setting.key));
        let known = entries.filter(|name| self.0.contains_key(name));
        known.map(|(section, key)| format!("{section}.{key}")).collect()
    }

    /// A file with these set, and with what most want to set besides.
    pub fn as_new_file(&self) -> String {
        let mut text = HEAD.to_owned();
        for section in SECTIONS {
            let lines: String = section.settings.iter().filter_map(|setting| self.line(section, setting)).collect();
            if lines.is_empty() {
                continue;
            }
            let is_open = section.rows == SectionCount::One
                || section.settings.iter().any(|one| self.get(section, one).is_some());
            let header = if is_open { section.header() } else { format!("#{}", section.header()) };
            let _ = write!(text, "\n{}{header}\n{lines}", comment(section.doc));
        }
        text
    }

    /// A setting with what it means; none for one that has no place in such a file.
    fn line(&self, section: &Section, setting: &Setting) -> Option<String> {
        let (mark, value) = match (self.get(section, setting), setting.new_file) {
            (Some(value), _) => ("", value.to_owned()),
            (None, NewFilePresence::Set(value)) => ("", value.to_owned()),
            (None, NewFilePresence::Offered(value)) => ("#", value.to_owned()),
            (None, NewFilePresence::OfferedByDefault) => ("#", literal(setting)),
            (None, NewFilePresence::Absent) => return None,
        };
        Some(format!("{}{mark}{} = {value}\n", comment(setting.doc), setting.key))
    }

    /// The file with these set, each in its section, and with all else as it is. None of them must be set in it.
    pub fn added_to(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for section in SECTIONS {
            let mut own: Vec<String> = Vec::new();
            for setting in section.settings {
                own.extend(self.get(section, setting).map(|value| format!("{} = {value}", setting.key)));
            }
            if own.is_empty() {
                continue;
            }
            let header = section.header();
            let is_header = |line: &String| line.split('#').next().is_some_and(|code| code.trim() == header);
            let found = lines.iter().position(|line| section.rows == SectionCount::One && is_header(line));
            let place = found.map_or_else(
                || {
                    lines.extend([String::new(), header]);
                    lines.len()
                },
                |found| found + 1,
            );
            lines.splice(place..place, own);
        }
        lines.join("\n") + "\n"
    }
}

/// The default as TOML writes it.
fn literal(setting: &Setting) -> String {
    let default = setting.default.unwrap_or_default();
    match setting.kind {
        ValueKind::Integer { .. } | ValueKind::Minutes { .. } | ValueKind::Flag => default.to_owned(),
        _ => quoted(default),
    }
}

fn comment(doc: &str) -> String {
    let (mut text, mut line) = (String::new(), "#".to_owned());
    for word in doc.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH {
            let _ = writeln!(text, "{line}");
            "#".clone_into(&mut line);
        }
        let _ = write!(line, " {word}");
    }
    text + &line + "\n"
}

/// What JSON escapes TOML escapes, and in the same way.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
