//! Whether the ratchet is on: somebody says so, or a label does.

use std::collections::BTreeSet;

use super::Event;
use crate::facts::{HeadRepo, PullFacts, PullState};
use crate::ids::PrNumber;
use crate::repo::event::Attribution;
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::transaction::Transaction;

/// Labels that turn the ratchet on and off for their pull request.
pub const LABEL_ON: &str = "ratchet";
pub const LABEL_OFF: &str = "no-ratchet";

/// What the labels of a pull request say. Who wears both does not want to be touched.
fn said(labels: &BTreeSet<String>) -> Option<bool> {
    let has = |name: &str| labels.iter().any(|label| label.eq_ignore_ascii_case(name));
    match (has(LABEL_ON), has(LABEL_OFF)) {
        (_, true) => Some(false),
        (true, false) => Some(true),
        (false, false) => None,
    }
}

/// The event that its labels are worth, if they say something else than before.
pub(in crate::repo) fn labelled(state: &RepoState, pull: &PullFacts) -> Option<Event> {
    if pull.state != PullState::Open || pull.head_repo != HeadRepo::Same {
        return None;
    }
    let on = said(&pull.labels);
    let known = state.workspaces.get(&pull.number).and_then(|workspace| workspace.label);
    (on != known).then_some(Event::RatchetLabelled { pr: pull.number, on })
}

pub(in crate::repo) fn toggle(
    transaction: &mut Transaction<'_>,
    pr: Option<PrNumber>,
    on: bool,
    behest: &Attribution,
) -> Result<(), String> {
    if let Some(number) = pr {
        let known = transaction.state.pr(number);
        match known {
            None => return Err(format!("There is no pull request #{number} known here.")),
            Some(known) if known.head_repo == HeadRepo::Fork => {
                return Err(format!(
                    "The branch of #{number} is in a fork: fixers cannot push there, so the ratchet leaves it alone."
                ));
            }
            Some(known) if !CachedPr::is_open(known) => return Err(format!("#{number} is not open.")),
            Some(_) => {}
        }
    }
    transaction.record(Event::RatchetToggled { pr, on, behest: behest.clone() });
    Ok(())
}
