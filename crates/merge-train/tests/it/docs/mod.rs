//! The documentation is true: its commands work, its links lead somewhere, its settings and comments are understood.

mod commands;
mod deeds;
mod journey;
mod links;
mod pages;
mod quotes;
mod settings;
