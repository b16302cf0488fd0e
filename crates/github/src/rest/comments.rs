//! The conversation of a pull request.

use jiff::Timestamp;
use merge_train_core::facts::CommentFacts;
use merge_train_core::ids::{CommentId, PrNumber};
use reqwest::Method;
use serde_json::json;

use crate::client::Repo;
use crate::error::Error;
use crate::governor::Effect;
use crate::http::Answer;
use crate::wire;

impl Repo {
    /// All comments in the conversation, oldest first.
    pub async fn comments(&self, pr: PrNumber) -> Result<Vec<CommentFacts>, Error> {
        let comments: Vec<wire::Comment> =
            self.list(self.get(&["issues", &pr.to_string(), "comments"]).cached()).await?;
        Ok(comments.into_iter().map(|comment| comment.into_facts(pr)).collect())
    }

    /// All comments in the repository that were written or edited since then, those on plain issues too.
    pub async fn comments_since(&self, since: Timestamp) -> Result<Vec<CommentFacts>, Error> {
        let since = since.to_string();
        let call = self
            .get(&["issues", "comments"])
            .query(&[("since", &since), ("sort", "updated"), ("direction", "asc")])
            .cached();
        let comments: Vec<wire::Comment> = self.list(call).await?;
        let placed = comments.into_iter().filter_map(|comment| {
            let pr = comment.issue()?;
            Some(comment.into_facts(pr))
        });
        Ok(placed.collect())
    }

    /// None if it was deleted.
    pub async fn comment(&self, id: CommentId) -> Result<Option<CommentFacts>, Error> {
        match self.send(&self.get(&["issues", "comments", &id.to_string()]).cached()).await {
            Ok(answer) => read_comment(&answer).map(Some),
            Err(Error::NotFound { .. } | Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn create_comment(&self, pr: PrNumber, body: &str) -> Result<CommentFacts, Error> {
        let call = self
            .write(Method::POST, &["issues", &pr.to_string(), "comments"], Effect::Content)
            .json(&json!({ "body": body }));
        let comment: wire::Comment = self.read(&call).await?;
        Ok(comment.into_facts(pr))
    }

    pub async fn update_comment(&self, id: CommentId, body: &str) -> Result<CommentFacts, Error> {
        let call = self
            .write(Method::PATCH, &["issues", "comments", &id.to_string()], Effect::Content)
            .json(&json!({ "body": body }));
        read_comment(&self.send(&call).await?)
    }

    pub async fn delete_comment(&self, id: CommentId) -> Result<(), Error> {
        self.send(&self.write(Method::DELETE, &["issues", "comments", &id.to_string()], Effect::Write)).await?;
        Ok(())
    }
}

fn read_comment(answer: &Answer) -> Result<CommentFacts, Error> {
    let comment: wire::Comment = answer.json()?;
    let pr = comment
        .issue()
        .ok_or_else(|| Error::permanent(&answer.call, "the comment does not say which pull request it is on"))?;
    Ok(comment.into_facts(pr))
}
