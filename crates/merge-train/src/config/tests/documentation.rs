//! The documentation and the list of settings agree.
