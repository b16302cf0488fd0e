//! What a webhook means for the cache.

use jiff::Timestamp;

use super::{Effect, Event, comments, reads};
use crate::facts::{
    CheckConclusion, CheckProgress, Delivery, HeadRepo, PullFacts, PullState, StatusState, WebhookEvent,
};
use crate::ids::{PrNumber, Sha};
use crate::inbox::{DedupeKey, DedupeWindow, RequestHash};
use crate::repo::event::{CiReport, DeliveryOutcome, FetchReason, PrStateName, SyncReason};
use crate::repo::state::{PrState, RepoState};
use crate::repo::transaction::Transaction;
use crate::repo::{Settings, settings};

/// So many unknown pull requests, and the cache has drifted too far to be fixed one by one.
const MISSES_BEFORE_RESYNC: u32 = 5;

pub(in crate::repo) fn deliver(
    transaction: &mut Transaction<'_>,
    delivery: &Delivery,
    hash: &RequestHash,
    received_at: Timestamp,
) {
    let state = transaction.before;
    let key = DedupeKey::of(delivery, hash);
    let outcome = if is_repeated(state, &key, received_at, &transaction.settings) {
        DeliveryOutcome::Duplicate { dedupe_key: key.text }
    } else {
        match happened(transaction, delivery) {
            Ok(()) => DeliveryOutcome::Applied { dedupe_key: key.text },
            Err(reason) => DeliveryOutcome::Ignored { reason: reason.to_owned() },
        }
    };
    if state.sync.last.is_none() && state.sync.wanted.is_none() {
        reads::request_sync(transaction, SyncReason::Bootstrap);
    }
    transaction.record(Event::DeliveryProcessed {
        delivery: delivery.id.clone(),
        event: delivery.event.clone(),
        action: delivery.action.clone(),
        pr: delivery.pr(),
        received_at,
        outcome,
    });
}

fn is_repeated(state: &RepoState, key: &DedupeKey, received_at: Timestamp, settings: &Settings) -> bool {
    let window = match key.window {
        DedupeWindow::Kept => settings.dedupe_ttl,
        DedupeWindow::Brief => DedupeWindow::BRIEF,
    };
    state.seen_dedupe_keys.get(&key.text).is_some_and(|seen| received_at.duration_since(*seen).abs() < window)
}

