//! What has happened on GitHub so far, held against what must hold at every moment.

use std::collections::{BTreeMap, BTreeSet};

use merge_train_core::ids::PrNumber;
use merge_train_core::repo::RepoState;
use merge_train_core::repo::trains::TrainRecord;
use regex::Regex;
use serde_json::Value;

use super::hub::{Edit, Hub, MAIN, SHARED, content_of, shared_at_first, text, with_line};

const BOT: &str = "train-bot";
const PASSED: &str = "success";

/// All that is remembered to find fault with what comes next.
pub struct History {
    mark: Regex,
    /// The branch of each pull request.
    branches: BTreeMap<u64, String>,
    /// What CI last said of each commit.
    verdicts: BTreeMap<String, String>,
    /// The commits on which it has passed.
    passed: BTreeSet<String>,
    ci_is_required: bool,
    landed: BTreeSet<u64>,
    /// Where the default branch is, and the files that it should have there.
    tip: String,
    files: BTreeMap<String, String>,
    shared: String,
    /// What the bot said: each note once.
    notes: BTreeSet<String>,
    /// The status comment of each pull request.
    statuses: BTreeMap<u64, u64>,
    /// The last record of each train, by its name and when it began.
    trains: BTreeMap<(PrNumber, String), TrainRecord>,
    pub squashes: usize,
}

impl History {
    pub async fn new(hub: &Hub, branches: BTreeMap<u64, String>, ci_is_required: bool) -> Self {
        let files = hub.git(&["ls-tree", "-r", "--format=%(path) %(objectname)", &hub.origin]).await;
        let files = files.lines().filter_map(|line| line.split_once(' ')).map(owned).collect();
        Self {
            mark: Regex::new(r"<!-- merge-train-note [^>]* -->").expect("a pattern"),
            branches,
            verdicts: BTreeMap::new(),
            passed: BTreeSet::new(),
            ci_is_required,
            landed: BTreeSet::new(),
            tip: hub.origin.clone(),
            files,
            shared: shared_at_first(),
            notes: BTreeSet::new(),
            statuses: BTreeMap::new(),
            trains: BTreeMap::new(),
            squashes: 0,
        }
    }

    /// CI says this of a commit now.
    pub fn judged(&mut self, commit: &str, verdict: &str) {
        self.verdicts.insert(commit.to_owned(), verdict.to_owned());
        if verdict == PASSED {
            self.passed.insert(commit.to_owned());
        }
    }

    /// Whether CI is content with a commit.
    pub fn has_passed(&self, commit: &str) -> bool {
        self.verdicts.get(commit).is_some_and(|verdict| verdict == PASSED)
    }

    /// There is a pull request more.
    pub fn opened(&mut self, number: u64, branch: String) {
        self.branches.insert(number, branch);
    }

    pub fn landed(&self) -> &BTreeSet<u64> {
        &self.landed
    }

    /// The comment that tells how the train of this pull request stands.
    pub fn status(&self, number: u64) -> Option<u64> {
        self.statuses.get(&number).copied()
    }

    /// Something happened, as GitHub's webhook has it.
    pub async fn observe(&mut self, hub: &Hub, delivery: &Value) {
        let payload = &delivery["payload"];
        match (text(&delivery["event"]), delivery["action"].as_str()) {
            ("push", _) => self.pushed(hub, payload).await,
            ("pull_request", Some("closed")) if payload["pull_request"]["merged"] == true => self.merged(payload),
            ("issue_comment", Some("created")) if payload["comment"]["user"]["login"] == BOT => self.said(payload),
            ("issue_comment", Some("deleted")) => {
                let id = payload["comment"]["id"].as_u64();
                self.statuses.retain(|_, status| Some(*status) != id);
            }
            _ => {}
        }
    }

