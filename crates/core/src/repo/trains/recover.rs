//! What GitHub remembers of trains: their status comments, and, where those are gone too, the traces that trains leave.
//!
//! Of two records of one train the one with the higher `recovery_seq` counts, wherever it is. A train of which nobody knows how
//! far it had come is not resumed: a person has to look.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::detail::{CLOSED, is_live};
use super::status::{self, Unreadable};
use super::texts::notice;
use super::{CascadePhase, Event, TrainError, TrainRecord, TrainState};
use super::{Effect, Transaction, retry_at, start};
use crate::facts::{CommentFacts, ConversationFacts};
use crate::ids::{CommentId, PrNumber};
use crate::repo::commands::{self, AddressedLine, Command};
use crate::repo::event::{Attribution, StatusCommentPart, SyncReason, TrainTraces};
use crate::repo::mirror::reads;
use crate::repo::state::{CachedPr, PrState, RepoState};
use crate::repo::{EffectFailure, EffectFailureKind, EffectOwner, Event as RepoEvent, mirror};

/// Whoever resumes a train cannot know whether the state it has is the newest: a backup is older than what it was made of.
pub(super) fn doubt_statuses(transaction: &mut Transaction<'_>) {
    let is_doubtful = |root: &PrNumber| {
        let status = transaction.state.details.get(root).map(|detail| &detail.status);
        status.is_some_and(|status| status.comment.is_some() && !status.doubted && status.closing.is_none())
    };
    let roots: Vec<PrNumber> = transaction.state.active_trains.keys().copied().filter(is_doubtful).collect();
    for train_root in roots {
        transaction.record(Event::StatusDoubted { train_root });
    }
}

/// Reads what is doubted.
pub(super) fn read_if_due(transaction: &mut Transaction<'_>, root: PrNumber) {
    let Some(status) = transaction.state.details.get(&root).map(|detail| &detail.status) else { return };
    let is_due = status.doubted && status.retry_at.is_none_or(|at| at <= transaction.now);
    if let (true, Some(comment)) = (is_due, status.comment) {
        transaction.effect(Effect::ReadStatus { root, comment });
    }
}

/// The status comment was read back.
pub(super) fn status_read(
    transaction: &mut Transaction<'_>,
    root: PrNumber,
    comment: CommentId,
    result: Result<&Option<CommentFacts>, &EffectFailure>,
) {
    let Some(status) = transaction.state.details.get(&root).map(|detail| &detail.status) else { return };
    if !status.doubted || status.comment != Some(comment) {
        return;
    }
    let is_written = status.shown != 0 && status.shown != CLOSED;
    match result {
        Err(failure) if failure.kind == EffectFailureKind::Transient => {
            let retry_at = retry_at(failure, status.attempts, transaction.now);
            transaction.record(Event::StatusDelayed { train_root: root, reason: failure.reason.clone(), retry_at });
            return;
        }
        // Nobody can say that it shows more than is known.
        Err(_) | Ok(None) => {}
        Ok(Some(found)) => match shown(&transaction.state, root, std::slice::from_ref(found)) {
            StatusCommentPart::Record { record, comment, updated_at } if is_ahead(&transaction.state, &record) => {
                adopt(transaction, &Found { record: &record, comment, updated_at });
                // What else is remembered is as old.
                look_again(transaction);
            }
            // A train that begins again finds the last word on the one before in its comment.
            StatusCommentPart::Closed { .. } if is_written => return over(transaction, root),
            StatusCommentPart::Record { .. }
            | StatusCommentPart::Closed { .. }
            | StatusCommentPart::ByAnother
            | StatusCommentPart::Nothing => {}
        },
    }
    if transaction.state.details.get(&root).is_some_and(|detail| detail.status.doubted) {
        transaction.record(Event::StatusTrusted { train_root: root });
    }
}

/// Its comment has the last word on it already: what is remembered is older than its end.
fn over(transaction: &mut Transaction<'_>, root: PrNumber) {
    let reason = "its status comment says that it has ended".to_owned();
    transaction.plan.cancels.push(EffectOwner::Train(root));
    transaction.record(Event::TrainForgotten { root_pr: root, reason });
    look_again(transaction);
}

/// GitHub has gone on without what is remembered here: trains wait until all of it is read.
fn look_again(transaction: &mut Transaction<'_>) {
    reads::request_sync(transaction, SyncReason::Behind);
}

