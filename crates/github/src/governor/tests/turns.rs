//! Whose turn it is.

use std::future::Future;
use std::task::Poll;

use super::*;

/// Starts a call of each priority, the least urgent first; they enter themselves in the order in which they go.
async fn one_of_each(governor: &Arc<Governor>, effect: Effect) -> (Vec<JoinHandle<()>>, Arc<Mutex<Vec<Priority>>>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for priority in [Priority::Poll, Priority::Normal, Priority::Merge, Priority::Stop] {
        let (governor, order) = (Arc::clone(governor), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let attempt = |_| {
                order.lock().push(priority);
                async { answered() }
            };
            governor.run(ask(priority, effect), &call(), attempt).await.unwrap();
        }));
        settle().await;
    }
    (tasks, order)
}

const BY_PRIORITY: [Priority; 4] = [Priority::Stop, Priority::Merge, Priority::Normal, Priority::Poll];

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_polls_and_whoever_leaves_gives_back_the_place() {
    let governor = governor(|limits| limits.in_flight = 5);
    let poll = endless(&governor, Priority::Poll);
    settle().await;
    let waiting = endless(&governor, Priority::Poll);
    settle().await;
    assert_eq!((governor.stats().in_flight, governor.stats().waiting), (1, 1), "four are kept for what matters more");
    assert!(run(&governor, ask(Priority::Stop, Effect::Read), vec![]).await.0.is_ok());

    let stops: Vec<_> = (0..4).map(|_| endless(&governor, Priority::Stop)).collect();
    settle().await;
    let (tasks, order) = one_of_each(&governor, Effect::Read).await;
    assert!(order.lock().is_empty(), "all places are taken");
    for endless in stops.into_iter().chain([poll, waiting]) {
        endless.abort();
        settle().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock(), BY_PRIORITY);
    assert_eq!((governor.stats().in_flight, governor.stats().waiting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_the_same_thing_are_served_by_priority() {
    let governor = governor(|limits| (limits.content_burst, limits.content_every) = (1, 10 * SECOND));
    run(&governor, ask(Priority::Poll, Effect::Content), vec![]).await.0.unwrap();
    let (tasks, order) = one_of_each(&governor, Effect::Content).await;
    assert_eq!((order.lock().len(), governor.stats().waiting), (0, 4));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock(), BY_PRIORITY);
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_just_as_it_is_called_gives_back_the_place() {
    let governor = governor(|limits| limits.in_flight = 1);
    let busy = endless(&governor, Priority::Normal);
    settle().await;
    let mut waiting = Box::pin(governor.admit(ask(Priority::Normal, Effect::Read)));
    let pending = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending())).await;
    assert!(pending);
    busy.abort();
    settle().await;
    assert_eq!((governor.stats().in_flight, governor.stats().waiting), (1, 0), "it was called and does not know yet");
    drop(waiting);
    assert_eq!(governor.stats().in_flight, 0);
}
