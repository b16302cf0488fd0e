//! What is done outside about pull requests under ratchet.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{FixIssue, FixPush};
use crate::ids::{BranchName, PrNumber, Sha};
use crate::repo::EffectOwner;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Read what was said about these; those that GitHub does not have are absent from the answer.
    ReadTalk { prs: Vec<PrNumber> },
    /// Find out what is wrong with a pull request, and write down what a fixer is told of it.
    Diagnose {
        pr: PrNumber,
        issue: FixIssue,
        branch: BranchName,
        base: BranchName,
        head: Sha,
        conflicts: bool,
        /// What a fixer dealt with before.
        handled: BTreeMap<String, Timestamp>,
    },
    /// Let a fixer fix a pull request, to its end. Begun again after a crash, it goes on with what the first left.
    Fix {
        pr: PrNumber,
        /// When it was sent: its name.
        at: Timestamp,
        issue: FixIssue,
        branch: BranchName,
        base: BranchName,
        head: Sha,
        conflicts: bool,
        handled: BTreeMap<String, Timestamp>,
    },
    /// Push to GitHub what a fixer pushed; or only look whether that is there.
    Forward { pr: PrNumber, at: Timestamp, branch: BranchName, push: FixPush, doubted: bool },
    /// Remove what a fixer that has ended leaves behind.
    ClearFixer { pr: PrNumber, at: Timestamp, head: Sha },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    ReadTalk,
    Diagnose(PrNumber),
    Fix(PrNumber),
    Forward(PrNumber),
    ClearFixer(PrNumber, Timestamp),
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReadTalk { .. } => "read_talk",
            Self::Diagnose { .. } => "diagnose",
            Self::Fix { .. } => "fix",
            Self::Forward { doubted: false, .. } => "forward",
            Self::Forward { doubted: true, .. } => "probe_forward",
            Self::ClearFixer { .. } => "clear_fixer",
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::ReadTalk { .. } => EffectKey::ReadTalk,
            Self::Diagnose { pr, .. } => EffectKey::Diagnose(*pr),
            Self::Fix { pr, .. } => EffectKey::Fix(*pr),
            Self::Forward { pr, .. } => EffectKey::Forward(*pr),
            Self::ClearFixer { pr, at, .. } => EffectKey::ClearFixer(*pr, *at),
        }
    }

    /// What it is done for, whose end ends it.
    pub(in crate::repo) fn served(&self) -> Option<EffectOwner> {
        match self {
            Self::Fix { pr, .. } => Some(EffectOwner::Fixer(*pr)),
            Self::ReadTalk { .. } | Self::Diagnose { .. } | Self::Forward { .. } | Self::ClearFixer { .. } => None,
        }
    }
}
