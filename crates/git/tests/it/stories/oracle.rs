//! What must be on the default branch, computed from what people wrote and from nothing else: no history is walked, nothing is
//! merged, and no code of merge-train is called.
//!
//! Every line that a story writes is a token that is there once. A commit of a person adds and removes tokens; what a pull
//! request changes is what its people's commits come to; and what must be on the default branch is what was there, without
//! the tokens that the landed pull request removes and with those that it adds.

use std::collections::{BTreeMap, BTreeSet};

use super::plain::Files;

pub type Tokens = BTreeSet<String>;

/// How the lines that count begin. The others keep them apart, so that git merges what does not touch the same place.
pub const TOKEN: &str = "token-";

/// The lines of a commit that count, and the names of its files.
pub fn tokens(files: &Files) -> Tokens {
    let mut all = Tokens::new();
    for (path, text) in files {
        all.insert(format!("file {path}"));
        for line in text.lines() {
            let is_wanted = line.starts_with(TOKEN) || line.contains("<<<<") || line.contains(">>>>");
            if is_wanted && !all.insert(line.to_owned()) {
                all.insert(format!("{line}, twice"));
            }
        }
    }
    all
}

/// What a change adds and removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    pub added: Tokens,
    pub removed: Tokens,
}

impl Delta {
    pub fn between(before: &Tokens, after: &Tokens) -> Self {
        Self { added: after - before, removed: before - after }
    }

    /// What these come to, one after the other. What is removed and brought back is not changed, and the other way round.
    pub fn of_all<'a>(deltas: impl IntoIterator<Item = &'a Self>) -> Self {
        #[derive(Clone, Copy, PartialEq)]
        enum Did {
            Add,
            Remove,
        }
        let mut did: BTreeMap<&String, (Did, Did)> = BTreeMap::new();
        for delta in deltas {
            let added = delta.added.iter().map(|token| (token, Did::Add));
            for (token, now) in added.chain(delta.removed.iter().map(|token| (token, Did::Remove))) {
                did.entry(token).and_modify(|(_, last)| *last = now).or_insert((now, now));
            }
        }
        let with = |wanted: Did| {
            let all = did.iter().filter(move |(_, did)| **did == (wanted, wanted));
            all.map(|(token, _)| (*token).clone()).collect()
        };
        Self { added: with(Did::Add), removed: with(Did::Remove) }
    }

    /// As far as it is so in the head that its author sees: somebody who merges the default branch into their own may bring
    /// back what they had removed.
    pub fn as_seen_in(&self, head: &Tokens) -> Self {
        Self { added: &self.added & head, removed: &self.removed - head }
    }

    pub fn applied_to(&self, tokens: &Tokens) -> Tokens {
        &(tokens - &self.removed) | &self.added
    }
}

/// Where two contents differ, for people.
pub fn difference(expected: &Tokens, found: &Tokens) -> String {
    let list = |tokens: Tokens| tokens.into_iter().collect::<Vec<_>>().join(", ");
    format!("lost: [{}], foreign or resurrected: [{}]", list(expected - found), list(found - expected))
}
