//! Webhooks: what is told ([`emit`], [`payload`]), to whom ([`audience`]), and how it gets there ([`deliver`]).

mod audience;
mod config;
mod deliver;
pub mod emit;
mod payload;
mod request;

pub use audience::redeliver;
pub use config::{Config, EVENTS};
pub use deliver::{start_delivering, take};
