//! Any sequence of appends, compactions and takeovers, beside a model that is too simple to be wrong.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use store::{Batch, Error, Loaded, Retention, Since, Snapshot, StoredEvent};

use crate::support::*;

#[derive(Debug, Clone)]
enum Deed {
    Append(u8),
    AppendInTheWrongPlace,
    AppendWithOldLease,
    Compact,
    TakeOver,
    Sweep,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0..90_u8).prop_map(Deed::Append),
        1 => Just(Deed::AppendInTheWrongPlace),
        1 => Just(Deed::AppendWithOldLease),
        2 => Just(Deed::Compact),
        1 => Just(Deed::TakeOver),
        1 => Just(Deed::Sweep),
    ]
}

/// The stream as it should be.
#[derive(Default)]
struct Model {
    events: Vec<StoredEvent>,
    snapshots: Vec<Snapshot>,
}

impl Model {
    fn next_seq(&self) -> u64 {
        self.events.len() as u64 + 1
    }

    fn loaded(&self, snapshot: Option<&Snapshot>) -> Loaded {
        let first = snapshot.map_or(1, |snapshot| snapshot.next_seq);
        Loaded {
            generation: self.snapshots.len() as u64,
            snapshot: snapshot.cloned(),
            events: self.events.iter().filter(|event| event.seq >= first).cloned().collect(),
            next_seq: self.next_seq(),
        }
    }
}

pub async fn random_appends_and_compactions_load_like_the_model(world: World) {
    let mut runner = TestRunner::default();
    for case in 0..12 {
        let deeds = proptest::collection::vec(deed(), 1..25).new_tree(&mut runner).unwrap().current();
        play(&world, &format!("run:case-{case}"), &deeds).await;
    }
}

async fn play(world: &World, on: &str, deeds: &[Deed]) {
    let mut model = Model::default();
    let mut lease = world.lease(on, "a", at(0)).await;
    let mut old = None;
    let mut swept = None;
    for (number, deed) in deeds.iter().enumerate() {
        let now = at(i64::try_from(number).unwrap());
        let next_seq = model.next_seq();
        match deed {
            Deed::Append(count) => {
                let events: Vec<_> = (0..*count).map(|n| event(&format!("{number}-{n}"), now)).collect();
                let stored = events.iter().zip(next_seq..);
                model.events.extend(stored.map(|(it, seq)| StoredEvent { seq, ts: it.ts, data: it.data.clone() }));
                world.store.append(&lease, Batch { events, ..batch(next_seq, [], now) }).await.unwrap();
            }
            Deed::AppendInTheWrongPlace => {
                let refused = world.store.append(&lease, batch(next_seq + 1, ["lost"], now)).await;
                assert!(matches!(refused, Err(Error::OutOfOrder { .. })), "{deeds:?}: {refused:?}");
            }
            Deed::AppendWithOldLease => {
                let Some(old) = &old else { continue };
                let refused = world.store.append(old, batch(next_seq, ["lost"], now)).await;
                assert!(matches!(refused, Err(Error::Fenced { .. })), "{deeds:?}: {refused:?}");
            }
            Deed::Compact => {
                let snapshot = Snapshot { next_seq, taken_at: now, data: format!(r#"{{"n":{number}}}"#) };
                let generation = world.store.compact(&lease, snapshot.clone()).await.unwrap();
                model.snapshots.push(snapshot);
                assert_eq!(generation, model.snapshots.len() as u64, "{deeds:?}");
            }
            Deed::TakeOver => old = Some(std::mem::replace(&mut lease, world.lease(on, "a", now).await)),
            Deed::Sweep => {
                // All but the newest generation is old by then.
                let later = now + jiff::SignedDuration::from_hours(24 * 30);
                world.store.sweep(later, &Retention::default()).await.unwrap();
                swept = model.snapshots.last().cloned().or(swept);
            }
        }
        let newest = world.load(on).await;
        assert_eq!(newest, model.loaded(model.snapshots.last()), "{deeds:?}");
        let oldest = world.store.load(&stream(on), Since::Oldest).await.unwrap();
        assert_eq!(oldest, model.loaded(swept.as_ref()), "{deeds:?}");
    }
}
