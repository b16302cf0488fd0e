//! What an event does to what is known of GitHub, and to what hangs on that.

use jiff::Timestamp;

use super::Event;
use crate::facts::{Check, CiFacts, HeadRepo, MergeState};
use crate::ids::{BranchName, CommentId, PrNumber, Sha};
use crate::inbox::DedupeWindow;
use crate::repo::event::{CiReport, DeliveryOutcome, FetchReason, PrStateName, ReadKind, SyncReason};
use crate::repo::pace::{self, PacedAction};
use crate::repo::ratchet;
use crate::repo::state::{Backoff, CachedPr, FullSync, PrState, RepoState};
use crate::repo::trains::detail::TrainDetail;

/// How many of its former heads a pull request is known by.
const HEADS_KNOWN_AGAIN: usize = 16;

/// Folds one event in.
pub(in crate::repo) fn apply(state: &mut RepoState, event: &Event, ts: Timestamp) {
    match event {
        Event::PrObserved {
            pr: number,
            head_ref,
            head_sha,
            base_ref,
            draft,
            head_repo,
            author,
            updated_at,
            stack_position,
            title,
        } => {
            head_observed(state, *number, head_sha, base_ref, ts);
            let head_is_default = state.default_branch.as_ref() == Some(head_ref);
            change(state, *number, |pr| {
                pr.head_ref = Some(head_ref.clone());
                pr.head_is_default = head_is_default;
                pr.stack_position = *stack_position;
                pr.title.clone_from(title);
                pr.base_ref = base_ref.clone();
                pr.draft = *draft;
                pr.head_repo = *head_repo;
                pr.author = Some(*author);
                pr.updated_at = Some(*updated_at);
                pr.observed_at = Some(ts);
            });
            state.wanted.remove(number);
        }
        Event::PrMerged { pr, sha, at } => merged(state, *pr, sha.clone(), at.unwrap_or(ts)),
        Event::PrStateChanged { pr, state: name, at } => state_changed(state, *pr, *name, at.unwrap_or(ts)),
        Event::PrGone { pr } => gone(state, *pr),
        Event::PredecessorDeclared { pr, predecessor, comment } => {
            declared(state, *pr, Some(*predecessor), *comment, ts);
        }
        Event::PredecessorRemoved { pr } => declared(state, *pr, None, None, ts),
        Event::DefaultBranchChanged { default_branch } => {
            state.own.want(ts);
            state.default_branch = Some(default_branch.clone());
            for pr in state.prs.keys().copied().collect::<Vec<_>>() {
                change(state, pr, |pr| pr.head_is_default = pr.head_ref.as_ref() == Some(default_branch));
            }
        }
        Event::PrWanted { pr, reason, comment } => {
            if *reason == FetchReason::CacheMiss {
                state.miss_count += 1;
            }
            let wanted = state.wanted.entry(*pr).or_default();
            wanted.since = ts;
            wanted.is_left |= *reason == FetchReason::BaseChanged;
            wanted.comments.extend(comment.clone());
        }
        Event::CommentSuperseded { comment } => {
            for wanted in state.wanted.values_mut() {
                wanted.comments.retain(|waiting| waiting.id != comment.id);
            }
        }
        Event::MergeStateOutdated { prs } => {
            for pr in prs {
                change(state, *pr, |pr| pr.merge_state_wanted_since = pr.is_open().then_some(ts));
                at_it(state, *pr, TrainDetail::hear);
            }
        }
        Event::MergeStateObserved { pr, head_sha: _, state: merge_state, draft, review, ci } => {
            pace::count_reading(state, *pr, PacedAction::ReadMergeState, ts);
            change(state, *pr, |pr| {
                pr.merge_state = *merge_state;
                pr.draft = *draft;
                pr.review = *review;
                pr.ci = ci.clone();
                pr.merge_state_wanted_since = None;
            });
            if state.merge_wanted.is_empty() {
                state.merge_reads = Backoff::default();
            }
        }
        Event::CiSeen { sha, what } => {
            let there: Vec<PrNumber> = state.open_heads.get(sha).into_iter().flatten().copied().collect();
            for pr in there {
                change(state, pr, |pr| hear_ci(&mut pr.ci, what));
            }
        }
        Event::BotKnown { user } => state.bot = Some(*user),
        Event::SyncRequested { reason } => {
            let FullSync { last, missed_at, .. } = state.sync;
            state.sync =
                FullSync { last, missed_at, wanted: Some((*reason, Backoff::default())), ..FullSync::default() };
        }
        Event::RepositoryListed { unread } => {
            state.own.want(ts);
            state.sync.unread = Some(unread.iter().copied().collect());
            got_on(state);
        }
        Event::ConversationsWanted { prs } => state.sync.unread.get_or_insert_default().extend(prs),
        Event::ConversationsHeard { prs, traces } => {
            if let Some(unread) = &mut state.sync.unread {
                unread.retain(|pr| !prs.contains(pr));
            }
            state.sync.traces.extend(traces.iter().map(|trace| (trace.pr, trace.clone())));
            got_on(state);
        }
        Event::FormerHeadsHeard { pr, heads } => change(state, *pr, |pr| remember(&mut pr.former_heads, heads)),
        Event::SyncCompleted {} => {
            let is_missed = state.sync.wanted.is_some_and(|(reason, _)| reason == SyncReason::Missed);
            let missed_at = if is_missed { Some(ts) } else { state.sync.missed_at };
            state.sync = FullSync { last: Some(ts), missed_at, ..FullSync::default() };
            state.miss_count = 0;
        }
        Event::ReadFailed { read, retry_at, reason } => read_failed(state, *read, *retry_at, reason, ts),
        Event::DeliveryProcessed { pr, received_at, outcome, .. } => {
            // GitHub has something to tell.
            for act in [PacedAction::ReadMergeState, PacedAction::ReadPull] {
                pr.iter().for_each(|pr| pace::forget(state, *pr, act));
            }
            if let DeliveryOutcome::Applied { dedupe_key } = outcome {
                state.seen_dedupe_keys.insert(dedupe_key.clone(), *received_at);
            }
        }
        Event::Pruned { prs, dedupe_keys_before, brief_keys_before } => {
            prs.iter().for_each(|pr| forget(state, *pr));
            state.seen_dedupe_keys.retain(|key, seen| {
                let is_brief = key.starts_with(DedupeWindow::BRIEF_PREFIX);
                *seen >= if is_brief { *brief_keys_before } else { *dedupe_keys_before }
            });
        }
    }
}

