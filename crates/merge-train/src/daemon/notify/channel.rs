//! The channels of Slack that are told: whose news goes where, and the posting of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use merge_train_core::ids::TenantId;
use merge_train_core::secret::Secret;
use merge_train_core::workflow::Run;
use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use url::Url;

use super::notice::{Notice, NoticeKind};
use crate::config::Config;
use github::is_this_machine;

/// Slack answers in a moment, or something is wrong.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Slack wants no longer waits than this; who says so is not believed.
const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);

pub struct SlackChannels {
    http: reqwest::Client,
    /// For those that have none of their own.
    common: Option<Secret>,
    own: BTreeMap<TenantId, Secret>,
    wanted: BTreeSet<NoticeKind>,
    dashboard: Option<String>,
}

/// What became of a message.
pub enum PostResult {
    Done,
    /// It may work later, not before this if Slack said so.
    Failed {
        why: String,
        after: Option<Duration>,
    },
    /// It will not.
    Refused(String),
}

impl SlackChannels {
    /// None where there is nobody to tell, or nothing.
    pub fn new(config: &Config) -> anyhow::Result<Option<Self>> {
        let own: BTreeMap<TenantId, Secret> =
            config.slack_channels.iter().map(|row| (row.tenant.clone(), row.notify_url.clone())).collect();
        let common = config.slack.notify_url.clone();
        let wanted: BTreeSet<NoticeKind> =
            config.slack.notify.iter().filter_map(|name| NoticeKind::named(name)).collect();
        if (common.is_none() && own.is_empty()) || wanted.is_empty() {
            return Ok(None);
        }
        // What is meant for Slack is for nobody that Slack would send it on to.
        let mut http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(Policy::none())
            .user_agent(concat!("merge-train/", env!("CARGO_PKG_VERSION")));
        let is_near =
            |secret: &Secret| Url::parse(secret.expose()).is_ok_and(|url| url.host().is_some_and(is_this_machine));
        if own.values().chain(&common).all(is_near) {
            // No proxy can reach it.
            http = http.no_proxy();
        }
        let dashboard = config.server.public_url.as_ref().map(|url| url.trim_end_matches('/').to_owned());
        Ok(Some(Self { http: http.build()?, common, own, wanted, dashboard }))
    }

    /// Whether anybody is told such news of this run. An owner with a channel of its own is told there and nowhere else.
    pub fn want(&self, run: &Run, kind: NoticeKind) -> bool {
        self.wanted.contains(&kind) && self.address(run).is_some()
    }

    fn address(&self, run: &Run) -> Option<&Secret> {
        self.own.get(&run.tenant_id).or(self.common.as_ref())
    }

    pub async fn post(&self, run: &Run, notice: &Notice) -> PostResult {
        let Some(address) = self.address(run) else {
            return PostResult::Refused("there is no channel for it".to_owned());
        };
        let message = notice.message(run, self.dashboard.as_deref());
        match self.http.post(address.expose()).json(&message).send().await {
            Err(error) => {
                // Whoever knows the address can post: it is not for the log.
                let error = anyhow::Error::new(error.without_url());
                PostResult::Failed { why: format!("{error:#}"), after: None }
            }
            Ok(response) => judged(&response),
        }
    }
}

fn judged(response: &Response) -> PostResult {
    let status = response.status();
    let why = format!("Slack answered {status}");
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let after = after.map(|seconds| Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER));
    match status {
        _ if status.is_success() => PostResult::Done,
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => PostResult::Failed { why, after },
        _ => PostResult::Refused(format!("{why}: check slack.notify_url")),
    }
}
