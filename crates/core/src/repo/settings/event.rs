//! What the repository says about itself. These are events of the repository's stream; their JSON is an interface.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RepositorySettings, SettingsFileChange, SettingsFileProblem, SettingsFileVerdict};
use crate::ids::{PrNumber, Sha};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A push touched the file.
    SettingsWanted {},
    /// It is what it was.
    SettingsConfirmed {},
    /// The file of the default branch, at this commit, is another.
    SettingsObserved {
        head_sha: Sha,
        /// None where there is no file.
        #[serde(default)]
        blob: Option<Sha>,
        /// None where something is wrong with it: those before stay in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<RepositorySettings>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<SettingsFileProblem>,
    },
    /// This pull request may change the file.
    ProposalSuspected {
        pr: PrNumber,
        head_sha: Sha,
    },
    /// It is known whether it does.
    ProposalSettled {
        pr: PrNumber,
        head_sha: Sha,
        standing: SettingsFileChange,
    },
    /// A check on this commit is to say what is thought of the file in it.
    CheckOwed {
        head_sha: Sha,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        #[serde(flatten)]
        verdict: SettingsFileVerdict,
    },
    CheckShown {
        head_sha: Sha,
    },
    CheckDelayed {
        head_sha: Sha,
        reason: String,
        retry_at: Timestamp,
    },
    /// GitHub does not take it.
    CheckDropped {
        head_sha: Sha,
        reason: String,
    },
}
