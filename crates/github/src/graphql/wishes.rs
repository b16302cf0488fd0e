//! What reviewers want, in their own words: for whoever is to carry it out.

use jiff::Timestamp;
use merge_train_core::ids::PrNumber;
use serde::Deserialize;

use super::ReviewThread;
use super::query::about_pulls;
use super::talk::{Account, Page, Review, review_fields, wanting};
use crate::client::Repo;
use crate::error::Error;

/// What is wanted of a pull request, and has not been resolved: what the points of its talk are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    pub title: String,
    /// Those that are not resolved, without what merge-train itself said; none without a comment.
    pub threads: Vec<ReviewThread>,
    pub reviews: Vec<Wish>,
}

/// What a reviewer wants of the whole. Data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// GitHub's name for the review.
    pub id: String,
    /// Empty for a deleted account.
    pub login: String,
    /// When it was last said or edited.
    pub said_at: Timestamp,
    /// Empty where the threads say it all.
    pub body: String,
    pub url: Option<String>,
}

#[derive(Deserialize)]
struct Pull {
    title: String,
    author: Option<Account>,
    reviews: Option<Page<Review>>,
}

impl Repo {
    /// [`Error::NotFound`] if there is no such pull request.
    pub async fn wishes(&self, pr: PrNumber) -> Result<Wishes, Error> {
        let fields = format!("title author {{ login }} reviews(last: 100) {{ {} }}", review_fields());
        let (query, variables) = about_pulls(&[pr], &fields);
        let mut answer = self.query(&query, variables).await?;
        let pull = answer.take::<Pull>("p0")?;
        let gone = || Error::NotFound { call: answer.answer.call.clone() };
        let Pull { title, author, reviews } = pull.ok_or_else(gone)?;
        let reviews = self.all_reviews(pr, reviews.unwrap_or_default()).await?.ok_or_else(gone)?;
        let author = author.map(|author| author.login);
        let reviews = wanting(&reviews, author.as_deref()).into_iter().map(wish).collect();
        let mut threads = self.review_threads(pr).await?;
        threads.retain_mut(|thread| {
            thread.comments.retain(|comment| !comment.viewer_did_author);
            !thread.is_resolved && !thread.comments.is_empty()
        });
        Ok(Wishes { title, threads, reviews })
    }
}

fn wish(review: &Review) -> Wish {
    Wish {
        id: review.said.id.clone(),
        login: review.author.as_ref().map(|author| author.login.clone()).unwrap_or_default(),
        said_at: review.said_at(),
        body: review.body.clone(),
        url: review.url.clone(),
    }
}

impl ReviewThread {
    /// When something in it was last said or edited.
    pub fn said_at(&self) -> Option<Timestamp> {
        self.comments.iter().map(|comment| comment.updated_at).max()
    }
}
