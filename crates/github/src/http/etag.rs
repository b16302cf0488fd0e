//! Answers that GitHub will confirm for free when they have not changed.

use hashlink::LruCache;

use super::Answer;

/// Bounded by bytes; what was not used for longest goes first.
pub(crate) struct EtagCache {
    capacity: usize,
    bytes: usize,
    entries: LruCache<Key, Entry>,
}

/// Whose answer it is and to what: another token may see another thing under the same address.
pub(crate) type Key = (String, String);

struct Entry {
    answer: Answer,
    size: usize,
}

/// One answer may take at most this part of the cache, or a single large list would empty it.
const LARGEST_SHARE: usize = 8;
/// What an entry takes besides its texts: about the headers and the map's own memory.
const OVERHEAD: usize = 512;

impl EtagCache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, bytes: 0, entries: LruCache::new_unbounded() }
    }

    /// The ETag to ask with.
    pub(crate) fn etag(&self, key: &Key) -> Option<String> {
        self.entries.peek(key)?.answer.header("etag").map(str::to_owned)
    }

    /// The answer that GitHub confirmed.
    pub(crate) fn confirmed(&mut self, key: &Key) -> Option<Answer> {
        self.entries.get(key).map(|entry| entry.answer.clone())
    }

    pub(crate) fn keep(&mut self, key: Key, answer: &Answer) {
        self.bytes -= self.entries.remove(&key).map_or(0, |entry| entry.size);
        let size = OVERHEAD + answer.body.len() + key.0.len() + key.1.len();
        if answer.header("etag").is_none() || size > self.capacity / LARGEST_SHARE {
            return;
        }
        self.bytes += size;
        self.entries.insert(key, Entry { answer: answer.clone(), size });
        while self.bytes > self.capacity {
            let Some((_, oldest)) = self.entries.remove_lru() else { break };
            self.bytes -= oldest.size;
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
        assert_eq!((cache.bytes, cache.entries.len()), (bytes, 1));
        assert!(cache.etag(&("installation 2".into(), "a".into())).is_none(), "another token sees other things");
    }
}
