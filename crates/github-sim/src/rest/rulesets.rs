//! Rulesets, and the rules that are in force for a branch.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::policy;
use crate::present;
use crate::world::{Repo, Ruleset, RulesetEnforcement, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/rulesets", get(list).post(create))
        .route("/repos/{owner}/{repo}/rulesets/{ruleset_id}", get(show).put(update).delete(remove))
        .route("/repos/{owner}/{repo}/rules/branches/{branch}", get(for_branch))
}

/// The rules there are, each with the parameters it cannot do without.
const RULES: [(&str, &[&str]); 14] = [
    ("creation", &[]),
    ("update", &[]),
    ("deletion", &[]),
    ("required_linear_history", &[]),
    ("required_signatures", &[]),
    ("non_fast_forward", &[]),
    (
        "pull_request",
        &[
            "dismiss_stale_reviews_on_push",
            "require_code_owner_review",
            "require_last_push_approval",
            "required_approving_review_count",
            "required_review_thread_resolution",
        ],
    ),
    ("required_status_checks", &["required_status_checks", "strict_required_status_checks_policy"]),
    ("required_deployments", &["required_deployment_environments"]),
    ("commit_message_pattern", &["operator", "pattern"]),
    ("commit_author_email_pattern", &["operator", "pattern"]),
    ("committer_email_pattern", &["operator", "pattern"]),
    ("branch_name_pattern", &["operator", "pattern"]),
    ("tag_name_pattern", &["operator", "pattern"]),
];

#[derive(Deserialize)]
struct Wanted {
    targets: Option<String>,
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        let is_wanted = |ruleset: &&Ruleset| {
            wanted.targets.as_deref().is_none_or(|targets| targets.split(',').any(|one| one == ruleset.target))
        };
        let rulesets: Vec<&Ruleset> = world.rulesets.within(repo.id).filter(is_wanted).collect();
        Ok(page.of(&rulesets, |ruleset| present::listed_ruleset(world, repo, ruleset)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, u64)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        let ruleset = world.rulesets.get(repo.id, id).ok_or_else(ApiError::not_found)?;
        let may_change = http::may(world, &caller, repo, Scope::Administration, Level::Admin).is_ok();
        Ok(http::json(200, &present::ruleset(world, repo, ruleset, may_change)))
    })
}

#[derive(Deserialize)]
struct Given {
    name: Option<String>,
    target: Option<String>,
    enforcement: Option<RulesetEnforcement>,
    bypass_actors: Option<Vec<Value>>,
    conditions: Option<Conditions>,
    rules: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Conditions {
    #[serde(default)]
    ref_name: RefNames,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RefNames {
    include: Vec<String>,
    exclude: Vec<String>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(given): Body<Given>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Administration, Level::Admin)?.clone();
        let missing =
            |field: &str| ApiError::unprocessable(format!("Invalid request.\n\n\"{field}\" wasn't supplied."));
        let mut ruleset = Ruleset {
            repo: repo.id,
            id: world.next_id(),
            name: given.name.clone().ok_or_else(|| missing("name"))?,
            target: "branch".into(),
            enforcement: given.enforcement.ok_or_else(|| missing("enforcement"))?,
            include: Vec::new(),
            exclude: Vec::new(),
            rules: Vec::new(),
            bypass_actors: Vec::new(),
            created_at: world.now,
            updated_at: world.now,
        };
        apply(world, &mut ruleset, given)?;
        let value = present::ruleset(world, &repo, &ruleset, true);
        world.rulesets.insert(ruleset);
        Ok(http::json(201, &value))
    })
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, u64)>,
    Body(given): Body<Given>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Administration, Level::Admin)?.clone();
        let mut ruleset = world.rulesets.get(repo.id, id).ok_or_else(ApiError::not_found)?.clone();
        apply(world, &mut ruleset, given)?;
        ruleset.updated_at = world.now;
        let value = present::ruleset(world, &repo, &ruleset, true);
        world.rulesets.insert(ruleset);
        Ok(http::json(200, &value))
    })
}

