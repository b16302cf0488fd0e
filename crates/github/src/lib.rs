//! The one door to GitHub: what it sends by itself ([`webhook`]), and what is asked of it ([`Client`]).
//!
//! A [`Client`] knows who we are and keeps to GitHub's limits; [`Client::repo`] gives what can be asked about one
//! repository. Answers are the facts of `merge_train_core` wherever it has a name for them.

mod app;
mod auth;
mod client;
mod config;
mod error;
mod governor;
mod graphql;
mod http;
mod rest;
pub mod webhook;
mod wire;

pub use app::{
    App, EVENTS, Grant, HookConfig, HookDelivery, Installation, Installer, Level, Need, NewApp, PERMISSIONS,
    convert_manifest, missing_events, missing_grants,
};
pub use client::{Account, Client, Repo};
pub use config::{Auth, Config, ConfigError, Timeouts, is_this_machine};
pub use error::{CallName, Class, Error, Executed};
pub use governor::{BudgetStats, CallCounts, CircuitState, GovernorStats, Limits, Priority};
pub use graphql::{Depth, Glances, MergeStates, ReviewThread, ThreadAuthor, ThreadComment, Wish, Wishes};
pub use merge_train_core::facts::Permission;
pub use merge_train_core::secret::Secret;
pub use rest::{
    Annotation, BranchProtection, BranchRule, CheckApp, CheckOutput, CheckReport, CheckRun, CheckSuite, CombinedStatus,
    Commit, Conclusion, Content, Enforcement, FileAt, GivenReaction, LogTail, MergeOutcome, MergeProgress, MergeTicket,
    NativeStack, Pull, Reachable, Reaction, Remark, RepoSettings, RequiredChecks, RequiredReviews, Review,
    ReviewComment, Ruleset, SquashMerge, Status, SuiteOf, Switch,
};
