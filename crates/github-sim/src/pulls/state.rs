//! Whether a pull request may be merged, and what stands in the way.

use std::collections::BTreeMap;

use super::{facts, is_open, stack_of};
use crate::http::role_of;
use crate::policy::{self, BranchPolicy};
use crate::rollup::{self, Context, RollupState};
use crate::world::{AccountKind, Id, Mergeability, Pull, Repo, RepoRole, Review, ReviewState, RunStatus, World};

/// What GraphQL and REST show of a pull request's readiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeState {
    /// `CLEAN`, `UNSTABLE`, `BLOCKED`, `BEHIND`, `DIRTY`, `HAS_HOOKS` or `UNKNOWN`. GitHub's API still names `DRAFT` but
    /// has not answered it since 2021: a draft is `BLOCKED`.
    pub status: &'static str,
    /// None while it is not known.
    pub mergeable: Option<bool>,
}

const STATUSES: [&str; 7] = ["CLEAN", "UNSTABLE", "BLOCKED", "BEHIND", "DIRTY", "HAS_HOOKS", "UNKNOWN"];

pub fn merge_state(world: &World, pull: &Pull) -> MergeState {
    let unknown = MergeState { status: "UNKNOWN", mergeable: None };
    if !is_open(world, pull) {
        return unknown;
    }
    if let Some(stale) = pull.stale_merge_state.as_ref().filter(|stale| stale.until > world.now) {
        let status = STATUSES.into_iter().find(|status| *status == stale.status).unwrap_or("UNKNOWN");
        return MergeState { status, mergeable: stale.mergeable };
    }
    let (Some(facts), Some(repo)) = (facts(world, pull), world.repo(pull.repo)) else { return unknown };
    if matches!(facts.mergeability, Mergeability::Conflicting { .. }) {
        return MergeState { status: "DIRTY", mergeable: Some(false) };
    }
    let policy = policy::for_branch(world, repo, rules_branch(world, pull));
    let status = if pull.draft || !obstacles(world, pull, &policy).is_empty() {
        "BLOCKED"
    } else if policy.strict && facts.behind_by > 0 {
        "BEHIND"
    } else if rollup::state(&rollup::contexts(world, pull.repo, &pull.head_sha))
        .is_some_and(|state| state != RollupState::Success)
    {
        "UNSTABLE"
    } else if repo.has_pre_receive_hook {
        "HAS_HOOKS"
    } else {
        "CLEAN"
    };
    MergeState { status, mergeable: Some(true) }
}

/// The branch whose rules a pull request is held to: every one of a stack lands on the stack's base.
pub fn rules_branch<'w>(world: &'w World, pull: &'w Pull) -> &'w str {
    stack_of(world, pull).map_or(&pull.base_ref, |stack| &stack.base_ref)
}

/// Checks of a head that lacks commits of its base say nothing where the two must be up to date.
pub fn behind_obstacle(world: &World, pull: &Pull, policy: &BranchPolicy) -> Option<String> {
    let behind = policy.strict && facts(world, pull).is_some_and(|facts| facts.behind_by > 0);
    match policy.required_checks.as_slice() {
        _ if !behind => None,
        [] => Some("Head branch is out of date. Review and try the merge again.".to_owned()),
        [only] => Some(format!("Required status check \"{}\" is expected.", only.context)),
        all => Some(format!("{0} of {0} required status checks are expected.", all.len())),
    }
}

/// What the base branch's rules still demand, in GitHub's words.
pub fn obstacles(world: &World, pull: &Pull, policy: &BranchPolicy) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(review_obstacle(world, pull, policy));
    found.extend(check_obstacle(world, pull, policy));
    if policy.require_conversation_resolution && unresolved(world, pull) {
        found.push("All comments must be resolved.".to_owned());
    }
    if policy.no_update {
        found.push("Cannot change this locked branch".to_owned());
    }
    found
}

fn review_obstacle(world: &World, pull: &Pull, policy: &BranchPolicy) -> Option<String> {
    if policy.required_approvals == 0 && !policy.requires_pull_request {
        return None;
    }
    let verdicts = verdicts(world, pull);
    let counting: Vec<&&Review> = verdicts.values().filter(|review| counts(world, pull, review.author)).collect();
    if counting.iter().any(|review| review.state == ReviewState::ChangesRequested) {
        return Some("Changes have been requested.".to_owned());
    }
    let approvals = counting.iter().filter(|review| review.state == ReviewState::Approved);
    let given = approvals.clone().count() as u64;
    if given < policy.required_approvals {
        let (n, is) =
            (policy.required_approvals, if policy.required_approvals == 1 { "review is" } else { "reviews are" });
        return Some(format!("At least {n} approving {is} required by reviewers with write access."));
    }
    let fresh = |review: &&&Review| Some(review.author) != pull.last_pusher && review.commit == pull.head_sha;
    if policy.require_last_push_approval && approvals.filter(|review| fresh(review)).count() == 0 {
        return Some("New changes require approval from someone other than the last pusher.".to_owned());
    }
    None
}

