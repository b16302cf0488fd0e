//! The rules that hold for one who merges a pull request.

use super::push::{PULL_REQUEST_BYPASS, Source, is_admin, is_among_pushers, may_bypass};
use super::{BranchPolicy, protection_of, rules_for_branch};
use crate::http::Caller;
use crate::world::{Repo, World};

/// What a branch's protection and its rulesets demand of this caller, apart: GitHub reports them apart.
pub fn for_merge(world: &World, repo: &Repo, caller: &Caller, branch: &str) -> Vec<(Source, BranchPolicy)> {
    let mut found = Vec::new();
    if let Some(protection) = protection_of(repo, branch)
        && (protection.enforce_admins || !is_admin(world, repo, caller))
    {
        let mut policy = BranchPolicy::default();
        policy.add_protection(protection);
        found.push((Source::Protection, policy));
    }
    let mut policy = BranchPolicy::default();
    for applied in rules_for_branch(world, repo, branch) {
        if !may_bypass(world, repo, caller, applied.ruleset, PULL_REQUEST_BYPASS) {
            policy.add_rule(applied.rule);
        }
    }
    if policy.protected {
        found.push((Source::Ruleset, policy));
    }
    found
}

/// Whether only others than this caller may bring anything to the branch.
pub fn keeps_out(policy: &BranchPolicy, caller: &Caller) -> bool {
    !is_among_pushers(caller, policy)
}
