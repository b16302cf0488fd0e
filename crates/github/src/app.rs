//! The app as GitHub knows it: what it is granted, where it is installed, and what became of its webhooks.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jiff::Timestamp;
use merge_train_core::ids::InstallationId;
use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::{Caller, Client};
use crate::config::{Auth, Config};
use crate::error::{CallName, Error};
use crate::governor::{Effect, Priority};
use crate::http::{Call, Wire};
use merge_train_core::secret::Secret;

/// How far an app may go with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Read,
    Write,
}

/// Whether merge-train can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// No train lands without it.
    Required,
    /// Something else does not work without it.
    Advised,
}

/// A permission that merge-train wants.
#[derive(Debug, PartialEq, Eq)]
pub struct Grant {
    /// GitHub's name for it.
    pub name: &'static str,
    pub level: Level,
    pub need: Need,
    /// What it is for, to follow "to".
    pub purpose: &'static str,
}

const fn grant(name: &'static str, level: Level, need: Need, purpose: &'static str) -> Grant {
    Grant { name, level, need, purpose }
}

/// All that merge-train wants of GitHub: an app is made with it, and `doctor` looks for it.
#[rustfmt::skip]
pub const PERMISSIONS: &[Grant] = &[
    grant("actions", Level::Read, Need::Advised, "show fixers the logs of failed jobs"),
    grant("administration", Level::Read, Need::Advised, "see branch protection that would block a train"),
    grant("checks", Level::Read, Need::Required, "see whether the checks have passed"),
    grant("checks", Level::Write, Need::Advised, "report on a pull request whether its .github/merge-train.toml is valid"),
    grant("contents", Level::Write, Need::Required, "push and merge"),
    grant("issues", Level::Write, Need::Required, "answer comments"),
    grant("metadata", Level::Read, Need::Required, "see the repositories, and who may do what in them"),
    grant("pull_requests", Level::Write, Need::Required, "retarget and merge pull requests"),
    grant("statuses", Level::Read, Need::Required, "see whether the commit statuses are green"),
    grant("workflows", Level::Write, Need::Advised, "push commits that change .github/workflows"),
];

/// The events that merge-train listens to. Those about installations come unasked.
pub const EVENTS: &[&str] = &[
    "check_run",
    "check_suite",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "status",
];

impl Level {
    /// As GitHub writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl Grant {
    fn is_in(&self, granted: &BTreeMap<String, String>) -> bool {
        match (self.level, granted.get(self.name).map(String::as_str)) {
            (Level::Read, Some("read" | "write" | "admin")) | (Level::Write, Some("write" | "admin")) => true,
            (Level::Read | Level::Write, _) => false,
        }
    }
}

/// What is missing for all that merge-train wants.
pub fn missing_grants(granted: &BTreeMap<String, String>) -> Vec<&'static Grant> {
    PERMISSIONS.iter().filter(|grant| !grant.is_in(granted)).collect()
}

/// The events that merge-train would not hear of.
pub fn missing_events(events: &[String]) -> Vec<&'static str> {
    EVENTS.iter().filter(|wanted| !events.iter().any(|event| event == *wanted)).copied().collect()
}

/// The app that we are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct App {
    pub id: u64,
    /// Its name in addresses; its comments are by `{slug}[bot]`.
    pub slug: String,
    pub name: String,
    /// Where people look at it and install it.
    #[serde(default)]
    pub html_url: String,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
}

impl App {
    /// Where people choose the repositories that it is for.
    pub fn install_url(&self) -> String {
        format!("{}/installations/new", self.html_url)
    }
}

/// The app on an account, as whoever installed it agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Installation {
    pub id: InstallationId,
    pub account: Option<Installer>,
    /// Where it is configured.
    #[serde(default)]
    pub html_url: String,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
    pub suspended_at: Option<Timestamp>,
}

/// The account that an app is installed on. An enterprise has a slug in place of a login.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Installer {
    #[serde(alias = "slug")]
    pub login: String,
}

/// Where an app's webhooks go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct HookConfig {
    /// Empty where there is none.
    #[serde(default)]
    pub url: String,
    /// `"1"` or `1` where certificates are not checked.
    #[serde(default)]
    insecure_ssl: Value,
}

impl HookConfig {
    /// Whether whoever answers at that address is taken for the right one.
    pub fn checks_certificates(&self) -> bool {
        self.insecure_ssl != "1" && self.insecure_ssl != 1
    }
}

