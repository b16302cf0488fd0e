//! The threads of reviews: REST does not say whether they are resolved.

use jiff::Timestamp;
use merge_train_core::ids::PrNumber;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::client::Repo;
use crate::error::Error;

/// A hundred threads each; nobody reads a review with more.
const MOST_PAGES: usize = 50;
const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(first: 100, after: $after) { \
    pageInfo { hasNextPage endCursor } nodes { id isResolved isOutdated path line originalLine \
    comments(first: 100) { nodes { fullDatabaseId body createdAt updatedAt viewerDidAuthor url author { login } } } } } } } }";

/// A conversation at a line of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewThread {
    pub id: String,
    pub is_resolved: bool,
    /// The lines have changed since.
    pub is_outdated: bool,
    pub path: String,
    /// None where that line is no more.
    pub line: Option<u64>,
    /// Where it was when the thread began.
    pub original_line: Option<u64>,
    /// The first hundred.
    #[serde(deserialize_with = "nodes")]
    pub comments: Vec<ThreadComment>,
}

/// What somebody wrote in a thread. Data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadComment {
    /// Its number in REST, as text.
    pub full_database_id: Option<String>,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// For an app, whether its bot wrote it.
    pub viewer_did_author: bool,
    pub url: Option<String>,
    /// None for a deleted account.
    pub author: Option<ThreadAuthor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ThreadAuthor {
    pub login: String,
}

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    review_threads: Threads,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Threads {
    page_info: PageInfo,
    nodes: Vec<Option<ReviewThread>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

fn nodes<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    let Nodes { nodes } = Nodes::deserialize(deserializer)?;
    Ok(nodes.into_iter().flatten().collect())
}

impl Repo {
    /// All threads of a pull request, resolved or not.
    pub async fn review_threads(&self, pr: PrNumber) -> Result<Vec<ReviewThread>, Error> {
        let (mut threads, mut after) = (Vec::new(), Value::Null);
        for _ in 0..MOST_PAGES {
            let mut variables = Map::new();
            variables.insert("number".to_owned(), pr.get().into());
            variables.insert("after".to_owned(), after);
            let mut answer = self.query(QUERY, variables).await?;
            let Some(pull) = answer.take::<Pull>("pullRequest")? else {
                return Err(Error::NotFound { call: answer.answer.call });
            };
            threads.extend(pull.review_threads.nodes.into_iter().flatten());
            match pull.review_threads.page_info {
                PageInfo { has_next_page: true, end_cursor: Some(cursor) } => after = cursor.into(),
                _ => return Ok(threads),
            }
        }
        Ok(threads)
    }
}
