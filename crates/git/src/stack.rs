//! A stack at work in the clone: it fetches into refs of its own, has a worktree of its own, and does not see the others.

use std::sync::Arc;

use merge_train_core::ids::{BranchName, PrNumber};
use tokio_util::sync::CancellationToken;

use crate::cascade::{Advance, Branch, Predecessor, Step};
use crate::proof::{Landing, NotSquash, Squash};
use crate::push::Pushed;
use crate::repository::{Heads, Repository, Wanted, is_unexplained};
use crate::worktree::Name;
use crate::{Error, Objects, Oid};

/// What one stack sees of its repository.
#[derive(Debug)]
pub struct Stack {
    repository: Arc<Repository>,
    name: Name,
    cancel: CancellationToken,
}

/// A pull request and its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    pub number: PrNumber,
    pub branch: BranchName,
}

impl Pull {
    /// Its branch, as it is on the remote now.
    pub fn wanted(&self) -> Wanted {
        Wanted::Branch(self.number, self.branch.clone())
    }
}

/// A merge that GitHub says it made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub pull: PrNumber,
    /// GitHub's `merge_commit_sha`.
    pub merge_commit: Oid,
    /// How many commits GitHub counts in the pull request.
    pub commits: Option<u64>,
    /// The default branch's head, as it was read before the merge.
    pub known_before: Option<Oid>,
}

