//! Commits and who wrote them.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object};

use super::actor::User;
use super::check::StatusCheckRollup;
use super::connection::{Paging, connection};
use super::enums::{PullRequestOrder, PullRequestOrderField};
use super::pull::{PullFilter, PullRequestConnection};
use super::repository::Repository;
use super::scalars::{DateTime, GitTimestamp, Html, Oid, Uri, int};
use super::status::Status;
use super::suite::{CheckSuiteConnection, suites_of};
use super::tree::{Tree, TreeEntry, entry_at};
use super::{Ask, Failure, Result, text};
use crate::git::{CommitObject, Signature};
use crate::http::Scope;
use crate::people;
use crate::world::{NodeKind, named_node_id};

/// A commit; git is asked for it when something of it is wanted that its name does not tell.
#[derive(Clone)]
pub struct Commit {
    pub repo: Repository,
    pub sha: String,
}

impl Commit {
    pub fn new(repo: &Repository, sha: impl Into<String>) -> Self {
        Self { repo: repo.clone(), sha: sha.into() }
    }

    pub async fn object(&self, ctx: &Context<'_>) -> Result<Arc<CommitObject>> {
        let known = &ctx.asked().commits;
        let key = (self.repo.id, self.sha.clone());
        if let Some(commit) = known.lock().get(&key) {
            return Ok(Arc::clone(commit));
        }
        let found = ctx.sim().git(self.repo.id).commit(&self.sha).await?;
        let found =
            Arc::new(found.ok_or_else(|| Failure::not_found(format!("No commit found for SHA: {}", self.sha)))?);
        known.lock().insert(key, Arc::clone(&found));
        Ok(found)
    }

    fn path(&self) -> String {
        format!("/commit/{}", self.sha)
    }

    /// For cursors.
    pub fn key(&self) -> u64 {
        sha_key(&self.sha)
    }

    async fn totals(&self, ctx: &Context<'_>) -> Result<(u64, u64, u64)> {
        let object = self.object(ctx).await?;
        let git = ctx.sim().git(self.repo.id);
        let parent = object.parents.first();
        let files = git.changed_files(parent.map(String::as_str), &self.sha).await?;
        Ok(files
            .iter()
            .fold((0, 0, 0), |(n, plus, minus), file| (n + 1, plus + file.additions, minus + file.deletions)))
    }
}

