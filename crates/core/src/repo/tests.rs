//! The cache as a repository's worker meets it: inputs in, events and effects out.

mod bounded;
mod comments;
mod deliveries;
mod format;
mod housekeeping;
mod hub;
mod inputs;
mod model;
mod notes;
mod properties;
mod ratchet;
mod reads;
mod recovery;
mod runs;
mod settings;
mod stored;
mod trains;
mod trains_people;
mod trains_unruly;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::commands::{Effect as CommandsEffect, Event as CommandsEvent};
use super::mirror::{Effect as MirrorEffect, EffectKey as MirrorKey, Event as MirrorEvent};
use super::outbox::{Effect as OutboxEffect, EffectKey as OutboxKey, Event as OutboxEvent};
use super::ratchet::{Effect as RatchetEffect, EffectKey as RatchetKey};
use super::settings::{Effect as SettingsEffect, EffectKey as SettingsKey, Event as SettingsEvent};
use super::trains::{Effect as TrainsEffect, EffectKey as TrainsKey, Event as TrainsEvent};
use super::*;
use crate::facts::{
    CiFacts, CommentChange, CommentFacts, ConversationFacts, HeadRepo, MergeFacts, MergeState, PullFacts, PullState,
    RepoListing, SettingsFileContent, WebhookEvent,
};
use crate::ids::{BranchName, CommentId, RepoId, Sha, UserId};
use inputs::*;

pub(super) fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + seconds).unwrap()
}

pub(super) fn sha(number: u64) -> Sha {
    Sha::parse(format!("{number:040x}")).unwrap()
}

pub(super) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

/// An open pull request of user 1 on `main`, as GitHub describes it at second 0.
pub(super) fn pull(number: u64) -> PullFacts {
    PullFacts {
        number: pr(number),
        head_ref: branch(&format!("feature-{number}")),
        head_sha: sha(number),
        head_repo: HeadRepo::Same,
        base_ref: branch("main"),
        state: PullState::Open,
        draft: false,
        author: UserId::new(1),
        updated_at: at(0),
        stack_position: None,
        title: String::new(),
        labels: std::collections::BTreeSet::new(),
    }
}

/// The same, on the branch of another.
pub(super) fn stacked(number: u64, on: u64) -> PullFacts {
    PullFacts { base_ref: branch(&format!("feature-{on}")), ..pull(number) }
}

/// The same, merged.
pub(super) fn merged(number: u64) -> PullFacts {
    PullFacts { state: PullState::Merged { merge_commit_sha: Some(sha(90 + number)), at: at(0) }, ..pull(number) }
}

