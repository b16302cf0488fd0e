//! What the operator wants: `merge-train.toml`, the environment, and the defaults.