fn check_obstacle(world: &World, pull: &Pull, policy: &BranchPolicy) -> Option<String> {
    let contexts = rollup::contexts(world, pull.repo, &pull.head_sha);
    let mut open: Vec<(&str, &'static str)> = Vec::new();
    for required in &policy.required_checks {
        if contexts.iter().any(|context| context.satisfies(required)) {
            continue;
        }
        let reported = contexts.iter().find(|context| context.name() == required.context);
        open.push((&required.context, reported.map_or("expected", standing)));
    }
    match open.as_slice() {
        [] => None,
        [(name, standing)] => Some(format!("Required status check \"{name}\" is {standing}.")),
        several => {
            let count = |wanted: &str| several.iter().filter(|(_, standing)| *standing == wanted).count();
            let parts: Vec<String> = ["expected", "queued", "in progress", "pending", "failing"]
                .into_iter()
                .filter(|standing| count(standing) > 0)
                .map(|standing| format!("{} {standing}", count(standing)))
                .collect();
            let (all, list) = (policy.required_checks.len(), join(&parts));
            Some(if count("expected") == several.len() {
                format!("{} of {all} required status checks are expected.", several.len())
            } else {
                format!("{} of {all} required status checks have not succeeded: {list}.", several.len())
            })
        }
    }
}

fn standing(context: &Context<'_>) -> &'static str {
    match context {
        Context::Run(run) if run.status == RunStatus::InProgress => "in progress",
        Context::Run(run) if run.status != RunStatus::Completed => "queued",
        context => match context.state() {
            RollupState::Pending => "pending",
            // Passed, but reported by another app than the one that must.
            RollupState::Success | RollupState::Expected => "expected",
            RollupState::Failure | RollupState::Error => "failing",
        },
    }
}

fn join(parts: &[String]) -> String {
    match parts {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => parts.concat(),
    }
}

fn unresolved(world: &World, pull: &Pull) -> bool {
    let mut threads = world.review_threads.within(pull.repo).filter(|thread| thread.number == pull.number);
    threads.any(|thread| thread.resolved_by.is_none())
}

/// The verdict that each reviewer last gave and that stands; a comment does not take one back.
fn verdicts<'w>(world: &'w World, pull: &Pull) -> BTreeMap<Id, &'w Review> {
    let mut last: BTreeMap<Id, &Review> = BTreeMap::new();
    let reviews = world.reviews.within(pull.repo).filter(|review| review.number == pull.number);
    for review in reviews.filter(|review| review.submitted_at.is_some()) {
        match review.state {
            ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed => {
                let slot = last.entry(review.author).or_insert(review);
                if slot.submitted_at <= review.submitted_at {
                    *slot = review;
                }
            }
            ReviewState::Commented | ReviewState::Pending => {}
        }
    }
    last.retain(|_, review| review.state != ReviewState::Dismissed);
    last
}

/// Only who may write has a say. An app that may review has been given that right.
fn counts(world: &World, pull: &Pull, reviewer: Id) -> bool {
    let writes = |repo: &Repo| role_of(world, repo, reviewer).is_some_and(|role| role >= RepoRole::Write);
    world.account(reviewer).kind == AccountKind::Bot || world.repo(pull.repo).is_some_and(writes)
}

/// `APPROVED`, `CHANGES_REQUESTED` or `REVIEW_REQUIRED`; none where no review is required and none was given.
pub fn review_decision(world: &World, pull: &Pull) -> Option<&'static str> {
    let verdicts = verdicts(world, pull);
    let mut states = verdicts.values().filter(|review| counts(world, pull, review.author)).map(|review| review.state);
    if states.clone().any(|state| state == ReviewState::ChangesRequested) {
        return Some("CHANGES_REQUESTED");
    }
    let policy = policy::for_branch(world, world.repo(pull.repo)?, rules_branch(world, pull));
    if policy.required_approvals > 0 {
        return Some(if review_obstacle(world, pull, &policy).is_none() { "APPROVED" } else { "REVIEW_REQUIRED" });
    }
    states.any(|state| state == ReviewState::Approved).then_some("APPROVED")
}
