//! The simulator itself: counters, clock and settings.

use serde::{Deserialize, Serialize};

use super::table::{Doc, Key};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meta {
    pub seed: u64,
    pub draws: u64,
    pub last_id: u64,
    /// Faults are counted apart, so that what a fault draws depends on nothing but the seed and the faults before it.
    #[serde(default)]
    pub last_fault_id: u64,
    /// How far the simulator's clock runs ahead of the machine's, or of where it was stopped.
    pub clock_offset_ms: i64,
    pub settings: Settings,
}

impl Doc for Meta {
    const KIND: &'static str = "meta";
    fn key(&self) -> Key {
        Key { scope: 0, id: 0 }
    }
}

/// What can be changed while the simulator runs, through `/_sim/settings`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Requests an hour for one user or installation. GitHub's is 5000.
    pub rate_limit: u64,
    /// GraphQL points an hour.
    pub graphql_rate_limit: u64,
    /// Comments, reviews, pull requests … one caller may create in a minute before the secondary limit answers. GitHub's
    /// is about 80; without a number there is none.
    pub content_creation_per_minute: Option<u64>,
    /// How long `mergeStateStatus` and `mergeable` lag behind a push.
    pub merge_state_lag_ms: u64,
    pub merge_state_lag_mode: LagMode,
    /// How long `merge_commit_sha` of a merged pull request stays null.
    pub merge_commit_sha_lag_ms: u64,
    /// How long an asynchronous merge stays pending.
    pub merge_async_delay_ms: u64,
    /// How long an app's installation token lives.
    pub installation_token_ttl_s: u64,
    /// Whether the app is installed on an account as soon as it has a repository.
    pub auto_install: bool,
    /// How long a webhook receiver may take to answer.
    pub webhook_timeout_ms: u64,
    /// Whether webhooks wait until they are taken by hand (`POST /_sim/deliveries/take`) instead of being sent.
    pub hold_webhooks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // A laptop's simulator is for working with, so out of the box the limit is there to be seen and not in the way.
            rate_limit: 1_000_000,
            graphql_rate_limit: 1_000_000,
            content_creation_per_minute: None,
            merge_state_lag_ms: 0,
            merge_state_lag_mode: LagMode::Stale,
            merge_commit_sha_lag_ms: 0,
            merge_async_delay_ms: 0,
            installation_token_ttl_s: 3600,
            auto_install: true,
            webhook_timeout_ms: 10_000,
            hold_webhooks: false,
        }
    }
}

/// What a lagging merge state shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LagMode {
    /// The state of the head before the push.
    Stale,
    /// `UNKNOWN`.
    Unknown,
}
