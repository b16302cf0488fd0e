//! What the repository says about itself: when its file is read, what counts of it, and what is shown of it on GitHub.
//!
//! The file of the default branch is read with every full look and when a push touches it. Pull requests that change it have it
//! looked at too, and a check on their head says whether it would do; which they are, the reading of merge states tells on the way,
//! and pushes tell of themselves.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Effect, Event, RepositorySettings, SettingInForce, SettingOrigin, SettingsFile, SettingsFileProblem,
    SettingsFileVerdict, SettingsProposal,
};
use crate::facts::{HeadRepo, PullFacts, PullState, SettingsFileContent};
use crate::ids::{BranchName, PrNumber, Sha};
use crate::repo::effect::EffectOutcome;
use crate::repo::event::ReadKind;
use crate::repo::mirror::reads;
use crate::repo::state::{Backoff, CachedPr, PrState, RepoState};
use crate::repo::transaction::Transaction;
use crate::repo::{self, EffectFailure, EffectFailureKind, Event as RepoEvent, Plan, Settings, outbox};

/// How often a check is tried to be shown before it is left.
const MOST_TRIES: u32 = 20;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::repo) struct Own {
    /// Those of the last file that was valid.
    #[serde(skip_serializing_if = "is_default")]
    pub settings: RepositorySettings,
    /// What was read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<SettingsFileReading>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Wanted>,
    /// Pull requests that change the file, or may.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub proposals: BTreeMap<PrNumber, Proposed>,
    /// What is to be shown, by the commit on which it is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<Sha, PendingCheck>,
}

/// The file of the default branch, when it was last another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsFileReading {
    /// The commit at which it was found.
    pub head_sha: Sha,
    #[serde(default)]
    pub blob: Option<Sha>,
    /// What is wrong with it: then it does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<SettingsFileProblem>,
    pub at: Timestamp,
}

/// A reading that is owed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(in crate::repo) struct Wanted {
    pub since: Timestamp,
    #[serde(default)]
    pub backoff: Backoff,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::repo) struct Proposed {
    pub head_sha: Sha,
    pub standing: SettingsFileChange,
    #[serde(default)]
    pub backoff: Backoff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsFileChange {
    /// Whether it changes the file is to be found out.
    Suspected,
    Untouched,
    Changed,
}

/// A check that is to be shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::repo) struct PendingCheck {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr: Option<PrNumber>,
    #[serde(flatten)]
    pub verdict: SettingsFileVerdict,
    #[serde(default)]
    pub backoff: Backoff,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl RepoState {
    /// The operator's settings, with what the repository itself has set.
    pub fn settings<'s>(&self, operator: &'s Settings) -> Cow<'s, Settings> {
        self.own.settings.within(operator)
    }

    /// What the repository itself has set.
    pub fn own_settings(&self) -> &RepositorySettings {
        &self.own.settings
    }

    /// All that a repository may set for itself, as it is now.
    pub fn shown_settings(&self, operator: &Settings) -> Vec<SettingInForce> {
        let mut all = self.own.settings.shown(operator);
        if let (Some(on), Some(switch)) = (self.ratchet_default, all.iter_mut().find(|it| it.key == "ratchet.enabled"))
        {
            (switch.value, switch.origin) = (on.into(), SettingOrigin::People);
        }
        all
    }

    /// The file of the default branch; none before it was looked for.
    pub fn own_file(&self) -> Option<&SettingsFileReading> {
        self.own.read.as_ref()
    }
}

/// The settings that are in force after what was decided so far.
pub(in crate::repo) fn settings_after<'s>(state: &RepoState, plan: &Plan, operator: &'s Settings) -> Cow<'s, Settings> {
    let read = plan.events.iter().rev().find_map(|event| {
        if let RepoEvent::Settings(Event::SettingsObserved { settings, .. }) = event { settings.as_ref() } else { None }
    });
    read.unwrap_or(&state.own.settings).within(operator)
}

/// Takes in what was read of the file, or shown of it.
pub(in crate::repo) fn completed(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::ReadSettings { .. } => read(transaction, outcome.requested_at, outcome.answer()),
        Effect::ReadProposal { pr, head } => proposal_read(transaction, *pr, head, outcome.answer()),
        Effect::ShowCheck { head, .. } => check_shown(transaction, head, outcome.answer()),
    }
}

