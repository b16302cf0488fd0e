//! What is owed to be read from GitHub, and what the answers mean.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::deliveries::{Heard, observe_pull};
use super::{Effect, Event, comments};
use crate::backoff::ExponentialBackoff;
use crate::facts::{
    CommentFacts, ConversationFacts, HeadRepo, MergeFacts, MergeState, PullFacts, PullState, RepoListing,
};
use crate::ids::{PrNumber, Sha};
use crate::repo::event::{FetchReason, ReadKind, SyncReason};
use crate::repo::pace::PacedAction;
use crate::repo::state::RepoState;
use crate::repo::transaction::Transaction;
use crate::repo::{
    self, EffectFailure, EffectFailureKind, Event as RepoEvent, Plan, Settings, outbox, pace, ratchet, settings, trains,
};

/// While the trouble may pass by itself: nothing is read more than five times within a minute.
const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(2), Duration::from_mins(5));
/// The wait where somebody must act first; a periodic look finds out whether they did.
const HOPELESS_RETRY: Duration = Duration::from_hours(1);
/// How long one full look, taken because something was missed, is enough for all that was.
const LOOKED_LATELY: SignedDuration = SignedDuration::from_mins(5);
/// How many conversations are read in one go, which is what is read again if it is cut off; and how many such at once.
const CONVERSATIONS_PER_READ: usize = 50;
const READS_AT_ONCE: usize = 4;
/// How often GitHub is asked again for a merge state that it has not computed yet, before the next event is waited for: for
/// two minutes.
const UNSETTLED_ATTEMPTS: u32 = 6;

/// When the worker should look again although nothing came in: the earliest time after `after`.
pub fn next_wake(state: &RepoState, operator: &Settings, after: Timestamp) -> Option<Timestamp> {
    let settings = &*state.settings(operator);
    let sync = state.sync.wanted.iter().filter_map(|(_, backoff)| backoff.retry_at);
    let pulls = state.wanted.values().filter_map(|wanted| wanted.backoff.retry_at);
    let merges = state.merge_reads.retry_at.filter(|_| !state.merge_wanted.is_empty());
    let resync = next_sync(state, settings);
    let notes = outbox::retries(state).filter_map(|backoff| backoff.retry_at);
    let commands = state.commands.iter().filter_map(|given| given.backoff.retry_at);
    let file = settings::backoffs(state).filter_map(|backoff| backoff.retry_at);
    let owed = sync.chain(pulls).chain(merges).chain(notes).chain(commands).chain(file).chain(resync);
    let workspaces = ratchet::wakes(state, settings);
    owed.chain(trains::wakes(state, settings)).chain(workspaces).filter(|at| *at > after).min()
}

/// When everything is looked at again, although nothing says that something was missed.
fn next_sync(state: &RepoState, settings: &Settings) -> Option<Timestamp> {
    state.sync.last?.checked_add(settings.resync_interval).ok()
}

/// When a worker must look again if what is owed is to be had, even where nobody works on the repository now.
pub fn attention(state: &RepoState, operator: &Settings) -> Option<Timestamp> {
    let settings = &*state.settings(operator);
    let now = state.touched_at.unwrap_or_default();
    let resync = next_sync(state, settings).filter(|_| state.sync.wanted.is_none());
    let sync = state.sync.wanted.iter().map(|(_, backoff)| backoff);
    let pulls = state.wanted.values().map(|wanted| &wanted.backoff);
    let merges = (!state.merge_wanted.is_empty()).then_some(&state.merge_reads);
    let notes = outbox::retries(state);
    let commands = state.commands.iter().map(|given| &given.backoff);
    let owed = sync.chain(pulls).chain(merges).chain(notes).chain(commands).chain(settings::backoffs(state));
    let owed = owed.map(|backoff| backoff.retry_at.unwrap_or(now));
    let is_needed = trains::need_a_worker(state) || ratchet::need_a_worker(state);
    owed.chain(resync).chain(ratchet::wakes(state, settings)).chain(is_needed.then_some(now)).min()
}

/// Everything that is owed and due.
pub(in crate::repo) fn owed(state: &RepoState, now: Timestamp) -> Vec<repo::Effect> {
    let mut effects = Vec::new();
    if state.sync.wanted.as_ref().is_some_and(|(_, backoff)| backoff.is_due(now)) {
        match &state.sync.unread {
            None => effects.push(Effect::Survey.into()),
            Some(unread) => effects.extend(conversations_owed(unread)),
        }
    }
    effects.extend(pulls_owed(state, now));
    effects.extend(outbox::due(state, now));
    effects.extend(settings::due(state, now));
    effects
}

