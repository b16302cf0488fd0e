//! What an event does to the state. The only place where the state changes.

use jiff::Timestamp;

use super::event::{CiWord, DeliveryOutcome, Event, PrStateName, PushDetail, ReadKind, SyncReason, WantReason};
use super::state::{Asked, Backoff, CachedPr, Given, Outlived, PrState, RepoState, Sync};
use super::{outbox, pace, settings, trains};
use crate::facts::{Check, CiFacts, HeadRepo, MergeState};
use crate::ids::{CommentId, PrNumber, Sha};
use crate::inbox::Window;
use crate::repo::trains::detail::Detail;

/// How many of its former heads a pull request is known by.
const HEADS_KNOWN_AGAIN: usize = 16;

/// Folds one event in.
pub fn apply(state: &mut RepoState, event: &Event, ts: Timestamp) {
    state.touched_at = Some(ts);
    pace::apply(state, event, ts);
    trains::apply(&mut state.active_trains, &mut state.ended, event, ts);
    trains::detail::apply(&mut state.details, &state.active_trains, event, ts);
    outbox::apply(&mut state.outbox, event, ts);
    settings::apply(&mut state.own, event, ts);
    match event {
        Event::PrObserved { .. }
        | Event::PrMerged { .. }
        | Event::PrStateChanged { .. }
        | Event::PrGone { .. }
        | Event::PredecessorDeclared { .. }
        | Event::PredecessorRemoved { .. }
        | Event::MergeStateObserved { .. } => pull(state, event, ts),
        Event::MergeStateOutdated { prs } => {
            for pr in prs {
                change(state, *pr, |pr| pr.merge_state_wanted_since = pr.is_open().then_some(ts));
                at_it(state, *pr, Detail::hear);
            }
        }
        Event::CiSeen { sha, what } => {
            let there: Vec<PrNumber> = state.open_heads.get(sha).into_iter().flatten().copied().collect();
            for pr in there {
                change(state, pr, |pr| hear_ci(&mut pr.ci, what));
            }
        }
        Event::BotKnown { user } => state.bot = Some(*user),
        Event::DefaultBranchChanged { default_branch } => state.default_branch = Some(default_branch.clone()),
        Event::PrWanted { pr, reason, comment } => {
            if *reason == WantReason::CacheMiss {
                state.miss_count += 1;
            }
            let wanted = state.wanted.entry(*pr).or_default();
            wanted.since = ts;
            wanted.is_left |= *reason == WantReason::BaseChanged;
            wanted.comments.extend(comment.clone());
        }
        Event::CommentSuperseded { comment } => {
            for wanted in state.wanted.values_mut() {
                wanted.comments.retain(|waiting| waiting.id != comment.id);
            }
        }
        Event::SyncRequested { .. }
        | Event::RepositoryListed { .. }
        | Event::ConversationsWanted { .. }
        | Event::ConversationsHeard { .. }
        | Event::SyncCompleted {} => sync(state, event, ts),
        Event::ReadFailed { read, retry_at, reason } => {
            read_failed(state, *read, *retry_at);
            if *read == ReadKind::Repository {
                state.sync.error = Some(reason.clone());
            }
        }
        Event::DeliveryProcessed { received_at, outcome: DeliveryOutcome::Applied { dedupe_key }, .. } => {
            state.seen_dedupe_keys.insert(dedupe_key.clone(), *received_at);
        }
        Event::Ratchet(event) => super::ratchet::apply(state, event, ts),
        Event::TrainStarted { root_pr, current_pr, .. } => {
            let head = state.prs.get(current_pr).map(|pr| pr.head_sha.clone());
            if let Some(detail) = state.details.get_mut(root_pr) {
                detail.first_head = head;
            }
        }
        Event::SquashCommitted { .. }
        | Event::DonePushPrep { .. }
        | Event::DonePushReconcile { .. }
        | Event::DonePushCatchup { .. }
        | Event::DoneRetarget { .. }
        | Event::SquashContained { .. }
        | Event::LateReconciled { .. }
        | Event::LateRefused { .. }
        | Event::IntentPushPrep { .. }
        | Event::IntentPushReconcile { .. }
        | Event::IntentPushCatchup { .. }
        | Event::PrLeftOut { .. }
        | Event::PrsTakenIn { .. } => done(state, event, ts),
        Event::StartAsked { .. }
        | Event::StartDelayed { .. }
        | Event::StartSettled { .. }
        | Event::PolicyWanted {}
        | Event::PolicyObserved { .. }
        | Event::DismissalNoticed { .. }
        | Event::DismissalTold { .. }
        | Event::BranchOutlived { .. }
        | Event::BranchSettled { .. }
        | Event::CommandGiven { .. }
        | Event::CommandHandled { .. }
        | Event::TrainsPolled {} => owed(state, event, ts),
        Event::Pruned { prs, dedupe_keys_before, brief_keys_before } => {
            for pr in prs {
                state.unindex_one(*pr);
                state.prs.remove(pr);
                state.ended.remove(pr);
                state.workspaces.remove(pr);
                state.own.proposals.remove(pr);
            }
            state.seen_dedupe_keys.retain(|key, seen| {
                let is_brief = key.starts_with(Window::BRIEF_PREFIX);
                *seen >= if is_brief { *brief_keys_before } else { *dedupe_keys_before }
            });
        }
        _ => {}
    }
}

