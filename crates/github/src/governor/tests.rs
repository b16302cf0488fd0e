//! All on the runtime's paused clock: hours pass in no time.

mod turns;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance};

use super::*;
use crate::error::{CallName, Error, Executed};

const SECOND: Duration = Duration::from_secs(1);

fn governor(change: impl FnOnce(&mut Limits)) -> Arc<Governor> {
    let mut limits = Limits::default();
    change(&mut limits);
    Governor::new("test".to_owned(), limits)
}

fn call() -> CallName {
    CallName::new("GET", "/x")
}

fn ask(priority: Priority, effect: Effect) -> Ask {
    Ask { priority, effect, resource: Resource::Core, deadline: Instant::now() + 60 * SECOND }
}

fn answered() -> Attempt<()> {
    Attempt { result: Ok(()), report: report(Verdict::Answered) }
}

fn report(verdict: Verdict) -> Report {
    Report { verdict, quota: None, retry_after: None }
}

fn failing(executed: Executed) -> Attempt<()> {
    Attempt { result: Err(Error::transient(&call(), "down", executed)), report: report(Verdict::Failing) }
}

fn limited(retry_after: Option<Duration>) -> Attempt<()> {
    let result = Err(Error::rate_limited(&call(), retry_after.unwrap_or(60 * SECOND)));
    Attempt { result, report: Report { retry_after, ..report(Verdict::Limited) } }
}

fn left(remaining: u64) -> Attempt<()> {
    let quota = Quota { resource: Resource::Core, limit: 1000, remaining, reset_epoch: 5000, resets_in: 1800 * SECOND };
    Attempt { result: Ok(()), report: Report { quota: Some(quota), ..report(Verdict::Answered) } }
}

/// Runs a call whose attempts come out as scripted, then well; gives the result and how often it was tried.
async fn run(governor: &Arc<Governor>, ask: Ask, script: Vec<Attempt<()>>) -> (Result<(), Error>, usize) {
    let script = Mutex::new(script.into_iter());
    let tries = Mutex::new(0);
    let attempt = |_| {
        *tries.lock() += 1;
        let next = script.lock().next().unwrap_or_else(answered);
        async move { next }
    };
    let result = governor.run(ask, &call(), attempt).await;
    let tries = *tries.lock();
    (result, tries)
}

/// A call that stays under way until it is aborted.
fn endless(governor: &Arc<Governor>, priority: Priority) -> JoinHandle<()> {
    let (governor, ask) = (Arc::clone(governor), ask(priority, Effect::Read));
    tokio::spawn(async move {
        let attempt = |_| async { std::future::pending::<Attempt<()>>().await };
        let _ = governor.run(ask, &call(), attempt).await;
    })
}

