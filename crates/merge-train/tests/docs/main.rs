//! The documentation is true: its commands work, its links lead somewhere, its settings and comments are understood.

mod commands;
mod deeds;
mod journey;
mod links;
mod pages;
mod quotes;
mod settings;
#[path = "../serve"]
mod serve {
    #[allow(dead_code, unused_imports, reason = "the other suite needs more of it")]
    pub mod support;
}