fn apply(world: &World, ruleset: &mut Ruleset, given: Given) -> Result<(), ApiError> {
    if let Some(name) = given.name {
        let is_taken = |other: &Ruleset| other.id != ruleset.id && other.name == name;
        if name.is_empty() || world.rulesets.within(ruleset.repo).any(is_taken) {
            return Err(refused("Name must be unique"));
        }
        ruleset.name = name;
    }
    if let Some(target) = given.target {
        if !["branch", "tag", "push"].contains(&target.as_str()) {
            return Err(refused("Invalid target"));
        }
        ruleset.target = target;
    }
    ruleset.enforcement = given.enforcement.unwrap_or(ruleset.enforcement);
    if let Some(conditions) = given.conditions {
        ruleset.include = conditions.ref_name.include;
        ruleset.exclude = conditions.ref_name.exclude;
    }
    if let Some(rules) = given.rules {
        ruleset.rules = rules;
    }
    if let Some(actors) = given.bypass_actors {
        ruleset.bypass_actors = actors.into_iter().map(checked_actor).collect::<Result<_, _>>()?;
    }
    check(ruleset)
}

fn check(ruleset: &Ruleset) -> Result<(), ApiError> {
    let prefix = if ruleset.target == "tag" { "refs/tags/" } else { "refs/heads/" };
    let fits = |pattern: &&String| {
        pattern.as_str() == "~ALL"
            || pattern.as_str() == "~DEFAULT_BRANCH" && ruleset.target == "branch"
            || pattern.starts_with(prefix)
    };
    if let Some(odd) = ruleset.include.iter().chain(&ruleset.exclude).find(|pattern| !fits(pattern)) {
        return Err(refused(format!("Invalid target patterns: '{odd}'")));
    }
    for rule in &ruleset.rules {
        let kind = rule["type"].as_str().unwrap_or_default();
        let (_, needed) = RULES
            .iter()
            .find(|(name, _)| *name == kind)
            .ok_or_else(|| refused(format!("Invalid rule '{kind}': unknown type")))?;
        let missing: Vec<&str> =
            needed.iter().filter(|name| rule["parameters"].get(**name).is_none()).copied().collect();
        if !missing.is_empty() {
            return Err(refused(format!("Invalid rule '{kind}': missing required parameters: {}", missing.join(", "))));
        }
        let same = ruleset.rules.iter().filter(|other| other["type"] == rule["type"]).count();
        if same > 1 {
            return Err(refused(format!("Invalid rules: '{kind}' is given more than once")));
        }
    }
    Ok(())
}

fn checked_actor(mut actor: Value) -> Result<Value, ApiError> {
    let kinds = ["Integration", "OrganizationAdmin", "RepositoryRole", "Team", "DeployKey", "User"];
    if !actor["actor_type"].as_str().is_some_and(|kind| kinds.contains(&kind)) {
        return Err(refused("Invalid bypass actor: unknown actor_type"));
    }
    if actor["bypass_mode"].is_null() {
        actor["bypass_mode"] = json!("always");
    }
    if !["always", "pull_request", "exempt"].contains(&actor["bypass_mode"].as_str().unwrap_or_default()) {
        return Err(refused("Invalid bypass actor: unknown bypass_mode"));
    }
    Ok(actor)
}

fn refused(reason: impl Into<String>) -> ApiError {
    let mut error = ApiError::unprocessable("Validation Failed");
    error.errors.push(reason.into().into());
    error
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, u64)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Administration, Level::Admin)?.id;
        world.rulesets.remove(repo, id).ok_or_else(ApiError::not_found)?;
        Ok(http::no_content())
    })
}

/// The branch need not exist: rules also say who may make it.
async fn for_branch(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, branch)): Path<(String, String, String)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo: &Repo = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        let rules: Vec<policy::AppliedRule<'_>> = policy::rules_for_branch(world, repo, &branch).collect();
        let source = world.full_name(repo);
        Ok(page.of(&rules, |applied| {
            let mut value = applied.rule.clone();
            value["ruleset_source_type"] = "Repository".into();
            value["ruleset_source"] = source.as_str().into();
            value["ruleset_id"] = applied.ruleset.id.into();
            value
        }))
    })
}
