//! Everything the simulator knows, except git objects.
//!
//! The state lives in memory as tables of documents and is written through to SQLite: a change happens inside
//! [`crate::Sim::write`], which either commits all of it or restores all of it.

mod account;
mod check;
mod conversation;
mod delivery;
mod disk;
mod ids;
mod meta;
mod protection;
mod pull;
mod repo;
mod review;
mod table;

pub use account::{
    Account, AccountKind, App, AppManifest, AppWebhook, Installation, OrgRole, Selection, Token, TokenHolder,
};
pub use check::{
    Annotation, CheckPreferences, CheckRun, CheckSuite, CiJob, CommitStatus, JobStep, Output, RunConclusion, RunStatus,
    StatusState, WorkflowRun,
};
pub use conversation::{Comment, Issue, IssueEvent, IssueState, Label, Reaction, ReactionSubject};
pub use delivery::{Delivery, DeliveryOutcome, DeliveryTarget, FromGit, Hook};
pub use disk::{Disk, DiskError};
pub use ids::{NodeKind, decode_named_node_id, decode_node_id, named_node_id, node_id};
pub use meta::{LagMode, Meta, Settings};
pub use protection::{
    Protection, RequiredCheck, RequiredReviews, RequiredStatusChecks, Restrictions, Ruleset, RulesetEnforcement,
};
pub use pull::{
    AsyncMerge, AsyncMergeStatus, MergeMethod, Mergeability, Merged, Pull, PullFacts, PullSize, Stack, StaleMergeState,
};
pub use repo::{
    CheckReport, CiCheck, CiDefinition, MergeMessage, MergeTitle, Repo, RepoRefs, RepoRole, SquashMessage, SquashTitle,
};
pub use review::{Review, ReviewComment, ReviewState, ReviewThread, Side};
pub use table::{Doc, Key, Table};

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::faults::Fault;
use crate::http::Urls;
use crate::push::Intent;

/// A number that GitHub would call a database id.
pub type Id = u64;
/// Forty hexadecimal digits.
pub type Sha = String;

macro_rules! world {
    ($($field:ident : $doc:ty),* $(,)?) => {
        pub struct World {
            /// The simulator's clock, read once per transaction.
            pub now: Timestamp,
            /// Where the clock begins if it does not run with the machine's.
            pub stopped_at: Option<Timestamp>,
            /// Where links in answers point.
            pub urls: Urls,
            /// What git says about a pull request, by (repository, base commit, head commit). A cache.
            pub facts: HashMap<(Id, Sha, Sha), Arc<PullFacts>>,
            $(pub $field: Table<$doc>,)*
        }

        impl World {
            pub(crate) fn load(disk: &Disk, urls: Urls) -> Result<Self, DiskError> {
                Ok(Self {
                    now: Timestamp::now(),
                    stopped_at: None,
                    urls,
                    facts: HashMap::new(),
                    $($field: disk.load::<$doc>()?,)*
                })
            }

            /// Every document touched since the last commit, as (kind, key, new body or nothing).
            pub(crate) fn touched(&self) -> Vec<(&'static str, Key, Option<String>)> {
                let mut rows = Vec::new();
                $(rows.extend(self.$field.touched());)*
                rows
            }

            pub(crate) fn commit(&mut self) {
                $(self.$field.commit();)*
            }

            /// Removes everything that belongs to one repository, but not the repository itself.
            fn remove_within(&mut self, repo: Id) {
                $(self.$field.remove_within(repo);)*
            }

            pub(crate) fn roll_back(&mut self) {
                $(self.$field.roll_back();)*
            }
        }
    };
}

world! {
    meta: Meta,
    accounts: Account,
    tokens: Token,
    apps: App,
    app_manifests: AppManifest,
    installations: Installation,
    repos: Repo,
    refs: RepoRefs,
    rulesets: Ruleset,
    labels: Label,
    issues: Issue,
    issue_events: IssueEvent,
    comments: Comment,
    reactions: Reaction,
    pulls: Pull,
    stacks: Stack,
    async_merges: AsyncMerge,
    reviews: Review,
    review_comments: ReviewComment,
    review_threads: ReviewThread,
    check_suites: CheckSuite,
    check_runs: CheckRun,
    statuses: CommitStatus,
    workflow_runs: WorkflowRun,
    check_preferences: CheckPreferences,
    ci_jobs: CiJob,
    hooks: Hook,
    deliveries: Delivery,
    faults: Fault,
    intents: Intent,
}