    /// No branch is forced. What comes to the default branch is one commit upon the one before, with the files that it
    /// should have.
    async fn pushed(&mut self, hub: &Hub, payload: &Value) {
        let (reference, sender) = (text(&payload["ref"]), text(&payload["sender"]["login"]));
        assert_eq!(payload["forced"], false, "{reference} was forced by {sender}");
        if reference != format!("refs/heads/{MAIN}") {
            return;
        }
        let commit = text(&payload["after"]);
        let parents = hub.git(&["log", "-1", "--format=%P", commit]).await;
        assert_eq!(parents, self.tip, "{commit} is one commit upon the one before it");
        commit.clone_into(&mut self.tip);
        let brought = self.brought_by(hub, commit).await;
        assert!(!brought.is_empty(), "{commit} was neither landed nor committed by anybody");
        for edit in brought {
            match edit {
                Edit::File(path) => drop(self.files.insert(path.clone(), blob(&content_of(&path)))),
                Edit::Line(at, text) => self.shared = with_line(&self.shared, at, &text),
            }
        }
        self.files.insert(SHARED.to_owned(), blob(&self.shared));
        let found = hub.git(&["ls-tree", "-r", "--format=%(path) %(objectname)", commit]).await;
        let found: BTreeMap<String, String> =
            found.lines().filter_map(|line| line.split_once(' ')).map(owned).collect();
        assert_eq!(found, self.files, "the files of {commit}");
    }

    /// What people had committed to the pull request that landed as this commit, or this commit itself.
    async fn brought_by(&self, hub: &Hub, commit: &str) -> Vec<Edit> {
        if let Some(own) = hub.changes.iter().find(|change| change.branch == MAIN && change.sha == commit) {
            return vec![own.edit.clone()];
        }
        let subject = hub.git(&["log", "-1", "--format=%s", commit]).await;
        let number = subject.rsplit_once("(#").and_then(|(_, rest)| rest.strip_suffix(')')?.parse::<u64>().ok());
        let number = number.unwrap_or_else(|| panic!("{commit} names no pull request: {subject}"));
        let within = hub.git(&["rev-list", &format!("refs/pull/{number}/head")]).await;
        let within: BTreeSet<&str> = within.lines().collect();
        let branch = &self.branches[&number];
        let own = hub.changes.iter().filter(|change| change.branch == *branch && within.contains(change.sha.as_str()));
        own.map(|change| change.edit.clone()).collect()
    }

    /// Nothing lands twice, nothing on another branch, and nothing before its head has passed.
    fn merged(&mut self, payload: &Value) {
        let (number, pull) = (payload["number"].as_u64().expect("a number"), &payload["pull_request"]);
        assert!(self.landed.insert(number), "#{number} landed twice");
        self.squashes += 1;
        assert_eq!(pull["base"]["ref"], MAIN, "#{number} landed elsewhere");
        let head = text(&pull["head"]["sha"]);
        if self.ci_is_required {
            let verdict = self.verdicts.get(head);
            assert!(self.passed.contains(head), "#{number} landed at {head}, of which ci says {verdict:?}");
        }
    }

    fn said(&mut self, payload: &Value) {
        let body = text(&payload["comment"]["body"]);
        let number = payload["issue"]["number"].as_u64().expect("a number");
        match self.mark.find(body) {
            Some(mark) => assert!(self.notes.insert(mark.as_str().to_owned()), "said twice on #{number}: {body}"),
            None => {
                let id = payload["comment"]["id"].as_u64().expect("a number");
                let before = self.statuses.insert(number, id);
                assert_eq!(before, None, "#{number} has two status comments");
            }
        }
    }

    /// Nobody has them any more; what is recovered may be older.
    pub fn forget_records(&mut self) {
        self.trains.clear();
    }

    /// Records only go forward, and who was frozen stays so until the phase is over, whoever dies meanwhile.
    pub fn compare(&mut self, state: &RepoState) {
        for (root, train) in state.active_trains() {
            let name = (*root, train.started_at.to_string());
            if let Some(before) = self.trains.get(&name) {
                let (seq, old) = (train.recovery_seq, before.recovery_seq);
                assert!(seq >= old, "the record of #{root} went back from {old} to {seq}");
                let (frozen, known) =
                    (train.cascade_phase.frozen_descendants(), before.cascade_phase.frozen_descendants());
                let same_turn = train.current_pr == before.current_pr && train.predecessor_pr == before.predecessor_pr;
                if same_turn && !frozen.is_empty() && !known.is_empty() {
                    assert_eq!(frozen, known, "the descendants of #{} were frozen", train.current_pr);
                }
            }
            self.trains.insert(name, train.clone());
        }
    }
}

fn owned((path, blob): (&str, &str)) -> (String, String) {
    (path.to_owned(), blob.to_owned())
}

/// How git names a content.
fn blob(content: &str) -> String {
    use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
    let whole = [format!("blob {}\0", content.len()).as_bytes(), content.as_bytes()].concat();
    hex::encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &whole))
}
