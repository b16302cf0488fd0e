//! The rules of a branch: protection, and rulesets of the repository and of its organization.

use merge_train_core::ids::BranchName;
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;

/// How GitHub says that a branch has no protection; who may not look gets another message.
const UNPROTECTED: &str = "not protected";
/// How GitHub says that a private repository can have no rules: "Upgrade to GitHub Pro or make this repository public …".
const NOT_IN_THIS_PLAN: &str = "Upgrade to GitHub";

/// The classic protection of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BranchProtection {
    pub required_pull_request_reviews: Option<RequiredReviews>,
    pub required_status_checks: Option<RequiredChecks>,
    #[serde(default)]
    pub lock_branch: Switch,
}

/// A part of protection that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Switch {
    pub enabled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RequiredReviews {
    /// A push takes approvals away: no train can run like that.
    #[serde(default)]
    pub dismiss_stale_reviews: bool,
    #[serde(default)]
    pub required_approving_review_count: u32,
    /// Somebody else than whoever pushed last must approve what was pushed.
    #[serde(default)]
    pub require_last_push_approval: bool,
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

impl Ruleset {
    /// Whether it is enforced on a branch, which is the default branch.
    pub fn binds_default(&self, branch: &BranchName) -> bool {
        let named = |list: &str| {
            let patterns = self.conditions.as_ref().and_then(|conditions| conditions["ref_name"][list].as_array());
            let reference = format!("refs/heads/{branch}");
            patterns.into_iter().flatten().filter_map(serde_json::Value::as_str).any(|pattern| match pattern {
                "~ALL" | "~DEFAULT_BRANCH" => true,
                pattern => matches(pattern.as_bytes(), reference.as_bytes()),
            })
        };
        let is_for_branches = self.target.as_deref().is_none_or(|target| target == "branch");
        self.enforcement == Enforcement::Active && is_for_branches && named("include") && !named("exclude")
    }
}

/// Whether a text is one of those that a pattern stands for: `*` is anything but a slash, `**` is anything, `?` one character.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', b'*', rest @ ..], _) => (0..=text.len()).any(|skipped| matches(rest, &text[skipped..])),
        ([b'*', rest @ ..], _) => {
            let segment = text.iter().take_while(|byte| **byte != b'/').count();
            (0..=segment).any(|skipped| matches(rest, &text[skipped..]))
        }
        ([b'?', rest @ ..], [found, text @ ..]) => *found != b'/' && matches(rest, text),
        ([wanted, rest @ ..], [found, text @ ..]) => wanted == found && matches(rest, text),
        _ => false,
    }
}

/// A repository whose plan has no rules is bound by none.
fn without_such_a_plan<T>(rules: Result<Vec<T>, Error>) -> Result<Vec<T>, Error> {
    match rules {
        Err(Error::Forbidden { message, .. }) if message.starts_with(NOT_IN_THIS_PLAN) => Ok(Vec::new()),
        other => other,
    }
}

impl Repo {
    /// None for a branch without protection. Who may not see it, for lack of `administration: read`, is answered with
    /// [`Error::Forbidden`] or [`Error::NotFound`].
    pub async fn branch_protection(&self, branch: &BranchName) -> Result<Option<BranchProtection>, Error> {
        let call = self.get(&["branches", branch.as_str(), "protection"]).cached().expecting(&[403, 404]);
        let answer = self.send(&call).await?;
        let message = answer.message();
        match answer.status {
            404 if message.contains(UNPROTECTED) => Ok(None),
            404 => Err(Error::NotFound { call: answer.call }),
            403 if message.starts_with(NOT_IN_THIS_PLAN) => Ok(None),
            403 => Err(Error::Forbidden { call: answer.call, message }),
            _ => answer.json().map(Some),
        }
    }

    /// The rules of all rulesets that bind a branch: only those that are enforced, and the organization's too.
    pub async fn branch_rules(&self, branch: &BranchName) -> Result<Vec<BranchRule>, Error> {
        without_such_a_plan(self.list(self.get(&["rules", "branches", branch.as_str()]).cached()).await)
    }

    /// All rulesets of the repository and its organization, whatever their enforcement, without their rules.
    pub async fn rulesets(&self) -> Result<Vec<Ruleset>, Error> {
        without_such_a_plan(self.list(self.get(&["rulesets"]).query(&[("includes_parents", "true")]).cached()).await)
    }

    /// A ruleset with its rules.
    pub async fn ruleset(&self, id: u64) -> Result<Option<Ruleset>, Error> {
        let call = self.get(&["rulesets", &id.to_string()]).query(&[("includes_parents", "true")]);
        self.find(&call.cached()).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ruleset(enforcement: &str, include: &[&str], exclude: &[&str]) -> Ruleset {
        let conditions = json!({"ref_name": {"include": include, "exclude": exclude}});
        let ruleset =
            json!({"id": 1, "name": "r", "target": "branch", "enforcement": enforcement, "conditions": conditions});
        serde_json::from_value(ruleset).expect("a ruleset")
    }

    #[test]
    fn a_ruleset_binds_the_branches_that_its_patterns_name() {
        let main: BranchName = "release/main".parse().expect("a name");
        for (include, exclude, expected) in [
            (&["~ALL"][..], &[][..], true),
            (&["~DEFAULT_BRANCH"], &[], true),
            (&["refs/heads/release/main"], &[], true),
            (&["refs/heads/release/*"], &[], true),
            (&["refs/heads/**/main"], &[], true),
            (&["refs/heads/*"], &[], false),
            (&["refs/heads/release/mai?"], &["refs/tags/*"], true),
            (&["~ALL"], &["refs/heads/r*/main"], false),
            (&["refs/heads/other"], &[], false),
            (&[], &[], false),
        ] {
            let found = ruleset("active", include, exclude).binds_default(&main);
            assert_eq!(found, expected, "{include:?} without {exclude:?}");
        }
        assert!(!ruleset("evaluate", &["~ALL"], &[]).binds_default(&main));
        assert!(!Ruleset { target: Some("tag".into()), ..ruleset("active", &["~ALL"], &[]) }.binds_default(&main));
        assert!(!Ruleset { conditions: Some(Value::Null), ..ruleset("active", &[], &[]) }.binds_default(&main));
    }
}
