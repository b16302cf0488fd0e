//! The five stories that the daemon is killed in.

use reqwest::Method;
use serde_json::json;

use crate::crashes::place::Template;
use crate::support::{REPO, World};

/// How long GitHub takes over what is to be in flight when somebody does something.
const IN_FLIGHT_MS: u64 = 700;
/// A file that all change a line of, too far apart to conflict.
const SHARED: &str = "shared.txt";
const LINES_APART: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// main ← #1 ← #2 ← #3; the lower two grew, so that there is something to prepare.
    Linear,
    /// main ← #1 ← {#2, #3}, and #1 grew.
    FanOut,
    /// main ← #1 ← #2, and #3 on #1 is declared when the descendants are frozen and the squash is under way.
    Late,
    /// main ← #1 ← #2; a stop comes in the middle of the first push, and a start when the train has stopped.
    Stop,
    /// main ← #1 ← #2, heads must be up to date, and main has moved on.
    Behind,
}

impl Scenario {
    pub const ALL: [Self; 5] = [Self::Linear, Self::FanOut, Self::Late, Self::Stop, Self::Behind];

    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::FanOut => "fan-out",
            Self::Late => "late",
            Self::Stop => "stop",
            Self::Behind => "behind",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    /// Each pull request: its branch, and the branch that it stands on. They are numbered from 1.
    pub fn pulls(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Linear => &[("one", "main"), ("two", "one"), ("three", "two")],
            Self::FanOut => &[("one", "main"), ("two", "one"), ("three", "one")],
            Self::Late => &[("one", "main"), ("two", "one"), ("late", "one")],
            Self::Stop | Self::Behind => &[("one", "main"), ("two", "one")],
        }
    }

    /// What is declared before the start: each pull request and its predecessor.
    pub fn declared(self) -> &'static [(u64, u64)] {
        match self {
            Self::Linear => &[(2, 1), (3, 2)],
            Self::FanOut => &[(2, 1), (3, 1)],
            Self::Late | Self::Stop | Self::Behind => &[(2, 1)],
        }
    }

    /// Branches that get another commit when all are open.
    fn grown(self) -> &'static [&'static str] {
        match self {
            Self::Linear => &["one", "two"],
            Self::FanOut | Self::Stop => &["one"],
            Self::Late | Self::Behind => &[],
        }
    }

    /// A branch and all below it, each with the line of the shared file that it changes.
    fn down_from(self, branch: &str) -> Vec<(usize, &'static str)> {
        let found = self.pulls().iter().enumerate().find(|(_, (name, _))| *name == branch);
        let Some((at, (name, base))) = found else { return Vec::new() };
        let mut all = self.down_from(base);
        all.push((at * LINES_APART, *name));
        all
    }

    /// GitHub as it is before the daemon comes.
    pub async fn template(self) -> Template {
        let world = World::without_daemon().await;
        let squash_only =
            json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
        world.call(Method::PATCH, &format!("/repos/{REPO}"), squash_only).await;
        world.write("main", SHARED, &shared(&[])).await;
        for (branch, base) in self.pulls() {
            world.open_pull(branch, base).await;
            world.write(branch, SHARED, &shared(&self.down_from(branch))).await;
        }
        for branch in self.grown() {
            world.push(branch, "more").await;
        }
        if self == Self::Behind {
            world.write("main", "meanwhile.txt", "from elsewhere\n").await;
            let rules = json!({
                "required_status_checks": { "strict": true, "contexts": [] },
                "required_pull_request_reviews": null, "enforce_admins": false, "restrictions": null,
            });
            world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), rules).await;
        }
        let delay = |matched| json!({ "kind": "delay", "ms": IN_FLIGHT_MS, "match": matched });
        match self {
            Self::Late => {
                let squash = json!({ "method": "PUT", "path": format!("/repos/{REPO}/pulls/*/merge"), "nth": 1 });
                world.fault(delay(squash)).await;
            }
            Self::Stop => {
                let push = json!({ "method": "POST", "path": format!("/{REPO}.git/git-receive-pack"), "nth": 1 });
                world.fault(delay(push)).await;
            }
            Self::Linear | Self::FanOut | Self::Behind => {}
        }
        world.sim.stop().await;
        Template::new(world.dir)
    }
}

/// The shared file in which these changed their lines.
fn shared(changed: &[(usize, &str)]) -> String {
    let line = |at: usize| match changed.iter().find(|(changed, _)| *changed == at) {
        Some((_, by)) => format!("changed by {by}\n"),
        None => format!("line {at}\n"),
    };
    (0..20).map(line).collect()
}
