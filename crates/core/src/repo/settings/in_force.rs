//! The settings that a repository may set, as they are, and where each comes from.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::RepositorySettings;
use crate::repo::Settings;
use crate::repo::ratchet::ApprovalRule;

/// A setting that is in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = SettingInForce)]
pub struct SettingInForce {
    /// Its name in the file, such as `ratchet.max_attempts`.
    pub key: String,
    /// The value in force; null if nothing is set.
    pub value: Value,
    pub origin: SettingOrigin,
    /// The value in the file, if the operator's limit is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Value>,
}

/// Where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SettingOrigin)]
pub enum SettingOrigin {
    /// The daemon's configuration, or its default.
    Operator,
    /// `.github/merge-train.toml` on the default branch.
    Repository,
    /// The file wants it otherwise, and the operator's bound counts.
    Bounded,
    /// Somebody switched it for this repository.
    People,
}

impl RepositorySettings {
    /// Every setting that a repository may set, with what counts.
    pub fn shown(&self, operator: &Settings) -> Vec<SettingInForce> {
        let settings = self.within(operator);
        let (own, ratchet) = (&self.ratchet, &settings.ratchet);
        let row = |key: &str, value: Value, wanted: Option<Value>| {
            let origin = match &wanted {
                None => SettingOrigin::Operator,
                Some(wanted) if *wanted == value => SettingOrigin::Repository,
                Some(_) => SettingOrigin::Bounded,
            };
            let wanted = wanted.filter(|_| origin == SettingOrigin::Bounded);
            SettingInForce { key: key.to_owned(), value, origin, wanted }
        };
        // What both want together is what the repository wants, as long as the operator adds nothing to it.
        let wanted_approvals = own.approve_pushes.as_ref().map(|patterns| approvals(&ApprovalRule::of(patterns)));
        vec![
            row(
                "behavior.max_stack_size",
                json!(settings.max_stack_size),
                self.behavior.max_stack_size.map(Value::from),
            ),
            row("behavior.auto_start", json!(settings.auto_start), self.behavior.auto_start.map(Value::from)),
            row(
                "behavior.delete_branches",
                json!(settings.delete_branches),
                self.behavior.delete_branches.map(Value::from),
            ),
            row("merge.title", json!(settings.wording.title), self.merge.title.clone().map(Value::from)),
            row("merge.body", json!(settings.wording.body), self.merge.body.clone().map(Value::from)),
            row("merge.background", json!(settings.merge_in_background), self.merge.background.map(Value::from)),
            row("ratchet.enabled", json!(ratchet.enabled), own.enabled.map(Value::from)),
            row("ratchet.max_attempts", json!(ratchet.max_attempts), own.max_attempts.map(Value::from)),
            row("ratchet.daily_budget", json!(ratchet.daily_budget), own.daily_budget.map(Value::from)),
            row(
                "ratchet.stale_ci_timeout_mins",
                minutes(ratchet.stale_ci_timeout),
                own.stale_ci_timeout_ms.map(written),
            ),
            row("ratchet.grace_mins", minutes(ratchet.grace), own.grace_ms.map(written)),
            row("ratchet.approve_pushes", approvals(&ratchet.approve), wanted_approvals),
        ]
    }

    /// What of it the operator allows less of, a sentence each.
    pub(crate) fn limited(&self, operator: &Settings) -> Vec<String> {
        let bounded = self.shown(operator).into_iter().filter_map(|SettingInForce { key, value, wanted, .. }| {
            let wanted = wanted?;
            Some(format!("`{key}`: `{wanted}` is requested, `{value}` applies."))
        });
        bounded.collect()
    }
}

fn written(ms: u64) -> Value {
    minutes(super::duration(ms))
}

/// As somebody would write it: whole minutes without a fraction.
fn minutes(duration: SignedDuration) -> Value {
    const MINUTE_MS: i128 = 60_000;
    let ms = duration.as_millis();
    if ms % MINUTE_MS == 0 { json!(ms / MINUTE_MS) } else { json!(duration.as_secs_f64() / 60.0) }
}

fn approvals(approve: &ApprovalRule) -> Value {
    match approve {
        ApprovalRule::Never => json!([]),
        ApprovalRule::Always => json!([ApprovalRule::ALWAYS]),
        ApprovalRule::Paths(patterns) => json!(patterns),
    }
}
