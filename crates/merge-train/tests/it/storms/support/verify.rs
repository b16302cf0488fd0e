//! What holds of a repository whatever happened to it, read from GitHub and with plain git.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use regex::Regex;
use serde_json::Value;
use test_support::programs::git;

use super::Repo;
use super::repo::{Edit, MAIN, SHARED, content_of, shared_at_first, with_line};

impl Repo {
    /// Each pull request landed at most once, the default branch is a line of squashes and of what people committed to it,
    /// its files are exactly what landed, nobody's commit is lost, nothing was said twice, no worktree is left.
    pub async fn verify(&self) {
        let mirror = Mirror::of(self).await;
        self.expect_exactly_what_landed(&mirror).await;
        self.expect_no_commit_lost(&mirror).await;
        self.expect_nothing_said_twice().await;
        self.expect_no_worktree().await;
    }

    async fn expect_exactly_what_landed(&self, mirror: &Mirror) {
        let landed = self.landed_by_commit().await;
        let range = format!("{}..refs/heads/{MAIN}", self.origin);
        let log = mirror.git(&["log", "--first-parent", "--reverse", "--format=%H %P", &range]).await;
        let mut files = mirror.files(&self.origin).await;
        let (mut shared, mut before, mut seen) = (shared_at_first(), self.origin.clone(), BTreeSet::new());
        for line in log.lines() {
            let (commit, parents) = line.split_once(' ').expect("a commit has a parent");
            assert_eq!(parents, before, "{commit} of {} is one commit upon the one before it", self.owner);
            let brought = match landed.get(commit) {
                Some(number) => {
                    assert!(seen.insert(*number), "#{number} of {} landed once", self.owner);
                    self.brought_by(mirror, *number).await
                }
                None => self.committed_as(commit),
            };
            assert!(!brought.is_empty(), "{commit} of {} was neither landed nor committed by anybody", self.owner);
            for edit in brought {
                match edit {
                    Edit::File(path) => drop(files.insert(path.clone(), blob(&content_of(&path)))),
                    Edit::Line(at, text) => shared = with_line(&shared, at, &text),
                }
            }
            files.insert(SHARED.to_owned(), blob(&shared));
            assert_eq!(mirror.files(commit).await, files, "the files of {commit} of {}", self.owner);
            commit.clone_into(&mut before);
        }
        let merged: BTreeSet<u64> = landed.into_values().collect();
        assert_eq!(seen, merged, "what is called merged in {} is on {MAIN}", self.owner);
    }

    async fn landed_by_commit(&self) -> BTreeMap<String, u64> {
        let pulls = self.all_pulls().await;
        let merged = pulls.iter().filter(|pull| !pull["merged_at"].is_null());
        merged
            .map(|pull| {
                let commit = pull["merge_commit_sha"].as_str().expect("a merged one has a commit");
                (commit.to_owned(), pull["number"].as_u64().expect("a number"))
            })
            .collect()
    }

    /// What people had committed to a pull request when it landed.
    async fn brought_by(&self, mirror: &Mirror, number: u64) -> Vec<Edit> {
        let within = mirror.commits(&format!("refs/pull/{number}/head")).await;
        let branch = self.pulls.lock().get(&number).cloned().expect("a pull request of this test");
        let changes = self.changes.lock();
        let own = changes.iter().filter(|change| change.branch == branch && within.contains(&change.sha));
        own.map(|change| change.edit.clone()).collect()
    }

    fn committed_as(&self, commit: &str) -> Vec<Edit> {
        let changes = self.changes.lock();
        let own = changes.iter().filter(|change| change.branch == MAIN && change.sha == commit);
        own.map(|change| change.edit.clone()).collect()
    }

    async fn expect_no_commit_lost(&self, mirror: &Mirror) {
        let branches: BTreeSet<String> = self.changes.lock().iter().map(|change| change.branch.clone()).collect();
        for branch in branches {
            let within = mirror.commits(&format!("refs/heads/{branch}")).await;
            for change in self.changes.lock().iter().filter(|change| change.branch == branch) {
                assert!(within.contains(&change.sha), "{branch} of {} lost {}", self.owner, change.sha);
            }
        }
    }

    async fn expect_nothing_said_twice(&self) {
        let mark = Regex::new(r"<!-- merge-train-note [^>]* -->").expect("a pattern");
        let (mut marks, mut with_status) = (BTreeSet::new(), BTreeSet::new());
        for comment in self.bot_comments().await {
            let body = comment["body"].as_str().expect("a body");
            match mark.find(body) {
                Some(mark) => assert!(marks.insert(mark.as_str().to_owned()), "said twice in {}: {body}", self.owner),
                None => {
                    let issue = comment["issue_url"].as_str().expect("an address").to_owned();
                    assert!(with_status.insert(issue.clone()), "{issue} has two status comments");
                }
            }
        }
    }

    /// Worktrees are for trains that are under way, or that can go on.
    async fn expect_no_worktree(&self) {
        let trains = self.state().await["active_trains"].clone();
        let folder = self.yard.setup.clones().join(self.name().replace('/', "-")).join("worktrees");
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let name = entry.expect("an entry").file_name().into_string().expect("text");
            let root = name.strip_prefix("stack-").unwrap_or_else(|| panic!("left behind: {name}"));
            let train = &trains[root];
            assert!(!train.is_null() && train["state"] != "stopped", "{name} of {} is left: {train}", self.owner);
        }
    }
}

/// How git names a content.
fn blob(content: &str) -> String {
    let whole = [format!("blob {}\0", content.len()).as_bytes(), content.as_bytes()].concat();
    hex::encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &whole))
}

/// Everything of a repository, for the test alone.
struct Mirror(tempfile::TempDir);

impl Mirror {
    async fn of(repo: &Repo) -> Self {
        let yard = &repo.yard;
        let place = tempfile::tempdir_in(yard.dir.path()).expect("a folder");
        let login = format!("://{}:{}@", yard.login(), yard.token());
        let url = format!("{}/{}.git", yard.text("git_url").replacen("://", &login, 1), repo.shouted());
        git(place.path(), &["clone", "-q", "--mirror", &url, "."]).await;
        Self(place)
    }

    async fn git(&self, words: &[&str]) -> String {
        git(self.0.path(), words).await
    }

    async fn commits(&self, tip: &str) -> BTreeSet<String> {
        self.git(&["rev-list", tip]).await.lines().map(str::to_owned).collect()
    }

    async fn files(&self, commit: &str) -> BTreeMap<String, String> {
        let listed = self.git(&["ls-tree", "-r", commit]).await;
        let entry = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            about.rsplit(' ').next().map(|blob| (path.to_owned(), blob.to_owned()))
        };
        listed.lines().filter_map(entry).collect()
    }
}

/// The first line of what a train says of itself.
pub fn reason_of(train: &Value) -> Option<String> {
    let said = [&train["error"], &train["why"]["blocker"]].into_iter().find(|said| !said.is_null())?;
    let text = said["message"].as_str().or(said.as_str()).map_or_else(|| said.to_string(), str::to_owned);
    text.lines().next().map(str::to_owned)
}