/// What became of one of the app's webhooks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HookDelivery {
    pub delivered_at: Timestamp,
    /// `OK`, or what went wrong.
    pub status: String,
    pub status_code: u16,
    pub event: String,
}

/// An app that was just made, with what is shown of it only now.
#[derive(Debug, Clone, Deserialize)]
pub struct NewApp {
    #[serde(flatten)]
    pub app: App,
    pub pem: Secret,
    /// None for an app without a webhook.
    pub webhook_secret: Option<Secret>,
}

impl Client {
    /// The app that we are; None with a personal token.
    pub async fn app(&self) -> Result<Option<App>, Error> {
        self.ask_as_app(&["app"]).await
    }

    /// Every installation of the app, those that are suspended too.
    pub async fn installations(&self) -> Result<Vec<Installation>, Error> {
        let mut all: Vec<Installation> = Vec::new();
        let take = |page: Vec<Installation>| {
            all.extend(page);
            ControlFlow::Continue(())
        };
        let call = Call::get(self.wire().urls.path(["app", "installations"])).priority(Priority::Poll);
        self.pages(Caller::Ourselves, call, take).await?;
        Ok(all)
    }

    /// Where the app's webhooks go; None with a personal token.
    pub async fn hook_config(&self) -> Result<Option<HookConfig>, Error> {
        self.ask_as_app(&["app", "hook", "config"]).await
    }

    /// What became of the app's latest webhooks, the newest first.
    pub async fn hook_deliveries(&self) -> Result<Vec<HookDelivery>, Error> {
        Ok(self.ask_as_app(&["app", "hook", "deliveries"]).await?.unwrap_or_default())
    }

    /// How far GitHub's clock is ahead of ours, in seconds, as its last answer told.
    pub fn clock_ahead_secs(&self) -> i64 {
        self.wire().clock_ahead()
    }

    async fn ask_as_app<T: DeserializeOwned>(&self, path: &[&str]) -> Result<Option<T>, Error> {
        let call = Call::get(self.wire().urls.path(path.iter().copied()));
        match self.keyring().send_as_app(self.wire(), &call).await {
            Some(answer) => answer?.json().map(Some),
            None => Ok(None),
        }
    }
}

/// Makes the app that somebody agreed to: GitHub gave them the code, which is good for an hour, and once.
pub async fn convert_manifest(api_url: &str, code: &str) -> Result<NewApp, Error> {
    // Nobody yet: the code is all the right there is.
    let mut config = Config::new(Auth::Token(Secret::new("")));
    api_url.clone_into(&mut config.api_url);
    let path = ["app-manifests", code, "conversions"];
    let nameless = CallName::new("POST", "/app-manifests/CODE/conversions");
    let wire = Wire::new(&config).map_err(|error| Error::permanent(&nameless, error.to_string()))?;
    let call = Call::write(Method::POST, wire.urls.path(path), Effect::Write);
    wire.send_once_as_nobody(&call, &nameless).await?.json()
}

#[cfg(test)]
mod tests {
    use merge_train_core::ids::DeliveryId;

    use super::*;
    use crate::webhook;

    #[test]
    fn a_permission_is_granted_by_its_level_or_a_higher_one() {
        let all: BTreeMap<String, String> =
            PERMISSIONS.iter().map(|grant| (grant.name.to_owned(), grant.level.as_str().to_owned())).collect();
        assert_eq!(missing_grants(&all), [] as [&Grant; 0]);
        let with = |name: &str, level: &str| {
            let mut granted = all.clone();
            granted.insert(name.to_owned(), level.to_owned());
            missing_grants(&granted).iter().map(|grant| grant.name).collect::<Vec<_>>()
        };
        assert_eq!(with("contents", "read"), ["contents"]);
        assert_eq!(with("checks", "read"), ["checks"], "trains land, and a file of settings goes unchecked");
        assert_eq!(with("contents", "admin"), [""; 0]);
        assert_eq!(missing_grants(&BTreeMap::new()).len(), PERMISSIONS.len());
    }

    #[test]
    fn the_events_asked_for_are_those_that_are_read() {
        let id = || DeliveryId::parse("d-1").expect("an id");
        for event in EVENTS {
            // One that is known needs a repository to make sense of; any other is passed over.
            assert!(webhook::parse(event, id(), b"{}").is_err(), "{event}");
        }
        assert!(webhook::parse("milestone", id(), b"{}").is_ok());
        assert_eq!(missing_events(&["push".to_owned(), "other".to_owned()]).len(), EVENTS.len() - 1);
    }
}
