//! From what is written to what is meant: the environment over the file over the defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::environment::Environment;
use super::file::{self, FileContents, FileEntry};
use super::kind::{ValueKind, WrittenValue};
use super::problem::{ConfigProblem, ValueSource};
use super::settings::{SECTIONS, Section, SectionCount, Setting, SettingRequirement};

/// A setting, by the names of its section and key.
type SettingName = (&'static str, &'static str);

/// A configuration in the making: what is set so far, where, and what is wrong with it.
#[derive(Default)]
pub struct ConfigBuilder {
    values: BTreeMap<SettingName, (Value, ValueSource)>,
    rows: BTreeMap<&'static str, Vec<BuiltRow>>,
    /// The variables that secrets are taken from.
    feeds: BTreeSet<String>,
    pub problems: Vec<ConfigProblem>,
}

/// One `[[…]]` of a section that repeats.
pub struct BuiltRow {
    pub place: ValueSource,
    values: Map<String, Value>,
}

impl BuiltRow {
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).and_then(Value::as_str)
    }

    /// The row as a typed section; none where something of it is missing, which is complained of elsewhere.
    pub fn typed<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_value(Value::Object(self.values.clone())).ok()
    }
}

impl ConfigBuilder {
    /// What the file and the environment say. Paths in the file are seen from its directory.
    pub fn new(contents: FileContents, directory: &Path, environment: &Environment) -> Self {
        let mut builder = Self { problems: contents.problems, ..Self::default() };
        for entry in contents.entries {
            let overridden = environment.setting(entry.section, entry.setting).is_some();
            if let Some(value) = builder.accept(&entry, directory, overridden) {
                builder.values.insert((entry.section.name, entry.setting.key), (value, entry.place));
            }
        }
        for row in contents.rows {
            let section = row.section.name;
            let row = builder.row(row, directory);
            builder.rows.entry(section).or_default().push(row);
        }
        builder.take_environment(environment);
        builder
    }