/// The first sixteen digits, which tell commits apart well enough for a cursor.
pub fn sha_key(sha: &str) -> u64 {
    sha.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

#[Object]
impl Commit {
    pub async fn abbreviated_oid(&self) -> String {
        self.sha.chars().take(7).collect()
    }

    async fn additions(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(self.totals(ctx).await?.1))
    }

    async fn associated_pull_requests(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        #[graphql(default_with = "Some(PullRequestOrder::AS_CREATED)")] order_by: Option<PullRequestOrder>,
    ) -> Result<Option<PullRequestConnection>> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let filter = PullFilter { order_by: order_by.map(Into::into), ..PullFilter::default() };
        let about = |pull: &crate::world::Pull| {
            pull.head_sha == self.sha || pull.merged.as_ref().is_some_and(|merged| merged.sha == self.sha)
        };
        filter.page(ctx, &self.repo, &paging, |pull| about(&pull.pull)).await.map(Some)
    }

    async fn author(&self, ctx: &Context<'_>) -> Result<Option<GitActor>> {
        Ok(Some(GitActor(self.object(ctx).await?.author.clone())))
    }

    async fn authored_by_committer(&self, ctx: &Context<'_>) -> Result<bool> {
        let object = self.object(ctx).await?;
        Ok(object.author.email == object.committer.email)
    }

    async fn authored_date(&self, ctx: &Context<'_>) -> Result<DateTime> {
        Ok(date(&self.object(ctx).await?.author))
    }

    /// The author, and those the message names as co-authors.
    async fn authors(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<GitActorConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let object = self.object(ctx).await?;
        let mut authors = vec![object.author.clone()];
        for line in object.message.lines() {
            let Some((name, email)) = co_author(line) else { continue };
            if !authors.iter().any(|known| known.email == email) {
                authors.push(Signature { name: name.into(), email: email.into(), ..object.author.clone() });
            }
        }
        let numbered: Vec<(u64, GitActor)> = (0..).zip(authors.into_iter().map(GitActor)).collect();
        let page = paging.of(numbered, |(number, _)| *number)?;
        Ok(GitActorConnection(page.filter_map(|(_, actor)| Some(actor))))
    }

    async fn changed_files_if_available(&self, ctx: &Context<'_>) -> Result<Option<i32>> {
        Ok(Some(int(self.totals(ctx).await?.0)))
    }

    async fn check_suites(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        filter_by: Option<CheckSuiteFilter>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<Option<CheckSuiteConnection>> {
        self.repo.check(ctx, Scope::Checks)?;
        let paging = Paging::new(ctx, after, before, first, last)?;
        suites_of(ctx, &paging, self, filter_by.as_ref()).map(Some)
    }

    pub async fn commit_resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    pub async fn commit_url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }

    async fn committed_date(&self, ctx: &Context<'_>) -> Result<DateTime> {
        Ok(date(&self.object(ctx).await?.committer))
    }

    async fn committed_via_web(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.object(ctx).await?.committer.email == people::GITHUB_EMAIL)
    }

    async fn committer(&self, ctx: &Context<'_>) -> Result<Option<GitActor>> {
        Ok(Some(GitActor(self.object(ctx).await?.committer.clone())))
    }

    async fn deletions(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(self.totals(ctx).await?.2))
    }

    async fn file(&self, ctx: &Context<'_>, path: String) -> Result<Option<TreeEntry>> {
        entry_at(ctx, &self.repo, &self.sha, &path).await
    }

    async fn history(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        path: Option<String>,
    ) -> Result<CommitHistoryConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let shas = ctx.sim().git(self.repo.id).history(&self.sha, path.as_deref()).await?;
        let page = paging.of(shas, |sha| sha_key(sha))?;
        Ok(CommitHistoryConnection(page.filter_map(|sha| Some(Self::new(&self.repo, sha)))))
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::Commit, self.repo.id, &self.sha))
    }

    async fn message(&self, ctx: &Context<'_>) -> Result<String> {
        Ok(self.object(ctx).await?.message.clone())
    }

    async fn message_body(&self, ctx: &Context<'_>) -> Result<String> {
        Ok(self.object(ctx).await?.body().to_owned())
    }

    #[graphql(name = "messageBodyHTML")]
    async fn message_body_html(&self, ctx: &Context<'_>) -> Result<Html> {
        Ok(text::escaped(self.object(ctx).await?.body()))
    }

    async fn message_headline(&self, ctx: &Context<'_>) -> Result<String> {
        Ok(self.object(ctx).await?.title().to_owned())
    }

    #[graphql(name = "messageHeadlineHTML")]
    async fn message_headline_html(&self, ctx: &Context<'_>) -> Result<Html> {
        Ok(text::escaped(self.object(ctx).await?.title()))
    }

    pub async fn oid(&self) -> Oid {
        Oid(self.sha.clone())
    }

    async fn parents(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
    ) -> Result<CommitConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let parents = self.object(ctx).await?.parents.iter().map(|sha| Self::new(&self.repo, sha)).collect();
        Ok(CommitConnection(paging.of(parents, Self::key)?))
    }

    pub async fn repository(&self) -> &Repository {
        &self.repo
    }

    async fn resource_path(&self) -> Uri {
        Uri(self.repo.path(self.path()))
    }

    /// Null where there are no statuses; check runs are not part of it.
    async fn status(&self, ctx: &Context<'_>) -> Result<Option<Status>> {
        self.repo.check(ctx, Scope::Statuses)?;
        Ok(Status::of(ctx, self))
    }

    async fn status_check_rollup(&self, ctx: &Context<'_>) -> Result<Option<StatusCheckRollup>> {
        StatusCheckRollup::of(ctx, self)
    }

    async fn tree(&self, ctx: &Context<'_>) -> Result<Tree> {
        Ok(Tree::new(&self.repo, self.object(ctx).await?.tree.clone()))
    }

    async fn tree_resource_path(&self) -> Uri {
        Uri(self.repo.path(format!("/tree/{}", self.sha)))
    }

    async fn tree_url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, format!("/tree/{}", self.sha))
    }

    async fn url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, self.path())
    }
}

connection!(CommitConnection, CommitEdge, Commit);
connection!(CommitHistoryConnection of CommitEdge, Commit);

#[derive(InputObject)]
pub struct CheckSuiteFilter {
    pub app_id: Option<i32>,
    pub check_name: Option<String>,
}

impl PullRequestOrder {
    pub const AS_CREATED: Self =
        Self { direction: super::enums::OrderDirection::Asc, field: PullRequestOrderField::CreatedAt };
}

fn date(signature: &Signature) -> DateTime {
    DateTime(jiff::Timestamp::from_second(signature.seconds).unwrap_or_default())
}

fn co_author(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let (name, rest) = value.split_once('<').filter(|_| key.trim().eq_ignore_ascii_case("co-authored-by"))?;
    Some((name.trim(), rest.split_once('>')?.0))
}

#[derive(Clone)]
pub struct GitActor(pub Signature);

#[Object]
impl GitActor {
    async fn avatar_url(&self, ctx: &Context<'_>, size: Option<i32>) -> Uri {
        let _ = size;
        let known = ctx.look(|world| people::account_by_email(world, &self.0.email).map(|account| account.id));
        Uri(ctx.sim().urls().web(format!("/avatars/u/{}?v=4", known.unwrap_or_default())))
    }

    async fn date(&self) -> Option<GitTimestamp> {
        Some((&self.0).into())
    }

    async fn email(&self) -> Option<&str> {
        Some(&self.0.email)
    }

    async fn name(&self) -> Option<&str> {
        Some(&self.0.name)
    }

    async fn user(&self, ctx: &Context<'_>) -> Option<User> {
        ctx.look(|world| people::account_by_email(world, &self.0.email).map(|account| User::new(world, account.id)))
    }
}

connection!(GitActorConnection, GitActorEdge, GitActor);
