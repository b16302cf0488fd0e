//! Pull requests under ratchet: what is done about each, and what the answers to what was done mean.
//!
//! A workspace is looked at when something about it may have changed. The look is a pure function of the state and the time:
//! asked again it says the same, so whoever resumes asks it and does what it says.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{Effect, FixPhase, Workspace, WorkspaceReason};
use super::{comments, fixes, observation, sessions, toggle};
use crate::ids::{PrNumber, Sha};
use crate::repo::effect::EffectOutcome;
use crate::repo::event::Event;
use crate::repo::mirror::fold;
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::trains::detail::{TrainDetail, is_live};
use crate::repo::trains::{CascadePhase, TrainRecord};
use crate::repo::transaction::Transaction;
use crate::repo::{self, Input, Plan, Request, Settings, mirror, ratchet, settings};

/// For how long a fixer counts against the budget of its repository.
pub(super) const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Whether a pull request is one that a heartbeat looks at.
pub fn candidate(state: &RepoState, pr: PrNumber, settings: &Settings) -> bool {
    let is_open = state.workspaces.get(&pr).is_some_and(|workspace| workspace.archived_at.is_none());
    is_open && state.ratchet_is_on(pr, settings)
}

impl RepoState {
    /// Whether the ratchet is on for a pull request: somebody said so there, or its label does, or it is so for all.
    pub fn ratchet_is_on(&self, pr: PrNumber, settings: &Settings) -> bool {
        let own = self.workspaces.get(&pr).and_then(|workspace| workspace.toggle.or(workspace.label));
        let for_all = self.ratchet_default.or(self.own.settings.ratchet.enabled);
        own.or(for_all).unwrap_or(settings.ratchet.enabled)
    }

    /// What the repository's own default is, where somebody set it.
    pub fn ratchet_default(&self) -> Option<bool> {
        self.ratchet_default
    }

    /// The first of these whose branch a fixer owns.
    pub(in crate::repo) fn owned_by_fixer(
        &self,
        prs: impl IntoIterator<Item = PrNumber>,
    ) -> Option<(PrNumber, &ratchet::Fix)> {
        prs.into_iter().find_map(|pr| Some((pr, self.workspaces.get(&pr)?.fix.as_ref()?)))
    }

    /// Whether a train is at work on the branch of a pull request: it lands it, or relates it to what landed.
    pub(super) fn owned_by_train(&self, pr: PrNumber) -> bool {
        let is_at_it = |train: &TrainRecord| {
            let is_named = train.current_pr == pr || train.cascade_phase.frozen_descendants().contains(&pr);
            is_live(train.state) && train.cascade_phase != CascadePhase::Idle && is_named
        };
        let is_pushing = self.details.values().filter_map(TrainDetail::intended_push).any(|push| push.pull == pr);
        is_pushing || self.active_trains.values().any(is_at_it)
    }
}

/// Folds one event in.
pub(in crate::repo) fn apply(state: &mut RepoState, event: &ratchet::Event, ts: Timestamp) {
    match event {
        ratchet::Event::RatchetToggled { pr: None, on, .. } => {
            state.ratchet_default = Some(*on);
            if *on {
                state.workspaces.values_mut().for_each(Workspace::turned_on_for_all);
            }
            return;
        }
        ratchet::Event::TalkOutdated { prs } => {
            for pr in prs {
                if let Some(workspace) = state.workspaces.get_mut(pr) {
                    workspace.talk_wanted_since = Some(ts);
                }
            }
            return;
        }
        ratchet::Event::RatchetToggled { pr: Some(pr), .. }
        | ratchet::Event::RatchetLabelled { pr, .. }
        | ratchet::Event::WorkspaceOpened { pr }
        | ratchet::Event::SessionOpened { pr, .. } => {
            state.workspaces.entry(*pr).or_insert_with(|| Workspace { since: ts, ..Workspace::default() });
        }
        ratchet::Event::FixDispatched { .. } => {
            state.fixers_sent.retain(|sent| ts.duration_since(*sent) < DAY);
            state.fixers_sent.push(ts);
        }
        ratchet::Event::FixSettled { pr, settled, .. } => {
            if let Some(head) = &settled.pushed {
                fold::change(state, *pr, |pr| {
                    fold::pushed(pr, head, ts);
                    // What a fixer writes is part of the change, as what a person writes.
                    pr.people_head = Some(head.clone());
                });
            }
        }
        // These are about the workspace alone.
        ratchet::Event::WorkspaceArchived { .. }
        | ratchet::Event::TalkObserved { .. }
        | ratchet::Event::RatchetMoved { .. }
        | ratchet::Event::DiagnosisDelayed { .. }
        | ratchet::Event::FixStarted { .. }
        | ratchet::Event::FixDelayed { .. }
        | ratchet::Event::FixInterrupted { .. }
        | ratchet::Event::FixHeld { .. }
        | ratchet::Event::FixPushIntended { .. }
        | ratchet::Event::FixPushDoubted { .. }
        | ratchet::Event::FixPushMissed { .. }
        | ratchet::Event::FixCleared { .. }
        | ratchet::Event::SessionSeen { .. }
        | ratchet::Event::SessionEnded { .. } => {}
    }
    if let Some(workspace) = event.pr().and_then(|pr| state.workspaces.get_mut(&pr)) {
        workspace.apply(event, ts);
    }
    if matches!(event, ratchet::Event::TalkObserved { .. }) && !comments::is_owed(state) {
        state.talk_reads = crate::repo::state::Backoff::default();
    }
}

