//! What a request says about protection. Null switches a part off; what must be said and is not is an error.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::http::ApiError;
use crate::world::{
    AccountKind, Id, Protection, RequiredCheck, RequiredReviews, RequiredStatusChecks, Restrictions, World,
};

const MOST_APPROVALS: u64 = 6;

/// The parts that `PUT …/protection` cannot do without.
const NEEDED: [&str; 4] = ["required_status_checks", "enforce_admins", "required_pull_request_reviews", "restrictions"];

pub fn whole(world: &World, body: &Value) -> Result<Protection, ApiError> {
    let missing: Vec<String> = NEEDED
        .iter()
        .filter(|name| body.get(**name).is_none())
        .map(|name| format!("\"{name}\" wasn't supplied."))
        .collect();
    if !missing.is_empty() {
        return Err(ApiError::unprocessable(format!("Invalid request.\n\n{}", missing.join("\n"))));
    }
    let flag = |name: &str| match &body[name] {
        Value::Null => Ok(false),
        Value::Bool(on) => Ok(*on),
        _ => Err(invalid(format!("{name} is not a boolean or null."))),
    };
    let mut protection = Protection {
        enforce_admins: flag("enforce_admins")?,
        required_linear_history: flag("required_linear_history")?,
        allow_force_pushes: flag("allow_force_pushes")?,
        allow_deletions: flag("allow_deletions")?,
        block_creations: flag("block_creations")?,
        required_conversation_resolution: flag("required_conversation_resolution")?,
        lock_branch: flag("lock_branch")?,
        allow_fork_syncing: flag("allow_fork_syncing")?,
        ..Protection::default()
    };
    if let Some(checks) = part::<ChecksGiven>(body, "required_status_checks")? {
        let mut wanted = RequiredStatusChecks::default();
        checks.apply(&mut wanted)?;
        protection.required_status_checks = Some(wanted);
    }
    if let Some(reviews) = part::<ReviewsGiven>(body, "required_pull_request_reviews")? {
        let mut wanted = RequiredReviews { required_approving_review_count: 1, ..RequiredReviews::default() };
        reviews.apply(&mut wanted)?;
        protection.required_reviews = Some(wanted);
    }
    if let Some(people) = part::<PeopleGiven>(body, "restrictions")? {
        protection.restrictions = Some(people.find(world)?);
    }
    Ok(protection)
}

fn part<T: serde::de::DeserializeOwned>(body: &Value, name: &str) -> Result<Option<T>, ApiError> {
    serde_json::from_value(body[name].clone()).map_err(|error| invalid(format!("{name}: {error}")))
}

fn invalid(reason: String) -> ApiError {
    ApiError::unprocessable(format!("Invalid request.\n\n{reason}"))
}

#[derive(Deserialize)]
pub struct ChecksGiven {
    strict: Option<bool>,
    contexts: Option<Vec<String>>,
    checks: Option<Vec<CheckGiven>>,
}

#[derive(Deserialize)]
struct CheckGiven {
    context: String,
    /// -1 means any app.
    app_id: Option<i64>,
}

impl ChecksGiven {
    pub fn apply(self, to: &mut RequiredStatusChecks) -> Result<(), ApiError> {
        if let Some(strict) = self.strict {
            to.strict = strict;
        }
        if let Some(contexts) = self.contexts {
            to.checks = without_repeats(contexts.into_iter().map(|context| RequiredCheck { context, app_id: None }));
        }
        if let Some(checks) = self.checks {
            to.checks = without_repeats(checks.into_iter().map(|check| RequiredCheck {
                context: check.context,
                app_id: check.app_id.and_then(|id| Id::try_from(id).ok()),
            }));
        }
        Ok(())
    }
}

pub fn without_repeats(checks: impl IntoIterator<Item = RequiredCheck>) -> Vec<RequiredCheck> {
    let mut kept: Vec<RequiredCheck> = Vec::new();
    for check in checks {
        if !kept.iter().any(|known| known.context == check.context) {
            kept.push(check);
        }
    }
    kept
}

#[derive(Deserialize)]
pub struct ReviewsGiven {
    dismiss_stale_reviews: Option<bool>,
    require_code_owner_reviews: Option<bool>,
    required_approving_review_count: Option<u64>,
    require_last_push_approval: Option<bool>,
}

impl ReviewsGiven {
    pub fn apply(self, to: &mut RequiredReviews) -> Result<(), ApiError> {
        if self.required_approving_review_count.is_some_and(|count| count > MOST_APPROVALS) {
            return Err(invalid(format!("required_approving_review_count must be at most {MOST_APPROVALS}.")));
        }
        to.dismiss_stale_reviews = self.dismiss_stale_reviews.unwrap_or(to.dismiss_stale_reviews);
        to.require_code_owner_reviews = self.require_code_owner_reviews.unwrap_or(to.require_code_owner_reviews);
        to.require_last_push_approval = self.require_last_push_approval.unwrap_or(to.require_last_push_approval);
        to.required_approving_review_count =
            self.required_approving_review_count.unwrap_or(to.required_approving_review_count);
        Ok(())
    }
}

#[derive(Deserialize)]
struct PeopleGiven {
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    apps: Vec<String>,
}

impl PeopleGiven {
    fn find(&self, world: &World) -> Result<Restrictions, ApiError> {
        let user = |login: &String| {
            let known = world.account_named(login).filter(|account| account.kind == AccountKind::User);
            known.map(|account| account.id).ok_or_else(|| invalid(format!("{login} is not a user.")))
        };
        let app = |slug: &String| {
            let known = world.apps.all().find(|app| app.slug == *slug);
            known.map(|app| app.id).ok_or_else(|| invalid(format!("{slug} is not an app.")))
        };
        Ok(Restrictions {
            users: self.users.iter().map(user).collect::<Result<BTreeSet<_>, _>>()?,
            apps: self.apps.iter().map(app).collect::<Result<BTreeSet<_>, _>>()?,
        })
    }
}
