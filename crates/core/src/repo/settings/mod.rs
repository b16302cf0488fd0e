//! What a repository says about itself in [`FILE`]: a part of the settings, within what the operator allows.
//!
//! Only the file of the default branch counts. What is allowed is decided when it is used and not when it is read, so that a file
//! stays right when the operator changes their mind.

mod effect;
mod event;
mod file_check;
mod in_force;
mod reading;

use std::borrow::Cow;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::ids::Sha;
use crate::repo::Settings;
use crate::repo::ratchet::ApprovalRule;
use crate::repo::trains::message::SquashMessageTemplates;

pub use effect::{Effect, EffectKey};
pub use event::Event;
pub use file_check::{CHECK, SettingsFileProblem, SettingsFileVerdict};
pub use in_force::{SettingInForce, SettingOrigin};
pub use reading::{CheckPublication, SettingsFileChange, SettingsFileReading};
pub(super) use reading::{Own, apply, backoffs, completed, due, forked, pushed, seen, settings_after};

/// Where it is, in every repository.
pub const FILE: &str = ".github/merge-train.toml";

/// What the file sets; what it does not is as the operator has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositorySettings {
    #[serde(skip_serializing_if = "is_default")]
    pub behavior: RepositoryBehavior,
    #[serde(skip_serializing_if = "is_default")]
    pub merge: RepositoryMerge,
    #[serde(skip_serializing_if = "is_default")]
    pub ratchet: RepositoryRatchet,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryBehavior {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stack_size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_start: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_branches: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryMerge {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryRatchet {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_budget: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_ci_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve_pushes: Option<Vec<String>>,
}

/// The file at one commit of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    pub at: Sha,
    /// What is in it; none where there is none.
    pub blob: Option<Sha>,
    pub said: Result<RepositorySettings, Vec<SettingsFileProblem>>,
}

/// What a pull request would make of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsProposal {
    /// It does not touch it.
    Untouched,
    /// It would take it away.
    Removed,
    Written(Result<RepositorySettings, Vec<SettingsFileProblem>>),
}

impl RepositorySettings {
    /// The settings that are in force. Where the operator set a bound, the stricter of both counts.
    pub fn within<'s>(&self, operator: &'s Settings) -> Cow<'s, Settings> {
        if *self == Self::default() {
            return Cow::Borrowed(operator);
        }
        let Self { behavior, merge, ratchet } = self;
        let mut settings = operator.clone();
        at_most(&mut settings.max_stack_size, behavior.max_stack_size);
        replace(&mut settings.auto_start, behavior.auto_start);
        replace(&mut settings.delete_branches, behavior.delete_branches);
        replace(&mut settings.merge_in_background, merge.background);
        let SquashMessageTemplates { title, body } = &operator.wording;
        settings.wording = SquashMessageTemplates {
            title: merge.title.clone().or(title.clone()),
            body: merge.body.clone().or(body.clone()),
        };
        replace(&mut settings.ratchet.enabled, ratchet.enabled);
        at_most(&mut settings.ratchet.max_attempts, ratchet.max_attempts);
        at_most(&mut settings.ratchet.daily_budget, ratchet.daily_budget);
        replace(&mut settings.ratchet.stale_ci_timeout, ratchet.stale_ci_timeout_ms.map(duration));
        replace(&mut settings.ratchet.grace, ratchet.grace_ms.map(duration));
        if let Some(patterns) = &ratchet.approve_pushes {
            settings.ratchet.approve = operator.ratchet.approve.and(&ApprovalRule::of(patterns));
        }
        Cow::Owned(settings)
    }
}

fn at_most<T: Ord>(bound: &mut T, wanted: Option<T>) {
    if let Some(wanted) = wanted.filter(|wanted| *wanted < *bound) {
        *bound = wanted;
    }
}

fn replace<T>(value: &mut T, wanted: Option<T>) {
    if let Some(wanted) = wanted {
        *value = wanted;
    }
}

fn duration(ms: u64) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests;
