//! A number for each state: so few of the 2⁶⁴ are used that two states with one number are not to be expected.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};

use serde::Serialize;

use super::super::*;
use super::world::{NOW, UnderWay, World};
use crate::repo::trains::detail::CLOSED;

#[derive(Default)]
struct Fingerprint(DefaultHasher);

impl Fingerprint {
    fn add(&mut self, part: &impl Hash) {
        part.hash(&mut self.0);
    }

    fn add_json(&mut self, part: &impl Serialize) {
        serde_json::to_writer(Written(&mut self.0), part).expect("what is JSON can be written");
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

struct Written<'a>(&'a mut DefaultHasher);

impl Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// So many failed readings, and people are told; up to the twelfth no more are told apart.
const TELLING_ATTEMPTS: u32 = 3;

impl World {
    /// What tells this state from others.
    pub fn fingerprint(&self) -> u64 {
        let mut print = Fingerprint::default();
        let position = Position { generation: 1, next_seq: 1, taken_at: at(NOW) };
        print.add_json(&Snapshot::of(&self.essence(), position));
        print.add(&self.github);
        print.add(&self.shown());
        for (key, UnderWay { effect, done, is_slow }) in &self.under_way {
            print.add(&(key, effect, format!("{done:?}"), is_slow));
        }
        for webhook in &self.webhooks {
            print.add(&format!("{webhook:?}"));
        }
        print.add(&(&self.late, &self.unsure, &self.left, self.is_meddled_with));
        print.finish()
    }

    /// Whether each status comment is behind its train, as it is, or ahead.
    fn shown(&self) -> Vec<Ordering> {
        let seq = |root: &u64| self.state.active_trains.get(&pr(*root)).map_or(CLOSED, |train| train.recovery_seq);
        self.github.statuses.iter().map(|(root, status)| status.seq.cmp(&seq(root))).collect()
    }

    /// The decider's state without what no decision depends on.
    fn essence(&self) -> RepoState {
        let mut state = self.state.clone();
        // Only which of two numbers is higher is ever asked, and that is the same here wherever all is written.
        for (root, train) in &mut state.active_trains {
            let status = state.details.get_mut(root).map(|detail| &mut detail.status);
            let is_shown = status.as_ref().is_some_and(|status| status.shown >= train.recovery_seq);
            train.recovery_seq = 1 + u64::from(!is_shown);
            if let Some(status) = status.filter(|status| status.shown != CLOSED) {
                status.shown = 1;
            }
        }
        // How long it waited for whom is for people.
        for run in state.details.values_mut().filter_map(|detail| detail.run.as_mut()) {
            (run.waiting, run.waited) = (None, std::collections::BTreeMap::new());
        }
        state.ended.values_mut().for_each(|seq| *seq = 0);
        // It only tells notes apart, and all are said.
        state.outbox.last = 0;
        state.merge_reads.attempts = state.merge_reads.attempts.min(TELLING_ATTEMPTS);
        for (number, pr) in &mut state.prs {
            // No branch is ever again where it was: an old head is known again only where somebody still speaks of it.
            let is_spoken_of = |head: &Sha| {
                self.webhooks.iter().any(|webhook| webhook.facts.number == *number && webhook.facts.head_sha == *head)
            };
            pr.replaced.retain(is_spoken_of);
            if let PrState::Merged { merge_commit_sha: Some(_), closed_at } = &mut pr.state {
                // Of what has landed only the commit counts, and where it stood.
                *closed_at = None;
                (pr.updated_at, pr.observed_at, pr.merge_state) = (None, None, MergeState::Unknown);
            }
        }
        state
    }
}
