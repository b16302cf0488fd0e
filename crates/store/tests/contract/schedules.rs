//! How far schedules have come.

use std::sync::Arc;

use crate::support::*;

pub async fn a_schedule_remembers_its_last_slot(world: World) {
    let acme = tenant("acme");
    assert_eq!(world.store.schedule(&acme, "nightly").await.unwrap(), None);
    for slot in [at(0), at(60), at(86_400)] {
        world.store.schedule_done(&acme, "nightly", slot).await.unwrap();
        assert_eq!(world.store.schedule(&acme, "nightly").await.unwrap(), Some(slot));
    }
}

pub async fn a_schedule_never_goes_backwards(world: World) {
    let acme = tenant("acme");
    world.store.schedule_done(&acme, "nightly", at(120)).await.unwrap();
    for slot in [at(60), at(119), at(120)] {
        world.store.schedule_done(&acme, "nightly", slot).await.unwrap();
        assert_eq!(world.store.schedule(&acme, "nightly").await.unwrap(), Some(at(120)), "after {slot}");
    }
}

pub async fn schedules_of_other_tenants_and_names_are_others(world: World) {
    world.store.schedule_done(&tenant("acme"), "nightly", at(120)).await.unwrap();
    world.store.schedule_done(&tenant("globex"), "nightly", at(60)).await.unwrap();
    world.store.schedule_done(&tenant("acme"), "Nightly", at(30)).await.unwrap();
    let slot = async |of: &str, name: &str| world.store.schedule(&tenant(of), name).await.unwrap();
    assert_eq!(slot("acme", "nightly").await, Some(at(120)));
    assert_eq!(slot("globex", "nightly").await, Some(at(60)));
    assert_eq!(slot("acme", "Nightly").await, Some(at(30)));
    assert_eq!(slot("globex", "Nightly").await, None);
}

pub async fn of_many_who_end_slots_at_once_the_latest_counts(world: World) {
    let writing: Vec<_> = (0..50)
        .map(|minute| {
            let store = Arc::clone(&world.store);
            // In no order.
            let slot = at(60 * (minute * 37 % 50));
            tokio::spawn(async move { store.schedule_done(&tenant("acme"), "nightly", slot).await.unwrap() })
        })
        .collect();
    for write in writing {
        write.await.unwrap();
    }
    assert_eq!(world.store.schedule(&tenant("acme"), "nightly").await.unwrap(), Some(at(60 * 49)));
}
