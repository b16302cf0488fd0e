//! The ends of effects, without what nobody asks about them.

use jiff::Timestamp;

use super::{MirrorEffect, OutboxEffect, RatchetEffect, SettingsEffect, TrainsEffect, at, branch, pr, sha};
use crate::facts::{CommentFacts, ConversationFacts, MergeFacts, PullFacts, RepoListing};
use crate::ids::{CommentId, PrNumber, Sha};
use crate::repo::ratchet::{FixEnd, FixIssue, FixPush};
use crate::repo::settings::{CheckPublication, SettingsFile, SettingsFileVerdict, SettingsProposal};
use crate::repo::trains::MergePolicy;
use crate::repo::trains::work::{TrainTask, TrainTaskOutcome};
use crate::repo::{Answer, CiDiagnosis, Effect, EffectFailure, ForwardedPush, Input, NoteContent, NoteId, PostAttempt};

pub(super) fn completed<T: Into<Answer>>(
    effect: impl Into<Effect>,
    requested_at: Timestamp,
    result: Result<T, EffectFailure>,
) -> Input {
    Input::Completed { effect: effect.into(), requested_at, result: result.map(Into::into) }
}

pub(super) fn failed(effect: Effect, requested_at: Timestamp, failure: EffectFailure) -> Input {
    Input::Completed { effect, requested_at, result: Err(failure) }
}

pub(super) fn surveyed(requested_at: Timestamp, result: Result<RepoListing, EffectFailure>) -> Input {
    completed(MirrorEffect::Survey, requested_at, result)
}

pub(super) fn conversations_read(
    prs: Vec<PrNumber>,
    requested_at: Timestamp,
    result: Result<Vec<ConversationFacts>, EffectFailure>,
) -> Input {
    completed(MirrorEffect::ReadConversations { prs }, requested_at, result)
}

pub(super) fn fetched(
    pr: PrNumber,
    requested_at: Timestamp,
    result: Result<Option<PullFacts>, EffectFailure>,
) -> Input {
    completed(MirrorEffect::FetchPull { pr }, requested_at, result)
}

pub(super) fn merge_states(
    prs: Vec<PrNumber>,
    requested_at: Timestamp,
    result: Result<Vec<MergeFacts>, EffectFailure>,
) -> Input {
    completed(MirrorEffect::ReadMergeStates { prs }, requested_at, result)
}

pub(super) fn said(note: NoteId, result: Result<(), EffectFailure>) -> Input {
    let effect =
        OutboxEffect::Say { note, pr: pr(1), say: NoteContent::Close {}, since: at(0), tried: PostAttempt::Never };
    completed(effect, at(0), result)
}

pub(super) fn worked(root: PrNumber, work: TrainTask, result: Result<TrainTaskOutcome, EffectFailure>) -> Input {
    completed(TrainsEffect::Work { root, work }, at(0), result)
}

pub(super) fn status_read(
    root: PrNumber,
    comment: CommentId,
    result: Result<Option<CommentFacts>, EffectFailure>,
) -> Input {
    completed(TrainsEffect::ReadStatus { root, comment }, at(0), result)
}

pub(super) fn policy_read(result: Result<MergePolicy, EffectFailure>) -> Input {
    completed(TrainsEffect::ReadPolicy { default: branch("main") }, at(0), result)
}

pub(super) fn diagnosed(pr: PrNumber, head: Sha, issue: FixIssue, result: Result<CiDiagnosis, EffectFailure>) -> Input {
    let (branch, base, handled) = (branch("feature"), branch("main"), Default::default());
    let effect = RatchetEffect::Diagnose { pr, issue, branch, base, head, conflicts: false, handled };
    completed(effect, at(0), result)
}

pub(super) fn fixed(pr: PrNumber, sent: Timestamp, result: Result<FixEnd, EffectFailure>) -> Input {
    let (branch, base, handled) = (branch("feature"), branch("main"), Default::default());
    let (head, issue) = (sha(1), FixIssue::FixCi);
    completed(RatchetEffect::Fix { pr, at: sent, issue, branch, base, head, conflicts: false, handled }, at(0), result)
}

pub(super) fn forwarded(pr: PrNumber, sent: Timestamp, result: Result<ForwardedPush, EffectFailure>) -> Input {
    let push = FixPush { from: sha(1), to: sha(2), tree: sha(2), files: Vec::new(), unlisted: 0 };
    let effect = RatchetEffect::Forward { pr, at: sent, branch: branch("feature"), push, doubted: false };
    completed(effect, at(0), result)
}

pub(super) fn fixer_cleared(pr: PrNumber, sent: Timestamp, result: Result<(), EffectFailure>) -> Input {
    completed(RatchetEffect::ClearFixer { pr, at: sent, head: sha(1) }, at(0), result)
}

pub(super) fn settings_read(requested_at: Timestamp, result: Result<SettingsFile, EffectFailure>) -> Input {
    completed(SettingsEffect::ReadSettings { default: branch("main") }, requested_at, result)
}

pub(super) fn proposal_read(pr: PrNumber, head: Sha, result: Result<SettingsProposal, EffectFailure>) -> Input {
    completed(SettingsEffect::ReadProposal { pr, head }, at(0), result)
}

pub(super) fn check_shown(head: Sha, result: Result<CheckPublication, EffectFailure>) -> Input {
    completed(SettingsEffect::ShowCheck { head, verdict: SettingsFileVerdict::Removed {} }, at(0), result)
}