/// What a conversation tells of trains, if that is more than is known.
pub(in crate::repo) fn trace(state: &RepoState, conversation: &ConversationFacts) -> Option<TrainTraces> {
    let pr = conversation.pr;
    let shown = match shown(state, pr, &conversation.comments) {
        StatusCommentPart::Record { record, .. } if !is_ahead(state, &record) => StatusCommentPart::Nothing,
        shown => shown,
    };
    if !state.is_bootstrapping() {
        return matches!(shown, StatusCommentPart::Record { .. }).then_some(TrainTraces { shown, ..silent(pr) });
    }
    let acknowledged = conversation.comments.iter().filter(|comment| conversation.acknowledged.contains(&comment.id));
    let last = acknowledged.filter_map(order).next_back();
    let trace = TrainTraces {
        pr,
        started_at: last.as_ref().and_then(|(order, at)| (*order == Order::Start).then_some(*at)),
        stopped_at: last.as_ref().and_then(|(order, at)| (*order == Order::Stop).then_some(*at)),
        merged_by_bot: conversation.merged_by.is_some() && conversation.merged_by == state.bot,
        shown,
    };
    (trace != silent(pr)).then_some(trace)
}

fn silent(pr: PrNumber) -> TrainTraces {
    TrainTraces { pr, started_at: None, stopped_at: None, merged_by_bot: false, shown: StatusCommentPart::Nothing }
}

#[derive(PartialEq)]
enum Order {
    Start,
    Stop,
}

/// What a comment orders, the last if it is more, and when.
fn order(comment: &CommentFacts) -> Option<(Order, Timestamp)> {
    let mut orders = commands::parse_all(&comment.body).into_iter().filter_map(|said| match said {
        AddressedLine::Command(Command::Start) => Some(Order::Start),
        AddressedLine::Command(command) if command.is_stop() => Some(Order::Stop),
        AddressedLine::Command(_)
        | AddressedLine::Misused { .. }
        | AddressedLine::Unknown { .. }
        | AddressedLine::TooMany => None,
    });
    Some((orders.next_back()?, comment.created_at))
}

/// What the comments under a pull request show of the train that began there. Only the bot's own are believed.
fn shown(state: &RepoState, pr: PrNumber, comments: &[CommentFacts]) -> StatusCommentPart {
    let Some(bot) = state.bot else { return StatusCommentPart::Nothing };
    let mut best = StatusCommentPart::Nothing;
    for comment in comments {
        let found = match status::parse(&comment.body, comment.author, bot) {
            Ok(record) if record.original_root_pr == pr => StatusCommentPart::Record {
                record: Box::new(record),
                comment: comment.id,
                updated_at: comment.updated_at,
            },
            Err(Unreadable::NoState) => match status::closed_for(&comment.body) {
                Some(new_roots) => StatusCommentPart::Closed { new_roots },
                None => StatusCommentPart::Nothing,
            },
            Err(Unreadable::NotOurs) if status::looks_like_one(&comment.body) => StatusCommentPart::ByAnother,
            Ok(_) | Err(Unreadable::NotOurs | Unreadable::Broken(_)) => StatusCommentPart::Nothing,
        };
        if weight(&found) >= weight(&best) {
            best = found;
        }
    }
    best
}

/// Of several the newest record counts.
fn weight(shown: &StatusCommentPart) -> (u8, u64) {
    match shown {
        StatusCommentPart::Nothing => (0, 0),
        StatusCommentPart::ByAnother => (1, 0),
        StatusCommentPart::Closed { .. } => (2, 0),
        StatusCommentPart::Record { record, .. } => (3, record.recovery_seq),
    }
}

/// Whether a record is newer than what is known of its train.
fn is_ahead(state: &RepoState, record: &TrainRecord) -> bool {
    let root = record.original_root_pr;
    let known = state.active_trains.get(&root).map(|train| train.recovery_seq);
    known.max(state.ended.get(&root).copied()).is_none_or(|known| record.recovery_seq > known)
}

struct Found<'a> {
    record: &'a TrainRecord,
    comment: CommentId,
    updated_at: Timestamp,
}

/// Takes over what a status comment shows, where that is ahead.
fn adopt(transaction: &mut Transaction<'_>, found: &Found<'_>) {
    let root = found.record.original_root_pr;
    if !is_ahead(&transaction.state, found.record) {
        return;
    }
    let local = transaction.state.active_trains.get(&root);
    // What somebody said after the comment was written still holds.
    let is_stopped = local.is_some_and(|train| {
        train.state == TrainState::Stopped && train.stopped_at.is_some_and(|at| at > found.updated_at)
    });
    if local.is_some() {
        transaction.plan.cancels.push(EffectOwner::Train(root));
    }
    let landed = landed(&transaction.state, found.record);
    let record = TrainRecord { status_comment_id: None, ..found.record.clone() };
    transaction.record(Event::TrainRecovered { record, comment: found.comment, landed });
    if is_stopped {
        transaction.record(Event::TrainStopped { root_pr: root, behest: Attribution::default() });
    }
}