/// The head of a pull request is another. Who pushed it counts: what merge-train pushed itself is no person's hand in it.
pub(in crate::repo) fn head_moved(state: &mut RepoState, pr: PrNumber, head: &Sha, ts: Timestamp) {
    let is_own = state.prs.get(&pr).is_some_and(|known| known.pushed.as_ref() == Some(head));
    let is_trains =
        state.details.values().filter_map(TrainDetail::intended_push).any(|push| push.pull == pr && push.to == *head);
    let Some(workspace) = state.workspaces.get_mut(&pr) else { return };
    let is_it = |phase: &FixPhase| matches!(phase, FixPhase::Pushing { push, .. } if push.to == *head);
    let is_fixers = workspace.fix.as_ref().is_some_and(|fix| is_it(&fix.phase));
    if !(is_own || is_trains || is_fixers) {
        workspace.pushed_from_outside(ts);
    }
}

/// Whether there is anything to do with workspaces in an input, after what it told about pull requests.
pub(in crate::repo) fn concern(state: &RepoState, input: &Input, settings: &Settings, plan: &Plan) -> bool {
    let is_asked = |request: &Request| {
        matches!(
            request,
            Request::Ratchet { .. }
                | Request::LookAt { .. }
                | Request::DecideFix { .. }
                | Request::StopFix { .. }
                | Request::Session { .. }
                | Request::EndSession { .. }
        )
    };
    match input {
        Input::Completed { effect: repo::Effect::Ratchet(_), .. } | Input::FixStarted { .. } => true,
        Input::Asked { request, .. } if is_asked(request) => true,
        Input::Resume | Input::Tick => !state.workspaces.is_empty() || settings.ratchet.enabled,
        Input::Completed { .. }
        | Input::Delivery { .. }
        | Input::Unusable { .. }
        | Input::Asked { .. }
        | Input::Housekeeping => {
            let is_on = |pr: &PrNumber| state.workspaces.contains_key(pr) || state.ratchet_is_on(*pr, settings);
            let spoken_of = comments::spoken_of(state, input);
            let is_said = |event: &Event| {
                matches!(event, Event::Ratchet(_) | Event::Settings(settings::Event::SettingsObserved { .. }))
            };
            spoken_of.is_some() || plan.events.iter().any(is_said) || touched(state, &plan.events).iter().any(is_on)
        }
    }
}

/// What came of something that was done means for its workspace.
pub(in crate::repo) fn completed(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::ReadTalk { prs } => comments::read(transaction, prs, outcome.requested_at, outcome.answer()),
        // Whether a fixer is sent is decided where its workspace is looked at.
        Effect::Diagnose { .. } => {}
        Effect::Fix { pr, at, .. } => fixes::ended(transaction, *pr, *at, outcome.answer()),
        Effect::Forward { pr, at, .. } => fixes::forwarded(transaction, *pr, *at, outcome.answer()),
        Effect::ClearFixer { pr, at, .. } => {
            if let Ok(()) = outcome.answer() {
                transaction.record(ratchet::Event::FixCleared { pr: *pr, at: *at });
            }
        }
    }
}

