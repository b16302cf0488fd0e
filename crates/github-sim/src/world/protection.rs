//! Branch protection and rulesets, as they were set. What follows from them for one branch is `crate::policy`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Id;
use super::table::{Doc, Key};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Protection {
    pub required_status_checks: Option<RequiredStatusChecks>,
    pub required_reviews: Option<RequiredReviews>,
    pub restrictions: Option<Restrictions>,
    pub enforce_admins: bool,
    pub required_linear_history: bool,
    pub allow_force_pushes: bool,
    pub allow_deletions: bool,
    pub block_creations: bool,
    pub required_conversation_resolution: bool,
    pub lock_branch: bool,
    pub allow_fork_syncing: bool,
    pub required_signatures: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RequiredStatusChecks {
    pub strict: bool,
    pub checks: Vec<RequiredCheck>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredCheck {
    pub context: String,
    /// The app that must report it; none means anyone may.
    pub app_id: Option<Id>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RequiredReviews {
    pub dismiss_stale_reviews: bool,
    pub require_code_owner_reviews: bool,
    pub required_approving_review_count: u64,
    pub require_last_push_approval: bool,
}

/// Who may push.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Restrictions {
    pub users: BTreeSet<Id>,
    pub apps: BTreeSet<Id>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ruleset {
    pub repo: Id,
    pub id: Id,
    pub name: String,
    /// `branch`, `tag` or `push`.
    pub target: String,
    pub enforcement: RulesetEnforcement,
    /// Ref names: full (`refs/heads/main`), `fnmatch`, `~DEFAULT_BRANCH` or `~ALL`.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// As given: `{"type": …, "parameters": …}`.
    pub rules: Vec<Value>,
    pub bypass_actors: Vec<Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Doc for Ruleset {
    const KIND: &'static str = "ruleset";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulesetEnforcement {
    Disabled,
    Active,
    Evaluate,
}