/// What of it is about pull requests.
pub(in crate::repo) fn pulls_owed(state: &RepoState, now: Timestamp) -> Vec<repo::Effect> {
    let mut effects = Vec::new();
    let may_be_read = |pr: PrNumber| pace::may(state, PacedAction::ReadPull, pr, now);
    let due = state.wanted.iter().filter(|(pr, wanted)| wanted.backoff.is_due(now) && may_be_read(**pr));
    effects.extend(due.map(|(pr, _)| Effect::FetchPull { pr: *pr }.into()));
    let prs: Vec<PrNumber> = pace::readable(state, &state.merge_wanted, now).collect();
    if !prs.is_empty() && state.merge_reads.is_due(now) {
        effects.push(Effect::ReadMergeStates { prs }.into());
    }
    effects
}

pub(in crate::repo) fn request_sync(transaction: &mut Transaction<'_>, reason: SyncReason) {
    if transaction.state.sync.wanted.is_none() {
        transaction.record(Event::SyncRequested { reason });
        transaction.effect(Effect::Survey);
    }
}

pub(in crate::repo) fn want_pull(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    reason: FetchReason,
    comment: Option<CommentFacts>,
) {
    transaction.record(Event::PrWanted { pr, reason, comment });
    transaction.effect(Effect::FetchPull { pr });
}

/// GitHub says something else of it than what is known. It may go on to do so.
fn want_again(transaction: &mut Transaction<'_>, pr: PrNumber) {
    transaction.record(Event::PrWanted { pr, reason: FetchReason::HeadDiffers, comment: None });
    if pace::may(transaction.before, PacedAction::ReadPull, pr, transaction.now) {
        transaction.effect(Effect::FetchPull { pr });
    }
}

/// Of those that are known and ours.
pub(in crate::repo) fn want_merge_states(transaction: &mut Transaction<'_>, prs: impl IntoIterator<Item = PrNumber>) {
    let state = transaction.before;
    let ours = |pr: &PrNumber| state.prs.get(pr).is_some_and(crate::repo::CachedPr::is_ours);
    let prs: Vec<PrNumber> = prs.into_iter().filter(ours).collect();
    if prs.is_empty() {
        return;
    }
    let all: BTreeSet<PrNumber> = state.merge_wanted.iter().copied().chain(prs.iter().copied()).collect();
    transaction.record(Event::MergeStateOutdated { prs });
    transaction.effect(Effect::ReadMergeStates { prs: all.into_iter().collect() });
}

/// Leaves one effect of each key: the last, which knows the most.
pub(in crate::repo) fn merge_duplicates(plan: &mut Plan) {
    let by_key: BTreeMap<_, _> = plan.effects.drain(..).map(|effect| (effect.key(), effect)).collect();
    plan.effects = by_key.into_values().collect();
}

