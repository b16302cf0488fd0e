//! Starting a train: what must hold, in the order in which it is cheap to find out.

use jiff::{SignedDuration, Timestamp};

use super::detail::is_live;
use super::texts::train_end::{self, Dismissal};
use super::texts::{notice, start as texts};
use super::work::{TrainTask, TrainTaskOutcome};
use super::{Effect, Event, Transaction, interventions, late, retry_at};
use super::{MergePolicy, StaleApprovals, TrainRecord, check_merge_method_preflight};
use crate::facts::{MergeState, ReviewDecision};
use crate::ids::PrNumber;
use crate::repo::event::{Attribution, CommentRef, ReadKind};
use crate::repo::mirror::reads;
use crate::repo::outbox::NoteContent;
use crate::repo::state::{CachedPr, PrState, RepoState};
use crate::repo::{EffectFailure, EffectFailureKind, Event as RepoEvent, mirror};

/// How often something is tried again before the start is refused for it.
pub(super) const MOST_TRIES: u32 = 4;
/// How long a start waits for what GitHub promises for later.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(30);

/// Somebody wants the stack of this pull request to land. Err: why that cannot be.
pub(in crate::repo) fn ask(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    comment: Option<CommentRef>,
    behest: &Attribution,
) -> Result<(), String> {
    let targets = targets(&transaction.state, pr)?;
    for target in &targets {
        possible(transaction, *target)?;
    }
    for target in targets {
        transaction.record(Event::StartAsked { pr: target, comment, behest: behest.clone() });
    }
    if transaction.state.rules.wanted.is_some() {
        want_policy_now(transaction);
    }
    Ok(())
}

/// Where a train begins: at the pull request itself, or, if that landed and its train halted after it, where it halted.
fn targets(state: &RepoState, pr: PrNumber) -> Result<Vec<PrNumber>, String> {
    let Some(cached) = state.prs.get(&pr) else { return Err(texts::not_open(pr)) };
    if cached.is_open() {
        return Ok(vec![pr]);
    }
    let is_of = |train: &&TrainRecord| train.current_pr == pr || train.original_root_pr == pr;
    let halted = state.active_trains.values().filter(|train| !is_live(train.state)).find(is_of);
    let left = halted.map(|train| left_by(state, train)).unwrap_or_default();
    if matches!(cached.state, PrState::Merged { .. }) && !left.is_empty() {
        return Ok(left);
    }
    Err(texts::not_open(pr))
}

/// Where a train that halted can go on: at the pull request that it was at, or, if that has landed, at what stood on it.
fn left_by(state: &RepoState, train: &TrainRecord) -> Vec<PrNumber> {
    let is_ours = |number: &PrNumber| state.prs.get(number).is_some_and(CachedPr::is_ours);
    let Some(current) = state.prs.get(&train.current_pr) else { return Vec::new() };
    if current.is_open() {
        return vec![train.current_pr];
    }
    let frozen = train.cascade_phase.frozen_descendants();
    if !frozen.is_empty() {
        return frozen.iter().copied().filter(is_ours).collect();
    }
    let stands = |number: &PrNumber| {
        let base = state.prs.get(number).map(|pr| &pr.base_ref);
        is_ours(number) && (base == current.head_ref.as_ref() || base == state.default_branch.as_ref())
    };
    state.descendants(train.current_pr).filter(stands).collect()
}

/// What can be told without asking anybody.
fn possible(transaction: &Transaction<'_>, pr: PrNumber) -> Result<(), String> {
    let state = &transaction.state;
    let Some(cached) = state.prs.get(&pr).filter(|cached| cached.is_open()) else { return Err(texts::not_open(pr)) };
    if let Some(root) = state.train_of(pr)
        && state.active_trains.get(&root).is_some_and(|train| is_live(train.state))
    {
        return Err(texts::already_running(root));
    }
    if let Some(told) = interventions::collapsed_below(state, pr) {
        return Err(told);
    }
    match state.path_from_root(pr) {
        Some(path) if path.len() == 1 => {}
        Some(path) => return Err(texts::not_the_root(pr, &path)),
        None => {
            let ring = interventions::ring(state, pr);
            return Err(ring.map_or_else(|| texts::not_the_root(pr, &[]), |ring| texts::cycle(&ring)));
        }
    }
    if cached.draft {
        return Err(texts::draft(pr));
    }
    let (found, most) = (state.stack_above(pr).len(), transaction.settings.max_stack_size);
    if found > most {
        return Err(texts::too_large(found, most));
    }
    Ok(())
}

/// Goes on with a start that was asked for: reads the rules, computes the plan, and begins.
pub(super) fn advance(transaction: &mut Transaction<'_>, pr: PrNumber) {
    if let Err(refusal) = possible(transaction, pr) {
        return refuse(transaction, pr, refusal);
    }
    if transaction.state.starts.get(&pr).is_none_or(|asked| !asked.backoff.is_due(transaction.now)) {
        return;
    }
    let Some(policy) = fresh_policy(transaction) else {
        // Asked for once; the start waits for the answer.
        return want_policy(transaction);
    };
    if let Err(refusal) = allowed(&policy) {
        return refuse(transaction, pr, refusal);
    }
    match plan_of(&transaction.state, pr) {
        Some(work) => transaction.effect(Effect::Work { root: pr, work }),
        None => begin(transaction, pr, &policy),
    }
}

