//! What is read of the repository's own settings, and shown of them.

use super::SettingsFileVerdict;
use crate::ids::{BranchName, PrNumber, Sha};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Read what the repository says about itself, on its default branch.
    ReadSettings { default: BranchName },
    /// Find out whether a pull request changes that, and what it would say.
    ReadProposal { pr: PrNumber, head: Sha },
    /// Have a check on a commit say this of the file in it: the one that does so already, or a new one.
    ShowCheck { head: Sha, verdict: SettingsFileVerdict },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    ReadSettings,
    ReadProposal(PrNumber),
    ShowCheck,
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReadSettings { .. } => "read_settings",
            Self::ReadProposal { .. } => "read_proposal",
            Self::ShowCheck { .. } => "show_check",
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::ReadSettings { .. } => EffectKey::ReadSettings,
            Self::ReadProposal { pr, .. } => EffectKey::ReadProposal(*pr),
            Self::ShowCheck { .. } => EffectKey::ShowCheck,
        }
    }
}