/// What the train has behind it, from where it began to where it is.
fn landed(state: &RepoState, train: &TrainRecord) -> Vec<PrNumber> {
    let mut path: Vec<PrNumber> = Vec::new();
    let mut next = Some(train.current_pr);
    while let Some(number) = next.filter(|number| !path.contains(number)) {
        path.push(number);
        next = state.pr(number).and_then(|pr| pr.predecessor).filter(|_| number != train.original_root_pr);
    }
    path.reverse();
    path.retain(|number| state.pr(*number).is_some_and(has_landed));
    path
}

fn has_landed(pr: &CachedPr) -> bool {
    matches!(pr.state, PrState::Merged { .. })
}

/// The whole repository was looked at: takes over what was found of trains, and judges what was not.
pub(super) fn settle(transaction: &mut Transaction<'_>) {
    let before = transaction.before;
    let completed =
        transaction.plan.events.iter().any(|event| matches!(event, RepoEvent::Mirror(mirror::Event::SyncCompleted {})));
    if !completed {
        return;
    }
    let mut traces = before.sync.traces.clone();
    for event in &transaction.plan.events {
        if let RepoEvent::Mirror(mirror::Event::ConversationsHeard { traces: heard, .. }) = event {
            traces.extend(heard.iter().map(|trace| (trace.pr, trace.clone())));
        }
    }
    for trace in traces.values() {
        if let StatusCommentPart::Record { record, comment, updated_at } = &trace.shown {
            adopt(transaction, &Found { record, comment: *comment, updated_at: *updated_at });
        }
    }
    heed_stops(transaction, &traces);
    if traces.values().any(|trace| matches!(trace.shown, StatusCommentPart::Record { .. })) {
        forget_succeeded(transaction);
        complete_fan_outs(transaction);
        start::want_unknown_policy(transaction);
    }
    if before.is_bootstrapping() {
        for root in lost(&transaction.state, &traces) {
            hand_to_a_person(transaction, root);
        }
    }
}

/// A stop that was acknowledged holds, although the status comment has not come to say so.
fn heed_stops(transaction: &mut Transaction<'_>, traces: &BTreeMap<PrNumber, TrainTraces>) {
    let live = transaction.state.active_trains.values().filter(|train| is_live(train.state));
    let is_stopped = |train: &&TrainRecord| {
        let aboard = |trace: &&TrainTraces| transaction.state.train_of(trace.pr) == Some(train.original_root_pr);
        let aboard: Vec<&TrainTraces> = traces.values().filter(aboard).collect();
        let stopped_at = aboard.iter().filter_map(|trace| trace.stopped_at).max();
        let started_at = aboard.iter().filter_map(|trace| trace.started_at).max().max(Some(train.started_at));
        stopped_at > started_at
    };
    let stopped: Vec<PrNumber> = live.filter(is_stopped).map(|train| train.original_root_pr).collect();
    for root_pr in stopped {
        transaction.record(Event::TrainStopped { root_pr, behest: Attribution::default() });
    }
}

/// A train that halted, and was started again elsewhere: only the younger goes on.
fn forget_succeeded(transaction: &mut Transaction<'_>) {
    let trains = &transaction.state.active_trains;
    let successor = |old: &TrainRecord| {
        let mut younger = trains.values().filter(|train| train.original_root_pr != old.original_root_pr);
        younger.find(|train| train.started_at > old.started_at && old.gives_way_to(train.original_root_pr))
    };
    let pairs: Vec<(PrNumber, PrNumber)> = trains
        .values()
        .filter_map(|old| successor(old).map(|train| (old.original_root_pr, train.original_root_pr)))
        .collect();
    for (old, new) in pairs {
        let (text, new_roots) = (notice::succeeded(new), Vec::new());
        transaction.record(Event::StatusClosing { train_root: old, text, new_roots });
        transaction
            .record(Event::TrainForgotten { root_pr: old, reason: format!("it goes on as the train of #{new}") });
    }
}