/// What an input means for workspaces, beyond what it told about pull requests.
pub(in crate::repo) fn react(transaction: &mut Transaction<'_>, input: &Input) {
    match input {
        Input::Resume => {
            comments::want_all(transaction);
            fixes::doubt(transaction);
            fixes::clear(transaction);
        }
        Input::FixStarted { pr, at } => fixes::started(transaction, *pr, *at),
        Input::Tick => {
            sessions::expire(transaction);
            fixes::clear(transaction);
        }
        Input::Completed { .. }
        | Input::Delivery { .. }
        | Input::Unusable { .. }
        | Input::Asked { .. }
        | Input::Housekeeping => {}
    }
    if let Some(pr) = comments::spoken_of(&transaction.state, input) {
        comments::want(transaction, [pr]);
    }
    // Before the trains, which may have waited for them.
    fixes::end_overtaken(transaction);
}

/// Carries out what somebody asked for through the API; none where it is not about workspaces.
pub(in crate::repo) fn requested(transaction: &mut Transaction<'_>, request: &Request) -> Option<Result<(), String>> {
    Some(match request {
        Request::Ratchet { pr, on, behest } => toggle(transaction, *pr, *on, behest),
        Request::LookAt { prs } => {
            comments::look_at(transaction, prs);
            Ok(())
        }
        Request::DecideFix { pr, at, behest } => fixes::decide(transaction, *pr, *at, behest),
        Request::StopFix { pr, at, behest } => fixes::stop(transaction, *pr, *at, behest),
        Request::Session { pr, session, idle, by, again } => {
            sessions::seen(transaction, *pr, session, *idle, by.as_deref(), *again)
        }
        Request::EndSession { pr, session, exit_code } => sessions::end(transaction, *pr, session, *exit_code),
        Request::Sync | Request::StartTrain { .. } | Request::StopTrain { .. } | Request::RetryTrain { .. } => {
            return None;
        }
    })
}

/// Looks at every workspace about which something may have changed.
pub(in crate::repo) fn run(transaction: &mut Transaction<'_>, input: &Input) {
    open(transaction, input);
    let everything = matches!(input, Input::Resume | Input::Tick);
    let mut looked_at: BTreeSet<PrNumber> = match everything {
        true => transaction.state.workspaces.keys().copied().collect(),
        false => touched(&transaction.state, &transaction.plan.events),
    };
    if let Input::Completed { effect: repo::Effect::Ratchet(effect), .. } = input {
        looked_at.extend(goes_on_after(effect));
    }
    // What was kept waiting by a train, or by the budget of the repository, may go on.
    let is_kept = |workspace: &Workspace| {
        matches!(workspace.reason, WorkspaceReason::TrainAtWork | WorkspaceReason::DailyBudget)
            && workspace.archived_at.is_none()
    };
    looked_at.extend(transaction.state.workspaces.iter().filter(|(_, it)| is_kept(it)).map(|(pr, _)| *pr));
    for pr in looked_at {
        observation::at(transaction, pr, input);
    }
    comments::read_if_due(transaction);
}

/// The pull request whose workspace may go on when an effect has ended.
fn goes_on_after(effect: &Effect) -> Option<PrNumber> {
    match effect {
        Effect::Diagnose { pr, .. } | Effect::Fix { pr, .. } | Effect::Forward { pr, .. } => Some(*pr),
        Effect::ReadTalk { .. } | Effect::ClearFixer { .. } => None,
    }
}

/// Workspaces for the pull requests that the ratchet is on for.
fn open(transaction: &mut Transaction<'_>, input: &Input) {
    let is_missing = |state: &RepoState, pr: &PrNumber| {
        let workspace = state.workspaces.get(pr);
        let is_ours = state.pr(*pr).is_some_and(CachedPr::is_ours);
        let is_closed = workspace.is_some_and(|workspace| workspace.archived_at.is_some());
        is_ours && (is_closed || (workspace.is_none() && state.ratchet_is_on(*pr, &transaction.settings)))
    };
    let sees_all = matches!(input, Input::Resume | Input::Tick)
        || transaction.plan.events.iter().any(|event| {
            matches!(
                event,
                Event::Mirror(mirror::Event::SyncCompleted {})
                    | Event::Settings(settings::Event::SettingsObserved { .. })
                    | Event::Ratchet(ratchet::Event::RatchetToggled { pr: None, .. })
            )
        });
    let named: BTreeSet<PrNumber> = match sees_all {
        true => transaction.state.prs.keys().copied().collect(),
        false => touched(&transaction.state, &transaction.plan.events),
    };
    let missing: Vec<PrNumber> = named.into_iter().filter(|pr| is_missing(&transaction.state, pr)).collect();
    for pr in &missing {
        transaction.record(ratchet::Event::WorkspaceOpened { pr: *pr });
    }
    comments::want(transaction, missing);
}

