//! Refs, trees and blobs, and whatever a revision names.

use async_graphql::{Context, ID, Interface, Object};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::commit::Commit;
use super::connection::{Paging, connection};
use super::enums::{IssueOrder, PullRequestState};
use super::protection::BranchProtectionRule;
use super::pull::{PullFilter, PullRequestConnection};
use super::repository::Repository;
use super::scalars::{Base64, Oid, Uri, int};
use super::{Ask, Result};
use crate::git;
use crate::world::{NodeKind, named_node_id};

#[derive(Clone, Interface)]
#[graphql(
    field(name = "abbreviated_oid", ty = "String"),
    field(name = "commit_resource_path", ty = "Uri"),
    field(name = "commit_url", ty = "Uri"),
    field(name = "id", ty = "ID"),
    field(name = "oid", ty = "Oid"),
    field(name = "repository", ty = "&Repository")
)]
pub enum GitObject {
    Commit(Commit),
    Tree(Tree),
    Blob(Blob),
}

impl GitObject {
    /// The object of this name, if it is there. An annotated tag stands for what it names.
    pub async fn by_oid(ctx: &Context<'_>, repo: &Repository, oid: &str) -> Result<Option<Self>> {
        let git = ctx.sim().git(repo.id);
        Ok(match git.object_kind(oid).await?.as_deref() {
            Some("commit") => Some(Self::Commit(Commit::new(repo, oid))),
            Some("tree") => Some(Self::Tree(Tree::new(repo, oid.to_owned()))),
            Some("blob") => Some(Self::Blob(Blob { repo: repo.clone(), oid: oid.to_owned() })),
            Some("tag") => git.resolve(oid).await?.map(|sha| Self::Commit(Commit::new(repo, sha))),
            _ => None,
        })
    }

    /// What an expression names: `main`, `main:path`, `main^{tree}`, a SHA.
    pub async fn by_expression(ctx: &Context<'_>, repo: &Repository, expression: &str) -> Result<Option<Self>> {
        let git = ctx.sim().git(repo.id);
        let (revision, path) = match expression.split_once(':') {
            Some((revision, path)) => (revision, Some(path.trim_matches('/'))),
            None => (expression, None),
        };
        let (revision, path) = match revision.strip_suffix("^{tree}") {
            Some(revision) if path.is_none() => (revision, Some("")),
            _ => (revision.trim_end_matches("^{commit}"), path),
        };
        let revision = revision.trim_start_matches("refs/heads/");
        let Some(sha) = git.resolve(revision).await? else {
            return if path.is_none() { Self::by_oid(ctx, repo, expression).await } else { Ok(None) };
        };
        match path {
            None => Ok(Some(Self::Commit(Commit::new(repo, sha)))),
            Some("") => Ok(Some(Self::Tree(Tree::new(repo, Commit::new(repo, sha).object(ctx).await?.tree.clone())))),
            Some(path) => match entry_at(ctx, repo, &sha, path).await? {
                Some(entry) => Self::by_oid(ctx, repo, &entry.entry.sha).await,
                None => Ok(None),
            },
        }
    }
}

#[derive(Clone)]
pub struct Ref {
    repo: Repository,
    full_name: String,
    sha: String,
}

impl Ref {
    /// None if there is no such ref. `main` and `heads/main` mean `refs/heads/main`.
    pub fn find(ctx: &Context<'_>, repo: &Repository, name: &str) -> Option<Self> {
        ctx.look(|world| {
            let refs = &world.refs(repo.id).refs;
            let candidates =
                [name.to_owned(), format!("refs/{name}"), format!("refs/heads/{name}"), format!("refs/tags/{name}")];
            let (full_name, sha) = candidates.iter().find_map(|candidate| refs.get_key_value(candidate))?;
            Some(Self { repo: repo.clone(), full_name: full_name.clone(), sha: sha.clone() })
        })
    }

    pub fn branch(ctx: &Context<'_>, repo: &Repository, branch: &str) -> Option<Self> {
        Self::find(ctx, repo, &format!("refs/heads/{branch}"))
    }

    pub fn all(ctx: &Context<'_>, repo: &Repository, prefix: &str, query: &str) -> Vec<Self> {
        let query = query.to_lowercase();
        ctx.look(|world| {
            let named =
                world.refs(repo.id).refs.iter().filter(|(name, _)| {
                    name.strip_prefix(prefix).is_some_and(|rest| rest.to_lowercase().contains(&query))
                });
            named.map(|(name, sha)| Self { repo: repo.clone(), full_name: name.clone(), sha: sha.clone() }).collect()
        })
    }

    pub fn short_name(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        let start = ["refs/heads/", "refs/tags/"].into_iter().find(|prefix| self.full_name.starts_with(prefix));
        self.full_name.split_at(start.map_or(0, str::len))
    }

    /// For cursors.
    pub fn key(&self) -> u64 {
        self.full_name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }
}

