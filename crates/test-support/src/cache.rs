//! What `scripts/setup` installs and `scripts/fetch-schemas` fetches, in the cache folder.

use std::path::PathBuf;

use serde_json::Value;

/// The cache folder, by the rule of `scripts/fetch-schemas`.
fn folder() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("MERGE_TRAIN_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("merge-train")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/merge-train")))
        .expect("HOME is set")
}

/// The program or the folder of a client that `scripts/setup` has installed.
pub fn client(name: &str) -> PathBuf {
    let path = folder().join("clients").join(name);
    assert!(path.exists(), "{} is not there; `make test` and `scripts/setup` install it", path.display());
    path
}

/// A file that GitHub publishes, as JSON.
pub fn schema(file: &str) -> Value {
    let path = folder().join("schemas").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `make test` and `scripts/fetch-schemas` fetch what GitHub publishes", path.display())
    });
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}; delete it", path.display()))
}
