//! `/_sim/settings` and `/_sim/clock`.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body};
use crate::world::{Settings, World};

/// As far as the clock can be moved at once: enough for every deadline there is.
const LONGEST_STEP_S: f64 = 10.0 * 366.0 * 86_400.0;

pub fn routes() -> Router<Sim> {
    Router::new().route("/settings", get(show).patch(update)).route("/clock", get(show_clock).post(advance))
}

async fn show(State(sim): State<Sim>) -> ApiResult {
    Ok(http::json(200, &sim.read(settings)))
}

async fn update(State(sim): State<Sim>, Body(changes): Body<Map<String, Value>>) -> ApiResult {
    let body = sim.write(|world| {
        let mut merged = settings(world);
        if let Value::Object(members) = &mut merged {
            members.extend(changes);
        }
        let new: Settings =
            serde_json::from_value(merged).map_err(|error| ApiError::unprocessable(error.to_string()))?;
        world.edit_meta().settings = new;
        Ok(settings(world))
    })?;
    Ok(http::json(200, &body))
}

fn settings(world: &World) -> Value {
    serde_json::to_value(world.settings()).expect("settings hold nothing that JSON cannot")
}

async fn show_clock(State(sim): State<Sim>) -> ApiResult {
    Ok(http::json(200, &sim.read(clock)))
}

fn clock(world: &World) -> Value {
    let ahead = world.meta().clock_offset_ms as f64 / 1000.0;
    json!({ "now": world.now.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(), "ahead_seconds": ahead })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    advance_seconds: f64,
}

/// Only forward: what has happened stays in the past.
async fn advance(State(sim): State<Sim>, Body(step): Body<Step>) -> ApiResult {
    if !(0.0..=LONGEST_STEP_S).contains(&step.advance_seconds) {
        return Err(ApiError::unprocessable(format!("advance_seconds must be between 0 and {LONGEST_STEP_S}")));
    }
    sim.write(|world| {
        world.edit_meta().clock_offset_ms += (step.advance_seconds * 1000.0) as i64;
        Ok(())
    })?;
    Ok(http::json(200, &sim.read(clock)))
}
