//! What is looked after although no webhook came: they get lost.

use jiff::{SignedDuration, Timestamp};

use super::detail::is_live;
use super::{Event, Transaction, chores, start, status_updates};
use crate::ids::PrNumber;
use crate::repo::state::RepoState;
use crate::repo::{Settings, mirror, pace};

/// Asks GitHub about the pull requests that trains wait for, if it is time.
pub(super) fn poll_if_due(transaction: &mut Transaction<'_>) {
    if next_poll(&transaction.state, &transaction.settings).is_none_or(|at| at > transaction.now) {
        return;
    }
    transaction.record(Event::TrainsPolled {});
    let prs: Vec<PrNumber> = frontier(&transaction.state).collect();
    if !prs.is_empty() {
        transaction.record(mirror::Event::MergeStateOutdated { prs });
    }
}

/// The pull requests that trains are at.
fn frontier(state: &RepoState) -> impl Iterator<Item = PrNumber> + '_ {
    let live = state.active_trains.values().filter(|train| is_live(train.state)).map(|train| train.current_pr);
    live.filter(|pr| state.pr(*pr).is_some_and(crate::repo::CachedPr::is_ours))
}

/// When the next poll is due: only where a train is under way, and not for all repositories at once.
fn next_poll(state: &RepoState, settings: &Settings) -> Option<Timestamp> {
    let live = state.active_trains.values().filter(|train| is_live(train.state));
    let oldest = live.map(|train| train.started_at).min()?;
    let last = state.polled_at.map_or(oldest, |polled| polled.max(oldest));
    // A different one each time and for each repository, a fifth of the interval to either side.
    let seed =
        settings.stagger ^ u64::try_from(last.as_millisecond()).unwrap_or_default().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let interval = settings.poll_interval.as_millis();
    let span = interval * 2 / 5;
    let jitter = if span > 0 { i128::from(seed >> 1) % span - span / 2 } else { 0 };
    let wait = SignedDuration::from_millis(i64::try_from(interval + jitter).unwrap_or(i64::MAX));
    last.checked_add(wait).ok()
}

/// When trains have to be looked at although nothing comes in.
pub(in crate::repo) fn wakes(state: &RepoState, settings: &Settings) -> impl Iterator<Item = Timestamp> {
    let details = state.details.values();
    let retries = details.clone().filter_map(|detail| detail.retry_at);
    let rechecks = details.filter_map(|detail| detail.recheck_at);
    let wakes: Vec<Timestamp> = retries
        .chain(rechecks)
        .chain(next_poll(state, settings))
        .chain(start::wakes(state))
        .chain(status_updates::wakes(state))
        .chain(chores::wakes(state))
        .chain(pace::wakes(state))
        .collect();
    wakes.into_iter()
}
