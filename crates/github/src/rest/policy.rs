//! The rules of a branch: protection, and rulesets of the repository and of its organization.

use merge_train_core::ids::BranchName;
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;

/// The classic protection of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BranchProtection {
    pub required_pull_request_reviews: Option<RequiredReviews>,
    pub required_status_checks: Option<RequiredChecks>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RequiredReviews {
    /// A push takes approvals away: no train can run like that.
    #[serde(default)]
    pub dismiss_stale_reviews: bool,
    #[serde(default)]
    pub required_approving_review_count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RequiredChecks {
    /// The branch must be up to date with its base.
    #[serde(default)]
    pub strict: bool,
    #[serde(default)]
    pub contexts: Vec<String>,
}

/// A rule of a ruleset.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BranchRule {
    /// `pull_request`, `required_status_checks`, …
    #[serde(rename = "type")]
    pub kind: String,
    pub ruleset_id: Option<u64>,
    #[serde(default)]
    pub parameters: serde_json::Value,
}

impl BranchRule {
    /// Whether it takes approvals away at every push.
    pub fn dismisses_stale_reviews(&self) -> bool {
        self.kind == "pull_request" && self.parameters["dismiss_stale_reviews_on_push"] == true
    }

    /// The checks that it asks for.
    pub fn required_checks(&self) -> Vec<&str> {
        let checks = self.parameters["required_status_checks"].as_array().map(Vec::as_slice).unwrap_or_default();
        checks.iter().filter_map(|check| check["context"].as_str()).collect()
    }
}

/// A ruleset. The list leaves out its rules; ask for one to see them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Ruleset {
    pub id: u64,
    pub name: String,
    /// `branch`, `tag` or `push`.
    pub target: Option<String>,
    pub enforcement: Enforcement,
    /// Which refs it is for: `{"ref_name": {"include": […], "exclude": […]}}`.
    #[serde(default)]
    pub conditions: Option<serde_json::Value>,
    #[serde(default)]
    pub rules: Vec<BranchRule>,
}

/// Whether a ruleset has any effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    Active,
    /// Only watched, to see what it would do.
    Evaluate,
    Disabled,
}

impl Repo {
    /// None for a branch without protection. Without `administration: read` the answer is [`Error::Forbidden`].
    pub async fn branch_protection(&self, branch: &BranchName) -> Result<Option<BranchProtection>, Error> {
        self.find(&self.get(&["branches", branch.as_str(), "protection"]).cached()).await
    }

    /// The rules of all rulesets that bind a branch: only those that are enforced, and the organization's too.
    pub async fn branch_rules(&self, branch: &BranchName) -> Result<Vec<BranchRule>, Error> {
        self.list(self.get(&["rules", "branches", branch.as_str()]).cached()).await
    }

    /// All rulesets of the repository and its organization, whatever their enforcement, without their rules.
    pub async fn rulesets(&self) -> Result<Vec<Ruleset>, Error> {
        self.list(self.get(&["rulesets"]).query(&[("includes_parents", "true")]).cached()).await
    }

    /// A ruleset with its rules.
    pub async fn ruleset(&self, id: u64) -> Result<Option<Ruleset>, Error> {
        let call = self.get(&["rulesets", &id.to_string()]).query(&[("includes_parents", "true")]);
        self.find(&call.cached()).await
    }
}
