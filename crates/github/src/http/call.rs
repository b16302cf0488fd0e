//! A request to GitHub that is about to be made.

use bytes::Bytes;
use reqwest::Method;
use serde::Serialize;
use url::Url;

use crate::error::CallName;
use crate::governor::{Effect, Priority, Resource};

/// A request that is about to be made.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub method: Method,
    pub url: Url,
    pub body: Option<Bytes>,
    pub effect: Effect,
    pub resource: Resource,
    pub priority: Priority,
    pub caching: Caching,
    pub redirects: Redirects,
    /// Statuses of 400 and above that are an answer to this call, not a failure of it.
    pub expects: &'static [u16],
}

/// What to do when GitHub sends a call elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// Within the API, for a renamed repository.
    Follow,
    /// The address is the answer.
    Answer,
}

/// Whether the answer is kept and asked for again with its ETag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    No,
    ByEtag,
}

impl Call {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            body: None,
            effect: Effect::Read,
            resource: Resource::Core,
            priority: Priority::Normal,
            caching: Caching::No,
            redirects: Redirects::Follow,
            expects: &[],
        }
    }

    pub(crate) fn write(method: Method, url: Url, effect: Effect) -> Self {
        Self { method, effect, ..Self::get(url) }
    }

    /// A query; GraphQL is always asked by POST, and a query changes nothing.
    pub(crate) fn graphql(url: Url, body: &impl Serialize) -> Self {
        Self { method: Method::POST, resource: Resource::Graphql, ..Self::get(url) }.json(body)
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(body).expect("what merge-train sends has string keys and no failing parts");
        self.body = Some(bytes.into());
        self
    }

    pub(crate) fn query(mut self, pairs: &[(&str, &str)]) -> Self {
        self.url.query_pairs_mut().extend_pairs(pairs);
        self
    }

    pub(crate) fn cached(mut self) -> Self {
        self.caching = Caching::ByEtag;
        self
    }

    pub(crate) fn expecting(mut self, statuses: &'static [u16]) -> Self {
        self.expects = statuses;
        self
    }

    pub(crate) fn redirects(mut self, redirects: Redirects) -> Self {
        self.redirects = redirects;
        self
    }

    pub(crate) fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    pub(crate) fn name(&self) -> CallName {
        CallName::new(self.method.as_str(), self.url.path())
    }
}
