//! Reviews as a whole, beside the threads that they begin.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::Remark;

/// What is asked of each review besides what is asked of every comment.
pub(super) const REVIEW_FIELDS: &str = "state submittedAt body url author { login }";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::graphql) struct Review {
    #[serde(flatten)]
    pub said: Remark,
    pub state: String,
    #[serde(default)]
    pub submitted_at: Option<Timestamp>,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub url: Option<String>,
    /// None for a deleted account.
    #[serde(default)]
    pub author: Option<Account>,
}

#[derive(Deserialize)]
pub(in crate::graphql) struct Account {
    pub login: String,
}

impl Review {
    /// Others do not see a pending one, and merge-train writes none.
    pub(super) fn is_submitted(&self) -> bool {
        self.state != "PENDING"
    }

    pub(in crate::graphql) fn said_at(&self) -> Timestamp {
        self.said.updated_at.max(self.submitted_at.unwrap_or(Timestamp::MIN))
    }

    /// A comment takes back no earlier opinion, so that an answer in a thread does not stand for an approval.
    fn is_an_opinion(&self) -> bool {
        matches!(self.state.as_str(), "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED")
    }
}

/// Those that want something: the last opinion of each reviewer if changes are requested in it, and comments of others
/// than the author and merge-train. `reviews` has the oldest first.
pub(in crate::graphql) fn wanting<'a>(reviews: &'a [Review], author: Option<&str>) -> Vec<&'a Review> {
    let login = |review: &'a Review| review.author.as_ref().map(|author| author.login.as_str());
    let opinions = reviews.iter().filter(|review| review.is_an_opinion());
    let last: BTreeMap<&str, &str> =
        opinions.filter_map(|review| Some((login(review)?, review.said.id.as_str()))).collect();
    let stands = |review: &'a Review| login(review).is_none_or(|by| last.get(by) == Some(&review.said.id.as_str()));
    let is_the_authors = |review: &'a Review| author.is_some() && login(review) == author;
    let wants = |review: &&'a Review| match review.state.as_str() {
        "CHANGES_REQUESTED" => stands(review),
        "COMMENTED" => !review.body.trim().is_empty() && !is_the_authors(review),
        _ => false,
    };
    reviews.iter().filter(|review| !review.said.viewer_did_author).filter(wants).collect()
}
