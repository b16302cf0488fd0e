//! The crate seen from outside: webhooks against GitHub's own examples, the client against a server
//! with scripted answers and against the simulator.

mod client;
mod server;
mod sim;
mod webhooks;
