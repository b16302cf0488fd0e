//! What an input means.

use jiff::Timestamp;

use super::effect::EffectOutcome;
use super::event::{DeliveryOutcome, Event, RequestOutcome, SyncReason};
use super::state::RepoState;
use super::trains::{self, Stopping};
use super::transaction::Draft;
use super::{Effect, Input, Plan, Request, Settings, commands, mirror, outbox, ratchet, settings};
use crate::inbox::Key;
use crate::repo::mirror::{deliveries, pruning, reads};
use crate::repo::trains::texts::answer;

/// Decides what to record and what to do. Reads the state, changes nothing.
pub fn decide(state: &RepoState, input: &Input, operator: &Settings, now: Timestamp) -> Plan {
    let mut plan = told(state, input, operator, now);
    reads::conclude(state, &mut plan, now);
    let settings = &*settings::settings_after(state, &plan, operator);
    let is_about_workspaces = ratchet::concern(state, input, settings, &plan);
    if !is_about_workspaces && !concerns_trains(state, input, settings, &plan) {
        return plan;
    }
    let mut draft = Draft::after(state, plan, settings, now);
    if let Some((effect, outcome)) = input.completed() {
        completed(&mut draft, effect, &outcome);
    }
    trains::react(&mut draft, state, input);
    if is_about_workspaces {
        ratchet::react(&mut draft, input);
    }
    if let Input::Asked { key, request } = input {
        requested(&mut draft, key, request);
    }
    commands::handle(&mut draft);
    trains::run(&mut draft, state);
    if is_about_workspaces || !draft.state.workspaces.is_empty() {
        // After the trains: a branch that one of them has taken is not a fixer's.
        ratchet::run(&mut draft, input);
    }
    draft.finish()
}

/// Whether there is more to an input than what it tells about pull requests: most have nothing to do with a train.
fn concerns_trains(state: &RepoState, input: &Input, settings: &Settings, plan: &Plan) -> bool {
    let is_about_trains = |event: &Event| {
        matches!(
            event,
            Event::CommandGiven { .. }
                | Event::PredecessorDeclared { .. }
                | Event::PrStateChanged { .. }
                | Event::PrMerged { .. }
                | Event::RepositoryListed { .. }
                | Event::SyncCompleted {}
        )
    };
    let is_retarget = |event: &Event| match event {
        Event::PrObserved { pr, base_ref, .. } => {
            let was_left = state.wanted.get(pr).is_some_and(|wanted| wanted.is_left);
            was_left || state.pr(*pr).is_some_and(|known| known.base_ref != *base_ref)
        }
        _ => false,
    };
    trains::concern(state)
        || settings.auto_start
        || !state.commands.is_empty()
        || plan.events.iter().any(is_retarget)
        || matches!(input, Input::Asked { request, .. } if *request != Request::Sync)
        || plan.events.iter().any(is_about_trains)
}

/// Hands what came of an effect to the feature that wanted it, where that is more than news.
fn completed(draft: &mut Draft<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::Trains(effect) => trains::completed(draft, effect, outcome),
        Effect::Commands(effect) => commands::completed(draft, effect, outcome),
        Effect::Ratchet(effect) => ratchet::completed(draft, effect, outcome),
        Effect::Mirror(_) | Effect::Settings(_) | Effect::Outbox(_) => {}
    }
}

/// Somebody asked for it who is told what came of it.
fn requested(draft: &mut Draft<'_>, key: &Key, request: &Request) {
    let done = match request {
        Request::Sync => return,
        Request::StartTrain { pr, behest } => {
            let asked = trains::ask_for_start(draft, *pr, None, behest);
            // Whoever decides about a run waits for the answer.
            if let (Err(refusal), None) = (&asked, behest.decision) {
                draft.comment(*pr, refusal.clone());
            }
            asked
        }
        Request::StopTrain { pr, behest } => match trains::stop(draft, *pr, Stopping::Usual, behest) {
            true => Ok(()),
            false => Err(answer::nothing_to_stop(*pr)),
        },
        Request::RetryTrain { pr, behest } => commands::retry(draft, *pr, behest),
        about_workspaces => match ratchet::requested(draft, about_workspaces) {
            Some(done) => done,
            None => return,
        },
    };
    let outcome = if done.is_ok() { RequestOutcome::Started } else { RequestOutcome::Nothing };
    let (key, request) = (key.clone(), request.clone());
    draft.record(Event::RequestProcessed { key, request, outcome, refusal: done.err() });
}

