//! What the environment says, and which of it is ours.

use std::collections::BTreeMap;

use super::near::near;
use super::settings::{PREFIX, SECTIONS, Section, Setting};

/// Variables of this name or beginning belong to the tests and scripts, or to commands that talk to a daemon, and not to
/// the configuration.
const NOT_SETTINGS: &[&str] = &["MERGE_TRAIN_API_KEY", "MERGE_TRAIN_CACHE", "MERGE_TRAIN_SERVER"];
const NOT_SETTINGS_PREFIX: &str = "MERGE_TRAIN_TEST_";

/// The environment at one moment.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// This process's. A variable that is no text is left out: nothing that we read could be one.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(text).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The variable that sets this setting, and what it says.
    pub fn setting(&self, section: &Section, setting: &Setting) -> Option<(String, &str)> {
        let mut names = section.env_names(setting).into_iter();
        names.find_map(|name| self.get(&name).map(|value| (name.clone(), value)))
    }

    /// A sentence for each variable that looks like a setting and is none.
    pub fn warnings(&self) -> Vec<String> {
        let known: Vec<String> = SECTIONS
            .iter()
            .flat_map(|section| section.settings.iter().flat_map(|setting| section.env_names(setting)))
            .collect();
        let ours = self.0.keys().filter(|name| {
            name.starts_with(PREFIX) && !name.starts_with(NOT_SETTINGS_PREFIX) && !NOT_SETTINGS.contains(&name.as_str())
        });
        ours.filter(|name| !known.contains(name))
            .map(|name| {
                let likely = near(name, known.iter().map(String::as_str));
                let hint =
                    if likely.is_empty() { String::new() } else { format!("; did you mean {}?", likely.join(" or ")) };
                format!("the environment variable {name} is not a setting and has no effect{hint}")
            })
            .collect()
    }
}

impl<N: Into<String>, V: Into<String>, const COUNT: usize> From<[(N, V); COUNT]> for Environment {
    fn from(variables: [(N, V); COUNT]) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