pub(in crate::repo) fn surveyed(
    transaction: &mut Transaction<'_>,
    requested_at: Timestamp,
    result: Result<&RepoListing, &EffectFailure>,
) {
    let (state, now) = (transaction.before, transaction.now);
    if state.sync.wanted.is_none() || state.sync.unread.is_some() {
        return;
    }
    let facts = match result {
        Ok(facts) => facts,
        Err(failure) => {
            let attempts = state.sync.wanted.as_ref().map_or(0, |(_, backoff)| backoff.attempts);
            transaction.record(failed(ReadKind::Repository, failure, attempts, now));
            return;
        }
    };
    if state.default_branch.as_ref() != Some(&facts.default_branch) {
        transaction.record(Event::DefaultBranchChanged { default_branch: facts.default_branch.clone() });
    }
    if state.bot != Some(facts.bot) {
        transaction.record(Event::BotKnown { user: facts.bot });
    }
    let mut outdated: BTreeSet<PrNumber> = BTreeSet::new();
    let mut unread: BTreeSet<PrNumber> = BTreeSet::new();
    for pull in &facts.pulls {
        observe_pull(transaction, pull, Heard::Since(requested_at));
        let is_open = pull.state == PullState::Open;
        if is_open && pull.head_repo == HeadRepo::Same {
            outdated.insert(pull.number);
        }
        // Declarations count under open ones; status comments stay where their train began, which may have landed.
        if is_open || matches!(pull.state, PullState::Merged { .. }) {
            unread.insert(pull.number);
        }
    }
    // One reading for all, below, instead of one for each.
    transaction.plan.events.retain(|event| !matches!(event, RepoEvent::Mirror(Event::MergeStateOutdated { .. })));
    transaction.plan.effects.retain(|effect| !matches!(effect, repo::Effect::Mirror(Effect::ReadMergeStates { .. })));
    let found: BTreeSet<PrNumber> = facts.pulls.iter().map(|pull| pull.number).collect();
    let absent = |pr: &&PrNumber| !found.contains(*pr) && !state.wanted.contains_key(*pr);
    for pr in state.prs.iter().filter(|(_, pr)| pr.is_open()).map(|(number, _)| number).filter(absent) {
        want_pull(transaction, *pr, FetchReason::AbsentFromSync, None);
    }
    if !outdated.is_empty() {
        transaction.record(Event::MergeStateOutdated { prs: outdated.iter().copied().collect() });
        outdated.extend(&state.merge_wanted);
        let prs: Vec<PrNumber> = pace::readable(state, &outdated, now).collect();
        if !prs.is_empty() {
            transaction.effect(Effect::ReadMergeStates { prs });
        }
    }
    transaction.record(Event::RepositoryListed { unread: unread.iter().copied().collect() });
    transaction.effects(conversations_owed(&unread));
    transaction.effect(settings::Effect::ReadSettings { default: facts.default_branch.clone() });
}

/// What is still to be read, a few batches at a time. The rest is asked for when these are there.
fn conversations_owed(unread: &BTreeSet<PrNumber>) -> impl Iterator<Item = repo::Effect> {
    let unread: Vec<PrNumber> = unread.iter().copied().take(CONVERSATIONS_PER_READ * READS_AT_ONCE).collect();
    let batches: Vec<Vec<PrNumber>> = unread.chunks(CONVERSATIONS_PER_READ).map(<[PrNumber]>::to_vec).collect();
    batches.into_iter().map(|prs| Effect::ReadConversations { prs }.into())
}

pub(in crate::repo) fn conversations_read(
    transaction: &mut Transaction<'_>,
    prs: &[PrNumber],
    requested_at: Timestamp,
    result: Result<&Vec<ConversationFacts>, &EffectFailure>,
) {
    let (state, now) = (transaction.before, transaction.now);
    let Some(unread) = &state.sync.unread else { return };
    let heard: Vec<PrNumber> = prs.iter().copied().filter(|pr| unread.contains(pr)).collect();
    let conversations = match result {
        _ if heard.is_empty() => return,
        Ok(conversations) => conversations,
        Err(failure) => {
            let attempts = state.sync.wanted.as_ref().map_or(0, |(_, backoff)| backoff.attempts);
            transaction.record(failed(ReadKind::Repository, failure, attempts, now));
            return;
        }
    };
    for conversation in conversations {
        transaction.record_all(comments::surveyed(state, requested_at, conversation));
        former_heads_heard(transaction, conversation);
    }
    further_down(transaction);
    let traces = conversations.iter().filter_map(|conversation| trains::trace(state, conversation)).collect();
    transaction.record(Event::ConversationsHeard { prs: heard, traces });
    let after = transaction.after();
    transaction.effects(conversations_owed(after.sync.unread.as_ref().unwrap_or(unread)));
}

/// Somebody may have forced a branch elsewhere while nobody listened, or before the database was lost.
fn former_heads_heard(transaction: &mut Transaction<'_>, conversation: &ConversationFacts) {
    let Some(known) = transaction.before.pr(conversation.pr) else { return };
    let is_new = |head: &&Sha| !known.former_heads.contains(head) && known.head_sha != **head;
    let heads: Vec<Sha> = conversation.former_heads.iter().filter(is_new).cloned().collect();
    if !heads.is_empty() {
        transaction.record(Event::FormerHeadsHeard { pr: conversation.pr, heads });
    }
}

