//! The program as a process: what the daemon takes in, survives and says, and what the commands beside it do.

mod answers;
mod backup;
mod disk;
mod doctor;
mod idempotency;
mod kill;
mod native;
mod openapi;
mod outage;
mod plan;
mod run_crowds;
mod run_examples;
mod run_triggers;
mod runs;
mod runs_cli;
mod schedules;
mod settings;
mod simulator;
mod slack;
mod state;
mod support;
mod surface;
mod trains_api;
mod upgrade;
mod upkeep;
mod workspaces;
