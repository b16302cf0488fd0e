//! What is to be done outside, and what came of it.
//!
//! Each feature says in its own `effect.rs` what it may want done. The driver does it and gives an answer or a failure; that
//! comes back with the effect itself as `Input::Completed`, and goes to the feature that wanted it.
//!
//! A new effect is a variant there, an arm in `completed` of its feature, an arm in the driver's `outside.rs`, and a line in
//! `answers!` below if it is answered with a type that no other is.

use std::cell::OnceCell;

use jiff::Timestamp;

use super::state::RepoState;
use super::trains::MergePolicy;
use super::trains::work::TrainTaskOutcome;
use super::{CiDiagnosis, EffectOwner, ForwardedPush, Input};
use super::{commands, mirror, outbox, ratchet, settings, trains};
use crate::facts::{CommentFacts, ConversationFacts, MergeFacts, Permission, PullFacts, RepoListing, ReviewActivity};
use crate::ids::{CommentId, PrNumber};
use ratchet::FixEnd;

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    Mirror(mirror::Effect),
    Outbox(outbox::Effect),
    Trains(trains::Effect),
    Commands(commands::Effect),
    Ratchet(ratchet::Effect),
    Settings(settings::Effect),
}

/// Two effects of one key need not be under way at once: the later is asked for again when the first has ended. Effects of
/// one decision begin in the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    Mirror(mirror::EffectKey),
    Outbox(outbox::EffectKey),
    Trains(trains::EffectKey),
    Commands(commands::EffectKey),
    Ratchet(ratchet::EffectKey),
    Settings(settings::EffectKey),
}

impl Effect {
    /// What it is to a reader of metrics and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mirror(effect) => effect.name(),
            Self::Outbox(effect) => effect.name(),
            Self::Trains(effect) => effect.name(),
            Self::Commands(effect) => effect.name(),
            Self::Ratchet(effect) => effect.name(),
            Self::Settings(effect) => effect.name(),
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::Mirror(effect) => EffectKey::Mirror(effect.key()),
            Self::Outbox(effect) => EffectKey::Outbox(effect.key()),
            Self::Trains(effect) => EffectKey::Trains(effect.key()),
            Self::Commands(effect) => EffectKey::Commands(effect.key()),
            Self::Ratchet(effect) => EffectKey::Ratchet(effect.key()),
            Self::Settings(effect) => EffectKey::Settings(effect.key()),
        }
    }

    /// What it is done for, whose end ends it.
    pub fn served(&self, state: &RepoState) -> Option<EffectOwner> {
        match self {
            Self::Mirror(effect) => effect.served(state),
            Self::Trains(effect) => effect.served(),
            Self::Ratchet(effect) => effect.served(),
            Self::Outbox(_) | Self::Commands(_) | Self::Settings(_) => None,
        }
    }
}

macro_rules! effects_of_features {
    ($($feature:ident($effect:ty)),+ $(,)?) => {
        $(impl From<$effect> for Effect {
            fn from(effect: $effect) -> Self {
                Self::$feature(effect)
            }
        })+
    };
}

effects_of_features! {
    Mirror(mirror::Effect),
    Outbox(outbox::Effect),
    Trains(trains::Effect),
    Commands(commands::Effect),
    Ratchet(ratchet::Effect),
    Settings(settings::Effect),
}

/// Why an effect did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectFailure {
    pub reason: String,
    pub kind: EffectFailureKind,
    /// Not before this, if GitHub said so.
    pub retry_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectFailureKind {
    /// May go away by itself.
    Transient,
    /// Will not go away before somebody changes something on GitHub.
    Permanent,
}

/// A type that effects are answered with.
pub(in crate::repo) trait AnswerType: Sized {
    fn within(answer: &Answer) -> Option<&Self>;
}

/// Each type has one name among the answers, so that whoever takes an answer need only say the type.
macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident($answer:ty)),+ $(,)?) => {
        /// What an effect that succeeded is answered with.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Answer {
            $($(#[$doc])* $name($answer)),+
        }

        $(impl From<$answer> for Answer {
            fn from(answer: $answer) -> Self {
                Self::$name(answer)
            }
        }

        impl AnswerType for $answer {
            fn within(answer: &Answer) -> Option<&Self> {
                if let Answer::$name(answer) = answer { Some(answer) } else { None }
            }
        })+
    };
}

answers! {
    /// It is done, and there is nothing more to say.
    Done(()),
    Listing(RepoListing),
    Conversations(Vec<ConversationFacts>),
    /// None where GitHub has no such pull request.
    Pull(Option<PullFacts>),
    MergeStates(Vec<MergeFacts>),
    Outcome(TrainTaskOutcome),
    StatusWritten(CommentId),
    /// None where the comment is gone.
    StatusRead(Option<CommentFacts>),
    Policy(MergePolicy),
    Permission(Permission),
    ReviewActivity(Vec<(PrNumber, ReviewActivity)>),
    Diagnosis(CiDiagnosis),
    FixEnd(FixEnd),
    Forwarded(ForwardedPush),
    SettingsFile(settings::SettingsFile),
    Proposal(settings::SettingsProposal),
    Showing(settings::CheckPublication),
}

/// What came of an effect, for the feature that wanted it.
pub(in crate::repo) struct EffectOutcome<'a> {
    pub requested_at: Timestamp,
    effect: &'a Effect,
    result: &'a Result<Answer, EffectFailure>,
    /// Where the answer is not one to the effect.
    mismatch: OnceCell<EffectFailure>,
}

impl EffectOutcome<'_> {
    /// The answer, which must be of the type that belongs to the effect. Another one, which only a mistake in the driver can
    /// cause, is a failure like any that does not go away by itself.
    pub fn answer<T: AnswerType>(&self) -> Result<&T, &EffectFailure> {
        match self.result {
            Ok(answer) => T::within(answer).ok_or_else(|| self.mismatch.get_or_init(|| mismatch(self.effect))),
            Err(failure) => Err(failure),
        }
    }
}

fn mismatch(effect: &Effect) -> EffectFailure {
    let reason = format!("the answer to {} is none to it; this is a bug", effect.name());
    EffectFailure { reason, kind: EffectFailureKind::Permanent, retry_at: None }
}

impl Input {
    /// The effect that has ended, and what came of it; none of any other input.
    pub(in crate::repo) fn completed(&self) -> Option<(&Effect, EffectOutcome<'_>)> {
        let Self::Completed { effect, requested_at, result } = self else { return None };
        Some((effect, EffectOutcome { requested_at: *requested_at, effect, result, mismatch: OnceCell::new() }))
    }
}
