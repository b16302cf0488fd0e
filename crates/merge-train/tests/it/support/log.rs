//! What a daemon has written, read past the daemon.

use std::collections::HashMap;

use merge_train_core::ids::StreamId;
use serde_json::Value;
use store::Store;

/// The whole log of one repository.
pub struct Log {
    pub events: Vec<Value>,
}

impl Log {
    pub async fn read(store: &dyn Store, repo: &str) -> Self {
        const PAGE: usize = 2000;
        let stream: StreamId = format!("repo:{repo}").parse().expect("a repository");
        let mut pages = Vec::new();
        let mut before = None;
        loop {
            let page = store.history(&stream, before, PAGE).await.expect("the log can be read");
            let Some(first) = page.first() else { break };
            before = Some(first.seq);
            pages.push(page);
        }
        let events: Vec<_> = pages.into_iter().rev().flatten().collect();
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "the numbers have no gap");
        Self { events: events.iter().map(|event| serde_json::from_str(&event.data).expect("JSON")).collect() }
    }

    /// Deliveries in the order they were processed.
    pub fn deliveries(&self) -> Vec<&str> {
        let processed = self.events.iter().filter(|event| event["type"] == "delivery_processed");
        processed.map(|event| event["delivery"].as_str().expect("an id")).collect()
    }

    /// How often each delivery is in it.
    pub fn counts(&self) -> HashMap<&str, usize> {
        let mut counts = HashMap::new();
        for delivery in self.deliveries() {
            *counts.entry(delivery).or_default() += 1;
        }
        counts
    }
}
