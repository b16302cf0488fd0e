//! The endpoint: a query in, `data` and `errors` out.

use std::sync::LazyLock;

use async_graphql::{Pos, Request, Response, ServerError, Variables};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::{Value, json};

use super::{Asked, Failure, GitHub, cost, failure, order, schema};
use crate::Sim;
use crate::http::{ApiError, ApiResult, Body, Caller};

static SCHEMA: LazyLock<GitHub> = LazyLock::new(schema);

pub fn routes(path: &str) -> Router<Sim> {
    Router::new().route(path, post(answer).get(describe))
}

async fn answer(State(sim): State<Sim>, caller: Caller, Body(body): Body<Value>) -> ApiResult {
    check_credentials(&caller)?;
    let query = body["query"]
        .as_str()
        .ok_or_else(|| ApiError::bad_request("A query attribute must be specified and must be a string."))?;
    let variables = match &body["variables"] {
        Value::Null => json!({}),
        // Some clients send the variables as a text.
        Value::String(text) if text.is_empty() => json!({}),
        Value::String(text) => serde_json::from_str(text).map_err(|_| unreadable_variables())?,
        given => given.clone(),
    };
    if !variables.is_object() {
        return Err(unreadable_variables());
    }
    let operation = body["operationName"].as_str().filter(|name| !name.is_empty());
    let answer = execute(&sim, caller, query, operation, Variables::from_json(variables)).await;
    Ok(crate::http::json(200, &answer))
}

/// GitHub answers a GET with its schema.
async fn describe(State(sim): State<Sim>, caller: Caller) -> ApiResult {
    check_credentials(&caller)?;
    const INTROSPECTION: &str = "{ __schema { queryType { name } mutationType { name } subscriptionType { name }
        types { kind name description interfaces { name } possibleTypes { name } enumValues(includeDeprecated: true) { name }
            inputFields { name type { ...T } defaultValue }
            fields(includeDeprecated: true) { name args { name type { ...T } defaultValue } type { ...T } } }
        directives { name locations args { name } } } }
        fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";
    let answer = execute(&sim, caller, INTROSPECTION, None, Variables::default()).await;
    Ok(crate::http::json(200, &answer))
}

fn check_credentials(caller: &Caller) -> Result<(), ApiError> {
    match caller {
        Caller::Anonymous => {
            Err(ApiError::new(StatusCode::UNAUTHORIZED, "This endpoint requires you to be authenticated."))
        }
        _ => Ok(()),
    }
}

fn unreadable_variables() -> ApiError {
    ApiError::bad_request("Variables must be a JSON object.")
}

async fn execute(sim: &Sim, caller: Caller, query: &str, operation: Option<&str>, variables: Variables) -> Value {
    if let Err(failure) = cost::check_nesting(query) {
        return refuse(failure);
    }
    let document = match async_graphql::parser::parse_query(query) {
        Ok(document) => document,
        Err(error) => return present(Response::from_errors(vec![error.into()])),
    };
    let cost = match cost::of(&document, operation, &variables) {
        Ok(cost) => cost,
        Err(failure) => return refuse(failure),
    };
    // The request itself has cost one already.
    let (settings, now) = sim.read(|world| (world.settings().clone(), world.now));
    let taken = sim.rate_limits().take(&caller.rate_key(), "graphql", &settings, now, cost.points() - 1);
    if taken.is_err() {
        return refuse(Failure::new("RATE_LIMITED", "API rate limit exceeded"));
    }
    let mut request = Request::new(query).variables(variables).data(Asked::new(sim, caller, cost));
    request.set_parsed_query(document.clone());
    if let Some(name) = operation {
        request = request.operation_name(name);
    }
    let mut answer = present(SCHEMA.execute(request).await);
    if let Some(data) = answer.get_mut("data") {
        order::arrange(data, &document, operation);
    }
    answer
}

fn refuse(failure: Failure) -> Value {
    let error = async_graphql::Error::from(failure).into_server_error(Pos::default());
    present(Response::from_errors(vec![ServerError { locations: Vec::new(), ..error }]))
}

fn present(response: Response) -> Value {
    let mut value = json!({});
    // A query that was never begun has no data, not even null.
    let begun = response.errors.iter().all(|error| !error.path.is_empty());
    if begun {
        value["data"] = response.data.into_json().unwrap_or(Value::Null);
    }
    if !response.errors.is_empty() {
        value["errors"] = response.errors.iter().map(failure::present).collect();
    }
    value
}
