//! Sends stored deliveries: in order to one receiver, side by side to different ones, and on from where it stopped
//! after a restart (which may send again what was under way). As on GitHub, a delivery that fails is not tried again.

use std::collections::HashMap;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::mpsc;

use super::payload;
use super::request::{Clients, Prepared, prepare};
use crate::Sim;
use crate::faults::FaultKind;
use crate::http::ApiError;
use crate::world::{Delivery, DeliveryOutcome, DeliveryTarget, Id};

/// How many deliveries of one receiver stay to be looked at.
const KEPT_PER_RECEIVER: usize = 1000;
/// How many deliveries a receiver gets between two looks at whether old ones can go.
const PRUNE_EVERY: usize = 100;
/// A reordered delivery waits this long for one that could overtake it.
const OVERTAKING_DEADLINE: Duration = Duration::from_secs(5);

/// Sends what waits to be sent, now and as it comes.
pub fn start_delivering(sim: &Sim) {
    match Clients::new() {
        Ok(clients) => sim.spawn(distribute(sim.clone(), clients)),
        Err(error) => tracing::error!(%error, "webhooks cannot be sent: no HTTP client"),
    }
}

/// Hands every new delivery to its receiver's own task. The queues hold ids only; what they stand for is stored.
async fn distribute(sim: Sim, clients: Clients) {
    let mut queues: HashMap<DeliveryTarget, mpsc::UnboundedSender<Id>> = HashMap::new();
    let mut last_seen = 0;
    loop {
        let changed = sim.changed();
        for (id, target) in waiting(&sim, last_seen) {
            last_seen = id;
            let queue = queues.entry(target).or_insert_with(|| {
                let (queue, incoming) = mpsc::unbounded_channel();
                sim.spawn(serve_receiver(sim.clone(), clients.clone(), target, incoming));
                queue
            });
            // The receiver's task ends only with the simulator.
            let _ = queue.send(id);
        }
        changed.await;
    }
}

/// What is to be sent and was not seen yet, oldest first. Ids only grow.
fn waiting(sim: &Sim, last_seen: Id) -> Vec<(Id, DeliveryTarget)> {
    sim.read(|world| {
        if world.settings().hold_webhooks {
            return Vec::new();
        }
        let new = world.deliveries.within(0).rev().take_while(|delivery| delivery.id > last_seen);
        let mut new: Vec<_> =
            new.filter(|delivery| delivery.outcome.is_none()).map(|delivery| (delivery.id, delivery.target)).collect();
        new.reverse();
        new
    })
}

async fn serve_receiver(sim: Sim, clients: Clients, target: DeliveryTarget, mut incoming: mpsc::UnboundedReceiver<Id>) {
    let mut overtaken: Option<Id> = None;
    let mut sent = 0_usize;
    loop {
        let next = match overtaken {
            Some(_) => tokio::time::timeout(OVERTAKING_DEADLINE, incoming.recv()).await.unwrap_or(None),
            None => incoming.recv().await,
        };
        if let Some(id) = next {
            match fault_of(&sim, id) {
                Some(FaultKind::ReorderWebhook) if overtaken.is_none() => {
                    overtaken = Some(id);
                    continue;
                }
                Some(FaultKind::DelayWebhook { ms }) => {
                    let (sim, clients) = (sim.clone(), clients.clone());
                    sim.clone().spawn(async move {
                        wait_until_late(&sim, id, ms).await;
                        deliver(&sim, &clients, id).await;
                    });
                }
                _ => deliver(&sim, &clients, id).await,
            }
        }
        match (next, overtaken.take()) {
            (_, Some(late)) => deliver(&sim, &clients, late).await,
            (None, None) => return,
            (Some(_), None) => {}
        }
        sent += 1;
        if sent.is_multiple_of(PRUNE_EVERY) {
            prune(&sim, target);
        }
    }
}

/// By the simulator's clock, which can be moved on, and from when it was stored, so that a restart does not begin again.
async fn wait_until_late(sim: &Sim, id: Id, ms: u64) {
    let late = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    loop {
        let changed = sim.changed();
        let left = sim.read(|world| {
            let waited = world.now.duration_since(world.deliveries.get(0, id)?.created_at);
            Duration::try_from(late - waited).ok().filter(|left| !left.is_zero())
        });
        let Some(left) = left else { return };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep(left) => {}
        }
    }
}