fn happened(transaction: &mut Transaction<'_>, delivery: &Delivery) -> Result<(), &'static str> {
    let state = transaction.before;
    if let Some(branch) = &delivery.default_branch
        && state.sync.last.is_some()
        && state.default_branch.as_ref() != Some(branch)
    {
        transaction.record(Event::DefaultBranchChanged { default_branch: branch.clone() });
        transaction.effect(settings::Effect::ReadSettings { default: branch.clone() });
    }
    match &delivery.happening {
        WebhookEvent::Pull(pull) => {
            observe_pull(transaction, pull, Heard::Now);
            if pull.head_repo == HeadRepo::Fork && !settings::forked(transaction, pull) {
                return Err("the head is in a fork");
            }
            if delivery.action.as_deref() == Some("ready_for_review") {
                reads::want_merge_states(transaction, [pull.number]);
            }
        }
        WebhookEvent::Comment(change, comment) => {
            comments::heard(transaction, *change, comment, Some(&delivery.id));
        }
        WebhookEvent::CheckSuite(suite) => {
            let is_complete = delivery.action.as_deref() == Some("completed");
            let progress = if is_complete { CheckProgress::Complete } else { CheckProgress::UnderWay };
            let is_heard = hear_ci(transaction, &suite.head_sha, CiReport::Suite { id: suite.id, progress });
            if !is_complete && !is_heard {
                return Err("the checks are not complete");
            }
            if is_complete {
                commit_judged(transaction, &suite.head_sha, &suite.pulls);
            }
        }
        WebhookEvent::Status { sha, state: status, context } => {
            let verdict = match status {
                StatusState::Pending => CheckConclusion::Pending,
                StatusState::Success => CheckConclusion::Passed,
                StatusState::Failure | StatusState::Error => CheckConclusion::Failed,
            };
            let is_heard = hear_ci(transaction, sha, CiReport::Status { context: context.clone(), verdict });
            if verdict == CheckConclusion::Pending && !is_heard {
                return Err("the status is pending");
            }
            if verdict != CheckConclusion::Pending {
                commit_judged(transaction, sha, &[]);
            }
        }
        WebhookEvent::Review { pull, .. } => {
            if state.prs.contains_key(&pull.number) {
                reads::want_merge_states(transaction, [pull.number]);
            } else {
                miss(transaction, pull.number);
            }
        }
        WebhookEvent::ReviewTalk { pr } => miss(transaction, *pr),
        WebhookEvent::CheckRun { .. } => return Err("its check suite tells when all is complete"),
        WebhookEvent::Push { branch, after, touches_own_file } => {
            if !settings::pushed(transaction, branch, after, *touches_own_file) {
                return Err("pull requests tell of their own heads");
            }
        }
        WebhookEvent::Installation | WebhookEvent::Ping | WebhookEvent::Other => {
            return Err("nothing to do with pull requests");
        }
    }
    Ok(())
}

/// Takes down what CI says of a head that a train is at: all that was begun must come to its end before it lands.
fn hear_ci(transaction: &mut Transaction<'_>, sha: &Sha, what: CiReport) -> bool {
    let state = transaction.before;
    let at_it = |pr: &PrNumber| state.active_trains.values().any(|train| train.current_pr == *pr);
    let is_heard = state.open_heads.get(sha).into_iter().flatten().any(at_it);
    if is_heard {
        transaction.record(Event::CiSeen { sha: sha.clone(), what });
    }
    is_heard
}

/// A commit was judged by CI: all pull requests with that head may be mergeable now, or no longer.
fn commit_judged(transaction: &mut Transaction<'_>, sha: &Sha, named: &[PrNumber]) {
    let known = transaction.before.open_heads.get(sha).into_iter().flatten().copied();
    reads::want_merge_states(transaction, known);
    for pr in named {
        miss(transaction, *pr);
    }
}

/// A pull request was named. If it is not known, it is fetched; if that happens too often, everything is.
pub(in crate::repo) fn miss(transaction: &mut Transaction<'_>, pr: PrNumber) {
    let state = transaction.before;
    // Before the first full look nothing can be missed.
    if state.prs.contains_key(&pr) || state.wanted.contains_key(&pr) || state.sync.last.is_none() {
        return;
    }
    reads::want_pull(transaction, pr, FetchReason::CacheMiss, None);
    if state.miss_count + 1 >= MISSES_BEFORE_RESYNC && state.sync.wanted.is_none() {
        reads::request_sync(transaction, SyncReason::TooManyMisses);
    }
}

/// When GitHub said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::repo) enum Heard {
    /// It told us of itself.
    Now,
    /// We asked; what was said between the asking and the answer is newer than the answer.
    Since(Timestamp),
}

