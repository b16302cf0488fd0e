//! What comments declare: which pull request stands on which.

use jiff::Timestamp;

use super::Event;
use super::membership::{self, Refusal, Verdict};
use super::reads;
use crate::facts::{CommentChange, CommentFacts, ConversationFacts, HeadRepo};
use crate::ids::{DeliveryId, PrNumber};
use crate::repo::commands::{self, AddressedLine, Command, CommandVerb, StoredCommand};
use crate::repo::event::{CommandOutcome, CommentRef, FetchReason};
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::trains::texts::{answer, declare};
use crate::repo::transaction::Transaction;
use crate::repo::{Event as RepoEvent, NoteContent, outbox};

/// A comment was created, edited or deleted.
pub(in crate::repo) fn heard(
    transaction: &mut Transaction<'_>,
    change: CommentChange,
    comment: &CommentFacts,
    delivery: Option<&DeliveryId>,
) {
    let state = transaction.before;
    if is_ours(state, comment) {
        return;
    }
    let mut waiting = state.wanted.values().flat_map(|wanted| &wanted.comments);
    if change != CommentChange::Created && waiting.any(|waiting| waiting.id == comment.id) {
        transaction.record(Event::CommentSuperseded { comment: CommentRef { pr: comment.pr, id: comment.id } });
    }
    match state.prs.get(&comment.pr) {
        // The bot cannot push there, and has nothing to say.
        Some(pr) if pr.head_repo == HeadRepo::Fork => {}
        Some(pr) => {
            declared(transaction, pr, change, comment);
            if change == CommentChange::Created {
                asked(transaction, comment, delivery);
            }
        }
        None => {
            // The command waits until it is known whom it is about, and who may give it.
            let waits = change != CommentChange::Deleted && !commands::parse_all(&comment.body).is_empty();
            if waits {
                reads::want_pull(transaction, comment.pr, FetchReason::CacheMiss, Some(comment.clone()));
            } else {
                super::deliveries::miss(transaction, comment.pr);
            }
        }
    }
}

/// Takes down what a new comment commands, and answers what is no command.
fn asked(transaction: &mut Transaction<'_>, comment: &CommentFacts, delivery: Option<&DeliveryId>) {
    for said in commands::parse_all(&comment.body) {
        let body = match said {
            // Judged where it is declared.
            AddressedLine::Command(Command::Predecessor(_)) => continue,
            AddressedLine::Command(command) => {
                transaction.record(commands::Event::CommandGiven {
                    comment: CommentRef { pr: comment.pr, id: comment.id },
                    user: comment.author,
                    login: comment.login.clone(),
                    command: command.into(),
                    delivery: delivery.cloned(),
                });
                continue;
            }
            AddressedLine::Misused { verb, why } => answer::misused(verb, &why),
            AddressedLine::Unknown { text, nearest } => {
                answer::unknown_command(text.as_str(), nearest.map(CommandVerb::name), &commands::help())
            }
            AddressedLine::TooMany => answer::too_many(),
        };
        transaction.comment(comment.pr, body);
    }
}

/// Whether merge-train wrote it itself. Where it acts in the name of a person, that person's own comments are heard.
fn is_ours(state: &RepoState, comment: &CommentFacts) -> bool {
    state.bot == Some(comment.author) && outbox::is_marked(&comment.body)
}

/// What landing the stack would do; or, where there is no stack, why not.
pub(in crate::repo) fn planned(state: &RepoState, pr: PrNumber) -> NoteContent {
    let root = state.path_from_root(pr).and_then(|path| path.first().copied());
    match (root, state.default_branch.clone()) {
        (Some(root), Some(default)) => NoteContent::Plan { members: state.stack_above(root), default },
        _ => NoteContent::Comment { body: answer::no_stack(pr) },
    }
}

/// A pull request has become known for which declarations were waiting: its own, or those of what stands on it.
pub(in crate::repo) fn awaited(transaction: &mut Transaction<'_>, pull: PrNumber) {
    let state = transaction.before;
    let is_known = |event: &RepoEvent| matches!(event, RepoEvent::Mirror(Event::PrObserved { pr, .. }) if *pr == pull);
    let Some(wanted) = state.wanted.get(&pull).filter(|_| transaction.plan.events.iter().any(is_known)) else { return };
    for comment in &wanted.comments {
        // Each is heard as if it came only now.
        let after = transaction.after();
        let mut heard_now = Transaction::begin(&after, transaction.operator, transaction.now);
        if !state.prs.contains_key(&comment.pr) {
            heard(&mut heard_now, CommentChange::Created, comment, None);
        } else if let Some(pr) = after.prs.get(&comment.pr) {
            // What else it commands was heard when it came.
            declared(&mut heard_now, pr, CommentChange::Created, comment);
        }
        let meant = heard_now.plan;
        transaction.record_all(meant.events);
        transaction.effects(meant.effects);
    }
}

/// There is no pull request of that number, and others were declared to stand on it.
pub(in crate::repo) fn disappointed(transaction: &mut Transaction<'_>, predecessor: PrNumber) {
    let state = transaction.before;
    let waiting = state.wanted.get(&predecessor).into_iter().flat_map(|wanted| &wanted.comments);
    for comment in waiting.filter(|comment| comment.pr != predecessor) {
        refuse(transaction, comment, &Refusal::NoSuchPull { predecessor });
    }
}

