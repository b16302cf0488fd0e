//! What branch protection and rulesets together demand of one branch.

use crate::git::ReceiveCommand;
use crate::http::{Caller, role_of};
use crate::world::{Id, MergeMethod, Repo, RepoRole, RequiredCheck, RulesetEnforcement, World};

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
    let protection = repo.protections.get(branch).or_else(|| {
        repo.protections.iter().find(|(pattern, _)| fnmatch(pattern, branch)).map(|(_, protection)| protection)
    });
    if let Some(protection) = protection {
        policy.protected = true;
        policy.binds_admins |= protection.enforce_admins;
        if let Some(checks) = &protection.required_status_checks {
            policy.required_checks.extend(checks.checks.iter().cloned());
            policy.strict |= checks.strict;
        }
        if let Some(reviews) = &protection.required_reviews {
            policy.requires_pull_request = true;
            policy.required_approvals = policy.required_approvals.max(reviews.required_approving_review_count);
            policy.dismiss_stale_reviews |= reviews.dismiss_stale_reviews;
            policy.require_last_push_approval |= reviews.require_last_push_approval;
        }
        if let Some(restrictions) = &protection.restrictions {
            policy.push_allowed =
                Some((restrictions.users.iter().copied().collect(), restrictions.apps.iter().copied().collect()));
        }
        policy.linear_history |= protection.required_linear_history;
        policy.no_force_push |= !protection.allow_force_pushes;
        policy.no_deletion |= !protection.allow_deletions;
        policy.no_update |= protection.lock_branch;
        policy.require_conversation_resolution |= protection.required_conversation_resolution;
    }
    for rule in rules_for_branch(world, repo, branch) {
        policy.protected = true;
        policy.binds_admins = true;
        add_rule(&mut policy, rule.rule);
    }
    policy
}

/// A rule of an active ruleset that applies to a branch, and the ruleset it comes from.
pub struct AppliedRule<'w> {
    pub ruleset: &'w crate::world::Ruleset,
    pub rule: &'w serde_json::Value,
}

pub fn rules_for_branch<'w>(
    world: &'w World,
    repo: &'w Repo,
    branch: &'w str,
) -> impl Iterator<Item = AppliedRule<'w>> {
    let name = format!("refs/heads/{branch}");
    world
        .rulesets
        .within(repo.id)
        .filter(move |ruleset| {
            let hit = |pattern: &String| match pattern.as_str() {
                "~ALL" => true,
                "~DEFAULT_BRANCH" => branch == repo.default_branch,
                pattern => fnmatch(pattern, &name),
            };
            ruleset.target == "branch"
                && ruleset.enforcement == RulesetEnforcement::Active
                && ruleset.include.iter().any(hit)
                && !ruleset.exclude.iter().any(hit)
        })
        .flat_map(|ruleset| ruleset.rules.iter().map(move |rule| AppliedRule { ruleset, rule }))
}

fn add_rule(policy: &mut BranchPolicy, rule: &serde_json::Value) {
    let parameters = &rule["parameters"];
    let flag = |name: &str| parameters[name].as_bool().unwrap_or(false);
    match rule["type"].as_str().unwrap_or_default() {
        "creation" => policy.no_creation = true,
        "update" => policy.no_update = true,
        "deletion" => policy.no_deletion = true,
        "non_fast_forward" => policy.no_force_push = true,
        "required_linear_history" => policy.linear_history = true,
        "pull_request" => {
            policy.requires_pull_request = true;
            let approvals = parameters["required_approving_review_count"].as_u64().unwrap_or(0);
            policy.required_approvals = policy.required_approvals.max(approvals);
            policy.dismiss_stale_reviews |= flag("dismiss_stale_reviews_on_push");
            policy.require_last_push_approval |= flag("require_last_push_approval");
            policy.require_conversation_resolution |= flag("required_review_thread_resolution");
            if let Some(methods) = parameters["allowed_merge_methods"].as_array() {
                let methods = methods.iter().filter_map(|method| serde_json::from_value(method.clone()).ok()).collect();
                policy.merge_methods = Some(methods);
            }
        }
        "required_status_checks" => {
            policy.strict |= flag("strict_required_status_checks_policy");
            for check in parameters["required_status_checks"].as_array().into_iter().flatten() {
                let Some(context) = check["context"].as_str() else { continue };
                let app_id = check["integration_id"].as_u64();
                policy.required_checks.push(RequiredCheck { context: context.to_owned(), app_id });
            }
        }
        _ => {}
    }
}

