//! Bringing news into a gateway that a fixer is working with.

use merge_train_core::ids::BranchName;
use tokio_util::sync::CancellationToken;

use super::make::sealed;
use super::supply::Source;
use super::{Error, Gateway, intact};
use crate::Oid;

/// A ref's step, from what was last supplied.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    pub from: &'a Oid,
    pub to: &'a Oid,
}

/// What the fixer does not know yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct News<'a> {
    /// Somebody else pushed to the pull request's branch.
    pub branch: Option<Move<'a>>,
    /// The branch that it is merged into moved on.
    pub base: Option<(&'a BranchName, Move<'a>)>,
}

/// What became of the news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// A `git pull` in the checkout brings them.
    Done,
    /// The fixer has pushed meanwhile: its branch is left as it is, and has to be taken first.
    Outpaced,
}

impl Gateway {
    /// Puts newer commits into the gateway. Its rules are written again, and nothing that it may have been told to run
    /// runs.
    pub async fn refresh(
        &self,
        from: Source<'_>,
        news: News<'_>,
        cancel: &CancellationToken,
    ) -> Result<Refreshed, Error> {
        let moves: Vec<Move<'_>> = news.branch.into_iter().chain(news.base.map(|(_, step)| step)).collect();
        let Some(first) = moves.first() else { return Ok(Refreshed::Done) };
        let path = self.path();
        let looked = tokio::task::spawn_blocking(move || intact::check(&path)).await;
        looked.map_err(super::join_error)??;
        self.write_rules(&self.path(), first.to, from.completeness())?;
        let to: Vec<&Oid> = moves.iter().map(|step| step.to).collect();
        let known: Vec<&Oid> = moves.iter().map(|step| step.from).collect();
        match from.supply(&self.git, &self.path(), (&to, &known), cancel).await {
            // The clone has forgotten what was supplied before: then all of it goes again.
            Err(crate::Error::Failed { .. }) => from.supply(&self.git, &self.path(), (&to, &[]), cancel).await?,
            other => other?,
        }
        if let Some((name, step)) = news.base {
            self.update_refs(&self.path(), "merge-train: refreshed", format!("update refs/heads/{name} {}\n", step.to))
                .await?;
        }
        match news.branch {
            Some(step) => self.advance(step).await,
            None => Ok(Refreshed::Done),
        }
    }

    /// Moves the branch, if it still is where it was.
    async fn advance(&self, step: Move<'_>) -> Result<Refreshed, Error> {
        let change = format!("update {} {} {}\n", self.branch_ref(), step.to, step.from);
        let refused = match self.update_refs(&self.path(), "merge-train: refreshed", change).await {
            Ok(()) => return Ok(Refreshed::Done),
            Err(error) => error,
        };
        let args = ["rev-parse", "--verify", "--quiet", &self.branch_ref()];
        let now = sealed(self.git.on(&self.path(), args)).run_allowing(&[0, 1]).await?.oid();
        match now {
            Ok(now) if now == *step.to => Ok(Refreshed::Done),
            Ok(now) if now != *step.from => Ok(Refreshed::Outpaced),
            _ => Err(refused.into()),
        }
    }
}
