//! What people do while trains are under way, and what that means for them.

use super::CascadePhase;
use super::detail::is_live;
use super::texts::train_end::{self, Dismissal};
use super::texts::{declare, notice};
use super::{Event, Transaction, ending, start};
use crate::facts::{CommentChange, Delivery, ReviewState, WebhookEvent};
use crate::ids::{BranchName, PrNumber};
use crate::repo::event::{FetchReason, PrStateName};
use crate::repo::state::{CachedPr, PrState, RepoState};
use crate::repo::{Event as RepoEvent, Input, mirror, outbox};

/// Looks at what was recorded: closed pull requests, other bases, other declarations.
pub(super) fn happened(transaction: &mut Transaction<'_>, input: &Input) {
    for event in transaction.plan.events.clone() {
        match event {
            RepoEvent::Mirror(event) => heard(transaction, &event, input),
            RepoEvent::Trains(_)
            | RepoEvent::Settings(_)
            | RepoEvent::Commands(_)
            | RepoEvent::Outbox(_)
            | RepoEvent::Ratchet(_) => {}
        }
    }
}

fn heard(transaction: &mut Transaction<'_>, event: &mirror::Event, input: &Input) {
    let before = transaction.before;
    match *event {
        mirror::Event::PrStateChanged { pr, state: PrStateName::Closed, .. } => closed(transaction, before, pr),
        mirror::Event::PrMerged { pr, .. } | mirror::Event::PrStateChanged { pr, state: PrStateName::Merged, .. } => {
            collapsed(transaction, before, pr);
        }
        mirror::Event::PrObserved { pr, .. } => observed(transaction, before, pr),
        mirror::Event::PredecessorRemoved { pr } => undeclared(transaction, before, pr, input),
        mirror::Event::PredecessorDeclared { pr, predecessor, .. } => redeclared(transaction, before, pr, predecessor),
        mirror::Event::PrStateChanged { state: PrStateName::Open, .. }
        | mirror::Event::PrGone { .. }
        | mirror::Event::DefaultBranchChanged { .. }
        | mirror::Event::PrWanted { .. }
        | mirror::Event::CommentSuperseded { .. }
        | mirror::Event::MergeStateOutdated { .. }
        | mirror::Event::MergeStateObserved { .. }
        | mirror::Event::CiSeen { .. }
        | mirror::Event::BotKnown { .. }
        | mirror::Event::SyncRequested { .. }
        | mirror::Event::RepositoryListed { .. }
        | mirror::Event::ConversationsWanted { .. }
        | mirror::Event::ConversationsHeard { .. }
        | mirror::Event::FormerHeadsHeard { .. }
        | mirror::Event::SyncCompleted {}
        | mirror::Event::ReadFailed { .. }
        | mirror::Event::DeliveryProcessed { .. }
        | mirror::Event::Pruned { .. } => {}
    }
}

/// What stood on it is orphaned.
fn closed(transaction: &mut Transaction<'_>, before: &RepoState, pr: PrNumber) {
    let was_open = before.pr(pr).is_some_and(CachedPr::is_open);
    let above: Vec<PrNumber> = transaction.state.descendants(pr).collect();
    for orphan in above.into_iter().filter(|_| was_open) {
        let is_left = transaction.state.pr(orphan).is_some_and(CachedPr::is_ours);
        if is_left && !outbox::is_closing(&transaction.state, orphan) {
            let told = orphaned_above(&transaction.state, orphan, pr);
            told.into_iter().for_each(|told| transaction.comment(orphan, told));
        }
    }
}

/// What is said to a pull request whose predecessor was closed.
fn orphaned_above(state: &RepoState, orphan: PrNumber, closed: PrNumber) -> Option<String> {
    let lower = state.pr(closed)?.predecessor.filter(|lower| state.pr(*lower).is_some_and(CachedPr::is_open));
    let lower_branch = lower.and_then(|lower| state.pr(lower)?.head_ref.clone());
    let onto = lower_branch.or_else(|| state.default_branch.clone())?;
    Some(notice::orphaned(orphan, closed, &onto, lower))
}

