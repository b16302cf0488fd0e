//! Everything that has an id.

use std::sync::Arc;

use async_graphql::{Context, ID, Interface};

use super::actor::{Bot, Organization, User};
use super::check::{CheckRun, StatusCheckRollup};
use super::comment::IssueComment;
use super::commit::Commit;
use super::issue::{Issue, Label};
use super::never::{Mannequin, Milestone, Team};
use super::protection::BranchProtectionRule;
use super::pull::{PullRequest, PullRequestCommit, ReviewRequest};
use super::reaction::Reaction;
use super::repository::Repository;
use super::review::{PullRequestReview, PullRequestReviewComment, PullRequestReviewThread};
use super::status::{Status, StatusContext};
use super::suite::{App, CheckSuite, Workflow, WorkflowRun};
use super::tree::{Blob, GitObject, Ref, Tree};
use super::{Ask, Failure, Result};
use crate::http::Scope;
use crate::world::{AccountKind, Id, Key, NodeKind, World, decode_named_node_id, decode_node_id};

#[derive(Clone, Interface)]
#[graphql(field(name = "id", ty = "ID"))]
pub enum Node {
    App(App),
    Blob(Blob),
    Bot(Bot),
    BranchProtectionRule(BranchProtectionRule),
    CheckRun(CheckRun),
    CheckSuite(CheckSuite),
    Commit(Commit),
    Issue(Issue),
    IssueComment(IssueComment),
    Label(Label),
    Mannequin(Mannequin),
    Milestone(Milestone),
    Organization(Organization),
    PullRequest(PullRequest),
    PullRequestCommit(PullRequestCommit),
    PullRequestReview(PullRequestReview),
    PullRequestReviewComment(PullRequestReviewComment),
    PullRequestReviewThread(PullRequestReviewThread),
    Reaction(Reaction),
    Ref(Ref),
    Repository(Repository),
    ReviewRequest(ReviewRequest),
    Status(Status),
    StatusCheckRollup(StatusCheckRollup),
    StatusContext(StatusContext),
    Team(Team),
    Tree(Tree),
    User(User),
    Workflow(Workflow),
    WorkflowRun(WorkflowRun),
}

/// What a node id leads to, if the caller may see it.
pub async fn find(ctx: &Context<'_>, id: &ID) -> Result<Node> {
    let missing = || Failure::no_such_node(id);
    if let Some((kind, repo, name)) = decode_named_node_id(id).filter(|(kind, ..)| is_named(*kind)) {
        let repo = ctx.look(|world| Repository::seen(world, ctx.caller(), repo)).ok_or_else(missing)?;
        return find_named(ctx, &repo, kind, &name).await?.ok_or_else(missing);
    }
    let (kind, Key { scope, id: key }) = decode_node_id(id).ok_or_else(missing)?;
    if let Some(node) = ctx.look(|world| find_global(ctx, world, kind, key)) {
        return Ok(node);
    }
    let repo = ctx.look(|world| Repository::seen(world, ctx.caller(), scope)).ok_or_else(missing)?;
    if kind == NodeKind::PullRequest {
        let found = PullRequest::settled(ctx, &repo, &[key]).await?.pop();
        return found.map(Node::PullRequest).ok_or_else(missing);
    }
    if let Some(scope) = scope_of(kind) {
        repo.check(ctx, scope)?;
    }
    ctx.look(|world| find_in(ctx, world, &repo, kind, key)).ok_or_else(missing)
}

/// Kinds whose ids hold a name instead of a number.
fn is_named(kind: NodeKind) -> bool {
    use NodeKind::{BranchProtection, Commit, Ref, StatusCheckRollup, Tree};
    matches!(kind, Commit | Tree | NodeKind::Blob | Ref | BranchProtection | StatusCheckRollup)
}

async fn find_named(ctx: &Context<'_>, repo: &Repository, kind: NodeKind, name: &str) -> Result<Option<Node>> {
    Ok(match kind {
        NodeKind::Ref => Ref::find(ctx, repo, name).map(Node::Ref),
        NodeKind::BranchProtection => {
            repo.check(ctx, Scope::Administration)?;
            BranchProtectionRule::of_pattern(repo, name).map(Node::BranchProtectionRule)
        }
        NodeKind::StatusCheckRollup => {
            StatusCheckRollup::of(ctx, &Commit::new(repo, name))?.map(Node::StatusCheckRollup)
        }
        _ => GitObject::by_oid(ctx, repo, name).await?.map(|object| match object {
            GitObject::Commit(commit) => Node::Commit(commit),
            GitObject::Tree(tree) => Node::Tree(tree),
            GitObject::Blob(blob) => Node::Blob(blob),
        }),
    })
}

/// What stands outside of repositories, and repositories.
fn find_global(ctx: &Context<'_>, world: &World, kind: NodeKind, key: Id) -> Option<Node> {
    match kind {
        NodeKind::User | NodeKind::Bot | NodeKind::Organization => {
            let account = Arc::new(world.accounts.get(0, key)?.clone());
            Some(match account.kind {
                AccountKind::User => Node::User(User(account)),
                AccountKind::Bot => Node::Bot(Bot(account)),
                AccountKind::Organization => Node::Organization(Organization(account)),
            })
        }
        NodeKind::App => App::find(world, key).map(Node::App),
        NodeKind::Repository => Repository::seen(world, ctx.caller(), key).map(Node::Repository),
        _ => None,
    }
}

/// The permission that an app needs to see it.
fn scope_of(kind: NodeKind) -> Option<Scope> {
    match kind {
        NodeKind::Issue => Some(Scope::Issues),
        NodeKind::Review | NodeKind::ReviewComment | NodeKind::ReviewThread => Some(Scope::PullRequests),
        NodeKind::CheckRun | NodeKind::CheckSuite => Some(Scope::Checks),
        NodeKind::StatusContext => Some(Scope::Statuses),
        NodeKind::WorkflowRun => Some(Scope::Actions),
        _ => None,
    }
}

fn find_in(ctx: &Context<'_>, world: &World, repo: &Repository, kind: NodeKind, key: Id) -> Option<Node> {
    match kind {
        NodeKind::Issue => Issue::load(world, repo, key).map(Node::Issue),
        NodeKind::Label => world.labels.get(repo.id, key).map(|label| Node::Label(Label::new(repo, label))),
        NodeKind::IssueComment => IssueComment::load(world, repo, key).map(Node::IssueComment),
        NodeKind::Reaction => {
            world.reactions.get(repo.id, key).map(|reaction| Node::Reaction(Reaction::new(repo, reaction)))
        }
        NodeKind::Review => PullRequestReview::load(world, ctx.caller(), repo, key).map(Node::PullRequestReview),
        NodeKind::ReviewComment => {
            PullRequestReviewComment::seen(world, ctx.caller(), repo, key).map(Node::PullRequestReviewComment)
        }
        NodeKind::ReviewThread => {
            PullRequestReviewThread::load(world, ctx.caller(), repo, key).map(Node::PullRequestReviewThread)
        }
        NodeKind::CheckRun => world.check_runs.get(repo.id, key).map(|run| Node::CheckRun(CheckRun::new(repo, run))),
        NodeKind::CheckSuite => CheckSuite::find(world, repo, key).map(Node::CheckSuite),
        NodeKind::StatusContext => {
            world.statuses.get(repo.id, key).map(|status| Node::StatusContext(StatusContext::new(repo, status)))
        }
        NodeKind::WorkflowRun => WorkflowRun::find(world, repo, key).map(Node::WorkflowRun),
        _ => None,
    }
}