/// A train that parted, as far as its own comment knows not completely: some of the new ones have comments of their own.
fn complete_fan_outs(transaction: &mut Transaction<'_>) {
    let trains = &transaction.state.active_trains;
    let has_parted = |train: &&TrainRecord| {
        let frozen = train.cascade_phase.frozen_descendants();
        let is_own = |root: &PrNumber| trains.get(root).is_some_and(|own| own.started_at >= train.started_at);
        is_live(train.state) && frozen.iter().any(|number| *number != train.original_root_pr && is_own(number))
    };
    let parted: Vec<(PrNumber, CascadePhase)> =
        trains.values().filter(has_parted).map(|train| (train.original_root_pr, train.cascade_phase.clone())).collect();
    for (old_root, phase) in parted {
        let aboard = phase.frozen_descendants().iter().filter(|number| !phase.skipped().contains(number));
        let all = first_unlanded(&transaction.state, aboard.copied().collect());
        let is_missing = |number: &PrNumber| !transaction.state.active_trains.contains_key(number);
        let new_roots: Vec<PrNumber> = all.iter().copied().filter(is_missing).collect();
        let text = notice::fan_out_completed(&all);
        transaction.record(Event::StatusClosing { train_root: old_root, text, new_roots: all.clone() });
        transaction.record(Event::FanOutCompleted { old_root, new_roots, original_root_pr: old_root });
        transaction.record(mirror::Event::MergeStateOutdated { prs: all });
    }
}

/// Of these what is open; and of what landed by a train that nothing shows any more, what stood on it.
fn first_unlanded(state: &RepoState, mut candidates: Vec<PrNumber>) -> Vec<PrNumber> {
    let mut index = 0;
    while let Some(number) = candidates.get(index).copied() {
        index += 1;
        if state.pr(number).is_some_and(has_landed) && !state.active_trains.contains_key(&number) {
            let above: Vec<PrNumber> = state.descendants(number).filter(|above| !candidates.contains(above)).collect();
            candidates.extend(above);
        }
    }
    candidates.retain(|number| state.pr(*number).is_some_and(|pr| pr.is_ours() && !pr.left_out));
    candidates
}

/// The pull requests that a train was at, of which nothing else is known any more: the first of each stack that is not merged.
fn lost(state: &RepoState, traces: &BTreeMap<PrNumber, TrainTraces>) -> Vec<PrNumber> {
    let trace = |pr: PrNumber| traces.get(&pr).cloned().unwrap_or_else(|| silent(pr));
    let is_lost = |number: PrNumber| {
        let below = state.landed_below(number);
        let own = trace(number);
        let is_told_here = matches!(own.shown, StatusCommentPart::Record { .. } | StatusCommentPart::Closed { .. });
        if is_told_here || state.train_of(number).is_some() {
            return false;
        }
        if own.started_at.is_some() {
            return true;
        }
        let Some(direct) = below.last() else { return false };
        let below: Vec<TrainTraces> = below.iter().map(|pr| trace(*pr)).collect();
        let is_of_a_train = trace(*direct).merged_by_bot
            || below.iter().any(|trace| trace.started_at.is_some())
            || below.iter().chain([&own]).any(|trace| trace.shown == StatusCommentPart::ByAnother);
        let is_accounted_for = below.iter().any(|trace| match &trace.shown {
            StatusCommentPart::Record { .. } => true,
            StatusCommentPart::Closed { new_roots } => !new_roots.contains(&number),
            StatusCommentPart::Nothing | StatusCommentPart::ByAnother => false,
        });
        is_of_a_train && !is_accounted_for
    };
    let is_first = |number: &PrNumber| {
        let pr = state.pr(*number);
        let below = pr.and_then(|pr| pr.predecessor).and_then(|below| state.pr(below));
        pr.is_some_and(CachedPr::is_ours) && below.is_none_or(has_landed)
    };
    state.prs.keys().copied().filter(is_first).filter(|number| is_lost(*number)).collect()
}

/// Which phase was cut off cannot be inferred, and to guess could lose what somebody wrote.
fn hand_to_a_person(transaction: &mut Transaction<'_>, root: PrNumber) {
    let stack = transaction.state.stack_above(root);
    let descendants: Vec<PrNumber> = stack.iter().map(|member| member.pull).filter(|number| *number != root).collect();
    let message = notice::state_lost(&descendants);
    transaction.record(Event::TrainStarted { root_pr: root, current_pr: root, behest: Attribution::default() });
    let error = TrainError { error_type: TrainError::STATE_LOST.to_owned(), message };
    transaction.record(Event::TrainFrozen { root_pr: root, error });
}
