//! What CI says of a pull request's head, and what it has where a repository says something about itself, as one query tells it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;
use merge_train_core::facts::{Check, CheckConclusion, CheckProgress, CiFacts, SettingsFileContent};
use merge_train_core::ids::{CheckSuiteId, Sha};
use serde::{Deserialize, Deserializer};

/// Of the newest commit. Suites are found through their runs: GitHub makes a suite for each installed app, and one without
/// runs never completes.
pub(super) const FIELDS: &str = "commits(last: 1) { nodes { commit { oid file(path: \".github/merge-train.toml\") { oid } statusCheckRollup { state contexts(first: 100) { pageInfo { hasNextPage } nodes { \
    ... on CheckRun { name status conclusion startedAt isRequired(pullRequestNumber: $number) checkSuite { databaseId url status } } \
    ... on StatusContext { context state createdAt isRequired(pullRequestNumber: $number) } } } } } } }";

#[derive(Default, Deserialize)]
pub(super) struct Commits {
    nodes: Vec<Option<Node>>,
}

#[derive(Deserialize)]
struct Node {
    commit: Commit,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    oid: Sha,
    /// Null where there is no such file; absent where it was not asked for.
    #[serde(default, deserialize_with = "asked")]
    file: Option<Option<FileEntry>>,
    /// Null as long as nothing was reported.
    status_check_rollup: Option<Rollup>,
}

#[derive(Deserialize)]
struct FileEntry {
    oid: Sha,
}

fn asked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<FileEntry>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct Rollup {
    /// What all of them come to, those that are not listed as well.
    #[serde(default)]
    state: String,
    contexts: Contexts,
}

impl Rollup {
    /// Whether there is more than can be read of the list.
    fn has_more(&self) -> bool {
        let is_hidden = |context: &Option<Context>| matches!(context, None | Some(Context::Other {}));
        self.contexts.page_info.has_next_page || self.contexts.nodes.iter().any(is_hidden)
    }

    fn verdict(&self) -> Option<CheckConclusion> {
        match self.state.as_str() {
            "SUCCESS" => Some(CheckConclusion::Passed),
            "PENDING" | "EXPECTED" => Some(CheckConclusion::Pending),
            "FAILURE" | "ERROR" => Some(CheckConclusion::Failed),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contexts {
    #[serde(default)]
    page_info: PageInfo,
    nodes: Vec<Option<Context>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Context {
    #[serde(rename_all = "camelCase")]
    Run {
        name: String,
        status: String,
        conclusion: Option<String>,
        started_at: Option<Timestamp>,
        is_required: bool,
        check_suite: Option<Suite>,
    },
    #[serde(rename_all = "camelCase")]
    Status { context: String, state: String, created_at: Option<Timestamp>, is_required: bool },
    /// A kind that GitHub may come to have one day.
    Other {},
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite {
    /// GraphQL's numbers end at 31 bits: null for larger ones.
    database_id: Option<u64>,
    url: Option<String>,
    status: String,
}

impl Suite {
    fn id(&self) -> Option<CheckSuiteId> {
        let in_address = || {
            let (_, rest) = self.url.as_deref()?.split_once("check_suite_id=")?;
            rest.split(|digit: char| !digit.is_ascii_digit()).next()?.parse().ok()
        };
        self.database_id.or_else(in_address).map(CheckSuiteId::new)
    }
}

impl Commits {
    pub(super) fn own_file_of(&self, head: &Sha) -> SettingsFileContent {
        let newest = self.nodes.iter().flatten().map(|node| &node.commit).find(|commit| commit.oid == *head);
        match newest.and_then(|commit| commit.file.as_ref()) {
            None => SettingsFileContent::Unseen,
            Some(None) => SettingsFileContent::Absent,
            Some(Some(entry)) => SettingsFileContent::Blob(entry.oid.clone()),
        }
    }

    /// Nothing if the newest commit is not `head`: then it tells of a head that is no more, or not yet.
    pub(super) fn ci_of(self, head: &Sha) -> CiFacts {
        let newest = self.nodes.into_iter().flatten().map(|node| node.commit).find(|commit| commit.oid == *head);
        let Some(rollup) = newest.and_then(|commit| commit.status_check_rollup) else { return CiFacts::default() };
        // Where all are listed the list is the better word: one that was called off and has run again since is no failure.
        let overall = rollup.verdict().filter(|_| rollup.has_more());
        let mut reports = Reports { overall, ..Reports::default() };
        for context in rollup.contexts.nodes.into_iter().flatten() {
            match context {
                Context::Run { name, status, conclusion, started_at, is_required, check_suite } => {
                    reports.began = reports.began.max(started_at);
                    reports.suite(check_suite.as_ref());
                    reports.check(name, run(&status, conclusion.as_deref()), is_required);
                }
                Context::Status { context, state, created_at, is_required } => {
                    reports.began = reports.began.max(created_at);
                    reports.check(context, status(&state), is_required);
                }
                Context::Other {} => {}
            }
        }
        reports.facts()
    }
}

/// How one report reads. The later outweighs the earlier where several have one name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Report {
    /// It counts as failed, unless another of its name took its place.
    Cancelled,
    Told(CheckConclusion),
}

#[derive(Default)]
struct Reports {
    suites: BTreeMap<CheckSuiteId, CheckProgress>,
    checks: BTreeMap<String, (Report, bool)>,
    overall: Option<CheckConclusion>,
    began: Option<Timestamp>,
}

impl Reports {
    fn suite(&mut self, suite: Option<&Suite>) {
        let Some((suite, id)) = suite.and_then(|suite| Some((suite, suite.id()?))) else { return };
        let progress = if suite.status == "COMPLETED" { CheckProgress::Complete } else { CheckProgress::UnderWay };
        self.suites.insert(id, progress);
    }

    fn check(&mut self, name: String, report: Report, required: bool) {
        match self.checks.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert((report, required));
            }
            Entry::Occupied(mut entry) => {
                let (known, known_required) = *entry.get();
                entry.insert((known.max(report), known_required || required));
            }
        }
    }

    fn facts(self) -> CiFacts {
        let check = |(name, (report, required))| {
            let verdict = match report {
                Report::Cancelled => CheckConclusion::Failed,
                Report::Told(verdict) => verdict,
            };
            (name, Check { verdict, required })
        };
        let checks = self.checks.into_iter().map(check).collect();
        CiFacts { suites: self.suites, checks, overall: self.overall, began: self.began }
    }
}

fn run(status: &str, conclusion: Option<&str>) -> Report {
    match (status, conclusion) {
        ("COMPLETED", Some("SUCCESS" | "NEUTRAL" | "SKIPPED")) => Report::Told(CheckConclusion::Passed),
        ("COMPLETED", Some("CANCELLED")) => Report::Cancelled,
        ("COMPLETED", _) => Report::Told(CheckConclusion::Failed),
        _ => Report::Told(CheckConclusion::Pending),
    }
}

fn status(state: &str) -> Report {
    Report::Told(match state {
        "SUCCESS" => CheckConclusion::Passed,
        "PENDING" | "EXPECTED" => CheckConclusion::Pending,
        _ => CheckConclusion::Failed,
    })
}
