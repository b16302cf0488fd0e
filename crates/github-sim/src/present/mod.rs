//! How things look from outside: the JSON of GitHub's REST API. Webhooks build on the same pieces.

mod action;
mod app;
mod branch;
mod check;
mod commit;
mod hook;
mod issue;
mod protection;
mod pull;
mod repo;
mod review;
mod stack;
mod timeline;
mod user;

pub use action::{WORKFLOW_PATH, job, workflow, workflow_run};
pub use app::{app, installation};
pub use branch::{branch, git_ref, short_branch};
pub use check::{
    annotation, check_run, check_suite, combined_commit_status, latest_statuses, status, with_head_commit,
};
pub use commit::{commit, commit_with_files, diff_entry, git_commit, git_user, simple_commit, unsigned};
pub use hook::{delivery, delivery_item, hook, webhook_config};
pub use issue::{author_association, issue, issue_comment, label, labels_of, reaction};
pub use protection::{
    enforce_admins, listed_ruleset, protection, required_reviews, required_signatures, required_status_checks,
    restrictions, ruleset,
};
pub use pull::{pull, simple_pull};
pub use repo::{full_repo, listed_repo, merge_settings, minimal_repo, permissions, repo};
pub use review::{review, review_comment};
pub use stack::{minimal_stack, stack};
pub use timeline::{issue_event, issue_event_with_issue, timeline};
pub use user::{merge, organization, public_user, simple_user};
