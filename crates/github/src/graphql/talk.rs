//! What is said about pull requests: enough to tell whether any of it is new, and what reviewers want.

mod page;
mod review;

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use merge_train_core::facts::{ReviewActivity, ReviewThreadActivity, ReviewerRequest};
use merge_train_core::ids::PrNumber;
use serde::Deserialize;

pub(super) use self::page::Page;
use self::review::REVIEW_FIELDS;
pub(super) use self::review::{Account, Review, wanting};
use super::query::about_pulls;
use crate::client::Repo;
use crate::error::Error;

const PULLS_PER_CALL: usize = 25;
const CALLS_AT_ONCE: usize = 4;
/// How many of the newest count. What merge-train itself says and edits does not count and must not push out what does,
/// so more are read.
const COMMENTS_COUNTED: usize = 10;
const THREAD_COMMENTS_COUNTED: usize = 20;

/// What is asked of each comment. GitHub's times are whole seconds: an edit in the second of the writing shows in
/// `lastEditedAt` alone.
const REMARK_FIELDS: &str = "id updatedAt lastEditedAt viewerDidAuthor";

/// How closely is looked at what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Not into the threads: [`ReviewActivity::detail`] is none.
    Brief,
    Thorough,
}

impl Depth {
    /// `...talk` among the fields of a pull request asks for it.
    pub(super) fn fragment(self) -> String {
        let (author, reviews, threads) = match self {
            Self::Brief => ("", format!("nodes {{ state {REMARK_FIELDS} }}"), "nodes { id isResolved }".to_owned()),
            Self::Thorough => ("author { login }", review_fields(), thread_fields()),
        };
        format!(
            "fragment talk on PullRequest {{ {author} \
             comments(first: 50, orderBy: {{field: UPDATED_AT, direction: DESC}}) {{ nodes {{ {REMARK_FIELDS} }} }} \
             reviews(last: 100) {{ {reviews} }} reviewThreads(last: 100) {{ totalCount {threads} }} }}"
        )
    }
}

/// Of a list of reviews.
pub(super) fn review_fields() -> String {
    format!("pageInfo {{ hasPreviousPage startCursor }} nodes {{ {REVIEW_FIELDS} {REMARK_FIELDS} }}")
}

fn thread_fields() -> String {
    format!(
        "pageInfo {{ hasPreviousPage startCursor }} nodes {{ id isResolved comments(last: 30) {{ nodes {{ {REMARK_FIELDS} }} }} }}"
    )
}

/// What is told of the talk about one pull request, as far as it fits into one answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Raw {
    #[serde(default)]
    author: Option<Account>,
    comments: Page<Remark>,
    reviews: Option<Page<Review>>,
    review_threads: Page<Thread>,
}

/// A comment, without what it says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remark {
    pub id: String,
    pub updated_at: Timestamp,
    pub last_edited_at: Option<Timestamp>,
    /// For an app, whether its bot wrote it.
    pub viewer_did_author: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    id: String,
    is_resolved: bool,
    #[serde(default)]
    comments: Page<Remark>,
}

impl Repo {
    /// What was said about these pull requests, looked at closely. Those that are not there are left out.
    pub async fn talk(&self, prs: &[PrNumber]) -> Result<Vec<(PrNumber, ReviewActivity)>, Error> {
        let batches: Vec<Vec<PrNumber>> = prs.chunks(PULLS_PER_CALL).map(<[PrNumber]>::to_vec).collect();
        let read: Vec<Vec<(PrNumber, ReviewActivity)>> = futures_util::stream::iter(batches)
            .map(|batch| async move { self.batch_of_talk(&batch).await })
            .buffered(CALLS_AT_ONCE)
            .try_collect()
            .await?;
        Ok(read.into_iter().flatten().collect())
    }

    async fn batch_of_talk(&self, prs: &[PrNumber]) -> Result<Vec<(PrNumber, ReviewActivity)>, Error> {
        let (query, variables) = about_pulls(prs, "...talk");
        let mut answer = self.query(&format!("{query} {}", Depth::Thorough.fragment()), variables).await?;
        let mut talks = Vec::new();
        for (index, pr) in prs.iter().enumerate() {
            let Some(raw) = answer.take::<Raw>(&format!("p{index}"))? else { continue };
            if let Some(talk) = self.talk_of(*pr, raw, Depth::Thorough).await? {
                talks.push((*pr, talk));
            }
        }
        Ok(talks)
    }