/// What failed before does not count any more.
fn got_on(state: &mut RepoState) {
    state.sync.error = None;
    if let Some((_, backoff)) = &mut state.sync.wanted {
        *backoff = Backoff::default();
    }
}

fn merged(state: &mut RepoState, number: PrNumber, sha: Option<Sha>, at: Timestamp) {
    state.paces.remove(&number);
    state.own.proposals.remove(&number);
    change(state, number, |pr| {
        pr.state = PrState::Merged { merge_commit_sha: sha, closed_at: Some(at) };
        pr.merge_state_wanted_since = None;
    });
}

fn state_changed(state: &mut RepoState, number: PrNumber, name: PrStateName, at: Timestamp) {
    let closed_at = Some(at);
    match name {
        PrStateName::Open => {}
        PrStateName::Merged | PrStateName::Closed => {
            state.own.proposals.remove(&number);
        }
    }
    change(state, number, |pr| match name {
        PrStateName::Open => {
            pr.state = PrState::Open;
            pr.late_refused = None;
        }
        PrStateName::Merged => pr.state = PrState::Merged { merge_commit_sha: None, closed_at },
        PrStateName::Closed => {
            pr.state = PrState::Closed { closed_at };
            pr.merge_state_wanted_since = None;
        }
    });
}

/// GitHub has no such pull request.
fn gone(state: &mut RepoState, number: PrNumber) {
    state.paces.remove(&number);
    state.own.proposals.remove(&number);
    if let Some(detail) = state.details.get_mut(&number) {
        detail.is_not_late();
    }
    state.unindex_one(number);
    state.prs.remove(&number);
    state.wanted.remove(&number);
}

/// Nobody needs it any more.
fn forget(state: &mut RepoState, number: PrNumber) {
    state.paces.remove(&number);
    state.unindex_one(number);
    state.prs.remove(&number);
    state.ended.remove(&number);
    state.workspaces.remove(&number);
    state.own.proposals.remove(&number);
}

/// What a pull request declares to stand on, or that it does not any more. What had landed by then stays below it.
fn declared(
    state: &mut RepoState,
    number: PrNumber,
    predecessor: Option<PrNumber>,
    comment: Option<CommentId>,
    ts: Timestamp,
) {
    let before = state.pr(number).and_then(|pr| pr.predecessor).filter(|before| Some(*before) != predecessor);
    let landed = before.filter(|before| state.has_landed(*before));
    change(state, number, |pr| {
        pr.predecessor = predecessor;
        pr.predecessor_comment = comment;
        pr.declared_at = Some(ts);
        if let Some(landed) = landed.filter(|landed| !pr.former_predecessors.contains(landed)) {
            pr.former_predecessors.push(landed);
        }
    });
}

/// Adds these to a list that keeps the newest.
pub(in crate::repo) fn remember(list: &mut Vec<Sha>, new: &[Sha]) {
    for sha in new {
        list.retain(|known| known != sha);
        list.push(sha.clone());
    }
    let excess = list.len().saturating_sub(HEADS_KNOWN_AGAIN);
    list.drain(..excess);
}

pub(in crate::repo) fn pushed(pr: &mut CachedPr, head: &Sha, ts: Timestamp) {
    // Its webhook may have told of the new head before the answer did; the one before is replaced all the same.
    let before = pr.pushed.replace(head.clone()).into_iter().chain([pr.head_sha.clone()]);
    for old in before.filter(|old| old != head) {
        if !pr.replaced.contains(&old) {
            pr.replaced.push(old);
        }
    }
    let excess = pr.replaced.len().saturating_sub(HEADS_KNOWN_AGAIN);
    pr.replaced.drain(..excess);
    if pr.head_sha != *head {
        new_head(pr, head);
    }
    pr.observed_at = Some(ts);
}