pub(super) fn comment(on: u64, id: u64, body: &str) -> CommentFacts {
    CommentFacts {
        id: CommentId::new(id),
        pr: pr(on),
        author: UserId::new(1),
        login: "user-1".to_owned(),
        body: body.to_owned(),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(super) fn listing(pulls: &[PullFacts]) -> RepoListing {
    RepoListing { default_branch: branch("main"), pulls: pulls.to_vec(), bot: UserId::new(900) }
}

/// What of these was said under one pull request.
pub(super) fn conversation(number: u64, comments: &[CommentFacts]) -> ConversationFacts {
    let comments = comments.iter().filter(|comment| comment.pr == pr(number)).cloned().collect();
    ConversationFacts {
        pr: pr(number),
        merged_by: None,
        comments,
        acknowledged: BTreeSet::new(),
        former_heads: Vec::new(),
    }
}

pub(super) fn merge_facts(number: u64, state: MergeState) -> MergeFacts {
    MergeFacts {
        number: pr(number),
        is_open: true,
        head_sha: sha(number),
        base_ref: branch("main"),
        state,
        draft: false,
        review: None,
        ci: CiFacts::default(),
        own_file: SettingsFileContent::default(),
    }
}

/// That a repository says nothing about itself.
pub(super) fn no_settings() -> crate::repo::settings::SettingsFile {
    let said = Ok(crate::repo::settings::RepositorySettings::default());
    crate::repo::settings::SettingsFile { at: sha(9_999), blob: None, said }
}

/// A worker without a disk: decides, applies, and keeps the log.
#[derive(Clone, Default)]
pub(super) struct Worker {
    pub state: RepoState,
    pub log: Vec<RecordedEvent>,
    pub settings: Settings,
    pub clock: i64,
    deliveries: u64,
}

impl Worker {
    /// Knows the repository, and that it has these pull requests.
    pub fn ready(pulls: &[PullFacts]) -> Self {
        let mut worker = Self::default();
        worker.heard("ping", None, WebhookEvent::Other);
        worker.surveyed(at(0), pulls, &[]);
        worker
    }

    /// GitHub answers in full: what there is, and what was said.
    pub fn surveyed(&mut self, requested_at: Timestamp, pulls: &[PullFacts], comments: &[CommentFacts]) -> Plan {
        let result = Ok(listing(pulls));
        let mut all = self.feed(&surveyed(requested_at, result));
        let batches = all.effects.iter().filter_map(|effect| match effect {
            Effect::Mirror(MirrorEffect::ReadConversations { prs }) => Some(prs.clone()),
            _ => None,
        });
        let batches: Vec<_> = batches.collect();
        // The repository says nothing about itself.
        self.feed(&settings_read(requested_at, Ok(no_settings())));
        all.effects.retain(|effect| !matches!(effect, Effect::Settings(SettingsEffect::ReadSettings { .. })));
        for prs in batches {
            let result = Ok(prs.iter().map(|pr| conversation(pr.get(), comments)).collect());
            let plan = self.feed(&conversations_read(prs, requested_at, result));
            all.events.extend(plan.events);
            all.effects.extend(plan.effects);
        }
        all
    }

    pub fn feed(&mut self, input: &Input) -> Plan {
        let now = at(self.clock);
        let plan = decide(&self.state, input, &self.settings, now);
        for event in &plan.events {
            apply(&mut self.state, event, now);
            self.log.push(RecordedEvent { seq: self.log.len() as u64 + 1, ts: now, event: event.clone() });
        }
        plan
    }

    pub fn heard(&mut self, event: &str, action: Option<&str>, happening: WebhookEvent) -> Plan {
        self.deliveries += 1;
        let id = format!("delivery-{}", self.deliveries);
        let hash = RequestHash::of(format!("{event} {action:?} {happening:?}").as_bytes());
        self.feed(&Input::Delivery {
            delivery: Delivery {
                id: DeliveryId::parse(id).unwrap(),
                event: event.to_owned(),
                action: action.map(str::to_owned),
                repo: Some("acme/widgets".parse::<RepoId>().unwrap()),
                default_branch: None,
                happening,
            },
            hash,
            received_at: at(self.clock),
        })
    }

    pub fn pull_event(&mut self, action: &str, pull: PullFacts) -> Plan {
        self.heard("pull_request", Some(action), WebhookEvent::Pull(pull))
    }

    pub fn comment_event(&mut self, change: CommentChange, comment: CommentFacts) -> Plan {
        let action = match change {
            CommentChange::Created => "created",
            CommentChange::Edited => "edited",
            CommentChange::Deleted => "deleted",
        };
        self.heard("issue_comment", Some(action), WebhookEvent::Comment(change, comment))
    }

    /// The outcome of the last delivery.
    pub fn outcome(&self) -> &DeliveryOutcome {
        let outcome = self.log.iter().rev().find_map(|recorded| match &recorded.event {
            Event::Mirror(MirrorEvent::DeliveryProcessed { outcome, .. }) => Some(outcome),
            _ => None,
        });
        outcome.expect("a delivery was processed")
    }

    pub fn known(&self, number: u64) -> &CachedPr {
        self.state.pr(pr(number)).expect("the pull request is known")
    }
}
