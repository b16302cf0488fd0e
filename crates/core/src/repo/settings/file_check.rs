//! What is said of a file: nothing is wrong with it, or what is.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::FILE;
use crate::markdown;

/// What the check is called that shows it.
pub const CHECK: &str = "merge-train / configuration";

/// A problem in the file; line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SettingsMistake)]
pub struct SettingsFileProblem {
    pub line: u32,
    pub column: u32,
    pub text: String,
}

/// What is shown of a file, on the commit that it is in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum SettingsFileVerdict {
    Valid {
        /// What of it the operator allows less of, a sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limited: Vec<String>,
    },
    /// There is none any more.
    Removed {},
    Invalid {
        problems: Vec<SettingsFileProblem>,
    },
}

impl SettingsFileVerdict {
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Invalid { .. })
    }

    pub fn problems(&self) -> &[SettingsFileProblem] {
        match self {
            Self::Invalid { problems } => problems,
            Self::Valid { .. } | Self::Removed {} => &[],
        }
    }

    /// It in a line.
    pub fn title(&self) -> String {
        match self {
            Self::Valid { .. } => format!("{FILE} is valid"),
            Self::Removed {} => format!("{FILE} is removed"),
            Self::Invalid { problems } => match problems.len() {
                1 => format!("1 problem in {FILE}"),
                many => format!("{many} problems in {FILE}"),
            },
        }
    }

    /// All of it, in Markdown. The texts quote what others wrote, and so are shown as code.
    pub fn summary(&self) -> String {
        match self {
            Self::Valid { limited } if limited.is_empty() => "Every setting in it applies as written.".to_owned(),
            Self::Valid { limited } => {
                let mut summary =
                    "Every setting in it applies, but the operator of merge-train limits some:\n".to_owned();
                for sentence in limited {
                    let _ = write!(summary, "\n- {sentence}");
                }
                summary
            }
            Self::Removed {} => "Without it, the settings of merge-train's operator apply.".to_owned(),
            Self::Invalid { problems } => {
                let mut summary = String::new();
                for SettingsFileProblem { line, column, text } in problems {
                    let _ = writeln!(summary, "- line {line}, column {column}: {}", markdown::code_span(text));
                }
                let _ = write!(
                    summary,
                    "\nUntil it is fixed, the last valid settings of the default branch stay in force."
                );
                summary
            }
        }
    }

    /// The same as a comment, where a check cannot be shown.
    pub fn comment(&self) -> String {
        let sign = if self.is_failure() { "❌" } else { "✅" };
        format!("{sign} **{}**\n\n{}", self.title(), self.summary())
    }
}