/// What git is told to refuse in a push.
pub struct PushRule {
    pub kind: PushRuleKind,
    pub ref_name: String,
    /// Shown to whoever pushed.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushRuleKind {
    Deny,
    /// Only if it is not a fast-forward, which git knows once it has the objects.
    NoForce,
}

impl PushRuleKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::NoForce => "no-force",
        }
    }
}

pub fn push_rules(world: &World, repo: &Repo, caller: &Caller, commands: &[ReceiveCommand]) -> Vec<PushRule> {
    let mut rules = Vec::new();
    for command in commands {
        let Some(branch) = command.name.strip_prefix("refs/heads/") else { continue };
        let policy = for_branch(world, repo, branch);
        let mut add = |kind, reason: &str| {
            let message =
                format!("error: GH006: Protected branch update failed for {}.\nerror: {reason}", command.name);
            rules.push(PushRule { kind, ref_name: command.name.clone(), message });
        };
        let (creates, deletes) = (is_zero(&command.old), is_zero(&command.new));
        if repo.archived {
            add(PushRuleKind::Deny, "This repository was archived so it is read-only.");
        }
        if deletes && branch == repo.default_branch {
            add(PushRuleKind::Deny, "refusing to delete the current branch");
        }
        if !policy.protected || is_exempt(world, repo, caller, &policy) {
            continue;
        }
        if deletes && policy.no_deletion {
            add(PushRuleKind::Deny, "Cannot delete this protected branch");
        }
        if creates && policy.no_creation {
            add(PushRuleKind::Deny, "Cannot create ref due to creations being restricted.");
        }
        if deletes || creates {
            continue;
        }
        if policy.no_update {
            add(PushRuleKind::Deny, "Cannot change this locked branch");
        }
        if !may_push(caller, &policy) {
            add(
                PushRuleKind::Deny,
                "You're not authorized to push to this branch. Visit \"About protected branches\" for more information.",
            );
        }
        if policy.requires_pull_request {
            add(PushRuleKind::Deny, "Changes must be made through a pull request.");
        }
        let missing = missing_checks(world, repo.id, &command.new, &policy);
        match missing.as_slice() {
            [] => {}
            [one] => add(PushRuleKind::Deny, &format!("Required status check \"{one}\" is expected.")),
            more => {
                let all = policy.required_checks.len();
                add(PushRuleKind::Deny, &format!("{} of {all} required status checks are expected.", more.len()));
            }
        }
        if policy.no_force_push {
            add(PushRuleKind::NoForce, "Cannot force-push to this branch");
        }
    }
    rules
}

/// Administrators pass classic protection unless it binds them too.
pub fn is_exempt(world: &World, repo: &Repo, caller: &Caller, policy: &BranchPolicy) -> bool {
    match caller {
        Caller::User { user } => !policy.binds_admins && role_of(world, repo, *user) == Some(RepoRole::Admin),
        _ => false,
    }
}

pub fn may_push(caller: &Caller, policy: &BranchPolicy) -> bool {
    let Some((users, apps)) = &policy.push_allowed else { return true };
    match caller {
        Caller::User { user } => users.contains(user),
        Caller::Installation { app, .. } => apps.contains(app),
        _ => false,
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

fn is_zero(sha: &str) -> bool {
    sha.bytes().all(|byte| byte == b'0')
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