/// What a pull request stands on may have landed too long ago to be listed; a train that began there is told of there.
fn further_down(transaction: &mut Transaction<'_>) {
    let state = transaction.before;
    if !state.is_bootstrapping() {
        return;
    }
    let below: BTreeSet<PrNumber> = transaction
        .plan
        .events
        .iter()
        .filter_map(|event| {
            let RepoEvent::Mirror(Event::PredecessorDeclared { predecessor, .. }) = event else { return None };
            Some(*predecessor)
        })
        .filter(|below| !state.prs.contains_key(below) && !state.wanted.contains_key(below))
        .collect();
    if !below.is_empty() {
        transaction.record(Event::ConversationsWanted { prs: below.iter().copied().collect() });
        below.into_iter().for_each(|pr| want_pull(transaction, pr, FetchReason::AbsentFromSync, None));
    }
}

/// The look is complete when everything is read that was listed. The first one also waits for what was found on the way.
pub(in crate::repo) fn conclude(transaction: &mut Transaction<'_>) {
    let state = transaction.before;
    let is_listed = |event: &RepoEvent| {
        matches!(event, RepoEvent::Mirror(Event::RepositoryListed { .. } | Event::ConversationsHeard { .. }))
    };
    let may_be_read =
        state.sync.unread.as_ref().is_some_and(BTreeSet::is_empty) || transaction.plan.events.iter().any(is_listed);
    if state.sync.wanted.is_none() || !may_be_read {
        return;
    }
    let after = transaction.after();
    let is_read = after.sync.unread.as_ref().is_some_and(BTreeSet::is_empty);
    if is_read && (!state.is_bootstrapping() || after.wanted.is_empty()) {
        transaction.record(Event::SyncCompleted {});
    }
}

pub(in crate::repo) fn fetched(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    requested_at: Timestamp,
    result: Result<&Option<PullFacts>, &EffectFailure>,
) {
    let (state, now) = (transaction.before, transaction.now);
    let Some(wanted) = state.wanted.get(&pr) else { return };
    match result {
        Ok(_) if is_outdated(requested_at, wanted.since, now) => transaction.effect(Effect::FetchPull { pr }),
        Ok(Some(pull)) => {
            observe_pull(transaction, pull, Heard::Since(requested_at));
            // Known as it is, or newer from elsewhere: then this settles the want all the same.
            if !transaction.plan.events.iter().any(|event| matches!(event, RepoEvent::Mirror(Event::PrObserved { .. })))
            {
                transaction.plan.events.insert(0, observed_again(state, pull).into());
                comments::awaited(transaction, pr);
            }
            // What CI said of a head before it was known is lost.
            let is_new = state.prs.get(&pr).is_some_and(|known| known.is_ours() && known.head_sha != pull.head_sha);
            if is_new
                && !transaction
                    .plan
                    .events
                    .iter()
                    .any(|event| matches!(event, RepoEvent::Mirror(Event::MergeStateOutdated { .. })))
            {
                transaction.record(Event::MergeStateOutdated { prs: vec![pr] });
                if state.merge_reads.is_due(now) && pace::may(state, PacedAction::ReadMergeState, pr, now) {
                    let prs = state.merge_wanted.iter().copied().chain([pr]).collect::<BTreeSet<_>>();
                    transaction.effect(Effect::ReadMergeStates { prs: prs.into_iter().collect() });
                }
            }
        }
        Ok(None) => {
            comments::disappointed(transaction, pr);
            transaction.record(Event::PrGone { pr });
        }
        Err(failure) => transaction.record(failed(ReadKind::Pull(pr), failure, wanted.backoff.attempts, now)),
    }
}

/// What is known already, said once more.
fn observed_again(state: &RepoState, pull: &PullFacts) -> Event {
    let known = state.prs.get(&pull.number);
    Event::PrObserved {
        pr: pull.number,
        head_ref: known.and_then(|known| known.head_ref.clone()).unwrap_or_else(|| pull.head_ref.clone()),
        head_sha: known.map_or_else(|| pull.head_sha.clone(), |known| known.head_sha.clone()),
        base_ref: known.map_or_else(|| pull.base_ref.clone(), |known| known.base_ref.clone()),
        draft: known.map_or(pull.draft, |known| known.draft),
        head_repo: known.map_or(pull.head_repo, |known| known.head_repo),
        author: known.and_then(|known| known.author).unwrap_or(pull.author),
        updated_at: known.and_then(|known| known.updated_at).unwrap_or(pull.updated_at),
        stack_position: known.map_or(pull.stack_position, |known| known.stack_position),
        title: known.map_or_else(|| pull.title.clone(), |known| known.title.clone()),
    }
}

