//! What was sent to a webhook, for repositories' hooks and for apps alike.

use axum::extract::OriginalUri;
use axum::http::HeaderValue;
use axum::http::header::LINK;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult};
use crate::present;
use crate::webhooks::redeliver;
use crate::world::{Delivery, DeliveryTarget, Id, World};

const DEFAULT_PER_PAGE: usize = 30;
const MOST_PER_PAGE: usize = 100;

#[derive(Deserialize)]
pub struct Filter {
    per_page: Option<usize>,
    cursor: Option<String>,
    redelivery: Option<bool>,
    /// `success` or `failure`.
    status: Option<String>,
}

/// The newest first, a page at a time. The cursor names the delivery that the next page begins after.
pub fn list(sim: &Sim, uri: &OriginalUri, target: DeliveryTarget, filter: &Filter) -> ApiResult {
    let before = match filter.cursor.as_deref() {
        None => Id::MAX,
        Some(cursor) => cursor
            .strip_prefix("v1_")
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| ApiError::unprocessable("Invalid cursor parameter."))?,
    };
    if !matches!(filter.status.as_deref(), None | Some("success" | "failure")) {
        return Err(ApiError::unprocessable("Invalid request.\n\n`status` must be `success` or `failure`."));
    }
    let per_page = filter.per_page.filter(|n| *n > 0).unwrap_or(DEFAULT_PER_PAGE).min(MOST_PER_PAGE);
    let (shown, next) = sim.read(|world| {
        let mut found = sent_to(world, target).filter(|delivery| delivery.id < before && filter.lets_pass(delivery));
        let page: Vec<&Delivery> = found.by_ref().take(per_page).collect();
        let next = page.last().filter(|_| found.next().is_some()).map(|last| last.id);
        (page.into_iter().map(present::delivery_item).collect::<Vec<Value>>(), next)
    });
    let mut response = http::json(200, &Value::Array(shown));
    if let Some(link) = next.and_then(|id| filter.link(sim, uri, id)) {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

impl Filter {
    fn lets_pass(&self, delivery: &Delivery) -> bool {
        let went_well = delivery.outcome.as_ref().is_some_and(|outcome| outcome.status == "OK");
        self.redelivery.is_none_or(|wanted| wanted == delivery.redelivery)
            && self.status.as_deref().is_none_or(|status| (status == "success") == went_well)
    }

    fn link(&self, sim: &Sim, uri: &OriginalUri, last: Id) -> Option<HeaderValue> {
        let query: Vec<(String, String)> = serde_urlencoded::from_str(uri.query().unwrap_or_default()).ok()?;
        let mut query: Vec<_> = query.into_iter().filter(|(name, _)| name != "cursor").collect();
        query.push(("cursor".into(), format!("v1_{last}")));
        let query = serde_urlencoded::to_string(query).ok()?;
        HeaderValue::from_str(&format!("<{}?{query}>; rel=\"next\"", sim.urls().web(uri.path()))).ok()
    }
}

pub fn get(sim: &Sim, target: DeliveryTarget, id: Id) -> ApiResult {
    let body = sim.read(|world| find(world, target, id).map(present::delivery))?;
    Ok(http::json(200, &body))
}

/// 202: it is sent again, soon.
pub fn attempt(sim: &Sim, target: DeliveryTarget, id: Id) -> ApiResult {
    sim.write(|world| {
        let delivery = find(world, target, id)?.clone();
        redeliver(world, &delivery);
        Ok(())
    })?;
    Ok(http::json(202, &json!({})))
}

fn find(world: &World, target: DeliveryTarget, id: Id) -> Result<&Delivery, ApiError> {
    world
        .deliveries
        .get(0, id)
        .filter(|delivery| delivery.target == target && delivery.outcome.is_some())
        .ok_or_else(ApiError::not_found)
}

fn sent_to(world: &World, target: DeliveryTarget) -> impl Iterator<Item = &Delivery> {
    world.deliveries.within(0).rev().filter(move |delivery| delivery.target == target && delivery.outcome.is_some())
}
