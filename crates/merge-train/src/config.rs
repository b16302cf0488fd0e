//! What the operator wants: `merge-train.toml`, the environment, and the defaults.
//!
//! [`settings`] lists every setting there is; the file, the environment, the defaults and `docs/configuration.md` go by
//! that one list. Reading ([`Config::load`]) asks only that what is written is right; what a command cannot do without
//! is asked for separately ([`Config::check_for_serve`]), so that `merge-train state export` needs nothing but `[state]`.

mod builder;
mod consistency;
mod environment;
mod file;
mod keys;
mod kind;
mod near;
mod new_file;
mod private;
mod problem;
mod repository_file;
mod requirements;
mod sections;
mod settings;
mod substitute;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use environment::Environment;
pub use keys::*;
pub use merge_train_core::secret::Secret;
pub use near::near;
pub use new_file::NewFileValues;
pub use private::HomeFolder;
pub use problem::{Error, ValueSource};
pub use repository_file::own_settings;
pub use requirements::{Credentials, ServeRequirements, Storage};
pub use sections::*;

/// The file that is read when none is named.
pub const DEFAULT_FILE: &str = "merge-train.toml";

/// Everything that can be configured, checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub github: GithubSettings,
    pub git: GitSettings,
    pub state: StateSettings,
    pub server: ServerSettings,
    pub behavior: BehaviorSettings,
    pub merge: MergeSettings,
    pub housekeeping: HousekeepingSettings,
    pub log: LogSettings,
    pub api_keys: Vec<ApiKey>,
    pub ratchet: RatchetSettings,
    pub runs: RunSettings,
    pub workflows: Vec<WorkflowSettings>,
    pub schedules: Vec<ScheduleSettings>,
    pub slack: SlackSettings,
    pub slack_channels: Vec<SlackChannelSettings>,
    pub slack_workspaces: Vec<SlackWorkspaceSettings>,
    /// What is odd but does no harm; for the log.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Where each setting stood, for a complaint that comes later.
    #[serde(skip)]
    places: BTreeMap<(&'static str, &'static str), ValueSource>,
}

impl Config {
    /// Reads the file at `path`; without one, [`DEFAULT_FILE`] in the working directory if it is there. The environment
    /// overrides the file, and the defaults fill the rest.
    pub fn load(path: Option<&Path>, environment: &Environment) -> Result<Self, Error> {
        let wanted = path.unwrap_or(Path::new(DEFAULT_FILE));
        let text = match fs::read_to_string(wanted) {
            Ok(text) => text,
            Err(error) if path.is_none() && error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(Error::Unreadable { path: wanted.to_owned(), source }),
        };
        Self::parse(wanted, &text, environment)
    }

    /// What a file says that has this text.
    pub fn parse(path: &Path, text: &str, environment: &Environment) -> Result<Self, Error> {
        let contents = file::read(path, text, file::FileOwner::Operator(environment));
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut builder = builder::ConfigBuilder::new(contents, directory, environment);
        consistency::settle(&mut builder);
        builder.take_defaults();
        consistency::compare(&mut builder);
        problem::none_of(std::mem::take(&mut builder.problems))?;
        let (values, places) = builder.finish();
        let config: Self = serde_json::from_value(values).expect("a setting's kind fits the field that it fills");
        Ok(Self { warnings: environment.warnings(), places, ..config })
    }

    /// Whether the file or the environment sets it, or another setting that it follows from.
    pub fn sets(&self, section: &'static str, key: &'static str) -> bool {
        self.place(section, key) != ValueSource::Nowhere
    }

    fn place(&self, section: &'static str, key: &'static str) -> ValueSource {
        self.places.get(&(section, key)).cloned().unwrap_or(ValueSource::Nowhere)
    }
}

/// A path that is a setting's default.
pub fn default_path(section: &str, key: &str) -> PathBuf {
    let setting = settings::section(section).and_then(|section| section.setting(key));
    setting.and_then(|setting| setting.default).unwrap_or_default().into()
}

/// The secrets that stand in the file themselves, and not as the name of a variable. Nothing where it cannot be read.
pub fn secrets_in(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // Where no variable is known, what is read stands there as it is.
    let contents = file::read(path, &text, file::FileOwner::Operator(&Environment::default()));
    let secret = |entry: &&file::FileEntry| entry.setting.kind.reveals() && entry.written.is_ok();
    let written = contents.entries.iter().filter(secret);
    written.map(|entry| format!("{}.{}", entry.section.name, entry.setting.key)).collect()
}