pub(in crate::repo) fn merge_states(
    transaction: &mut Transaction<'_>,
    prs: &[PrNumber],
    requested_at: Timestamp,
    result: Result<&Vec<MergeFacts>, &EffectFailure>,
) {
    let (state, now) = (transaction.before, transaction.now);
    let facts = match result {
        Ok(facts) => facts,
        Err(failure) => {
            transaction.record(failed(ReadKind::MergeStates, failure, state.merge_reads.attempts, now));
            return;
        }
    };
    let mut still_owed = state.merge_wanted.clone();
    let mut unsettled: Option<PrNumber> = None;
    let has_patience = state.merge_reads.attempts < UNSETTLED_ATTEMPTS;
    let is_missed = |fact: &MergeFacts| {
        let wanted_since = state.prs.get(&fact.number).and_then(|known| known.merge_state_wanted_since);
        let is_answer = wanted_since.is_some_and(|since| since <= requested_at);
        !fact.is_open && is_answer && !trains::is_landing(state, fact.number)
    };
    // Who has not heard of the end of one may not have heard of more, and the one explains the other.
    // One that looked at everything a moment ago would see the same.
    let has_looked = state.sync.missed_at.is_some_and(|last| now.duration_since(last) < LOOKED_LATELY);
    let has_missed = !has_looked && facts.iter().any(is_missed);
    if has_missed {
        request_sync(transaction, SyncReason::Missed);
    }
    for pr in prs {
        let Some(known) = state.prs.get(pr) else { continue };
        let Some(since) = known.merge_state_wanted_since else { continue };
        let Some(fact) = facts.iter().find(|fact| fact.number == *pr) else {
            // GitHub does not have it. The fetch finds out what became of it.
            if !state.wanted.contains_key(pr) {
                want_again(transaction, *pr);
            }
            still_owed.remove(pr);
            transaction.record(Event::MergeStateObserved {
                pr: *pr,
                head_sha: known.head_sha.clone(),
                state: MergeState::Unknown,
                draft: known.draft,
                review: known.review,
                ci: known.ci.clone(),
            });
            continue;
        };
        if is_outdated(requested_at, since, now) {
            continue;
        }
        if !fact.is_open || fact.head_sha != known.head_sha || fact.base_ref != known.base_ref {
            // Not open, of another head, or for another base: GitHub is behind, or we are. Its merge state is not about this.
            if !has_missed && !state.wanted.contains_key(pr) {
                want_again(transaction, *pr);
            }
            unsettled = Some(*pr);
        } else if fact.state == MergeState::Unknown && has_patience {
            unsettled = Some(*pr);
        } else {
            still_owed.remove(pr);
            settings::seen(transaction, *pr, &fact.head_sha, &fact.own_file);
            transaction.record(Event::MergeStateObserved {
                pr: *pr,
                head_sha: fact.head_sha.clone(),
                state: fact.state,
                draft: fact.draft,
                review: fact.review,
                ci: fact.ci.clone(),
            });
        }
    }
    if let Some(pr) = unsettled {
        let reason = format!("GitHub has not settled the merge state of #{pr} yet");
        let retry_at = later(now, RETRY.delay(state.merge_reads.attempts));
        transaction.record(Event::ReadFailed { read: ReadKind::MergeStates, reason, retry_at });
    } else {
        let prs: Vec<PrNumber> = pace::readable(state, &still_owed, now).collect();
        if !prs.is_empty() {
            transaction.effect(Effect::ReadMergeStates { prs });
        }
    }
}

/// Whether it was asked before the last reason to ask. A reason from later than now is from before the clock was set back.
pub(in crate::repo) fn is_outdated(requested_at: Timestamp, since: Timestamp, now: Timestamp) -> bool {
    requested_at < since && since <= now
}

pub(in crate::repo) fn failed(read: ReadKind, failure: &EffectFailure, attempts: u32, now: Timestamp) -> Event {
    let retry_at = retry_at(failure, attempts, now);
    Event::ReadFailed { read, reason: failure.reason.clone(), retry_at }
}

/// When to try again after a failure, the `attempts`-th in a row.
pub(in crate::repo) fn retry_at(failure: &EffectFailure, attempts: u32, now: Timestamp) -> Timestamp {
    let wait = match failure.kind {
        EffectFailureKind::Transient => RETRY.delay(attempts),
        EffectFailureKind::Permanent => HOPELESS_RETRY,
    };
    let retry_at = later(now, wait);
    failure.retry_at.map_or(retry_at, |told| told.max(retry_at))
}

fn later(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}
