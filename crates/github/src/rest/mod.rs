//! What can be asked and done by REST, by subject.

mod checks;
mod comments;
mod contents;
mod git;
mod logs;
mod merges;
mod people;
mod policy;
mod pulls;
mod reach;
mod reactions;
mod repository;
mod reviews;
mod survey;

pub use checks::{
    Annotation, CheckApp, CheckOutput, CheckReport, CheckRun, CheckSuite, CombinedStatus, Conclusion, Remark, Status,
    SuiteOf,
};
pub use contents::{Content, FileAt};
pub use git::Commit;
pub use logs::LogTail;
pub use merges::{MergeOutcome, MergeProgress, MergeTicket, SquashMerge};
pub use policy::{BranchProtection, BranchRule, Enforcement, RequiredChecks, RequiredReviews, Ruleset, Switch};
pub use pulls::{NativeStack, Pull};
pub use reach::Reachable;
pub use reactions::{GivenReaction, Reaction};
pub use repository::RepoSettings;
pub use reviews::{Review, ReviewComment};
