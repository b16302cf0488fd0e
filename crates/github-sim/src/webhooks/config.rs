//! What a caller may say about a webhook.

use serde::Deserialize;

use crate::http::ApiError;
use crate::world::AppWebhook;

/// The events that the simulator can send or that GitHub would accept.
pub const EVENTS: &[&str] = &[
    "branch_protection_configuration",
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "code_scanning_alert",
    "commit_comment",
    "create",
    "delete",
    "dependabot_alert",
    "deploy_key",
    "deployment",
    "deployment_protection_rule",
    "deployment_review",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "gollum",
    "issue_comment",
    "issues",
    "label",
    "member",
    "merge_group",
    "meta",
    "milestone",
    "package",
    "page_build",
    "project",
    "project_card",
    "project_column",
    "public",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "registry_package",
    "release",
    "repository",
    "repository_advisory",
    "repository_dispatch",
    "repository_import",
    "repository_ruleset",
    "repository_vulnerability_alert",
    "secret_scanning_alert",
    "secret_scanning_alert_location",
    "security_and_analysis",
    "star",
    "status",
    "sub_issues",
    "team_add",
    "watch",
    "workflow_dispatch",
    "workflow_job",
    "workflow_run",
];

/// What is left out stays as it was, or takes GitHub's default.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Config {
    pub url: Option<String>,
    pub content_type: Option<String>,
    pub secret: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub insecure_ssl: Option<String>,
}

impl Config {
    /// Refuses what GitHub refuses.
    pub fn checked(self) -> Result<Self, ApiError> {
        let refuse = |message: &str| Err(ApiError::validation_message("Hook", message));
        if let Some(url) = &self.url {
            let address = reqwest::Url::parse(url).ok().filter(reqwest::Url::has_host);
            match address {
                Some(url) if matches!(url.scheme(), "http" | "https") => {}
                _ if url.is_empty() => return refuse("url cannot be blank"),
                _ => return refuse("url is not a valid URL with the scheme http or https"),
            }
        }
        if self.content_type.as_deref().is_some_and(|kind| kind != "json" && kind != "form") {
            return refuse("content_type must be json or form");
        }
        if self.insecure_ssl.as_deref().is_some_and(|flag| flag != "0" && flag != "1") {
            return refuse("insecure_ssl must be 0 or 1");
        }
        Ok(self)
    }

    /// What it says replaces what was there; what it leaves out stays.
    pub fn write_to(self, webhook: &mut AppWebhook) {
        webhook.url = self.url.or(webhook.url.take());
        webhook.secret = self.secret.or(webhook.secret.take());
        webhook.content_type = self.content_type.unwrap_or_else(|| webhook.content_type.clone());
        webhook.insecure_ssl = self.insecure_ssl.unwrap_or_else(|| webhook.insecure_ssl.clone());
    }
}

/// GitHub takes `"0"` as well as `0`.
fn flag<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Text(String),
        Number(u64),
    }
    let flag = Option::<Flag>::deserialize(deserializer)?;
    Ok(flag.map(|flag| match flag {
        Flag::Text(text) => text,
        Flag::Number(number) => number.to_string(),
    }))
}
