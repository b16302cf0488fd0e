//! Primary and secondary rate limits, an hour and a minute at a time.

use std::collections::HashMap;

use axum::http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::ApiError;
use crate::world::Settings;

const WINDOW_S: i64 = 3600;
/// GitHub's own figure for callers without a token; only the share matters here.
const ANONYMOUS_SHARE: u64 = 60;

#[derive(Default)]
pub struct RateLimits {
    windows: Mutex<HashMap<(String, &'static str), Window>>,
}

#[derive(Clone, Copy)]
struct Window {
    resets_at: i64,
    used: u64,
}

/// A caller's budget of one resource.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub resource: &'static str,
    pub limit: u64,
    pub used: u64,
    pub resets_at: i64,
}

impl Budget {
    pub fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    pub fn write_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in [
            ("x-ratelimit-limit", self.limit.to_string()),
            ("x-ratelimit-remaining", self.remaining().to_string()),
            ("x-ratelimit-reset", self.resets_at.to_string()),
            ("x-ratelimit-used", self.used.min(self.limit).to_string()),
            ("x-ratelimit-resource", self.resource.to_owned()),
        ] {
            headers.insert(name, HeaderValue::from_str(&value).expect("digits and letters"));
        }
    }
}

impl RateLimits {
    /// Takes `cost` of the caller's budget, or says that there is none left. Cost 0 only looks.
    pub fn take(
        &self,
        key: &str,
        resource: &'static str,
        settings: &Settings,
        now: Timestamp,
        cost: u64,
    ) -> Result<Budget, Budget> {
        let limit = match resource {
            "graphql" => settings.graphql_rate_limit,
            _ if key == "anonymous" => settings.rate_limit.min(ANONYMOUS_SHARE.max(settings.rate_limit / 80)),
            _ => settings.rate_limit,
        };
        let now = now.as_second();
        let mut windows = self.windows.lock();
        let window = windows.entry((key.to_owned(), resource)).or_insert(Window { resets_at: now + WINDOW_S, used: 0 });
        if window.resets_at <= now {
            *window = Window { resets_at: now + WINDOW_S, used: 0 };
        }
        let exhausted = cost > 0 && window.used >= limit;
        window.used += cost;
        let budget = Budget { resource, limit, used: window.used, resets_at: window.resets_at };
        if exhausted { Err(budget) } else { Ok(budget) }
    }

    /// What is left, without taking any of it.
    pub fn look(&self, key: &str, resource: &'static str, settings: &Settings, now: Timestamp) -> Budget {
        match self.take(key, resource, settings, now, 0) {
            Ok(budget) | Err(budget) => budget,
        }
    }

    /// Gives back what a `304` did not cost.
    pub fn refund(&self, key: &str, resource: &'static str) {
        if let Some(window) = self.windows.lock().get_mut(&(key.to_owned(), resource)) {
            window.used = window.used.saturating_sub(1);
        }
    }

    /// The secondary limit on creating content.
    pub fn take_creation(
        &self,
        key: &str,
        method: &Method,
        path: &str,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let Some(limit) = settings.content_creation_per_minute else { return Ok(()) };
        let creates = *method == Method::POST
            && ["/comments", "/reviews", "/pulls", "/issues", "/reactions", "/replies"]
                .iter()
                .any(|end| path.ends_with(end));
        if !creates {
            return Ok(());
        }
        let now = now.as_second();
        let mut windows = self.windows.lock();
        let window = windows.entry((key.to_owned(), "creation")).or_insert(Window { resets_at: now + 60, used: 0 });
        if window.resets_at <= now {
            *window = Window { resets_at: now + 60, used: 0 };
        }
        window.used += 1;
        if window.used > limit {
            let mut error = ApiError::forbidden(
                "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.",
            );
            error.headers.push(("retry-after", (window.resets_at - now).max(1).to_string()));
            return Err(error);
        }
        Ok(())
    }

    pub fn reset(&self) {
        self.windows.lock().clear();
    }
}
