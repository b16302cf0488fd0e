//! What comments declare: which pull request stands on which.

use super::event::{Event, WantReason};
use super::state::{CachedPr, RepoState};
use super::{Plan, reads};
use crate::command::{self, Command};
use crate::facts::{CommentChange, CommentFacts, PullFacts};
use crate::ids::{PrNumber, UserId};

/// A comment was created, edited or deleted.
pub(super) fn heard(state: &RepoState, change: CommentChange, comment: &CommentFacts, plan: &mut Plan) {
    match state.prs.get(&comment.pr) {
        Some(pr) => {
            plan.events.extend(declared(pr, change, comment));
            let says_stop = command::parse(&comment.body).is_some_and(|command| command.is_stop());
            if change == CommentChange::Created && says_stop && pr.author == Some(comment.author) {
                plan.cancels.extend(state.train_of(comment.pr));
            }
        }
        None => {
            // The command waits until it is known whom it is about, and who may give it.
            let waits = change != CommentChange::Deleted && predecessor(comment).is_some();
            if waits && state.sync.last.is_some() {
                reads::want_pull(comment.pr, WantReason::CacheMiss, Some(comment.clone()), plan);
            } else {
                super::delivery::miss(state, comment.pr, plan);
            }
        }
    }
}

/// A pull request has become known for which commands were waiting.
pub(super) fn awaited(state: &RepoState, pull: &PullFacts, plan: &mut Plan) {
    let Some(wanted) = state.wanted.get(&pull.number) else { return };
    if state.prs.get(&pull.number).is_some_and(|pr| pr.predecessor_comment.is_some()) {
        return;
    }
    let first = wanted.comments.iter().find_map(|comment| declaration(pull.number, Some(pull.author), comment));
    plan.events.extend(first);
}

/// All declarations of one pull request, read from GitHub, oldest first.
pub(super) fn surveyed(pr: Option<&CachedPr>, pull: &PullFacts, comments: &[&CommentFacts]) -> Option<Event> {
    let authoritative = pr.and_then(|pr| pr.predecessor_comment);
    match authoritative {
        Some(id) => match comments.iter().find(|comment| comment.id == id) {
            Some(comment) => declared(pr?, CommentChange::Edited, comment),
            None => Some(Event::PredecessorRemoved { pr: pull.number }),
        },
        None => comments.iter().find_map(|comment| declaration(pull.number, Some(pull.author), comment)),
    }
}

fn declared(pr: &CachedPr, change: CommentChange, comment: &CommentFacts) -> Option<Event> {
    let is_authoritative = pr.predecessor_comment == Some(comment.id);
    match change {
        CommentChange::Deleted => is_authoritative.then_some(Event::PredecessorRemoved { pr: comment.pr }),
        CommentChange::Edited if is_authoritative => match predecessor(comment) {
            None => Some(Event::PredecessorRemoved { pr: comment.pr }),
            Some(number) if Some(number) == pr.predecessor => None,
            Some(_) => declaration(comment.pr, pr.author, comment),
        },
        // The first declaration counts; a second one is refused, not silently preferred.
        CommentChange::Created | CommentChange::Edited if pr.predecessor_comment.is_none() => {
            declaration(comment.pr, pr.author, comment)
        }
        CommentChange::Created | CommentChange::Edited => None,
    }
}

/// Only the author of the pull request may say what it stands on.
fn declaration(pr: PrNumber, author: Option<UserId>, comment: &CommentFacts) -> Option<Event> {
    let predecessor = predecessor(comment)?;
    (author == Some(comment.author) && predecessor != pr).then_some(Event::PredecessorDeclared {
        pr,
        predecessor,
        comment: Some(comment.id),
    })
}

fn predecessor(comment: &CommentFacts) -> Option<PrNumber> {
    match command::parse(&comment.body) {
        Some(Command::Predecessor(number)) => Some(number),
        _ => None,
    }
}
