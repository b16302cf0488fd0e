//! GitHub's own examples of webhooks, in the cache folder.

use serde::Deserialize;
use serde_json::Value;
use test_support::cache::schema;

/// All examples of one event.
#[derive(Deserialize)]
pub struct Family {
    pub name: String,
    pub examples: Vec<Value>,
}

pub fn examples() -> Vec<Family> {
    serde_json::from_value(schema("webhooks-examples-7.6.1/index.json")).expect("GitHub's examples are families")
}
