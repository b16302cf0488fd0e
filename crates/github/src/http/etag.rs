//! Answers that GitHub will confirm for free when they have not changed.

use std::collections::{BTreeMap, HashMap};

use super::Answer;

/// Bounded by bytes; what was not used for longest goes first.
pub(crate) struct EtagCache {
    capacity: usize,
    bytes: usize,
    uses: u64,
    entries: HashMap<Key, Entry>,
    by_use: BTreeMap<u64, Key>,
}

/// Whose answer it is and to what: another token may see another thing under the same address.
pub(crate) type Key = (String, String);

struct Entry {
    etag: String,
    answer: Answer,
    size: usize,
    used: u64,
}

/// One answer may take at most this part of the cache, or a single large list would empty it.
const LARGEST_SHARE: usize = 8;
/// What an entry takes besides its texts: about the headers and the maps' own memory.
const OVERHEAD: usize = 512;

impl EtagCache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, bytes: 0, uses: 0, entries: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// The ETag to ask with.
    pub(crate) fn etag(&self, key: &Key) -> Option<String> {
        self.entries.get(key).map(|entry| entry.etag.clone())
    }

    /// The answer that GitHub confirmed.
    pub(crate) fn confirmed(&mut self, key: &Key) -> Option<Answer> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        self.by_use.remove(&entry.used);
        entry.used = self.uses;
        self.by_use.insert(self.uses, key.clone());
        Some(entry.answer.clone())
    }

    pub(crate) fn keep(&mut self, key: Key, answer: &Answer) {
        self.forget(&key);
        let Some(etag) = answer.header("etag").map(str::to_owned) else { return };
        let size = OVERHEAD + answer.body.len() + etag.len() + 2 * (key.0.len() + key.1.len());
        if size > self.capacity / LARGEST_SHARE {
            return;
        }
        self.uses += 1;
        self.bytes += size;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, Entry { etag, answer: answer.clone(), size, used: self.uses });
        while self.bytes > self.capacity {
            let Some((_, oldest)) = self.by_use.first_key_value() else { break };
            let oldest = oldest.clone();
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.size;
            self.by_use.remove(&entry.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;
    use crate::error::CallName;

    fn answer(len: usize) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("etag", "\"e\"".parse().unwrap());
        Answer { call: CallName::new("GET", "/x"), status: 200, headers, body: vec![b'x'; len].into() }
    }

    fn key(name: &str) -> Key {
        ("installation 1".into(), name.into())
    }

    #[test]
    fn what_was_used_last_stays_when_room_is_needed() {
        let mut cache = EtagCache::new(80_000);
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            cache.keep(key(name), &answer(9_000));
        }
        assert!(cache.confirmed(&key("a")).is_some());
        cache.keep(key("i"), &answer(9_000));
        assert!(cache.etag(&key("a")).is_some(), "it was used just now");
        assert!(cache.etag(&key("b")).is_none(), "it was not used for longest");
        assert!(cache.bytes <= 80_000);
    }

    #[test]
    fn a_large_answer_and_one_without_an_etag_are_not_kept() {
        let mut cache = EtagCache::new(80_000);
        cache.keep(key("large"), &answer(20_000));
        let mut untagged = answer(1);
        untagged.headers.clear();
        cache.keep(key("untagged"), &untagged);
        assert_eq!((cache.entries.len(), cache.bytes), (0, 0));
    }

    #[test]
    fn keeping_an_answer_twice_counts_it_once() {
        let mut cache = EtagCache::new(80_000);
        cache.keep(key("a"), &answer(1_000));
        let bytes = cache.bytes;
        cache.keep(key("a"), &answer(1_000));
        assert_eq!((cache.bytes, cache.by_use.len()), (bytes, 1));
        assert!(cache.etag(&("installation 2".into(), "a".into())).is_none(), "another token sees other things");
    }
}
