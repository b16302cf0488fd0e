//! A repository with people in it, and a daemon that lands their stacks.

mod branches;
mod checkout;
mod conversation;
mod disk;
mod finish;
mod full;
mod identity;
mod look;
mod operator;
pub mod outage;
mod people;
mod replay;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};

pub use crate::support::REPO;
use crate::support::{Daemon, World, http};
pub use checkout::{Change, Checkout};
pub use people::{ADMIN, AUTHOR, MAINTAINER, STRANGER};
pub use rules::Rules;

/// The default branch, unless a test wants another.
pub const MAIN: &str = "main";

/// Everything that a test about trains has to do with.
pub struct Trains {
    world: World,
    daemon: Option<Daemon>,
    http: reqwest::Client,
    /// The token of each person.
    tokens: BTreeMap<&'static str, String>,
    /// The daemon's own account.
    bot: String,
    default_branch: String,
    /// The head of the default branch before anything was landed.
    origin: String,
    /// What people committed, by branch, in order.
    commits: Mutex<BTreeMap<String, Vec<String>>>,
    /// Branches into which somebody merged by hand, with conflicts settled in favour of the branch.
    resolved: Mutex<BTreeSet<String>>,
    /// A check that every commit gets, and that only `ci` ends.
    waiting_check: Mutex<Option<String>>,
    /// What daemons logged that are gone.
    old_logs: String,
    finished: bool,
}

/// How a test wants it.
pub struct Wish {
    default_branch: String,
    settings: Value,
    config: String,
}

impl Wish {
    /// Sections of the configuration.
    pub fn config(mut self, sections: &str) -> Self {
        self.config.push_str(sections);
        self
    }

    pub fn default_branch(mut self, name: &str) -> Self {
        name.clone_into(&mut self.default_branch);
        self
    }

    /// Settings of the repository, by GitHub's names.
    pub fn settings(mut self, settings: Value) -> Self {
        let more = settings.as_object().expect("an object").clone();
        self.settings.as_object_mut().expect("an object").extend(more);
        self
    }

    pub async fn start(self) -> Trains {
        let mut world = World::without_daemon().await;
        world.setup = world.setup.clone().more(&self.config);
        world.call(Method::PATCH, &format!("/repos/{REPO}"), self.settings).await;
        let bot = format!("{}[bot]", world.described["app"]["slug"].as_str().expect("a name"));
        let mut trains = Trains {
            world,
            bot,
            daemon: None,
            http: http(),
            tokens: BTreeMap::new(),
            default_branch: self.default_branch,
            origin: String::new(),
            commits: Mutex::default(),
            resolved: Mutex::default(),
            waiting_check: Mutex::default(),
            old_logs: String::new(),
            finished: false,
        };
        trains.invite().await;
        trains.found().await;
        trains.restart().await;
        trains
    }
}

impl Trains {
    /// A repository that allows squashes only, has no rules and no CI.
    pub async fn new() -> Self {
        Self::wish().start().await
    }

    pub fn wish() -> Wish {
        let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
        Wish { default_branch: MAIN.to_owned(), settings, config: String::new() }
    }

    /// The trains are looked after every other second although no webhook came.
    pub async fn polling() -> Self {
        Self::wish().config(POLLING).start().await
    }

    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("the daemon runs")
    }

    pub async fn fault(&self, fault: Value) {
        self.world.fault(fault).await;
    }

    pub async fn forget_faults(&self) {
        self.world.control(Method::DELETE, "/faults", Value::Null).await;
    }

    /// What the simulator lets only GitHub itself set.
    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        self.world.control(method, path, body).await
    }
}

/// For tests in which a webhook is missing on purpose.
pub const POLLING: &str = "[housekeeping]\npoll_interval_mins = 0.03\n";
/// For tests in which nothing is heard of a repository that has no train.
pub const COMPARING: &str = "[behavior]\nresync_interval_mins = 0.03\n";

impl Drop for Trains {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.daemon.as_ref().map(Daemon::log).unwrap_or_default();
            eprintln!("what the daemon logged:\n{}{log}", self.old_logs);
        } else {
            assert!(self.finished, "a test about trains ends with `finish`");
        }
    }
}
