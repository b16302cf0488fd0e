//! `/_sim/faults`: what the simulator is told to do wrong.

use axum::Router;
use axum::extract::State;
use axum::routing::{delete, get};
use serde_json::{Value, json};

use crate::Sim;
use crate::faults::{Fault, FaultKind};
use crate::http::{self, ApiError, ApiResult, Body, Path};
use crate::world::Id;

/// A webhook is not sent more often than this.
const MOST_DUPLICATES: u64 = 100;

pub fn routes() -> Router<Sim> {
    Router::new().route("/faults", get(list).post(create).delete(remove_all)).route("/faults/{id}", delete(remove))
}

async fn list(State(sim): State<Sim>) -> ApiResult {
    let all: Vec<Value> = sim.read(|world| world.faults.within(0).map(shown).collect());
    Ok(http::json(200, &all.into()))
}

/// One or a list; all are taken or none is. Answers in kind.
async fn create(State(sim): State<Sim>, Body(body): Body<Value>) -> ApiResult {
    let (items, is_list) = match body {
        Value::Array(items) => (items, true),
        one => (vec![one], false),
    };
    let faults = items.into_iter().map(read).collect::<Result<Vec<Fault>, _>>()?;
    let mut made: Vec<Value> = sim.write(|world| {
        let store = |mut fault: Fault| {
            let meta = world.edit_meta();
            meta.last_fault_id += 1;
            fault.id = meta.last_fault_id;
            let value = shown(&fault);
            world.faults.insert(fault);
            value
        };
        Ok(faults.into_iter().map(store).collect())
    })?;
    let body = if is_list { made.into() } else { made.remove(0) };
    Ok(http::json(201, &body))
}

fn read(value: Value) -> Result<Fault, ApiError> {
    let refused = |reason: String| ApiError::unprocessable(format!("Invalid fault: {reason}"));
    let fault: Fault = serde_json::from_value(value.clone()).map_err(|error| refused(error.to_string()))?;
    let known = shown(&fault);
    if let Some(unknown) = value.as_object().and_then(|given| given.keys().find(|name| known.get(name).is_none())) {
        let allowed: Vec<&String> = known.as_object().into_iter().flat_map(|members| members.keys()).collect();
        return Err(refused(format!("unknown field `{unknown}`, expected one of {allowed:?}")));
    }
    let reason = match &fault.kind {
        FaultKind::Status { status, .. } if !(100..=599).contains(status) => "`status` must be from 100 to 599",
        FaultKind::DuplicateWebhook { times } if !(1..=MOST_DUPLICATES).contains(times) => {
            "`times` must be from 1 to 100"
        }
        _ if fault.matcher.probability.is_some_and(|share| !(0.0..=1.0).contains(&share)) => {
            "`probability` must be from 0 to 1"
        }
        _ if fault.matcher.nth == Some(0) => "`nth` counts from 1",
        _ if fault.count == Some(0) => "`count` must be at least 1, or null for ever",
        _ => return Ok(Fault { seen: 0, struck: 0, ..fault }),
    };
    Err(refused(reason.to_owned()))
}

fn shown(fault: &Fault) -> Value {
    json!(fault)
}

async fn remove(State(sim): State<Sim>, Path(id): Path<Id>) -> ApiResult {
    sim.write(|world| world.faults.remove(0, id).map(|_| ()).ok_or_else(ApiError::not_found))?;
    Ok(http::no_content())
}

async fn remove_all(State(sim): State<Sim>) -> ApiResult {
    sim.write(|world| {
        for id in world.faults.within(0).map(|fault| fault.id).collect::<Vec<_>>() {
            world.faults.remove(0, id);
        }
        Ok(())
    })?;
    Ok(http::no_content())
}
