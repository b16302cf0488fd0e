//! Why a train ends before its time.

mod conflicts;
mod github;
mod people;

pub use conflicts::{
    behind_conflict, catch_up_conflict, dirty, preparation_conflict, pushed_conflict, reconcile_conflict,
};
pub use github::{
    merge_commit_unknown, merge_hooks, push_refused, squash_refused, status_too_large, wrong_landed_parents,
    wrong_landed_tree,
};
pub use people::{
    Dismissal, base_changed, branch_modified, cycle, declaration_changed, declaration_deleted, grown_too_large,
    head_moved, merged_outside, not_prepared, review_dismissed, root_closed, still_behind,
};

use crate::train::TrainError;

/// The end of a train: what its record says of it, and the comment on the pull request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    error_type: &'static str,
    /// Plain text, for the record.
    message: String,
    /// The same for a comment: Markdown.
    told: String,
    details: Option<String>,
    next: Option<String>,
}

impl Halt {
    /// With a message that is the same in Markdown: nothing in it comes from people.
    fn new(error_type: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { error_type, told: message.clone(), message, details: None, next: None }
    }

    fn told(self, told: String) -> Self {
        Self { told, ..self }
    }

    fn details(self, details: String) -> Self {
        Self { details: Some(details), ..self }
    }

    fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// What the record of the train keeps.
    pub fn error(&self) -> TrainError {
        TrainError { error_type: self.error_type.to_owned(), message: self.message.clone() }
    }

    /// What is posted on the pull request that failed.
    pub fn comment(&self) -> String {
        let mut comment = format!("**Merge train aborted**\n\n{}", self.told);
        if let Some(details) = &self.details {
            comment = format!("{comment}\n\n{details}");
        }
        match &self.next {
            Some(next) => super::advise(&comment, next),
            None => comment,
        }
    }
}
