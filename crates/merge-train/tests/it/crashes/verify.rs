//! What holds whenever the daemon died, and what there is in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use merge_train_core::ids::StreamId;
use merge_train_core::repo::{self, RepoState, Snapshot};
use regex::Regex;
use reqwest::Method;
use serde_json::Value;
use store::{Since, Sqlite, Store};
use test_support::programs::git;

use crate::crashes::place::Place;
use crate::crashes::scenario::Scenario;
use crate::support::{Log, REPO};

static MARK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\n*<!-- merge-train-note [^>]* -->").expect("a pattern"));
/// What differs from run to run.
static VARYING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b[0-9a-f]{40}\b|`[0-9a-f]{10}`|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^ ]*|#issuecomment-\d+")
        .expect("a pattern")
});

/// The records of trains, as they were found after each crash.
#[derive(Default)]
pub struct Records {
    /// By the root and the start of the train: how far it was.
    seqs: BTreeMap<(String, String), u64>,
}

impl Records {
    /// No record is behind what it was before, and no status comment is ahead of its record.
    pub async fn after_a_crash(&mut self, place: &Place) {
        let Some(state) = stored(&place.state_dir()).await else { return };
        let trains = state.active_trains();
        for (root, train) in trains {
            let train_name = (root.to_string(), train.started_at.to_string());
            let before = self.seqs.insert(train_name, train.recovery_seq).unwrap_or_default();
            let now = train.recovery_seq;
            assert!(now >= before, "the train of #{root} was at {before}, and is at {now} after the crash");
        }
        for (root, shown) in shown(place).await {
            let Some(train) = trains.iter().find(|(number, _)| number.to_string() == root).map(|(_, train)| train)
            else {
                continue;
            };
            if shown["started_at"] == train.started_at.to_string() {
                let (shown, stored) = (shown["recovery_seq"].as_u64().expect("a number"), train.recovery_seq);
                assert!(shown <= stored, "the comment on #{root} is at {shown}, the database only at {stored}");
            }
        }
    }
}

/// What is in the database, read past the daemon.
async fn stored(dir: &Path) -> Option<RepoState> {
    let store = Sqlite::open_read_only(dir).await.ok()?;
    let stream: StreamId = format!("repo:{REPO}").parse().expect("a repository");
    let loaded = store.load(&stream, Since::Newest).await.ok();
    store.close().await;
    let loaded = loaded?;
    let mut state = match loaded.snapshot {
        Some(snapshot) => serde_json::from_str::<Snapshot>(&snapshot.data).expect("a snapshot").restore(),
        None => RepoState::default(),
    };
    for event in loaded.events {
        repo::apply(&mut state, &serde_json::from_str(&event.data).expect("an event"), event.ts);
    }
    Some(state)
}

/// The record in each status comment of a train that is not done.
async fn shown(place: &Place) -> BTreeMap<String, Value> {
    let mut shown = BTreeMap::new();
    for comment in bot_comments(place).await {
        let body = comment["body"].as_str().expect("a body");
        if let Some((json, _)) = body.strip_prefix("<!-- merge-train-state").and_then(|rest| rest.split_once("-->")) {
            shown.insert(issue_of(&comment), serde_json::from_str(json).expect("JSON"));
        }
    }
    shown
}

async fn bot_comments(place: &Place) -> Vec<Value> {
    let all = place.get("/issues/comments?per_page=100").await;
    all.as_array().expect("a list").iter().filter(|comment| comment["user"]["type"] == "Bot").cloned().collect()
}

fn issue_of(comment: &Value) -> String {
    comment["issue_url"].as_str().and_then(|url| url.rsplit('/').next()).expect("an address").to_owned()
}

/// What there is in the end, to be compared with the run that had no crash.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// The tree of each branch before any daemon came, and in the end.
    pub first_trees: BTreeMap<String, String>,
    pub trees: BTreeMap<String, String>,
    /// What the bot said on each pull request, without what differs from run to run.
    pub notes: BTreeSet<(String, String)>,
    /// What it gave the comments of people: the pull request, the comment, the reaction.
    pub reactions: BTreeSet<(String, String, String)>,
}

