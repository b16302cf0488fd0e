//! What GitHub publishes about its API, in the cache folder.

use serde_json::Value;
use test_support::cache::schema;

/// The answers of every operation (`{"operations", "schemas"}`), made by `scripts/compact-openapi.mjs`.
pub fn rest() -> Value {
    schema("openapi-23.0.2/rest-1.json")
}

pub fn webhooks() -> Value {
    schema("webhooks-schemas-7.6.1/schema.json")
}

pub fn webhook_examples() -> Vec<Value> {
    match schema("webhooks-examples-7.6.1/index.json") {
        Value::Array(examples) => examples,
        other => panic!("GitHub's examples are not a list: {other}"),
    }
}

/// The result of introspection on GitHub.
pub fn graphql() -> Value {
    schema("graphql-schema-15.26.1/schema.json")
}