/// The computation of what it would do. None where the pull request must first be related to what landed.
fn plan_of(state: &RepoState, pr: PrNumber) -> Option<TrainTask> {
    let default = state.default_branch.clone()?;
    let is_based = state.prs.get(&pr).is_some_and(|cached| cached.base_ref == default);
    let is_ready = is_based && !late::is_unrelated(state, pr);
    is_ready.then(|| TrainTask::Plan { members: state.stack_above(pr), default })
}

fn allowed(policy: &MergePolicy) -> Result<(), String> {
    check_merge_method_preflight(&policy.methods).map_err(|refusal| refusal.to_string())?;
    match policy.stale_approvals {
        StaleApprovals::Dismissed => Err(texts::dismiss_stale_approvals()),
        StaleApprovals::Kept | StaleApprovals::Unverified => Ok(()),
    }
}

fn fresh_policy(transaction: &Transaction<'_>) -> Option<MergePolicy> {
    let (policy, read_at) = transaction.state.rules.known.as_ref()?;
    let is_fresh = transaction.now.duration_since(*read_at) < transaction.settings.policy_ttl;
    (is_fresh && transaction.state.rules.wanted.is_none()).then(|| policy.clone())
}

pub(super) fn want_policy(transaction: &mut Transaction<'_>) {
    if transaction.state.rules.wanted.is_none() {
        transaction.record(Event::PolicyWanted {});
    }
}

/// A train that was not started here has rules, too.
pub(super) fn want_unknown_policy(transaction: &mut Transaction<'_>) {
    let has_trains = transaction.state.active_trains.values().any(|train| is_live(train.state));
    if has_trains && transaction.state.rules.known.is_none() {
        want_policy(transaction);
    }
}

/// The same, although a reading that failed is not due yet: somebody may have fixed it, and waits for the answer.
pub(super) fn want_policy_now(transaction: &mut Transaction<'_>) {
    if transaction.state.rules.wanted.is_none_or(|backoff| !backoff.is_due(transaction.now)) {
        transaction.record(Event::PolicyWanted {});
    }
}

pub(super) fn read_policy_if_wanted(transaction: &mut Transaction<'_>) {
    let is_due = transaction.state.rules.wanted.is_some_and(|backoff| backoff.is_due(transaction.now));
    if let (true, Some(default)) = (is_due, transaction.state.default_branch.clone()) {
        transaction.effect(Effect::ReadPolicy { default });
    }
}

pub(super) fn policy_read(transaction: &mut Transaction<'_>, result: Result<&MergePolicy, &EffectFailure>) {
    let Some(backoff) = transaction.state.rules.wanted else { return };
    match result {
        Ok(policy) => {
            transaction.record(Event::PolicyObserved { policy: policy.clone() });
            let dismissal = match policy.stale_approvals {
                StaleApprovals::Kept => Dismissal::Deliberate,
                StaleApprovals::Dismissed => Dismissal::BySetting,
                StaleApprovals::Unverified => Dismissal::Unverified,
            };
            tell_dismissals(transaction, dismissal);
        }
        Err(failure) => {
            let is_hopeless = is_hopeless(failure, backoff.attempts, transaction.now);
            if is_hopeless {
                let waiting: Vec<PrNumber> = transaction.state.starts.keys().copied().collect();
                for pr in waiting {
                    refuse(transaction, pr, texts::preflight_failed(&failure.reason));
                }
                tell_dismissals(transaction, Dismissal::Unverified);
            }
            let retry_at = reads::retry_at(failure, backoff.attempts, transaction.now);
            transaction.record(mirror::Event::ReadFailed {
                read: ReadKind::Policy,
                reason: failure.reason.clone(),
                retry_at,
            });
        }
    }
}

/// Whether a start does not wait for it: whoever asked for it is told now, and starts it again.
fn is_hopeless(failure: &EffectFailure, attempts: u32, now: Timestamp) -> bool {
    let is_far = failure.retry_at.is_some_and(|at| at.duration_since(now) >= LONGEST_WAIT);
    failure.kind == EffectFailureKind::Permanent || attempts + 1 >= MOST_TRIES || is_far
}

fn tell_dismissals(transaction: &mut Transaction<'_>, dismissal: Dismissal) {
    for (pr, _) in transaction.state.dismissals.clone() {
        transaction.record(Event::DismissalTold { pr });
        transaction.comment(pr, train_end::review_dismissed(pr, dismissal).comment());
    }
}