    fn accept(&mut self, entry: &FileEntry, directory: &Path, overridden: bool) -> Option<Value> {
        if entry.setting.kind.reveals() {
            self.feeds.extend(entry.variables.iter().cloned());
        }
        let outcome = match &entry.written {
            Ok(written) => judge(entry.section, entry.setting, written, &entry.place),
            Err(_) if overridden => return None,
            Err(problem) => Err(problem.clone()),
        };
        match outcome {
            Ok(Value::String(path)) if entry.setting.kind == ValueKind::Path => Some(absolute(directory, &path)),
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    fn row(&mut self, row: file::FileRow, directory: &Path) -> BuiltRow {
        let file::FileRow { section, place, entries, rows } = row;
        let mut values = Map::new();
        for entry in &entries {
            if let Some(value) = self.accept(entry, directory, false) {
                values.insert(entry.setting.key.to_owned(), value);
            }
        }
        for setting in section.settings {
            let written = entries.iter().any(|entry| entry.setting.key == setting.key);
            if setting.requirement == SettingRequirement::Required && !written {
                let text = format!("{} lacks {:?}: {}", section.header(), setting.key, setting.doc);
                self.problems.push(ConfigProblem::new(place.clone(), text));
            } else if !written && let Some(value) = default(section, setting) {
                values.insert(setting.key.to_owned(), value);
            }
        }
        for inner in rows {
            let name = inner.section.name.rsplit('.').next().unwrap_or_default();
            let inner = Value::Object(self.row(inner, directory).values);
            let all = values.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            all.as_array_mut().expect("rows are a list").push(inner);
        }
        BuiltRow { place, values }
    }

    fn take_environment(&mut self, environment: &Environment) {
        for (section, setting) in single_settings() {
            let Some((variable, text)) = environment.setting(section, setting) else { continue };
            let place = ValueSource::Variable(variable);
            match judge(section, setting, &WrittenValue::Bare(text.to_owned()), &place) {
                Ok(Value::String(path)) if setting.kind == ValueKind::Path => {
                    _ = self.values.insert((section.name, setting.key), (absolute(Path::new(""), &path), place));
                }
                Ok(value) => _ = self.values.insert((section.name, setting.key), (value, place)),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    /// Gives every setting that is not set its default.
    pub fn take_defaults(&mut self) {
        for (section, setting) in single_settings() {
            if let Some(value) = default(section, setting) {
                self.values.entry((section.name, setting.key)).or_insert((value, ValueSource::Nowhere));
            }
        }
    }

    /// The text of a setting and where it stands, if it is set.
    pub fn text(&self, section: &'static str, key: &'static str) -> Option<(&str, &ValueSource)> {
        let (value, place) = self.values.get(&(section, key))?;
        value.as_str().map(|text| (text, place))
    }

    /// The texts of a setting and where they stand, if it is set.
    pub fn texts(&self, section: &'static str, key: &'static str) -> Option<(Vec<&str>, &ValueSource)> {
        let (value, place) = self.values.get(&(section, key))?;
        Some((value.as_array()?.iter().filter_map(Value::as_str).collect(), place))
    }

    /// Whether a secret is taken from this variable.
    pub fn feeds_a_secret(&self, variable: &str) -> bool {
        self.feeds.contains(variable)
    }

    /// The number of a setting and where it stands, if it is set.
    pub fn number(&self, section: &'static str, key: &'static str) -> Option<(u64, &ValueSource)> {
        let (value, place) = self.values.get(&(section, key))?;
        value.as_u64().map(|number| (number, place))
    }

    /// Where a setting stands, if it is set.
    pub fn place(&self, section: &'static str, key: &'static str) -> Option<&ValueSource> {
        self.values.get(&(section, key)).map(|(_, place)| place)
    }

    /// Sets what follows from another setting.
    pub fn derive(&mut self, section: &'static str, key: &'static str, text: String, from: ValueSource) {
        self.values.insert((section, key), (text.into(), from));
    }

    pub fn rows(&self, section: &'static str) -> &[BuiltRow] {
        self.rows.get(section).map_or(&[], Vec::as_slice)
    }

    pub fn complain(&mut self, place: ValueSource, text: impl Into<String>) {
        self.problems.push(ConfigProblem::new(place, text));
    }

    /// The tree that the typed sections are read from, and where each setting stood.
    pub fn finish(self) -> (Value, BTreeMap<SettingName, ValueSource>) {
        let mut root = Map::new();
        for section in SECTIONS.iter().filter(|section| !section.is_nested()) {
            let value = match section.rows {
                SectionCount::One => Value::Object(Map::new()),
                SectionCount::Many => Value::Array(Vec::new()),
            };
            insert(&mut root, section.name, value);
        }
        let mut places = BTreeMap::new();
        for ((section, key), (value, place)) in self.values {
            insert(&mut root, &format!("{section}.{key}"), value);
            places.insert((section, key), place);
        }
        for (section, rows) in self.rows {
            insert(&mut root, section, rows.into_iter().map(|row| Value::Object(row.values)).collect());
        }
        (Value::Object(root), places)
    }
}

/// A path as every process sees it, wherever it runs: git runs in the root folder.
fn absolute(directory: &Path, path: &str) -> Value {
    let path = directory.join(path);
    std::path::absolute(&path).unwrap_or(path).to_string_lossy().into()
}

fn single_settings() -> impl Iterator<Item = (&'static Section, &'static Setting)> {
    let single = SECTIONS.iter().filter(|section| section.rows == SectionCount::One);
    single.flat_map(|section| section.settings.iter().map(move |setting| (section, setting)))
}

fn judge(
    section: &Section,
    setting: &Setting,
    written: &WrittenValue,
    place: &ValueSource,
) -> Result<Value, ConfigProblem> {
    let complain = |text| ConfigProblem::new(place.clone(), format!("{}.{} {text}", section.name, setting.key));
    setting.kind.accept(written).map_err(complain)
}

fn default(section: &Section, setting: &Setting) -> Option<Value> {
    let written = WrittenValue::Bare(setting.default?.to_owned());
    let value = setting.kind.accept(&written);
    Some(value.unwrap_or_else(|text| panic!("the default of {}.{} {text}", section.name, setting.key)))
}

/// Puts a value where `a.b.c` says.
fn insert(root: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => _ = root.insert(path.to_owned(), value),
        Some((first, rest)) => {
            let inner = root.entry(first).or_insert_with(|| Value::Object(Map::new()));
            insert(inner.as_object_mut().expect("a section holds settings, not a value"), rest, value);
        }
    }
}