/// How far the full look at the repository is.
fn sync(state: &mut RepoState, event: &Event, ts: Timestamp) {
    match event {
        Event::SyncRequested { reason } => {
            let Sync { last, missed_at, .. } = state.sync;
            state.sync = Sync { last, missed_at, wanted: Some((*reason, Backoff::default())), ..Sync::default() };
        }
        Event::RepositoryListed { unread } => {
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
        Event::SyncCompleted {} => {
            let is_missed = state.sync.wanted.is_some_and(|(reason, _)| reason == SyncReason::Missed);
            let missed_at = if is_missed { Some(ts) } else { state.sync.missed_at };
            state.sync = Sync { last: Some(ts), missed_at, ..Sync::default() };
            state.miss_count = 0;
        }
        _ => unreachable!("not an event about the full look"),
    }
}

/// What failed before does not count any more.
fn got_on(state: &mut RepoState) {
    state.sync.error = None;
    if let Some((_, backoff)) = &mut state.sync.wanted {
        *backoff = Backoff::default();
    }
}

fn pull(state: &mut RepoState, event: &Event, ts: Timestamp) {
    match event {
        Event::PrObserved { pr, .. } => {
            observe(state, *pr, event, ts);
            state.wanted.remove(pr);
        }
        Event::PrMerged { pr, sha, at } => {
            let closed_at = Some(at.unwrap_or(ts));
            change(state, *pr, |pr| {
                pr.state = PrState::Merged { merge_commit_sha: sha.clone(), closed_at };
                pr.merge_state_wanted_since = None;
            });
        }
        Event::PrStateChanged { pr, state: name, at } => {
            let closed_at = Some(at.unwrap_or(ts));
            change(state, *pr, |pr| match name {
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
        Event::PrGone { pr } => {
            state.unindex_one(*pr);
            state.prs.remove(pr);
            state.wanted.remove(pr);
        }
        Event::PredecessorDeclared { pr, predecessor, comment } => {
            declared(state, *pr, Some(*predecessor), *comment, ts);
        }
        Event::PredecessorRemoved { pr } => declared(state, *pr, None, None, ts),
        Event::MergeStateObserved { pr, state: merge_state, draft, review, ci, .. } => {
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
        _ => unreachable!("not an event about one pull request"),
    }
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

/// What was done to a pull request.
fn done(state: &mut RepoState, event: &Event, ts: Timestamp) {
    match event {
        Event::SquashCommitted { train_root, pr, .. } => change(state, *pr, |pr| pr.landed_by = Some(*train_root)),
        Event::DonePushPrep { pr: Some(pr), head_sha: Some(head), .. }
        | Event::DonePushReconcile { pr: Some(pr), head_sha: Some(head), .. }
        | Event::DonePushCatchup { pr: Some(pr), head_sha: Some(head), .. } => {
            let squash = state.squash_below(*pr);
            let relates = !matches!(event, Event::DonePushPrep { .. });
            change(state, *pr, |pr| {
                pushed(pr, head, ts);
                if relates && squash.is_some() {
                    pr.predecessor_squash_reconciled = squash;
                    pr.reconciled_head = Some(head.clone());
                }
            });
        }
        Event::DoneRetarget { pr, .. } => {
            let base = state.default_branch.clone();
            change(state, *pr, |pr| {
                pr.base_ref = base.unwrap_or_else(|| pr.base_ref.clone());
                pr.merge_state = MergeState::Unknown;
            });
        }
        Event::SquashContained { pr, squash, head_sha, .. } => change(state, *pr, |pr| {
            pr.predecessor_squash_reconciled = squash.clone();
            pr.reconciled_head = squash.is_some().then(|| head_sha.clone());
        }),
        Event::IntentPushPrep { pre_push_sha, more, .. } => {
            intended(state, pre_push_sha, more);
            if let PushDetail { pr: Some(pr), contains, .. } = more {
                change(state, *pr, |pr| remember(&mut pr.prepared_with, contains));
            }
        }
        Event::IntentPushReconcile { pre_push_sha, more, .. } | Event::IntentPushCatchup { pre_push_sha, more, .. } => {
            intended(state, pre_push_sha, more);
        }
        Event::PrLeftOut { pr } => change(state, *pr, |pr| pr.left_out = true),
        Event::PrsTakenIn { prs } => prs.iter().for_each(|pr| change(state, *pr, |pr| pr.left_out = false)),
        Event::LateRefused { pr, head_sha } => change(state, *pr, |pr| pr.late_refused = Some(head_sha.clone())),
        _ => {}
    }
}

/// Something is to be pushed upon this head. If that is not merge-train's own, people made it.
fn intended(state: &mut RepoState, pre_push_sha: &Sha, more: &PushDetail) {
    let Some(pr) = more.pr else { return };
    change(state, pr, |pr| {
        if pr.pushed.as_ref() != Some(pre_push_sha) {
            pr.people_head = Some(pre_push_sha.clone());
        }
    });
}

/// Adds these to a list that keeps the newest.
fn remember(list: &mut Vec<Sha>, new: &[Sha]) {
    for sha in new {
        list.retain(|known| known != sha);
        list.push(sha.clone());
    }
    let excess = list.len().saturating_sub(HEADS_KNOWN_AGAIN);
    list.drain(..excess);
}

pub(super) fn pushed(pr: &mut CachedPr, head: &Sha, ts: Timestamp) {
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

/// What is to be done or read, and no longer.
fn owed(state: &mut RepoState, event: &Event, ts: Timestamp) {
    match event {
        Event::StartAsked { pr, comment, behest } => {
            let asked = Asked { comment: *comment, behest: behest.clone(), backoff: Backoff::default() };
            state.starts.insert(*pr, asked);
        }
        Event::StartDelayed { pr, retry_at, .. } => {
            if let Some(asked) = state.starts.get_mut(pr) {
                asked.backoff.fail(*retry_at);
            }
        }
        Event::StartSettled { pr } => {
            state.starts.remove(pr);
        }
        Event::PolicyWanted {} => state.rules.wanted = Some(Backoff::default()),
        Event::PolicyObserved { policy } => {
            state.rules.known = Some((policy.clone(), ts));
            state.rules.wanted = None;
        }
        Event::DismissalNoticed { pr, train_root } => {
            state.dismissals.insert(*pr, *train_root);
        }
        Event::DismissalTold { pr } => {
            state.dismissals.remove(pr);
        }
        Event::BranchOutlived { pr, branch, head_sha } => {
            let (branch, head) = (branch.clone(), head_sha.clone());
            state.outlived.insert(*pr, Outlived { branch, head, backoff: Backoff::default() });
        }
        Event::BranchSettled { pr } => {
            state.outlived.remove(pr);
        }
        Event::CommandGiven { comment, user, login, command, delivery } => state.commands.push(Given {
            comment: *comment,
            user: *user,
            login: login.clone(),
            command: command.clone(),
            delivery: delivery.clone(),
            backoff: Backoff::default(),
        }),
        Event::CommandHandled { comment, command, .. } => {
            let handled = |given: &Given| given.comment == *comment && given.command == *command;
            if let Some(at) = state.commands.iter().position(handled) {
                state.commands.remove(at);
            }
        }
        Event::TrainsPolled {} => state.polled_at = Some(ts),
        _ => {}
    }
}

fn hear_ci(ci: &mut CiFacts, what: &CiWord) {
    match what {
        CiWord::Suite { id, progress } => {
            ci.suites.insert(*id, *progress);
        }
        CiWord::Status { context, verdict } => {
            let required = ci.checks.get(context).is_some_and(|check| check.required);
            ci.checks.insert(context.clone(), Check { verdict: *verdict, required });
        }
    }
}

/// For the train that is at this pull request.
fn at_it(state: &mut RepoState, pr: PrNumber, how: fn(&mut Detail)) {
    for (root, train) in &state.active_trains {
        if train.current_pr == pr
            && let Some(detail) = state.details.get_mut(root)
        {
            how(detail);
        }
    }
}

fn observe(state: &mut RepoState, number: PrNumber, event: &Event, ts: Timestamp) {
    let Event::PrObserved {
        head_ref,
        head_sha,
        base_ref,
        draft,
        head_repo,
        author,
        updated_at,
        stack_position,
        title,
        ..
    } = event
    else {
        unreachable!("called for observations only")
    };
    if state.prs.get(&number).is_some_and(|known| known.head_sha != *head_sha) {
        let is_news = pace::is_new_head(state, number, head_sha);
        at_it(state, number, if is_news { Detail::forget_rechecks } else { Detail::hear });
        super::ratchet::head_moved(state, number, head_sha, ts);
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
        pr.head_ref = Some(head_ref.clone());
        pr.stack_position = *stack_position;
        pr.title.clone_from(title);
        pr.base_ref = base_ref.clone();
        pr.draft = *draft;
        pr.head_repo = *head_repo;
        pr.author = Some(*author);
        pr.updated_at = Some(*updated_at);
        pr.observed_at = Some(ts);
    });
}

pub(super) fn change(state: &mut RepoState, number: PrNumber, how: impl FnOnce(&mut CachedPr)) {
    state.unindex_one(number);
    if let Some(pr) = state.prs.get_mut(&number) {
        how(pr);
    }
    state.index_one(number);
}

fn read_failed(state: &mut RepoState, read: ReadKind, retry_at: Timestamp) {
    let backoff = match read {
        ReadKind::Repository => state.sync.wanted.as_mut().map(|(_, backoff)| backoff),
        ReadKind::Pull(pr) => state.wanted.get_mut(&pr).map(|wanted| &mut wanted.backoff),
        ReadKind::MergeStates => Some(&mut state.merge_reads),
        ReadKind::Talk => Some(&mut state.talk_reads),
        ReadKind::Policy => state.rules.wanted.as_mut(),
        // These keep count themselves.
        ReadKind::Settings | ReadKind::Proposal(_) => None,
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