/// The declaration in a conversation that was read from GitHub. Nobody is answered: they were, when they spoke.
pub(in crate::repo) fn surveyed(
    state: &RepoState,
    requested_at: Timestamp,
    conversation: &ConversationFacts,
) -> Option<Event> {
    let number = conversation.pr;
    let pr = state.prs.get(&number)?;
    if pr.declared_at.is_some_and(|at| at > requested_at) {
        // What was heard since is newer.
        return None;
    }
    let is_refused = |predecessor: PrNumber| match membership::judge(state, number, pr, predecessor) {
        // What the predecessor declares may not be read yet; and what has landed is settled.
        Verdict::Refused(Refusal::NotInAStack { .. }) if state.is_bootstrapping() => false,
        Verdict::Refused(_) => pr.is_open(),
        Verdict::Accepted | Verdict::Unknown => false,
    };
    let mut own = conversation.comments.iter().filter(|comment| Some(comment.author) == pr.author);
    match pr.predecessor_comment {
        Some(_) if !pr.is_open() => None,
        Some(id) => {
            let said = own.find(|comment| comment.id == id).and_then(predecessor);
            match said {
                Some(predecessor) if Some(predecessor) == pr.predecessor || predecessor == number => None,
                Some(predecessor) if is_refused(predecessor) => None,
                Some(predecessor) => Some(Event::PredecessorDeclared { pr: number, predecessor, comment: Some(id) }),
                None => Some(Event::PredecessorRemoved { pr: number }),
            }
        }
        None => own.find_map(|comment| {
            let predecessor = predecessor(comment).filter(|other| *other != number && !is_refused(*other))?;
            Some(Event::PredecessorDeclared { pr: number, predecessor, comment: Some(comment.id) })
        }),
    }
}

fn declared(transaction: &mut Transaction<'_>, pr: &CachedPr, change: CommentChange, comment: &CommentFacts) {
    let state = transaction.before;
    let is_authoritative = pr.predecessor_comment == Some(comment.id);
    let said = predecessor(comment).filter(|_| change != CommentChange::Deleted);
    let Some(predecessor) = said else {
        if is_authoritative {
            transaction.record(Event::PredecessorRemoved { pr: comment.pr });
        }
        return;
    };
    if is_authoritative && pr.predecessor == Some(predecessor) {
        if change == CommentChange::Created {
            // A full look had found it before GitHub told of it.
            transaction.record(audited(comment, CommandOutcome::Done, "author"));
            transaction.say(comment.pr, NoteContent::Acknowledge { comment: comment.id });
        }
        return;
    }
    if pr.author != Some(comment.author) {
        return refuse(transaction, comment, &Refusal::NotTheAuthor { predecessor });
    }
    if let (Some(comment_id), Some(predecessor), false) = (pr.predecessor_comment, pr.predecessor, is_authoritative) {
        // The first declaration counts; a second one is refused, not silently preferred.
        let refusal = Refusal::AlreadyDeclared { comment: comment_id, predecessor };
        return refuse(transaction, comment, &refusal);
    }
    match membership::judge(state, comment.pr, pr, predecessor) {
        Verdict::Accepted => {
            transaction.record(Event::PredecessorDeclared { pr: comment.pr, predecessor, comment: Some(comment.id) });
            transaction.record(audited(comment, CommandOutcome::Done, "author"));
            transaction.say(comment.pr, NoteContent::Acknowledge { comment: comment.id });
        }
        Verdict::Refused(refusal) => {
            match [comment.pr, predecessor].into_iter().find(|pr| state.wanted.contains_key(pr)) {
                // What is known of it is in doubt.
                Some(doubtful) => {
                    reads::want_pull(transaction, doubtful, FetchReason::HeadDiffers, Some(comment.clone()));
                }
                None => refuse(transaction, comment, &refusal),
            }
        }
        Verdict::Unknown => reads::want_pull(transaction, predecessor, FetchReason::CacheMiss, Some(comment.clone())),
    }
}

fn refuse(transaction: &mut Transaction<'_>, comment: &CommentFacts, refusal: &Refusal) {
    let pr = transaction.before.prs.get(&comment.pr);
    // An edit of what counts so far: that it still counts is worth saying.
    let edited = pr.filter(|pr| pr.predecessor_comment == Some(comment.id)).and_then(|pr| pr.predecessor);
    let body = match edited {
        Some(remaining) => declare::edit_rejected(&refusal.told(), remaining),
        None => refusal.told(),
    };
    let is_author = pr.is_some_and(|pr| pr.author == Some(comment.author));
    let outcome = CommandOutcome::Refused { reason: refusal.told() };
    transaction.record(audited(comment, outcome, if is_author { "author" } else { "unverified" }));
    transaction.comment(comment.pr, body);
}

/// Who declared what, and what came of it.
fn audited(comment: &CommentFacts, outcome: CommandOutcome, permission: &str) -> commands::Event {
    let command = predecessor(comment).map(|predecessor| Command::Predecessor(predecessor).into());
    commands::Event::CommandHandled {
        comment: CommentRef { pr: comment.pr, id: comment.id },
        user: comment.author,
        command: command.unwrap_or_else(|| StoredCommand::Unknown(String::new())),
        permission: permission.to_owned(),
        outcome,
    }
}

/// The first declaration in a comment.
fn predecessor(comment: &CommentFacts) -> Option<PrNumber> {
    commands::declared_predecessor(&comment.body)
}