/// What was said of the head before says nothing of this one.
fn new_head(pr: &mut CachedPr, head: &Sha) {
    let former = std::mem::replace(&mut pr.head_sha, head.clone());
    remember(&mut pr.former_heads, &[former]);
    pr.merge_state = MergeState::Unknown;
    pr.ci = CiFacts::default();
}

fn hear_ci(ci: &mut CiFacts, what: &CiReport) {
    match what {
        CiReport::Suite { id, progress } => {
            ci.suites.insert(*id, *progress);
        }
        CiReport::Status { context, verdict } => {
            let required = ci.checks.get(context).is_some_and(|check| check.required);
            ci.checks.insert(context.clone(), Check { verdict: *verdict, required });
        }
    }
}

/// For the train that is at this pull request.
fn at_it(state: &mut RepoState, pr: PrNumber, how: fn(&mut TrainDetail)) {
    for (root, train) in &state.active_trains {
        if train.current_pr == pr
            && let Some(detail) = state.details.get_mut(root)
        {
            how(detail);
        }
    }
}

/// A pull request is there, with this head and this base. What was said of others says nothing of these.
fn head_observed(state: &mut RepoState, number: PrNumber, head_sha: &Sha, base_ref: &BranchName, ts: Timestamp) {
    let is_news = pace::is_new_head(state, number, head_sha);
    if is_news {
        state.paces.remove(&number);
    }
    if state.wanted.contains_key(&number) {
        pace::count_reading(state, number, PacedAction::ReadPull, ts);
    }
    if state.prs.get(&number).is_some_and(|known| known.head_sha != *head_sha) {
        at_it(state, number, if is_news { TrainDetail::forget_rechecks } else { TrainDetail::hear });
        ratchet::head_moved(state, number, head_sha, ts);
    }
    state.prs.entry(number).or_insert_with(|| CachedPr {
        head_ref: None,
        head_sha: head_sha.clone(),
        base_ref: base_ref.clone(),
        state: PrState::Open,
        draft: false,
        head_repo: HeadRepo::Same,
        author: None,
        predecessor: None,
        predecessor_comment: None,
        declared_at: None,
        predecessor_squash_reconciled: None,
        reconciled_head: None,
        people_head: None,
        former_predecessors: Vec::new(),
        prepared_with: Vec::new(),
        former_heads: Vec::new(),
        head_is_default: false,
        left_out: false,
        merge_state: MergeState::Unknown,
        review: None,
        ci: CiFacts::default(),
        pushed: None,
        replaced: Vec::new(),
        landed_by: None,
        late_refused: None,
        stack_position: None,
        title: String::new(),
        merge_state_wanted_since: None,
        updated_at: None,
        observed_at: None,
    });
    change(state, number, |pr| {
        if pr.head_sha != *head_sha {
            new_head(pr, head_sha);
        }
        if pr.base_ref != *base_ref {
            pr.merge_state = MergeState::Unknown;
        }
    });
}

pub(in crate::repo) fn change(state: &mut RepoState, number: PrNumber, how: impl FnOnce(&mut CachedPr)) {
    state.unindex_one(number);
    if let Some(pr) = state.prs.get_mut(&number) {
        how(pr);
    }
    state.index_one(number);
}

fn read_failed(state: &mut RepoState, read: ReadKind, retry_at: Timestamp, reason: &str, ts: Timestamp) {
    let backoff = match read {
        ReadKind::Repository => {
            state.sync.error = Some(reason.to_owned());
            state.sync.wanted.as_mut().map(|(_, backoff)| backoff)
        }
        ReadKind::Pull(pr) => {
            pace::count_reading(state, pr, PacedAction::ReadPull, ts);
            state.wanted.get_mut(&pr).map(|wanted| &mut wanted.backoff)
        }
        ReadKind::MergeStates => {
            for pr in state.merge_wanted.clone() {
                pace::count_reading(state, pr, PacedAction::ReadMergeState, ts);
            }
            Some(&mut state.merge_reads)
        }
        ReadKind::Talk => Some(&mut state.talk_reads),
        ReadKind::Policy => state.rules.wanted.as_mut(),
        ReadKind::Settings => state.own.wanted.as_mut().map(|wanted| &mut wanted.backoff),
        ReadKind::Proposal(pr) => state.own.proposals.get_mut(&pr).map(|proposed| &mut proposed.backoff),
        ReadKind::Branch(pr) => state.outlived.get_mut(&pr).map(|outlived| &mut outlived.backoff),
        ReadKind::Permission(comment) => {
            for given in state.commands.iter_mut().filter(|given| given.comment.id == comment) {
                given.backoff.fail(retry_at);
            }
            None
        }
    };
    if let Some(backoff) = backoff {
        backoff.fail(retry_at);
    }
}