/// It was merged into the branch of what it stood on, and not into the default branch: what stood on it has nothing to stand
/// on any more.
fn collapsed(transaction: &mut Transaction<'_>, before: &RepoState, number: PrNumber) {
    if before.pr(number).is_none_or(|pr| !pr.is_open()) {
        return;
    }
    for above in transaction.state.descendants(number).collect::<Vec<_>>() {
        if let Some(told) = collapsed_below(&transaction.state, above) {
            transaction.comment(above, told);
        }
    }
}

/// What is said to a pull request whose predecessor was merged into another branch than the default branch.
pub(super) fn collapsed_below(state: &RepoState, number: PrNumber) -> Option<String> {
    let pr = state.pr(number).filter(|pr| pr.is_ours())?;
    let predecessor = pr.predecessor?;
    let below = state.pr(predecessor)?;
    let into = state.collapsed_into(below)?;
    let target = state.pr(into)?;
    let default = state.default_branch.clone()?;
    let (onto, new) = match target.is_open() {
        true => (target.head_ref.clone()?, Some(into)),
        false => (default, None),
    };
    let moved = train_end::ManualBranchMove::without(pr.head_ref.as_ref()?, &below.head_sha, &onto);
    Some(notice::collapsed(number, predecessor, into, &onto, new, &moved))
}

/// It may have another base, which no longer is the branch of what it declares to stand on. Whoever landed that may have
/// changed the base, too, and nobody hears of the two in order: what it stands on is looked at before anything is said.
fn observed(transaction: &mut Transaction<'_>, before: &RepoState, number: PrNumber) {
    let was_left = before.wanted.get(&number).is_some_and(|wanted| wanted.is_left);
    if was_left && !transaction.state.wanted.contains_key(&number) {
        let above: Vec<PrNumber> = transaction.state.descendants(number).collect();
        above.into_iter().for_each(|above| warn_of_base(transaction, above));
    }
    let (Some(was), Some(pr)) = (before.pr(number), transaction.state.pr(number)) else { return };
    if was.base_ref == pr.base_ref {
        return;
    }
    if let Some((predecessor, _)) = left(&transaction.state, number) {
        transaction.record(mirror::Event::PrWanted {
            pr: predecessor,
            reason: FetchReason::BaseChanged,
            comment: None,
        });
    } else if pr.left_out && pr.is_ours() && live_train(&transaction.state, number).is_some() {
        transaction.comment(number, notice::still_left_out(number));
    }
}

/// The open pull request that one declares to stand on and is not based on, with its branch.
fn left(state: &RepoState, number: PrNumber) -> Option<(PrNumber, BranchName)> {
    let pr = state.pr(number).filter(|pr| pr.is_ours())?;
    let predecessor = pr.predecessor?;
    let below = state.pr(predecessor).filter(|below| below.state == PrState::Open)?;
    let head = below.head_ref.clone().filter(|head| *head != pr.base_ref)?;
    Some((predecessor, head))
}

fn warn_of_base(transaction: &mut Transaction<'_>, number: PrNumber) {
    let Some((predecessor, head)) = left(&transaction.state, number) else { return };
    let Some(base) = transaction.state.pr(number).map(|pr| pr.base_ref.clone()) else { return };
    let train = live_train(&transaction.state, number);
    if train.is_some() {
        transaction.record(Event::PrLeftOut { pr: number });
    }
    transaction.comment(number, declare::retargeted_away(number, &base, predecessor, &head, train));
}

