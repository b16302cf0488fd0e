//! What the message of a squash can tell of its pull request.

use std::collections::{BTreeMap, BTreeSet};

use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::trains::message::{CommitPerson, MessageCommit, SquashedPullRequest, TemplateNeeds};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::query::about_pulls;
use crate::client::Repo;
use crate::error::Error;

const FIELDS: &str = "number title body headRefName author { login }";
/// The newest hundred: who has more is named by those.
const COMMIT_FIELDS: &str = "commits(last: 100) { nodes { commit { oid message parents(first: 3) { nodes { oid } } \
    authors(first: 20) { nodes { name email user { login } } } } } }";
const REVIEW_FIELDS: &str = "latestOpinionatedReviews(first: 100) { nodes { state author { login } } }";
/// So many landings are looked up at once; a branch has one merge for each predecessor that landed.
const MOST_LANDINGS: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    number: PrNumber,
    title: String,
    #[serde(default)]
    body: String,
    head_ref_name: BranchName,
    author: Option<Account>,
    #[serde(default)]
    commits: Option<Nodes<Committed>>,
    #[serde(default)]
    latest_opinionated_reviews: Option<Nodes<Review>>,
}

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
struct Account {
    login: String,
}

#[derive(Deserialize)]
struct Committed {
    commit: Raw,
}

#[derive(Deserialize)]
struct Raw {
    oid: Sha,
    message: String,
    parents: Nodes<Parent>,
    authors: Nodes<Author>,
}

#[derive(Deserialize)]
struct Parent {
    oid: Sha,
}

#[derive(Deserialize)]
struct Author {
    name: Option<String>,
    email: Option<String>,
    user: Option<Account>,
}

#[derive(Deserialize)]
struct Review {
    state: String,
    author: Option<Account>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Landing {
    associated_pull_requests: Option<Nodes<Landed>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Landed {
    number: PrNumber,
    merged: bool,
    head_ref_oid: Sha,
}

impl Repo {
    /// What is known of a pull request that is to be squashed; commits and reviews only where they are needed.
    pub async fn squash_subject(&self, number: PrNumber, needs: TemplateNeeds) -> Result<SquashedPullRequest, Error> {
        let mut fields = FIELDS.to_owned();
        for (needed, more) in [(needs.commits, COMMIT_FIELDS), (needs.reviews, REVIEW_FIELDS)] {
            if needed {
                fields = format!("{fields} {more}");
            }
        }
        let (query, variables) = about_pulls(&[number], &fields);
        let mut answer = self.query(&query, variables).await?;
        let Some(pull) = answer.take::<Pull>("p0")? else {
            return Err(Error::NotFound { call: answer.answer.call });
        };
        let commits: Vec<Raw> =
            pull.commits.into_iter().flat_map(|all| all.nodes).flatten().map(|node| node.commit).collect();
        let predecessors = self.predecessors(number, &commits).await?;
        let reviews = pull.latest_opinionated_reviews.into_iter().flat_map(|all| all.nodes).flatten();
        let approved = reviews.filter(|review| review.state == "APPROVED").filter_map(|review| review.author);
        Ok(SquashedPullRequest {
            number: pull.number,
            title: pull.title,
            body: pull.body,
            author: pull.author.map(|author| author.login).unwrap_or_default(),
            branch: pull.head_ref_name,
            commits: own(commits, predecessors),
            reviewers: approved.map(|author| author.login).collect(),
        })
    }

    /// The heads of the pull requests whose squashes were merged into this one. Their commits are in its history too, and
    /// GitHub lists them as its own.
    async fn predecessors(&self, number: PrNumber, commits: &[Raw]) -> Result<Vec<Sha>, Error> {
        let landings = merged_from_elsewhere(commits);
        if landings.is_empty() {
            return Ok(Vec::new());
        }
        let (mut parameters, mut parts, mut variables) = (String::new(), String::new(), Map::new());
        for (index, landing) in landings.iter().enumerate() {
            parameters.push_str(&format!(", $o{index}: GitObjectID!"));
            parts.push_str(&format!(
                " c{index}: object(oid: $o{index}) {{ ... on Commit {{ associatedPullRequests(first: 10) \
                 {{ nodes {{ number merged headRefOid }} }} }} }}"
            ));
            variables.insert(format!("o{index}"), Value::from(landing.as_str()));
        }
        let query = format!(
            "query($owner: String!, $name: String!{parameters}) {{ repository(owner: $owner, name: $name) {{{parts} }} }}"
        );
        let mut answer = self.query(&query, variables).await?;
        let mut heads = Vec::new();
        for index in 0..landings.len() {
            let landing = answer.take::<Landing>(&format!("c{index}"))?;
            let pulls =
                landing.and_then(|landing| landing.associated_pull_requests).into_iter().flat_map(|all| all.nodes);
            heads.extend(
                pulls.flatten().filter(|pull| pull.merged && pull.number != number).map(|pull| pull.head_ref_oid),
            );
        }
        Ok(heads)
    }
}

/// What merges of the branch brought in that is not of the branch: commits of the default branch.
fn merged_from_elsewhere(commits: &[Raw]) -> BTreeSet<Sha> {
    let listed: BTreeSet<&Sha> = commits.iter().map(|commit| &commit.oid).collect();
    let merges = commits.iter().filter(|commit| commit.parents.nodes.len() > 1);
    let parents = merges.flat_map(|merge| merge.parents.nodes.iter().flatten()).map(|parent| &parent.oid);
    parents.filter(|parent| !listed.contains(parent)).take(MOST_LANDINGS).cloned().collect()
}

/// What is neither a merge nor in the history of a predecessor, in the order it was listed.
fn own(commits: Vec<Raw>, predecessors: Vec<Sha>) -> Vec<MessageCommit> {
    let parents: BTreeMap<&Sha, Vec<&Sha>> = commits
        .iter()
        .map(|commit| (&commit.oid, commit.parents.nodes.iter().flatten().map(|parent| &parent.oid).collect()))
        .collect();
    let mut theirs = BTreeSet::new();
    let mut left: Vec<&Sha> = predecessors.iter().collect();
    while let Some(commit) = left.pop() {
        if theirs.insert(commit.clone()) {
            left.extend(parents.get(commit).into_iter().flatten().copied());
        }
    }
    let is_own = |commit: &Raw| commit.parents.nodes.len() < 2 && !theirs.contains(&commit.oid);
    commits.into_iter().filter(is_own).map(facts).collect()
}

fn facts(raw: Raw) -> MessageCommit {
    let person = |author: Author| CommitPerson {
        name: author.name.unwrap_or_default(),
        email: author.email.unwrap_or_default(),
        login: author.user.map(|user| user.login),
    };
    MessageCommit { message: raw.message, authors: raw.authors.nodes.into_iter().flatten().map(person).collect() }
}
