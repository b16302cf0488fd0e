//! GitHub's own examples of webhooks, in the cache folder.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// All examples of one event.
#[derive(Deserialize)]
pub struct Family {
    pub name: String,
    pub examples: Vec<Value>,
}

pub fn examples() -> Vec<Family> {
    let path = cache().join("schemas/webhooks-examples-7.6.1/index.json");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `make test` and `scripts/fetch-schemas` fetch what GitHub publishes", path.display())
    });
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}; delete it", path.display()))
}

/// The rule of `scripts/fetch-schemas`.
fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("MERGE_TRAIN_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("merge-train")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/merge-train")))
        .expect("HOME is set")
}
