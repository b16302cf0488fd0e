//! Why a train ends before its time.

mod conflicts;
mod github;
mod moves;
mod own_change;
mod people;

pub use conflicts::{
    behind_conflict, catch_up_conflict, dirty, late_conflict, preparation_conflict, pushed_conflict,
    reconcile_conflict, rewritten_conflict,
};
pub use github::{
    cannot_prove, default_rewound, landed_elsewhere, merge_commit_unknown, merge_hooks, not_done, not_squashed,
    pull_ref_gone, push_refused, squash_refused, status_too_large, wrong_landed_parents, wrong_landed_tree,
};
pub use moves::{ManualBranchMove, ManualMerge};
pub use own_change::{differs, withdrawn};
pub use people::{
    Dismissal, base_changed, branch_gone, branch_modified, cycle, declaration_changed, declaration_deleted,
    grown_too_large, head_moved, merged_outside, not_prepared, review_dismissed, root_closed, still_behind,
};

use crate::markdown::{code_span, introduced};
use crate::repo::trains::TrainError;

/// The end of a train: what its record says of it, and the comment on the pull request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainEndText {
    error_type: &'static str,
    heading: &'static str,
    /// Plain text, for the record.
    message: String,
    /// The same for a comment: Markdown.
    told: String,
    details: Option<String>,
    next: Option<String>,
}

impl TrainEndText {
    /// With a message that is the same in Markdown: nothing in it comes from people.
    fn new(error_type: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { error_type, heading: "Merge train aborted", told: message.clone(), message, details: None, next: None }
    }

    fn headed(self, heading: &'static str) -> Self {
        Self { heading, ..self }
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

    /// With the reason that somebody found.
    pub fn because(self, reason: &str) -> Self {
        let before = self.details.as_ref().map(|details| format!("{details}\n\n")).unwrap_or_default();
        Self { details: Some(format!("{before}{}", introduced("Details:", reason))), ..self }
    }

    /// With the files that it is about.
    pub fn in_files(self, files: &[String]) -> Self {
        if files.is_empty() {
            return self;
        }
        let before = self.details.as_ref().map(|details| format!("{details}\n\n")).unwrap_or_default();
        let list: String = files.iter().map(|file| format!("\n- {}", code_span(file))).collect();
        Self { details: Some(format!("{before}The two differ in:\n{list}")), ..self }
    }

    /// What the record of the train keeps.
    pub fn error(&self) -> TrainError {
        TrainError { error_type: self.error_type.to_owned(), message: self.message.clone() }
    }

    /// What is posted on the pull request that failed.
    pub fn comment(&self) -> String {
        format!("**{}**\n\n{}", self.heading, self.told_alone())
    }

    /// The same where there is no train to abort.
    pub fn told_alone(&self) -> String {
        let mut comment = self.told.clone();
        if let Some(details) = &self.details {
            comment = format!("{comment}\n\n{details}");
        }
        match &self.next {
            Some(next) => super::advise(&comment, next),
            None => comment,
        }
    }
}
