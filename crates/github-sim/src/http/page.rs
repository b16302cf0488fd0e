//! Lists, a page at a time, with GitHub's `Link` header.

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header::LINK};
use axum::response::Response;
use serde_json::Value;

use super::ApiError;
use crate::Sim;

const DEFAULT_PER_PAGE: usize = 30;
const MOST_PER_PAGE: usize = 100;

/// The page that was asked for.
pub struct Page {
    page: usize,
    per_page: usize,
    /// Whether the caller said how many.
    asked: bool,
    base: String,
    /// The rest of the query, to be repeated in links.
    other: Vec<(String, String)>,
}

impl FromRequestParts<Sim> for Page {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, sim: &Sim) -> Result<Self, ApiError> {
        let uri = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |uri| &uri.0);
        let query: Vec<(String, String)> =
            serde_urlencoded::from_str(uri.query().unwrap_or_default()).unwrap_or_default();
        let asked = |name: &str| {
            query.iter().find(|(key, _)| key == name).and_then(|(_, value)| number(value)).filter(|n| *n > 0)
        };
        Ok(Self {
            page: asked("page").unwrap_or(1),
            asked: asked("per_page").is_some(),
            per_page: asked("per_page").unwrap_or(DEFAULT_PER_PAGE).min(MOST_PER_PAGE),
            base: sim.urls().web(uri.path()),
            other: query.iter().filter(|(key, _)| key != "page").cloned().collect(),
        })
    }
}

/// More than fits is as much as there can be.
fn number(text: &str) -> Option<usize> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().unwrap_or(usize::MAX))
}

impl Page {
    /// For the few lists that show more at once when they are not told how many.
    pub fn with_default(mut self, per_page: usize) -> Self {
        if !self.asked {
            self.per_page = per_page;
        }
        self
    }

    pub fn per_page(&self) -> usize {
        self.per_page
    }

    pub fn is_first(&self) -> bool {
        self.page == 1
    }

    /// How many items stand on the pages before.
    pub fn skip(&self) -> usize {
        (self.page - 1).saturating_mul(self.per_page)
    }

    /// Which part of a list of `total` to show.
    pub fn range(&self, total: usize) -> std::ops::Range<usize> {
        let start = self.skip().min(total);
        start..(start + self.per_page).min(total)
    }

    /// The page of `items`, each rendered by `render` (only those on the page are).
    pub fn of<T>(&self, items: &[T], render: impl FnMut(&T) -> Value) -> Response {
        let shown: Vec<Value> = items[self.range(items.len())].iter().map(render).collect();
        self.respond(items.len(), &Value::Array(shown))
    }

    /// A body already cut to the page, and how many items there are in all.
    pub fn respond(&self, total: usize, body: &Value) -> Response {
        let mut response = super::json(200, body);
        if let Some(link) = self.link(total) {
            response.headers_mut().insert(LINK, link);
        }
        response
    }

    fn link(&self, total: usize) -> Option<HeaderValue> {
        let last = total.div_ceil(self.per_page).max(1);
        let mut links = Vec::new();
        let mut add = |page: usize, rel: &str| {
            let mut query = self.other.clone();
            query.push(("page".into(), page.to_string()));
            let query = serde_urlencoded::to_string(query).unwrap_or_default();
            links.push(format!("<{}?{query}>; rel=\"{rel}\"", self.base));
        };
        if self.page > 1 {
            add((self.page - 1).min(last), "prev");
        }
        if self.page < last {
            add(self.page + 1, "next");
            add(last, "last");
        }
        if self.page > 1 {
            add(1, "first");
        }
        (!links.is_empty()).then(|| HeaderValue::from_str(&links.join(", ")).ok()).flatten()
    }
}