impl World {
    pub fn settings(&self) -> &Settings {
        &self.meta().settings
    }

    pub fn meta(&self) -> &Meta {
        self.meta.get(0, 0).expect("the meta document is written when the data directory is made")
    }

    pub fn edit_meta(&mut self) -> &mut Meta {
        self.meta.edit(0, 0).expect("the meta document is written when the data directory is made")
    }

    /// A number never handed out before.
    pub fn next_id(&mut self) -> Id {
        let meta = self.edit_meta();
        meta.last_id += 1;
        meta.last_id
    }

    /// A random number that depends only on the seed and on how many were drawn before.
    pub fn random(&mut self) -> u64 {
        let meta = self.edit_meta();
        meta.draws += 1;
        fastrand::Rng::with_seed(meta.seed ^ meta.draws.wrapping_mul(0x9E37_79B9_7F4A_7C15)).u64(..)
    }

    /// A random UUID (version 4).
    pub fn random_uuid(&mut self) -> String {
        let (a, b) = (self.random(), self.random());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0x0fff,
            0x8000 | (b >> 48 & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }

    /// Letters and digits, as in GitHub's tokens.
    pub fn random_alphanumeric(&mut self, length: usize) -> String {
        let mut rng = fastrand::Rng::with_seed(self.random());
        (0..length).map(|_| rng.alphanumeric()).collect()
    }

    pub fn account(&self, id: Id) -> &Account {
        self.accounts.get(0, id).expect("accounts are never deleted")
    }

    pub fn account_named(&self, login: &str) -> Option<&Account> {
        self.accounts.all().find(|account| account.login.eq_ignore_ascii_case(login))
    }

    pub fn repo(&self, id: Id) -> Option<&Repo> {
        self.repos.get(0, id)
    }

    pub fn repo_named(&self, owner: &str, name: &str) -> Option<&Repo> {
        let owner = self.account_named(owner)?.id;
        self.repos.all().find(|repo| repo.owner == owner && repo.name.eq_ignore_ascii_case(name))
    }

    /// Removes a repository and all that belongs to it. Pull requests from it stay where they were opened.
    pub fn remove_repo(&mut self, repo: Id) {
        self.remove_within(repo);
        self.repos.remove(0, repo);
        self.refs.remove(0, repo);
        let orphans: Vec<(Id, u64)> =
            self.pulls.all().filter(|pull| pull.head_repo == Some(repo)).map(|pull| (pull.repo, pull.number)).collect();
        for (base, number) in orphans {
            self.pulls.edit(base, number).expect("found above").head_repo = None;
        }
        let forks: Vec<Id> = self.repos.all().filter(|fork| fork.parent == Some(repo)).map(|fork| fork.id).collect();
        for fork in forks {
            self.repos.edit(0, fork).expect("found above").parent = None;
        }
    }

    /// `owner/name`.
    pub fn full_name(&self, repo: &Repo) -> String {
        format!("{}/{}", self.account(repo.owner).login, repo.name)
    }

    /// Issues and pull requests share one sequence of numbers per repository.
    pub fn next_number(&mut self, repo: Id) -> u64 {
        let repo = self.repos.edit(0, repo).expect("the caller looked the repository up in this transaction");
        repo.last_number += 1;
        repo.last_number
    }

    pub fn refs(&self, repo: Id) -> &RepoRefs {
        static EMPTY: RepoRefs = RepoRefs { repo: 0, refs: std::collections::BTreeMap::new() };
        self.refs.get(0, repo).unwrap_or(&EMPTY)
    }

    /// The commit at `refs/heads/{branch}`.
    pub fn branch(&self, repo: Id, branch: &str) -> Option<&Sha> {
        self.refs(repo).refs.get(&format!("refs/heads/{branch}"))
    }
}
