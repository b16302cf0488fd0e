//! A GitHub that runs on a laptop: REST, GraphQL, git over HTTP, signed webhooks and CI that really runs, for whoever
//! writes a GitHub bot. See `docs/simulator.md`.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let running = github_sim::start(github_sim::Options::new("sim-data")).await?;
//! println!("{}", running.urls().api(""));
//! running.stop().await;
//! # Ok(())
//! # }
//! ```

mod apps;
mod checks;
mod ci;
mod control;
mod conversation;
mod faults;
mod git;
mod graphql;
mod http;
mod pages;
mod people;
mod policy;
mod present;
mod pulls;
mod push;
mod rest;
mod reviews;
mod rollup;
mod setup;
mod sim;
mod start;
mod webhooks;
mod world;
mod zen;

pub use http::Urls;
pub use start::{Options, Running, StartError, start};

use sim::{RepoGuard, Sim};
