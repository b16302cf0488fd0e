//! What was said under many pull requests, in few calls: by REST each of them would cost one.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use merge_train_core::facts::{CommentFacts, Conversation};
use merge_train_core::ids::{CommentId, PrNumber, UserId};
use merge_train_core::train::status;
use serde::Deserialize;

use super::query::about_pulls;
use crate::client::Repo;
use crate::error::Error;
use crate::wire::{self, id_of, login_of};

/// How a comment addresses the bot.
const MENTION: &str = "@merge-train";

const PULLS_PER_CALL: usize = 50;
const CALLS_AT_ONCE: usize = 10;
/// Only these can write comments; who was brought along by an import has never given a command.
const FIELDS: &str = "number mergedBy { ...who } comments(first: 100) { pageInfo { hasNextPage } nodes { fullDatabaseId \
    body createdAt updatedAt author { ...who } editor { ...who } reactionGroups { content viewerHasReacted } } }";
const FRAGMENTS: &str = "fragment who on Actor { login ... on User { databaseId } ... on Bot { databaseId } \
    ... on Organization { databaseId } }";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    number: PrNumber,
    merged_by: Option<Author>,
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
    editor: Option<Author>,
    reaction_groups: Option<Vec<ReactionGroup>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReactionGroup {
    content: String,
    viewer_has_reacted: bool,
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
    /// What was said to the bot, or by it about a train, under these pull requests. Those that are not there are left out.
    pub async fn conversations(&self, numbers: &[PrNumber]) -> Result<Vec<Conversation>, Error> {
        let batches: Vec<Vec<PrNumber>> = numbers.chunks(PULLS_PER_CALL).map(<[PrNumber]>::to_vec).collect();
        let read: Vec<(Vec<Conversation>, Vec<Conversation>)> = futures_util::stream::iter(batches)
            .map(|batch| async move { self.batch(&batch).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        let (mut conversations, mut long) = (Vec::new(), Vec::new());
        for (read, unfinished) in read {
            conversations.extend(read);
            long.extend(unfinished);
        }
        // The few with more than a hundred comments are read again, page by page.
        let rest: Vec<Option<Conversation>> = futures_util::stream::iter(long)
            .map(|conversation| async move { self.whole(conversation).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        conversations.extend(rest.into_iter().flatten());
        for conversation in &mut conversations {
            conversation.comments.retain(|comment| concerns_the_bot(&comment.body));
            conversation.comments.sort_by_key(|comment| (comment.created_at, comment.id));
        }
        Ok(conversations)
    }

    /// The conversations of a batch, and the beginnings of those that have more comments than fit.
    async fn batch(&self, numbers: &[PrNumber]) -> Result<(Vec<Conversation>, Vec<Conversation>), Error> {
        let (query, variables) = about_pulls(numbers, FIELDS);
        let mut answer = match self.query(&format!("{query} {FRAGMENTS}"), variables).await {
            Ok(answer) => answer,
            // An older GitHub Enterprise Server does not know all of these fields: there each costs a call.
            Err(Error::Unprocessable { .. }) => return Ok((Vec::new(), numbers.iter().map(|pr| empty(*pr)).collect())),
            Err(error) => return Err(error),
        };
        let (mut complete, mut unfinished) = (Vec::new(), Vec::new());
        for index in 0..numbers.len() {
            let Some(pull) = answer.take::<Pull>(&format!("p{index}"))? else { continue };
            let has_more = pull.comments.page_info.has_next_page;
            let into = if has_more { &mut unfinished } else { &mut complete };
            into.push(conversation(pull));
        }
        Ok((complete, unfinished))
    }

    /// All comments of a conversation, with what is known of the first hundred beyond their text. None if there is no such
    /// pull request.
    async fn whole(&self, begun: Conversation) -> Result<Option<Conversation>, Error> {
        let comments = match self.comments(begun.pr).await {
            Ok(comments) => comments,
            Err(Error::NotFound { .. } | Error::Gone { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let later = comments.into_iter().filter(|comment| begun.comments.iter().all(|known| known.id != comment.id));
        let comments = begun.comments.iter().cloned().chain(later).collect();
        Ok(Some(Conversation { comments, ..begun }))
    }
}

fn empty(pr: PrNumber) -> Conversation {
    Conversation { pr, merged_by: None, comments: Vec::new(), acknowledged: BTreeSet::new() }
}

fn conversation(pull: Pull) -> Conversation {
    let mut conversation = empty(pull.number);
    conversation.merged_by = pull.merged_by.and_then(|by| by.database_id).map(UserId::new);
    for comment in pull.comments.nodes.into_iter().flatten() {
        let mut groups = comment.reaction_groups.iter().flatten();
        let is_acknowledged = groups.any(|group| group.content == "THUMBS_UP" && group.viewer_has_reacted);
        if let Some(comment) = facts(pull.number, comment) {
            conversation.acknowledged.extend(is_acknowledged.then_some(comment.id));
            conversation.comments.push(comment);
        }
    }
    conversation
}

/// Whether it addresses the bot, or shows the state of a train.
fn concerns_the_bot(body: &str) -> bool {
    body.as_bytes().windows(MENTION.len()).any(|window| window.eq_ignore_ascii_case(MENTION.as_bytes()))
        || status::looks_like_one(body)
}

/// None for a comment of somebody without a number: nobody else may be taken for its author.
fn facts(pr: PrNumber, comment: Comment) -> Option<CommentFacts> {
    let id = match comment.full_database_id {
        BigInt::Text(text) => text.parse().ok()?,
        BigInt::Number(number) => number,
    };
    // Who may edit the comments of others can make the bot's status comment say what they like: then it is theirs.
    let editor = comment.editor.filter(|_| status::looks_like_one(&comment.body));
    let author = match editor.or(comment.author) {
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

#[cfg(test)]
mod tests {
    use super::concerns_the_bot;

    #[test]
    fn the_bot_is_addressed_in_any_case_and_its_own_status_is_kept() {
        for (body, expected) in [
            ("hi @Merge-Train start", true),
            ("merge-train", false),
            ("", false),
            ("é@merge-train", true),
            ("<!-- merge-train-state\n{}\n-->", true),
            ("<!-- merge-train-closed -->", true),
        ] {
            assert_eq!(concerns_the_bot(body), expected, "{body}");
        }
    }
}