/// What a step does to a pull request's branch.
#[derive(Clone, Copy, Debug)]
enum Work<'a> {
    Prepare(PrNumber, &'a [Oid]),
    Reconcile(&'a Squash),
    CatchUp,
    UpdateRoot,
}

impl Stack {
    pub(crate) async fn open(
        repository: Arc<Repository>,
        name: Name,
        cancel: CancellationToken,
    ) -> Result<Self, Error> {
        let generation = repository.generation();
        if let Err(error) = repository.worktrees().ensure(&name).await {
            repository.heal(generation, error).await?;
            repository.worktrees().ensure(&name).await?;
        }
        Ok(Self { repository, name, cancel })
    }

    pub fn repository(&self) -> &Arc<Repository> {
        &self.repository
    }

    /// The clone's object store, until the stack is called off.
    pub fn objects(&self) -> Objects {
        self.repository.objects(self.cancel.clone())
    }

    /// Fetches the wanted refs, all or none.
    pub async fn fetch(&self, wanted: &[Wanted]) -> Result<Heads, Error> {
        let (generation, namespace) = (self.repository.generation(), self.name.namespace());
        let fetch = || self.repository.fetch(&namespace, wanted, &self.cancel);
        let error = match fetch().await {
            // Most of what has no explanation is a connection that broke off. Examining a large clone costs more than asking
            // once more.
            Err(error) if is_unexplained(&error) => match fetch().await {
                Err(error) => error,
                fetched => return fetched,
            },
            ended => return ended,
        };
        match self.repository.heal(generation, error).await {
            Ok(()) => fetch().await,
            // The clone is sound and the refs are there: it was the exchange.
            Err(Error::Failed { stderr, .. }) => Err(self.repository.remote_fault(&stderr)),
            Err(error) => Err(error),
        }
    }

    /// Where the refs were when the stack last fetched them: what its last step was computed from.
    pub async fn heads(&self) -> Result<Heads, Error> {
        self.repository.heads(&self.name.namespace(), &self.cancel).await
    }

    /// Merges the predecessor's head into `descendant`: before the predecessor is squashed.
    pub async fn prepare(&self, descendant: &Pull, predecessor: PrNumber, default: &BranchName) -> Result<Step, Error> {
        self.prepare_on(descendant, predecessor, &[], default).await
    }

    /// The same where former heads of the predecessor are known.
    pub async fn prepare_on(
        &self,
        descendant: &Pull,
        predecessor: PrNumber,
        former_heads: &[Oid],
        default: &BranchName,
    ) -> Result<Step, Error> {
        self.step(descendant, Work::Prepare(predecessor, former_heads), default).await
    }

    /// Relates `descendant` to its predecessor's squash: after it, and before anything else is merged.
    pub async fn reconcile(&self, descendant: &Pull, squash: &Squash, default: &BranchName) -> Result<Step, Error> {
        self.step(descendant, Work::Reconcile(squash), default).await
    }

    /// Merges what landed on the default branch after the squash into `descendant`.
    pub async fn catch_up(&self, descendant: &Pull, default: &BranchName) -> Result<Step, Error> {
        self.step(descendant, Work::CatchUp, default).await
    }

    /// Merges the default branch into a root that is behind it.
    pub async fn update_root(&self, root: &Pull, default: &BranchName) -> Result<Step, Error> {
        self.step(root, Work::UpdateRoot, default).await
    }

    /// Whether what GitHub calls a merge is a squash that descendants can be reconciled with.
    pub async fn validate(&self, claim: &Claim, default: &BranchName) -> Result<Result<Squash, NotSquash>, Error> {
        let generation = self.repository.generation();
        match self.try_validate(claim, default).await {
            Ok(verdict) => Ok(verdict),
            Err(error) => {
                self.repository.heal(generation, error).await?;
                self.try_validate(claim, default).await
            }
        }
    }

    /// Pushes what a step came to.
    pub async fn push(&self, branch: &BranchName, advance: &Advance) -> Result<Pushed, Error> {
        self.repository.push(branch, advance, &self.cancel).await
    }

    /// Ends the stack: its worktree and its refs go.
    pub async fn close(self) -> Result<(), Error> {
        self.repository.worktrees().discard(&self.name).await
    }

    /// Fetches, computes, and leaves the worktree at the result, where a person can look at it.
    async fn step(&self, pull: &Pull, work: Work<'_>, default: &BranchName) -> Result<Step, Error> {
        let generation = self.repository.generation();
        let step = match self.compute(pull, work, default).await {
            Ok(step) => step,
            Err(error) => {
                self.repository.heal(generation, error).await?;
                self.compute(pull, work, default).await?
            }
        };
        if let Some(head) = step.head() {
            self.show(&head.commit).await?;
        }
        Ok(step)
    }

    /// Leaves the worktree at a commit.
    pub(crate) async fn show(&self, commit: &Oid) -> Result<(), Error> {
        self.repository.worktrees().move_head(&self.name, commit).await
    }

    async fn compute(&self, pull: &Pull, work: Work<'_>, default: &BranchName) -> Result<Step, Error> {
        let mut wanted = vec![pull.wanted()];
        let newest = Wanted::Default(default.clone());
        if !matches!(work, Work::Prepare(..)) {
            wanted.push(newest.clone());
        }
        if let Work::Prepare(predecessor, _) = work {
            wanted.push(Wanted::Pull(predecessor));
        }
        let heads = self.fetch(&wanted).await?;
        let branch = Branch { name: &pull.branch, head: heads.of(&wanted[0])?, default };
        let objects = self.objects();
        match work {
            Work::Prepare(pull, former_heads) => {
                let predecessor = Predecessor { pull, head: heads.of(&Wanted::Pull(pull))?, former_heads };
                objects.prepare_on(branch, predecessor).await
            }
            Work::Reconcile(squash) => objects.reconcile(branch, squash).await,
            Work::CatchUp => objects.catch_up(branch, heads.of(&newest)?).await,
            Work::UpdateRoot => objects.update_root(branch, heads.of(&newest)?).await,
        }
    }

    async fn try_validate(&self, claim: &Claim, default: &BranchName) -> Result<Result<Squash, NotSquash>, Error> {
        let wanted = [Wanted::Default(default.clone()), Wanted::Pull(claim.pull)];
        let heads = self.fetch(&wanted).await?;
        let landing = Landing {
            pull: claim.pull,
            merge_commit: claim.merge_commit.clone(),
            pull_head: heads.of(&wanted[1])?.clone(),
            pull_commits: claim.commits,
            default_head: heads.of(&wanted[0])?.clone(),
            known_before: claim.known_before.clone(),
        };
        self.objects().validate_squash(&landing).await
    }
}