/// The declaration is gone: if its pull request was on board of a train, the stack is not what was started.
fn undeclared(transaction: &mut Transaction<'_>, before: &RepoState, pr: PrNumber, input: &Input) {
    let Some(from) = open_predecessor(before, pr) else { return };
    let Some(root) = live_train(before, pr) else { return };
    let is_deleted = matches!(
        input,
        Input::Delivery { delivery: Delivery { happening: WebhookEvent::Comment(CommentChange::Deleted, _), .. }, .. }
    );
    let halt = if is_deleted {
        train_end::declaration_deleted(pr)
    } else {
        train_end::declaration_changed(pr, Some(from), None)
    };
    ending::abort(transaction, root, pr, &halt);
}

fn redeclared(transaction: &mut Transaction<'_>, before: &RepoState, pr: PrNumber, to: PrNumber) {
    let Some(root) = live_train(before, pr) else { return };
    if let Some(ring) = ring(&transaction.state, pr) {
        return ending::abort(transaction, root, pr, &train_end::cycle(&ring));
    }
    let from = open_predecessor(before, pr).filter(|from| *from != to);
    let is_open = transaction.state.pr(pr).is_some_and(CachedPr::is_open);
    let train = before.active_trains.get(&root).filter(|train| train.current_pr == pr && is_open);
    // What is about to land by itself cannot stand on what has not landed: that one's train would deal with it, too. And what
    // has landed it must be related to first, for which it is too late once the descendants are frozen.
    let is_on_open = open_predecessor(&transaction.state, pr).is_some();
    let is_too_late = train.is_some_and(|train| is_on_open || train.cascade_phase != CascadePhase::Idle);
    if from.is_some() || is_too_late {
        ending::abort(transaction, root, pr, &train_end::declaration_changed(pr, from, Some(to)));
    }
}

/// The way that leads from a pull request back to itself.
pub(super) fn ring(state: &RepoState, pr: PrNumber) -> Option<Vec<PrNumber>> {
    let mut path = vec![pr];
    loop {
        let below = state.pr(*path.last()?)?.predecessor?;
        path.push(below);
        if below == pr {
            return Some(path);
        }
        if path[..path.len() - 1].contains(&below) {
            return None;
        }
    }
}

/// What it stands on, as long as that has not landed: what has is settled, whatever the comment says.
fn open_predecessor(state: &RepoState, pr: PrNumber) -> Option<PrNumber> {
    let below = state.pr(pr)?.predecessor?;
    state.pr(below).is_none_or(|pr| !matches!(pr.state, PrState::Merged { .. })).then_some(below)
}

fn live_train(state: &RepoState, pr: PrNumber) -> Option<PrNumber> {
    let root = state.train_of(pr)?;
    state.active_trains.get(&root).filter(|train| is_live(train.state)).map(|_| root)
}

/// An approval that is taken away ends the train at once; why it was, the rules of the repository tell.
pub(super) fn reviewed(transaction: &mut Transaction<'_>, delivery: &Delivery) {
    let WebhookEvent::Review { pull, state: ReviewState::Dismissed } = &delivery.happening else { return };
    if delivery.action.as_deref() != Some("dismissed") || is_repeated(transaction) {
        return;
    }
    let pr = pull.number;
    if !transaction.state.pr(pr).is_some_and(CachedPr::is_open) {
        return;
    }
    let Some(root) = live_train(&transaction.state, pr) else { return };
    let halt = train_end::review_dismissed(pr, Dismissal::Deliberate);
    ending::abort_quietly(transaction, root, pr, &halt);
    transaction.record(Event::DismissalNoticed { pr, train_root: root });
    start::want_policy_now(transaction);
}

fn is_repeated(transaction: &Transaction<'_>) -> bool {
    use crate::repo::DeliveryOutcome;
    let last = transaction.plan.events.iter().rev().find_map(|event| {
        let RepoEvent::Mirror(mirror::Event::DeliveryProcessed { outcome, .. }) = event else { return None };
        Some(outcome)
    });
    matches!(last, Some(DeliveryOutcome::Duplicate { .. }))
}
