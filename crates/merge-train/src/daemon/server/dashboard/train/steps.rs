//! The steps of a cascade in their order, as the shape of the stack asks for them, and when each was taken.

use jiff::Timestamp;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::trains::Event;
use merge_train_core::repo::{self, RecordedEvent, RepoState};

/// One step.
#[derive(Debug, PartialEq, Eq)]
pub struct CascadeStepRow {
    pub words: String,
    pub begun: Option<Timestamp>,
    pub done: Option<Timestamp>,
}

/// What is done to a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CascadeStepKind {
    Prepare,
    Squash,
    Reconcile,
    CatchUp,
    Retarget,
}

/// Of those of a stack that are the train's own.
pub fn of(own: &[PrNumber], stack: &[PrNumber], state: &RepoState, events: &[RecordedEvent]) -> Vec<CascadeStepRow> {
    let above = |pr: PrNumber| {
        let stands_on = move |other: &&PrNumber| state.pr(**other).is_some_and(|other| other.predecessor == Some(pr));
        stack.iter().filter(stands_on).copied().collect::<Vec<_>>()
    };
    let steps = own.iter().flat_map(|pr| steps(*pr, &above(*pr)));
    let rows = steps.map(|(kind, pr, words)| {
        let at = |wanted: fn(&Event) -> Option<(CascadeStepKind, PrNumber)>| {
            let is_it =
                |it: &&RecordedEvent| matches!(&it.event, repo::Event::Trains(event) if wanted(event) == Some((kind, pr)));
            events.iter().find(is_it).map(|it| it.ts)
        };
        (kind, CascadeStepRow { words, begun: at(begun), done: at(done) })
    });
    let rows: Vec<(CascadeStepKind, CascadeStepRow)> = rows.collect();
    // What was passed over was there already: nothing needed to be pushed for it.
    let reached = rows.iter().rposition(|(_, row)| row.begun.is_some() || row.done.is_some());
    let is_needed = |at: usize, row: &CascadeStepRow| {
        reached.is_none_or(|reached| at >= reached) || row.begun.or(row.done).is_some()
    };
    let rows = rows.into_iter().enumerate().filter(|(at, (_, row))| is_needed(*at, row)).map(|(_, row)| row);
    // Whether there is anything to catch up with shows only when it is done.
    let is_sure = |(kind, row): &(CascadeStepKind, CascadeStepRow)| {
        *kind != CascadeStepKind::CatchUp || row.begun.or(row.done).is_some()
    };
    rows.filter(is_sure).map(|(_, row)| row).collect()
}

fn steps(pr: PrNumber, above: &[PrNumber]) -> Vec<(CascadeStepKind, PrNumber, String)> {
    let each = |kind: CascadeStepKind, words: fn(PrNumber, PrNumber) -> String| {
        above.iter().map(move |it| (kind, *it, words(*it, pr))).collect::<Vec<_>>()
    };
    let mut all = each(CascadeStepKind::Prepare, |it, pr| format!("prepare #{it} for the squash of #{pr}"));
    all.push((CascadeStepKind::Squash, pr, format!("squash #{pr}")));
    all.extend(each(CascadeStepKind::Reconcile, |it, pr| format!("reconcile #{it} with the squash of #{pr}")));
    all.extend(each(CascadeStepKind::CatchUp, |it, _| format!("catch #{it} up with the default branch")));
    all.extend(each(CascadeStepKind::Retarget, |it, _| format!("retarget #{it} to the default branch")));
    all
}

fn begun(event: &Event) -> Option<(CascadeStepKind, PrNumber)> {
    match event {
        Event::IntentPushPrep { more, .. } => Some((CascadeStepKind::Prepare, more.pr?)),
        Event::IntentSquash { pr, .. } => Some((CascadeStepKind::Squash, *pr)),
        Event::IntentPushReconcile { more, .. } => Some((CascadeStepKind::Reconcile, more.pr?)),
        Event::IntentPushCatchup { more, .. } => Some((CascadeStepKind::CatchUp, more.pr?)),
        Event::IntentRetarget { pr, .. } => Some((CascadeStepKind::Retarget, *pr)),
        _ => None,
    }
}

fn done(event: &Event) -> Option<(CascadeStepKind, PrNumber)> {
    match event {
        Event::DonePushPrep { pr, .. } => Some((CascadeStepKind::Prepare, (*pr)?)),
        Event::SquashCommitted { pr, .. } => Some((CascadeStepKind::Squash, *pr)),
        Event::DonePushReconcile { pr, .. } => Some((CascadeStepKind::Reconcile, (*pr)?)),
        Event::DonePushCatchup { pr, .. } => Some((CascadeStepKind::CatchUp, (*pr)?)),
        Event::DoneRetarget { pr, .. } => Some((CascadeStepKind::Retarget, *pr)),
        _ => None,
    }
}