fn fault_of(sim: &Sim, id: Id) -> Option<FaultKind> {
    sim.read(|world| world.deliveries.get(0, id).and_then(|delivery| delivery.fault.clone()))
}

async fn deliver(sim: &Sim, clients: &Clients, id: Id) {
    let Some(mut delivery) = sim.read(|world| world.deliveries.get(0, id).cloned()) else { return };
    if let Err(error) = payload::complete(sim, &mut delivery).await {
        tracing::error!(%error, delivery = id, "a payload could not be completed");
    }
    let Some((prepared, now)) = sim.read(|world| prepare(world, &delivery).map(|prepared| (prepared, world.now)))
    else {
        // The receiver is gone, and with it whoever could want to know.
        forget(sim, id);
        return;
    };
    if prepared.is_too_large() {
        tracing::warn!(delivery = id, event = delivery.event, "a payload over 25 MB is not sent, as on GitHub");
        forget(sim, id);
        return;
    }
    let outcome = match &delivery.fault {
        Some(FaultKind::DropWebhook) => prepared.dropped(now),
        Some(FaultKind::DuplicateWebhook { times }) => {
            for _ in 0..*times {
                post(sim, clients, &delivery, &prepared, now).await;
            }
            post(sim, clients, &delivery, &prepared, now).await
        }
        _ => post(sim, clients, &delivery, &prepared, now).await,
    };
    record(sim, delivery, outcome);
}

/// What is to be sent, oldest first and whole, for whoever carries it there himself. It counts as delivered.
pub async fn take(sim: &Sim) -> Result<Vec<Delivery>, ApiError> {
    let mut taken: Vec<Delivery> =
        sim.read(|world| world.deliveries.within(0).filter(|delivery| delivery.outcome.is_none()).cloned().collect());
    for delivery in &mut taken {
        if let Err(error) = payload::complete(sim, delivery).await {
            tracing::error!(%error, delivery = delivery.id, "a payload could not be completed");
        }
    }
    sim.write(|world| {
        for delivery in &mut taken {
            delivery.outcome = prepare(world, delivery).map(|prepared| prepared.taken(world.now));
            if let Some(found) = world.deliveries.edit(0, delivery.id) {
                found.clone_from(delivery);
            }
        }
        Ok(())
    })?;
    Ok(taken)
}

async fn post(
    sim: &Sim,
    clients: &Clients,
    delivery: &Delivery,
    prepared: &Prepared,
    now: jiff::Timestamp,
) -> DeliveryOutcome {
    if let Some(recorder) = sim.recorder() {
        recorder.webhook(&delivery.event, &delivery.payload);
    }
    prepared.send(clients, now).await
}

fn record(sim: &Sim, delivery: Delivery, outcome: DeliveryOutcome) {
    tracing::debug!(delivery = delivery.id, event = delivery.event, status = outcome.status, "webhook");
    stored(sim.write(|world| {
        // Its hook may have been deleted while it was under way.
        if let Some(found) = world.deliveries.edit(0, delivery.id) {
            found.payload = delivery.payload;
            found.from_git = None;
            found.outcome = Some(outcome);
        }
        Ok(())
    }));
}

fn forget(sim: &Sim, id: Id) {
    stored(sim.write(|world| {
        world.deliveries.remove(0, id);
        Ok(())
    }));
}

fn prune(sim: &Sim, target: DeliveryTarget) {
    stored(sim.write(|world| {
        let done = world.deliveries.within(0).rev().filter(|found| found.target == target && found.outcome.is_some());
        let old: Vec<Id> = done.skip(KEPT_PER_RECEIVER).map(|found| found.id).collect();
        for id in old {
            world.deliveries.remove(0, id);
        }
        Ok(())
    }));
}

fn stored(result: Result<(), ApiError>) {
    if let Err(error) = result {
        tracing::error!(error.message, "what became of a webhook could not be stored");
    }
}
