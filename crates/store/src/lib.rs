//! Where merge-train keeps what it must never lose.
