//! Whether a ref may change as asked, by a push or through the API, and GitHub's words when it may not.

use axum::http::StatusCode;

use super::{BranchPolicy, missing_checks, protection_of, rules_for_ref};
use crate::Sim;
use crate::git::{ReceiveCommand, RefChange};
use crate::http::{ApiError, Caller, encode, role_of};
use crate::world::{AccountKind, OrgRole, Repo, RepoRole, Ruleset, World};

/// Why a ref may not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub source: Source,
    pub when: When,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The repository as such: archived, the default branch.
    Repository,
    Protection,
    Ruleset,
}

/// Some refusals depend on what only git knows, once it has the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    NotFastForward,
    BringsMerges,
}

/// What the update hook is told, a line for each ref and condition.
pub struct PushRule {
    pub when: When,
    pub ref_name: String,
    /// Shown to whoever pushed.
    pub message: String,
}

impl When {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "deny",
            Self::NotFastForward => "no-force",
            Self::BringsMerges => "no-merges",
        }
    }
}

/// The rules for the refs of a push.
pub fn push_rules(world: &World, repo: &Repo, caller: &Caller, commands: &[ReceiveCommand]) -> Vec<PushRule> {
    let mut rules = Vec::new();
    for command in commands {
        let some = |sha: &String| (!sha.bytes().all(|byte| byte == b'0')).then(|| sha.clone());
        let change = RefChange { name: command.name.clone(), old: some(&command.old), new: some(&command.new) };
        let found = possible_refusals(world, repo, caller, &change);
        for source in [Source::Repository, Source::Protection, Source::Ruleset] {
            for when in [When::Always, When::NotFastForward, When::BringsMerges] {
                let reasons: Vec<&str> = found
                    .iter()
                    .filter(|refusal| refusal.source == source && refusal.when == when)
                    .map(|refusal| refusal.reason.as_str())
                    .collect();
                if !reasons.is_empty() {
                    let message = push_message(world, repo, &command.name, source, &reasons);
                    rules.push(PushRule { when, ref_name: command.name.clone(), message });
                }
            }
        }
    }
    rules
}

fn push_message(world: &World, repo: &Repo, name: &str, source: Source, reasons: &[&str]) -> String {
    let list: String = reasons.iter().map(|reason| format!("\n- {reason}\n")).collect();
    match source {
        Source::Repository => format!("error: {}", reasons.join("\nerror: ")),
        Source::Protection => format!("error: GH006: Protected branch update failed for {name}.\n{list}"),
        Source::Ruleset => {
            let page = world.urls.web(format!("/{}/rules?ref={}", world.full_name(repo), encode(name)));
            format!(
                "error: GH013: Repository rule violations found for {name}.\nReview all repository rules at {page}\n{list}"
            )
        }
    }
}

/// What stands against a change of a ref, after asking git where it has to be asked. The objects must be there.
pub async fn refusals(
    sim: &Sim,
    repo: &Repo,
    caller: &Caller,
    change: &RefChange,
) -> Result<Vec<Refusal>, crate::git::Error> {
    let possible = sim.read(|world| possible_refusals(world, repo, caller, change));
    let git = sim.git(repo.id);
    let mut found = Vec::new();
    for refusal in possible {
        let applies = match (refusal.when, &change.old, &change.new) {
            (When::Always, _, _) => true,
            (When::NotFastForward, Some(old), Some(new)) => !git.is_ancestor(old, new).await?,
            (When::BringsMerges, Some(old), Some(new)) => git.has_merges(old, new).await?,
            _ => false,
        };
        if applies {
            found.push(refusal);
        }
    }
    Ok(found)
}