/// Lets all tasks run as far as they get without the clock moving.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_after_failures_and_a_write_is_not() {
    let governor = governor(|limits| limits.circuit_failures = 100);
    let script = || vec![failing(Executed::Perhaps), failing(Executed::Perhaps)];
    let (result, tries) = run(&governor, ask(Priority::Normal, Effect::Read), script()).await;
    assert!(result.is_ok() && tries == 3, "{result:?} {tries}");
    for effect in [Effect::Write, Effect::Content] {
        let (result, tries) = run(&governor, ask(Priority::Normal, effect), script()).await;
        assert!(matches!(result, Err(Error::Transient { executed: Executed::Perhaps, .. })) && tries == 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_repeated_when_it_was_certainly_not_executed() {
    let governor = governor(|_| ());
    let script = vec![failing(Executed::No), limited(Some(2 * SECOND))];
    let started = Instant::now();
    let (result, tries) = run(&governor, ask(Priority::Merge, Effect::Write), script).await;
    assert!(result.is_ok() && tries == 3, "{result:?} {tries}");
    assert!(started.elapsed() >= 2 * SECOND, "GitHub asked for two seconds");
    assert_eq!(governor.stats().retries, 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_repeated_for_ever() {
    let governor = governor(|limits| limits.circuit_failures = 100);
    let script = (0..10).map(|_| failing(Executed::Perhaps)).collect();
    let (result, tries) = run(&governor, ask(Priority::Normal, Effect::Read), script).await;
    assert!(result.is_err() && tries == 4, "once and three times again: {tries}");
}

#[tokio::test(start_paused = true)]
async fn a_secondary_limit_without_a_pause_keeps_everything_back_for_a_minute_then_longer() {
    let governor = governor(|_| ());
    let patient = |seconds| Ask { deadline: Instant::now() + seconds * SECOND, ..ask(Priority::Stop, Effect::Read) };
    let started = Instant::now();
    let (result, tries) = run(&governor, patient(600), vec![limited(None), limited(None)]).await;
    assert!(result.is_ok() && tries == 3);
    let waited = started.elapsed();
    assert!(waited >= 180 * SECOND && waited <= 200 * SECOND, "60 s and 120 s, and a little jitter: {waited:?}");
    let (result, tries) = run(&governor, patient(10), vec![limited(None)]).await;
    let Err(Error::RateLimited { wait, .. }) = result else { panic!("{result:?}") };
    assert!(tries == 1 && wait >= 60 * SECOND, "it was answered since, so the pause starts over: {wait:?}");
    assert!(governor.stats().blocked_for.is_some());
    let (result, tries) = run(&governor, patient(10), vec![]).await;
    assert!(matches!(result, Err(Error::RateLimited { .. })) && tries == 0, "others are kept back too, even a stop");
}

#[tokio::test(start_paused = true)]
async fn the_last_of_the_budget_is_kept_for_those_who_need_it_most() {
    for (remaining, let_through) in [
        (201, &[Priority::Poll, Priority::Normal, Priority::Merge, Priority::Stop][..]),
        (200, &[Priority::Normal, Priority::Merge, Priority::Stop]),
        (50, &[Priority::Merge, Priority::Stop]),
        (10, &[Priority::Stop]),
        (0, &[]),
    ] {
        for priority in [Priority::Poll, Priority::Normal, Priority::Merge, Priority::Stop] {
            let governor = governor(|_| ());
            run(&governor, ask(Priority::Stop, Effect::Read), vec![left(remaining)]).await.0.unwrap();
            let (result, _) = run(&governor, ask(priority, Effect::Read), vec![]).await;
            assert_eq!(result.is_ok(), let_through.contains(&priority), "{priority:?} with {remaining} left");
            if let Err(error) = result {
                assert!(error.retry_after() >= Some(1700 * SECOND), "it says when the window ends: {error}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_whole_again_when_its_window_ends_and_graphql_has_its_own() {
    let governor = governor(|_| ());
    run(&governor, ask(Priority::Stop, Effect::Read), vec![left(0)]).await.0.unwrap();
    let graphql = Ask { resource: Resource::Graphql, ..ask(Priority::Poll, Effect::Read) };
    assert!(run(&governor, graphql, vec![]).await.0.is_ok());
    assert!(run(&governor, ask(Priority::Poll, Effect::Read), vec![]).await.0.is_err());
    advance(1801 * SECOND).await;
    assert!(run(&governor, ask(Priority::Poll, Effect::Read), vec![]).await.0.is_ok());
    assert_eq!(governor.stats().core.unwrap().remaining, 1000);
}

#[tokio::test(start_paused = true)]
async fn comments_are_written_at_the_pace_that_github_allows() {
    let governor = governor(|_| ());
    let started = Instant::now();
    let mut within_a_minute = 0;
    for written in 0..100 {
        run(&governor, ask(Priority::Normal, Effect::Content), vec![]).await.0.unwrap();
        within_a_minute += usize::from(started.elapsed() < 60 * SECOND);
        assert!(written >= 20 || started.elapsed() < SECOND, "a burst goes at once");
    }
    assert!((75..=80).contains(&within_a_minute), "{within_a_minute}");
    let reading = Instant::now();
    run(&governor, ask(Priority::Poll, Effect::Read), vec![]).await.0.unwrap();
    assert!(reading.elapsed() < SECOND, "reading is not held up by writing");
}

#[tokio::test(start_paused = true)]
async fn the_circuit_opens_lets_one_probe_through_and_closes_again() {
    let governor = governor(|limits| limits.retries = 0);
    let normal = || ask(Priority::Normal, Effect::Read);
    for _ in 0..5 {
        assert_eq!(governor.stats().circuit, CircuitState::Closed);
        let _ = run(&governor, normal(), vec![failing(Executed::Perhaps)]).await;
    }
    assert_eq!(governor.stats().circuit, CircuitState::Open);
    let (refused, tries) = run(&governor, normal(), vec![]).await;
    assert!(
        matches!(refused, Err(Error::Transient { executed: Executed::No, retry_after: Some(_), .. })),
        "{refused:?}"
    );
    assert_eq!(tries, 0, "while it is open nothing is sent");

    advance(SECOND).await;
    let _ = run(&governor, normal(), vec![failing(Executed::Perhaps)]).await;
    advance(SECOND).await;
    assert_eq!(run(&governor, normal(), vec![]).await.1, 0, "the pause has doubled");

    advance(SECOND).await;
    let probe = endless(&governor, Priority::Normal);
    settle().await;
    assert_eq!(governor.stats().circuit, CircuitState::HalfOpen);
    let second = endless(&governor, Priority::Normal);
    settle().await;
    assert_eq!((governor.stats().in_flight, governor.stats().waiting), (1, 1), "one at a time finds out");
    probe.abort();
    settle().await;
    second.abort();
    settle().await;
    assert!(run(&governor, normal(), vec![]).await.0.is_ok());
    assert_eq!((governor.stats().circuit, governor.stats().in_flight), (CircuitState::Closed, 0));
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_sends_away_those_who_wait() {
    let governor = governor(|limits| (limits.in_flight, limits.circuit_failures, limits.retries) = (1, 1, 0));
    let (fail, failed) = tokio::sync::oneshot::channel::<()>();
    let first = tokio::spawn({
        let governor = Arc::clone(&governor);
        async move {
            let mut failed = Some(failed);
            let attempt = |_| {
                let failed = failed.take();
                async move {
                    let _ = failed.expect("tried once").await;
                    failing(Executed::Perhaps)
                }
            };
            governor.run(ask(Priority::Normal, Effect::Read), &call(), attempt).await
        }
    });
    settle().await;
    let waiting = endless(&governor, Priority::Normal);
    settle().await;
    assert_eq!(governor.stats().waiting, 1);
    let started = Instant::now();
    fail.send(()).unwrap();
    assert!(first.await.unwrap().is_err());
    waiting.await.unwrap();
    assert!(started.elapsed() < SECOND, "nobody waits for a GitHub that is down");
}

#[tokio::test(start_paused = true)]
async fn a_full_line_and_a_turn_that_never_comes_are_failures_for_now() {
    let governor = governor(|limits| (limits.in_flight, limits.waiting) = (1, 1));
    let _busy = endless(&governor, Priority::Stop);
    settle().await;
    let started = Instant::now();
    let late = run(&governor, ask(Priority::Normal, Effect::Write), vec![]);
    let full = async {
        settle().await;
        run(&governor, ask(Priority::Normal, Effect::Write), vec![]).await
    };
    let (late, full) = tokio::join!(late, full);
    for (result, tries) in [late, full] {
        assert!(matches!(result, Err(Error::Transient { executed: Executed::No, .. })) && tries == 0, "{result:?}");
    }
    assert!(started.elapsed() >= 60 * SECOND, "the one waited for as long as it was told to");
    assert_eq!(governor.stats().waiting, 0);
}
