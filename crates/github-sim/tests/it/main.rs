//! The simulator as its users meet it: over HTTP and with real git.

mod support;

mod actions;
mod apps;
mod checks;
mod ci;
mod clients;
mod comments;
mod commits;
mod conformance;
mod contents;
mod control;
mod faults;
mod git_http;
mod graphql;
mod hooks;
mod http_basics;
mod issues;
mod labels;
mod merging;
mod pages;
mod permissions;
mod protection;
mod pulls;
mod push;
mod refs;
mod repos;
mod restart;
mod reviews;
mod rulesets;
mod stacks;
mod statuses;
mod webhooks;
