//! What GitHub publishes about its API, in the cache folder.

use std::path::PathBuf;

use serde_json::Value;

/// The answers of every operation (`{"operations", "schemas"}`), made by `scripts/compact-openapi.mjs`.
pub fn rest() -> Value {
    read("openapi-23.0.2/rest-1.json")
}

pub fn webhooks() -> Value {
    read("webhooks-schemas-7.6.1/schema.json")
}

pub fn webhook_examples() -> Vec<Value> {
    match read("webhooks-examples-7.6.1/index.json") {
        Value::Array(examples) => examples,
        other => panic!("GitHub's examples are not a list: {other}"),
    }
}

/// The result of introspection on GitHub.
pub fn graphql() -> Value {
    read("graphql-schema-15.26.1/schema.json")
}

fn read(file: &str) -> Value {
    let path = cache().join("schemas").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `make test` and `scripts/fetch-schemas` fetch what GitHub publishes", path.display())
    });
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}; delete it", path.display()))
}

/// The rule of `scripts/fetch-schemas`.
pub fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("MERGE_TRAIN_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("merge-train")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/merge-train")))
        .expect("HOME is set")
}
