//! What was said under many pull requests, in few calls: by REST each of them would cost one.

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use merge_train_core::facts::CommentFacts;
use merge_train_core::ids::{CommentId, PrNumber, UserId};
use serde::Deserialize;

use super::query::about_pulls;
use crate::client::Repo;
use crate::error::Error;
use crate::wire::{self, id_of, login_of};

const PULLS_PER_CALL: usize = 50;
const CALLS_AT_ONCE: usize = 10;
/// Only these can write comments; who was brought along by an import has never given a command.
const FIELDS: &str = "number comments(first: 100) { pageInfo { hasNextPage } nodes { fullDatabaseId body createdAt \
    updatedAt author { login ... on User { databaseId } ... on Bot { databaseId } ... on Organization { databaseId } } } }";

#[derive(Deserialize)]
struct Conversation {
    number: PrNumber,
    comments: Comments,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comments {
    page_info: PageInfo,
    nodes: Vec<Option<Comment>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    full_database_id: BigInt,
    body: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    author: Option<Author>,
}

/// GraphQL's numbers end at 31 bits, so larger ones travel as texts.
#[derive(Deserialize)]
#[serde(untagged)]
enum BigInt {
    Text(String),
    Number(u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Author {
    #[serde(default)]
    login: String,
    database_id: Option<u64>,
}

impl Repo {
    /// The comments of all these pull requests.
    pub(crate) async fn conversations(&self, numbers: &[PrNumber]) -> Result<Vec<CommentFacts>, Error> {
        let batches: Vec<Vec<PrNumber>> = numbers.chunks(PULLS_PER_CALL).map(<[PrNumber]>::to_vec).collect();
        let read: Vec<(Vec<CommentFacts>, Vec<PrNumber>)> = futures_util::stream::iter(batches)
            .map(|batch| async move { self.batch(&batch).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        let mut comments = Vec::new();
        let mut long = Vec::new();
        for (read, unfinished) in read {
            comments.extend(read);
            long.extend(unfinished);
        }
        // The few with more than a hundred comments are read again, page by page.
        let rest: Vec<Vec<CommentFacts>> = futures_util::stream::iter(long)
            .map(|number| async move { self.comments(number).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        comments.extend(rest.into_iter().flatten());
        Ok(comments)
    }

    /// The comments of a batch, and those pull requests that have more than fit.
    async fn batch(&self, numbers: &[PrNumber]) -> Result<(Vec<CommentFacts>, Vec<PrNumber>), Error> {
        let (query, variables) = about_pulls(numbers, FIELDS);
        let mut answer = match self.query(&query, variables).await {
            Ok(answer) => answer,
            // An older GitHub Enterprise Server does not know all of these fields: there each costs a call.
            Err(Error::Unprocessable { .. }) => return Ok((Vec::new(), numbers.to_vec())),
            Err(error) => return Err(error),
        };
        let (mut comments, mut unfinished) = (Vec::new(), Vec::new());
        for index in 0..numbers.len() {
            let Some(conversation) = answer.take::<Conversation>(&format!("p{index}"))? else { continue };
            if conversation.comments.page_info.has_next_page {
                unfinished.push(conversation.number);
                continue;
            }
            let nodes = conversation.comments.nodes.into_iter().flatten();
            comments.extend(nodes.filter_map(|comment| facts(conversation.number, comment)));
        }
        Ok((comments, unfinished))
    }
}

/// None for a comment of somebody without a number: nobody else may be taken for its author.
fn facts(pr: PrNumber, comment: Comment) -> Option<CommentFacts> {
    let id = match comment.full_database_id {
        BigInt::Text(text) => text.parse().ok()?,
        BigInt::Number(number) => number,
    };
    let author = match comment.author {
        Some(author) => Some(wire::Actor { id: UserId::new(author.database_id?), login: author.login }),
        None => None,
    };
    Some(CommentFacts {
        id: CommentId::new(id),
        pr,
        author: id_of(author.as_ref()),
        login: login_of(author.as_ref()),
        body: comment.body,
        created_at: comment.created_at,
        updated_at: comment.updated_at,
    })
}
