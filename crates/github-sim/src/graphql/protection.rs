//! Branch protection.

use async_graphql::{Context, ID, Object, SimpleObject};

use super::connection::{Paging, connection};
use super::repository::Repository;
use super::scalars::int;
use super::suite::App;
use super::tree::{Ref, RefConnection};
use super::{Ask, Result};
use crate::policy::fnmatch;
use crate::world::{NodeKind, Protection, RequiredReviews, RequiredStatusChecks, named_node_id};

#[derive(Clone)]
pub struct BranchProtectionRule {
    repo: Repository,
    pattern: String,
    protection: Protection,
}

impl BranchProtectionRule {
    pub fn all(repo: &Repository) -> Vec<Self> {
        let rules = repo.protections.iter();
        rules
            .map(|(pattern, protection)| Self {
                repo: repo.clone(),
                pattern: pattern.clone(),
                protection: protection.clone(),
            })
            .collect()
    }

    pub fn of_pattern(repo: &Repository, pattern: &str) -> Option<Self> {
        Self::all(repo).into_iter().find(|rule| rule.pattern == pattern)
    }

    pub fn of_branch(repo: &Repository, branch: &str) -> Option<Self> {
        let mut rules = Self::all(repo);
        let at = rules
            .iter()
            .position(|rule| rule.pattern == branch)
            .or_else(|| rules.iter().position(|rule| fnmatch(&rule.pattern, branch)))?;
        Some(rules.swap_remove(at))
    }

    fn checks(&self) -> Option<&RequiredStatusChecks> {
        self.protection.required_status_checks.as_ref()
    }

    fn reviews(&self) -> Option<&RequiredReviews> {
        self.protection.required_reviews.as_ref()
    }
}

#[Object]
impl BranchProtectionRule {
    async fn allows_deletions(&self) -> bool {
        self.protection.allow_deletions
    }

    async fn allows_force_pushes(&self) -> bool {
        self.protection.allow_force_pushes
    }

    async fn blocks_creations(&self) -> bool {
        self.protection.block_creations
    }

    async fn dismisses_stale_reviews(&self) -> bool {
        self.reviews().is_some_and(|reviews| reviews.dismiss_stale_reviews)
    }

    pub async fn id(&self) -> ID {
        ID(named_node_id(NodeKind::BranchProtection, self.repo.id, &self.pattern))
    }

    async fn is_admin_enforced(&self) -> bool {
        self.protection.enforce_admins
    }

    async fn lock_allows_fetch_and_merge(&self) -> bool {
        self.protection.allow_fork_syncing
    }

    async fn lock_branch(&self) -> bool {
        self.protection.lock_branch
    }

    async fn matching_refs(
        &self,
        ctx: &Context<'_>,
        after: Option<String>,
        before: Option<String>,
        first: Option<i32>,
        last: Option<i32>,
        query: Option<String>,
    ) -> Result<RefConnection> {
        let paging = Paging::new(ctx, after, before, first, last)?;
        let mut refs = Ref::all(ctx, &self.repo, "refs/heads/", query.as_deref().unwrap_or_default());
        refs.retain(|one| fnmatch(&self.pattern, one.short_name()));
        Ok(RefConnection(paging.of(refs, Ref::key)?))
    }

    async fn pattern(&self) -> &str {
        &self.pattern
    }

    pub async fn repository(&self) -> Option<&Repository> {
        Some(&self.repo)
    }

    async fn require_last_push_approval(&self) -> bool {
        self.reviews().is_some_and(|reviews| reviews.require_last_push_approval)
    }

    async fn required_approving_review_count(&self) -> Option<i32> {
        self.reviews().map(|reviews| int(reviews.required_approving_review_count))
    }

    async fn required_status_check_contexts(&self) -> Option<Vec<Option<&str>>> {
        let checks = self.checks()?;
        Some(checks.checks.iter().map(|check| Some(check.context.as_str())).collect())
    }

    async fn required_status_checks(&self, ctx: &Context<'_>) -> Option<Vec<RequiredStatusCheckDescription>> {
        let checks = self.checks()?;
        let describe = |check: &crate::world::RequiredCheck| RequiredStatusCheckDescription {
            app: check.app_id.and_then(|id| ctx.look(|world| App::find(world, id))),
            context: check.context.clone(),
        };
        Some(checks.checks.iter().map(describe).collect())
    }

    async fn requires_approving_reviews(&self) -> bool {
        self.reviews().is_some()
    }

    async fn requires_code_owner_reviews(&self) -> bool {
        self.reviews().is_some_and(|reviews| reviews.require_code_owner_reviews)
    }

    async fn requires_commit_signatures(&self) -> bool {
        self.protection.required_signatures
    }

    async fn requires_conversation_resolution(&self) -> bool {
        self.protection.required_conversation_resolution
    }

    async fn requires_linear_history(&self) -> bool {
        self.protection.required_linear_history
    }

    async fn requires_status_checks(&self) -> bool {
        self.checks().is_some()
    }

    async fn requires_strict_status_checks(&self) -> bool {
        self.checks().is_some_and(|checks| checks.strict)
    }

    async fn restricts_pushes(&self) -> bool {
        self.protection.restrictions.is_some()
    }
}

#[derive(SimpleObject)]
struct RequiredStatusCheckDescription {
    app: Option<App>,
    context: String,
}

connection!(BranchProtectionRuleConnection, BranchProtectionRuleEdge, BranchProtectionRule);