impl Seen {
    /// Holds what must hold of it whatever happened.
    pub async fn of(place: &Place, scenario: Scenario, records: &mut Records) -> Self {
        records.after_a_crash(place).await;
        expect_each_landed_once(place, scenario).await;
        expect_no_forced_push(place).await;
        expect_an_orderly_log(place, scenario).await;
        expect_agreement(place).await;
        let left: Vec<_> = std::fs::read_dir(place.worktrees()).into_iter().flatten().collect();
        assert!(left.is_empty(), "worktrees are left: {left:?}");
        let log = place.log();
        let errors: Vec<&str> = log.lines().filter(|line| line.contains(r#""level":"ERROR""#)).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        Self {
            first_trees: place.first_trees.clone(),
            trees: trees(&place.git_dir()).await,
            notes: notes(place).await,
            reactions: reactions(place).await,
        }
    }
}

impl Seen {
    /// All is as without a crash. Only who comes late may come before or after another that lands meanwhile: then its branch
    /// has what it had, or also what has landed.
    pub fn expect_like(&self, reference: &Self, scenario: Scenario) {
        for (branch, tree) in &reference.trees {
            let found = &self.trees[branch];
            let others = [&self.trees["main"], &self.first_trees[branch]];
            let is_late = scenario == Scenario::Late && branch == "late" && others.contains(&found);
            assert!(found == tree || is_late, "{branch} has the tree {found} instead of {tree}");
        }
        assert_eq!(self.trees.len(), reference.trees.len(), "the branches: {:?}", self.trees);
        assert_eq!(self.notes, reference.notes, "what was said");
        // Whoever is read before being heard of is believed, and not thanked: that may be so with a crash or without.
        let is_order = |(_, body, _): &&(String, String, String)| !body.contains("predecessor");
        let missing: Vec<_> = reference.reactions.difference(&self.reactions).filter(is_order).collect();
        let besides: Vec<_> = self.reactions.difference(&reference.reactions).filter(is_order).collect();
        assert!(missing.is_empty() && besides.is_empty(), "reactions missing: {missing:?}, besides: {besides:?}");
    }
}

/// The default branch is a line of squashes, one for each pull request, and GitHub says the same.
async fn expect_each_landed_once(place: &Place, scenario: Scenario) {
    let log = git(&place.git_dir(), &["log", "--first-parent", "--format=%H\t%P\t%s", "refs/heads/main"]).await;
    let mut squashes = BTreeMap::new();
    for line in log.lines() {
        let [commit, parents, subject] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(!parents.contains(' '), "{commit} is a merge commit");
        if let Some((_, number)) = subject.strip_suffix(')').and_then(|subject| subject.rsplit_once("(#")) {
            let before = squashes.insert(number.to_owned(), commit.to_owned());
            assert!(before.is_none(), "#{number} landed twice:\n{log}");
        }
    }
    let pulls = place.get("/pulls?state=all&per_page=100").await;
    let merged: BTreeMap<String, String> = pulls
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|pull| Some((pull["number"].to_string(), pull["merge_commit_sha"].as_str()?.to_owned())))
        .collect();
    assert_eq!(squashes, merged, "what is called merged is on main:\n{log}");
    assert_eq!(merged.len(), scenario.pulls().len(), "all have landed");
}

async fn expect_no_forced_push(place: &Place) {
    let pushes = place.control(Method::GET, "/deliveries?event=push", Value::Null).await;
    for push in pushes.as_array().expect("a list") {
        assert_eq!(push["payload"]["forced"], false, "{} was forced", push["payload"]["ref"]);
    }
}

/// Each squash is committed once, and who is frozen stays frozen until the next squash is prepared.
async fn expect_an_orderly_log(place: &Place, scenario: Scenario) {
    let store = Sqlite::open_read_only(&place.state_dir()).await.expect("the state can be read");
    let log = Log::read(&store, REPO).await;
    store.close().await;
    let mut committed = BTreeSet::new();
    let mut frozen: BTreeMap<String, Value> = BTreeMap::new();
    for event in &log.events {
        match event["type"].as_str().expect("a type") {
            "squash_committed" => {
                assert!(committed.insert(event["pr"].to_string()), "#{} is committed twice", event["pr"]);
            }
            "phase_transition" => {
                let train = event["train_root"].to_string();
                let Some((phase, lists)) = event["phase"].as_object().and_then(|phase| phase.iter().next()) else {
                    frozen.remove(&train);
                    continue;
                };
                let set = lists["frozen_descendants"].clone();
                let promised = frozen.entry(train).or_insert_with(|| set.clone());
                assert_eq!(*promised, set, "the frozen set changed at {phase}: {event}");
                if scenario == Scenario::Late && event["current_pr"] == 1 {
                    assert_eq!(set, serde_json::json!([2]), "who came late was never prepared: {event}");
                }
            }
            _ => {}
        }
    }
    let all: BTreeSet<String> = (1..=scenario.pulls().len()).map(|number| number.to_string()).collect();
    assert_eq!(committed, all, "each squash is in the log");
}

/// All trains are done: in the database, and in the status comments, of which each pull request has one at most.
async fn expect_agreement(place: &Place) {
    let state = stored(&place.state_dir()).await.expect("there is a state");
    assert!(state.active_trains().is_empty(), "trains are under way: {:?}", state.active_trains());
    let shown = shown(place).await;
    assert!(shown.is_empty(), "status comments show trains that are done: {shown:?}");
    let (mut marks, mut with_status) = (BTreeSet::new(), BTreeSet::new());
    for comment in bot_comments(place).await {
        let body = comment["body"].as_str().expect("a body");
        match MARK.find(body) {
            Some(mark) => assert!(marks.insert(mark.as_str().to_owned()), "said twice: {body}"),
            None => assert!(with_status.insert(issue_of(&comment)), "two status comments: {body}"),
        }
    }
}

/// The tree of each branch.
pub async fn trees(git_dir: &Path) -> BTreeMap<String, String> {
    let refs = git(git_dir, &["for-each-ref", "--format=%(refname:short) %(tree)", "refs/heads"]).await;
    refs.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, tree)| (name.to_owned(), tree.to_owned()))
        .collect()
}

async fn notes(place: &Place) -> BTreeSet<(String, String)> {
    let mut notes = BTreeSet::new();
    for comment in bot_comments(place).await {
        let body = comment["body"].as_str().expect("a body");
        if MARK.is_match(body) {
            let said = (issue_of(&comment), VARYING.replace_all(&MARK.replace(body, ""), "…").into_owned());
            assert!(notes.insert(said), "the same was said twice: {body}");
        }
    }
    notes
}

async fn reactions(place: &Place) -> BTreeSet<(String, String, String)> {
    let all = place.get("/issues/comments?per_page=100").await;
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let mut given = BTreeSet::new();
    for comment in all.as_array().expect("a list").iter().filter(|comment| comment["user"]["type"] != "Bot") {
        let reactions = place.get(&format!("/issues/comments/{}/reactions", comment["id"])).await;
        for reaction in reactions.as_array().expect("a list") {
            let one = (issue_of(comment), text(&comment["body"]), text(&reaction["content"]));
            assert!(given.insert(one), "given twice: {reaction}");
        }
    }
    given
}
