//! What branch protection and rulesets together demand of one branch.

mod merge;
mod push;

pub use merge::{for_merge, keeps_out};
pub use push::{Source, as_error, push_rules, refusals};

use crate::world::{Id, MergeMethod, Protection, Repo, RequiredCheck, Ruleset, RulesetEnforcement, World};

/// Everything in force for a branch. The default demands nothing.
#[derive(Clone, Debug, Default)]
pub struct BranchPolicy {
    pub protected: bool,
    pub required_checks: Vec<RequiredCheck>,
    /// The head must contain the base before it may be merged.
    pub strict: bool,
    /// Changes only through pull requests.
    pub requires_pull_request: bool,
    pub required_approvals: u64,
    pub dismiss_stale_reviews: bool,
    pub require_last_push_approval: bool,
    pub require_conversation_resolution: bool,
    pub linear_history: bool,
    pub no_force_push: bool,
    pub no_deletion: bool,
    pub no_update: bool,
    pub no_creation: bool,
    /// Classic protection lets administrators pass unless told not to; a ruleset lets pass only those it names.
    pub binds_admins: bool,
    /// Who may push, if only some may.
    pub push_allowed: Option<(Vec<Id>, Vec<Id>)>,
    /// The methods a ruleset allows, if it names any.
    pub merge_methods: Option<Vec<MergeMethod>>,
}

pub fn for_branch(world: &World, repo: &Repo, branch: &str) -> BranchPolicy {
    let mut policy = BranchPolicy::default();
    if let Some(protection) = protection_of(repo, branch) {
        policy.add_protection(protection);
    }
    for applied in rules_for_branch(world, repo, branch) {
        policy.add_rule(applied.rule);
    }
    policy
}

/// The classic protection of a branch: its own, or the first whose pattern it matches.
pub fn protection_of<'r>(repo: &'r Repo, branch: &str) -> Option<&'r Protection> {
    repo.protections.get(branch).or_else(|| {
        repo.protections.iter().find(|(pattern, _)| fnmatch(pattern, branch)).map(|(_, protection)| protection)
    })
}

/// A rule of an active ruleset that applies to a branch, and the ruleset it comes from.
pub struct AppliedRule<'w> {
    pub ruleset: &'w Ruleset,
    pub rule: &'w serde_json::Value,
}

pub fn rules_for_branch<'w>(
    world: &'w World,
    repo: &'w Repo,
    branch: &str,
) -> impl Iterator<Item = AppliedRule<'w>> + use<'w> {
    rules_for_ref(world, repo, format!("refs/heads/{branch}"))
}

/// The same for any ref, by its full name: rulesets are for branches or for tags.
pub fn rules_for_ref<'w>(
    world: &'w World,
    repo: &'w Repo,
    name: String,
) -> impl Iterator<Item = AppliedRule<'w>> + use<'w> {
    let target = if name.starts_with("refs/tags/") { "tag" } else { "branch" };
    world
        .rulesets
        .within(repo.id)
        .filter(move |ruleset| {
            let hit = |pattern: &String| match pattern.as_str() {
                "~ALL" => true,
                "~DEFAULT_BRANCH" => name.strip_prefix("refs/heads/") == Some(repo.default_branch.as_str()),
                pattern => fnmatch(pattern, &name),
            };
            ruleset.target == target
                && ruleset.enforcement == RulesetEnforcement::Active
                && ruleset.include.iter().any(hit)
                && !ruleset.exclude.iter().any(hit)
        })
        .flat_map(|ruleset| ruleset.rules.iter().map(move |rule| AppliedRule { ruleset, rule }))
}

impl BranchPolicy {
    fn add_protection(&mut self, protection: &Protection) {
        self.protected = true;
        self.binds_admins |= protection.enforce_admins;
        if let Some(checks) = &protection.required_status_checks {
            self.required_checks.extend(checks.checks.iter().cloned());
            self.strict |= checks.strict;
        }
        if let Some(reviews) = &protection.required_reviews {
            self.requires_pull_request = true;
            self.required_approvals = self.required_approvals.max(reviews.required_approving_review_count);
            self.dismiss_stale_reviews |= reviews.dismiss_stale_reviews;
            self.require_last_push_approval |= reviews.require_last_push_approval;
        }
        if let Some(restrictions) = &protection.restrictions {
            self.push_allowed =
                Some((restrictions.users.iter().copied().collect(), restrictions.apps.iter().copied().collect()));
        }
        self.linear_history |= protection.required_linear_history;
        self.no_force_push |= !protection.allow_force_pushes;
        self.no_deletion |= !protection.allow_deletions;
        self.no_update |= protection.lock_branch;
        self.require_conversation_resolution |= protection.required_conversation_resolution;
    }

