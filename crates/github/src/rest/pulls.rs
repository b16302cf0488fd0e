//! Pull requests: one, the open ones, those closed of late, and what can be changed about them.

use std::ops::ControlFlow;

use jiff::Timestamp;
use merge_train_core::facts::PullFacts;
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::Repo;
use crate::error::Error;
use crate::governor::Effect;
use crate::http::Answer;
use crate::wire;

/// A pull request with what only GitHub's answer for a single one has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub facts: PullFacts,
    pub node_id: String,
    pub title: String,
    pub body: String,
    /// None for a deleted account.
    pub author_login: Option<String>,
    /// None while GitHub is still finding out.
    pub mergeable: Option<bool>,
    /// GitHub's `mergeable_state`, in lower case: `clean`, `blocked`, `unknown`, …
    pub mergeable_state: String,
    /// Of a merged one the commit that landed; of an open one only a trial merge.
    pub merge_commit_sha: Option<Sha>,
    /// Set where the pull request is part of one of GitHub's own stacks: it cannot be merged synchronously.
    pub stack: Option<NativeStack>,
}

/// A pull request's place in one of GitHub's own stacks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NativeStack {
    pub id: Option<u64>,
    pub number: Option<u64>,
    pub size: Option<u64>,
    /// From 1 at the bottom.
    pub position: Option<u64>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    node_id: String,
    #[serde(default)]
    title: String,
    body: Option<String>,
    user: Option<wire::Actor>,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
    stack: Option<NativeStack>,
}

impl Repo {
    pub async fn pull(&self, number: PrNumber) -> Result<Pull, Error> {
        read_pull(&self.send(&self.get(&["pulls", &number.to_string()]).cached()).await?)
    }

    pub async fn open_pulls(&self) -> Result<Vec<PullFacts>, Error> {
        let call = self.get(&["pulls"]).query(&[("state", "open"), ("sort", "created"), ("direction", "asc")]).cached();
        let pulls: Vec<wire::Pull> = self.list(call).await?;
        Ok(pulls.iter().map(wire::Pull::facts).collect())
    }

    /// Those closed or merged that were touched since then, the latest first.
    pub async fn closed_pulls(&self, since: Timestamp) -> Result<Vec<PullFacts>, Error> {
        let call =
            self.get(&["pulls"]).query(&[("state", "closed"), ("sort", "updated"), ("direction", "desc")]).cached();
        let mut recent = Vec::new();
        let take = |page: Vec<wire::Pull>| {
            for pull in page {
                if pull.updated_at < since {
                    return ControlFlow::Break(());
                }
                recent.push(pull.facts());
            }
            ControlFlow::Continue(())
        };
        self.pages(call, take).await?;
        Ok(recent)
    }

    /// Lets a pull request merge into another branch.
    pub async fn retarget(&self, number: PrNumber, base: &BranchName) -> Result<Pull, Error> {
        self.change(number, json!({ "base": base })).await
    }

    /// Closes a pull request without merging it.
    pub async fn close(&self, number: PrNumber) -> Result<Pull, Error> {
        self.change(number, json!({ "state": "closed" })).await
    }

    async fn change(&self, number: PrNumber, change: Value) -> Result<Pull, Error> {
        let call = self.write(Method::PATCH, &["pulls", &number.to_string()], Effect::Write).json(&change);
        read_pull(&self.send(&call).await?)
    }
}

fn read_pull(answer: &Answer) -> Result<Pull, Error> {
    let pull: wire::Pull = answer.json()?;
    let details: Details = answer.json()?;
    Ok(Pull {
        facts: pull.facts(),
        node_id: details.node_id,
        title: details.title,
        body: details.body.unwrap_or_default(),
        author_login: details.user.map(|user| user.login),
        mergeable: details.mergeable,
        mergeable_state: details.mergeable_state.unwrap_or_else(|| "unknown".to_owned()),
        merge_commit_sha: pull.merge_commit_sha,
        stack: details.stack,
    })
}
