//! What must be on the default branch, worked out with plain git: each change that landed, applied to what was there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use super::{REPO, Trains};

/// Whether GitHub was told to do what it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Landings {
    Right,
    Wrong,
    /// What must be on the default branch is stated by the test.
    Stated,
}

/// A pull request that landed.
struct Landed {
    number: u64,
    branch: String,
}

impl Trains {
    /// Every commit on the default branch is either somebody's own or the squash of one pull request, upon the one before
    /// it, and has the files that applying it gives.
    pub(super) async fn expect_linear_history(&self, landings: Landings) {
        let git = Scratch::clone(self).await;
        let landed = self.landed_by_commit().await;
        let tip = format!("origin/{}", self.default_branch);
        let range = format!("{}..{tip}", self.origin);
        let log = git.run(&["log", "--first-parent", "--reverse", "--format=%H %P", &range]).await;
        let mut seen: Vec<u64> = Vec::new();
        let mut before = self.origin.clone();
        git.run(&["checkout", "-q", "--detach", &self.origin]).await;
        for line in log.lines() {
            let (commit, parents) = line.split_once(' ').expect("a commit has a parent");
            if landings != Landings::Wrong {
                assert_eq!(parents, before, "{commit} is one commit upon the one before it");
            }
            if landings == Landings::Right {
                self.apply(&git, commit, landed.get(commit)).await;
            }
            seen.extend(landed.get(commit).map(|pull| pull.number));
            commit.clone_into(&mut before);
        }
        if landings != Landings::Wrong {
            let mut all: Vec<u64> = landed.values().map(|pull| pull.number).collect();
            all.sort_unstable();
            seen.sort_unstable();
            assert_eq!(seen, all, "each pull request that is merged landed once");
        }
        self.expect_branches_keep_their_commits(&git).await;
    }

    async fn apply(&self, git: &Scratch, commit: &str, landed: Option<&Landed>) {
        let own = vec![commit.to_owned()];
        let changes = match landed {
            Some(pull) => self.commits.lock().get(&pull.branch).cloned().unwrap_or_default(),
            None => own,
        };
        let is_resolved = landed.is_some_and(|pull| self.resolved.lock().contains(&pull.branch));
        let conflicts: &[&str] = if is_resolved { &["-X", "theirs"] } else { &[] };
        for change in &changes {
            let pick = ["cherry-pick", "--allow-empty", "--keep-redundant-commits", change];
            git.run(&[&pick[..1], conflicts, &pick[1..]].concat()).await;
        }
        let (expected, found) = (
            git.run(&["rev-parse", "HEAD^{tree}"]).await,
            git.run(&["rev-parse", &format!("{commit}^{{tree}}")]).await,
        );
        if expected != found {
            let difference = git.run(&["diff", "HEAD", commit]).await;
            panic!("{commit} has other files than it should:\n{difference}");
        }
    }

    async fn landed_by_commit(&self) -> BTreeMap<String, Landed> {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let pulls = self.get("/pulls?state=closed&per_page=100").await;
        let is_landed = |pull: &&Value| {
            !pull["merged_at"].is_null() && pull["base"]["ref"].as_str() == Some(self.default_branch.as_str())
        };
        let merged = pulls.as_array().expect("a list").iter().filter(is_landed);
        merged
            .map(|pull| {
                let number = pull["number"].as_u64().expect("a number");
                (text(&pull["merge_commit_sha"]), Landed { number, branch: text(&pull["head"]["ref"]) })
            })
            .collect()
    }

    /// What somebody pushed to a branch stays in it.
    async fn expect_branches_keep_their_commits(&self, git: &Scratch) {
        let pulls = self.get("/pulls?state=all&per_page=100").await;
        for pull in pulls.as_array().expect("a list") {
            let branch = pull["head"]["ref"].as_str().expect("a branch");
            let commits = self.commits.lock().get(branch).cloned().unwrap_or_default();
            for commit in commits {
                let head = format!("refs/remotes/pulls/{}", pull["number"]);
                git.run(&["merge-base", "--is-ancestor", &commit, &head]).await;
            }
        }
    }
}

/// A clone for the test alone.
struct Scratch(PathBuf);

impl Scratch {
    async fn clone(trains: &Trains) -> Self {
        let place = trains.world.dir.path().join("scratch");
        let base = trains.world.described["git_url"].as_str().expect("an address");
        let url = base.replacen("://", &format!("://octocat:{}@", trains.world.token()), 1);
        let scratch = Self(trains.world.dir.path().to_owned());
        let into = place.to_str().expect("a path").to_owned();
        scratch.run(&["clone", "-q", &format!("{url}/{REPO}.git"), &into]).await;
        let scratch = Self(place);
        scratch.run(&["fetch", "-q", "origin", "+refs/pull/*/head:refs/remotes/pulls/*"]).await;
        scratch
    }

    async fn run(&self, words: &[&str]) -> String {
        let output = plain_git(&self.0, words).output().await.expect("git runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {words:?}: {told}");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }
}

/// Nothing of the machine's own configuration has a say.
fn plain_git(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=Test", "-c", "user.email=test@localhost"]).args(words);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).kill_on_drop(true);
    command
}