/// What an input tells about pull requests, and what is owed to be read for that.
fn told(state: &RepoState, input: &Input, operator: &Settings, now: Timestamp) -> Plan {
    let settings = &*state.settings(operator);
    match input {
        Input::Resume => resume(state, settings, now),
        Input::Delivery { delivery, hash, received_at } => {
            deliveries::decide(state, delivery, hash, *received_at, settings, now)
        }
        Input::Unusable { id, event, received_at, reason } => Plan {
            events: vec![Event::DeliveryProcessed {
                delivery: id.clone(),
                event: event.clone(),
                action: None,
                pr: None,
                received_at: *received_at,
                outcome: DeliveryOutcome::Failed { reason: reason.clone() },
            }],
            ..Plan::default()
        },
        Input::Asked { key, request: request @ Request::Sync } => {
            let mut plan = Plan::default();
            reads::request_sync(state, SyncReason::Operator, &mut plan);
            let outcome = if plan.events.is_empty() { RequestOutcome::UnderWay } else { RequestOutcome::Started };
            plan.events.push(Event::RequestProcessed {
                key: key.clone(),
                request: request.clone(),
                outcome,
                refusal: None,
            });
            plan
        }
        Input::Completed { .. } => match input.completed() {
            Some((Effect::Mirror(effect), outcome)) => mirror::completed(state, effect, &outcome, now),
            Some((Effect::Settings(effect), outcome)) => settings::completed(state, effect, &outcome, operator, now),
            Some((Effect::Outbox(effect), outcome)) => outbox::completed(state, effect, &outcome, now),
            Some((Effect::Trains(_) | Effect::Commands(_) | Effect::Ratchet(_), _)) | None => Plan::default(),
        },
        Input::Asked { .. } | Input::FixStarted { .. } => Plan::default(),
        Input::Tick => tick(state, settings, now),
        Input::Housekeeping => {
            Plan { events: pruning::plan(state, settings, now).into_iter().collect(), ..Plan::default() }
        }
    }
}

/// Goes on where the events end: whatever is owed is asked for again.
fn resume(state: &RepoState, settings: &Settings, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let idle_for = state.touched_at.map(|at| now.duration_since(at));
    if idle_for > Some(settings.staleness_threshold) {
        match &state.sync.wanted {
            None if state.sync.last.is_some() => {
                reads::request_sync(state, SyncReason::Stale, &mut plan);
                return plan;
            }
            // What was listed then is as old as all the rest.
            Some((reason, _)) if state.sync.unread.is_some() => {
                plan.events.push(Event::SyncRequested { reason: *reason });
                plan.effects.push(mirror::Effect::Survey.into());
                return plan;
            }
            None | Some(_) => {}
        }
    }
    let is_unseen = state.sync.last.is_none() && state.sync.wanted.is_none();
    if is_unseen && !(state.prs.is_empty() && state.active_trains.is_empty()) {
        reads::request_sync(state, SyncReason::Bootstrap, &mut plan);
    }
    // Whether something can be merged may have changed while nobody looked.
    let ours: Vec<_> = state.prs.iter().filter(|(_, pr)| pr.is_ours()).map(|(number, _)| *number).collect();
    reads::want_merge_states(state, ours, &mut plan);
    plan.effects.extend(reads::owed(state, now));
    reads::merge_duplicates(&mut plan);
    plan
}

fn tick(state: &RepoState, settings: &Settings, now: Timestamp) -> Plan {
    let mut plan = Plan { effects: reads::owed(state, now), ..Plan::default() };
    let is_due = state.sync.last.is_some_and(|last| now.duration_since(last) >= settings.resync_interval);
    if is_due && state.sync.wanted.is_none() {
        reads::request_sync(state, SyncReason::Periodic, &mut plan);
    }
    plan
}