fn read(transaction: &mut Transaction<'_>, requested_at: Timestamp, result: Result<&SettingsFile, &EffectFailure>) {
    let (state, operator, now) = (transaction.before, transaction.operator, transaction.now);
    let Some(wanted) = state.own.wanted else { return };
    let SettingsFile { at, blob, said } = match result {
        Ok(_) if reads::is_outdated(requested_at, wanted.since, now) => {
            transaction.effects(state.default_branch.clone().map(|default| Effect::ReadSettings { default }));
            return;
        }
        Ok(file) => file,
        Err(failure) => {
            transaction.record(reads::failed(ReadKind::Settings, failure, wanted.backoff.attempts, now));
            return;
        }
    };
    let problems = said.as_ref().err().cloned().unwrap_or_default();
    let known = state.own.read.as_ref();
    let is_known = known.is_some_and(|known| known.blob == *blob && known.problems == problems);
    if is_known && said.as_ref().ok().is_none_or(|said| *said == state.own.settings) {
        transaction.record(Event::SettingsConfirmed {});
        return;
    }
    let settings = said.as_ref().ok().cloned();
    transaction.record(Event::SettingsObserved { head_sha: at.clone(), blob: blob.clone(), settings, problems });
    // That all is as it should be is worth no check where nobody changed anything.
    if said.is_err() || known.is_some_and(|known| known.blob != *blob) {
        owe(transaction, at, None, verdict(said, blob.is_some(), operator));
    }
    if known.is_none() {
        // Which pull requests change the file can be told only now.
        let is_read = |(_, pr): &(&PrNumber, &CachedPr)| pr.is_ours() && pr.merge_state_wanted_since.is_none();
        let read: Vec<PrNumber> = state.prs.iter().filter(is_read).map(|(number, _)| *number).collect();
        reads::want_merge_states(transaction, read);
    }
}

fn proposal_read(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    head: &Sha,
    result: Result<&SettingsProposal, &EffectFailure>,
) {
    let (state, operator, now) = (transaction.before, transaction.operator, transaction.now);
    let Some(proposed) = state.own.proposals.get(&pr).filter(|it| it.standing == SettingsFileChange::Suspected) else {
        return;
    };
    if proposed.head_sha != *head {
        transaction.effect(Effect::ReadProposal { pr, head: proposed.head_sha.clone() });
        return;
    }
    let settled = |standing| Event::ProposalSettled { pr, head_sha: head.clone(), standing };
    let verdict = match result {
        Ok(SettingsProposal::Untouched) => {
            transaction.record(settled(SettingsFileChange::Untouched));
            return;
        }
        Ok(SettingsProposal::Removed) => SettingsFileVerdict::Removed {},
        Ok(SettingsProposal::Written(said)) => verdict(said, true, operator),
        // It is gone, or may not be seen.
        Err(failure) if failure.kind == EffectFailureKind::Permanent => {
            transaction.record(settled(SettingsFileChange::Untouched));
            return;
        }
        Err(failure) => {
            transaction.record(reads::failed(ReadKind::Proposal(pr), failure, proposed.backoff.attempts, now));
            return;
        }
    };
    transaction.record(settled(SettingsFileChange::Changed));
    owe(transaction, head, Some(pr), verdict);
}

fn verdict(
    said: &Result<RepositorySettings, Vec<SettingsFileProblem>>,
    is_there: bool,
    operator: &Settings,
) -> SettingsFileVerdict {
    match said {
        Ok(_) if !is_there => SettingsFileVerdict::Removed {},
        Ok(settings) => SettingsFileVerdict::Valid { limited: settings.limited(operator) },
        Err(problems) => SettingsFileVerdict::Invalid { problems: problems.clone() },
    }
}

fn owe(transaction: &mut Transaction<'_>, head: &Sha, pr: Option<PrNumber>, verdict: SettingsFileVerdict) {
    transaction.record(Event::CheckOwed { head_sha: head.clone(), pr, verdict: verdict.clone() });
    transaction.effect(Effect::ShowCheck { head: head.clone(), verdict });
}

