//! What a pull request is made of: commits, files, requests for review.

use async_graphql::{Context, ID, Object, Union};

use super::PullRequest;
use crate::git::FileChange;
use crate::graphql::actor::{Bot, User};
use crate::graphql::commit::{Commit, sha_key};
use crate::graphql::connection::{Paging, Slice, connection};
use crate::graphql::enums::{FileViewedState, PatchStatus};
use crate::graphql::never::{Mannequin, Team};
use crate::graphql::scalars::{Uri, int};
use crate::graphql::{Ask, Result};
use crate::pulls;
use crate::world::{AccountKind, Id, NodeKind, named_node_id};

#[derive(Clone)]
pub struct PullRequestCommit {
    pull: PullRequest,
    commit: Commit,
}

impl PullRequestCommit {
    /// Oldest first. The last one alone, which is what most ask for, is the head, and git need not be asked.
    pub async fn page(ctx: &Context<'_>, pull: &PullRequest, paging: &Paging) -> Result<PullRequestCommitConnection> {
        let base = ctx.look(|world| pulls::base_commit(world, &pull.pull).clone());
        let ahead_by = pull.size(ctx).commits;
        let head = &pull.pull.head_sha;
        let make = |sha: String| Self { pull: pull.clone(), commit: Commit::new(&pull.repo, sha) };
        let key = |one: &Self| sha_key(&one.commit.sha);
        if paging.only_last() == Some(1) && ahead_by > 0 {
            let total = usize::try_from(ahead_by).unwrap_or(usize::MAX);
            return Ok(PullRequestCommitConnection(Slice::end(vec![make(head.clone())], total, key)));
        }
        let commits = ctx.sim().git(pull.repo.id).commits(&[head, &format!("^{base}")], None, 0).await?;
        let shas = commits.iter().rev().map(|commit| commit.sha.clone()).collect::<Vec<_>>();
        ctx.asked().remember(pull.repo.id, commits);
        let page = paging.of(shas.into_iter().map(make).collect(), key)?;
        Ok(PullRequestCommitConnection(page))
    }

    fn path(&self) -> String {
        format!("{}/commits/{}", self.pull.path(), self.commit.sha)
    }
}

#[Object]
impl PullRequestCommit {
    async fn commit(&self) -> &Commit {
        &self.commit
    }

    pub async fn id(&self) -> ID {
        let name = format!("{}:{}", self.pull.pull.number, self.commit.sha);
        ID(named_node_id(NodeKind::PullRequestCommit, self.pull.repo.id, &name))
    }

    async fn pull_request(&self) -> &PullRequest {
        &self.pull
    }

    async fn resource_path(&self) -> Uri {
        Uri(self.pull.repo.path(self.path()))
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.pull.repo.url_of(ctx, self.path())
    }
}

connection!(PullRequestCommitConnection, PullRequestCommitEdge, PullRequestCommit);

#[derive(Clone)]
pub struct PullRequestChangedFile(FileChange);

#[Object]
impl PullRequestChangedFile {
    async fn additions(&self) -> i32 {
        int(self.0.additions)
    }

    async fn change_type(&self) -> PatchStatus {
        self.0.status.into()
    }

    async fn deletions(&self) -> i32 {
        int(self.0.deletions)
    }

    async fn path(&self) -> &str {
        &self.0.path
    }

    async fn viewer_viewed_state(&self) -> FileViewedState {
        FileViewedState::Unviewed
    }
}

connection!(PullRequestChangedFileConnection, PullRequestChangedFileEdge, PullRequestChangedFile);

impl PullRequestChangedFileConnection {
    pub async fn page(ctx: &Context<'_>, pull: &PullRequest, paging: &Paging) -> Result<Self> {
        let from = ctx.look(|world| {
            let merge_base = pulls::facts(world, &pull.pull).and_then(|facts| facts.merge_base.clone());
            merge_base.unwrap_or_else(|| pulls::base_commit(world, &pull.pull).clone())
        });
        let files = ctx.sim().git(pull.repo.id).changed_files(Some(&from), &pull.pull.head_sha).await?;
        let numbered: Vec<(u64, FileChange)> = (0..).zip(files).collect();
        let page = paging.of(numbered, |(number, _)| *number)?;
        Ok(Self(page.filter_map(|(_, file)| Some(PullRequestChangedFile(file)))))
    }
}

#[derive(Clone)]
pub struct ReviewRequest {
    pull: PullRequest,
    reviewer: Id,
}

#[derive(Union)]
enum RequestedReviewer {
    Bot(Bot),
    Mannequin(Mannequin),
    Team(Team),
    User(User),
}

impl ReviewRequest {
    pub fn new(pull: &PullRequest, reviewer: Id) -> Self {
        Self { pull: pull.clone(), reviewer }
    }

    pub fn key(&self) -> u64 {
        self.reviewer
    }
}

#[Object]
impl ReviewRequest {
    async fn as_code_owner(&self) -> bool {
        false
    }

    pub async fn id(&self) -> ID {
        let name = format!("{}:{}", self.pull.pull.number, self.reviewer);
        ID(named_node_id(NodeKind::ReviewRequest, self.pull.repo.id, &name))
    }

    async fn pull_request(&self) -> &PullRequest {
        &self.pull
    }

    async fn requested_reviewer(&self, ctx: &Context<'_>) -> Option<RequestedReviewer> {
        let User(account) = ctx.look(|world| User::new(world, self.reviewer));
        Some(match account.kind {
            AccountKind::Bot => RequestedReviewer::Bot(Bot(account)),
            _ => RequestedReviewer::User(User(account)),
        })
    }
}

connection!(ReviewRequestConnection, ReviewRequestEdge, ReviewRequest);
