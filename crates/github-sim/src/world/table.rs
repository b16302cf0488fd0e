//! A table of documents that remembers what a transaction touched.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Id;

/// Where a document stands: the repository (or 0) it belongs to, then its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub scope: Id,
    pub id: Id,
}

pub trait Doc: Clone + Serialize + DeserializeOwned {
    /// The name the document is stored under. Never change one.
    const KIND: &'static str;
    fn key(&self) -> Key;
}

pub struct Table<T> {
    rows: BTreeMap<Key, T>,
    /// What stood there before this transaction, for each touched key.
    before: BTreeMap<Key, Option<T>>,
}

impl<T: Doc> Table<T> {
    pub(super) fn new(rows: BTreeMap<Key, T>) -> Self {
        Self { rows, before: BTreeMap::new() }
    }

    pub fn get(&self, scope: Id, id: Id) -> Option<&T> {
        self.rows.get(&Key { scope, id })
    }

    pub fn edit(&mut self, scope: Id, id: Id) -> Option<&mut T> {
        let key = Key { scope, id };
        let row = self.rows.get_mut(&key)?;
        self.before.entry(key).or_insert_with(|| Some(row.clone()));
        Some(row)
    }

    pub fn insert(&mut self, doc: T) {
        let key = doc.key();
        let old = self.rows.insert(key, doc);
        self.before.entry(key).or_insert(old);
    }

    pub fn remove(&mut self, scope: Id, id: Id) -> Option<T> {
        let key = Key { scope, id };
        let old = self.rows.remove(&key)?;
        self.before.entry(key).or_insert_with(|| Some(old.clone()));
        Some(old)
    }

    pub(super) fn remove_within(&mut self, scope: Id) {
        let ids: Vec<Id> = self.within(scope).map(|row| row.key().id).collect();
        for id in ids {
            self.remove(scope, id);
        }
    }

    /// The documents of one repository (or those of none, with scope 0), by ascending number.
    pub fn within(&self, scope: Id) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.range(Key { scope, id: 0 }..=Key { scope, id: Id::MAX }).map(|(_, row)| row)
    }

    pub fn all(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.values()
    }

    pub(super) fn touched(&self) -> impl Iterator<Item = (&'static str, Key, Option<String>)> + '_ {
        self.before.keys().map(|key| {
            let body = self
                .rows
                .get(key)
                .map(|row| serde_json::to_string(row).expect("documents hold nothing that JSON cannot"));
            (T::KIND, *key, body)
        })
    }

    pub(super) fn commit(&mut self) {
        self.before.clear();
    }

    pub(super) fn roll_back(&mut self) {
        for (key, old) in std::mem::take(&mut self.before) {
            match old {
                Some(row) => self.rows.insert(key, row),
                None => self.rows.remove(&key),
            };
        }
    }
}