/// The API's answer to a change that may not be made; none when nothing stands against it.
pub fn as_error(refusals: &[Refusal]) -> Option<ApiError> {
    let first = refusals.first()?;
    let reasons: Vec<&str> = refusals.iter().map(|refusal| refusal.reason.as_str()).collect();
    let status = match first.source {
        Source::Repository if first.reason == ARCHIVED => StatusCode::FORBIDDEN,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let message = match first.source {
        Source::Ruleset => format!("Repository rule violations found\n\n{}\n\n", reasons.join("\n\n")),
        _ => reasons.join(" "),
    };
    Some(ApiError::new(status, message))
}

const ARCHIVED: &str = "Repository was archived so is read-only.";
const NOT_AUTHORIZED: &str = "You're not authorized to push to this branch. Visit https://docs.github.com/articles/about-protected-branches/ for more information.";

fn possible_refusals(world: &World, repo: &Repo, caller: &Caller, change: &RefChange) -> Vec<Refusal> {
    let mut found = Vec::new();
    let mut of_repository =
        |reason: &str| found.push(Refusal { source: Source::Repository, when: When::Always, reason: reason.into() });
    if repo.archived {
        of_repository(ARCHIVED);
    }
    let branch = change.branch();
    if change.new.is_none() && branch == Some(&repo.default_branch) {
        of_repository("Cannot delete the default branch");
    }
    if branch.is_none() && change.tag().is_none() {
        of_repository(&format!("deny updating a hidden ref: {}", change.name));
    }
    let protection = branch.and_then(|branch| protection_of(repo, branch));
    if let Some(protection) =
        protection.filter(|protection| protection.enforce_admins || !is_admin(world, repo, caller))
    {
        let mut policy = BranchPolicy::default();
        policy.add_protection(protection);
        judge(world, repo, caller, change, Source::Protection, &policy, &mut found);
    }
    let mut policy = BranchPolicy::default();
    for applied in rules_for_ref(world, repo, change.name.clone()) {
        if !may_bypass(world, repo, caller, applied.ruleset, PUSH_BYPASS) {
            policy.add_rule(applied.rule);
        }
    }
    judge(world, repo, caller, change, Source::Ruleset, &policy, &mut found);
    found
}

fn judge(
    world: &World,
    repo: &Repo,
    caller: &Caller,
    change: &RefChange,
    source: Source,
    policy: &BranchPolicy,
    found: &mut Vec<Refusal>,
) {
    let mut add = |when, reason: &str| found.push(Refusal { source, when, reason: reason.to_owned() });
    let Some(new) = &change.new else {
        if policy.no_deletion {
            add(When::Always, "Cannot delete this protected branch");
        }
        return;
    };
    if change.old.is_none() {
        if policy.no_creation {
            add(When::Always, "Cannot create ref due to creations being restricted.");
        }
        return;
    }
    if policy.no_update {
        let reason = if source == Source::Ruleset {
            "Cannot update this protected ref."
        } else {
            "Cannot change this locked branch"
        };
        add(When::Always, reason);
    }
    if !is_among_pushers(caller, policy) {
        add(When::Always, NOT_AUTHORIZED);
    }
    if policy.requires_pull_request {
        add(When::Always, "Changes must be made through a pull request.");
    }
    let missing = missing_checks(world, repo.id, new, policy);
    match missing.as_slice() {
        [] => {}
        [one] => add(When::Always, &format!("Required status check \"{one}\" is expected.")),
        more => {
            let all = policy.required_checks.len();
            add(When::Always, &format!("{} of {all} required status checks are expected.", more.len()));
        }
    }
    if policy.no_force_push {
        add(When::NotFastForward, "Cannot force-push to this branch");
    }
    if policy.linear_history {
        add(When::BringsMerges, "This branch must not contain merge commits.");
    }
}

/// Administrators pass classic protection unless it binds them too.
pub(super) fn is_admin(world: &World, repo: &Repo, caller: &Caller) -> bool {
    matches!(caller, Caller::User { user } if role_of(world, repo, *user) == Some(RepoRole::Admin))
}

pub(super) fn is_among_pushers(caller: &Caller, policy: &BranchPolicy) -> bool {
    let Some((users, apps)) = &policy.push_allowed else { return true };
    match caller {
        Caller::User { user } => users.contains(user),
        Caller::Installation { app, .. } => apps.contains(app),
        _ => false,
    }
}

const PUSH_BYPASS: &[&str] = &["always", "exempt"];
/// Some may pass only through a pull request.
pub(super) const PULL_REQUEST_BYPASS: &[&str] = &["always", "exempt", "pull_request"];

/// Whether a ruleset names the caller among those who need not keep it, in one of these modes.
pub(super) fn may_bypass(world: &World, repo: &Repo, caller: &Caller, ruleset: &Ruleset, modes: &[&str]) -> bool {
    ruleset.bypass_actors.iter().any(|actor| {
        let fits = modes.contains(&actor["bypass_mode"].as_str().unwrap_or("always"));
        let id = actor["actor_id"].as_u64();
        fits && match (actor["actor_type"].as_str().unwrap_or_default(), caller) {
            ("Integration", Caller::Installation { app, .. }) => id == Some(*app),
            ("User", Caller::User { user }) => id == Some(*user),
            ("OrganizationAdmin", Caller::User { user }) => {
                let owner = world.account(repo.owner);
                owner.kind == AccountKind::Organization && owner.members.get(user) == Some(&OrgRole::Admin)
            }
            ("RepositoryRole", Caller::User { user }) => {
                id.and_then(role_by_id).is_some_and(|role| role_of(world, repo, *user) >= Some(role))
            }
            _ => false,
        }
    })
}

/// GitHub's numbers for the roles a ruleset can let pass.
fn role_by_id(id: u64) -> Option<RepoRole> {
    match id {
        2 => Some(RepoRole::Maintain),
        4 => Some(RepoRole::Write),
        5 => Some(RepoRole::Admin),
        _ => None,
    }
}
