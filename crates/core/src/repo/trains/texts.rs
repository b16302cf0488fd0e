//! Every comment that the bot can post, apart from the status comment's own text and the refusal of merge methods.
//!
//! What the specification words is said in its words. Names and messages that come from people or servers stand in code;
//! whatever needs a person ends with what that person can do.

pub mod answer;
pub mod declare;
pub mod notice;
mod shell;
pub mod start;
#[cfg(test)]
mod tests;
pub mod train_end;

pub use train_end::TrainEndText;

use crate::ids::{BranchName, PrNumber};
use crate::markdown::code_span;

/// What happened, and what the reader can do about it.
fn advise(what: &str, next: &str) -> String {
    format!("{what}\n\n**What to do:** {next}")
}

/// `#1, #2, #3`
fn list(prs: &[PrNumber]) -> String {
    joined(prs, ", ")
}

fn joined(prs: &[PrNumber], separator: &str) -> String {
    prs.iter().map(|pr| format!("#{pr}")).collect::<Vec<_>>().join(separator)
}

/// The default branch within a sentence. As a bare word where it is one, as the specification writes it; whoever names the
/// default branch owns the repository.
fn trunk(branch: &BranchName) -> String {
    let name = branch.as_str();
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'/');
    if is_word { name.to_owned() } else { code_span(name) }
}

fn branch(name: &BranchName) -> String {
    code_span(name.as_str())
}