/// What became of a check that was to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPublication {
    Shown,
    /// GitHub lets nobody but an app with write access to checks show any.
    NotAllowed {
        reason: String,
    },
}

fn check_shown(transaction: &mut Transaction<'_>, head: &Sha, result: Result<&CheckPublication, &EffectFailure>) {
    let (state, now) = (transaction.before, transaction.now);
    let Some(owed) = state.own.checks.get(head) else { return };
    let dropped =
        |reason: &str| RepoEvent::Settings(Event::CheckDropped { head_sha: head.clone(), reason: reason.to_owned() });
    match result {
        Ok(CheckPublication::Shown) => transaction.record(Event::CheckShown { head_sha: head.clone() }),
        Ok(CheckPublication::NotAllowed { reason }) => {
            transaction.record(dropped(reason));
            if let Some(pr) = owed.pr.or_else(|| landed_as(state, head)) {
                let say = outbox::NoteContent::Comment { body: owed.verdict.comment() };
                transaction.say(pr, say);
            }
        }
        Err(failure) if failure.kind == EffectFailureKind::Permanent || owed.backoff.attempts >= MOST_TRIES => {
            transaction.record(dropped(&failure.reason));
        }
        Err(failure) => {
            let retry_at = reads::retry_at(failure, owed.backoff.attempts, now);
            let reason = failure.reason.clone();
            transaction.record(Event::CheckDelayed { head_sha: head.clone(), reason, retry_at });
        }
    }
    // One at a time.
    let next = state.own.checks.iter().find(|(other, owed)| *other != head && owed.backoff.is_due(now));
    transaction.effects(next.map(|(head, owed)| show(head, owed)));
}

/// The pull request that a commit of the default branch is the landing of.
fn landed_as(state: &RepoState, commit: &Sha) -> Option<PrNumber> {
    let is_it = |state: &PrState| matches!(state, PrState::Merged { merge_commit_sha: Some(sha), .. } if sha == commit);
    state.prs.iter().find(|(_, pr)| is_it(&pr.state)).map(|(number, _)| *number)
}

/// A push was heard of. Whether it has anything to do with the file.
pub(in crate::repo) fn pushed(
    transaction: &mut Transaction<'_>,
    branch: &BranchName,
    after: &Sha,
    touches: bool,
) -> bool {
    let state = transaction.before;
    let known = transaction.plan.events.len();
    if touches && state.default_branch.as_ref() == Some(branch) {
        transaction.record(Event::SettingsWanted {});
        transaction.effect(Effect::ReadSettings { default: branch.clone() });
    }
    let heads = state.prs.iter().filter(|(_, pr)| pr.is_ours() && pr.head_ref.as_ref() == Some(branch));
    for (number, _) in heads {
        let proposed = state.own.proposals.get(number);
        if touches || proposed.is_some_and(|proposed| proposed.standing == SettingsFileChange::Changed) {
            suspect(transaction, *number, after);
        }
    }
    transaction.plan.events.len() > known
}

/// A fork does not tell of its pushes, and its pull requests are read with no others: each new head is looked at.
pub(in crate::repo) fn forked(transaction: &mut Transaction<'_>, pull: &PullFacts) -> bool {
    let is_fork = pull.head_repo == HeadRepo::Fork && pull.state == PullState::Open;
    is_fork && suspect(transaction, pull.number, &pull.head_sha)
}

/// What the reading of a merge state shows on the way.
pub(in crate::repo) fn seen(transaction: &mut Transaction<'_>, pr: PrNumber, head: &Sha, file: &SettingsFileContent) {
    let state = transaction.before;
    let Some(read) = &state.own.read else { return };
    let differs = match file {
        SettingsFileContent::Unseen => false,
        SettingsFileContent::Absent => read.blob.is_some(),
        SettingsFileContent::Blob(blob) => read.blob.as_ref() != Some(blob),
    };
    if !differs {
        return;
    }
    // What merge-train itself pushes brings nothing of its own.
    let is_own_push = state.pr(pr).is_some_and(|pr| pr.pushed.as_ref() == Some(head));
    let was_untouched = |proposed: &Proposed| proposed.standing == SettingsFileChange::Untouched;
    if is_own_push && state.own.proposals.get(&pr).is_some_and(was_untouched) {
        return;
    }
    suspect(transaction, pr, head);
}

