//! Reviews and what reviewers wrote at lines of the diff.

use jiff::Timestamp;
use merge_train_core::facts::ReviewState;
use merge_train_core::ids::{PrNumber, Sha, UserId};
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;
use crate::wire::{self, id_of, login_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub id: u64,
    pub by: UserId,
    /// Empty for a deleted account.
    pub login: String,
    pub state: ReviewState,
    /// The head that was reviewed; GitHub forgets it when the commit is gone.
    pub commit: Option<Sha>,
    pub body: String,
    pub submitted_at: Option<Timestamp>,
}

/// A comment at a line of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    pub id: u64,
    pub review: Option<u64>,
    /// The comment that this one answers.
    pub in_reply_to: Option<u64>,
    pub by: UserId,
    pub path: String,
    /// None when the line is no longer in the diff.
    pub line: Option<u64>,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Deserialize)]
struct RawReview {
    id: u64,
    user: Option<wire::Actor>,
    state: RawState,
    commit_id: Option<Sha>,
    #[serde(default)]
    body: Option<String>,
    submitted_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum RawState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    Pending,
}

#[derive(Deserialize)]
struct RawComment {
    id: u64,
    pull_request_review_id: Option<u64>,
    in_reply_to_id: Option<u64>,
    user: Option<wire::Actor>,
    path: String,
    line: Option<u64>,
    #[serde(default)]
    body: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Repo {
    /// Oldest first.
    pub async fn reviews(&self, pr: PrNumber) -> Result<Vec<Review>, Error> {
        let reviews: Vec<RawReview> = self.list(self.get(&["pulls", &pr.to_string(), "reviews"]).cached()).await?;
        Ok(reviews.into_iter().map(review).collect())
    }

    /// Oldest first.
    pub async fn review_comments(&self, pr: PrNumber) -> Result<Vec<ReviewComment>, Error> {
        let comments: Vec<RawComment> = self.list(self.get(&["pulls", &pr.to_string(), "comments"]).cached()).await?;
        Ok(comments.into_iter().map(comment).collect())
    }
}

fn review(raw: RawReview) -> Review {
    let state = match raw.state {
        RawState::Approved => ReviewState::Approved,
        RawState::ChangesRequested => ReviewState::ChangesRequested,
        RawState::Commented => ReviewState::Commented,
        RawState::Dismissed => ReviewState::Dismissed,
        RawState::Pending => ReviewState::Pending,
    };
    Review {
        id: raw.id,
        by: id_of(raw.user.as_ref()),
        login: login_of(raw.user.as_ref()),
        state,
        commit: raw.commit_id,
        body: raw.body.unwrap_or_default(),
        submitted_at: raw.submitted_at,
    }
}

fn comment(raw: RawComment) -> ReviewComment {
    ReviewComment {
        id: raw.id,
        review: raw.pull_request_review_id,
        in_reply_to: raw.in_reply_to_id,
        by: id_of(raw.user.as_ref()),
        path: raw.path,
        line: raw.line,
        body: raw.body.unwrap_or_default(),
        created_at: raw.created_at,
        updated_at: raw.updated_at,
    }
}