pub(super) fn planned(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    work: &TrainTask,
    result: Result<&TrainTaskOutcome, &EffectFailure>,
) {
    let Some(asked) = transaction.state.starts.get(&pr).cloned() else { return };
    match result {
        // The stack is another by now: it is planned again.
        _ if plan_of(&transaction.state, pr).as_ref() != Some(work) => {}
        Ok(TrainTaskOutcome::Planned(plan)) if plan.lands_everything() => {
            if let Some(policy) = fresh_policy(transaction) {
                begin(transaction, pr, &policy);
            }
        }
        Ok(TrainTaskOutcome::Planned(plan)) => refuse(transaction, pr, texts::would_conflict(plan)),
        Ok(_) => {}
        Err(failure) if is_hopeless(failure, asked.backoff.attempts, transaction.now) => {
            refuse(transaction, pr, texts::preflight_failed(&failure.reason));
        }
        Err(failure) => {
            let retry_at = retry_at(failure, asked.backoff.attempts, transaction.now);
            transaction.record(Event::StartDelayed { pr, reason: failure.reason.clone(), retry_at });
        }
    }
}

fn begin(transaction: &mut Transaction<'_>, pr: PrNumber, policy: &MergePolicy) {
    let asked = transaction.state.starts.get(&pr);
    let comment = asked.and_then(|asked| asked.comment);
    let behest = asked.map(|asked| asked.behest.clone()).unwrap_or_default();
    // Only a train that had it on board has its successor now; any other is still as it says.
    let trains = transaction.state.active_trains.values();
    let old: Vec<PrNumber> =
        trains.filter(|old| old.gives_way_to(pr)).map(|old| old.original_root_pr).filter(|old| *old != pr).collect();
    for train_root in old {
        transaction.record(Event::StatusClosing { train_root, text: notice::succeeded(pr), new_roots: Vec::new() });
    }
    let aboard = transaction.state.stack_above(pr).into_iter().map(|member| member.pull);
    let prs: Vec<PrNumber> = aboard.filter(|pr| transaction.state.pr(*pr).is_some_and(|pr| pr.left_out)).collect();
    if !prs.is_empty() {
        transaction.record(Event::PrsTakenIn { prs });
    }
    transaction.record(Event::TrainStarted { root_pr: pr, current_pr: pr, behest });
    transaction.record(Event::StartSettled { pr });
    transaction.record(mirror::Event::MergeStateOutdated { prs: vec![pr] });
    if let Some(comment) = comment {
        transaction.say(comment.pr, NoteContent::Acknowledge { comment: comment.id });
    }
    if policy.stale_approvals == StaleApprovals::Unverified {
        transaction.comment(pr, texts::unverified_protection());
    }
}

fn refuse(transaction: &mut Transaction<'_>, pr: PrNumber, refusal: String) {
    let on = transaction.state.starts.get(&pr).and_then(|asked| asked.comment).map_or(pr, |comment| comment.pr);
    transaction.record(Event::StartSettled { pr });
    transaction.comment(on, refusal);
}

/// Starts what is approved and mergeable once its checks have passed, where the operator wants that.
pub(super) fn automatically(transaction: &mut Transaction<'_>) {
    let before = transaction.before;
    if !transaction.settings.auto_start {
        return;
    }
    let ready: Vec<PrNumber> = transaction.plan.events.iter().filter_map(became_ready).collect();
    for pr in ready {
        let state = &transaction.state;
        let is_alone = state.descendants(pr).next().is_none();
        let is_known = state.train_of(pr).is_some() || state.starts.contains_key(&pr) || was_ready(before, pr);
        if !is_alone && !is_known && possible(transaction, pr).is_ok() {
            transaction.record(Event::StartAsked { pr, comment: None, behest: Attribution::default() });
        }
    }
}

fn became_ready(event: &RepoEvent) -> Option<PrNumber> {
    let RepoEvent::Mirror(mirror::Event::MergeStateObserved {
        pr,
        state: MergeState::Clean | MergeState::Unstable,
        draft: false,
        review,
        ci,
        ..
    }) = event
    else {
        return None;
    };
    (is_approved(*review) && !ci.checks.is_empty()).then_some(*pr)
}

fn is_approved(review: Option<ReviewDecision>) -> bool {
    !matches!(review, Some(ReviewDecision::ReviewRequired | ReviewDecision::ChangesRequested))
}

/// Whether it was known before that the stack could start: then it did, or its author was told why not.
fn was_ready(before: &RepoState, pr: PrNumber) -> bool {
    let is_ready = |pr: &CachedPr| {
        matches!(pr.merge_state, MergeState::Clean | MergeState::Unstable)
            && !pr.draft
            && is_approved(pr.review)
            && !pr.ci.checks.is_empty()
    };
    before.pr(pr).is_some_and(is_ready) && before.descendants(pr).next().is_some()
}

/// When a start is looked at again.
pub(super) fn wakes(state: &RepoState) -> impl Iterator<Item = Timestamp> + '_ {
    let starts = state.starts.values().filter_map(|asked| asked.backoff.retry_at);
    starts.chain(state.rules.wanted.and_then(|backoff| backoff.retry_at))
}
