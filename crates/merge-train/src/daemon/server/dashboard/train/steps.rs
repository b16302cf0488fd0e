//! The steps of a cascade in their order, as the shape of the stack asks for them, and when each was taken.

use jiff::Timestamp;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::{Event, Recorded, RepoState};

/// One step.
#[derive(Debug, PartialEq, Eq)]
pub struct Leg {
    pub words: String,
    pub begun: Option<Timestamp>,
    pub done: Option<Timestamp>,
}

/// What is done to a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Prepare,
    Squash,
    Reconcile,
    CatchUp,
    Retarget,
}

/// Of those of a stack that are the train's own.
pub fn of(own: &[PrNumber], stack: &[PrNumber], state: &RepoState, events: &[Recorded]) -> Vec<Leg> {
    let above = |pr: PrNumber| {
        let stands_on = move |other: &&PrNumber| state.pr(**other).is_some_and(|other| other.predecessor == Some(pr));
        stack.iter().filter(stands_on).copied().collect::<Vec<_>>()
    };
    let steps = own.iter().flat_map(|pr| steps(*pr, &above(*pr)));
    let legs = steps.map(|(deed, pr, words)| {
        let at = |wanted: fn(&Event) -> Option<(Deed, PrNumber)>| {
            events.iter().find(|it| wanted(&it.event) == Some((deed, pr))).map(|it| it.ts)
        };
        (deed, Leg { words, begun: at(begun), done: at(done) })
    });
    let legs: Vec<(Deed, Leg)> = legs.collect();
    // What was passed over was there already: nothing needed to be pushed for it.
    let reached = legs.iter().rposition(|(_, leg)| leg.begun.is_some() || leg.done.is_some());
    let is_needed =
        |at: usize, leg: &Leg| reached.is_none_or(|reached| at >= reached) || leg.begun.or(leg.done).is_some();
    let legs = legs.into_iter().enumerate().filter(|(at, (_, leg))| is_needed(*at, leg)).map(|(_, leg)| leg);
    // Whether there is anything to catch up with shows only when it is done.
    let is_sure = |(deed, leg): &(Deed, Leg)| *deed != Deed::CatchUp || leg.begun.or(leg.done).is_some();
    legs.filter(is_sure).map(|(_, leg)| leg).collect()
}

fn steps(pr: PrNumber, above: &[PrNumber]) -> Vec<(Deed, PrNumber, String)> {
    let each = |deed: Deed, words: fn(PrNumber, PrNumber) -> String| {
        above.iter().map(move |it| (deed, *it, words(*it, pr))).collect::<Vec<_>>()
    };
    let mut all = each(Deed::Prepare, |it, pr| format!("prepare #{it} for the squash of #{pr}"));
    all.push((Deed::Squash, pr, format!("squash #{pr}")));
    all.extend(each(Deed::Reconcile, |it, pr| format!("reconcile #{it} with the squash of #{pr}")));
    all.extend(each(Deed::CatchUp, |it, _| format!("catch #{it} up with the default branch")));
    all.extend(each(Deed::Retarget, |it, _| format!("retarget #{it} to the default branch")));
    all
}

fn begun(event: &Event) -> Option<(Deed, PrNumber)> {
    match event {
        Event::IntentPushPrep { more, .. } => Some((Deed::Prepare, more.pr?)),
        Event::IntentSquash { pr, .. } => Some((Deed::Squash, *pr)),
        Event::IntentPushReconcile { more, .. } => Some((Deed::Reconcile, more.pr?)),
        Event::IntentPushCatchup { more, .. } => Some((Deed::CatchUp, more.pr?)),
        Event::IntentRetarget { pr, .. } => Some((Deed::Retarget, *pr)),
        _ => None,
    }
}

fn done(event: &Event) -> Option<(Deed, PrNumber)> {
    match event {
        Event::DonePushPrep { pr, .. } => Some((Deed::Prepare, (*pr)?)),
        Event::SquashCommitted { pr, .. } => Some((Deed::Squash, *pr)),
        Event::DonePushReconcile { pr, .. } => Some((Deed::Reconcile, (*pr)?)),
        Event::DonePushCatchup { pr, .. } => Some((Deed::CatchUp, (*pr)?)),
        Event::DoneRetarget { pr, .. } => Some((Deed::Retarget, *pr)),
        _ => None,
    }
}
