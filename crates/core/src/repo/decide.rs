//! What an input means.

use jiff::Timestamp;

use super::effect::EffectOutcome;
use super::event::{Event, RequestOutcome};
use super::state::RepoState;
use super::trains::{self, Stopping};
use super::transaction::Transaction;
use super::{Effect, Input, Plan, Request, Settings, commands, mirror, outbox, ratchet, settings};
use crate::inbox::Key;
use crate::repo::mirror::reads;
use crate::repo::trains::texts::answer;

/// Decides what to record and what to do. Reads the state, changes nothing.
pub fn decide(state: &RepoState, input: &Input, operator: &Settings, now: Timestamp) -> Plan {
    let mut transaction = Transaction::begin(state, operator, now);
    mirror::observe(&mut transaction, input);
    if let Some((effect, outcome)) = input.completed() {
        told(&mut transaction, effect, &outcome);
    }
    reads::conclude(&mut transaction);
    transaction.settings = settings::settings_after(state, &transaction.plan, operator);
    let (settings, plan) = (&transaction.settings, &transaction.plan);
    let is_about_workspaces = ratchet::concern(state, input, settings, plan);
    if !is_about_workspaces && !concerns_trains(state, input, settings, plan) {
        return transaction.plan;
    }
    transaction.look_ahead();
    if let Some((effect, outcome)) = input.completed() {
        done(&mut transaction, effect, &outcome);
    }
    trains::react(&mut transaction, input);
    if is_about_workspaces {
        ratchet::react(&mut transaction, input);
    }
    if let Input::Asked { key, request } = input {
        requested(&mut transaction, key, request);
    }
    commands::handle(&mut transaction);
    trains::run(&mut transaction);
    if is_about_workspaces || !transaction.state.workspaces.is_empty() {
        // After the trains: a branch that one of them has taken is not a fixer's.
        ratchet::run(&mut transaction, input);
    }
    transaction.finish()
}

/// Hands what came of an effect to the feature that wanted it, where that tells what is the case outside.
fn told(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::Mirror(effect) => mirror::completed(transaction, effect, outcome),
        Effect::Settings(effect) => settings::completed(transaction, effect, outcome),
        Effect::Outbox(effect) => outbox::completed(transaction, effect, outcome),
        Effect::Trains(_) | Effect::Commands(_) | Effect::Ratchet(_) => {}
    }
}

/// The same, where it decides how the feature goes on.
fn done(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::Trains(effect) => trains::completed(transaction, effect, outcome),
        Effect::Commands(effect) => commands::completed(transaction, effect, outcome),
        Effect::Ratchet(effect) => ratchet::completed(transaction, effect, outcome),
        Effect::Mirror(_) | Effect::Settings(_) | Effect::Outbox(_) => {}
    }
}

/// Whether there is more to an input than what it tells about pull requests: most have nothing to do with a train.
fn concerns_trains(state: &RepoState, input: &Input, settings: &Settings, plan: &Plan) -> bool {
    trains::concern(state)
        || settings.auto_start
        || !state.commands.is_empty()
        || matches!(input, Input::Asked { request, .. } if *request != Request::Sync)
        || plan.events.iter().any(|event| concerns_trains_yet_to_be(state, event))
}

/// Whether there may be a train, or something to say about one, because of this.
fn concerns_trains_yet_to_be(state: &RepoState, event: &Event) -> bool {
    match event {
        Event::Mirror(event) => news_concerns_trains(state, event),
        Event::Trains(_) | Event::Commands(_) => true,
        Event::Settings(_) | Event::Outbox(_) | Event::Ratchet(_) => false,
    }
}

fn news_concerns_trains(state: &RepoState, event: &mirror::Event) -> bool {
    match event {
        mirror::Event::PrObserved { pr, base_ref, .. } => {
            let was_left = state.wanted.get(pr).is_some_and(|wanted| wanted.is_left);
            was_left || state.pr(*pr).is_some_and(|known| known.base_ref != *base_ref)
        }
        mirror::Event::PredecessorDeclared { .. }
        | mirror::Event::PrStateChanged { .. }
        | mirror::Event::PrMerged { .. }
        | mirror::Event::RepositoryListed { .. }
        | mirror::Event::SyncCompleted {} => true,
        // Where no train is, nobody waits for these.
        mirror::Event::PrGone { .. }
        | mirror::Event::PredecessorRemoved { .. }
        | mirror::Event::DefaultBranchChanged { .. }
        | mirror::Event::PrWanted { .. }
        | mirror::Event::CommentSuperseded { .. }
        | mirror::Event::MergeStateOutdated { .. }
        | mirror::Event::MergeStateObserved { .. }
        | mirror::Event::CiSeen { .. }
        | mirror::Event::BotKnown { .. }
        | mirror::Event::SyncRequested { .. }
        | mirror::Event::ConversationsWanted { .. }
        | mirror::Event::ConversationsHeard { .. }
        | mirror::Event::ReadFailed { .. }
        | mirror::Event::DeliveryProcessed { .. }
        | mirror::Event::Pruned { .. } => false,
    }
}

/// Somebody asked for it who is told what came of it.
fn requested(transaction: &mut Transaction<'_>, key: &Key, request: &Request) {
    let done = match request {
        Request::Sync => return,
        Request::StartTrain { pr, behest } => {
            let asked = trains::ask_for_start(transaction, *pr, None, behest);
            // Whoever decides about a run waits for the answer.
            if let (Err(refusal), None) = (&asked, behest.decision) {
                transaction.comment(*pr, refusal.clone());
            }
            asked
        }
        Request::StopTrain { pr, behest } => match trains::stop(transaction, *pr, Stopping::Usual, behest) {
            true => Ok(()),
            false => Err(answer::nothing_to_stop(*pr)),
        },
        Request::RetryTrain { pr, behest } => commands::retry(transaction, *pr, behest),
        Request::Ratchet { .. }
        | Request::LookAt { .. }
        | Request::DecideFix { .. }
        | Request::StopFix { .. }
        | Request::Session { .. }
        | Request::EndSession { .. } => match ratchet::requested(transaction, request) {
            Some(done) => done,
            None => return,
        },
    };
    let outcome = if done.is_ok() { RequestOutcome::Started } else { RequestOutcome::Nothing };
    let (key, request) = (key.clone(), request.clone());
    transaction.record(commands::Event::RequestProcessed { key, request, outcome, refusal: done.err() });
}