fn suspect(transaction: &mut Transaction<'_>, pr: PrNumber, head: &Sha) -> bool {
    let is_known = transaction.before.own.proposals.get(&pr).is_some_and(|proposed| proposed.head_sha == *head);
    if is_known {
        return false;
    }
    transaction.record(Event::ProposalSuspected { pr, head_sha: head.clone() });
    transaction.effect(Effect::ReadProposal { pr, head: head.clone() });
    true
}

/// What is owed and due.
pub(in crate::repo) fn due(state: &RepoState, now: Timestamp) -> Vec<repo::Effect> {
    let own = &state.own;
    let default = state.default_branch.clone().filter(|_| own.wanted.is_some_and(|it| it.backoff.is_due(now)));
    let suspects =
        own.proposals.iter().filter(|(_, it)| it.standing == SettingsFileChange::Suspected && it.backoff.is_due(now));
    let checks = own.checks.iter().filter(|(_, owed)| owed.backoff.is_due(now));
    let reads = default.map(|default| Effect::ReadSettings { default }.into());
    let proposals = suspects.map(|(pr, it)| Effect::ReadProposal { pr: *pr, head: it.head_sha.clone() }.into());
    let shows = checks.map(|(head, owed)| show(head, owed));
    reads.into_iter().chain(proposals).chain(shows).collect()
}

fn show(head: &Sha, owed: &PendingCheck) -> repo::Effect {
    Effect::ShowCheck { head: head.clone(), verdict: owed.verdict.clone() }.into()
}

/// All that is owed, and when each is tried again.
pub(in crate::repo) fn backoffs(state: &RepoState) -> impl Iterator<Item = &Backoff> {
    let own = &state.own;
    let suspects =
        own.proposals.values().filter(|it| it.standing == SettingsFileChange::Suspected).map(|it| &it.backoff);
    let checks = own.checks.values().map(|owed| &owed.backoff);
    own.wanted.iter().map(|wanted| &wanted.backoff).chain(suspects).chain(checks)
}

impl Own {
    /// The file may be another: it is to be read.
    pub fn want(&mut self, ts: Timestamp) {
        self.wanted = Some(Wanted { since: ts, backoff: Backoff::default() });
    }
}

/// Folds one event in.
pub(in crate::repo) fn apply(own: &mut Own, event: &Event, ts: Timestamp) {
    match event {
        Event::SettingsWanted {} => own.want(ts),
        Event::SettingsConfirmed {} => own.wanted = None,
        Event::SettingsObserved { head_sha, blob, settings, problems } => {
            let (head_sha, blob, problems) = (head_sha.clone(), blob.clone(), problems.clone());
            own.read = Some(SettingsFileReading { head_sha, blob, problems, at: ts });
            if let Some(settings) = settings {
                own.settings = settings.clone();
            }
            own.wanted = None;
        }
        Event::ProposalSuspected { pr, head_sha } => {
            let (head_sha, standing) = (head_sha.clone(), SettingsFileChange::Suspected);
            own.proposals.insert(*pr, Proposed { head_sha, standing, backoff: Backoff::default() });
        }
        Event::ProposalSettled { pr, head_sha, standing } => {
            let (head_sha, standing) = (head_sha.clone(), *standing);
            own.proposals.insert(*pr, Proposed { head_sha, standing, backoff: Backoff::default() });
        }
        Event::CheckOwed { head_sha, pr, verdict } => {
            let owed = PendingCheck { pr: *pr, verdict: verdict.clone(), backoff: Backoff::default() };
            own.checks.insert(head_sha.clone(), owed);
        }
        Event::CheckShown { head_sha } | Event::CheckDropped { head_sha, .. } => {
            own.checks.remove(head_sha);
        }
        Event::CheckDelayed { head_sha, retry_at, .. } => {
            if let Some(owed) = own.checks.get_mut(head_sha) {
                owed.backoff.fail(*retry_at);
            }
        }
    }
}