/// The pull requests that events are about, as far as workspaces care.
fn touched(state: &RepoState, events: &[Event]) -> BTreeSet<PrNumber> {
    let mut prs = BTreeSet::new();
    for event in events {
        match event {
            Event::Mirror(event) => prs.extend(touched_by_news(state, event)),
            Event::Ratchet(ratchet::Event::TalkOutdated { prs: named }) => prs.extend(named),
            // What counts for all of them may be something else now.
            Event::Settings(settings::Event::SettingsObserved { .. })
            | Event::Ratchet(ratchet::Event::RatchetToggled { pr: None, .. }) => {
                prs.extend(state.workspaces.keys().copied());
            }
            Event::Ratchet(event) => prs.extend(event.pr()),
            // What a train keeps waiting is looked at in any case.
            Event::Trains(_) | Event::Commands(_) | Event::Outbox(_) => {}
            // What a file would say, and that it was read, changes nothing yet.
            Event::Settings(
                settings::Event::SettingsWanted {}
                | settings::Event::SettingsConfirmed {}
                | settings::Event::ProposalSuspected { .. }
                | settings::Event::ProposalSettled { .. }
                | settings::Event::CheckOwed { .. }
                | settings::Event::CheckShown { .. }
                | settings::Event::CheckDelayed { .. }
                | settings::Event::CheckDropped { .. },
            ) => {}
        }
    }
    prs
}

fn touched_by_news(state: &RepoState, event: &mirror::Event) -> Vec<PrNumber> {
    match event {
        mirror::Event::PrObserved { pr, .. }
        | mirror::Event::PrMerged { pr, .. }
        | mirror::Event::PrStateChanged { pr, .. }
        | mirror::Event::PrGone { pr }
        | mirror::Event::MergeStateObserved { pr, .. } => vec![*pr],
        mirror::Event::CiSeen { sha, .. } => state.open_heads.get(sha).into_iter().flatten().copied().collect(),
        // These change nothing that a workspace is judged by, or ask for what does.
        mirror::Event::PredecessorDeclared { .. }
        | mirror::Event::PredecessorRemoved { .. }
        | mirror::Event::DefaultBranchChanged { .. }
        | mirror::Event::PrWanted { .. }
        | mirror::Event::CommentSuperseded { .. }
        | mirror::Event::MergeStateOutdated { .. }
        | mirror::Event::BotKnown { .. }
        | mirror::Event::SyncRequested { .. }
        | mirror::Event::RepositoryListed { .. }
        | mirror::Event::ConversationsWanted { .. }
        | mirror::Event::ConversationsHeard { .. }
        | mirror::Event::FormerHeadsHeard { .. }
        | mirror::Event::SyncCompleted {}
        | mirror::Event::ReadFailed { .. }
        | mirror::Event::DeliveryProcessed { .. }
        | mirror::Event::Pruned { .. } => Vec::new(),
    }
}

/// When workspaces have to be looked at although nothing comes in.
pub(in crate::repo) fn wakes(state: &RepoState, settings: &Settings) -> Vec<Timestamp> {
    let later = |at: Timestamp, wait: SignedDuration| at.checked_add(wait).ok();
    let mut wakes = Vec::new();
    let open = state.workspaces.values().filter(|workspace| workspace.archived_at.is_none());
    for workspace in open {
        wakes.extend(workspace.retry_at);
        wakes.extend(workspace.fix.as_ref().and_then(|fix| fix.retry_at));
        wakes.extend(
            workspace.sessions.values().filter_map(|session| later(session.seen_at, settings.ratchet.session_timeout)),
        );
        if workspace.reason == WorkspaceReason::StaleCi {
            wakes.extend(workspace.stale_since.and_then(|at| later(at, settings.ratchet.stale_ci_timeout)));
        }
        if workspace.reason == WorkspaceReason::Grace {
            wakes.extend(workspace.green_since.and_then(|at| later(at, settings.ratchet.grace)));
        }
        if workspace.reason == WorkspaceReason::DailyBudget {
            wakes.extend(state.fixers_sent.iter().filter_map(|at| later(*at, DAY)));
        }
    }
    if comments::is_owed(state) {
        wakes.extend(state.talk_reads.retry_at);
    }
    wakes
}

/// Whether somebody has to be there for them, even if nothing comes in.
pub(in crate::repo) fn need_a_worker(state: &RepoState) -> bool {
    let is_busy = |workspace: &Workspace| workspace.is_in_flight() || workspace.talk_wanted_since.is_some();
    state.workspaces.values().any(|workspace| workspace.archived_at.is_none() && is_busy(workspace))
}
