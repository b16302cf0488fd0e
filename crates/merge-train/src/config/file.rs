//! The file: which setting each key is, and where it stands.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::kind::WrittenValue;
use super::near::instead;
use super::problem::{ConfigProblem, ValueSource};
use super::settings::{SECTIONS, Section, SectionCount, Setting, SettingOwner, section};
use super::substitute::{substitute, variables};

/// A key that the file sets.
pub struct FileEntry {
    pub section: &'static Section,
    pub setting: &'static Setting,
    pub place: ValueSource,
    /// A problem when its text names a variable that is not set; it matters only if the value does.
    pub written: Result<WrittenValue, ConfigProblem>,
    /// The variables that it was taken from.
    pub variables: Vec<String>,
}

/// What a file says.
#[derive(Default)]
pub struct FileContents {
    pub entries: Vec<FileEntry>,
    pub rows: Vec<FileRow>,
    pub problems: Vec<ConfigProblem>,
}

/// A row of a section that repeats.
pub struct FileRow {
    pub section: &'static Section,
    /// Where its header stands.
    pub place: ValueSource,
    pub entries: Vec<FileEntry>,
    /// The rows inside it.
    pub rows: Vec<Self>,
}

/// Whose file it is.
#[derive(Clone, Copy)]
pub enum FileOwner<'a> {
    /// It may take values from the environment.
    Operator(&'a Environment),
    /// It may not, and knows only what a repository may set.
    Repository,
}

impl FileOwner<'_> {
    fn knows(self, setting: &Setting) -> bool {
        matches!(self, Self::Operator(_)) || setting.owner == SettingOwner::Repository
    }

    fn sections(self) -> impl Iterator<Item = &'static Section> {
        SECTIONS.iter().filter(move |section| section.settings.iter().any(|setting| self.knows(setting)))
    }
}

/// Reads all that can be read, whatever else is wrong.
pub fn read(path: &Path, text: &str, owner: FileOwner<'_>) -> FileContents {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { path, text, owner, broken: Vec::new() };
    reader.broken = errors
        .iter()
        .map(|error| ConfigProblem::new(reader.place(error.span().map_or(0, |span| span.start)), error.message()))
        .collect();
    let mut contents = FileContents { problems: reader.broken.clone(), ..FileContents::default() };
    reader.table(root.get_ref(), "", &mut contents);
    contents
}

fn same_line(left: &ValueSource, right: &ValueSource) -> bool {
    matches!((left, right), (ValueSource::File { line: left, .. }, ValueSource::File { line: right, .. }) if left == right)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    owner: FileOwner<'a>,
    /// What the parser could not read. What it guessed in its stead is not what was written there.
    broken: Vec<ConfigProblem>,
}