    fn add_rule(&mut self, rule: &serde_json::Value) {
        let parameters = &rule["parameters"];
        let flag = |name: &str| parameters[name].as_bool().unwrap_or(false);
        self.protected = true;
        self.binds_admins = true;
        match rule["type"].as_str().unwrap_or_default() {
            "creation" => self.no_creation = true,
            "update" => self.no_update = true,
            "deletion" => self.no_deletion = true,
            "non_fast_forward" => self.no_force_push = true,
            "required_linear_history" => self.linear_history = true,
            "pull_request" => {
                self.requires_pull_request = true;
                let approvals = parameters["required_approving_review_count"].as_u64().unwrap_or(0);
                self.required_approvals = self.required_approvals.max(approvals);
                self.dismiss_stale_reviews |= flag("dismiss_stale_reviews_on_push");
                self.require_last_push_approval |= flag("require_last_push_approval");
                self.require_conversation_resolution |= flag("required_review_thread_resolution");
                if let Some(methods) = parameters["allowed_merge_methods"].as_array() {
                    let methods =
                        methods.iter().filter_map(|method| serde_json::from_value(method.clone()).ok()).collect();
                    self.merge_methods = Some(methods);
                }
            }
            "required_status_checks" => {
                self.strict |= flag("strict_required_status_checks_policy");
                for check in parameters["required_status_checks"].as_array().into_iter().flatten() {
                    let Some(context) = check["context"].as_str() else { continue };
                    let app_id = check["integration_id"].as_u64();
                    self.required_checks.push(RequiredCheck { context: context.to_owned(), app_id });
                }
            }
            _ => {}
        }
    }
}

/// The required checks that have not passed at `sha`, by name.
pub fn missing_checks(world: &World, repo: Id, sha: &str, policy: &BranchPolicy) -> Vec<String> {
    let contexts = crate::rollup::contexts(world, repo, sha);
    policy
        .required_checks
        .iter()
        .filter(|required| !contexts.iter().any(|context| context.satisfies(required)))
        .map(|required| required.context.clone())
        .collect()
}

/// `*` within a path part, `**` across parts, `?` for one character, as GitHub's branch patterns.
pub fn fnmatch(pattern: &str, text: &str) -> bool {
    let mut pattern_chars = pattern.chars();
    match pattern_chars.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = pattern_chars.as_str();
            let (rest, crosses) = match rest.strip_prefix('*') {
                Some(rest) => (rest.strip_prefix('/').unwrap_or(rest), true),
                None => (rest, false),
            };
            let reach = if crosses { text.len() } else { text.find('/').unwrap_or(text.len()) };
            (0..=reach).filter(|at| text.is_char_boundary(*at)).any(|at| fnmatch(rest, &text[at..]))
        }
        Some('?') => {
            let mut rest = text.chars();
            rest.next().is_some_and(|c| c != '/') && fnmatch(pattern_chars.as_str(), rest.as_str())
        }
        Some(c) => text.strip_prefix(c).is_some_and(|rest| fnmatch(pattern_chars.as_str(), rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::fnmatch;

    #[test]
    fn branch_patterns_match_as_github_s_do() {
        for (pattern, text) in [
            ("main", "main"),
            ("release/*", "release/1"),
            ("**", "a/b/c"),
            ("a/**/b", "a/x/y/b"),
            ("v?", "v1"),
            ("*", "x"),
            ("refs/heads/feat*", "refs/heads/feature"),
        ] {
            assert!(fnmatch(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("main", "mainx"), ("release/*", "release/1/2"), ("*", "a/b"), ("v?", "v12"), ("v?", "v")]
        {
            assert!(!fnmatch(pattern, text), "{pattern} {text}");
        }
    }
}