#[Object]
impl Ref {
    async fn associated_pull_requests(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        base_ref_name: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        head_ref_name: Option<String>,
        labels: Option<Vec<String>>,
        last: Option<i32>,
        order_by: Option<IssueOrder>,
        states: Option<Vec<PullRequestState>>,
    ) -> Result<PullRequestConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let filter = PullFilter { base_ref_name, head_ref_name, labels, states, order_by };
        let from_here = |pull: &crate::world::Pull| {
            pull.head_repo == Some(self.repo.id) && self.full_name.strip_prefix("refs/heads/") == Some(&pull.head_ref)
        };
        filter.page(ctx, &self.repo, &paging, |pull| from_here(&pull.pull)).await
    }

    async fn branch_protection_rule(&self) -> Option<BranchProtectionRule> {
        BranchProtectionRule::of_branch(&self.repo, self.full_name.strip_prefix("refs/heads/")?)
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::Ref, self.repo.id, &self.full_name))
    }

    async fn name(&self) -> &str {
        self.short_name()
    }

    async fn prefix(&self) -> &str {
        self.parts().0
    }

    async fn repository(&self) -> &Repository {
        &self.repo
    }

    async fn target(&self, ctx: &Context<'_>) -> Result<Option<GitObject>> {
        if self.full_name.starts_with("refs/heads/") {
            return Ok(Some(GitObject::Commit(Commit::new(&self.repo, &self.sha))));
        }
        GitObject::by_oid(ctx, &self.repo, &self.sha).await
    }
}

connection!(RefConnection, RefEdge, Ref);

#[derive(Clone)]
pub struct Tree {
    repo: Repository,
    oid: String,
}

impl Tree {
    pub fn new(repo: &Repository, oid: String) -> Self {
        Self { repo: repo.clone(), oid }
    }
}

#[Object]
impl Tree {
    pub async fn abbreviated_oid(&self) -> String {
        self.oid.chars().take(7).collect()
    }

    pub async fn commit_resource_path(&self) -> Uri {
        Uri(self.repo.path(format!("/commit/{}", self.oid)))
    }

    pub async fn commit_url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, format!("/commit/{}", self.oid))
    }

    async fn entries(&self, ctx: &Context<'_>) -> Result<Option<Vec<TreeEntry>>> {
        let entries = ctx.sim().git(self.repo.id).tree(&self.oid, None, false).await?;
        Ok(Some(entries.into_iter().map(|entry| TreeEntry { repo: self.repo.clone(), entry }).collect()))
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::Tree, self.repo.id, &self.oid))
    }

    pub async fn oid(&self) -> Oid {
        Oid(self.oid.clone())
    }

    pub async fn repository(&self) -> &Repository {
        &self.repo
    }
}

#[derive(Clone)]
pub struct TreeEntry {
    repo: Repository,
    entry: git::TreeEntry,
}

/// The file or folder at a path of a commit.
pub async fn entry_at(ctx: &Context<'_>, repo: &Repository, commit: &str, path: &str) -> Result<Option<TreeEntry>> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(None);
    }
    let found = ctx.sim().git(repo.id).tree(commit, Some(path), false).await?;
    Ok(found.into_iter().find(|entry| entry.path == path).map(|entry| TreeEntry { repo: repo.clone(), entry }))
}

#[Object]
impl TreeEntry {
    async fn extension(&self) -> Option<String> {
        let name = self.entry.path.rsplit('/').next()?;
        Some(name.rsplit_once('.').map(|(_, extension)| format!(".{extension}")).unwrap_or_default())
    }

    async fn is_generated(&self) -> bool {
        false
    }

    async fn mode(&self) -> i32 {
        i32::from_str_radix(&self.entry.mode, 8).unwrap_or_default()
    }

    async fn name(&self) -> &str {
        self.entry.path.rsplit('/').next().unwrap_or_default()
    }

    async fn object(&self, ctx: &Context<'_>) -> Result<Option<GitObject>> {
        GitObject::by_oid(ctx, &self.repo, &self.entry.sha).await
    }

    async fn oid(&self) -> Oid {
        Oid(self.entry.sha.clone())
    }

    async fn path(&self) -> Option<&str> {
        Some(&self.entry.path)
    }

    async fn path_raw(&self) -> Option<Base64> {
        Some(Base64(STANDARD.encode(&self.entry.path)))
    }

    async fn repository(&self) -> &Repository {
        &self.repo
    }

    async fn size(&self) -> i32 {
        int(self.entry.size.unwrap_or_default())
    }

    #[graphql(name = "type")]
    async fn kind(&self) -> &str {
        &self.entry.kind
    }
}

#[derive(Clone)]
pub struct Blob {
    repo: Repository,
    oid: String,
}

impl Blob {
    async fn content(&self, ctx: &Context<'_>) -> Result<Vec<u8>> {
        Ok(ctx.sim().git(self.repo.id).blob(&self.oid).await?)
    }
}

#[Object]
impl Blob {
    pub async fn abbreviated_oid(&self) -> String {
        self.oid.chars().take(7).collect()
    }

    async fn byte_size(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(self.content(ctx).await?.len()))
    }

    pub async fn commit_resource_path(&self) -> Uri {
        Uri(self.repo.path(format!("/commit/{}", self.oid)))
    }

    pub async fn commit_url(&self, ctx: &Context<'_>) -> Uri {
        self.repo.url_of(ctx, format!("/commit/{}", self.oid))
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::Blob, self.repo.id, &self.oid))
    }

    async fn is_binary(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        Ok(Some(String::from_utf8(self.content(ctx).await?).is_err()))
    }

    async fn is_truncated(&self) -> bool {
        false
    }

    pub async fn oid(&self) -> Oid {
        Oid(self.oid.clone())
    }

    pub async fn repository(&self) -> &Repository {
        &self.repo
    }

    /// Null for what is not text.
    async fn text(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(String::from_utf8(self.content(ctx).await?).ok())
    }
}