impl Reader<'_> {
    /// A table that holds sections: the file itself, or a section with others inside.
    fn table(&self, table: &DeTable<'_>, outer: &str, contents: &mut FileContents) {
        let own = section(outer);
        for (key, value) in table {
            let name = if outer.is_empty() { key.get_ref().to_string() } else { format!("{outer}.{}", key.get_ref()) };
            let place = self.place(key.span().start);
            if own.is_none() && self.broken_at(&place).is_some() {
                continue;
            }
            match (section(&name), own, value.get_ref()) {
                (Some(inner), _, DeValue::Table(table)) if inner.rows == SectionCount::One => {
                    self.table(table, inner.name, contents);
                }
                (Some(inner), _, DeValue::Array(rows)) if inner.rows == SectionCount::Many => {
                    let rows = rows.iter().filter_map(|row| self.row(inner, row, &mut contents.problems));
                    contents.rows.extend(rows.collect::<Vec<_>>());
                }
                (Some(inner), ..) => {
                    let header = inner.header();
                    let text = format!("{:?} is a separate section; write {header}: {}", inner.name, inner.doc);
                    contents.problems.push(ConfigProblem::new(place, text));
                }
                (None, Some(own), _) => match self.entry(own, key, value) {
                    Ok(entry) => contents.entries.push(entry),
                    Err(problem) => contents.problems.push(problem),
                },
                (None, None, _) => {
                    contents.problems.push(ConfigProblem::new(place, self.unknown_section(&name, value.get_ref())));
                }
            }
        }
    }

    fn row(
        &self,
        own: &'static Section,
        row: &Spanned<DeValue<'_>>,
        problems: &mut Vec<ConfigProblem>,
    ) -> Option<FileRow> {
        let place = self.place(row.span().start);
        let no_tables = |section: &Section, place: ValueSource| {
            ConfigProblem::new(place, format!("{:?} takes tables; write {}", section.name, section.header()))
        };
        let DeValue::Table(table) = row.get_ref() else {
            problems.push(no_tables(own, place));
            return None;
        };
        let (mut entries, mut rows) = (Vec::new(), Vec::new());
        for (key, value) in table {
            match (section(&format!("{}.{}", own.name, key.get_ref())), value.get_ref()) {
                (Some(inner), DeValue::Array(items)) => {
                    rows.extend(items.iter().filter_map(|item| self.row(inner, item, problems)));
                }
                (Some(inner), _) => problems.push(no_tables(inner, self.place(key.span().start))),
                (None, _) => match self.entry(own, key, value) {
                    Ok(entry) => entries.push(entry),
                    Err(problem) => problems.push(problem),
                },
            }
        }
        Some(FileRow { section: own, place, entries, rows })
    }

    fn entry(
        &self,
        section: &'static Section,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<FileEntry, ConfigProblem> {
        let place = self.place(key.span().start);
        let broken = self.broken_at(&place).cloned();
        let Some(setting) = section.setting(key.get_ref()) else {
            let known = section.settings.iter().filter(|setting| self.owner.knows(setting));
            let names: Vec<&str> = known.map(|setting| setting.key).collect();
            let hint = instead(key.get_ref(), names.iter().copied(), &names);
            let unknown =
                || ConfigProblem::new(place, format!("unknown key {:?} in {}{hint}", key.get_ref(), section.header()));
            return Err(broken.unwrap_or_else(unknown));
        };
        if let Some(problem) = broken {
            return Ok(FileEntry { section, setting, place, written: Err(problem), variables: Vec::new() });
        }
        let span = value.span();
        let mut taken = Vec::new();
        let mut text = |text: &str| {
            let FileOwner::Operator(environment) = self.owner else { return Ok(WrittenValue::Quoted(text.to_owned())) };
            taken.extend(variables(text).map(str::to_owned));
            substitute(text, environment).map_err(|failure| {
                let text = format!("{}.{}: {}", section.name, setting.key, failure.text);
                ConfigProblem::new(self.place(self.find(&span, &failure.at)), text)
            })
        };
        let written = WrittenValue::from_toml(value.get_ref(), &mut text);
        Ok(FileEntry { section, setting, place: self.place(span.start), written, variables: taken })
    }

    fn broken_at(&self, place: &ValueSource) -> Option<&ConfigProblem> {
        self.broken.iter().find(|problem| same_line(&problem.place, place))
    }

    /// Where the part of a value begins, or the value, when an escape spells the part otherwise.
    fn find(&self, span: &Range<usize>, part: &str) -> usize {
        let within = self.text.get(span.clone()).and_then(|value| value.find(part));
        span.start + within.unwrap_or(0)
    }

    fn place(&self, offset: usize) -> ValueSource {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ValueSource::File {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    fn unknown_section(&self, name: &str, value: &DeValue<'_>) -> String {
        let headers: Vec<String> = self.owner.sections().map(Section::header).collect();
        let hint = instead(name, self.owner.sections().map(|section| section.name), &headers);
        match value {
            DeValue::Table(_) => format!("unknown section {name:?}{hint}"),
            _ => format!("{name:?} is outside every section{hint}"),
        }
    }
}
