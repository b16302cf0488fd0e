//! The crate seen from outside: webhooks against GitHub's own examples, the client against a server with scripted answers.

mod client;
mod server;
mod webhooks;
