//! What was said under many pull requests, in few calls: by REST each of them would cost one.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use merge_train_core::facts::{CommentFacts, ConversationFacts};
use merge_train_core::ids::{CommentId, PrNumber, Sha, UserId};
use merge_train_core::repo::trains::status;
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
const FIELDS: &str = "number mergedBy { ...who } comments(first: 100) { ...said } \
    timelineItems(last: 16, itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT]) { \
    nodes { ... on HeadRefForcePushedEvent { beforeCommit { oid } } } }";
const FURTHER: &str = "comments(first: 100, after: $after) { ...said }";
const FRAGMENTS: &str = "fragment who on Actor { login ... on User { databaseId } ... on Bot { databaseId } \
    ... on Organization { databaseId } } fragment said on IssueCommentConnection { pageInfo { hasNextPage endCursor } \
    nodes { fullDatabaseId body createdAt updatedAt author { ...who } editor { ...who } \
    reactionGroups { content viewerHasReacted } } }";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    number: PrNumber,
    merged_by: Option<Author>,
    comments: Comments,
    #[serde(default)]
    timeline_items: Timeline,
}

#[derive(Deserialize, Default)]
struct Timeline {
    nodes: Vec<Option<ForcePush>>,
}

/// The commit is gone where GitHub has forgotten it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForcePush {
    before_commit: Option<Commit>,
}

#[derive(Deserialize)]
struct Commit {
    oid: Sha,
}

#[derive(Deserialize)]
struct Page {
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
    #[serde(default)]
    end_cursor: Option<String>,
}

impl Comments {
    /// What the next page is asked for with, if there is one.
    fn next(&self) -> Option<String> {
        self.page_info.end_cursor.clone().filter(|_| self.page_info.has_next_page)
    }
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
    pub async fn conversations(&self, numbers: &[PrNumber]) -> Result<Vec<ConversationFacts>, Error> {
        let batches: Vec<Vec<PrNumber>> = numbers.chunks(PULLS_PER_CALL).map(<[PrNumber]>::to_vec).collect();
        let read: Vec<Vec<Begun>> = futures_util::stream::iter(batches)
            .map(|batch| async move { self.batch(&batch).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        // The few with more than a hundred comments are read on.
        let whole: Vec<Option<ConversationFacts>> = futures_util::stream::iter(read.into_iter().flatten())
            .map(|begun| async move { self.whole(begun).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        let mut conversations: Vec<ConversationFacts> = whole.into_iter().flatten().collect();
        for conversation in &mut conversations {
            conversation.comments.retain(|comment| concerns_the_bot(&comment.body));
            conversation.comments.sort_by_key(|comment| (comment.created_at, comment.id));
        }
        Ok(conversations)
    }

    /// The conversations of a batch, each as far as it fits.
    async fn batch(&self, numbers: &[PrNumber]) -> Result<Vec<Begun>, Error> {
        let (query, variables) = about_pulls(numbers, FIELDS);
        let mut answer = match self.query(&format!("{query} {FRAGMENTS}"), variables).await {
            Ok(answer) => answer,
            // An older GitHub Enterprise Server does not know all of these fields: there each costs a call.
            Err(Error::Unprocessable { .. }) => return self.plain_batch(numbers).await,
            Err(error) => return Err(error),
        };
        let mut read = Vec::new();
        for index in 0..numbers.len() {
            let Some(pull) = answer.take::<Pull>(&format!("p{index}"))? else { continue };
            let mut conversation = empty(pull.number);
            conversation.merged_by = pull.merged_by.and_then(|by| by.database_id).map(UserId::new);
            let force_pushes = pull.timeline_items.nodes.into_iter().flatten();
            conversation.former_heads = force_pushes.filter_map(|push| Some(push.before_commit?.oid)).collect();
            let after = pull.comments.next();
            hear(&mut conversation, pull.comments.nodes);
            read.push(Begun { conversation, after });
        }
        Ok(read)
    }

    async fn plain_batch(&self, numbers: &[PrNumber]) -> Result<Vec<Begun>, Error> {
        let read: Vec<Option<ConversationFacts>> = futures_util::stream::iter(numbers.to_vec())
            .map(|pr| async move { self.plain(pr).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        Ok(read.into_iter().flatten().map(|conversation| Begun { conversation, after: None }).collect())
    }

    /// The same conversation with the comments that did not fit. None if there is no such pull request.
    async fn whole(&self, begun: Begun) -> Result<Option<ConversationFacts>, Error> {
        let Begun { mut conversation, mut after } = begun;
        while let Some(cursor) = after {
            let (query, mut variables) = about_pulls(&[conversation.pr], FURTHER);
            let query = query.replacen("$n0: Int!", "$n0: Int!, $after: String!", 1);
            variables.insert("after".to_owned(), cursor.into());
            let mut answer = self.query(&format!("{query} {FRAGMENTS}"), variables).await?;
            let Some(page) = answer.take::<Page>("p0")? else { return Ok(None) };
            after = page.comments.next();
            hear(&mut conversation, page.comments.nodes);
        }
        Ok(Some(conversation))
    }

    /// The same by REST, where nobody tells who edited or acknowledged what.
    async fn plain(&self, pr: PrNumber) -> Result<Option<ConversationFacts>, Error> {
        match self.comments(pr).await {
            Ok(comments) => Ok(Some(ConversationFacts { comments, ..empty(pr) })),
            Err(Error::NotFound { .. } | Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A conversation that goes on behind the cursor.
struct Begun {
    conversation: ConversationFacts,
    after: Option<String>,
}

fn empty(pr: PrNumber) -> ConversationFacts {
    ConversationFacts {
        pr,
        merged_by: None,
        comments: Vec::new(),
        acknowledged: BTreeSet::new(),
        former_heads: Vec::new(),
    }
}

fn hear(conversation: &mut ConversationFacts, comments: Vec<Option<Comment>>) {
    for comment in comments.into_iter().flatten() {
        let mut groups = comment.reaction_groups.iter().flatten();
        let is_acknowledged = groups.any(|group| group.content == "THUMBS_UP" && group.viewer_has_reacted);
        if let Some(comment) = facts(conversation.pr, comment) {
            conversation.acknowledged.extend(is_acknowledged.then_some(comment.id));
            conversation.comments.push(comment);
        }
    }
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