/// Records what is new about a pull request. What is older than what is known is not news: deliveries overtake each other.
pub(in crate::repo) fn observe_pull(transaction: &mut Transaction<'_>, pull: &PullFacts, heard: Heard) {
    let state = transaction.before;
    let known = state.prs.get(&pull.number);
    if let Some(known) = known
        && let Some(known_at) = known.updated_at
    {
        let is_overtaken = match heard {
            Heard::Since(asked) if pull.updated_at == known_at => known.observed_at.is_some_and(|at| at > asked),
            Heard::Now | Heard::Since(_) => pull.updated_at < known_at,
        };
        if is_overtaken {
            return;
        }
        // GitHub's time has whole seconds: which of two heads of one second is the later, only GitHub can tell.
        let is_tie = heard == Heard::Now && pull.updated_at == known_at && pull.state == PullState::Open;
        if is_tie && pull.head_sha != known.head_sha && !known.replaced.contains(&pull.head_sha) {
            reads::want_pull(transaction, pull.number, FetchReason::HeadDiffers, None);
            return;
        }
    }
    // A message that speaks of a head which merge-train's own push replaced was overtaken by it.
    let is_replaced = |known: &&crate::repo::CachedPr| {
        let is_older = match heard {
            Heard::Now => true,
            Heard::Since(asked) => known.observed_at.is_some_and(|at| at > asked),
        };
        is_older && known.replaced.contains(&pull.head_sha)
    };
    let overtaking = known.filter(is_replaced).filter(|known| known.head_sha != pull.head_sha);
    let head_sha = overtaking.map_or(&pull.head_sha, |known| &known.head_sha);
    let is_same = known.is_some_and(|known| {
        known.head_ref.as_ref() == Some(&pull.head_ref)
            && known.head_sha == *head_sha
            && known.stack_position == pull.stack_position
            && known.title == pull.title
            && known.base_ref == pull.base_ref
            && known.draft == pull.draft
            && known.head_repo == pull.head_repo
            && known.author == Some(pull.author)
            && known.updated_at == Some(pull.updated_at)
    });
    if !is_same {
        transaction.record(Event::PrObserved {
            pr: pull.number,
            head_ref: pull.head_ref.clone(),
            head_sha: head_sha.clone(),
            base_ref: pull.base_ref.clone(),
            draft: pull.draft,
            head_repo: pull.head_repo,
            author: pull.author,
            updated_at: pull.updated_at,
            stack_position: pull.stack_position,
            title: pull.title.clone(),
        });
    }
    transaction.record_all(new_state(known.map(|known| &known.state), pull));
    if overtaking.is_some() && heard == Heard::Now && pull.state == PullState::Open {
        // Or somebody forced the branch back to where it was before that push: only GitHub can tell.
        reads::want_pull(transaction, pull.number, FetchReason::HeadDiffers, None);
    }
    if known.is_none() && pull.state == PullState::Open && pull.head_repo == HeadRepo::Same {
        transaction.record(Event::MergeStateOutdated { prs: vec![pull.number] });
        transaction.effect(Effect::ReadMergeStates { prs: vec![pull.number] });
    }
    transaction.record_all(in_native_stack(state, pull));
    transaction.record_all(crate::repo::ratchet::labelled(state, pull));
    comments::awaited(transaction, pull.number);
}

/// What it stands on by GitHub's own word, where nobody declared it.
fn in_native_stack(state: &RepoState, pull: &PullFacts) -> Option<Event> {
    let is_declared = state.prs.get(&pull.number).is_some_and(|known| known.predecessor.is_some());
    if is_declared || pull.state != PullState::Open || pull.stack_position? < 2 {
        return None;
    }
    let is_below = |(number, other): &(&PrNumber, &crate::repo::CachedPr)| {
        **number != pull.number && other.is_ours() && other.head_ref.as_ref() == Some(&pull.base_ref)
    };
    let (predecessor, _) = state.prs.iter().find(is_below)?;
    Some(Event::PredecessorDeclared { pr: pull.number, predecessor: *predecessor, comment: None })
}

fn new_state(known: Option<&PrState>, pull: &PullFacts) -> Option<Event> {
    let pr = pull.number;
    match (known.unwrap_or(&PrState::Open), &pull.state) {
        (PrState::Merged { merge_commit_sha: Some(_), .. }, _) => None,
        (PrState::Merged { merge_commit_sha: None, .. }, PullState::Merged { merge_commit_sha: None, .. }) => None,
        (_, PullState::Merged { merge_commit_sha, at }) => {
            Some(Event::PrMerged { pr, sha: merge_commit_sha.clone(), at: Some(*at) })
        }
        // What is merged stays so, whatever an overtaken message says.
        (PrState::Merged { .. }, _) => None,
        (PrState::Closed { closed_at }, PullState::Closed { at }) if *closed_at == Some(*at) => None,
        (_, PullState::Closed { at }) => Some(Event::PrStateChanged { pr, state: PrStateName::Closed, at: Some(*at) }),
        (PrState::Closed { .. }, PullState::Open) => {
            Some(Event::PrStateChanged { pr, state: PrStateName::Open, at: Some(pull.updated_at) })
        }
        (PrState::Open, PullState::Open) => None,
    }
}
