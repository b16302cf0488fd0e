//! Forgetting what is not needed any more.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Event;
use crate::ids::PrNumber;
use crate::inbox::DedupeWindow;
use crate::repo::Settings;
use crate::repo::state::{CachedPr, RepoState};

/// So many keys of equal payloads may lie about before they are worth an event of their own.
const BRIEF_KEYS_KEPT: usize = 1000;

/// So many keys are kept at most, the newest: a repository that sends more in a day would fill the memory with them.
const MOST_KEYS: usize = 50_000;

/// What can be forgotten now, if anything.
pub(in crate::repo) fn plan(state: &RepoState, settings: &Settings, now: Timestamp) -> Option<Event> {
    let prs = forgettable(state, settings, now);
    let dedupe_keys_before =
        now.checked_sub(settings.dedupe_ttl).unwrap_or(Timestamp::MIN).max(beyond_the_limit(state));
    let has_old_keys = state.seen_dedupe_keys.values().any(|seen| *seen < dedupe_keys_before);
    let brief_before = now.checked_sub(DedupeWindow::BRIEF).unwrap_or(Timestamp::MIN);
    let is_brief =
        |(key, seen): &(&String, &Timestamp)| key.starts_with(DedupeWindow::BRIEF_PREFIX) && **seen < brief_before;
    let has_many_brief =
        state.seen_dedupe_keys.iter().filter(is_brief).take(BRIEF_KEYS_KEPT + 1).count() > BRIEF_KEYS_KEPT;
    (!prs.is_empty() || has_old_keys || has_many_brief).then_some(Event::Pruned {
        prs,
        dedupe_keys_before,
        brief_keys_before: brief_before,
    })
}

/// When the oldest key was seen that there is room for.
fn beyond_the_limit(state: &RepoState) -> Timestamp {
    let Some(excess) = state.seen_dedupe_keys.len().checked_sub(MOST_KEYS).filter(|excess| *excess > 0) else {
        return Timestamp::MIN;
    };
    let mut seen: Vec<Timestamp> = state.seen_dedupe_keys.values().copied().collect();
    *seen.select_nth_unstable(excess).1
}

fn forgettable(state: &RepoState, settings: &Settings, now: Timestamp) -> Vec<PrNumber> {
    let kept = referenced(state);
    let loose = |(number, pr): &(&PrNumber, &CachedPr)| !pr.is_open() && !kept.contains(number);
    let is_old = |pr: &CachedPr| pr.closed_at().is_some_and(|at| now.duration_since(at) >= settings.pr_retention);
    let mut prune: BTreeSet<PrNumber> =
        state.prs.iter().filter(loose).filter(|(_, pr)| is_old(pr)).map(|(number, _)| *number).collect();
    let remaining = state.prs.len() - prune.len();
    let excess = remaining.saturating_sub(settings.max_prs_in_snapshot);
    let oldest_first =
        state.prs.iter().filter(loose).map(|(number, _)| *number).filter(|number| !prune.contains(number));
    let excessive: Vec<PrNumber> = oldest_first.take(excess).collect();
    prune.extend(excessive);
    prune.into_iter().collect()
}

/// All that an open pull request or a train leads to.
fn referenced(state: &RepoState) -> BTreeSet<PrNumber> {
    let mut queue: Vec<PrNumber> = state.prs.iter().filter(|(_, pr)| pr.is_open()).map(|(number, _)| *number).collect();
    for train in state.active_trains.values() {
        queue.extend([train.original_root_pr, train.current_pr]);
        queue.extend(train.predecessor_pr);
        queue.extend(train.cascade_phase.frozen_descendants());
    }
    let mut kept = BTreeSet::new();
    while let Some(number) = queue.pop() {
        if kept.insert(number) {
            queue.extend(state.prs.get(&number).and_then(|pr| pr.predecessor));
        }
    }
    kept
}
