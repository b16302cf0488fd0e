//! The parts of a branch's protection, each at its own address.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::Value;

use super::settings::{ChecksGiven, ReviewsGiven, without_repeats};
use super::{Place, change, protected};
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller};
use crate::present;
use crate::world::{Protection, Repo, RequiredCheck, RequiredReviews, RequiredStatusChecks, World};

const PROTECTION: &str = "/repos/{owner}/{repo}/branches/{branch}/protection";

pub fn routes() -> Router<Sim> {
    let at = |part: &str| format!("{PROTECTION}/{part}");
    Router::new()
        .route(&at("enforce_admins"), get(admins).post(enforce_admins).delete(exempt_admins))
        .route(&at("required_signatures"), get(signatures).post(require_signatures).delete(drop_signatures))
        .route(&at("required_status_checks"), get(checks).patch(set_checks).delete(drop_checks))
        .route(
            &at("required_status_checks/contexts"),
            get(contexts).post(add_contexts).put(set_contexts).delete(remove_contexts),
        )
        .route(&at("required_pull_request_reviews"), get(reviews).patch(set_reviews).delete(drop_reviews))
        .route(&at("restrictions"), get(restrictions).delete(drop_restrictions))
}

fn off(message: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, message)
}

fn nothing(_: &World, _: &Repo, _: &Protection) -> Result<Value, ApiError> {
    Ok(Value::Null)
}

async fn admins(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| {
        let (repo, protection) = protected(world, &caller, &place)?;
        Ok(http::json(200, &present::enforce_admins(world, repo, &place.0.2, protection)))
    })
}

async fn enforce_admins(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        protection.enforce_admins = true;
        Ok(())
    };
    change(&sim, &caller, &place, set, |world, repo, protection| {
        Ok(present::enforce_admins(world, repo, &place.0.2, protection))
    })
}

async fn exempt_admins(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        protection.enforce_admins = false;
        Ok(())
    };
    change(&sim, &caller, &place, set, nothing)
}

async fn signatures(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| {
        let (repo, protection) = protected(world, &caller, &place)?;
        Ok(http::json(200, &present::required_signatures(world, repo, &place.0.2, protection)))
    })
}

async fn require_signatures(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        protection.required_signatures = true;
        Ok(())
    };
    change(&sim, &caller, &place, set, |world, repo, protection| {
        Ok(present::required_signatures(world, repo, &place.0.2, protection))
    })
}

async fn drop_signatures(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        protection.required_signatures = false;
        Ok(())
    };
    change(&sim, &caller, &place, set, nothing)
}

fn checks_of(protection: &Protection) -> Result<&RequiredStatusChecks, ApiError> {
    protection.required_status_checks.as_ref().ok_or_else(|| off("Required status checks not enabled"))
}

async fn checks(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| {
        let (repo, protection) = protected(world, &caller, &place)?;
        let checks = checks_of(protection)?;
        Ok(http::json(200, &present::required_status_checks(world, repo, &place.0.2, checks)))
    })
}

async fn set_checks(State(sim): State<Sim>, caller: Caller, place: Place, Body(given): Body<ChecksGiven>) -> ApiResult {
    let set =
        |_: &World, protection: &mut Protection| given.apply(protection.required_status_checks.get_or_insert_default());
    change(&sim, &caller, &place, set, |world, repo, protection| {
        Ok(present::required_status_checks(world, repo, &place.0.2, checks_of(protection)?))
    })
}

async fn drop_checks(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        checks_of(protection)?;
        protection.required_status_checks = None;
        Ok(())
    };
    change(&sim, &caller, &place, set, nothing)
}

fn context_list(protection: &Protection) -> Result<Value, ApiError> {
    Ok(checks_of(protection)?.checks.iter().map(|check| check.context.clone()).collect())
}

async fn contexts(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| Ok(http::json(200, &context_list(protected(world, &caller, &place)?.1)?)))
}

/// `{"contexts": […]}`, or the list alone.
fn contexts_in(body: &Value) -> Result<Vec<RequiredCheck>, ApiError> {
    let list = body.get("contexts").unwrap_or(body);
    let contexts: Vec<String> = serde_json::from_value(list.clone())
        .map_err(|_| ApiError::unprocessable("Invalid request.\n\n\"contexts\" wasn't supplied."))?;
    Ok(contexts.into_iter().map(|context| RequiredCheck { context, app_id: None }).collect())
}

async fn change_contexts(
    sim: &Sim,
    caller: &Caller,
    place: &Place,
    body: &Value,
    combine: impl FnOnce(Vec<RequiredCheck>, Vec<RequiredCheck>) -> Vec<RequiredCheck>,
) -> ApiResult {
    let given = contexts_in(body)?;
    let set = |_: &World, protection: &mut Protection| {
        checks_of(protection)?;
        let checks = protection.required_status_checks.get_or_insert_default();
        checks.checks = without_repeats(combine(std::mem::take(&mut checks.checks), given));
        Ok(())
    };
    change(sim, caller, place, set, |_, _, protection| context_list(protection))
}

async fn add_contexts(State(sim): State<Sim>, caller: Caller, place: Place, Body(body): Body<Value>) -> ApiResult {
    change_contexts(&sim, &caller, &place, &body, |mut known, given| {
        known.extend(given);
        known
    })
    .await
}

async fn set_contexts(State(sim): State<Sim>, caller: Caller, place: Place, Body(body): Body<Value>) -> ApiResult {
    change_contexts(&sim, &caller, &place, &body, |_, given| given).await
}

async fn remove_contexts(State(sim): State<Sim>, caller: Caller, place: Place, Body(body): Body<Value>) -> ApiResult {
    change_contexts(&sim, &caller, &place, &body, |mut known, given| {
        known.retain(|check| !given.iter().any(|gone| gone.context == check.context));
        known
    })
    .await
}

fn reviews_of(protection: &Protection) -> Result<&RequiredReviews, ApiError> {
    protection.required_reviews.as_ref().ok_or_else(|| off("Pull request reviews not enabled"))
}

async fn reviews(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| {
        let (repo, protection) = protected(world, &caller, &place)?;
        Ok(http::json(200, &present::required_reviews(world, repo, &place.0.2, reviews_of(protection)?)))
    })
}

async fn set_reviews(
    State(sim): State<Sim>,
    caller: Caller,
    place: Place,
    Body(given): Body<ReviewsGiven>,
) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        let usual = || RequiredReviews { required_approving_review_count: 1, ..RequiredReviews::default() };
        given.apply(protection.required_reviews.get_or_insert_with(usual))
    };
    change(&sim, &caller, &place, set, |world, repo, protection| {
        Ok(present::required_reviews(world, repo, &place.0.2, reviews_of(protection)?))
    })
}

async fn drop_reviews(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        reviews_of(protection)?;
        protection.required_reviews = None;
        Ok(())
    };
    change(&sim, &caller, &place, set, nothing)
}

async fn restrictions(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| {
        let (repo, protection) = protected(world, &caller, &place)?;
        let restrictions = protection.restrictions.as_ref().ok_or_else(|| off("Push restrictions not enabled"))?;
        Ok(http::json(200, &present::restrictions(world, repo, &place.0.2, restrictions)))
    })
}

async fn drop_restrictions(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let set = |_: &World, protection: &mut Protection| {
        protection.restrictions = None;
        Ok(())
    };
    change(&sim, &caller, &place, set, nothing)
}