    /// All of the talk that an answer begins with; the few that have more than a hundred threads or reviews are read on.
    /// None if the pull request is gone meanwhile.
    pub(super) async fn talk_of(&self, pr: PrNumber, raw: Raw, depth: Depth) -> Result<Option<ReviewActivity>, Error> {
        let overview = overview(&raw);
        if depth == Depth::Brief {
            return Ok(Some(ReviewActivity { overview, detail: None }));
        }
        let Some(threads) = self.earlier(pr, "reviewThreads", &thread_fields(), raw.review_threads).await? else {
            return Ok(None);
        };
        let Some(reviews) = self.all_reviews(pr, raw.reviews.unwrap_or_default()).await? else { return Ok(None) };
        let author = raw.author.map(|author| author.login);
        let detail =
            ReviewThreadActivity { mark: mark(&threads), points: points(&threads, &reviews, author.as_deref()) };
        Ok(Some(ReviewActivity { overview, detail: Some(detail) }))
    }

    /// All reviews, given the last of them; oldest first.
    pub(super) async fn all_reviews(&self, pr: PrNumber, last: Page<Review>) -> Result<Option<Vec<Review>>, Error> {
        let mut all = self.earlier(pr, "reviews", &review_fields(), last).await?;
        if let Some(all) = &mut all {
            all.sort_by(|one, other| (one.submitted_at, &one.said.id).cmp(&(other.submitted_at, &other.said.id)));
        }
        Ok(all)
    }
}

/// The same from a brief and from a thorough look: only what both read goes into it.
fn overview(raw: &Raw) -> String {
    let mut text = String::new();
    for said in newest(raw.comments.iter(), COMMENTS_COUNTED) {
        note(&mut text, said);
    }
    for review in raw.reviews.iter().flat_map(Page::iter).filter(|review| review.is_submitted()) {
        if !review.said.viewer_did_author {
            text += &format!("review {} ", review.state);
            note(&mut text, &review.said);
        }
    }
    let mut threads: Vec<&Thread> = raw.review_threads.iter().collect();
    threads.sort_by(|one, other| one.id.cmp(&other.id));
    text += &format!("threads {:?}\n", raw.review_threads.total_count);
    for thread in threads {
        text += &format!("{} {}\n", thread.id, thread.is_resolved);
    }
    short(&text)
}

fn mark(threads: &[Thread]) -> String {
    let mut threads: Vec<&Thread> = threads.iter().collect();
    threads.sort_by(|one, other| one.id.cmp(&other.id));
    let mut text = String::new();
    for thread in threads {
        text += &format!("thread {} {}\n", thread.id, thread.is_resolved);
        for said in newest(thread.comments.iter(), THREAD_COMMENTS_COUNTED) {
            note(&mut text, said);
        }
    }
    short(&text)
}

fn points(threads: &[Thread], reviews: &[Review], author: Option<&str>) -> Vec<ReviewerRequest> {
    let open = threads.iter().filter(|thread| !thread.is_resolved);
    let of_thread = |thread: &Thread| {
        let others = thread.comments.iter().filter(|said| !said.viewer_did_author);
        others.map(|said| said.updated_at).max().map(|said_at| ReviewerRequest { id: thread.id.clone(), said_at })
    };
    let of_review = |review: &Review| ReviewerRequest { id: review.said.id.clone(), said_at: review.said_at() };
    let mut points: Vec<ReviewerRequest> = open.filter_map(of_thread).collect();
    points.extend(wanting(reviews, author).into_iter().map(of_review));
    points.sort();
    points
}

/// The newest that merge-train did not write, newest first.
fn newest<'a>(said: impl Iterator<Item = &'a Remark>, count: usize) -> Vec<&'a Remark> {
    let mut said: Vec<&Remark> = said.filter(|said| !said.viewer_did_author).collect();
    said.sort_by(|one, other| (other.updated_at, &other.id).cmp(&(one.updated_at, &one.id)));
    said.truncate(count);
    said
}

fn note(text: &mut String, said: &Remark) {
    *text += &format!("{} {} {:?}\n", said.id, said.updated_at, said.last_edited_at);
}

/// Of the same length however much is said: it is kept for each pull request.
fn short(text: &str) -> String {
    hex::encode(&digest(&SHA256, text.as_bytes()).as_ref()[..16])
}
