//! What is said about pull requests under ratchet: when it is to be read, and what the answers mean.

use jiff::Timestamp;

use super::{Effect, Event};
use crate::facts::{Delivery, ReviewActivity, WebhookEvent};
use crate::ids::PrNumber;
use crate::repo::event::ReadKind;
use crate::repo::mirror::reads;
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::transaction::Transaction;
use crate::repo::{EffectFailure, Input, mirror, outbox};

/// How many are read at once; the rest when these are there.
const AT_ONCE: usize = 100;

/// The workspace in which a webhook says that somebody spoke. What merge-train says itself is no news.
pub(super) fn spoken_of(state: &RepoState, input: &Input) -> Option<PrNumber> {
    let Input::Delivery { delivery: Delivery { happening, .. }, .. } = input else { return None };
    let pr = match happening {
        WebhookEvent::Comment(_, comment) if outbox::is_marked(&comment.body) && state.bot == Some(comment.author) => {
            return None;
        }
        WebhookEvent::Comment(_, comment) => comment.pr,
        WebhookEvent::Review { pull, .. } => pull.number,
        WebhookEvent::ReviewTalk { pr } => *pr,
        WebhookEvent::Pull(_)
        | WebhookEvent::CheckSuite(_)
        | WebhookEvent::CheckRun { .. }
        | WebhookEvent::Status { .. }
        | WebhookEvent::Push { .. }
        | WebhookEvent::Installation
        | WebhookEvent::Ping
        | WebhookEvent::Other => return None,
    };
    state.workspaces.get(&pr).filter(|workspace| workspace.archived_at.is_none()).map(|_| pr)
}

/// What was said there is to be read.
pub(super) fn want(transaction: &mut Transaction<'_>, prs: impl IntoIterator<Item = PrNumber>) {
    let prs: Vec<PrNumber> = prs.into_iter().collect();
    if !prs.is_empty() {
        transaction.record(Event::TalkOutdated { prs });
    }
}

/// Nobody knows what was said while nobody listened.
pub(super) fn want_all(transaction: &mut Transaction<'_>) {
    let is_meant = |pr: &PrNumber| super::candidate(&transaction.state, *pr, &transaction.settings);
    let prs: Vec<PrNumber> = transaction.state.workspaces.keys().copied().filter(is_meant).collect();
    want(transaction, prs);
}

/// A heartbeat saw something new about these.
pub(super) fn look_at(transaction: &mut Transaction<'_>, prs: &[PrNumber]) {
    let is_ours = |pr: &PrNumber| transaction.state.pr(*pr).is_some_and(CachedPr::is_ours);
    let prs: Vec<PrNumber> = prs.iter().copied().filter(is_ours).collect();
    if !prs.is_empty() {
        transaction.record(mirror::Event::MergeStateOutdated { prs: prs.clone() });
        want(transaction, prs);
    }
}

fn owed(state: &RepoState) -> impl Iterator<Item = PrNumber> + '_ {
    state.workspaces.iter().filter(|(_, workspace)| workspace.talk_wanted_since.is_some()).map(|(pr, _)| *pr)
}

pub(super) fn is_owed(state: &RepoState) -> bool {
    owed(state).next().is_some()
}

pub(super) fn read_if_due(transaction: &mut Transaction<'_>) {
    let prs: Vec<PrNumber> = owed(&transaction.state).take(AT_ONCE).collect();
    if !prs.is_empty() && transaction.state.talk_reads.is_due(transaction.now) {
        transaction.effect(Effect::ReadTalk { prs });
    }
}

pub(super) fn read(
    transaction: &mut Transaction<'_>,
    prs: &[PrNumber],
    requested_at: Timestamp,
    result: Result<&Vec<(PrNumber, ReviewActivity)>, &EffectFailure>,
) {
    let found = match result {
        Ok(found) => found,
        Err(failure) => {
            let retry_at = reads::retry_at(failure, transaction.state.talk_reads.attempts, transaction.now);
            let reason = failure.reason.clone();
            return transaction.record(mirror::Event::ReadFailed { read: ReadKind::Talk, reason, retry_at });
        }
    };
    for pr in prs {
        let Some(since) = transaction.state.workspaces.get(pr).and_then(|workspace| workspace.talk_wanted_since) else {
            continue;
        };
        // It was asked before the last reason to ask.
        if requested_at < since && since <= transaction.now {
            continue;
        }
        let talk = found.iter().find(|(number, _)| number == pr).map(|(_, talk)| talk.clone());
        let overview = talk.as_ref().map(|talk| talk.overview.clone()).unwrap_or_default();
        let (mark, points) = talk.and_then(|talk| talk.detail).map(|it| (it.mark, it.points)).unwrap_or_default();
        transaction.record(Event::TalkObserved { pr: *pr, overview, mark, points });
    }
}
